"""Instructions: calls that stand for statements or single instructions of the target.

A row of INSTRUCTIONS is named after the instruction, or given by its `row`, a name with parameters.
It takes the values of the arguments and gives that of the result. Most write statements of the IR;
the others call a function that the target knows by the name of the row.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.affine import Affine
from ...ir.statements import Address, Allocate, For, Function, Pointer, Store
from ..host import is_wide as has_wide_vectors
from ..lean.syntax import Unsupported
from ..llvm_instructions import WRITTEN
from .checks import CHECKS
from .elements import flat, moved
from .emit import Emitter, address_of
from .functions import entry_of, flattened, type_of
from .values import BOOL, DOUBLE, INT, SINGLE, Array, Known, Number, Place, Value, literal, members

__all__ = ["INSTRUCTIONS"]

INSTRUCTIONS: dict[str, Callable[..., Value]] = dict(CHECKS)
_NOTHING = Known(None)
_BYTE = np.dtype(np.uint8)


def _row(function: Callable[..., Value]) -> Callable[..., Value]:
    INSTRUCTIONS[function.__name__.strip("_")] = function
    return function


# -- numbers --------------------------------------------------------------------------------------


@_row
def like(emit: Emitter, x: Value, value: Value) -> Value:
    dtype = emit.dtype(x)
    if isinstance(value, Known) and (found := literal(value.value, dtype)) is not None:
        return Known(dtype.type(found.number))
    return emit.cast(value, dtype)


@_row
def by_dtype(emit: Emitter, x: Value, double: Value, single: Value) -> Value:
    return like(emit, x, single if emit.dtype(x) == SINGLE else double)


@_row
def offset(emit: Emitter, i: Value) -> Value:
    return Number(emit.cast(i, INT).operand, INT, True, emit.typed(i).lasting)


@_row
def select(emit: Emitter, condition: Value, x: Value, y: Value) -> Value:
    dtype = emit.common([x, y])
    return emit.applied(
        "select", [emit.truth(condition), emit.cast(x, dtype), emit.cast(y, dtype)], dtype
    )


@_row
def fused(emit: Emitter, x: Value, y: Value, z: Value) -> Value:
    dtype = emit.dtype(x)
    return emit.applied("fused", [emit.cast(each, dtype) for each in (x, y, z)], dtype)


@_row
def series(emit: Emitter, double: Sequence[float], single: Sequence[float], x: Value) -> Value:
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

    def write(emit: Emitter, *operands: Value) -> Value:
        if len(operands) != arity:
            raise Unsupported(f"{name} of {len(operands)} arguments")
        given = emit.dtype(operands[0])
        numbers = [emit.cast(each, given) for each in operands]
        found = emit.call(name, [x.operand for x in numbers], [dtype or given] * results)
        return found[0] if results == 1 else tuple(found)

    INSTRUCTIONS[name] = write


for _name, _arity in (
    ("round_even", 1), ("times_power_of_two", 2), ("times_normal_power", 2), ("mantissa", 1),
    ("exponent", 1), ("turned", 2), ("radd", 2), ("length", 1), ("above", 3),
):  # fmt: skip
    _same(_name, _arity)
_same("two_product", 2, results=2)
_same("odd", 1, dtype=BOOL)
_same("image", 1, dtype=INT)


@_row
def extreme(emit: Emitter, name: str, x: Value, y: Value) -> Value:
    """The larger or the smaller of two; nan where one is nan."""
    dtype = emit.dtype(x)
    both = [emit.cast(each, dtype) for each in (x, y)]
    if dtype.kind == "f":
        name = "highest" if name == "maximum" else "lowest"
        return emit.call(name, [number.operand for number in both], [dtype])[0]
    better = "greater_equal" if name == "maximum" else "less_equal"
    return emit.applied("select", [emit.applied(better, both, BOOL), *both], dtype)


@_row
def hidden(emit: Emitter, x: Value) -> Value:
    dtype = emit.dtype(x) if emit.dtype(x).kind == "f" else INT
    here = emit.cast(x, dtype)
    (found,) = emit.call("hidden", [here.operand], [dtype])
    return Number(found.operand, dtype, here.natural)


@_row
def scipy(emit: Emitter, name: str, arity: int, *operands: Value) -> Value:
    """A function of SciPy, which computes with doubles."""
    if len(operands) != arity:
        raise Unsupported(f"{name} of {len(operands)} arguments")
    dtype = emit.dtype(operands[0])
    doubles = [emit.cast(emit.cast(x, dtype), DOUBLE).operand for x in operands]
    (found,) = emit.call(f"scipy {name} {arity}", doubles, [DOUBLE])
    return emit.cast(found, dtype)


# -- pointers -------------------------------------------------------------------------------------


@_row
def pointer(emit: Emitter, array: Value) -> Value:
    if not isinstance(array, Array) or array.strides is not None:
        raise Unsupported("a pointer to an array that is not contiguous")
    place = array.place
    return emit.pointing(place, _BYTE) if place.dtype == BOOL else place


@_row
def shift(emit: Emitter, place: Value, count: Value) -> Value:
    return moved(emit, _a_place(place), count)


@_row
def address(emit: Emitter, holder: Value) -> Value:
    return emit.address(holder.place if isinstance(holder, Array) else _a_place(holder))


@_row
def at(emit: Emitter, dtype: np.dtype, place: Value) -> Value:
    """A pointer to elements of a dtype, from an address."""
    return emit.pointing(place, dtype)


@_row
def part(emit: Emitter, dtype: np.dtype, work: Value, count: Value) -> Value:
    """A pointer to elements of a dtype, so many bytes into scratch."""
    return emit.pointing(moved(emit, _a_place(work), count), dtype)


@_row
def scratch(emit: Emitter, size: Value) -> Value:
    if not isinstance(size, Known):
        raise Unsupported("scratch of a size that is not a constant")
    name = emit.name("scratch")
    emit.add(Allocate(name, size.value, _BYTE))
    return Place(name, _BYTE)


@_row
def keep(emit: Emitter, array: Value) -> Value:
    return _NOTHING


_LINE = 64  # bytes of a cache line


@_row
def fetch(emit: Emitter, array: Value, start: Value, count: Value) -> Value:
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
    return _NOTHING


def _a_place(value: Value) -> Place:
    if not isinstance(value, Place):
        raise Unsupported("a pointer is expected")
    return value


# -- attributes -----------------------------------------------------------------------------------


def _attribute(name: str, *attributes: str) -> None:
    def note(emit: Emitter) -> Value:
        emit.attributes.update(attributes)
        return _NOTHING

    INSTRUCTIONS[name] = note


_attribute("tuned", "noalias", "wide")
_attribute("apart", "noalias")
_attribute("alone", "noinline")
_attribute("small", "noinline", "small")
_attribute("inside", "inline")
_attribute("wide", "wide")


# -- threads and products -------------------------------------------------------------------------


def _known(name: str, dtype: np.dtype | None, *kinds: np.dtype | None) -> None:
    """A function of the target of pointers (None) and of numbers of dtypes."""

    def write(emit: Emitter, *operands: Value) -> Value:
        given = [
            address_of(_a_place(x.place if isinstance(x, Array) else x))
            if kind is None
            else emit.cast(x, kind).operand
            for x, kind in zip(operands, kinds, strict=True)
        ]
        found = emit.call(name, given, [] if dtype is None else [dtype])
        return found[0] if found else _NOTHING

    INSTRUCTIONS[name] = write


_known("acquire", BOOL, None, INT, BOOL)
_known("release", None, None, INT)
_known("ident", INT, None)
_known("counted", INT, None, INT, INT)
_known("run", None, INT, INT, INT)


@_row
def dtype_of_pointer(emit: Emitter, place: Value) -> Value:
    return Known(_a_place(place).dtype)


@_row
def room_like(emit: Emitter, place: Value, count: Value) -> Value:
    """Elements of the dtype of another pointer, on the stack."""
    name, dtype = emit.name("room"), _a_place(place).dtype
    assert isinstance(count, Known)
    emit.add(Allocate(name, count.value, dtype))
    return Place(name, dtype)


@_row
def is_wide(emit: Emitter) -> Value:
    return Known(has_wide_vectors())


@_row
def written(emit: Emitter, maker: Callable[[np.dtype], tuple[str, str]], *operands: Value) -> Value:
    """A function that `maker` writes in LLVM's terms, for the dtype of its first argument."""
    symbol, text = maker(_a_place(operands[0]).dtype)
    WRITTEN[symbol] = text
    given = [part for operand in operands for part in flattened(emit, operand)]
    emit.call(f"written {symbol}", given, [])
    return _NOTHING


