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
