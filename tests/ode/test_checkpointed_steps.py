"""Discrete gradients that keep few states: the same bits, and less memory."""

import re

import numpy as np
import pytest

import nbgrad
from nbgrad import ode
from nbgrad.errors import ArgumentError
from nbgrad.ode import dormand_prince
from nbgrad.ode.loops import integrators


def oscillator(t, y, mu):
    return np.stack([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.full
@pytest.mark.parametrize("method", ["RK45", pytest.param("Rosenbrock", marks=pytest.mark.full)])
def test_gradients_have_the_same_bits(method):
    options: dict = {"t_eval": [1.0, 7.0, 20.0], "method": method, "rtol": 1e-9, "atol": 1e-9}

    def loss(mu, y0, checkpoint):
        found = ode.solve(oscillator, (0, 20), y0, args=(mu,), checkpoint=checkpoint, **options)
        return np.sum(found.y**2)

    both = nbgrad.value_and_grad(loss, (0, 1))
    value, (by_mu, by_y0) = both(2.0, np.array([2.0, 0.0]), None)
    for checkpoint in ("auto", "sqrt", 20_000, 100_000):
        found, slopes = both(2.0, np.array([2.0, 0.0]), checkpoint)
        assert found == value and slopes[0] == by_mu and np.array_equal(slopes[1], by_y0)


@pytest.mark.full
def test_second_derivatives_and_compiled_programs():
    def end(mu, checkpoint):
        found = ode.solve(
            oscillator, (0, 5), [2.0, 0.0], args=(mu,), checkpoint=checkpoint, t_eval=[5.0],
            rtol=1e-9, atol=1e-9,
        )  # fmt: skip
        return found.y[0, 0]

    twice = nbgrad.grad(nbgrad.grad(end))
    assert twice(2.0, "sqrt") == twice(2.0, None)
    compiled = nbgrad.compile(nbgrad.grad(lambda mu: end(mu, "sqrt")))
    assert np.isclose(compiled(2.0), nbgrad.grad(end)(2.0, None), 1e-12)
    rates = np.array([0.5, 2.0])
    found = nbgrad.vmap(nbgrad.grad(lambda mu: end(mu, "sqrt")))(rates)
    assert np.allclose(found, [nbgrad.grad(end)(mu, None) for mu in rates], 1e-12)


@pytest.mark.full
def test_memory_grows_as_the_square_root_of_the_steps():
    def rate(t, y, mu):
        return np.array([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])

    states, _, _ = integrators(dormand_prince, rate, rate, 2)

    def kilobytes(end, words):
        options = np.array([1e-10, 0.0, 0.01, words])
        times, y0, atol = np.array([end]), np.array([2.0, 0.0]), np.full(2, 1e-10)
        slope = nbgrad.grad(
            lambda mu: np.sum(states(0.0, end, y0, times, options, atol, (mu,))[0])
        )(1.0)
        size = re.search(r"the latest \w+ kept ([\d.]+) (\w+)", str(states.plan))
        assert size is not None
        return slope, float(size[1]) * {"kB": 1.0, "MB": 1e3}[size[2]]

    slope, few = kilobytes(30.0, 0.0)
    exact, many = kilobytes(30.0, 2.0**40)
    assert slope == exact and few < 0.1 * many
    assert kilobytes(120.0, 0.0)[1] < 2.5 * few


@pytest.mark.parametrize("checkpoint", ["all", -1, 2.5, True])
def test_wrong_choices(checkpoint):
    with pytest.raises(ArgumentError, match="checkpoint="):
        ode.solve(oscillator, (0.0, 1.0), [1.0, 0.0], args=(1.0,), checkpoint=checkpoint)
