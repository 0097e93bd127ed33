"""Instructions that call what is outside of a function: symbols, C functions, threads, functions
that are written in LLVM's terms."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.affine import Affine
from ...ir.statements import Address, Allocate, Function, Pointer, Store
from ..host import is_wide as has_wide_vectors
from ..llvm_instructions import WRITTEN
from .emit import FunctionBuilder, address_of
from .functions import entry_of, flattened, type_of
from .instructions import NOTHING, a_place
from .table import INSTRUCTIONS, row
from .values import BOOL, INT, Array, Known, Place, Value, members


def _known(name: str, dtype: np.dtype | None, *kinds: np.dtype | None) -> None:
    """A function of the target of pointers (None) and of numbers of dtypes."""

    def write(emit: FunctionBuilder, *operands: Value) -> Value:
        given = [
            address_of(a_place(x.place if isinstance(x, Array) else x))
            if kind is None
            else emit.cast(x, kind).operand
            for x, kind in zip(operands, kinds, strict=True)
        ]
        found = emit.call(name, given, [] if dtype is None else [dtype])
        return found[0] if found else NOTHING

    INSTRUCTIONS[name] = write


_known("acquire", BOOL, None, INT, BOOL)
_known("release", None, None, INT)
_known("ident", INT, None)
_known("counted", INT, None, INT, INT)
_known("run", None, INT, INT, INT)


@row
def dtype_of_pointer(emit: FunctionBuilder, place: Value) -> Value:
    return Known(a_place(place).dtype)


@row
def room_like(emit: FunctionBuilder, place: Value, count: Value) -> Value:
    """Elements of the dtype of another pointer, on the stack."""
    name, dtype = emit.name("room"), a_place(place).dtype
    assert isinstance(count, Known)
    emit.add(Allocate(name, count.value, dtype))
    return Place(name, dtype)


@row
def is_wide(emit: FunctionBuilder) -> Value:
    return Known(has_wide_vectors())


@row
def written(
    emit: FunctionBuilder, maker: Callable[[np.dtype], tuple[str, str]], *operands: Value
) -> Value:
    """A function that `maker` writes in LLVM's terms, for the dtype of its first argument."""
    symbol, text = maker(a_place(operands[0]).dtype)
    WRITTEN[symbol] = text
    given = [part for operand in operands for part in flattened(emit, operand)]
    emit.call(f"written {symbol}", given, [])
    return NOTHING


@row
def c_function(emit: FunctionBuilder, name: str, dtype: np.dtype | None, *operands: Value) -> Value:
    """A C function of pointers and numbers that returns a number of a dtype, or nothing; one
    without a name is at the address that stands before its arguments."""
    given = [part for operand in operands for part in flattened(emit, operand)]
    found = emit.call(f"c_function {name}", given, [] if dtype is None else [dtype])
    return found[0] if found else NOTHING


@row
def symbol(emit: FunctionBuilder, name: str) -> Value:
    """A pointer to the words of a variable that is defined elsewhere."""
    (here,) = emit.call(f"symbol {name}", [], [INT])
    return emit.pointing(here, INT)


@row
def handed(emit: FunctionBuilder, function: Value, operands: Value) -> Value:
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
    for i, part in enumerate(parts):
        kind: Any = parameters[i][1]
        dtype = INT if isinstance(kind, Pointer) else kind
        if isinstance(part, Address):
            (here,) = emit.call("address", [part], [INT])
            part = here.operand
        emit.add(Store(emit.pointing(Place(name, INT), dtype).buffer, word(i, dtype), part, dtype))
    inner = FunctionBuilder()
    block, piece = inner.name("operands"), inner.name("piece")
    arguments = words_of(inner, Place(block, INT), parameters)
    inner.call(entry.function, [*arguments, piece], entry.function.results)
    taker = Function(
        f"{entry.function.name}.piece", ((block, Pointer(INT)), (piece, INT)), tuple(inner.body)
    )
    (code,) = emit.call("code", [taker], [INT])
    return code, emit.address(Place(name, INT))


def words_of(
    emit: FunctionBuilder, block: Place, parameters: Sequence[tuple[str, Any]]
) -> list[Any]:
    """The arguments for the parameters of a function, each in its word of a block."""
    arguments: list[Any] = []
    for i, (_, kind) in enumerate(parameters):
        is_pointer = isinstance(kind, Pointer)
        dtype = INT if is_pointer else kind
        taken = emit.load(emit.pointing(block, dtype), word(i, dtype))
        pointed = address_of(emit.pointing(taken, kind.dtype)) if is_pointer else taken.operand
        arguments.append(pointed)
    return arguments


def word(i: int, dtype: np.dtype) -> Affine:
    """The position of a word among elements of a dtype."""
    return Affine(i * 8 // dtype.itemsize, ())


@row
def packed(emit: FunctionBuilder, *operands: Value) -> Value:
    return operands
