"""NumPy's discrete Fourier transforms, of real and complex arrays: `np.fft`.

Each is a row of `rules/fourier.py` along an axis, between the real and the imaginary parts.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import implements
from ..core.primitive import shape_of
from ..errors import ArgumentError, ComplexError, DimensionMismatch
from ..kernels import shapes
from ..rules.dtypes import float_type
from ..rules.fourier import dft, half_to_real, real_to_half
from ..rules.layout import given
from ..rules.surface.cosines import axes_of, resized
from ..runtime.kinds import is_a
from .calls import complexly, has_complex, is_complex
from .pair import joined, lifted, parts_of

_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
_PLANES = tuple[Any, Any]


def _taken(*targets: Callable) -> Callable[[Callable], Callable]:
    """Decorator: the function of real and of complex arrays."""

    def register(function: Callable) -> Callable:
        return complexly(*targets)(implements(*targets)(function))

    return register


# -- arguments ------------------------------------------------------------------------------------


def _planes(op: str, a: Any) -> _PLANES:
    """The real part as floats, and the imaginary part, None where the array is real."""
    if not is_complex(a) and not (isinstance(a, (list, tuple)) and has_complex(a)):
        a = given(a)
        a = lifted(a) if is_complex(a) else a
    if is_complex(a) or isinstance(a, (list, tuple)):
        re, im = parts_of(a)
    else:
        re, im = a.astype(float_type(a.dtype)), None
    if not shape_of(re):
        raise DimensionMismatch(f"{op}: an array without axes: give one of at least one axis")
    return re, im


def _real(op: str, a: Any) -> Any:
    re, im = _planes(op, a)
    if im is not None:
        raise ComplexError(f"{op}: a complex array: take its real part, or use the transform "
                           f"without 'r', which is complex")  # fmt: skip
    return re


def _norm(op: str, norm: Any, inverse: bool = False) -> str:
    norm = "backward" if norm is None else norm
    if norm not in _SWAPPED:
        raise ArgumentError(f"{op}: norm={norm!r} must be 'backward', 'ortho' or 'forward'")
    return _SWAPPED[norm] if inverse else norm


def _scaled(planes: Any, norm: str, count: int) -> Any:
    """Planes, or a real array, divided by the factor of `norm` for transforms of `count` numbers in
    all."""
    if norm == "backward" or not count:
        return planes
    factor = 1.0 / count if norm == "forward" else count**-0.5
    return tuple(x * factor for x in planes) if isinstance(planes, tuple) else planes * factor


def _length(op: str, re: Any, n: Any, axis: int) -> int:
    """n, or the number of elements where it is None; it is 1 or more."""
    n = shape_of(re)[axis] if n is None else n
    if not is_a(n, (int, np.integer)) or n < 1:
        raise ArgumentError(f"{op}: {n!r} numbers along axis {axis}: a transform needs 1 or more")
    return int(n)


# -- one axis -------------------------------------------------------------------------------------


def _mirrored(re: Any, im: Any, n: int, axis: int) -> _PLANES:
    """The whole spectrum of n real numbers from its first half."""
    inner = (*(slice(None),) * axis, slice(1, (n + 1) // 2))
    first, last = (np.flip(x[inner], axis) for x in (re, im))
    return np.concatenate([re, first], axis), np.concatenate([im, -last], axis)


def _full(op: str, planes: _PLANES, n: Any, axis: int, inverse: bool) -> _PLANES:
    """A complex transform along an axis, of n numbers."""
    re, im = planes
    n = _length(op, re, n, axis)
    re = resized(op, re, n, axis)
    if im is not None:
        return dft(re, resized(op, im, n, axis), axis, inverse)
    first, second = real_to_half(re, axis)
    re, im = _mirrored(first, second, n, axis)
    return re, -im if inverse else im


def _to_half(op: str, x: Any, n: Any, axis: int) -> _PLANES:
    n = _length(op, x, n, axis)
    return real_to_half(resized(op, x, n, axis), axis)


def _from_half(op: str, planes: _PLANES, n: Any, axis: int) -> tuple[Any, int]:
    """The real array whose spectrum begins with these numbers, and its length along the axis."""
    re, im = planes
    n = 2 * (shape_of(re)[axis] - 1) if n is None else n
    n = _length(op, re, n, axis)
    im = 0 * re if im is None else im
    re, im = (resized(op, x, n // 2 + 1, axis) for x in (re, im))
    return half_to_real(re, im, n, axis), n


def _axis(op: str, re: Any, axis: Any) -> int:
    return shapes.axis_of(axis, len(shape_of(re)), op)


def _transform(op: str, a: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Any:
    planes = _planes(op, a)
    axis, norm = _axis(op, planes[0], axis), _norm(op, norm, inverse)
    out = _full(op, planes, n, axis, inverse)
    return joined(*_scaled(out, norm, shape_of(out[0])[axis]))


@_taken(np.fft.fft)
def fft(a, n=None, axis=-1, norm=None):
    """The discrete Fourier transform along an axis."""
    return _transform("fft", a, n, axis, norm, False)


@_taken(np.fft.ifft)
def ifft(a, n=None, axis=-1, norm=None):
    """The inverse of `fft`."""
    return _transform("ifft", a, n, axis, norm, True)


@_taken(np.fft.rfft)
def rfft(a, n=None, axis=-1, norm=None):
    """The first half of the transform of a real array, n // 2 + 1 numbers."""
    x = _real("rfft", a)
    axis, norm = _axis("rfft", x, axis), _norm("rfft", norm)
    count = shape_of(x)[axis] if n is None else n
    return joined(*_scaled(_to_half("rfft", x, n, axis), norm, count))


