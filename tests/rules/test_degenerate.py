"""Equal eigenvalues and singular values, and dependent columns: what has a derivative there, and
what is nan or refused."""

from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import track

RNG = np.random.default_rng(5)
TURN = np.linalg.qr(RNG.normal(size=(5, 5)))[0]
WEIGHTS, DIRECTION = RNG.normal(size=(5, 5)), RNG.normal(size=(5, 5))
THREE_EQUAL = np.array([1.0, 1.0, 1.0, 2.0, 3.0])
EVEN = DIRECTION + DIRECTION.T


def slope_along(f, x, direction, step=1e-3):
    near, far = (f(x + k * direction) - f(x - k * direction) for k in (step, 2 * step))
    return (8 * near - far) / (12 * step)


def projector(k):
    """Of the space of the first k eigenvectors, a weighted sum."""

    def f(a):
        v = np.linalg.eigh(a)[1]
        return np.sum(v[:, :k] @ v[:, :k].T * WEIGHTS)

    return f


def assert_gradient(f, x, direction, rtol=1e-7):
    found = nbgrad.grad(f)(x)
    expected = slope_along(f, x, direction)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.sum(found * direction), expected, rtol, rtol)


# -- eigenvalues ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        THREE_EQUAL,
        [1.0, 1.0, 1.0, 2.0, 2.0],
        [1.0, 1.0 + 1e-6, 1.0, 2.0, 3.0],
        [1.0, 1.0 + 1e-12, 1.0, 2.0, 3.0],
    ],
    ids=str,
)
@pytest.mark.parametrize("turn", [np.eye(5), TURN], ids=["diagonal", "turned"])
def test_projectors_onto_spaces_of_equal_eigenvalues(values, turn):
    """Also where they differ by little: no digits are lost."""
    a = turn @ np.diag(values) @ turn.T
    assert_gradient(projector(3), a, EVEN)
    # All vectors together are a basis, whatever the matrix.
    np.testing.assert_allclose(nbgrad.grad(projector(5))(a), 0.0, atol=1e-14)


def test_functions_that_tell_equal_eigenvectors_apart_have_none():
    a = TURN @ np.diag(THREE_EQUAL) @ TURN.T
    assert np.isnan(nbgrad.grad(projector(2))(a)).any()
    assert np.isnan(nbgrad.grad(lambda a: np.linalg.eigh(a)[1][0, 0])(a)).any()
    assert np.isfinite(nbgrad.grad(lambda a: np.linalg.eigh(a)[1][0, 4])(a)).all()


def test_values_beside_equal_vectors_have_none():
    """The gradients of v and w do not tell that of a function of both; that of the matrix does."""

    def exponential(a):
        w, v = np.linalg.eigh(a)
        return np.sum((v * np.exp(w)) @ v.T * WEIGHTS[:2, :2])

    assert np.isnan(nbgrad.grad(exponential)(np.eye(2))).any()
    found = nbgrad.grad(lambda a: np.sum(nbgrad.linalg.expm(a) * WEIGHTS[:2, :2]))(np.eye(2))
    np.testing.assert_allclose(found, np.e * WEIGHTS[:2, :2], 1e-13)
    apart = np.array([[1.0, 0.2], [0.2, 2.0]])
    mine = nbgrad.grad(exponential)(apart)
    found = nbgrad.grad(lambda a: np.sum(nbgrad.linalg.expm(a) * WEIGHTS[:2, :2]))(apart)
    np.testing.assert_allclose(mine, 0.5 * (found + found.T), 1e-12)


def test_forward_mode_and_second_order():
    """Values have sums in forward mode; vectors along directions that keep equal ones equal."""
    a = TURN @ np.diag(THREE_EQUAL) @ TURN.T
    _, moved = nbgrad.jvp(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), (a,), (EVEN,))
    np.testing.assert_allclose(moved, 2 * np.sum(a * EVEN), 1e-12)
    _, still = nbgrad.jvp(lambda a: np.linalg.eigh(a)[1], (a,), (a,))
    np.testing.assert_allclose(still, 0.0, atol=1e-14)
    _, parted = nbgrad.jvp(projector(3), (a,), (EVEN,))
    assert np.isnan(parted)
    assert np.isnan(nbgrad.hvp(projector(3))(a, EVEN)).any()
    # What is 0 at the point keeps its derivative, here and where it is none.
    b = TURN[:3, :3] @ np.diag([1.0, 2.0, 3.0]) @ TURN[:3, :3].T
    corner, even = np.linalg.eigh(b)[1][0, 0], EVEN[:3, :3]
    first = nbgrad.grad(lambda a: np.linalg.eigh(a)[1][0, 0])(b)
    second = nbgrad.hvp(lambda a: (np.linalg.eigh(a)[1][0, 0] - corner) ** 2)(b, even)
    np.testing.assert_allclose(second, 2 * first * np.sum(first * even), 1e-10)
    at_tie = nbgrad.hvp(lambda a: np.linalg.eigh(a)[1][0, 1] ** 2)
    assert np.isnan(at_tie(np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]]))).any()


# -- singular values ------------------------------------------------------------------------------


def polar(a):
    """The factor of the polar decomposition, which no rotation of both sides changes."""
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum(u @ vh * WEIGHTS[: a.shape[0], : a.shape[1]])


