"""Functions of matrices at singular points, where the registry's samples do not go."""

import numpy as np
import pytest

import nbgrad
from nbgrad import DimensionMismatch

RNG = np.random.default_rng(3)
LEFT, RIGHT = RNG.normal(size=(4, 2)), RNG.normal(size=(2, 3))


def _slope(f, step=1e-4):
    return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step)


def test_pinv_of_matrices_of_lower_rank():
    """Matrices of rank 2 that move among those of rank 2: there the derivative exists."""
    ct = RNG.normal(size=(3, 4))
    left_dot, right_dot = RNG.normal(size=(4, 2)), RNG.normal(size=(2, 3))

    def moved(t):
        return np.linalg.pinv((LEFT + t * left_dot) @ (RIGHT + t * right_dot), rcond=1e-10)

    x, x_dot = LEFT @ RIGHT, left_dot @ RIGHT + LEFT @ right_dot
    expected = _slope(moved)
    out, pushed = nbgrad.jvp(np.linalg.pinv, (x,), (x_dot,))
    np.testing.assert_allclose(out, np.linalg.pinv(x))
    np.testing.assert_allclose(pushed, expected, rtol=1e-8, atol=1e-8 * abs(expected).max())
    slope = nbgrad.grad(lambda x: np.sum(np.linalg.pinv(x) * ct))(x)
    assert np.isclose(np.sum(slope * x_dot), np.sum(expected * ct), rtol=1e-8)


def test_pinv_second_order_and_samples():
    xs, direction = RNG.normal(size=(5, 3, 2)), RNG.normal(size=(3, 2))
    total = nbgrad.grad(lambda x: np.sum(np.linalg.pinv(x) ** 2))
    twice = nbgrad.grad(lambda x: np.sum(total(x) * direction))
    expected = _slope(lambda t: total(xs[0] + t * direction))
    np.testing.assert_allclose(twice(xs[0]), expected, rtol=1e-7, atol=1e-7 * abs(expected).max())
    many = nbgrad.vmap(total)(xs)
    np.testing.assert_allclose(many, [total(x) for x in xs], rtol=1e-12)
    # Of a matrix with an inverse it is the inverse.
    square = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
    found, known = (
        nbgrad.grad(lambda x, f=f: np.sum(np.sin(f(x))))(square)
        for f in (np.linalg.pinv, np.linalg.inv)
    )
    np.testing.assert_allclose(found, known, rtol=1e-10)


def test_pinv_refuses_what_has_no_rule():
    x = nbgrad.track(np.eye(2))
    with pytest.raises(NotImplementedError, match=r"pinv: rcond .* x\.data"):
        np.linalg.pinv(x, 0.1)
    with pytest.raises(NotImplementedError, match=r"pinv: .*hermitian"):
        np.linalg.pinv(x, hermitian=True)
    with pytest.raises(DimensionMismatch, match=r"pinv: the shape \(3,\)"):
        np.linalg.pinv(nbgrad.track(np.ones(3)))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.linalg.eigh(x)[0] ** 3),
        lambda x: np.sum(np.linalg.eigvalsh(x, UPLO="U") ** 3),
        lambda x: np.sum(np.linalg.eigh(x, "U")[0][-1] * np.linalg.eigh(x, "U")[1][:, 0] ** 2),
        lambda x: np.sum(np.linalg.cholesky(x) * (LEFT[:3] @ RIGHT)),
        lambda x: np.sum(np.linalg.cholesky(x, upper=True) * (LEFT[:3] @ RIGHT)),
    ],
)
def test_matrices_of_which_one_triangle_is_filled(f):
    """The value is that of the triangle that NumPy reads, and the gradient is its derivative; of
    symmetric matrices it stays symmetric."""
    half = RNG.normal(size=(3, 3))
    whole = half @ half.T + 3 * np.eye(3)
    direction = RNG.normal(size=(3, 3))
    for x in (np.tril(whole), np.triu(whole)):
        assert np.isclose(f(nbgrad.track(x)).data, f(x), rtol=1e-12)
        expected = _slope(lambda t, x=x: f(x + t * direction))
        assert np.isclose(nbgrad.jvp(f, (x,), (direction,))[1], expected, rtol=1e-7)
        slope = nbgrad.grad(f)(x)
        assert np.isclose(np.sum(slope * direction), expected, rtol=1e-7)
        many = nbgrad.vmap(nbgrad.grad(f))(np.stack([x, x]))
        np.testing.assert_allclose(many[1], slope, rtol=1e-12)
        both = nbgrad.vmap(nbgrad.grad(f))(np.stack([whole, x]))
        np.testing.assert_allclose(both[1], slope, rtol=1e-12)
        np.testing.assert_allclose(both[0], nbgrad.grad(f)(whole), rtol=1e-12)
    slope = nbgrad.grad(f)(whole)
    np.testing.assert_allclose(slope, slope.T)


@pytest.mark.parametrize("upper", [False, True])
def test_compiled_factors_of_matrices_of_which_one_triangle_is_filled(upper):
    """Among symmetric matrices of a stack, too, of which the gradient stays symmetric."""
    half = RNG.normal(size=(3, 3))
    whole = half @ half.T + 3 * np.eye(3)
    stack = np.stack([whole, np.tril(whole), np.triu(whole), np.diag(np.diag(whole))])

    def f(x):
        factor = np.linalg.cholesky(x, upper=upper)
        return np.sum(factor * (LEFT[:3] @ RIGHT))

    compiled = nbgrad.compile(nbgrad.value_and_grad(f))
    for x in (stack, *stack):
        value, slope = compiled(x)
        assert np.isclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(slope, nbgrad.grad(f)(x), rtol=1e-11, atol=1e-14)
    value, tangent = nbgrad.compile(lambda x, t: nbgrad.jvp(f, (x,), (t,)))(stack, stack)
    assert np.isclose(value, f(stack), rtol=1e-12)
    assert np.isclose(tangent, np.sum(nbgrad.grad(f)(stack) * stack), rtol=1e-11)
