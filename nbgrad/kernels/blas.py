"""Products of matrices as one call inside kernels, without the checks of `np.dot`: by BLAS, or by
our own kernels where those are faster."""

import numpy as np

from ..compiler.instruction import Extern, instruction
from ..compiler.kernel import device
from ..compiler.pointers import pointer
from .gemm import DOUBLE, dtype_of, is_worth, own_product
from .tiles import strided_product

# Functions that Numba has for the BLAS of SciPy: letters say the dtype and what is transposed.
_gemv = Extern("c_function", "numba_xxgemv", None)
gemm_of_blas = Extern("c_function", "numba_xxgemm", None)
room = Extern("room_like")


def _letter(flag):
    return np.uint8(116 if flag else 110)  # t, n


def _product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count):
    """A product of a vector takes a fifth of the time of a matrix of one row. BLAS counts columns
    first: it sees each matrix transposed. A sum over nothing is 0: of a vector BLAS would leave
    what was there."""
    one, zero = room(c, 1), room(c, 1)
    one[0], zero[0] = 1.0, 0.0
    kind = np.uint8(100 if dtype_of(c) is DOUBLE else 115)  # d, s
    if k != 0 and n == 1 and (tb or ldb == 1):
        rows, columns = (m, k) if ta else (k, m)
        _gemv(kind, _letter(not ta), rows, columns, one, a, lda, b, zero, c)
    elif k != 0 and m == 1 and (not ta or lda == 1):
        rows, columns = (k, n) if tb else (n, k)
        _gemv(kind, _letter(tb), rows, columns, one, b, ldb, a, zero, c)
    elif is_worth(m, n, k, count):
        own_product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc)
    else:
        # It is given c.T = op(b).T @ op(a).T.
        gemm_of_blas(kind, _letter(tb), _letter(ta), n, m, k, one, b, ldb, a, lda, zero, c, ldc)


def _contiguous_product(a, b, out, m, n, k, ta, tb, count):
    lda, ldb = m if ta else k, k if tb else n
    _product(pointer(a), pointer(b), pointer(out), m, n, k, ta, tb, lda, ldb, n, count)


@instruction(row=(_contiguous_product,))
def gemm(a, b, out, m, n, k, ta, tb, count):
    """out = op(a) @ op(b): op(a) is m x k, op(b) is k x n, `ta` and `tb` say transposed.

    `a`, `b` and `out` are contiguous arrays of one dtype; it is one of `count` products of this
    size. The library is the one that Numba itself links to, through SciPy.
    """
    x = a.reshape(k, m).T if ta else a.reshape(m, k)
    y = b.reshape(n, k).T if tb else b.reshape(k, n)
    out[...] = np.matmul(x, y)


@instruction(row=(_product,))
def gemm_at(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count):
    """c = op(a) @ op(b): op(a) is m x k and op(b) k x n, rows `ld` elements apart; one of `count`
    products of this size."""
    strided_product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc)


def _multiplied(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count):
    gemm_at(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count)


multiplied = device(_multiplied, forceinline=True)
"""`gemm_at` as a function."""
