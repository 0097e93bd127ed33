"""Fourier transforms of arrays, and as calls of compiled programs.

The kernels are compiled once per process, not in each program: programs call them through a table
of addresses, which has a symbol. Initially, an entry is a Python function, which compiles or loads
the kernel, stores its address in the table, and calls it.
"""

import ctypes
import functools
import math
from typing import Any

import llvmlite.binding
import numpy as np
from numba.core import types

from ..compiler.instruction import Extern, instruction
from ..compiler.kernel import Kernel, device, kernel
from ..compiler.pointers import address, at_f4, at_f8, at_i8, pointer, scratch, shift
from .gemm import DOUBLE, dtype_of
from .spectra import transformed
from .twiddles import HALF_TO_REAL, REAL_TO_HALF, plan_of

__all__ = ["fourier", "lengths", "run", "spectrum", "split"]

_SYMBOL = "nbgrad_fourier"
_SIZES = 13


# -- the kernels ----------------------------------------------------------------------------------


@kernel
def _fourier_f8(xr, xi, yr, yi, work, plan, table, kind, rows, n, inner, chunk, weight):
    transformed(
        at_f8(xr), at_f8(xi), at_f8(yr), at_f8(yi), at_f8(work), at_i8(plan), at_f8(table), kind,
        rows, n, inner, chunk, weight,
    )  # fmt: skip


@kernel
def _fourier_f4(xr, xi, yr, yi, work, plan, table, kind, rows, n, inner, chunk, weight):
    transformed(
        at_f4(xr), at_f4(xi), at_f4(yr), at_f4(yi), at_f4(work), at_i8(plan), at_f4(table), kind,
        rows, n, inner, chunk, weight,
    )  # fmt: skip


# -- calls of compiled programs -------------------------------------------------------------------

_kernels = Extern("symbol", _SYMBOL)
_called = Extern("c_function", "", None)


def _enter(xr, xi, yr, yi, work, plan, table, kind, rows, n, inner, chunk, weight):
    """Call a kernel of the table, as Numba calls functions: places for a result and an error stand
    first."""
    result, error = scratch(8), scratch(8)
    _called(
        _kernels()[0 if dtype_of(yr) is DOUBLE else 1], result, error, address(xr), address(xi),
        address(yr), address(yi), address(work), address(plan), address(table), np.int64(kind),
        np.int64(rows), np.int64(n), np.int64(inner), np.int64(chunk), np.int64(weight),
    )  # fmt: skip


@instruction(row=(_enter,))
def run(xr, xi, yr, yi, work, plan, table, kind, rows, n, inner, chunk, weight):
    """`transformed`, by a kernel."""
    transformed(xr, xi, yr, yi, work, plan, table, kind, rows, n, inner, chunk, weight)


@device
def spectrum(
    re, im, plan, table, out, re_at, im_at, size, inverse, kind, rows, n, inner, chunk, weight
):
    """The planes of a result of `size` numbers each, and scratch space behind them. The arguments
    begin at positions of `re` and `im`."""
    re, im = shift(re, re_at), shift(im, im_at)
    last = shift(out, size if kind != HALF_TO_REAL else 0)
    work = shift(out, 2 * size if kind != HALF_TO_REAL else size)
    if inverse:
        run(im, re, last, out, work, plan, table, kind, rows, n, inner, chunk, weight)
    else:
        run(re, im, out, last, work, plan, table, kind, rows, n, inner, chunk, weight)


# -- arrays ---------------------------------------------------------------------------------------


def split(shape: tuple, axis: int) -> tuple[int, int]:
    """The numbers of elements before and behind an axis."""
    return math.prod(shape[:axis]), math.prod(shape[axis + 1 :])


def lengths(kind: int, n: int) -> tuple[int, int]:
    """The lengths of the argument and of the result of a transform of n numbers."""
    half = n // 2 + 1
    return half if kind == HALF_TO_REAL else n, half if kind == REAL_TO_HALF else n


def fourier(
    kind: int, re: np.ndarray, im: np.ndarray, n: int, axis: int, inverse: bool, weight: int = 1
) -> np.ndarray:
    """Transform contiguous arrays of floats of one dtype along an axis.

    Returns the planes of the result, stacked, or the real result of `HALF_TO_REAL`. `inverse`
    exchanges the planes of `DFT`; nothing is normalised.
    """
    rows, inner = split(re.shape, axis)
    shape = (*re.shape[:axis], lengths(kind, n)[1], *re.shape[axis + 1 :])
    is_real = kind == HALF_TO_REAL
    out = np.empty(shape if is_real else (2, *shape), re.dtype)
    if not out.size:
        return out
    plan = plan_of(kind, n, inner, re.dtype)
    work, flat = np.empty(plan.room, re.dtype), out.reshape(-1)
    first, last = (flat, flat) if is_real else (flat[: out.size // 2], flat[out.size // 2 :])
    re, im = re.reshape(-1), im.reshape(-1)
    if inverse:
        re, im, first, last = im, re, last, first
    _of_arrays(
        re, im, first, last, work, plan.steps, plan.table, kind, rows, n, inner, plan.chunk, weight
    )
    return out


@kernel
def _of_arrays(xr, xi, yr, yi, work, plan, table, kind, rows, n, inner, chunk, weight):
    run(
        pointer(xr), pointer(xi), pointer(yr), pointer(yi), pointer(work), pointer(plan),
        pointer(table), kind, rows, n, inner, chunk, weight,
    )  # fmt: skip


# -- the table -------------------------------------------------------------------------------------

_KERNELS: tuple[Kernel, ...] = (_fourier_f8, _fourier_f4)
"""In the order of the table."""
_TABLE = (ctypes.c_int64 * len(_KERNELS))()
# What Numba's own functions take: where a result and where an error go stand first.
_Function = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *(ctypes.c_int64,) * _SIZES
)


def _found(place: int) -> Any:
    """Return the initial entry of the table, which replaces itself by the address of the kernel."""

    def run(result, error, *operands):
        return _Function(_address(place))(result, error, *operands)

    return _Function(run)


@functools.cache
def _address(place: int) -> int:
    """Return the address of the machine code of a kernel, which is put into the table."""
    dispatcher: Any = _KERNELS[place].dispatcher
    kinds = (types.int64,) * _SIZES
    dispatcher.compile(kinds)
    compiled = dispatcher.overloads[kinds]
    _TABLE[place] = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return _TABLE[place]


_first = [_found(place) for place in range(len(_KERNELS))]
for _place, _entry in enumerate(_first):
    _TABLE[_place] = ctypes.cast(_entry, ctypes.c_void_p).value or 0
llvmlite.binding.add_symbol(_SYMBOL, ctypes.addressof(_TABLE))
