"""Entries: from Python into machine code that takes pointers and numbers.

One C function serves all of them. Its table says what each argument must be: it checks arrays by
type, dtype, layout and lengths, and numbers by their types. Then it compares the memory of results
with that of other arrays, calls the code, and makes Python objects of the numbers that this
returns. Its LLVM assembly contains no address, so that the disk cache can hold it.

`run` of an entry is `i32 run(ptr words, ptr numbers)`: words are the addresses of arrays, the bytes
of numbers and lengths of axes, each in its slot; numbers are what it returns. It gives 0, or the
number of the exception that is to be raised, counted from 1.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ..compiler.machine import machine_code
from ..compiler.pointers import Overlap
from ..runtime import layout
from .builtin import builtin
from .entry_call import CALL
from .entry_checks import CHECKS

__all__ = ["Array", "Number", "Result", "entry"]

_FLOAT, _INTEGER, _BOOL, _SCALAR = range(4)
_OFFSETS = "DATA", "DTYPE", "FLAGS", "HEAD", "ITEMS", "LENGTHS", "NDIM", "TYPE"
_HEADER, _ROW = 10, 6  # words of the table


@dataclass(frozen=True)
class Array:
    """An aligned array in C order, of NumPy's own type, whose address gets into a slot. A length is
    the number that it has to be, or `~slot` for any that gets into that slot."""

    dtype: np.dtype
    lengths: tuple[int, ...]
    slot: int
    is_written: bool = False


@dataclass(frozen=True)
class Number:
    """A number, whose bytes get into a slot: a float, int or bool for dtypes that Python has, or
    NumPy's scalar."""

    dtype: np.dtype
    slot: int


Result: TypeAlias = int | tuple["Result", ...] | None
"""The result of an entry: number i that the code gives, argument i for ~i, a tuple, or None."""


def entry(
    name: str,
    run: int,
    parameters: Sequence[Array | Number],
    slots: int,
    dtypes: Sequence[np.dtype],
    result: Result,
    messages: Sequence[Exception] = (),
    keeps_gil: bool = False,
) -> Callable:
    """A function that calls the code at the address `run`.

    Arguments:
        parameters: what it takes. Arrays that are compared have slots 0, 1, ..., inputs before
            those that are written, and one more Array behind these is scratch.
        slots: the number of words for the code.
        dtypes: the numbers that the code gives: float64, int64, uint64 or bool.
        messages: copies of these are raised when the code says so.

    The function raises TypeError for arguments of other types, ValueError for other lengths,
    OverflowError for integers beyond int64 and Overlap for a result that shares memory with another
    array.
    """
    shown = ", ".join(f"{x.dtype}{list(_lengths(x)) or ''}" for x in parameters)
    described = f"{name} was compiled for arguments {shown}"
    raised = [TypeError(described), ValueError(described), Overlap("results overlap"), *messages]
    compared = _compared(parameters)
    operations = _operations(result, dtypes)
    dims_at = _HEADER + _ROW * len(parameters)
    rows, dims = [], []
    for x in parameters:
        if isinstance(x, Array):
            flags = layout.C_ORDER | layout.ALIGNED | layout.WRITEABLE * x.is_written
            place = dims_at + len(dims)
            rows += [flags, id(x.dtype), x.slot, len(x.lengths), 8 * place, x.dtype.itemsize]
            dims += x.lengths
        else:
            kind = _KINDS.get(x.dtype.str[1:], _SCALAR)
            rows += [kind, id(np.dtype(x.dtype.str).type), x.slot, 0, 0, 0]
    header = [
        run, id(np.ndarray), not keeps_gil, len(parameters), slots, compared.start, compared.stop,
        len(dtypes), 8 * (dims_at + len(dims)), len(operations),
    ]  # fmt: skip
    if not layout.IS_KNOWN:
        return _in_python(run, parameters, slots, dtypes, result, raised)
    table = np.array([*header, *rows, *dims, *operations], np.int64)
    kept = [x.dtype for x in parameters]
    return builtin(name, _code(), (table, tuple((type(e), e.args) for e in raised), kept))


def _compared(parameters: Sequence[Array | Number]) -> range:
    """The slots of arrays that must not share memory with one in a slot before."""
    written = [x.slot for x in parameters if isinstance(x, Array) and x.is_written]
    return range(min(written), max(written) + 1) if written else range(0)


