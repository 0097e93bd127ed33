"""Fourier transforms of arrays, as nests of loops that code replaces by calls of a library."""

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...ir.library import DFT, FOURIER, HALF_TO_REAL, REAL_TO_HALF
from ...ir.reductions import SUM
from ...ir.statements import Call, For, Literal, Store
from .arrays import (
    assign,
    count_of,
    fresh,
    in_memory,
    lazy,
    nest,
    position_of,
)
from .elements import moved
from .elementwise import dtype_of_elements
from .emit import FunctionBuilder, address_of
from .values import (
    COMPLEX,
    COMPLEX_SINGLE,
    DOUBLE,
    INT,
    KNOWN_1,
    SINGLE,
    Array,
    Complex,
    Known,
    Lazy,
    Number,
    Place,
    Value,
    planes,
)

__all__ = ["Parts", "from_half", "half_of", "joined", "parts_along", "spectrum", "to_half"]

_ADDS = Literal(1, INT)
_WEIGHT = 2
"""How often the numbers of half a spectrum that stand for two count."""


class Parts:
    """The real and the imaginary parts of an array, contiguous in memory; an array that is real
    has no imaginary ones."""

    def __init__(self, real: Array, imag: Array | None):
        self.real, self.imag = real, imag

    @property
    def shape(self) -> tuple[Number, ...]:
        return self.real.shape

    @property
    def dtype(self) -> np.dtype:
        return self.real.place.dtype

    @property
    def places(self) -> list[Place | None]:
        return [self.real.place, None if self.imag is None else self.imag.place]


def parts_along(emit: FunctionBuilder, value: Value, axis: int, n: "Number | None") -> Parts:
    """The parts of an array with n numbers along an axis: it is cut, or zeros are behind it."""
    from .complex_calls import has_complex, part_of  # which calls functions of real numbers

    dtype = SINGLE if dtype_of_elements(emit, value) in (SINGLE, COMPLEX_SINGLE) else DOUBLE
    if has_complex(value):
        value = in_memory(emit, value)
        sides = [part_of(emit, value, i) for i in range(2)]
    else:
        sides = [value]
    found = [_resized(emit, x, axis, n, dtype) for x in sides]
    return Parts(found[0], found[1] if len(found) > 1 else None)


def _resized(
    emit: FunctionBuilder, value: Value, axis: int, n: "Number | None", dtype: np.dtype
) -> Array:
    """A contiguous array of floats."""
    if isinstance(value, Array) and value.strides is None and value.place.dtype == dtype and not n:
        return value
    source = lazy(emit, value)
    shape = source.shape
    if n is None:
        made = fresh(emit, shape, dtype)
        assign(emit, made, source)
        return made
    kept = emit.typed(emit.extreme(min, [shape[axis], n]))
    made = fresh(emit, (*shape[:axis], n, *shape[axis + 1 :]), dtype)
    assign(emit, made, Known(0))
    steps = _row_steps(emit, made.shape)
    box = (*shape[:axis], Number(kept.operand, INT, True), *shape[axis + 1 :])
    with nest(emit, box) as at:
        emit.store(made.place, position_of(emit, steps, at), emit.cast(source.element(at), dtype))
    return made


def _row_steps(emit: FunctionBuilder, shape: Sequence[Number]) -> list[Value]:
    return [count_of(emit, shape[i + 1 :]) for i in range(len(shape))]


def joined(emit: FunctionBuilder, parts: Parts, factor: "Value | None") -> Lazy:
    """The array of its parts, times a factor."""
    dtype = COMPLEX_SINGLE if parts.dtype == SINGLE else COMPLEX
    sides = [lazy(emit, x) for x in (parts.real, parts.imag) if x is not None]
    scale = None if factor is None else emit.settled(emit.cast(factor, parts.dtype))

    def scaled(x: Value) -> Value:
        return x if scale is None else emit.operation(operator.mul, x, scale)

    def element(at: Sequence[Value]) -> Value:
        found = [scaled(x.element(at)) for x in sides]
        return Complex(found) if len(found) == 2 else found[0]

    own = dtype if len(sides) == 2 else parts.dtype
    sources = tuple(y for x in sides for y in x.sources)
    return Lazy(parts.shape, own, element, sources, scale is None)


# -- along one axis -------------------------------------------------------------------------------


def spectrum(emit: FunctionBuilder, x: Parts, axis: int, inverse: bool) -> Parts:
    """The complex transform, or the inverse one, along an axis, not normalised."""
    n = x.shape[axis]
    made = _zeros(emit, x.shape, x.dtype, 2)
    y, source = made.places, x.places
    if inverse:
        y, source = y[::-1], source[::-1]
    _add_transform(emit, DFT, [*y, *source], x.shape, axis, n)
    return made


def to_half(emit: FunctionBuilder, x: Parts, axis: int) -> Parts:
    """The first half of the spectrum of real numbers."""
    n = x.shape[axis]
    shape = (*x.shape[:axis], half_of(emit, n), *x.shape[axis + 1 :])
    made = _zeros(emit, shape, x.dtype, 2)
    _add_transform(emit, REAL_TO_HALF, [*made.places, *x.places], x.shape, axis, n)
    return made


