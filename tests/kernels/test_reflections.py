import numpy as np
import pytest
from helpers.daily import pairs

import nbgrad

SIZES = [(0, 0), (3, 0), (1, 1), (5, 5), (32, 32), (33, 33), (49, 49), (100, 40), (520, 505)]


def factors(x):
    return tuple(np.linalg.qr(x))


@pytest.mark.parametrize(("shape", "dtype"), pairs(SIZES, ["float64", "float32"]))
def test_factors_of_any_size_are_those_of_numpy(shape, dtype):
    """One panel of columns, and several of both widths; tall matrices and wide ones."""
    matrix = np.random.default_rng(0).normal(size=shape) + 3 * np.eye(*shape) * shape[0] ** 0.5
    for x in (matrix.astype(dtype), matrix.T.astype(dtype)):
        for found, expected in zip(nbgrad.compile(factors)(x), np.linalg.qr(x), strict=True):
            assert found.dtype == dtype
            size = max(1.0, np.abs(expected).max(initial=0.0))
            bound = 8 * np.finfo(dtype).eps * size * max(shape[0], 1) ** 0.5
            np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("n", [20, 50])
def test_columns_with_nothing_to_reflect(n):
    """Zeros below the diagonal, in the middle of a panel and in all of one."""
    rng = np.random.default_rng(1)
    first = rng.normal(size=(60, n))
    first[:, 2] = 0.0
    x = np.stack(
        [first, np.eye(60, n) * 2.0, np.triu(rng.normal(size=(60, n)) + 9 * np.eye(60, n))]
    )
    for found, expected in zip(nbgrad.compile(factors)(x), np.linalg.qr(x), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_lengths_neither_overflow_nor_underflow(scale):
    x = np.random.default_rng(2).normal(size=(40, 40)) + 9 * np.eye(40)
    (q, r), (expected_q, expected_r) = nbgrad.compile(factors)(scale * x), np.linalg.qr(x)
    np.testing.assert_allclose(q, expected_q, atol=1e-14)
    np.testing.assert_allclose(r / scale, expected_r, atol=1e-13)
