"""Checks of arguments as statements: the instructions of entries for compiled programs."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import IntegerOverflow
from ...ir.affine import Affine, variable
from ...ir.scalar import parse
from ...ir.statements import Allocate, Assign, For, Literal, Variable
from ..instruction import LINKED
from .elements import attribute
from .emit import FunctionBuilder
from .functions import flattened
from .syntax import Unsupported
from .values import BOOL, INT, Array, Known, Number, Place, Value, members

__all__ = ["CHECKS"]


def _fits(emit: FunctionBuilder, shapes: Value, *arrays: Value) -> Value:
    """Whether arrays have these shapes; another dtype is not compiled."""
    fit: Value = Known(True)
    for (dtype, shape), array in zip(_known(shapes), arrays, strict=True):
        if not isinstance(array, Array) or array.place.dtype != dtype:
            from ..argument_checks import described  # which defines the instruction

            kind = f"an array of {array.place.dtype}" if isinstance(array, Array) else "a number"
            raise Unsupported(f"a compiled program takes {described(_known(shapes))}, not {kind}")
        if len(array.shape) != len(shape):
            return Number(emit.cast(Known(False), BOOL).operand, BOOL)
        for length, size in zip(array.shape, shape, strict=True):
            if not isinstance(size, str):
                same = emit.operation(operator.eq, length, Known(size))
                is_first = isinstance(fit, Known)
                fit = same if is_first else emit.operation(operator.and_, fit, same)
    return emit.typed(fit)


def _extent(emit: FunctionBuilder, array: Value, axis: Value) -> Value:
    return members(attribute(emit, array, "shape"))[_known(axis)]


def _require(emit: FunctionBuilder, holds: Value, error: Value, message: Value) -> Value:
    emit.branch(emit.truth(holds), [], [emit.exception(_known(error), _known(message))])
    return Known(None)


def _writable(emit: FunctionBuilder, *arrays: Value) -> Value:
    if not all(isinstance(array, Array) and array.mutable for array in arrays):
        raise Unsupported("a result that is a read-only array")
    return Known(None)


def _meet(emit: FunctionBuilder, first: Value, *arrays: Value) -> Value:
    """Whether any of the arrays from place `first` on shares memory with another."""
    ends: list[tuple[Number, Value]] = []
    for array in arrays:
        if not isinstance(array, Array):
            raise Unsupported("memory of an argument that is not an array")
        start = emit.address(array.place)
        item = Known(array.place.dtype.itemsize)
        size = emit.operation(operator.mul, attribute(emit, array, "size"), item)
        ends.append((start, emit.operation(operator.add, start, size)))
    begin, count = _known(first), len(ends)
    if (count - begin) * (count + begin) > 2 * _PAIRS:
        return _looped(emit, ends, begin)
    overlap: Value = Number(emit.cast(Known(False), BOOL).operand, BOOL)
    for j in range(begin, count):
        for i in range(j):
            both = _share(emit, ends[i], ends[j])
            overlap = emit.operation(operator.or_, overlap, both)
    return overlap


# So many pairs of arrays are compared one after another; LLVM takes long to read more of them.
_PAIRS = 12


def _share(emit: FunctionBuilder, one: tuple[Value, Value], other: tuple[Value, Value]) -> Value:
    """Whether two stretches of memory share any of it."""
    before = emit.operation(operator.lt, one[0], other[1])
    return emit.operation(operator.and_, before, emit.operation(operator.lt, other[0], one[1]))


def _looped(emit: FunctionBuilder, ends: list[tuple[Number, Value]], begin: int) -> Value:
    """The same as a loop over the pairs."""
    tables = _table(emit, [pair[0] for pair in ends]), _table(emit, [pair[1] for pair in ends])
    overlap, later, sooner = emit.name("overlap"), emit.name("j"), emit.name("i")
    emit.add(Variable(overlap, Literal(False, BOOL), dtype=BOOL))

    def at(axis: str) -> tuple[Value, Value]:
        first, second = (emit.load(table, variable(axis)) for table in tables)
        return first, second

    with emit.block() as outer:
        other = at(later)
        with emit.block() as inner:
            both = emit.typed(_share(emit, at(sooner), other))
            emit.add(Assign(overlap, _OR, (overlap, both.operand), BOOL, BOOL))
        emit.add(For(sooner, 0, later, tuple(inner)))
    emit.add(For(later, begin, len(ends), tuple(outer)))
    return Number(overlap, BOOL, lasting=False)


_OR = parse("x | y")


def _table(emit: FunctionBuilder, values: Sequence[Value]) -> Place:
    """Integers in a table on the stack."""
    name = emit.name("table")
    emit.add(Allocate(name, len(values), INT))
    table = Place(name, INT)
    for i, value in enumerate(values):
        emit.store(table, Affine(i, ()), value)
    return table


def _number(emit: FunctionBuilder, name: Value, x: Value, *message: Value) -> Value:
    """A number in the dtype of this name: an integer may become a float, and no float an
    integer."""
    dtype, here = np.dtype(_known(name)), emit.dtype(x)
    if here.kind == "f" and dtype.kind != "f":
        raise Unsupported(f"a compiled program takes a number of dtype {dtype}, not {here}")
    found = emit.cast(x, dtype)
    if message and found is not x:
        same = emit.operation(operator.eq, found, x)
        _require(emit, same, Known(IntegerOverflow), *message)
    return found


def _addresses(emit: FunctionBuilder, *operands: Value) -> Value:
    """A table on the stack: where arrays begin, or pointers lead; numbers as they are."""
    places = [operand.place if isinstance(operand, Array) else operand for operand in operands]
    return _table(emit, [
        emit.address(place) if isinstance(place, Place) else emit.cast(place, INT)
        for place in places
    ])  # fmt: skip


def _linked(emit: FunctionBuilder, core: Any, *operands: Value) -> Value:
    """The core of a program, code that is linked."""
    LINKED[core.symbol] = core
    given = [
        part
        for operand, dtype in zip(operands, core.numbers, strict=True)
        for part in flattened(emit, operand if dtype is None else emit.cast(operand, dtype))
    ]
    return tuple(emit.call(f"linked {core.symbol}", given, core.results))


def _known(value: Value) -> Any:
    if not isinstance(value, Known):
        raise Unsupported("a check that depends on a number")
    return value.value


CHECKS = {
    "fits": _fits, "writable": _writable, "meet": _meet, "number": _number,
    "addresses": _addresses, "linked": _linked, "extent": _extent,
    "require": _require,
}  # fmt: skip
"""Rows of the table of instructions."""
