"""Checks and conversions of the arrays that are passed to a compiled program, as intrinsics.

Numba's compile time grows with the square of the number of arrays if each has its own line and
branch, so one intrinsic handles all arrays.
"""

import re
from typing import Any

import numpy as np
from numba.core import cgutils, errors, types

from .kernel import instruction
from .numba_arrays import part_of
from .pointers import address

__all__ = ["addresses", "contiguous", "fits", "meet", "number", "writable"]


def shapes_in(text: str) -> list[tuple[Any, tuple[int | None, ...]]]:
    """The dtypes and shapes that `fits` is given; None for what is no number."""
    matches = re.findall(r"(\w+)\[([^\]]*)\]", text)
    split = [(np.dtype(n), [x.strip() for x in s.split(",") if x.strip()]) for n, s in matches]
    return [(dtype, tuple(int(x) if x.isdigit() else None for x in s)) for dtype, s in split]


def _fits(text, *arrays):
    described = zip(shapes_in(text), arrays, strict=True)
    return all(
        x.dtype == dtype
        and x.ndim == len(shape)
        and all(n is None or n == m for n, m in zip(shape, x.shape, strict=True))
        for (dtype, shape), x in described
    )


@instruction(_fits)
def fits(typingctx, text, *arrays):
    """Whether arrays have the shapes in the literal `text`, "float64[2, 3], int64[n]", where any
    length is good for a name. Another dtype does not compile."""
    if not isinstance(text, types.StringLiteral):
        raise errors.TypingError("fits takes a literal")
    described = shapes_in(text.literal_value)
    for (dtype, _), array in zip(described, arrays, strict=True):
        if not isinstance(array, types.Array) or str(array.dtype) != dtype.name:
            raise errors.TypingError(f"a compiled program takes {text.literal_value}, not {array}")

    def codegen(context, builder, signature, args):
        fit = cgutils.true_bit
        for i, (array, (_, shape)) in enumerate(zip(arrays, described, strict=True)):
            if array.ndim != len(shape):
                return cgutils.false_bit
            value = builder.extract_value(args[1], i)
            found = cgutils.unpack_tuple(builder, part_of(context, builder, array, value, "shape"))
            for extent, size in zip(found, shape, strict=True):
                if size is not None:
                    same = builder.icmp_signed("==", extent, extent.type(size))
                    fit = builder.and_(fit, same)
        return fit

    return types.boolean(text, types.StarArgTuple(arrays)), codegen


def _writable(*arrays):
    if not all(x.flags.writeable for x in arrays):
        raise ValueError("a result is a read-only array")


@instruction(_writable)
def writable(typingctx, *arrays):
    """Said before results are written: a read-only array does not compile."""
    for array in arrays:
        if isinstance(array, types.Array) and not array.mutable:
            raise errors.TypingError(
                f"a compiled program writes its results into arrays, and {array} is read-only"
            )

    def codegen(context, builder, signature, args):
        return context.get_dummy_value()

    return types.void(types.StarArgTuple(arrays)), codegen


# So many pairs of arrays are compared one after another.
_PAIRS = 12


def _meet(first, *arrays):
    ends = [(x.ctypes.data, x.ctypes.data + x.nbytes) for x in arrays]
    pairs = ((ends[i], ends[j]) for j in range(first, len(ends)) for i in range(j))
    return any(x[0] < y[1] and y[0] < x[1] for x, y in pairs)


