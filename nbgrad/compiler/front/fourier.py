"""`np.fft`: the transforms along one axis or several, with NumPy's arguments."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .array_table import function_row, known_of, shape_from
from .arrays import is_array, is_one, lazy, require, shape_of
from .emit import FunctionBuilder
from .syntax import Unsupported
from .transforms import Parts, from_half, half_of, joined, parts_along, spectrum, to_half
from .values import DOUBLE, INT, KNOWN_0, KNOWN_1, Known, Lazy, Number, Value

__all__: list[str] = []

_LAST, _LAST_TWO, _NONE = Known(-1), Known((-2, -1)), Known(None)
_ONE = Known(1.0)
_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


# -- arguments ------------------------------------------------------------------------------------


def _constant(name: str, what: str, value: Value) -> Any:
    try:
        return known_of(value, what)
    except Unsupported:
        raise Unsupported(
            f"np.fft.{name} with {what} that is not a constant: write it out, or make a function "
            "for each"
        ) from None


def _norm(name: str, norm: Value, inverse: bool) -> str:
    found = _constant(name, "norm", norm) or "backward"
    if found not in _SWAPPED:
        raise Unsupported(f"np.fft.{name}: norm={found!r} must be 'backward', 'ortho' or 'forward'")
    return _SWAPPED[found] if inverse else found


def _axis(name: str, a: Value, axis: Any) -> int:
    rank = len(shape_of(a))
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise Unsupported(f"np.fft.{name}: axis {axis} of an array of {rank} axes")
    return axis % rank


def _length(emit: FunctionBuilder, name: str, n: Value) -> Number | None:
    """A length that is given, None where it is None."""
    if isinstance(n, Known) and n.value is None:
        return None
    (found,) = shape_from(emit, n)
    _require_some(emit, name, found)
    return found


def _require_some(emit: FunctionBuilder, name: str, n: Number) -> None:
    some = emit.operation(operator.ge, n, KNOWN_1)
    require(emit, some, f"np.fft.{name}: a transform needs 1 number or more")


def _several(emit: FunctionBuilder, name: str, a: Value, s: Value, axes: Value) -> Any:
    """The axes, and the lengths along them; None and -1 leave a length as it is."""
    rank = len(shape_of(a))
    lengths = None
    if not (isinstance(s, Known) and s.value is None):
        parts = s if isinstance(s, tuple) else tuple(map(Known, _constant(name, "s", s)))
        lengths = [None if getattr(x, "value", 0) == -1 else _length(emit, name, x) for x in parts]
    found = _constant(name, "axes", axes)
    if found is None:
        count = rank if lengths is None else len(lengths)
        found = tuple(range(rank - count, rank))
    chosen = [_axis(name, a, each) for each in (found if isinstance(found, tuple) else (found,))]
    lengths = [None] * len(chosen) if lengths is None else lengths
    if len(lengths) != len(chosen):
        raise Unsupported(f"np.fft.{name}: {len(lengths)} lengths for {len(chosen)} axes")
    return chosen, lengths


def _scale(emit: FunctionBuilder, norm: str, lengths: Sequence[Number]) -> "Value | None":
    """The factor of transforms of so many numbers."""
    if norm == "backward":
        return None
    count: Value = Known(1.0)
    for n in lengths:
        count = emit.operation(operator.mul, count, emit.cast(n, DOUBLE))
    if norm == "ortho":
        count = emit.applied("sqrt", [emit.cast(count, DOUBLE)], DOUBLE)
    return emit.operation(operator.truediv, Known(1.0), count)


# -- transforms -----------------------------------------------------------------------------------


def _given(
    emit: FunctionBuilder, name: str, a: Value, axis: int, n: Number | None
) -> Parts:  # fmt: skip
    if not is_array(a):
        raise Unsupported(f"np.fft.{name} of a number")
    if n is None:
        _require_some(emit, name, shape_of(a)[axis])
    return parts_along(emit, a, axis, n)


def _real(name: str, x: Parts) -> Parts:
    if x.imag is not None:
        raise Unsupported(
            f"np.fft.{name} of a complex array: take its real part, or use the transform without "
            "'r'"
        )
    return x


def _full(
    emit: FunctionBuilder, name: str, a: Value, s: Sequence[Any], axes: Sequence[int], norm: str,
    inverse: bool,
) -> Value:  # fmt: skip
    """Complex transforms along axes, the last one first."""
    (last, n), *others = reversed(list(zip(axes, s, strict=True)))
    parts = spectrum(emit, _given(emit, name, a, last, n), last, inverse)
    return _others(emit, name, parts, others, [parts.shape[last]], norm, inverse)


def _others(
    emit: FunctionBuilder, name: str, parts: Parts, others: Sequence[Any], lengths: list[Number],
    norm: str, inverse: bool,
) -> Value:  # fmt: skip
    """Complex transforms along further axes; `lengths` are those of the transforms before."""
    for axis, n in others:
        inner = _given(emit, name, joined(emit, parts, None), axis, n)
        parts = spectrum(emit, inner, axis, inverse)
        lengths = [*lengths, parts.shape[axis]]
    return joined(emit, parts, _scale(emit, norm, lengths))


def _half(
    emit: FunctionBuilder, name: str, a: Value, s: Sequence[Any], axes: Sequence[int], norm: str
) -> Value:
    """The half along the last axis, then complex transforms along the others."""
    (last, n), *others = reversed(list(zip(axes, s, strict=True)))
    x = _real(name, _given(emit, name, a, last, n))
    parts = to_half(emit, x, last)
    return _others(emit, name, parts, others, [x.shape[last]], norm, False)


def _from(
    emit: FunctionBuilder, name: str, a: Value, s: Sequence[Any], axes: Sequence[int], norm: str
) -> Value:
    """Inverse transforms along all axes but the last one, then real numbers along this."""
    last, n = axes[-1], s[-1]
    lengths = []
    for axis, m in reversed(list(zip(axes[:-1], s[:-1], strict=True))):
        parts = spectrum(emit, _given(emit, name, a, axis, m), axis, True)
        lengths.append(parts.shape[axis])
        a = joined(emit, parts, None)
    if n is None:
        less = emit.operation(operator.sub, shape_of(a)[last], KNOWN_1)
        n = emit.cast(emit.operation(operator.mul, Known(2), less), INT)
        n = Number(n.operand, INT, True)
        _require_some(emit, name, n)
        half = None
    else:
        half = half_of(emit, n)
    out = from_half(emit, _given(emit, name, a, last, half), last, n)
    return joined(emit, out, _scale(emit, norm, [*lengths, n]))


def _conjugate(emit: FunctionBuilder, a: Value) -> Value:
    from .calls import call  # which calls functions of arrays

    return call(emit, np.conjugate, [a])


# -- NumPy's functions ----------------------------------------------------------------------------


def _one_axis(function: Any, make: Callable[..., Value], inverse: bool) -> None:
    """The row of a transform along one axis."""
    name = function.__name__

    @function_row(function)
    def transform(
        emit: FunctionBuilder, a: Value, n: Value = _NONE, axis: Value = _LAST, norm: Value = _NONE
    ) -> Value:
        at = _axis(name, a, _constant(name, "axis", axis))
        return make(
            emit, name, a, [_length(emit, name, n)], [at], _norm(name, norm, inverse)
        )  # fmt: skip


def _several_axes(function: Any, make: Callable[..., Value], inverse: bool, every: Value) -> None:
    """The row of a transform along axes."""
    name = function.__name__

    @function_row(function)
    def transform(
        emit: FunctionBuilder, a: Value, s: Value = _NONE, axes: Value = every, norm: Value = _NONE
    ) -> Value:
        chosen, lengths = _several(emit, name, a, s, axes)
        if not chosen:
            raise Unsupported(f"np.fft.{name} along no axis")
        return make(emit, name, a, lengths, chosen, _norm(name, norm, inverse))


def _forward(*arguments: Any) -> Value:
    return _full(*arguments, inverse=False)


def _inverse(*arguments: Any) -> Value:
    return _full(*arguments, inverse=True)


def _hermitian(emit: FunctionBuilder, name: str, a: Value, *rest: Any) -> Value:
    return _from(emit, name, _conjugate(emit, a), *rest)


def _inverse_hermitian(emit: FunctionBuilder, *rest: Any) -> Value:
    return _conjugate(emit, _half(emit, *rest))


for _function, _make, _is_inverse in (
    (np.fft.fft, _forward, False), (np.fft.ifft, _inverse, True), (np.fft.rfft, _half, False),
    (np.fft.irfft, _from, True), (np.fft.hfft, _hermitian, False),
    (np.fft.ihfft, _inverse_hermitian, True),
):  # fmt: skip
    _one_axis(_function, _make, _is_inverse)
for _two, _many, _make, _is_inverse in (
    (np.fft.fft2, np.fft.fftn, _forward, False), (np.fft.ifft2, np.fft.ifftn, _inverse, True),
    (np.fft.rfft2, np.fft.rfftn, _half, False), (np.fft.irfft2, np.fft.irfftn, _from, True),
):  # fmt: skip
    _several_axes(_two, _make, _is_inverse, _LAST_TWO)
    _several_axes(_many, _make, _is_inverse, _NONE)


# -- shifts and frequencies -----------------------------------------------------------------------


def _shifted(function: Any, is_back: bool) -> None:
    name = function.__name__

    @function_row(function)
    def shift(emit: FunctionBuilder, x: Value, axes: Value = _NONE) -> Value:
        source = lazy(emit, x)
        rank = len(source.shape)
        found = _constant(name, "axes", axes)
        found = range(rank) if found is None else found
        found = [found] if isinstance(found, int) else found
        moves = {_axis(name, x, axis) for axis in found}
        begins = {}
        for axis in moves:
            n = source.shape[axis]
            half = emit.operation(operator.floordiv, n, Known(2))
            rest = emit.operation(operator.sub, n, half)
            begins[axis] = emit.settled(half if is_back else rest)

        def element(at: Sequence[Value]) -> Value:
            return source.element([
                _around(emit, i, begins[axis], source.shape[axis]) if axis in moves else i
                for axis, i in enumerate(at)
            ])  # fmt: skip

        sources = tuple((array, False) for array, _ in source.sources)
        return Lazy(source.shape, source.dtype, element, sources, source.cheap)


def _around(emit: FunctionBuilder, i: Value, begin: Value, n: Number) -> Value:
    """(i + begin) % n"""
    if is_one(n):
        return KNOWN_0
    at = emit.operation(operator.add, i, begin)
    found = emit.operation(operator.mod, at, n)
    return Number(emit.typed(found).operand, INT, True)


_shifted(np.fft.fftshift, False)
_shifted(np.fft.ifftshift, True)


def _frequencies(function: Any, is_half: bool) -> None:
    name = function.__name__

    @function_row(function)
    def frequencies(emit: FunctionBuilder, n: Value, d: Value = _ONE) -> Value:
        count = _length(emit, name, n)
        if count is None:
            raise Unsupported(f"np.fft.{name} of None numbers")
        width = emit.operation(operator.mul, emit.cast(count, DOUBLE), d)
        step = emit.settled(emit.operation(operator.truediv, Known(1.0), width))
        up = emit.operation(operator.add, count, KNOWN_1)
        positive = emit.settled(emit.operation(operator.floordiv, up, Known(2)))
        length = count
        if is_half:
            length = half_of(emit, count)

        def element(at: Sequence[Value]) -> Value:
            k = at[0]
            if not is_half:
                below = emit.truth(emit.operation(operator.lt, k, positive))
                back = emit.operation(operator.sub, k, count)
                k = emit.applied("select", [below, emit.typed(k), emit.typed(back)], INT)
            return emit.cast(emit.operation(operator.mul, emit.cast(k, DOUBLE), step), DOUBLE)

        return Lazy((length,), DOUBLE, element)


_frequencies(np.fft.fftfreq, False)
_frequencies(np.fft.rfftfreq, True)
