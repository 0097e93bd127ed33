"""What machine code from the disk needs of Numba's runtime and of SciPy's BLAS, without the rest.

What is imported or compiled later finds all as if nothing had been."""

import pytest
from helpers.children import run
from helpers.daily import daily

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
from numba.core.runtime.nrt import rtsys
early = "scipy.linalg" in sys.modules, rtsys._init
import scipy.linalg
import scipy.linalg.cython_blas
from nbgrad.compiler import externals
module = sys.modules["scipy.linalg.cython_blas"]
same = [module is scipy.linalg.cython_blas, externals._blas() in (module, None)]
import numba
product = numba.njit(lambda x, y: np.dot(x, y))(np.eye(3), np.arange(9.0).reshape(3, 3))
solved = scipy.linalg.solve(2 * np.eye(2), np.ones(2))
result = result, early, same, product.tolist(), solved.tolist()
"""
RIGHT = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]], [0.5, 0.5]


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("products")
    return folder, run(PRODUCTS, NBGRAD_CACHE_DIR=folder).result


def test_the_first_compilation_neither_imports_scipys_linear_algebra_nor_loads_registries(tmp_path):
    code = "import sys\nx = nbgrad.track(np.ones(3))\n(x * x).sum().backward()\n"
    session = run(f"{code}result = x.grad.tolist(){LATER}", NBGRAD_CACHE_DIR=tmp_path)
    assert session.compiled > 0
    gradient, early, same, *numbers = session.result
    assert gradient == [2.0, 2.0, 2.0]
    assert early == [False, False] and same == [True, True] and tuple(numbers) == RIGHT


@pytest.mark.full
def test_a_warm_start_neither_imports_scipys_linear_algebra_nor_compiles_numbas_runtime(warm):
    folder, gradients = warm
    session = run(PRODUCTS + LATER, NBGRAD_CACHE_DIR=folder)
    assert session.compiled == 0
    again, early, same, *numbers = session.result
    assert early == [False, False] and same == [True, True]
    assert again == gradients and tuple(numbers) == RIGHT


@pytest.mark.full
@pytest.mark.parametrize(
    "spoiled",
    daily(
        [
            "externals.PathFinder = None",
            "externals._FUNCTIONS = ['no_such_function']",
            "externals._address = lambda name: 1 / 0",
            "import scipy.linalg",
        ],
        2,
    ),
)
def test_where_it_is_not_found_numba_looks_for_it(warm, spoiled):
    folder, gradients = warm
    code = f"from nbgrad.compiler import externals\n{spoiled}\n{PRODUCTS}{LATER}"
    session = run(code, NBGRAD_CACHE_DIR=folder)
    assert session.compiled == 0
    again, _, _, *numbers = session.result
    assert again == gradients and tuple(numbers) == RIGHT
