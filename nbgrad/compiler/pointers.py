"""Pointers, which kernels of compiled programs take in place of arrays.

In plain Python a flat array stands for a pointer, so programs run with Numba disabled.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba.core import cgutils, errors, types

from .kernel import device, instruction
from .numba_arrays import part_of

__all__ = [
    "Overlap",
    "address",
    "at_b1",
    "at_f4",
    "at_f8",
    "at_i1",
    "at_i2",
    "at_i4",
    "at_i8",
    "at_u1",
    "at_u2",
    "at_u4",
    "at_u8",
    "b1",
    "clear",
    "f4",
    "f8",
    "fetch",
    "hidden",
    "highest",
    "i1",
    "i2",
    "i4",
    "i8",
    "keep",
    "lowest",
    "move",
    "pointer",
    "scratch",
    "shift",
    "spoil",
    "u1",
    "u2",
    "u4",
    "u8",
]  # fmt: skip


class Overlap(ValueError):
    """A result that shares memory with an argument or another result."""


def _element(kind: Any) -> Any:
    """Return the type of elements in memory: bools are bytes."""
    return types.uint8 if kind == types.boolean else kind


@instruction(lambda array: array.reshape(-1).view(np.uint8 if array.dtype == bool else array.dtype))
def pointer(typingctx, array):
    """The first element of an array, which must be contiguous. It does not keep the array alive."""
    if not isinstance(array, types.Array) or (array.layout != "C" and array.ndim > 0):
        raise errors.TypingError("a compiled program takes contiguous arrays: np.ascontiguousarray")

    def codegen(context, builder, signature, args):
        data = part_of(context, builder, array, args[0], "data")
        return builder.bitcast(data, context.get_value_type(signature.return_type))

    return types.CPointer(_element(array.dtype))(array), codegen


@instruction(lambda pointer, count: pointer[count:])
def shift(typingctx, pointer, count):
    """The pointer `count` elements further."""

    def codegen(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])

    return pointer(pointer, types.intp), codegen


@instruction(lambda array: array.ctypes.data)
def address(typingctx, array):
    """Return the address of an array's first element, or a pointer, as an integer."""

    def codegen(context, builder, signature, args):
        data = args[0]
        if isinstance(array, types.Array):
            data = part_of(context, builder, array, data, "data")
        return builder.ptrtoint(data, context.get_value_type(types.intp))

    return types.intp(array), codegen


def _at(kind: Any, dtype: Any) -> Callable:
    """A pointer to elements of a kind, from an address."""

    @instruction(
        lambda place: np.ctypeslib.as_array((dtype * 1).from_address(place)),
        ("at", np.dtype(dtype)),
    )
    def at(typingctx, place):
        def codegen(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.intp), codegen

    return at


at_f8, at_f4 = _at(types.float64, ctypes.c_double), _at(types.float32, ctypes.c_float)
at_i8, at_u8 = _at(types.int64, ctypes.c_int64), _at(types.uint64, ctypes.c_uint64)
at_i4, at_u4 = _at(types.int32, ctypes.c_int32), _at(types.uint32, ctypes.c_uint32)
at_i2, at_u2 = _at(types.int16, ctypes.c_int16), _at(types.uint16, ctypes.c_uint16)
at_i1, at_u1 = _at(types.int8, ctypes.c_int8), _at(types.uint8, ctypes.c_uint8)
at_b1 = at_u1


@instruction(lambda array: None)
def keep(typingctx, array):
    """The last use of an array whose pointer was taken: Numba frees it after that."""
    return types.void(array), lambda context, builder, signature, args: context.get_dummy_value()


@device
def move(to, source, count):
    """Copy `count` elements."""
    for i in range(count):
        to[i] = source[i]


@device
def clear(to, count):
    """Set `count` elements to zero."""
    for i in range(count):
        to[i] = 0


@device
def spoil(to, count):
    """Set `count` elements to nan."""
    for i in range(count):
        to[i] = np.nan


