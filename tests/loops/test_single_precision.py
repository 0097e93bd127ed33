"""Arrays of float32 beside integers and doubles: values and dtypes as Numba's."""

from typing import Any

import numba
import numpy as np
import pytest
from helpers.daily import daily
from numba.np.numpy_support import as_dtype

import nbgrad

X = np.random.default_rng(0).uniform(0.5, 1.0, 10).astype(np.float32)
CASES = {
    "a power": lambda x: x**2,
    "a power that is not constant": lambda x: x ** (x.size // 4),
    "a quotient": lambda x: x / 3,
    "a quotient of an integer": lambda x: 1 / x,
    "an integer": lambda x: x + x.size,
    "a double": lambda x: x * 2.5,
    "integers": lambda x: np.arange(10) * x[0],
    "a remainder": lambda x: 7 % x,
    "np.power": lambda x: np.power(x, 3),
    "np.maximum": lambda x: np.maximum(x[0], 0),
    "np.add": lambda x: np.add(x[0], x.size),
    "np.hypot": lambda x: np.hypot(x[0], 2),
    "np.fmod": lambda x: np.fmod(x, 1),
    "np.logaddexp": lambda x: np.logaddexp(x, 1),
    "math.pow": lambda x: pow(x[0], 2) + np.float64(x[1]) ** 2,
    "np.clip": lambda x: np.clip(x, 0.6, 0.8),
    "np.where": lambda x: np.where(x > 0.7, x, 0),
    "np.var": lambda x: np.var(x),
    "np.std": lambda x: x.std(),
    "np.mean": lambda x: x.mean(),
}


@pytest.mark.parametrize("name", daily(CASES, 10))
def test_values_and_dtypes(name):
    theirs: Any = numba.njit(CASES[name])
    wanted = theirs(X)
    dtype = as_dtype(getattr(kind := theirs.nopython_signatures[0].return_type, "dtype", kind))
    found, _ = nbgrad.vjp(nbgrad.njit(CASES[name]), X)
    assert np.asarray(found).dtype == dtype
    assert np.array_equal(found, wanted)
