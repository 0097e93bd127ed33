"""Elements and attributes of arrays, pointers and tuples."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from .arrays import array_of, part_of
from .emit import Emitter
from .syntax import Unsupported
from .values import Known, Typed, Value


def element(emit: Emitter, holder: Value, index: Value) -> Value:
    """holder[index]."""
    if isinstance(holder, tuple):
        return holder[_constant_index(index)]
    if isinstance(holder, Known):
        return _known_element(emit, holder.value, index)
    if isinstance(holder.kind, types.CPointer):
        return Typed(holder.kind.dtype, emit.builder.load(_behind(emit, holder, index)))
    if isinstance(holder.kind, types.Array):
        if holder.kind.ndim > 1 and not isinstance(index, tuple):
            return _row(emit, holder, index)
        kind = holder.kind.dtype
        place = _place(emit, holder, index)
        align = None if holder.kind.aligned else 1
        return Typed(kind, emit.target.unpack_value(emit.builder, kind, place, align))
    if isinstance(holder.kind, types.BaseTuple):
        return element(emit, parts(emit, holder), index)
    raise Unsupported(f"an element of {holder.kind}")


def set_element(emit: Emitter, holder: Value, index: Value, value: Value) -> None:
    """holder[index] = value."""
    if not isinstance(holder, Typed):
        raise Unsupported("an element of what is known is set")
    if isinstance(holder.kind, types.CPointer):
        place = _behind(emit, holder, index)
        emit.builder.store(emit.cast(value, holder.kind.dtype).ir, place)
    elif isinstance(holder.kind, types.Array) and holder.kind.mutable:
        place = _place(emit, holder, index)
        kind = holder.kind.dtype
        align = None if holder.kind.aligned else 1
        emit.target.pack_value(emit.builder, kind, emit.cast(value, kind).ir, place, align)
    else:
        raise Unsupported(f"an element of {holder.kind} is set")


def _behind(emit: Emitter, pointer: Typed, index: Value) -> Any:
    if not isinstance(pointer.kind, types.CPointer) or pointer.kind.dtype == types.boolean:
        raise Unsupported(f"an element of {pointer.kind}")
    return emit.builder.gep(pointer.ir, [_word(emit, emit.typed(index)).ir])


def _place(emit: Emitter, array: Typed, index: Value) -> Any:
    """The pointer to an element of an array, at integers, one for each axis; those below 0
    count from the end."""
    kind = array.kind
    indices = [emit.typed(x) for x in (index if isinstance(index, tuple) else (index,))]
    if len(indices) != kind.ndim:
        raise Unsupported("a part of an array")
    if not isinstance(kind.dtype, (types.Number, types.Boolean)):
        raise Unsupported(f"an array of {kind.dtype}")
    data, shape, strides = _taken_apart(emit, array)
    places = [_from_the_end(emit, i, n) for i, n in zip(indices, shape, strict=True)]
    return cgutils.get_item_pointer2(
        emit.target, emit.builder, data, shape, strides, kind.layout, places
    )


def _known_element(emit: Emitter, numbers: Any, index: Value) -> Value:
    """An element of a tuple of constants."""
    if not isinstance(numbers, tuple):
        raise Unsupported("an element of what is known")
    if isinstance(index, Known):
        return Known(numbers[_constant_index(index)])
    if not all(isinstance(x, float) for x in numbers):
        raise Unsupported("an element of a tuple that is not known")
    where = _within(emit, _word(emit, emit.typed(index)), len(numbers))
    table = ir.ArrayType(ir.DoubleType(), len(numbers))
    held = cgutils.global_constant(
        emit.builder,
        "table",
        ir.Constant(table, [ir.Constant(table.element, x) for x in numbers]),
    )
    place = emit.builder.gep(held, [ir.Constant(where.type, 0), where])
    return Typed(types.float64, emit.builder.load(place))


def _constant_index(index: Value) -> int:
    """An index into a tuple that is known when it is compiled."""
    if isinstance(index, Known) and type(index.value) is int:
        return index.value
    raise Unsupported("an element of a tuple that is not known")


def _within(emit: Emitter, index: Typed, length: int) -> Any:
    """An index into a tuple, counted from the end where it is below 0; one outside is an error."""
    emit.must_be_able_to_raise()
    where = _from_the_end(emit, index, ir.Constant(index.ir.type, length))
    outside = emit.builder.icmp_unsigned(">=", where, ir.Constant(where.type, length))
    with cgutils.if_unlikely(emit.builder, outside):
        emit.target.call_conv.return_user_exc(
            emit.builder, IndexError, ("tuple index out of range",)
        )
    return where


def _row(emit: Emitter, array: Typed, index: Value) -> Value:
    """array[index] of an array of more than one axis, without a copy."""
    kind = array.kind
    where = emit.typed(index)
    if kind.layout != "C":
        raise Unsupported("a part of an array")
    data, shape, strides = _taken_apart(emit, array)
    place = _from_the_end(emit, where, shape[0])
    bytes_before = emit.builder.mul(place, strides[0])
    data = cgutils.pointer_add(emit.builder, data, bytes_before)
    return _view(emit, kind.copy(ndim=kind.ndim - 1), data, shape[1:], strides[1:])


def flat(emit: Emitter, array: Value) -> Value:
    """array.ravel() of a contiguous array, which has no copy."""
    if not isinstance(array, Typed) or getattr(array.kind, "layout", "") != "C":
        raise Unsupported("a method")
    data, count, size = (_part(emit, array, name) for name in ("data", "nitems", "itemsize"))
    return _view(emit, array.kind.copy(ndim=1), data, [count], [size])


def _view(
    emit: Emitter, kind: Any, data: Any, shape: Sequence[Any], strides: Sequence[Any]
) -> Typed:
    """An array of another's elements, for as long as that is there."""
    return Typed(kind, array_of(emit.target, emit.builder, kind, data, shape, strides))