def from_half(emit: FunctionBuilder, x: Parts, axis: int, n: Number) -> Parts:
    """The n real numbers whose spectrum begins with these."""
    made = _zeros(emit, (*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype, 1)
    _add_transform(emit, HALF_TO_REAL, [*made.places, *x.places], x.shape, axis, n)
    return made


def add_planes(
    emit: FunctionBuilder, result: Place, sources: Sequence[Place], sizes: Sequence[Value]
) -> None:
    """The planes of a transform, one behind the other, of those of contiguous arrays. The sizes are
    whether it is the inverse one, its kind, the rows, the length n, the numbers behind the axis,
    and the weight of numbers of half a spectrum."""
    inverse, kind, weight = (getattr(sizes[i], "value", 0) for i in (0, 1, 5))
    assert weight == (_WEIGHT if kind == HALF_TO_REAL else 1)
    rows, n, inner = (_natural(emit.cast(x, INT)) for x in sizes[2:5])
    size = count_of(emit, [rows, half_of(emit, n) if kind == REAL_TO_HALF else n, inner])
    real = [result] if kind == HALF_TO_REAL else [result, moved(emit, result, size)]
    for each in real:
        assign(emit, Array(each, (emit.typed(size),)), Known(0))
    given: list[Place | None] = list(sources)
    if inverse:  # with the real and the imaginary parts exchanged
        real, given = real[::-1], given[::-1]
    if kind == REAL_TO_HALF:
        given = [given[0], None]
    places = [*real, *[None] * (2 - len(real)), *given]
    _add_transform(emit, kind, places, (rows, n, inner), 1, n)


def half_of(emit: FunctionBuilder, n: Number) -> Number:
    """n // 2 + 1"""
    half = emit.operation(operator.add, emit.operation(operator.floordiv, n, Known(2)), KNOWN_1)
    return Number(emit.typed(half).operand, INT, True)


def _zeros(emit: FunctionBuilder, shape: Sequence[Number], dtype: np.dtype, count: int) -> Parts:
    whole = fresh(emit, shape, dtype if count == 1 else np.result_type(dtype, np.complex64))
    sides = planes(whole.place) if count == 2 else [whole.place]
    found = [Array(each, whole.shape) for each in sides]
    for each in found:
        assign(emit, each, Known(0))
    return Parts(found[0], found[1] if count == 2 else None)


def _add_transform(
    emit: FunctionBuilder, kind: int, parts: Sequence[Place | None], shape: Sequence[Number],
    axis: int, n: Number,
) -> None:  # fmt: skip
    """y += F x for the parts of y and x: see `ir/library.py`. `shape` is that of x."""
    rows, inner = (emit.typed(count_of(emit, x)) for x in (shape[:axis], shape[axis + 1 :]))
    weight = _WEIGHT if kind == HALF_TO_REAL else 1
    half = half_of(emit, n)
    lengths = half if kind == REAL_TO_HALF else n, half if kind == HALF_TO_REAL else n
    dtype = next(x for x in parts if x is not None).dtype
    turn = emit.settled(emit.operation(operator.truediv, Known(2 * math.pi), n))
    with nest(emit, [_natural(rows)]) as (row,):
        with nest(emit, lengths) as (k, j):
            factors = _factors(emit, kind, k, j, n, turn, dtype)
            with nest(emit, [_natural(inner)]) as (q,):
                at = [
                    position_of(emit, [count_of(emit, [m, inner]), inner, KNOWN_1], [row, i, q])
                    for m, i in zip(lengths, (k, j), strict=True)
                ]
                loaded = [None if x is None else emit.load(x, at[1]) for x in parts[2:]]
                for target, terms in zip(parts[:2], factors, strict=True):
                    for x, factor in zip(loaded, terms, strict=True):
                        if target is None or x is None or factor is None:
                            continue
                        value = emit.cast(emit.operation(operator.mul, x, factor), dtype)
                        place = target.at.plus(at[0])
                        emit.add(Store(target.buffer, place, value.operand, dtype, SUM))
    there = sum(1 << i for i, x in enumerate(parts) if x is not None)
    some = next(x for x in parts if x is not None)
    addresses = [address_of(some if x is None else x) for x in parts]
    sizes = [emit.cast(x, INT).operand for x in (rows, n, inner)]
    numbers = [Literal(there, INT), Literal(kind, INT), *sizes, Literal(weight, INT), _ADDS]
    loop = emit.body[-1]
    assert isinstance(loop, For)
    emit.body[-1] = replace(loop, call=Call(FOURIER, (*addresses, *numbers)))


def _natural(n: Number) -> Number:
    return replace(n, natural=True)


def _factors(
    emit: FunctionBuilder, kind: int, k: Number, j: Number, n: Number, turn: Value,
    dtype: np.dtype,
) -> list[list[Any]]:  # fmt: skip
    """The factors of the real and the imaginary parts of x[j] in those of y[k]."""
    place = emit.operation(operator.mod, emit.operation(operator.mul, j, k), n)
    angle = emit.cast(emit.operation(operator.mul, place, turn), DOUBLE)
    c, s = (emit.cast(emit.applied(f, [angle], DOUBLE), dtype) for f in ("cos", "sin"))
    if kind == HALF_TO_REAL:
        twice = emit.operation(operator.mul, Known(2), j)
        at_ends = [emit.operation(operator.eq, x, y) for x, y in ((j, Known(0)), (twice, n))]
        alone = emit.operation(operator.or_, *at_ends)
        weight = emit.applied(
            "select",
            [emit.truth(alone), *(emit.cast(Known(x), dtype) for x in (1.0, float(_WEIGHT)))],
            dtype,
        )  # fmt: skip
        c, s = (emit.operation(operator.mul, weight, x) for x in (c, s))
    minus = emit.operation(operator.neg, s)
    if kind == DFT:
        return [[c, s], [minus, c]]
    return [[c, minus], [None, None]] if kind == HALF_TO_REAL else [[c, None], [minus, None]]
