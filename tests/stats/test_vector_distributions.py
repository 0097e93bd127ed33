"""`nbgrad.stats` for vectors, compared with scipy.stats and with finite differences."""

from typing import Any

import numpy as np
import pytest
import scipy.stats
from helpers.distributions import assert_scipys, scipys

import nbgrad
from nbgrad import DimensionMismatch, stats

RNG = np.random.default_rng(11)
BOTH = ("reverse", "forward")
INF, NAN = np.inf, np.nan
A, MEAN, POINTS = RNG.normal(size=(3, 3)), RNG.normal(size=3), RNG.normal(size=(4, 3))
COV = A @ A.T + np.eye(3)


def test_the_normal_distribution_of_vectors_is_scipys():
    f: Any = stats.multivariate_normal.logpdf
    calls: list[Any] = [
        (POINTS, MEAN, COV), (POINTS[0], MEAN, COV), (POINTS[:, 0],), (1.0,), (POINTS, None, COV),
        (POINTS[:, 0], 0.5, 2.0), (POINTS, MEAN, 2.0), (POINTS, MEAN, [1.0, 2.0, 3.0]),
        (POINTS[None], MEAN, COV), (POINTS[:1], MEAN, COV), (np.zeros((0, 3)), MEAN, COV),
    ]  # fmt: skip
    for args in calls:
        expected = scipy.stats.multivariate_normal.logpdf(*args)
        for x in (args[0], nbgrad.track(args[0])):
            found = f(x, *args[1:])
            found = found.data if isinstance(found, nbgrad.TrackedArray) else found
            assert np.shape(found) == np.shape(expected)
            np.testing.assert_allclose(found, expected, 1e-12)
    narrow = [x.astype(np.float32) for x in (POINTS, MEAN, COV)]
    assert f(*narrow).dtype == f(*narrow[:2], 2.0).dtype == np.float32


def test_derivatives_of_the_normal_distribution_of_vectors():
    def f(x: Any, mean: Any, a: Any) -> Any:
        return stats.multivariate_normal.logpdf(x, mean, a @ a.T + np.eye(3))

    args = (POINTS, MEAN, A)
    nbgrad.check_grads(f, args, BOTH, rtol=1e-5)
    nbgrad.check_grads(f, (POINTS[0], MEAN, A), order=2, rtol=1e-5)
    nbgrad.check_grads(
        lambda x, v: stats.multivariate_normal.logpdf(x, MEAN, v),
        (POINTS[:2], np.array([0.7, 1.4, 3.0])),
        BOTH,
    )
    slope: Any = nbgrad.grad(lambda x, mean, a: np.sum(f(x, mean, a)), (0, 1, 2))
    compiled: Any = nbgrad.compile(slope)
    for x, y in zip(compiled(*args), slope(*args), strict=True):
        np.testing.assert_allclose(x, y, 1e-9, 1e-12)
    found = nbgrad.vmap(lambda x: f(x, MEAN, A))(POINTS)
    np.testing.assert_allclose(found, f(*args))
    # In a covariance the gradient is symmetric: (inv(C) (r r.T) inv(C) - inv(C)) / 2.
    r, inverse = POINTS[0] - MEAN, np.linalg.inv(COV)
    exact = 0.5 * (inverse @ np.outer(r, r) @ inverse - inverse)
    found = nbgrad.grad(lambda c: stats.multivariate_normal.logpdf(POINTS[0], MEAN, c))(COV)
    np.testing.assert_allclose(found, exact, 1e-10)


def test_what_no_normal_distribution_has_is_refused():
    f = stats.multivariate_normal.logpdf
    for cov in (-COV, np.array([1.0, -1.0, 1.0])):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            f(POINTS, MEAN, cov)
    with pytest.raises(DimensionMismatch, match=r"\(2,\) and cov of the shape \(3, 3\)"):
        f(POINTS, MEAN[:2], COV)
    with pytest.raises(DimensionMismatch, match=r"x of the shape \(4, 2\)"):
        f(POINTS[:, :2], MEAN, COV)


@pytest.mark.parametrize(
    "cov", [COV, np.array([0.5, 0.1, 2.0]), 0.7], ids=["matrix", "some", "one"]
)
def test_entropy_of_the_normal_distribution_of_vectors(cov):
    assert_scipys("multivariate_normal", "entropy", MEAN, cov)
    assert_scipys("multivariate_normal", "pdf", POINTS, MEAN, cov)
    nbgrad.check_grads(lambda c: stats.multivariate_normal.entropy(MEAN, c), (cov,), BOTH, order=2)


