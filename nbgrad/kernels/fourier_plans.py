"""Fourier transforms of lengths that are known at run time only, as calls of compiled functions.

A table, which has a symbol, holds the addresses of plans by their lengths; for one that it does not
hold, code asks Python. Plans in the table are kept, up to a bound; further ones are lent.
"""

import ctypes
import threading

import llvmlite.binding
import numpy as np

from ..compiler.forks import fork_safe
from ..compiler.instruction import Extern
from ..compiler.kernel import device
from ..compiler.pointers import address, at_f4, at_f8, at_i8, pointer, shift
from ..ir.library import DFT, HALF_TO_REAL, REAL_TO_HALF
from .fourier import run
from .gemm import DOUBLE, dtype_of
from .twiddles import Plan, plan_of

__all__ = ["added_transform", "planned_later"]

_SYMBOL = "nbgrad_fourier_plans"
_SLOTS, _WORDS = 256, 9
_FIRST = 2
"""Of the table: before the slots stand the functions that give a plan and take a lent one back."""
_MOST = 1 << 28
"""Bytes of plans that are kept."""

_table = Extern("symbol", _SYMBOL)
_found = Extern("c_function", "", np.dtype(np.int64))
_given_back = Extern("c_function", "", None)


# -- compiled -------------------------------------------------------------------------------------


@device
def _plan(kind, n, inner, single):
    """The address of the words of a plan; 0 where there is no memory for one."""
    table = _table()
    here = table[_FIRST + (((n * 31 + inner) * 3 + kind) * 2 + single) % _SLOTS]
    if here != 0:
        words = at_i8(here)
        if words[0] == kind and words[1] == n and words[2] == inner and words[3] == single:
            return here
    return _found(table[0], kind, n, inner, single)


def added_transform(yr, yi, xr, xi, there, kind, rows, n, inner, weight, adds):
    """y += F x, or y = F x, as `ir/library.py` says."""
    half = n // 2 + 1
    size_in = (half if kind == HALF_TO_REAL else n) * inner
    size = (half if kind == REAL_TO_HALF else n) * inner
    if rows * size * size_in == 0:
        return
    is_real = kind == DFT and there & 12 != 12
    single = 0 if dtype_of(yr) is DOUBLE else 1
    here = _plan(REAL_TO_HALF if is_real else kind, n, inner, single)
    if here == 0:
        raise MemoryError
    words = at_i8(here)
    room, chunk = words[6], words[7]
    blank = 0 if is_real or kind == REAL_TO_HALF or there & 12 == 12 else size_in
    aside = 0 if adds == 0 and there & 3 == 3 else size
    space = np.empty(blank + 2 * aside + room)
    place = address(pointer(space))
    if dtype_of(yr) is DOUBLE:
        _rows(yr, yi, xr, xi, at_f8(place), at_i8(words[4]), at_f8(words[5]), there, kind, is_real,
              rows, n, inner, chunk, weight, adds, blank, aside, size_in, size)  # fmt: skip
    else:
        _rows(yr, yi, xr, xi, at_f4(place), at_i8(words[4]), at_f4(words[5]), there, kind, is_real,
              rows, n, inner, chunk, weight, adds, blank, aside, size_in, size)  # fmt: skip
    if words[8] != 0:
        _given_back(_table()[1], here)