@instruction(_meet)
def meet(typingctx, first, *arrays):
    """Whether any of the arrays from place `first` (a literal) on shares memory with another."""
    if not isinstance(first, types.IntegerLiteral):
        raise errors.TypingError("meet takes a literal")

    def codegen(context, builder, signature, args):
        ends = []
        for i, kind in enumerate(arrays):
            array = builder.extract_value(args[1], i)
            data, count, item = (
                part_of(context, builder, kind, array, name)
                for name in ("data", "nitems", "itemsize")
            )
            start = builder.ptrtoint(data, context.get_value_type(types.intp))
            size = builder.mul(count, item)
            ends.append((start, builder.add(start, size)))
        count, begin = len(ends), first.literal_value
        if (count - begin) * (count + begin) > 2 * _PAIRS:
            return _looped(context, builder, ends, begin)
        overlap = cgutils.false_bit
        for j in range(begin, count):
            for i in range(j):
                overlap = builder.or_(overlap, _share(builder, ends[i], ends[j]))
        return overlap

    return types.boolean(first, types.StarArgTuple(arrays)), codegen


def _share(builder, one, other):
    """Whether two stretches of memory share any of it."""
    before = builder.icmp_unsigned("<", one[0], other[1])
    return builder.and_(before, builder.icmp_unsigned("<", other[0], one[1]))


def _looped(context, builder, ends, begin):
    """`meet` of many arrays as a loop over their pairs: LLVM takes long to see so many lines."""
    word = context.get_value_type(types.intp)
    table = [cgutils.alloca_once(builder, word, size=word(len(ends))) for _ in range(2)]
    for i, pair in enumerate(ends):
        for side, end in zip(table, pair, strict=True):
            builder.store(end, builder.gep(side, [word(i)]))
    overlap = cgutils.alloca_once_value(builder, cgutils.false_bit)

    def at(i):
        return [builder.load(builder.gep(side, [i])) for side in table]

    with cgutils.for_range(builder, word(len(ends)), start=word(begin)) as later:
        other = at(later.index)
        with cgutils.for_range(builder, later.index) as sooner:
            shared = _share(builder, at(sooner.index), other)
            builder.store(builder.or_(builder.load(overlap), shared), overlap)
    return builder.load(overlap)


def _number(text, x):
    return np.dtype(text).type(x)


@instruction(_number)
def number(typingctx, text, x):
    """A number in the dtype that the literal `text` names, as Python has it: an integer may become
    a float, and no float an integer."""
    if not isinstance(text, types.StringLiteral):
        raise errors.TypingError("number takes a literal")
    target = getattr(types, text.literal_value)
    x = types.unliteral(x)
    fits = isinstance(x, (types.Integer, types.Boolean))
    if not fits and not (isinstance(x, types.Float) and isinstance(target, types.Float)):
        raise errors.TypingError(f"a compiled program takes a number of dtype {target}, not {x}")

    def codegen(context, builder, signature, args):
        return context.cast(builder, args[1], x, target)

    return target(text, x), codegen


@instruction(np.ascontiguousarray)
def contiguous(typingctx, array):
    """The array itself where its type says that it is contiguous, else a copy."""
    if not isinstance(array, types.Array):
        raise errors.TypingError(f"a compiled program takes an array, not {array}")
    solid = array.layout == "C" or array.ndim == 0
    signature = (array if solid else array.copy(layout="C", readonly=False))(array)

    def codegen(context, builder, signature, args):
        if solid:
            context.nrt.incref(builder, array, args[0])
            return args[0]
        return context.compile_internal(builder, lambda array: array.copy(), signature, args)

    return signature, codegen


@instruction(lambda *arrays: np.array([address(array) for array in arrays]))
def addresses(typingctx, *arrays):
    """A table on the stack: where arrays begin, or pointers lead; numbers as they are."""
    table = types.CPointer(types.intp)

    def codegen(context, builder, signature, args):
        place = context.get_value_type(types.intp)
        with builder.goto_entry_block():
            block = builder.alloca(place, place(len(arrays)))
        for i, array in enumerate(arrays):
            word = builder.extract_value(args[0], i)
            if isinstance(array, types.Array):
                word = part_of(context, builder, array, word, "data")
            if not isinstance(array, types.Integer):
                word = builder.ptrtoint(word, place)
            builder.store(word, builder.gep(block, [place(i)]))
        return block

    return table(types.StarArgTuple(arrays)), codegen
