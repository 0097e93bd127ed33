"""Gradients of float32 with a value of float64, and products that set what was 0."""

import numpy as np
import pytest

import nbgrad
from nbgrad import njit


@njit
def weighted(a, b, scale):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * b[j] * scale
    return total * total


@pytest.mark.parametrize("columns", [3, 4])
@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (0, 1, 2)])
def test_gradients_have_the_dtype_of_their_arguments(columns, argnums):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, columns)), rng.normal(size=columns)
    wanted = nbgrad.value_and_grad(weighted, argnums)(a, b, 1.5)
    single = (a.astype(np.float32), b.astype(np.float32), np.float32(1.5))
    value, slopes = nbgrad.value_and_grad(weighted, argnums)(*single)
    assert type(value) is np.float64
    assert np.isclose(value, wanted[0], rtol=1e-6)
    if isinstance(argnums, int):
        slopes, wanted = (slopes,), (wanted[0], (wanted[1],))
    for x, y in zip(slopes, wanted[1], strict=True):
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, y, rtol=1e-5)
    twice = nbgrad.grad(lambda x: nbgrad.grad(weighted)(x, single[1], single[2]).sum())(single[0])
    assert twice.dtype == np.float32


PRODUCTS = {
    "matrices": lambda a, b: ((a @ b) ** 2).sum(),
    "turned": lambda a, b: ((b.T @ a.T) ** 2).sum(),
    "vectors": lambda a, b: ((a[0] @ b) ** 2).sum() + ((b @ a[:, 0][: b.shape[1]]) ** 2).sum(),
    "outer products": lambda a, b: (np.outer(a[:, 0], b[0]) ** 2).sum() + (a @ b[:, 0]).sum(),
    "twice": lambda a, b: ((a @ (b @ (a @ b)[: b.shape[1]])) ** 2).sum(),
}


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 2, 3), (40, 3, 40), (17, 64, 17), (3, 70, 3)])
@pytest.mark.parametrize("program", PRODUCTS.values(), ids=PRODUCTS)
def test_products(program, sizes):
    rng = np.random.default_rng(0)
    m, k, n = sizes
    a, b = rng.normal(size=(m, k)), rng.normal(size=(k, n))
    found = nbgrad.value_and_grad(njit(program), (0, 1))(a, b)
    wanted = nbgrad.value_and_grad(program, (0, 1))(a, b)
    assert np.isclose(found[0], wanted[0], rtol=1e-12)
    for x, y in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9 * np.abs(y).max())