def test_a_plain_cov_may_be_singular():
    f, direction = stats.multivariate_normal.logpdf, np.array([1.0, 2.0, -1.0])
    cov = np.outer(direction, direction)
    for singular in (cov, np.zeros((3, 3)) + np.diag([1.0, 0.0, 2.0]), COV):
        assert_scipys("multivariate_normal", "logpdf", POINTS, MEAN, singular, True)
        assert_scipys("multivariate_normal", "logpdf", MEAN + direction, MEAN, singular, True)
    steps = np.array([0.3, -1.2])
    along = lambda t: f(MEAN + t[:, None] * direction, MEAN, cov, True)  # noqa: E731
    nbgrad.check_grads(along, (steps,), BOTH, order=2)
    with pytest.raises(np.linalg.LinAlgError):
        nbgrad.grad(lambda c: f(MEAN, MEAN, c, True))(cov)
    with pytest.raises(np.linalg.LinAlgError, match="semidefinite"):
        f(MEAN, MEAN, -COV, True)


DRAWS = np.array([[1, 2, 3], [0, 0, 6], [1, 1, 1], [-1, 3, 4], [1.5, 1.5, 3]])
SHARES = np.array([0.2, 0.3, 0.5])


@pytest.mark.parametrize("n", [6, -1, [6, 6, 3, 6, 6]], ids=str)
@pytest.mark.parametrize("p", [SHARES, [0, 0.5, 0.5], [-0.5, 0.5, 1.0], [0.4, 0.5, 0.3]], ids=str)
def test_multinomial_is_scipys(n, p):
    expected = scipys("multinomial", DRAWS, n, p)
    np.testing.assert_allclose(stats.multinomial.logpmf(DRAWS, n, p), expected, 1e-12)


def test_derivatives_of_the_multinomial():
    def softmax(t):
        return np.exp(t) / np.sum(np.exp(t))

    f, t = stats.multinomial.logpmf, np.array([0.1, 0.5, -0.3])
    nbgrad.check_grads(lambda t: f(DRAWS[:2], 6, softmax(t)), (t,), BOTH, order=2)
    nbgrad.check_grads(lambda p: f(DRAWS[:2], 6, p), (SHARES,), BOTH, order=2)
    slope = nbgrad.grad(lambda t: np.sum(f(DRAWS[:2], 6, softmax(t))))
    np.testing.assert_allclose(slope(t), [1, 2, 9] - 12 * softmax(t), 1e-12)
    np.testing.assert_allclose(nbgrad.compile(slope)(t), slope(t), 1e-12)
    # A last share that is tiny keeps its digits.
    tiny = np.array([0.5, 0.5 - 1e-14, 1e-14])
    np.testing.assert_allclose(f([0, 0, 1], 1, tiny), np.log(1e-14), 1e-14)
    impossible = nbgrad.grad(lambda p: np.sum(f(DRAWS[2:], 6, p)))(SHARES)
    assert impossible.tolist() == [0, 0, 0]
    with pytest.raises(DimensionMismatch, match="their last axis"):
        f([1, 2], 3, SHARES)


ALPHA = np.array([1.5, 0.7, 3.0])
COMPONENTS = np.array([[0.2, 0.3], [0.3, 0.1], [0.5, 0.6]])


def test_dirichlet_is_scipys():
    f = stats.dirichlet.logpdf
    for x in (COMPONENTS, COMPONENTS[:, 0], COMPONENTS[:2], COMPONENTS[:2, 0]):
        expected = scipy.stats.dirichlet.logpdf(x, ALPHA)
        assert np.shape(f(x, ALPHA)) == np.shape(expected)
        np.testing.assert_allclose(f(x, ALPHA), expected, 1e-12)
    off = np.array([[0.5, -1.0, 0.0], [0.5, 1.0, 0.5], [0.5, 1.0, 0.5]])
    assert np.isneginf(f(off, ALPHA)[:2]).all()
    np.testing.assert_allclose(f(off[:, 2], ALPHA), -INF)
    assert np.isnan(f(COMPONENTS, -ALPHA)).all() and np.isnan(f([NAN, 0.5, 0.5], ALPHA))
    with pytest.raises(DimensionMismatch, match="k or k - 1 rows"):
        f(COMPONENTS[:1], ALPHA)


def test_derivatives_of_dirichlet():
    f = stats.dirichlet.logpdf
    nbgrad.check_grads(f, (COMPONENTS[:2], ALPHA), BOTH, order=2, rtol=1e-5)
    slope = nbgrad.grad(lambda x, a: np.sum(f(x, a)), (0, 1))
    np.testing.assert_allclose(slope(COMPONENTS, ALPHA)[0], (ALPHA - 1)[:, None] / COMPONENTS)
    for x, y in zip(
        nbgrad.compile(slope)(COMPONENTS, ALPHA), slope(COMPONENTS, ALPHA), strict=True
    ):
        np.testing.assert_allclose(x, y, 1e-10)
    off = np.array([[0.5, 0.2], [0.5, 0.3], [0.5, 0.5]])
    found = slope(off, ALPHA)
    assert (found[0][:, 0] == 0).all() and np.isfinite(found[1]).all()