@_taken(np.fft.irfft)
def irfft(a, n=None, axis=-1, norm=None):
    """The inverse of `rfft`: n real numbers."""
    planes = _planes("irfft", a)
    axis, norm = _axis("irfft", planes[0], axis), _norm("irfft", norm, True)
    out, n = _from_half("irfft", planes, n, axis)
    return _scaled(out, norm, n)


@_taken(np.fft.hfft)
def hfft(a, n=None, axis=-1, norm=None):
    """The real transform of the first half of a Hermitian array."""
    re, im = _planes("hfft", a)
    axis, norm = _axis("hfft", re, axis), _norm("hfft", norm)
    planes = re, None if im is None else -im
    out, n = _from_half("hfft", planes, n, axis)
    return _scaled(out, norm, n)


@_taken(np.fft.ihfft)
def ihfft(a, n=None, axis=-1, norm=None):
    """The inverse of `hfft`."""
    x = _real("ihfft", a)
    axis, norm = _axis("ihfft", x, axis), _norm("ihfft", norm, True)
    re, im = _to_half("ihfft", x, n, axis)
    count = shape_of(x)[axis] if n is None else n
    return joined(*_scaled((re, -im), norm, count))


# -- several axes ---------------------------------------------------------------------------------


def _sizes(op: str, re: Any, s: Any, axes: Any) -> tuple[list[int], list[Any]]:
    """The axes, and the lengths along them; -1 and None leave the length as it is."""
    axes, s = axes_of(op, re, s, axes)
    return axes, [None if n == -1 else n for n in s]


def _many(op: str, a: Any, s: Any, axes: Any, norm: Any, inverse: bool) -> Any:
    planes = _planes(op, a)
    norm = _norm(op, norm, inverse)
    axes, s = _sizes(op, planes[0], s, axes)
    count = 1
    for axis, n in reversed(list(zip(axes, s, strict=True))):
        planes = _full(op, planes, n, axis, inverse)
        count *= shape_of(planes[0])[axis]
    re, im = planes
    return joined(*_scaled((re, 0 * re if im is None else im), norm, count))


@_taken(np.fft.fftn)
def fftn(a, s=None, axes=None, norm=None):
    """The transform along several axes, by default all."""
    return _many("fftn", a, s, axes, norm, False)


@_taken(np.fft.ifftn)
def ifftn(a, s=None, axes=None, norm=None):
    """The inverse of `fftn`."""
    return _many("ifftn", a, s, axes, norm, True)


@_taken(np.fft.fft2)
def fft2(a, s=None, axes=(-2, -1), norm=None):
    """The transform along two axes."""
    return _many("fft2", a, s, axes, norm, False)


@_taken(np.fft.ifft2)
def ifft2(a, s=None, axes=(-2, -1), norm=None):
    """The inverse of `fft2`."""
    return _many("ifft2", a, s, axes, norm, True)


def _many_to_half(op: str, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    x = _real(op, a)
    norm = _norm(op, norm)
    axes, s = _sizes(op, x, s, axes)
    if not axes:
        raise ArgumentError(f"{op}: axes={axes!r} names no axis: give at least one")
    count = shape_of(x)[axes[-1]] if s[-1] is None else s[-1]
    planes = _to_half(op, x, s[-1], axes[-1])
    for axis, n in zip(axes[:-1], s[:-1], strict=True):
        planes = _full(op, planes, n, axis, False)
        count *= shape_of(planes[0])[axis]
    return joined(*_scaled(planes, norm, count))


def _many_from_half(op: str, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    planes = _planes(op, a)
    norm = _norm(op, norm, True)
    axes, s = _sizes(op, planes[0], s, axes)
    if not axes:
        raise ArgumentError(f"{op}: axes={axes!r} names no axis: give at least one")
    count = 1
    for axis, n in zip(axes[:-1], s[:-1], strict=True):
        planes = _full(op, planes, n, axis, True)
        count *= shape_of(planes[0])[axis]
    out, n = _from_half(op, planes, s[-1], axes[-1])
    return _scaled(out, norm, count * n)


@_taken(np.fft.rfftn)
def rfftn(a, s=None, axes=None, norm=None):
    """`fftn` of a real array: the first half along the last axis."""
    return _many_to_half("rfftn", a, s, axes, norm)


@_taken(np.fft.irfftn)
def irfftn(a, s=None, axes=None, norm=None):
    """The inverse of `rfftn`."""
    return _many_from_half("irfftn", a, s, axes, norm)


@_taken(np.fft.rfft2)
def rfft2(a, s=None, axes=(-2, -1), norm=None):
    """`fft2` of a real array: the first half along the last axis."""
    return _many_to_half("rfft2", a, s, axes, norm)


@_taken(np.fft.irfft2)
def irfft2(a, s=None, axes=(-2, -1), norm=None):
    """The inverse of `rfft2`."""
    return _many_from_half("irfft2", a, s, axes, norm)
