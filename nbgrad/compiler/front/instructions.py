"""Instructions: calls that stand for statements or single instructions of the target.

A row of INSTRUCTIONS is named after the instruction, or given by its `row`, a name with parameters.
It takes the values of the arguments and gives that of the result. Most write statements of the IR;
the others call a function that the target knows by the name of the row.
"""

import operator
from collections.abc import Sequence

import numpy as np

from ...ir.statements import Allocate, For
from .elements import flat, moved
from .emit import FunctionBuilder, address_of
from .syntax import Unsupported
from .table import INSTRUCTIONS, row
from .values import BOOL, DOUBLE, INT, SINGLE, Array, Known, Number, Place, Value, literal

__all__ = ["NOTHING", "a_place"]

NOTHING = Known(None)
_BYTE = np.dtype(np.uint8)


# -- numbers --------------------------------------------------------------------------------------


@row
def like(emit: FunctionBuilder, x: Value, value: Value) -> Value:
    dtype = emit.dtype(x)
    if isinstance(value, Known) and (found := literal(value.value, dtype)) is not None:
        return Known(dtype.type(found.number))
    return emit.cast(value, dtype)


@row
def by_dtype(emit: FunctionBuilder, x: Value, double: Value, single: Value) -> Value:
    return like(emit, x, single if emit.dtype(x) == SINGLE else double)


@row
def offset(emit: FunctionBuilder, i: Value) -> Value:
    return Number(emit.cast(i, INT).operand, INT, True, emit.typed(i).lasting)


@row
def select(emit: FunctionBuilder, condition: Value, x: Value, y: Value) -> Value:
    dtype = emit.common([x, y])
    return emit.applied(
        "select", [emit.truth(condition), emit.cast(x, dtype), emit.cast(y, dtype)], dtype
    )


@row
def fused(emit: FunctionBuilder, x: Value, y: Value, z: Value) -> Value:
    dtype = emit.dtype(x)
    return emit.applied("fused", [emit.cast(each, dtype) for each in (x, y, z)], dtype)


@row
def series(
    emit: FunctionBuilder, double: Sequence[float], single: Sequence[float], x: Value
) -> Value:
    """A polynomial by Horner's rule."""
    here = emit.typed(x)
    first, *rest = single if here.dtype == SINGLE else double
    total: Value = like(emit, x, Known(first))
    for number in rest:
        product = emit.operation(operator.mul, total, here)
        total = emit.operation(operator.add, product, like(emit, x, Known(number)))
    return total


def _same(name: str, arity: int, results: int = 1, dtype: np.dtype | None = None) -> None:
    """A function of the target of numbers of one dtype, that of the first."""

    def write(emit: FunctionBuilder, *operands: Value) -> Value:
        if len(operands) != arity:
            raise Unsupported(f"{name} of {len(operands)} arguments")
        given = emit.dtype(operands[0])
        numbers = [emit.cast(each, given) for each in operands]
        found = emit.call(name, [x.operand for x in numbers], [dtype or given] * results)
        return found[0] if results == 1 else tuple(found)

    INSTRUCTIONS[name] = write


for _name, _arity in (
    ("round_even", 1), ("times_power_of_two", 2), ("times_normal_power", 2), ("mantissa", 1),
    ("exponent", 1), ("half_bits_below", 2), ("turned", 2), ("radd", 2), ("length", 1),
    ("above", 3),
):  # fmt: skip
    _same(_name, _arity)
_same("two_product", 2, results=2)
_same("odd", 1, dtype=BOOL)
_same("image", 1, dtype=INT)


@row
def extreme(emit: FunctionBuilder, name: str, x: Value, y: Value) -> Value:
    """The larger or the smaller of two; nan where one is nan."""
    dtype = emit.dtype(x)
    both = [emit.cast(each, dtype) for each in (x, y)]
    if dtype.kind == "f":
        name = "highest" if name == "maximum" else "lowest"
        return emit.call(name, [number.operand for number in both], [dtype])[0]
    better = "greater_equal" if name == "maximum" else "less_equal"
    return emit.applied("select", [emit.applied(better, both, BOOL), *both], dtype)


