"""Entries: from Python into machine code that takes pointers and numbers.

One C function, that of `entry_code.py`, serves all of them: compiled programs, kernels, and
launchers of eager ops. Its table says what each argument must be: it checks arrays by type, dtype,
layout and lengths, and numbers by their types. Then it compares the memory of results with that of
other arrays, creates new arrays, runs the code, and makes Python objects of the numbers that this
returns.

`run` of an entry is `i32 run(ptr words, ptr numbers)`: words are the addresses of arrays, the bytes
of numbers and lengths of axes, each in its slot; numbers are what it returns. It gives 0, or the
number of the exception that is to be raised, counted from 1.
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ..errors import ArgumentError, CompiledArgumentError
from ..runtime import layout
from ..runtime.vectorcall import builtin
from . import entry_code as code
from .pointers import Overlap

__all__ = ["Array", "New", "Number", "Parameter", "Result", "entry"]


@dataclass(frozen=True)
class Array:
    """An array of NumPy's own type, whose address gets into a slot. A length is the number that it
    has to be, or `~slot` for any that gets into that slot. One that `has_strides` may have any;
    behind the lengths stand slots for them, in bytes. Any other is in C order. Of one that
    `is_element`, of one float32 or float64, the slot gets the value as float64; without axes, it
    may be NumPy's scalar."""

    dtype: np.dtype
    lengths: tuple[int, ...]
    slot: int
    is_written: bool = False
    place: tuple[int, ...] = ()
    has_strides: bool = False
    is_element: bool = False
    is_aligned: bool = True


@dataclass(frozen=True)
class Number:
    """A number, whose bytes get into a slot: a float, int or bool for dtypes that Python has, or
    NumPy's scalar."""

    dtype: np.dtype
    slot: int
    place: tuple[int, ...] = ()


@dataclass(frozen=True)
class New:
    """A new array, whose address gets into a slot. Where `number` is not -1, it has one element:
    `factor` times that number of those that the code gives, a float64."""

    dtype: np.dtype
    shape: tuple[int, ...]
    slot: int
    number: int = -1
    factor: float = 1.0


Parameter: TypeAlias = Array | Number | New
Result: TypeAlias = int | Sequence["Result"] | None
"""The result of an entry: number i that the code gives, parameter i for ~i, a tuple of results, or
None."""


def entry(
    name: str,
    run: int,
    parameters: Sequence[Parameter],
    slots: int,
    dtypes: Sequence[np.dtype],
    result: Result,
    messages: Sequence[Exception] = (),
    brief: int = -1,
    *,
    count: int | None = None,
    may_overlap: bool = False,
    whole_tuples: bool = True,
    constants: Mapping[int, int] | None = None,
    definition: Callable | None = None,
    defers_errors: bool = False,
    counter: int = 0,
    kept: Any = None,
    in_python: bool = False,
) -> Callable:
    """A function that calls the code at the address `run`.

    Arguments:
        parameters: arguments and new arrays. An argument is at its `place`: (i,), or item j of the
            tuple that is argument i, (i, j); the default is its number among the parameters.
            Arrays that are compared have slots 0, 1, ..., inputs before those that are written,
            and one more Array behind these is scratch.
        slots: the number of words for the code.
        dtypes: the numbers that the code gives: float64, int64, uint64 or bool.
        messages: copies of these are raised when the code says so.
        brief: the code keeps the GIL, as it takes a few microseconds at most, where no length that
            may be any is above this; -1 for none.
        count: the number of arguments, where it is not that of the parameters.
        may_overlap: whether arrays are not compared.
        whole_tuples: whether tuples have no items that are not among the parameters.
        constants: words that are always the same, by slot.
        definition: called with the same arguments in place of raising TypeError or ValueError for
            them; if it `defers_errors`, in place of the exceptions of the code, too.
        counter: the address of a word in which calls are counted.
        kept: what has to live as long as the function.
        in_python: whether it is the definition in Python, for which nothing is compiled: it takes
            arrays that have no strides, and numbers, and creates no arrays.

    The function raises TypeError for arguments of other types, ValueError for other lengths,
    OverflowError for integers beyond int64 and Overlap for a result that shares memory with another
    array.
    """
    count = len(parameters) if count is None else count
    shown = ", ".join(
        f"{x.dtype}{list(_lengths(x)) or ''}" for x in parameters if hasattr(x, "dtype")
    )
    described = f"{name} was compiled for arguments {shown}"
    raised = [
        CompiledArgumentError(described),
        ArgumentError(described),
        Overlap("results overlap"),
        *messages,
    ]
    if in_python or not layout.IS_KNOWN:
        return _in_python(run, parameters, slots, dtypes, result, raised)
    order, rows, lengths = _rows(parameters, whole_tuples)
    news = sum(isinstance(x, New) for x in parameters)
    steps = _steps(result, dtypes, order)
    new_rows = set(range(len(rows) - news, len(rows)))
    for step in reversed(steps):
        if step[code.MADE] == code.SAME and step[code.NUMBER] in new_rows:
            step[code.MADE] = code.TAKEN  # the last one takes the reference
            new_rows.remove(step[code.NUMBER])
    compared = range(0) if may_overlap else _compared(parameters)
    lengths_at = code.HEADER + code.ROW * len(rows)
    steps_at = lengths_at + len(lengths)
    constants_at = steps_at + code.STEP * len(steps)
    pairs = [word for pair in (constants or {}).items() for word in pair]
    deferred = 0 if definition is None else code.ANY_FAULT if defers_errors else code.MISSHAPED
    head = {
        code.RUN: run, code.BRIEF: brief, code.ARGUMENTS: count, code.ROWS: len(rows),
        code.NEW_FROM: len(rows) - news, code.FIRST: compared.start,
        code.LAST: compared.stop, code.PROGRAM: steps_at,
        code.STEPS: len(steps), code.CONSTANTS: constants_at,
        code.CONSTANT_COUNT: len(pairs) // 2, code.DEFERRED: deferred,
        code.COUNTER: counter, code.NDARRAY: id(np.ndarray), code.DOUBLE: id(np.float64),
        code.NEW_ARRAY: layout.new_array_address() if news else 0,
        code.LEFT: len(new_rows),
    }  # fmt: skip
    for row in rows:
        row[code.LENGTHS] += lengths_at
    words = [head[i] for i in range(code.HEADER)]
    words += [*chain(*rows), *lengths, *chain(*steps), *pairs]
    table = np.array(words, np.int64)
    size = max(slots, len(dtypes), len(rows), len(steps))
    exceptions = tuple((type(error), error.args) for error in raised)
    own = table, exceptions, definition, [getattr(x, "dtype", None) for x in parameters], kept
    return builtin(name, code.code(code.room(size)), own)


