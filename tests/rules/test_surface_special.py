"""Functions of NumPy on tracked arrays, where their samples do not reach: equal eigenvalues, ranks
that fall, points without derivative, nan, and what stands beside np.r_."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.special

import nbgrad
from nbgrad import NoRuleError, grad, track


def slope(f, x):
    return grad(lambda x: np.sum(f(x)))(np.asarray(x, float))


# -- medians and quantiles ------------------------------------------------------------------------


@pytest.mark.parametrize("function", [np.median, lambda x: np.quantile(x, 0.5)])
def test_the_middle_of_nan_is_nan(function):
    x = np.array([1.0, np.nan, 2.0, 3.0, 0.5])
    assert np.isnan(function(track(x)).data)
    rows = np.array([[1.0, np.nan, 2.0], [1.0, 5.0, 2.0]])
    np.testing.assert_array_equal(np.median(track(rows), axis=1).data, [np.nan, 2.0])


def test_nan_gets_no_cotangent():
    x = np.array([1.0, np.nan, 2.0, 4.0])
    for function in (np.nansum, np.nanmean, np.nanstd, np.nanmax, np.nanmedian, np.nanprod):
        found = slope(function, x)
        assert found[1] == 0
        np.testing.assert_allclose(
            found[[0, 2, 3]], slope(getattr(np, function.__name__[3:]), x[[0, 2, 3]]), rtol=1e-14
        )


@pytest.mark.parametrize("function", [np.nanmean, np.nanmax, np.nanmin, np.nanmedian, np.nanstd])
def test_nothing_but_nan_gives_nan(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(np.full(3, np.nan))
    np.testing.assert_array_equal(function(track(np.full(3, np.nan))).data, expected)


def test_quantiles_in_q():
    x = np.array([0.0, 1.0, 4.0, 9.0])
    assert grad(lambda q: np.quantile(x, q))(0.5) == pytest.approx(9.0)  # 3 * (4 - 1)
    assert grad(lambda q: np.percentile(x, q))(50.0) == pytest.approx(0.09)


# -- products and scans ---------------------------------------------------------------------------


def test_running_products_through_zeros():
    x = np.array([2.0, 0.0, 3.0, 0.0])
    np.testing.assert_array_equal(np.cumprod(track(x)).data, np.cumprod(x))
    jacobian = nbgrad.jacobian(np.cumprod)(x)
    np.testing.assert_array_equal(
        jacobian, [[1, 0, 0, 0], [0, 2, 0, 0], [0, 6, 0, 0], [0, 0, 0, 0]]
    )
    nbgrad.check_grads(np.cumprod, (x,), ("forward", "reverse"), order=2)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13, 64, 101])
def test_scans_of_any_length(n, rng):
    x = rng.uniform(0.5, 1.5, n)
    for ufunc in (np.multiply, np.maximum, np.logaddexp, np.hypot):
        found: Any = ufunc.accumulate(track(x))
        np.testing.assert_allclose(found.data, ufunc.accumulate(x), rtol=1e-13)
        np.testing.assert_allclose(ufunc.reduce(track(x)).data, ufunc.reduce(x), rtol=1e-13)


# -- eigenvalues and singular values --------------------------------------------------------------


def test_sums_of_equal_eigenvalues_have_a_gradient():
    a = np.diag([1.0, 1.0, 2.0])
    np.testing.assert_allclose(slope(np.linalg.eigvalsh, a), np.eye(3), atol=1e-14)
    square = slope(lambda a: np.linalg.eigvalsh(a) ** 2, a)
    np.testing.assert_allclose(square, 2 * a, atol=1e-14)


def test_what_is_rebuilt_of_equal_eigenvalues_has_none():
    """The function is smooth, but its derivative cannot be told from that of the factors: nan, not
    a number that is wrong."""

    def rebuilt(a):
        w, v = np.linalg.eigh(a)
        return np.sum((v * w) @ v.T * np.array([[1.0, 3.0], [0.0, 2.0]]))

    assert np.isnan(grad(rebuilt)(np.eye(2))).any()
    np.testing.assert_allclose(
        grad(rebuilt)(np.array([[1.0, 0.2], [0.2, 2.0]])), [[1.0, 1.5], [1.5, 2.0]], rtol=1e-13
    )
    # Equal up to rounding.
    turn = np.linalg.qr(np.array([[1.0, 0.5, 0.2], [0.3, 1.0, 0.1], [0.2, 0.4, 1.0]]))[0]
    a = turn @ np.diag([1.0, 1.0, 2.0]) @ turn.T
    assert np.isnan(slope(lambda a: np.linalg.eigh(a)[1], a)).any()


def test_singular_values_of_low_rank():
    a = np.outer([1.0, 2.0, 2.0], [3.0, 4.0])  # 15 and 0
    found = slope(lambda a: np.linalg.svdvals(a)[0], a)
    np.testing.assert_allclose(found, a / 15, atol=1e-14)
    np.testing.assert_allclose(slope(lambda a: np.linalg.norm(a, 2), a), a / 15, atol=1e-14)
    assert np.isfinite(slope(lambda a: np.linalg.norm(a, "nuc"), a)).all()
    assert np.isnan(slope(lambda a: np.linalg.svd(a, full_matrices=False)[0], a)).any()
    # Of the unit matrix all are equal.
    np.testing.assert_allclose(slope(lambda a: np.linalg.norm(a, "nuc"), np.eye(3)), np.eye(3))


def test_additional_singular_vectors_are_refused():
    with pytest.raises(NoRuleError, match="full_matrices=False"):
        np.linalg.svd(track(np.ones((3, 2))))


# -- least squares --------------------------------------------------------------------------------


def test_least_squares_of_low_rank(rng):
    x = rng.normal(size=(4, 2))
    a, b = np.column_stack([x, x[:, 0]]), rng.normal(size=4)
    mine, theirs = np.linalg.lstsq(track(a), b), np.linalg.lstsq(a, b)
    np.testing.assert_allclose(mine[0].data, theirs[0], rtol=1e-12)
    assert mine[2] == theirs[2] == 2
    assert mine[1].shape == theirs[1].shape == (0,)
    gradient = nbgrad.jacobian(lambda b: np.linalg.lstsq(track(a), b)[0])(b)
    np.testing.assert_allclose(gradient, np.linalg.pinv(a), rtol=1e-11)


def test_fits_are_least_squares(rng):
    x, y = rng.normal(size=(2, 9))
    design = np.vander(x, 3)
    found = nbgrad.jacobian(lambda y: np.polyfit(x, y, 2))(y)
    np.testing.assert_allclose(found, np.linalg.pinv(design), rtol=1e-9)
    compiled = nbgrad.compile(lambda x, y: np.polyfit(x, y, 2))
    np.testing.assert_allclose(compiled(x, y), np.polyfit(x, y, 2), rtol=1e-10)
    with pytest.raises(np.linalg.LinAlgError):
        compiled(np.ones(9), y)


# -- other special points -------------------------------------------------------------------------


def test_interpolation_has_the_slope_to_the_right():
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 0.0])
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.5])
    np.testing.assert_allclose(slope(lambda x: np.interp(x, xp, fp), x), [0, 2, 2, -1, -1, 0])
    weights = nbgrad.jacobian(lambda fp: np.interp(x, xp, fp))(fp)
    np.testing.assert_allclose(
        weights, [[1, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1]]
    )
    at_the_end: Any = np.interp(track(3.0), xp, fp)
    np.testing.assert_allclose(at_the_end.data, 0.0)


def test_bessel_functions(rng):
    x = rng.uniform(-30, 30, 500)
    for name in ("i0", "i1"):
        function = getattr(scipy.special, name)
        np.testing.assert_allclose(function(track(x)).data, function(x), rtol=3e-15)
    np.testing.assert_allclose(slope(np.i0, x), scipy.special.i1(x), rtol=3e-15)
    np.testing.assert_allclose(slope(scipy.special.i1, [0.0]), [0.5], rtol=1e-15)
    ends: Any = np.i0(track([0.0, np.inf]))
    np.testing.assert_allclose(ends.data, [1.0, np.inf], rtol=4e-16)


def test_angles_are_unwrapped_by_constants():
    x = np.array([0.1, 3.0, 6.2, 0.4, 3.3, 6.5])
    unwrapped: Any = np.unwrap(track(x))
    np.testing.assert_allclose(unwrapped.data, np.unwrap(x))
    np.testing.assert_array_equal(slope(np.unwrap, x), np.ones(6))


# -- joining --------------------------------------------------------------------------------------


def test_r_and_c():
    x, s = np.array([1.0, 2.0]), 3.0
    for mine, theirs in (
        (nbgrad.r_[track(x), 0.0, track(s), 1:4], np.r_[x, 0.0, s, 1:4]),
        (nbgrad.r_[track(x[:, None]), x[:, None]], np.r_[x[:, None], x[:, None]]),
        (nbgrad.c_[track(x), x], np.c_[x, x]),
        (nbgrad.c_[track(np.eye(2)), x], np.c_[np.eye(2), x]),
    ):
        assert isinstance(mine, nbgrad.TrackedArray)
        np.testing.assert_array_equal(mine.data, theirs)
    with pytest.raises(ValueError, match="directive"):
        nbgrad.r_["r", track(x)]
    assert grad(lambda s: np.sum(nbgrad.r_[s, s * x] ** 2))(2.0) == pytest.approx(24.0)


def test_methods_of_ufuncs_write_to_what_is_computed():
    x = track(np.ones(3))
    with pytest.raises(nbgrad.GraphError, match=r"np\.add\.at\(x\.data, i, v\)"):
        np.add.at(x, [0], 1.0)
    with pytest.raises(nbgrad.UntrackedError, match="out"):
        np.add.reduce(x, out=np.zeros(()))
    y = x * 1.0
    np.add.at(y, [0, 0], 1.0)
    np.multiply.accumulate(y, out=y)
    np.testing.assert_array_equal(y.data, [3.0, 3.0, 3.0])


def test_nothing_is_written_into_what_is_tracked():
    x: Any = track(np.array([1.0, -np.inf]))
    for function in (np.isneginf, np.isposinf, np.nanargmax):
        with pytest.raises(nbgrad.GraphError, match="out"):
            function(x, out=x)
    with pytest.raises(NoRuleError, match="out"):
        np.isneginf(x, x)
    np.testing.assert_array_equal(x.data, [1.0, -np.inf])


def test_unwrapped_whole_numbers_are_floats():
    """As NumPy has it, for samples of whole numbers too."""
    found = nbgrad.vmap(lambda n: np.unwrap(n))(np.array([[0, 4], [1, 9]]))
    np.testing.assert_allclose(found, np.unwrap([[0, 4], [1, 9]]))
    assert found.dtype == np.float64


def test_slopes_of_polynomials_with_coefficients_of_bools_and_bytes():
    """Powers times coefficients do not fit into their dtype."""
    for c in (np.array([True, True, True]), np.array([100, 1, 100], np.int8)):
        expected = np.polyval(np.polyder(c.astype(float)), 1.5)
        assert grad(lambda x, c=c: np.polyval(c, x))(1.5) == pytest.approx(expected)
        assert grad(lambda x, c=c: nbgrad.evalpoly(x, c[::-1]))(1.5) == pytest.approx(expected)
