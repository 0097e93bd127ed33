"""Matrix products c = op(a) @ op(b) on processors with 512-bit vectors.

The OpenBLAS in wheels recognises few of these processors. It uses kernels of older ones for the
others, at half the speed.

A kernel is compiled once per process, not in each program: programs call it through a table of
addresses, which has a symbol. Initially, an entry is a Python function, which compiles or loads the
kernel, stores its address in the table, and calls it.
"""

import ctypes
import functools
import math
from typing import Any

import llvmlite.binding
import numpy as np
from numba.core import types

from ..compiler.host import is_wide
from ..compiler.instruction import Extern, instruction
from ..compiler.kernel import Kernel, device, kernel
from ..compiler.pointers import address, at_f4, at_f8, scratch, shift
from ..threads import pool
from ..threads.helpers import LIMIT, handed, packed, spread
from .tiles import product, strided_product

__all__ = ["is_spread", "is_worth", "own_product", "prepare"]

_MUCH = 1 << 18
"""Multiply-adds from which on it is used: a fifth of a second to compile, once for all programs, is
as long as 40,000 such products take less."""
_SPREAD = 1 << 23
"""Those from which on threads help."""
_WORTH = 1 << 30
"""Those in products of that size after which the kernel for threads is there: about as long as it
takes to compile."""
_PIECE = 128
"""Rows or columns of c that a thread takes at once."""
_SYMBOL = "nbgrad_gemm"
_SIZES = 11
_KINDS = 2
"""Dtypes: the table holds a kernel for each, and then one for each on threads."""


def is_spread(m: int, n: int, k: int) -> bool:
    """Whether threads help with a product of this size."""
    return is_wide() and m * n * k >= _SPREAD


# -- the kernels ----------------------------------------------------------------------------------


@kernel
def _gemm_f8(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    product(at_f8(a), at_f8(b), at_f8(c), m, n, k, ta, tb, lda, ldb, ldc)


@kernel
def _gemm_f4(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    product(at_f4(a), at_f4(b), at_f4(c), m, n, k, ta, tb, lda, ldb, ldc)


DOUBLE = np.dtype(np.float64)
dtype_of = Extern("dtype_of_pointer")
_is_wide = Extern("is_wide")
_kernels, _words = Extern("symbol", _SYMBOL), Extern("symbol", "nbgrad_threads")
_called = Extern("c_function", "", None)


def is_worth(m, n, k, count):
    """Whether a product is ours, for functions of the kernel IR."""
    return _is_wide() and m * n * k * count >= _MUCH


def _enter(place, a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    """Call a kernel of the table, as Numba calls functions: places for a result and an error stand
    first."""
    result, error = scratch(8), scratch(8)
    kernel = _kernels()[place]
    _called(
        kernel, result, error, address(a), address(b), address(c), m, n, k, ta, tb, lda, ldb, ldc
    )


def own_product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    """c = op(a) @ op(b) by our own kernels, for functions of the kernel IR; with `ADDS` in `ta`, it
    is added to c."""
    place = 0 if dtype_of(c) is DOUBLE else 1
    if m * n * k >= _SPREAD and _words()[LIMIT] != 1:
        place += _KINDS
    _enter(place, a, b, c, m, n, k, np.int64(ta), np.int64(tb), lda, ldb, ldc)


def _own_by_one(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    _enter(0 if dtype_of(c) is DOUBLE else 1, a, b, c, m, n, k, ta, tb, lda, ldb, ldc)


@instruction(row=(_own_by_one,))
def _whole(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    """A product by one thread, by the machine code that there is of it."""
    strided_product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc)


@device
def _part(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, piece):
    """Some rows of c where it has more of them, else some columns."""
    first = piece * _PIECE
    row, column = (first, 0) if m > n else (0, first)
    rows, columns = (min(_PIECE, m - row), n) if m > n else (m, min(_PIECE, n - column))
    a, b = shift(a, row * (1 if ta & 1 else lda)), shift(b, column * (ldb if tb else 1))
    _whole(a, b, shift(c, row * ldc + column), rows, columns, k, ta, tb, lda, ldb, ldc)


@device
def _in_parts(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    work = handed(_part, packed(a, b, c, m, n, k, ta, tb, lda, ldb, ldc))
    spread((max(m, n) + _PIECE - 1) // _PIECE, work)


@kernel
def _spread_gemm_f8(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    _in_parts(at_f8(a), at_f8(b), at_f8(c), m, n, k, ta, tb, lda, ldb, ldc)


@kernel
def _spread_gemm_f4(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    _in_parts(at_f4(a), at_f4(b), at_f4(c), m, n, k, ta, tb, lda, ldb, ldc)


# -- how compiled code calls them -----------------------------------------------------------------

_KERNELS: tuple[tuple[Kernel, Any], ...] = (
    (_gemm_f8, ctypes.c_double), (_gemm_f4, ctypes.c_float),
    (_spread_gemm_f8, ctypes.c_double), (_spread_gemm_f4, ctypes.c_float),
)  # fmt: skip
"""In the order of the table, and what the matrices hold."""
_TABLE = (ctypes.c_int64 * len(_KERNELS))()
# What Numba's own functions take: where a result and where an error go stand first.
_Function = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *(ctypes.c_int64,) * _SIZES
)


def _found(place: int) -> Any:
    """Return the initial entry of the table, which replaces itself by the address of the kernel.

    The multithreaded kernel is compiled once single-threaded products have taken as long as its
    compilation; until then the single-threaded kernel runs."""
    kernel, dtype = _KERNELS[place]
    alone, done = place % _KINDS, 0

    def run(result, error, a, b, c, *sizes):
        nonlocal done
        try:
            _TABLE[alone] = address = _address(_KERNELS[alone][0])
            done += math.prod(sizes[:3])
            if place != alone and done >= _WORTH and pool.most_threads() > 1:
                pool.ready()
                _TABLE[place] = address = _address(kernel)
        except BaseException:
            # Nothing can be raised through compiled code, and a product must not be left out.
            _by_numpy(dtype, a, b, c, sizes)
            raise
        return _Function(address)(result, error, a, b, c, *sizes)

    return _Function(run)


@functools.cache
def _address(kernel: Kernel) -> int:
    """Return the address of the machine code of a kernel."""
    dispatcher: Any = kernel.dispatcher
    kinds = (types.int64,) * _SIZES
    dispatcher.compile(kinds)
    compiled = dispatcher.overloads[kinds]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def prepare(dtype: np.dtype) -> None:
    """Compile or load the kernels for matrices of a dtype, where they are used."""
    for each, held in _KERNELS:
        if is_wide() and np.dtype(held) == dtype:
            _address(each)


def _by_numpy(dtype: Any, a: int, b: int, c: int, sizes: tuple) -> None:
    m, n, k, ta, tb, lda, ldb, ldc = sizes
    rows = (k if ta & 1 else m, lda), (n if tb else k, ldb), (m, ldc)
    columns = m if ta & 1 else k, k if tb else n, n
    x, y, z = (
        np.ctypeslib.as_array((dtype * max((count - 1) * ld + width, 0)).from_address(place))
        for place, (count, ld), width in zip((a, b, c), rows, columns, strict=True)
    )
    strided_product(x, y, z, *sizes)


_first = [_found(place) for place in range(len(_KERNELS))]
for _place, _run in enumerate(_first):
    _TABLE[_place] = ctypes.cast(_run, ctypes.c_void_p).value or 0
llvmlite.binding.add_symbol(_SYMBOL, ctypes.addressof(_TABLE))
