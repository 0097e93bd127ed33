"""Kernels with products find SciPy's BLAS without the whole of `scipy.linalg`, and leave that to be
imported as if nothing had been."""

import pytest
from children import run

PRODUCTS = """
import sys
x, w = np.linspace(-1, 1, 12).reshape(3, 4), np.cos(np.arange(20.0)).reshape(4, 5)
result = []
for dtype, tolerance in (np.float64, 1e-14), (np.float32, 1e-6):
    a, b = nbgrad.track(x.astype(dtype)), nbgrad.track(w.astype(dtype))
    (a @ b).sum().backward()
    (a @ b[:, 0]).sum().backward()
    np.testing.assert_allclose((a @ b).data, x @ w, atol=tolerance)
    sums = np.tile(w.sum(1) + w[:, 0], (3, 1))
    np.testing.assert_allclose(a.grad, sums, atol=tolerance)
    result.append([a.grad.tolist(), b.grad.tolist()])
"""
LATER = """
package = "scipy.linalg" in sys.modules
import scipy.linalg
import scipy.linalg.cython_blas
from nbgrad.kernels.jit import blas_library
found = blas_library._kept
same = [module is scipy.linalg.cython_blas for module in found]
same.append(sys.modules["scipy.linalg.cython_blas"] is scipy.linalg.cython_blas)
import numba
product = numba.njit(lambda x, y: np.dot(x, y))(np.eye(3), np.arange(9.0).reshape(3, 3))
solved = scipy.linalg.solve(2 * np.eye(2), np.ones(2))
result = result, package, same, product.tolist(), solved.tolist()
"""
RIGHT = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]], [0.5, 0.5]


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("products")
    return folder, run(PRODUCTS, NBGRAD_CACHE_DIR=folder).result


def test_products_do_not_import_all_of_scipys_linear_algebra(warm):
    folder, gradients = warm
    session = run(PRODUCTS + LATER, NBGRAD_CACHE_DIR=folder)
    assert session.compiled == 0
    again, package, same, *numbers = session.result
    assert not package and same == [True, True]
    assert again == gradients and tuple(numbers) == RIGHT


@pytest.mark.parametrize(
    "spoiled",
    [
        "blas_library.PathFinder = None",
        "blas_library._FUNCTIONS = ['no_such_function']",
        "blas_library._address = lambda name: 1 / 0",
        "import scipy.linalg",
    ],
)
def test_where_it_is_not_found_numba_looks_for_it(warm, spoiled):
    folder, gradients = warm
    code = f"from nbgrad.kernels.jit import blas_library\n{spoiled}\n{PRODUCTS}{LATER}"
    session = run(code, NBGRAD_CACHE_DIR=folder)
    assert session.compiled == 0
    again, _, _, *numbers = session.result
    assert again == gradients and tuple(numbers) == RIGHT
