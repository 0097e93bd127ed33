"""Names beside the rows of elementwise functions: aliases, optional bounds, SciPy's ufuncs."""

import numpy as np
import pytest
import scipy.special

import nbgrad

X = np.array([-1.5, -0.25, 0.5, 2.0])


@pytest.mark.parametrize("function", [np.radians, np.degrees, np.fabs], ids=lambda f: f.__name__)
def test_other_names_of_a_row(function):
    x = nbgrad.track(X)
    np.testing.assert_allclose(function(x).data, function(X), 1e-15)


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (None, 1.0), (-1.0, None), (None, None)], ids=str)
def test_clip_with_any_bounds(bounds):
    x = nbgrad.track(X)
    low, high = bounds
    np.testing.assert_array_equal(nbgrad.track(np.clip(x, low, high)).data, np.clip(X, low, high))
    slope = nbgrad.grad(lambda x: np.sum(np.clip(x, low, high)))(X)
    inside = (X > (-9 if low is None else low)) & (X < (9 if high is None else high))
    np.testing.assert_array_equal(slope, inside)


@pytest.mark.parametrize("name", ["erf", "erfc", "expit"])
def test_scipys_ufuncs(name):
    function = getattr(scipy.special, name)
    x = nbgrad.track(X)
    np.testing.assert_allclose(function(x).data, function(X), 1e-14)
    function(x).sum().backward()
    slope = (function(X + 1e-6) - function(X - 1e-6)) / 2e-6
    np.testing.assert_allclose(x.grad, slope, 1e-8)


def test_parameters_of_activations_have_derivatives():
    slope, alpha = nbgrad.track(0.2), nbgrad.track(1.5)
    (nbgrad.leaky_relu(X, slope) + nbgrad.elu(X, alpha)).sum().backward()
    np.testing.assert_allclose(slope.grad, X[X < 0].sum(), 1e-15)
    np.testing.assert_allclose(alpha.grad, np.expm1(X[X < 0]).sum(), 1e-15)


def test_xlogy_where_x_or_y_is_zero():
    x, y = np.array([0.0, 0.0, 0.0, 2.0, 0.0]), np.array([0.0, 2.0, -1.0, 0.5, np.nan])
    f = scipy.special.xlogy
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(f(nbgrad.track(x), y).data, f(x, y))
        compiled = nbgrad.compile(lambda x, y: f(x, y))
        np.testing.assert_array_equal(compiled(x, y), f(x, y))
        both = nbgrad.grad(lambda x, y: np.sum(f(x, y)), (0, 1))
        for gradient in (both, nbgrad.compile(both)):
            x_bar, y_bar = gradient(x, y)
            np.testing.assert_allclose(x_bar, np.log(y), rtol=1e-15)
            np.testing.assert_array_equal(y_bar, [0.0, 0.0, -0.0, 4.0, np.nan])
    # x / y is differentiated as it stands, also where x is 0: its slope in x is 1 / y.
    hessian = nbgrad.hessian(lambda v: f(v[0], v[1]))(np.array([0.0, 2.0]))
    np.testing.assert_allclose(hessian, [[0.0, 0.5], [0.5, 0.0]], rtol=1e-15)