@pytest.mark.parametrize(
    "a",
    [np.eye(5), TURN, TURN @ np.diag([1, 1, 2, 2, 3.0]), 2 * TURN[:, :3], 2 * TURN[:3],
     TURN[:, :3] @ np.diag([2.0, 2.0, 1.0])],
    ids=["unit", "orthogonal", "pairs", "tall", "wide", "tall pair"],
)  # fmt: skip
def test_polar_factors_of_equal_singular_values(a):
    direction = DIRECTION[: a.shape[0], : a.shape[1]]
    assert_gradient(polar, a, direction)
    # The sum of singular values: its gradient is the polar factor.
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    found = nbgrad.grad(lambda a: np.linalg.norm(a, "nuc"))(a)
    np.testing.assert_allclose(found, u @ vh, atol=1e-14)
    for ord in (2, -2):  # one of the directions in which it changes
        found = nbgrad.grad(lambda a, ord=ord: np.linalg.norm(a, ord))(a)
        assert np.isclose(np.sum(found * a), np.linalg.norm(a, ord))
    assert np.isnan(
        nbgrad.grad(lambda a: np.sum(np.linalg.svd(a)[0][:, :2] @ WEIGHTS[:2]))(TURN)
    ).any()


def test_matrices_of_lower_rank():
    low = np.outer([1.0, 2.0, 2.0], [3.0, 4.0])  # singular values 15 and 0
    found = nbgrad.grad(lambda a: np.sum(np.linalg.svdvals(a) ** 2))(low)
    np.testing.assert_allclose(found, 2 * low, 1e-13)
    first = nbgrad.grad(lambda a: np.linalg.svd(a, full_matrices=False)[0][0, 0] ** 2)(low)
    assert np.isfinite(first).all()
    assert_gradient(
        lambda a: np.linalg.svd(a, full_matrices=False)[0][0, 0] ** 2, low, DIRECTION[:3, :2]
    )
    last = nbgrad.grad(lambda a: np.linalg.svd(a, full_matrices=False)[0][0, 1])(low)
    assert np.isnan(last).any()
    zero = nbgrad.grad(lambda a: np.sum(np.linalg.pinv(a)))(np.zeros((3, 2)))
    np.testing.assert_array_equal(zero, 0.0)


def test_factors_of_dependent_columns_are_refused():
    low = nbgrad.track(np.outer([1.0, 2.0, 2.0], [3.0, 4.0]))
    for factor in np.linalg.qr(low):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            np.sum(factor).backward(keep_graph=True)


def test_general_matrices_with_equal_eigenvalues():
    a = np.diag([1.0, 1.0, 3.0])
    sums = nbgrad.grad(lambda a: np.sum(np.linalg.eigvals(a)))(a)
    np.testing.assert_array_equal(sums, np.eye(3))
    assert np.isnan(nbgrad.grad(lambda a: np.sum(np.linalg.eig(a)[1][:, 0] * [1, 2, 3]))(a)).any()
    third = nbgrad.grad(lambda a: np.linalg.eig(a)[1][0, 2])(a)
    np.testing.assert_array_equal(third, np.outer([0.5, 0.0, 0.0], [0.0, 0.0, 1.0]))


@pytest.mark.parametrize(
    "x,expected",
    [
        ([1e-150, 1e-150, 1e200, 1e200], [1e250, 1e250, 1e-100, 1e-100]),
        ([1e150, 1e150, 1e-200, 1e-200], [1e-250, 1e-250, 1e100, 1e100]),
        ([1e-150, 2.0, 1e-150, 1e200, 1e200], [2e250, 1e100, 2e250, 2e-100, 2e-100]),
    ],
)
def test_slopes_of_products_are_finite_where_the_product_is(x, expected):
    x = np.array(x)
    for f in (np.prod, nbgrad.compile(np.prod), lambda x: np.prod(np.stack([x, x]), 1)[0]):
        np.testing.assert_allclose(nbgrad.grad(f)(x), expected, rtol=1e-14)
        pushed = [nbgrad.jvp(f, (x,), (e,))[1] for e in np.eye(len(x))]
        np.testing.assert_allclose(pushed, expected, rtol=1e-14)
    np.testing.assert_allclose(nbgrad.compile(nbgrad.grad(np.prod))(x), expected, rtol=1e-14)


def test_covariances_take_lists_of_weights():
    x = np.array([[1.0, 2.0, 4.0], [0.5, 0.1, 3.0]])
    f = lambda x: np.cov(x, aweights=[1, 2, 3])  # noqa: E731
    for g in (lambda x: f(nbgrad.track(x)).data, nbgrad.compile(f)):
        np.testing.assert_allclose(g(x), f(x), rtol=1e-14)  # pyright: ignore[reportCallIssue, reportArgumentType]


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3)])
def test_positions_of_what_has_no_elements_are_not_checked(shape, mode):
    plain = np.ones(shape)
    for positions, axis in ((5, 1), ([5, -7], 1), ([], 0), ([], 1), ([0], 0), ([7], 0)):
        try:
            expected = np.take(plain, positions, axis=axis, mode=mode)
        except IndexError:
            with pytest.raises(IndexError):
                np.take(track(plain), positions, axis=axis, mode=mode)
            continue
        x = track(plain)
        found: Any = np.take(x, positions, axis=axis, mode=mode)
        assert found.shape == expected.shape
        np.sum(found).backward()
        assert x.grad is None or x.grad.shape == shape
