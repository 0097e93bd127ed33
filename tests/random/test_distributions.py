"""Draws of further distributions: equal bits, the right distribution, implicit gradients."""

import numpy as np
import pytest
from helpers.smooth import agree
from scipy import special, stats

import nbgrad
from nbgrad import random
from nbgrad.random import key

K, N = key(3), 20_000
U = random.uniform(K, 40)[1]
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
DRAWS = {
    "exponential": lambda s: random.exponential(s, 700, np.full(700, 1.3)),
    "laplace": lambda s: random.laplace(s, 700, 0.3, 2.0),
    "logistic": lambda s: random.logistic(s, (3, 99), 0.3, 1.7),
    "gumbel": lambda s: random.gumbel(s, (3, 99), 0.3, 1.7),
    "gamma": lambda s: random.gamma(s, (50, 4), np.array([0.1, 1.0, 5.0, 300.0]), 2.0),
    "float32": lambda s: random.gamma(s, 9, np.full(9, 2.0, np.float32), 1.0),
    "beta": lambda s: random.beta(s, (50, 2), np.array([0.5, 3.0]), 1.7),
    "chisquare": lambda s: random.chisquare(s, 50, 3.0),
    "student_t": lambda s: random.student_t(s, 500, 3.0, 1.0, 0.7),
    "dirichlet": lambda s: random.dirichlet(s, 300, np.array([0.3, 1.0, 4.0])),
    "poisson": lambda s: random.poisson(s, (40, 3), np.array([0.0, 3.0, 1000.0])),
    "binomial": lambda s: random.binomial(s, (40, 3), np.array([0.0, 9.0, 1000.0]), 0.3),
    "bernoulli": lambda s: random.bernoulli(s, 99, 0.3),
    "categorical": lambda s: random.categorical(s, np.log([0.1, 0.2, 0.7]), 80),
    "rows of logits": lambda s: random.categorical(s, np.arange(12.0).reshape(3, 4)),
    "choice": lambda s: random.choice(s, 4, 60, p=[0.1, 0.2, 0.0, 0.7]),
    "without replacement": lambda s: random.choice(s, 4, 3, False, [0.1, 0.2, 0.3, 0.4]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_both_tiers_give_the_same_bits(name):
    eager, compiled = DRAWS[name](K), nbgrad.compile(DRAWS[name])(K)
    for a, b in zip(eager, compiled, strict=True):
        assert np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype
    again = DRAWS[name](eager[0])[1]
    assert np.shape(again) == np.shape(eager[1]), "the state moves on"


@pytest.mark.parametrize(
    ("n", "p"), [(10, 0.3), (20, 0.99), (5000, 0.998), (10**6, 1e-6), (7, 0.0), (7, 1.0)]
)
def test_binomial_numbers_are_quantiles(n, p):
    u = random.uniform(K, 3000)[1]
    wanted = stats.binom.ppf(u, n, p)
    assert np.array_equal(random.binomial(K, 3000, n, p)[1], np.maximum(wanted, 0.0))


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda: random.exponential(K, N, 2.0), stats.expon(scale=2.0)),
        (lambda: random.laplace(K, N, 1.0, 2.0), stats.laplace(1.0, 2.0)),
        (lambda: random.logistic(K, N, 1.0, 2.0), stats.logistic(1.0, 2.0)),
        (lambda: random.gumbel(K, N, 1.0, 2.0), stats.gumbel_r(1.0, 2.0)),
        (lambda: random.gamma(K, N, 0.4, 2.0), stats.gamma(0.4, scale=2.0)),
        (lambda: random.beta(K, N, 0.4, 2.0), stats.beta(0.4, 2.0)),
        (lambda: random.chisquare(K, N, 3.0), stats.chi2(3.0)),
        (lambda: random.student_t(K, N, 3.0, 1.0, 2.0), stats.t(3.0, 1.0, 2.0)),
    ],
)
def test_numbers_have_the_distribution(draw, expected):
    assert stats.kstest(draw()[1], expected.cdf).pvalue > 0.01


def test_vectors_have_the_moments():
    x = random.multivariate_normal(K, N, np.array([1.0, 2.0]), COV)[1]
    assert np.allclose(x.mean(axis=0), [1.0, 2.0], atol=0.05)
    assert np.allclose(np.cov(x.T), COV, atol=0.1)
    alpha = np.array([0.3, 1.0, 4.0])
    x, expected = random.dirichlet(K, N, alpha)[1], stats.dirichlet(alpha)
    assert np.allclose(x.sum(axis=1), 1.0) and np.allclose(
        x.mean(axis=0), expected.mean(), atol=0.01
    )
    assert np.allclose(x.var(axis=0), expected.var(), atol=0.01)
    compiled = nbgrad.compile(lambda s: random.multivariate_normal(s, 9, np.ones(2), COV)[1])(K)
    assert np.allclose(compiled, random.multivariate_normal(K, 9, np.ones(2), COV)[1], rtol=1e-13)


