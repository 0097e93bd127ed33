"""The products of matrices by tiles, on any processor: LLVM makes do where vectors are shorter."""

import ctypes
import sys

import numpy as np
import pytest

import nbgrad
from nbgrad.compiler.kernel import kernel
from nbgrad.compiler.pointers import pointer
from nbgrad.kernels import gemm
from nbgrad.kernels.blas import gemm_at

KERNELS = {np.float64: gemm._gemm_f8, np.float32: gemm._gemm_f4}
SPREAD = {np.float64: gemm._spread_gemm_f8, np.float32: gemm._spread_gemm_f4}
# Of one tile and of many, with rows and columns over, and more terms than are summed at once.
SIZES = [
    (1, 1, 1), (2, 5, 3), (8, 16, 4), (8, 32, 1), (9, 17, 5), (16, 16, 200), (17, 33, 7),
    (25, 70, 193), (40, 31, 500), (24, 80, 270), (33, 10, 300), (3, 4, 0),
]  # fmt: skip


def _product(dtype, m, n, k, ta, tb, more=0, kernels=KERNELS):
    """Both factors, c in nans with `more` columns beside it, and c as a kernel leaves it."""
    rng = np.random.default_rng(m + n + k)
    a = rng.normal(size=(k, m + more) if ta else (m, k + more)).astype(dtype)
    b = rng.normal(size=(n, k + more) if tb else (k, n + more)).astype(dtype)
    c = np.full((m, n + more), np.nan, dtype)
    places = (x.ctypes.data for x in (a, b, c))
    strides = (x.shape[1] for x in (a, b, c))
    kernels[dtype](*places, m, n, k, int(ta), int(tb), *strides)
    x, y = (a[:, :m].T if ta else a[:, :k]), (b[:, :k].T if tb else b[:, :n])
    return x, y, c


@pytest.mark.parametrize("dtype", KERNELS)
@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_it_is_the_product_of_numpy(dtype, turned):
    for m, n, k in SIZES:
        x, y, c = _product(dtype, m, n, k, *turned)
        largest = np.abs(x).astype(np.float64) @ np.abs(y)
        error = np.abs(c - x.astype(np.float64) @ y)
        assert np.all(error <= (k + 1) * np.finfo(dtype).eps * largest), (m, n, k)


@pytest.mark.parametrize("turned", [(0, 0), (1, 1)])
def test_what_lies_beside_the_result_stays(turned):
    for m, n, k in SIZES:
        x, y, c = _product(np.float64, m, n, k, *turned, more=3)
        np.testing.assert_allclose(c[:, :n], x @ y, rtol=1e-12, atol=1e-13)
        assert np.all(np.isnan(c[:, n:]))


@pytest.mark.parametrize("dtype", KERNELS)
@pytest.mark.parametrize("turned", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_threads_give_the_same_bits(dtype, turned):
    for m, n, k in [(300, 40, 30), (33, 257, 200), (128, 128, 10), (1, 130, 5)]:
        (*_, alone), (*_, together) = (
            _product(dtype, m, n, k, *turned, kernels=kernels) for kernels in (KERNELS, SPREAD)
        )
        np.testing.assert_array_equal(alone, together)


def test_nan_and_inf_reach_their_rows_and_columns_alone():
    a, b, c = np.ones((20, 30)), np.ones((30, 21)), np.empty((20, 21))
    a[3, 29], b[5, 20] = np.nan, np.inf
    gemm._gemm_f8(*(x.ctypes.data for x in (a, b, c)), 20, 21, 30, 0, 0, 30, 21, 21)
    np.testing.assert_array_equal(c, a @ b)


@kernel
def _through_the_table(a, b, c):
    m, k = a.shape
    n = c.shape[1]
    gemm_at(pointer(a), pointer(b), pointer(c), m, n, k, False, False, k, n, n, 10_000)


def test_what_cannot_be_compiled_is_computed_by_numpy(monkeypatch):
    """Nothing can be raised through compiled code: Python tells it, and the product is right."""
    place, told = 0, []
    first = ctypes.cast(gemm._first[place], ctypes.c_void_p).value

    def fail(kernel):
        raise MemoryError("no room")

    monkeypatch.setattr(gemm, "_address", fail)
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(unraisable.exc_type))
    a, b, c = np.full((10, 7), 0.5), np.full((7, 20), 3.0), np.empty((10, 20))
    before = gemm._TABLE[place]
    gemm._TABLE[place] = first
    try:
        _through_the_table(a, b, c)
    finally:
        gemm._TABLE[place] = before
    np.testing.assert_array_equal(c, a @ b)
    assert told == [MemoryError] * gemm.is_wide()


@pytest.mark.skipif(not gemm.is_wide(), reason="products are those of BLAS here")
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_help_where_products_are_worth_a_kernel(monkeypatch, threads):
    """First one thread multiplies, with the same bits; with one thread alone it stays so."""
    place = gemm._KINDS  # of float64
    monkeypatch.setattr(gemm, "_WORTH", 3 * 256**3)
    first = gemm._found(place)
    before, unknown = gemm._TABLE[place], ctypes.cast(first, ctypes.c_void_p).value
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 256, 256))
    nbgrad.set_threads(threads)
    gemm._TABLE[place] = unknown
    try:
        found, replaced = [], []
        for _ in range(4):
            found.append((nbgrad.track(a) @ b).data)
            replaced.append(gemm._TABLE[place] != unknown)
    finally:
        gemm._TABLE[place] = before
        nbgrad.set_threads(None)
    assert replaced == ([False, False, True, True] if threads > 1 else [False] * 4)
    assert all(np.array_equal(each, found[0]) for each in found)


def test_compiled_programs_and_eager_ops_take_it_for_much_work():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(12, 40, 33)), rng.normal(size=(12, 33, 50))
    both = nbgrad.value_and_grad(lambda x, w: np.sum((x @ w) ** 2), (0, 1))
    y = x @ w
    wanted = 2.0 * y @ np.swapaxes(w, 1, 2), 2.0 * np.swapaxes(x, 1, 2) @ y
    for way in (both, nbgrad.compile(both)):
        value, slopes = way(x, w)
        np.testing.assert_allclose(value, np.sum(y**2), rtol=1e-12)
        for slope, right in zip(slopes, wanted, strict=True):
            np.testing.assert_allclose(slope, right, rtol=1e-11)
