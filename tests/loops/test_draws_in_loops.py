"""Draws of `nbgrad.random` in functions with loops: bits of plain calls, implicit gradients."""

from typing import Any

import numba
import numpy as np
import pytest
from helpers.daily import daily

import nbgrad
from nbgrad import random
from nbgrad.errors import LoopError

K = random.key(3)
SPREAD = np.array([[2.0, 0.5], [0.5, 1.0]])

# Functions of a state, a parameter and a number of draws.
DRAWS: dict[str, Any] = {
    "exponential": lambda s, p, n: random.exponential(s, n, p),
    "laplace": lambda s, p, n: random.laplace(s, (), p, 2.0),
    "logistic": lambda s, p, n: random.logistic(s, (n, 3), scale=p),
    "gumbel": lambda s, p, n: random.gumbel(s, n, p),
    "gamma": lambda s, p, n: random.gamma(s, n, p * np.arange(1.0, n + 1.0), 2.0),
    "a number": lambda s, p, n: random.gamma(s, (), p, n),
    "beta": lambda s, p, n: random.beta(s, (2, n), p, 1.5),
    "chisquare": lambda s, p, n: random.chisquare(s, n, p),
    "student_t": lambda s, p, n: random.student_t(s, n, p, 0.1, 2.0),
    "dirichlet": lambda s, p, n: random.dirichlet(s, n, p * np.array([1.0, 2.0, 0.3])),
    "permutation": lambda s, p, n: random.permutation(s, p * np.arange(6.0)),
    "rows": lambda s, p, n: random.choice(s, p * np.arange(6.0), n),
    "poisson": lambda s, p, n: random.poisson(s, n, p),
    "binomial": lambda s, p, n: random.binomial(s, 4, n, p / 10),
    "bernoulli": lambda s, p, n: random.bernoulli(s, n, p / 10),
    "categorical": lambda s, p, n: random.categorical(s, p * np.arange(4.0), n),
    "rows of logits": lambda s, p, n: random.categorical(s, p * np.ones((n, 3))),
    "choice": lambda s, p, n: random.choice(s, 4, n, p=np.array([0.1, 0.2, 0.0, 0.7])),
    "without replacement": lambda s, p, n: random.choice(s, n, 3, False),
    "weighted": lambda s, p, n: random.choice(s, 4, 3, False, np.array([0.1, 0.2, 0.3, 0.4])),
}
SMOOTH = list(DRAWS)[: list(DRAWS).index("poisson")]


@pytest.mark.parametrize("name", daily(DRAWS, 6))
def test_numba_has_the_same_bits(name):
    wanted = DRAWS[name](K, 2.5, 7)
    for got, want in zip(nbgrad.njit(DRAWS[name])(K, 2.5, 7), wanted, strict=True):
        assert np.array_equal(got, want)
        assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("name", daily(SMOOTH, 4))
def test_gradients(name):
    draw, compiled = DRAWS[name], nbgrad.njit(DRAWS[name])
    wanted = nbgrad.value_and_grad(lambda p: np.sum(draw(K, p, 7)[1] ** 2))(2.5)
    found = nbgrad.value_and_grad(lambda p: np.sum(compiled(K, p, 7)[1] ** 2))(2.5)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@nbgrad.njit
def walk(state, a, n):
    total = 0.0
    for i in range(n):
        state, x = random.gamma(state, (), a, 2.0)
        state, e = random.exponential(state, 3, x)
        state, k = random.poisson(state, (), 3.0)
        if k > 2:
            total += x * e.sum()
        state, j = random.categorical(state, a * np.array([0.1, 0.5, 0.1]))
        total += (i + j) * x
    return total


@pytest.mark.full
def test_draws_in_rounds():
    def plain(a):
        return walk.py_func(K, a, 6)

    def compiled(a):
        return walk(K, a, 6)

    assert walk(K, 1.5, 6) == pytest.approx(plain(1.5), rel=1e-14)
    wanted = nbgrad.value_and_grad(plain)(1.5)
    np.testing.assert_allclose(nbgrad.value_and_grad(compiled)(1.5), wanted, rtol=1e-12)
    assert nbgrad.jvp(compiled, (1.5,), (2.0,))[1] == pytest.approx(2.0 * wanted[1], rel=1e-12)


@nbgrad.njit
def drawn(state, a, n):
    return random.gamma(state, n, a)[1] ** 2


@pytest.mark.full
def test_samples_and_second_derivatives():
    a = np.array([1.5, 2.0])
    rows = nbgrad.vmap(lambda a: drawn(K, a, 3))(a)
    assert np.allclose(rows, [drawn(K, x, 3) for x in a], rtol=1e-14)
    second = nbgrad.hessian(lambda a: np.sum(drawn(K, a, 3)))(1.5)
    wanted = nbgrad.hessian(lambda a: np.sum(random.gamma(K, 3, a)[1] ** 2))(1.5)
    assert second == pytest.approx(wanted, rel=1e-10)


VECTORS: dict[str, Any] = {
    "one": lambda s, p, n: random.multivariate_normal(s, (), np.ones(2), p * SPREAD)[1],
    "rows": lambda s, p, n: random.multivariate_normal(s, n, np.ones(2), p * SPREAD)[1],
    "matrices": lambda s, p, n: random.multivariate_normal(s, (n, 2), np.ones(2), p * SPREAD)[1],
}


@pytest.mark.parametrize("name", daily(VECTORS, 1))
def test_normal_vectors(name):
    draw, compiled = VECTORS[name], nbgrad.njit(VECTORS[name])
    np.testing.assert_allclose(compiled(K, 2.0, 3), draw(K, 2.0, 3), rtol=1e-13)
    slope = nbgrad.grad(lambda p: np.sum(compiled(K, p, 3) ** 2))(2.0)
    wanted = nbgrad.grad(lambda p: np.sum(draw(K, p, 3) ** 2))(2.0)
    assert slope == pytest.approx(wanted, rel=1e-11)


def test_single_precision_stays():
    f = nbgrad.njit(lambda s, a: random.gamma(s, 4, a)[1])
    a = np.full(4, 2.0, np.float32)
    assert np.array_equal(f(K, a), random.gamma(K, 4, a)[1])
    assert f(K, a).dtype == np.float32


def test_errors_are_those_of_plain_calls():
    f = nbgrad.njit(lambda s, a: random.gamma(s, (), a)[1])
    for call in (f, nbgrad.grad(f, 1), numba.njit(lambda s, a: f(s, a))):
        with pytest.raises(ValueError, match=r"random\.gamma: a must be positive"):
            call(K, -1.0)
    with pytest.raises(ValueError, match=r"two elements: start with random\.key"):
        f(np.arange(3), 1.0)
    with pytest.raises(LoopError, match="is not a state"):
        nbgrad.grad(nbgrad.njit(lambda x: random.gamma(x, 3)[1].sum()))(np.ones(2))
    g = nbgrad.njit(lambda s, n: random.choice(s, n, 5, False)[1].sum())
    with pytest.raises(ValueError, match="more draws than rows"):
        g(K, 4)