def _rows(
    parameters: Sequence[Parameter], whole_tuples: bool
) -> tuple[dict[int, int], list[list[int]], list[int]]:
    """The rows of the table, the number of the row of each parameter, and lengths. Items of tuples
    follow arguments, and new arrays follow all of them."""
    places = [getattr(x, "place", ()) or (i,) for i, x in enumerate(parameters)]

    def key(i: int) -> tuple[int, ...]:
        is_new, is_item = isinstance(parameters[i], New), len(places[i]) > 1
        return (2,) if is_new else (1, places[i][0]) if is_item else (0,)

    order: dict[int, int] = {}
    rows: list[list[int]] = []
    lengths: list[int] = []
    opened = -1
    for i in sorted(range(len(parameters)), key=key):
        x, (first, *rest) = parameters[i], places[i]
        if rest and first != opened:
            opened = first
            least = 1 + max(place[1] for place in places if len(place) > 1 and place[0] == first)
            most = least if whole_tuples else 2**31
            rows.append([code.TUPLES, 0, 0, least, 0, most, 0, first, 0])
        order[i] = len(rows)
        rows.append(_row(x, rest[0] if rest else first, len(lengths)))
        lengths += getattr(x, "lengths", ()) or getattr(x, "shape", ())
    return order, rows, lengths


def _row(x: Parameter, place: int, lengths: int) -> list[int]:
    """The row of a parameter; its lengths are from place `lengths` on."""
    if isinstance(x, Number):
        kind, expected = _KINDS.get(x.dtype.str[1:], code.SCALARS), id(np.dtype(x.dtype.str).type)
        return [kind, expected, x.slot, 0, 0, 0, 0, place, 0]
    described = id(x.dtype), x.slot
    if isinstance(x, New):
        shape, bits = [len(x.shape), lengths, 0], int(np.float64(x.factor).view(np.int64))
        return [0, *described, *shape, x.dtype.itemsize, x.number, bits]
    kind = code.ARRAYS + layout.ALIGNED * x.is_aligned + layout.WRITEABLE * x.is_written
    kind += 0 if x.has_strides else layout.C_ORDER
    words = len(x.lengths)
    shape = [words // 2 if x.has_strides else words, lengths, words]
    size = x.dtype.itemsize
    return [kind, *described, *shape, size, place, size * x.is_element]


def _compared(parameters: Sequence[Parameter]) -> range:
    """The slots of arrays that must not share memory with one in a slot before."""
    written = [x.slot for x in parameters if isinstance(x, Array) and x.is_written]
    return range(min(written), max(written) + 1) if written else range(0)


def _lengths(x: Parameter) -> list[Any]:
    return [n if n >= 0 else "any" for n in x.lengths] if isinstance(x, Array) else []


_KINDS = {"f8": code.FLOATS, "i8": code.INTEGERS, "b1": code.BOOLS}
_BOXES = {"f8": code.A_FLOAT, "i8": code.AN_INTEGER, "u8": code.UNSIGNED, "b1": code.A_BOOL}


def _steps(
    result: Result, dtypes: Sequence[np.dtype], rows: Mapping[int, int], first: int = 0
) -> list[list[int]]:
    """How to make a result: the steps are numbered from `first` on."""
    if result is None:
        return [[code.NOTHING, 0, 0, 0]]
    if isinstance(result, int):
        is_array = result < 0
        kind = code.SAME if is_array else _BOXES[dtypes[result].str[1:]]
        return [[kind, rows[~result] if is_array else result, 0, 0]]
    steps = [[code.A_TUPLE, len(result), 0, 0]]
    for i, part in enumerate(result):
        item, *more = _steps(part, dtypes, rows, first + len(steps))
        steps += [[*item[: code.OWNER], first, code.FIRST_ITEM + i], *more]
    return steps


def _in_python(
    run: int,
    parameters: Sequence[Any],
    slots: int,
    dtypes: Sequence[np.dtype],
    result: Result,
    raised: Sequence[Exception],
) -> Callable:
    """The definition of an entry in Python, for calls before the C function is compiled, and for
    builds whose objects have another layout."""
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
    if isinstance(result, Sequence):
        return tuple(_built(part, values, args) for part in result)
    return result if result is None else values[result] if result >= 0 else args[~result]