def _part(emit: Emitter, array: Typed, name: str) -> Any:
    return part_of(emit.target, emit.builder, array.kind, array.ir, name)


def _taken_apart(emit: Emitter, array: Typed) -> tuple[Any, list[Any], list[Any]]:
    """Where an array's elements lie, its lengths, and its strides in bytes."""
    shape, strides = (
        cgutils.unpack_tuple(emit.builder, _part(emit, array, name))
        for name in ("shape", "strides")
    )
    return _part(emit, array, "data"), shape, strides


def parts(emit: Emitter, value: Value) -> tuple[Value, ...]:
    """The members of a tuple."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, Typed) and hasattr(value.kind, "types"):
        members = cgutils.unpack_tuple(emit.builder, value.ir)
        return tuple(
            Typed(kind, member) for kind, member in zip(value.kind.types, members, strict=True)
        )
    raise Unsupported("what is no tuple is taken apart")


def attribute(emit: Emitter, holder: Value, name: str) -> Value:
    """holder.name"""
    if isinstance(holder, Known):
        value = holder.value
        if isinstance(value, types.DType) and name == "type":
            return Known(value.dtype)
        try:
            return Known(getattr(value, name))
        except AttributeError:
            raise Unsupported(f"the attribute {name}") from None
    if isinstance(holder, Typed) and isinstance(holder.kind, types.Array):
        if name == "dtype":
            return Known(types.DType(holder.kind.dtype))
        if name == "ndim":
            return Known(holder.kind.ndim)
        if name in ("shape", "strides"):
            members = cgutils.unpack_tuple(emit.builder, _part(emit, holder, name))
            return tuple(Typed(types.int64, member) for member in members)
        if name in ("size", "itemsize"):
            return Typed(types.int64, _part(emit, holder, {"size": "nitems"}.get(name, name)))
    raise Unsupported(f"the attribute {name}")


def _word(emit: Emitter, index: Typed) -> Typed:
    """An index as an integer of 64 bits."""
    if index.kind not in types.integer_domain:
        raise Unsupported(f"{index.kind} as an index")
    return emit.cast(index, types.int64 if index.kind.signed else types.uint64)


def _from_the_end(emit: Emitter, index: Typed, length: Any) -> Any:
    """An index, counted from the end where it is below 0."""
    builder, where = emit.builder, _word(emit, index)
    if not where.kind.signed or (isinstance(where.ir, ir.Constant) and where.ir.constant >= 0):
        return where.ir
    below = builder.icmp_signed("<", where.ir, ir.Constant(where.ir.type, 0))
    return builder.select(below, builder.add(where.ir, length), where.ir)
