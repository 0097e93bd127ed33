"""Loops over `nbgrad.steps` that assign arrays again: they swap them, or call a function."""

import numpy as np
import pytest
from helpers.daily import daily

import nbgrad
from nbgrad import njit

U = np.sin(np.linspace(0.0, 3.0, 7))
SCHEDULES = ["sqrt", "binomial", 1, 50, None]


@njit
def flow(u, c):
    v = np.zeros(u.size)
    for i in range(1, u.size - 1):
        v[i] = c * u[i] * (u[i + 1] - u[i - 1])
    return v


@njit
def heun(u, c):
    first = flow(u, c)
    return u + 0.5 * (first + flow(u + first, c))


def of_function(u, c, n, how):
    @njit
    def run(u, c, n):
        for _ in nbgrad.steps(n, how):
            u = heun(u, c)
        return np.sum(u * u)

    return run(u, c, n)


def swapped(u, c, n, how):
    @njit
    def run(u, c, n):
        a = u.copy()
        b = u.copy()
        for _ in nbgrad.steps(n, how):
            for i in range(1, u.size - 1):
                b[i] = a[i] + c * a[i] * (a[i + 1] - a[i - 1])
            a, b = b, a
        return np.sum(a * b)

    return run(u, c, n)


def in_tuple(u, c, n, how):
    @njit
    def run(u, c, n):
        state = (u[0], u[1] * u[2], 1)
        last = 0.0
        for t in nbgrad.steps(n, how):
            x, y, k = state
            state = (x + c * y, y - c * np.sin(x) * k, k + t)
            if k > 5:
                last = x * y
        return state[0] * state[1] + state[2] * last

    return run(u, c, n)


def nested(u, c, n, how):
    @njit
    def run(u, c, n):
        total = 0.0
        for t in nbgrad.steps(n, how):
            v = u * c
            for _ in nbgrad.steps(t, how):
                v = v + c * v * v
            u = u + 0.1 * v
            total += v[0] * u[1]
        return total + np.sum(u)

    return run(u, c, n)


PROGRAMS = [of_function, swapped, in_tuple, nested]


@pytest.mark.parametrize("program", daily(PROGRAMS, 2))
def test_gradients_are_those_of_a_loop_over_range(program):
    for n in (0, 1, 2, 17):
        runs = [nbgrad.value_and_grad(program, (0, 1))(U, 0.1, n, how) for how in SCHEDULES]
        value, (by_u, by_c) = runs[-1]
        for other, (other_u, other_c) in runs[:-1]:
            assert other == value
            np.testing.assert_allclose(other_u, by_u, rtol=1e-13, atol=1e-14)
            np.testing.assert_allclose(other_c, by_c, rtol=1e-13)
    nbgrad.check_grads(lambda u, c: program(u, c, 9, "sqrt"), (U, 0.1), order=1)


@pytest.mark.full
@pytest.mark.parametrize("program", daily([of_function, swapped], 1))
def test_transformations(program):
    def f(u, schedule: str | None = "sqrt"):
        return program(u, 0.1, 10, schedule)

    def plain(u):
        return f(u, None)

    same = np.testing.assert_allclose
    v = np.cos(U)
    same(nbgrad.hessian(f)(U), nbgrad.hessian(plain)(U), rtol=1e-10, atol=1e-13)
    same(nbgrad.hvp(f)(U, v), nbgrad.hvp(plain)(U, v), rtol=1e-10, atol=1e-13)
    same(nbgrad.jvp(f, (U,), (v,))[1], np.sum(nbgrad.grad(f)(U) * v))
    many = np.stack([U, v])
    found = nbgrad.vmap(nbgrad.grad(f))(many)
    same(found, [nbgrad.grad(plain)(x) for x in many])
    same(nbgrad.compile(nbgrad.grad(f))(U), nbgrad.grad(plain)(U))


def test_an_array_that_changes_its_length_is_refused_by_name():
    @njit
    def shorter(u, n):
        for _ in nbgrad.steps(n):
            u = u[:-1] * u[1:]
        return np.sum(u)

    assert nbgrad.grad(shorter)(U, 0).shape == U.shape
    with pytest.raises(ValueError, match=r"nbgrad\.steps: an array changes its number of elements"):
        nbgrad.grad(shorter)(U, 3)
    step = nbgrad.compile(nbgrad.grad(shorter))
    with pytest.raises(ValueError, match=r"changes its number of elements in the loop"):
        step(U, 3)