@_row
def extern(emit: Emitter, name: str, *operands: Value) -> Value:
    """A C function that returns an int, which is ignored."""
    given = [part for operand in operands for part in flattened(emit, operand)]
    emit.call(f"extern {name}", given, [])
    return _NOTHING


@_row
def at_address(emit: Emitter, function: Value, *operands: Value) -> Value:
    """A C function at an address, which returns an int that is ignored."""
    given = [part for operand in operands for part in flattened(emit, operand)]
    emit.call("at_address", [emit.cast(function, INT).operand, *given], [])
    return _NOTHING


@_row
def symbol(emit: Emitter, name: str) -> Value:
    """A pointer to the words of a variable that is defined elsewhere."""
    (here,) = emit.call(f"symbol {name}", [], [INT])
    return emit.pointing(here, INT)


@_row
def handed(emit: Emitter, function: Value, operands: Value) -> Value:
    """A function with its operands on the stack: the addresses of a function of these and of the
    number of a piece, and of the operands."""
    assert isinstance(function, Known)
    given = members(operands)
    kinds = tuple(map(type_of, given))
    entry = entry_of(function.value, (*kinds, INT))
    parts = [part for each in given for part in flattened(emit, each)]
    parameters = entry.function.parameters[: len(parts)]
    name = emit.name("operands")
    emit.add(Allocate(name, len(parts), INT))
    inner = Emitter()
    block, piece = inner.name("operands"), inner.name("piece")
    arguments: list[Any] = []
    for i, (part, (_, kind)) in enumerate(zip(parts, parameters, strict=True)):
        dtype = INT if isinstance(kind, Pointer) else kind
        if isinstance(part, Address):
            (here,) = emit.call("address", [part], [INT])
            part = here.operand
        emit.add(Store(emit.pointing(Place(name, INT), dtype).buffer, _word(i, dtype), part, dtype))
        taken = inner.load(inner.pointing(Place(block, INT), dtype), _word(i, dtype))
        if isinstance(kind, Pointer):
            arguments.append(address_of(inner.pointing(taken, kind.dtype)))
        else:
            arguments.append(taken.operand)
    inner.call(entry.function, [*arguments, piece], entry.function.results)
    taker = Function(
        f"{entry.function.name}.piece", ((block, Pointer(INT)), (piece, INT)), tuple(inner.body)
    )
    (code,) = emit.call("code", [taker], [INT])
    return code, emit.address(Place(name, INT))


def _word(i: int, dtype: np.dtype) -> Affine:
    """The position of a word among elements of a dtype."""
    return Affine(i * 8 // dtype.itemsize, ())


@_row
def packed(emit: Emitter, *operands: Value) -> Value:
    return operands