@pytest.mark.parametrize("mean", [0.3, 5.0, 20.0, 300.0, 1e6])
def test_poisson_numbers_are_quantiles(mean):
    u = random.uniform(K, 3000)[1]
    assert np.array_equal(random.poisson(K, 3000, mean)[1], stats.poisson.ppf(u, mean))


def test_categories_have_their_chances():
    p = np.array([0.1, 0.2, 0.0, 0.7])
    for found in (
        random.choice(K, 4, N, p=p)[1],
        random.categorical(K, np.log(np.where(p > 0, p, 1e-300)), N)[1],
    ):
        counts = np.bincount(found, minlength=4)
        assert counts[2] == 0 and stats.chisquare(counts[p > 0], N * p[p > 0]).pvalue > 0.01
    firsts, state = [], K
    for _ in range(500):
        state, some = random.choice(state, 4, 2, False, p + np.array([0, 0, 0.1, -0.1]))
        assert len(set(some)) == 2
        firsts.append(some[0])
    assert stats.chisquare(np.bincount(firsts), [50, 100, 50, 300]).pvalue > 0.01


@pytest.mark.parametrize("a", [0.05, 0.7, 3.0, 200.0])
def test_slopes_are_those_of_the_quantiles(a):
    """The implicit slope beside differences of SciPy's quantile at fixed uniform numbers."""
    h = 1e-3 * a

    def difference(f):
        weights = ((1, 0.75), (2, -3 / 20), (3, 1 / 60))
        return sum(w * (f(a + i * h) - f(a - i * h)) for i, w in weights) / h

    for draw, quantile in (
        (lambda a: random.gamma(K, 40, a)[1], lambda a: special.gammaincinv(a, U)),
        (lambda a: random.beta(K, 40, a, 1.7)[1], lambda a: special.betaincinv(a, 1.7, U)),
        (lambda a: 1 - random.beta(K, 40, 1.7, a)[1], lambda a: special.betaincinv(a, 1.7, 1 - U)),
    ):
        found, expected = nbgrad.jacobian(draw)(a), difference(quantile)
        # SciPy's quantiles have errors of about 1e-11, which differences divide by h.
        assert np.allclose(found, expected, rtol=3e-8, atol=1e-9 * np.abs(expected).max())


def test_derivatives_in_all_modes():
    a, b = np.array([0.5, 2.0, 10.0]), np.array([1.5, 0.7, 3.0])
    agree(lambda a, b: random.beta(K, 3, a, b)[1], a, b, rtol=1e-7)
    agree(lambda a: random.dirichlet(K, 2, a)[1], a, rtol=1e-6)  # SciPy's quantiles


@pytest.mark.full
def test_derivatives_of_further_draws():
    agree(
        lambda d, m: random.student_t(K, 3, d, m)[1], V := np.array([1.0, 2.0, 5.0]), V, rtol=1e-6
    )
    agree(
        lambda m, c: random.multivariate_normal(K, 3, m, c @ c.T + np.eye(2))[1],
        np.array([1.0, 2.0]), COV,
    )  # fmt: skip
    agree(lambda m, s: random.laplace(K, 3, m, s)[1], np.array(1.0), np.array(2.0))


def test_samples_have_their_parameters():
    keys, a = np.stack([key(0), key(1)]), np.array([1.0, 2.0])
    x = nbgrad.vmap(lambda k, a: random.gamma(k, 2, a)[1])(keys, a)
    assert np.array_equal(x[1], random.gamma(key(1), 2, 2.0)[1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: random.gamma(K, 3, -x), "a must be positive"),
        (lambda x: random.beta(K, 3, x, 0.0), "b must be positive"),
        (lambda x: random.laplace(K, 3, 0.0, -x), "scale must be positive"),
        (lambda x: random.gamma(K, 3, x * np.ones(2)), r"\(2,\) does not broadcast"),
        (lambda x: random.poisson(K, 3, -x), "negative"),
        (lambda x: random.binomial(K, 3, x + 0.5, 0.5), "whole and not negative"),
        (lambda x: random.binomial(K, 3, 2, 2.0 * x), "between 0 and 1"),
        (lambda x: random.bernoulli(K, 3, 2.0 * x), "between 0 and 1"),
        (lambda x: random.dirichlet(K, 3, x), "must be a vector"),
        (lambda x: random.multivariate_normal(K, 3, x * np.ones(2), np.ones(2)), "covariance"),
        (lambda x: random.choice(K, 3, p=np.array([0.5, 0.5])), r"shape must be \(3,\)"),
        (lambda x: random.choice(K, 2, p=x * np.array([0.5, 0.6])), "sum to 1"),
        (lambda x: random.choice(K, 2, 2, False, np.array([1.0, 0.0])), "fewer non-zero"),
    ],
)
def test_bad_arguments_are_named(call, words):
    for f in (call, nbgrad.compile(lambda x: call(x)[1])):
        with pytest.raises(ValueError, match=words):
            f(1.0)
