"""Right-hand sides that close over tracked numbers, also where they have to be read as code."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import njit, ode
from nbgrad.ode import problem

FINE = {"rtol": 1e-9, "atol": 1e-9, "t_eval": [0.5, 1.0]}


def sums(rhs, y0=(1.0, 0.0), args=()):
    return ode.solve(rhs, (0.0, 1.0), np.array(y0), args=args, **FINE).y[:, -1].sum()


def lists(p):
    k, c = p[0], (p[1], 2)

    def rhs(t, y):
        return np.array([y[1], -k * y[0] + c[0] * t ** c[1]])

    return sums(rhs)


def branches(p):
    def rhs(t, y):
        if t < 2.0:
            return np.array([y[1], -p[0] * y[0]])
        return np.array([y[1], -p[1] * y[0]])

    return sums(rhs) + p[1]


def loops(p):
    def rhs(t, y, order):
        out = np.zeros(2)
        for i in range(2):
            out[i] = -p[order[i]] * y[i]
        return out

    return sums(rhs, args=(np.array([1, 0]),))


def helpers(p):
    k = p[0]

    def force(x):
        return -k * x if x > -5.0 else 0.0 * x

    def rhs(t, y, damping=p[1]):
        return np.array([y[1], force(y[0]) - damping * y[1]])

    return sums(rhs)


@dataclass
class Spring:
    k: Any
    damping: Any
    mass: float = 1.0

    def force(self, x):
        return -self.k * x if x > -5.0 else 0.0 * x

    def rhs(self, t, y):
        return np.array([y[1], (self.force(y[0]) - self.damping * y[1]) / self.mass])

    def __call__(self, t, y):
        return self.rhs(t, y)


def methods(p):
    return sums(Spring(p[0], p[1]).rhs)


def objects(p):
    return sums(Spring(p[0], p[1]))


def objects_in_a_closure(p):
    spring = Spring(p[0], p[1])
    return sums(lambda t, y: np.array([y[1], spring.force(y[0]) - spring.damping * y[1]]))


def dicts(p):
    def rhs(t, y, q):
        return np.array([y[1], -q["k"] * y[0] - q["c"] * y[1]])

    return sums(rhs, args=({"k": p[0], "c": p[1]},))


def compiled_with_integers(p):
    @njit
    def rhs(t, y, power, k, rest):
        return np.array([y[1], -k * y[0] ** power - rest[0] * y[1]])

    return sums(rhs, args=(3, p[0], (p[1],)))


PROGRAMS = (
    lists, branches, loops, helpers, methods, objects, objects_in_a_closure, dicts,
    compiled_with_integers,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives(program):
    p, way, step = np.array([0.7, 0.3]), np.array([0.4, -0.9]), 1e-5
    slope = nbgrad.grad(program)
    difference = (program(p + step * way) - program(p - step * way)) / (2 * step)
    assert np.isclose(slope(p) @ way, difference, rtol=1e-6)
    change = (slope(p + step * way) - slope(p - step * way)) / (2 * step)
    found = nbgrad.jvp(slope, (p,), (way,))[1]
    np.testing.assert_allclose(found, change, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("program", [lists, helpers, objects], ids=lambda f: f.__name__)
def test_compiled_and_batched(program):
    points = np.array([[0.7, 0.3], [0.5, 0.4]])
    slope = nbgrad.grad(program)
    expected = np.stack([slope(p) for p in points])
    np.testing.assert_allclose(nbgrad.compile(slope)(points[0]), expected[0], rtol=1e-7)
    np.testing.assert_allclose(nbgrad.vmap(slope)(points), expected, rtol=1e-6)


def test_other_numbers_take_no_other_program():
    helpers(np.array([0.7, 0.3]))
    before = len(problem._problems)
    for k in (0.1, 0.2, 0.3):
        helpers(np.array([k, 2 * k]))
    assert len(problem._problems) == before


def test_numbers_that_have_to_be_constants():
    def end(count, k):
        def rhs(t, y):
            return -k * y * np.linspace(0.0, 1.0, int(count)).sum()

        return sums(rhs, (1.0,))

    assert np.isclose(end(3.0, 1.0), np.exp(-1.5))
    assert np.isclose(end(5.0, 1.0), np.exp(-2.5))
    assert np.isclose(nbgrad.grad(end, 1)(5.0, 1.0), -2.5 * np.exp(-2.5))


def test_large_arrays_of_integers():
    def end(order):
        def rhs(t, y, order):
            return -y * order[1000]

        return sums(rhs, (1.0,), (order,))

    order = np.zeros(2000, np.int64)
    assert np.isclose(end(order), 1.0)
    order[1000] = 1
    assert np.isclose(end(order), np.exp(-1.0))


class Unreadable:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, t, y):
        return -self.rate * np.array([float(str(y[0]))])


@pytest.mark.parametrize("rate", [0.5, np.array([0.5])], ids=["number", "array"])
def test_what_cannot_be_compiled_is_named(rate):
    other = np.ones(3)

    def rhs(t, y):
        return -rate * other[:1] * np.array([float(str(y[0]))])

    for f in (rhs, Unreadable(rate)):
        with pytest.raises(nbgrad.NoRuleError, match=r"ode\.solve: .* cannot be compiled"):
            sums(f, (1.0,))


def test_arrays_of_integers_of_the_same_bytes():
    def end(order):
        def rhs(t, y, order):
            return -y * order[0].sum()

        return sums(rhs, (1.0,), (order,))

    order = np.ones(6, np.int64)
    assert np.isclose(end(order.reshape(2, 3)), np.exp(-3.0))
    assert np.isclose(end(order.reshape(3, 2)), np.exp(-2.0))