@row
def hidden(emit: FunctionBuilder, x: Value) -> Value:
    dtype = emit.dtype(x) if emit.dtype(x).kind == "f" else INT
    here = emit.cast(x, dtype)
    (found,) = emit.call("hidden", [here.operand], [dtype])
    return Number(found.operand, dtype, here.natural)


@row
def scipy(emit: FunctionBuilder, name: str, arity: int, *operands: Value) -> Value:
    """A function of SciPy, which computes with doubles."""
    if len(operands) != arity:
        raise Unsupported(f"{name} of {len(operands)} arguments")
    dtype = emit.dtype(operands[0])
    doubles = [emit.cast(emit.cast(x, dtype), DOUBLE).operand for x in operands]
    (found,) = emit.call(f"scipy {name} {arity}", doubles, [DOUBLE])
    return emit.cast(found, dtype)


# -- pointers -------------------------------------------------------------------------------------


@row
def pointer(emit: FunctionBuilder, array: Value) -> Value:
    if not isinstance(array, Array) or array.strides is not None:
        raise Unsupported(
            "a pointer to an array that is not contiguous: np.ascontiguousarray(x), or, for an "
            "array of results, np.empty(x.shape), as np.empty_like(x) keeps the order of x"
        )
    place = array.place
    return emit.pointing(place, _BYTE) if place.dtype == BOOL else place


@row
def shift(emit: FunctionBuilder, place: Value, count: Value) -> Value:
    return moved(emit, a_place(place), count)


@row
def address(emit: FunctionBuilder, holder: Value) -> Value:
    return emit.address(holder.place if isinstance(holder, Array) else a_place(holder))


@row
def at(emit: FunctionBuilder, dtype: np.dtype, place: Value) -> Value:
    """A pointer to elements of a dtype, from an address."""
    return emit.pointing(place, dtype)


@row
def part(emit: FunctionBuilder, dtype: np.dtype, work: Value, count: Value) -> Value:
    """A pointer to elements of a dtype, so many bytes into scratch."""
    return emit.pointing(moved(emit, a_place(work), count), dtype)


@row
def scratch(emit: FunctionBuilder, size: Value) -> Value:
    if not isinstance(size, Known):
        raise Unsupported("scratch of a size that is not a constant")
    name = emit.name("scratch")
    emit.add(Allocate(name, size.value, _BYTE))
    return Place(name, _BYTE)


_LINE = 64  # bytes of a cache line


@row
def fetch(emit: FunctionBuilder, array: Value, start: Value, count: Value) -> Value:
    """Prefetch elements of an array."""
    place = flat(emit, array).place
    first = emit.typed(emit.settled(start))
    lines = emit.operation(operator.add, count, Known(_LINE // place.dtype.itemsize - 1))
    lines = emit.operation(operator.floordiv, lines, Known(_LINE // place.dtype.itemsize))
    axis = emit.name("line")
    with emit.block() as body:
        distance = emit.operation(
            operator.mul, Number(axis, INT), Known(_LINE // place.dtype.itemsize)
        )
        here = moved(emit, place, emit.operation(operator.add, first, distance))
        emit.call("prefetch", [address_of(here)], [])
    emit.add(For(axis, 0, emit.cast(lines, INT).operand, tuple(body)))
    return NOTHING


def a_place(value: Value) -> Place:
    if not isinstance(value, Place):
        raise Unsupported("a pointer is expected")
    return value


# -- attributes -----------------------------------------------------------------------------------


def _attribute(name: str, *attributes: str) -> None:
    def note(emit: FunctionBuilder) -> Value:
        emit.attributes.update(attributes)
        return NOTHING

    INSTRUCTIONS[name] = note


_attribute("noalias", "noalias")
_attribute("noinline", "noinline")
_attribute("minsize", "noinline", "small")
_attribute("wide_vectors", "wide")