def _lengths(x: Array | Number) -> list[Any]:
    return [n if n >= 0 else "any" for n in x.lengths] if isinstance(x, Array) else []


_KINDS = {"f8": _FLOAT, "i8": _INTEGER, "b1": _BOOL}
_BOXES = {"f8": 0, "i8": 1, "u8": 2, "b1": 3}
_NONE, _ARGUMENT = 4, 5


def _operations(result: Result, dtypes: Sequence[np.dtype]) -> list[int]:
    """How to build a result on a stack: 8 i + kind for number or argument i; -n - 1 for a tuple of
    n items."""
    if result is None:
        return [_NONE]
    if not isinstance(result, tuple):
        if result < 0:
            return [8 * ~result + _ARGUMENT]
        return [8 * result + _BOXES[dtypes[result].str[1:]]]
    items = [x for part in result for x in _operations(part, dtypes)]
    return [*items, -len(result) - 1]


def _in_python(
    run: int,
    parameters: Sequence[Array | Number],
    slots: int,
    dtypes: Sequence[np.dtype],
    result: Result,
    raised: Sequence[Exception],
) -> Callable:
    """The definition of an entry in Python, for builds whose objects have another layout."""
    code = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(run)

    def fail(which: int) -> NoReturn:
        raise type(raised[which])(*raised[which].args)

    def call(*args: Any) -> Any:
        words, numbers = np.zeros(slots, np.int64), np.zeros(len(dtypes), np.int64)
        if len(args) != len(parameters):
            fail(0)
        ends = np.zeros(slots, np.int64)
        for x, given in zip(parameters, args, strict=True):
            if isinstance(x, Array):
                if not _is_of_kind(given, x):
                    fail(0)
                if not _is_of_shape(given.shape, x.lengths):
                    fail(1)
                words[x.slot], ends[x.slot] = given.ctypes.data, given.ctypes.data + given.nbytes
                for n, expected in zip(given.shape, x.lengths, strict=True):
                    if expected < 0:
                        words[~expected] = n
            else:
                if not _is_number(given, x.dtype):
                    fail(0)
                words[x.slot :].view(x.dtype)[0] = int(given) if x.dtype == np.int64 else given
        for j in _compared(parameters):
            if np.any((words[:j] < ends[j]) & (words[j] < ends[:j])):
                fail(2)
        status = code(words.ctypes.data, numbers.ctypes.data)
        if status:
            fail(2 + status)
        values = [numbers[k:].view(dtype)[0].item() for k, dtype in enumerate(dtypes)]
        return _built(result, values, args)

    return call


def _is_of_kind(x: Any, expected: Array) -> bool:
    return type(x) is np.ndarray and (
        x.dtype == expected.dtype
        and x.flags.c_contiguous
        and x.flags.aligned
        and (x.flags.writeable or not expected.is_written)
    )


def _is_of_shape(shape: tuple[int, ...], lengths: tuple[int, ...]) -> bool:
    same = (n == m or m < 0 for n, m in zip(shape, lengths, strict=False))
    return len(shape) == len(lengths) and all(same)


def _is_number(x: Any, dtype: np.dtype) -> bool:
    kinds = {"f8": (float,), "i8": (int, np.int64), "b1": (bool, np.bool_)}
    if (known := kinds.get(dtype.str[1:])) is None:
        return type(x) is np.dtype(dtype.str).type
    return isinstance(x, known) and (dtype.kind == "b" or not isinstance(x, bool))


def _built(result: Result, values: Sequence[Any], args: Sequence[Any]) -> Any:
    """The result with its numbers and arguments."""
    if isinstance(result, tuple):
        return tuple(_built(part, values, args) for part in result)
    return result if result is None else values[result] if result >= 0 else args[~result]


@cache
def _code() -> int:
    """The address of the function."""
    text = CHECKS + CALL
    numbers = {name: getattr(layout, name) for name in _OFFSETS}
    numbers |= {"FLOAT": _FLOAT, "INTEGER": _INTEGER, "BOOL": _BOOL, "SCALAR": _SCALAR}
    numbers["SECOND"] = layout.ITEMS + 8
    for name, number in numbers.items():
        text = text.replace(f"<{name}>", str(number))
    return machine_code("entry", text, is_counted=False)["entry"]