def _part(kind: Any, dtype: Any) -> Callable:
    """A pointer to elements of a kind, `offset` bytes into scratch."""

    @instruction(
        lambda work, offset: work[offset : len(work) // 8 * 8].view(dtype),
        ("part", np.dtype(dtype)),
    )
    def part(typingctx, work, offset):
        def codegen(context, builder, signature, args):
            place = builder.gep(args[0], [args[1]])
            return builder.bitcast(place, context.get_value_type(signature.return_type))

        return types.CPointer(kind)(work, types.intp), codegen

    return part


f8, f4 = _part(types.float64, np.float64), _part(types.float32, np.float32)
i8, u8 = _part(types.int64, np.int64), _part(types.uint64, np.uint64)
i4, u4 = _part(types.int32, np.int32), _part(types.uint32, np.uint32)
i2, u2 = _part(types.int16, np.int16), _part(types.uint16, np.uint16)
i1, u1 = _part(types.int8, np.int8), _part(types.uint8, np.uint8)
b1 = u1


@instruction(lambda size: np.empty(size, np.uint8))
def scratch(typingctx, size):
    """`size` bytes (a literal) on the stack, aligned for vectors."""
    if not isinstance(size, types.IntegerLiteral):
        raise errors.TypingError("scratch takes a literal")
    count = size.literal_value

    def codegen(context, builder, signature, args):
        # Not `alloca_once`: that would set the block to zero, byte by byte.
        with builder.goto_entry_block():
            block = builder.alloca(ir.IntType(8), ir.Constant(ir.IntType(64), count))
        block.align = 64
        return builder.bitcast(block, context.get_value_type(signature.return_type))

    return types.CPointer(types.uint8)(size), codegen


_LINE = 64  # bytes that come from memory at once


@instruction(lambda array, start, count: None)
def fetch(typingctx, array, start, count):
    """Ask memory for elements of an array that are read soon: the processor guesses which of a row,
    and not that of the next. There may be none from `start` on."""

    def codegen(context, builder, signature, args):
        data = part_of(context, builder, array, args[0], "data")
        flag, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        step = args[1].type(_LINE * 8 // array.dtype.bitwidth)
        stop = builder.add(args[1], args[2])
        with cgutils.for_range_slice(builder, args[1], stop, step) as (place, _):
            line = builder.bitcast(builder.gep(data, [place]), byte)
            builder.call(function, [line, flag(0), flag(3), flag(1)])  # to be read, and kept
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), codegen


@instruction(lambda x: x)
def hidden(typingctx, x):
    """`x`, which LLVM cannot see: a short inner loop of known length is unrolled before it is
    vectorised, and then vectors run across its rows, element by element (30 times slower); and the
    largest of what is -inf in places becomes one under a condition, which has no vectors."""
    kind = x if isinstance(x, types.Float) else types.intp

    def codegen(context, builder, signature, args):
        word = ir.IntType(32 if x == types.float32 else 64)
        seen = builder.bitcast(args[0], word)
        unseen = builder.asm(ir.FunctionType(word, [word]), "", "=r,0", [seen], side_effect=False)
        return builder.bitcast(unseen, args[0].type)

    return kind(kind), codegen


# Older versions of LLVM end the process where they meet `llvm.maximum` on this architecture.
_MAXIMUM_OF_X86 = 17


def _extreme(name: str, twin: Callable) -> Callable:
    @instruction(twin, ("extreme", name))
    def extreme(typingctx, x, y):
        def codegen(context, builder, signature, args):
            if isinstance(x, types.Integer):
                is_signed = x.signed  # pyright: ignore[reportAttributeAccessIssue]
                compare = builder.icmp_signed if is_signed else builder.icmp_unsigned
                better = compare(">=" if name == "maximum" else "<=", *args)
                return builder.select(better, *args)
            if llvmlite.binding.llvm_version_info[0] < _MAXIMUM_OF_X86:
                better = builder.fcmp_ordered(">=" if name == "maximum" else "<=", *args)
                nan = builder.fcmp_unordered("uno", args[0], args[0])
                return builder.select(nan, args[0], builder.select(better, *args))
            kind = args[0].type
            signature = ir.FunctionType(kind, [kind, kind])
            intrinsic = builder.module.declare_intrinsic(f"llvm.{name}", [kind], signature)
            return builder.call(intrinsic, args)

        return x(x, x), codegen

    return extreme


# The larger and the smaller of two; nan where one is nan. They vectorise in a reduction.
highest, lowest = _extreme("maximum", np.maximum), _extreme("minimum", np.minimum)