@device
def planned_later(re, im, out, inverse, kind, rows, n, inner, weight):
    """The planes of a result, of contiguous arrays, for a length that is known at run time."""
    last = shift(out, rows * (n // 2 + 1 if kind == REAL_TO_HALF else n) * inner)
    if kind == REAL_TO_HALF:
        added_transform(out, last, re, re, 7, kind, rows, n, inner, weight, 0)
    elif kind == HALF_TO_REAL:
        added_transform(out, out, re, im, 13, kind, rows, n, inner, weight, 0)
    elif inverse:
        added_transform(last, out, im, re, 15, kind, rows, n, inner, weight, 0)
    else:
        added_transform(out, last, re, im, 15, kind, rows, n, inner, weight, 0)


@device
def _rows(yr, yi, xr, xi, space, steps, factors, there, kind, is_real, rows, n, inner, chunk,
          weight, adds, blank, aside, size_in, size):  # fmt: skip
    """One row after the other. Scratch space has zeros for a part that there is not, and the parts
    of a result that is added or not wanted."""
    first, last = shift(space, blank), shift(space, blank + aside)
    work = shift(space, blank + 2 * aside)
    for i in range(blank):
        space[i] = 0.0
    for row in range(rows):
        ar, ai = shift(xr, row * size_in), shift(xi, row * size_in)
        br, bi = shift(yr, row * size), shift(yi, row * size)
        to_r = br if adds == 0 and there & 1 != 0 else first
        to_i = bi if adds == 0 and there & 2 != 0 else last
        if is_real and there & 4 != 0:
            _of_real(ar, to_r, to_i, work, steps, factors, n, inner, chunk)
        elif is_real:  # i times the spectrum
            _of_real(ai, to_i, to_r, work, steps, factors, n, inner, chunk)
            for i in range(size):
                to_r[i] = -to_r[i]
        else:
            ar = ar if there & 4 != 0 or blank == 0 else space
            ai = ai if there & 8 != 0 or blank == 0 else space
            run(ar, ai, to_r, to_i, work, steps, factors, kind, 1, n, inner, chunk, weight)
        if adds != 0 and there & 1 != 0:
            _add(br, first, size)
        if adds != 0 and there & 2 != 0:
            _add(bi, last, size)


@device
def _of_real(x, yr, yi, work, steps, factors, n, inner, chunk):
    """The whole spectrum of real numbers."""
    run(x, x, yr, yi, work, steps, factors, REAL_TO_HALF, 1, n, inner, chunk, 1)
    for k in range(n // 2 + 1, n):
        at, source = k * inner, (n - k) * inner
        for q in range(inner):
            yr[at + q], yi[at + q] = yr[source + q], -yi[source + q]


@device
def _add(y, x, count):
    for i in range(count):
        y[i] += x[i]


# -- plans ----------------------------------------------------------------------------------------

_ARRAY = (ctypes.c_int64 * (_FIRST + _SLOTS))()
_lock = fork_safe(threading.Lock())
_kept: dict[tuple[int, ...], tuple[np.ndarray, Plan]] = {}
_lent: dict[int, tuple[np.ndarray, Plan]] = {}
_bytes = 0


def _find(kind: int, n: int, inner: int, single: int) -> int:
    """The address of the words of a plan, which is put into the table unless it is lent."""
    global _bytes
    key = kind, n, inner, single
    with _lock:
        if (found := _kept.get(key)) is None:
            dtype = np.dtype(np.float32 if single else np.float64)
            plan = plan_of(kind, n, inner, dtype)
            places = plan.steps.ctypes.data, plan.table.ctypes.data
            words = np.array([*key, *places, plan.room, plan.chunk, 0], np.int64)
            found = words, plan
            size = plan.steps.nbytes + plan.table.nbytes
            if _bytes + size > _MOST:
                words[_WORDS - 1] = 1
                _lent[words.ctypes.data] = found
                return words.ctypes.data
            _bytes += size
            _kept[key] = found
        place = found[0].ctypes.data
        slot = (((n * 31 + inner) * 3 + kind) * 2 + single) % _SLOTS
        _ARRAY[_FIRST + slot] = place
        return place


def _take_back(place: int) -> None:
    del _lent[place]


_functions = (
    ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * 4)(_find),
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(_take_back),
)
for _place, _function in enumerate(_functions):
    _ARRAY[_place] = ctypes.cast(_function, ctypes.c_void_p).value or 0
llvmlite.binding.add_symbol(_SYMBOL, ctypes.addressof(_ARRAY))
