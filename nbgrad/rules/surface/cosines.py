"""Discrete cosine and sine transforms, composed of Fourier transforms of real numbers.

Types 2 and 3 are transforms of as many numbers (Makhoul 1980, A fast cosine transform in one and
two dimensions), type 4 one of half as many, and type 1 one of an even or odd extension.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch
from ...ir.naming import naming
from ...kernels import shapes
from ...runtime.kinds import is_a
from ..dtypes import float_type
from ..fourier import dft, half_to_real, real_to_half
from ..layout import given

__all__ = ["dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn", "resized"]

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


# -- transforms of the last axis, not normalised --------------------------------------------------


def _number(x: Any, n: int) -> Any:
    """A length as an array, so that what is computed from it has a formula where it is named."""
    return np.full((), n, np.float64, like=x)


def _angles(x: Any, start: float, step: float, n: int, count: int) -> tuple[Any, Any]:
    """cos and sin of pi * (start + step * k) / n, in the dtype of x."""
    angle = (start + step * np.arange(count, like=x)) * (math.pi / _number(x, n))
    return np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)


def _even(x: Any) -> Any:
    """The signs of odd elements changed."""
    return x * (1 - 2 * (np.arange(shape_of(x)[-1], like=x) % 2)).astype(x.dtype)


def _cosine_1(x: Any) -> Any:
    return real_to_half(np.concatenate([x, np.flip(x[..., 1:-1], -1)], -1), -1)[0]


def _cosine_2(x: Any) -> Any:
    n = shape_of(x)[-1]
    re, im = real_to_half(np.concatenate([x[..., ::2], np.flip(x[..., 1::2], -1)], -1), -1)
    c, s = _angles(x, 0.0, 0.5, n, n // 2 + 1)
    first, rest = 2 * (re * c + im * s), 2 * (re * s - im * c)
    return np.concatenate([first, np.flip(rest[..., 1 : (n + 1) // 2], -1)], -1)


def _cosine_3(x: Any) -> Any:
    n = shape_of(x)[-1]
    c, s = _angles(x, 0.0, 0.5, n, n // 2 + 1)
    re = x[..., : n // 2 + 1]
    im = np.concatenate([0 * x[..., :1], np.flip(x[..., n - n // 2 :], -1)], -1)
    out = half_to_real(re * c + im * s, re * s - im * c, n, -1)
    half = (n + 1) // 2
    return _woven(out[..., :half], np.flip(out[..., half:], -1))


def _woven(even: Any, odd: Any) -> Any:
    """The array with these even and odd elements; there is at most one more of the former."""
    n, m = shape_of(even)[-1], shape_of(odd)[-1]
    pairs = np.stack([even[..., :m], odd], -1)
    pairs = np.reshape(pairs, (*shape_of(odd)[:-1], 2 * m))
    return pairs if n == m else np.concatenate([pairs, even[..., m:]], -1)


def _cosine_4(x: Any) -> Any:
    n = shape_of(x)[-1]
    if n % 2:
        # Twice as many complex numbers: e**(-i pi (2 k + 1) (2 j + 1) / (4 n)).
        c, s = _angles(x, 0.0, 0.5, n, n)
        pads = ((0, 0),) * (len(shape_of(x)) - 1)
        re, im = dft(np.pad(x * c, (*pads, (0, n))), np.pad(-x * s, (*pads, (0, n))), -1)
        c, s = _angles(x, 0.25, 0.5, n, n)
        return 2 * (re[..., :n] * c + im[..., :n] * s)
    c, s = _angles(x, 0.125, 1.0, n, n // 2)
    even, odd = x[..., ::2], np.flip(x[..., 1::2], -1)
    re, im = dft(even * c + odd * s, odd * c - even * s, -1)
    return _woven(2 * (re * c + im * s), np.flip(2 * (re * s - im * c), -1))


def _sine_1(x: Any) -> Any:
    zero = 0 * x[..., :1]
    odd = np.concatenate([zero, x, zero, -np.flip(x, -1)], -1)
    return -real_to_half(odd, -1)[1][..., 1:-1]


# -- the same for named lengths -------------------------------------------------------------------
# They have formulas without halves, as transforms of twice as many numbers.


def _extended(x: Any, count: int, axis: int = -1) -> Any:
    """x with so many zeros behind it along an axis: `np.pad` makes plain numbers of lengths."""
    axis %= len(shape_of(x))
    shape, first = list(shape_of(x)), [slice(None)] * axis
    shape[axis] = count
    zeros = np.zeros_like(x[(*first, slice(1))])
    return np.concatenate([x, np.broadcast_to(zeros, tuple(shape))], axis)


def _named_cosine_2(x: Any) -> Any:
    n = shape_of(x)[-1]
    re, im = real_to_half(_extended(x, n), -1)
    c, s = _angles(x, 0.0, 0.5, n, n)
    return 2 * (re[..., :n] * c + im[..., :n] * s)


def _named_cosine_3(x: Any) -> Any:
    n = shape_of(x)[-1]
    c, s = _angles(x, 0.0, 0.5, n, n)
    return half_to_real(_extended(x * c, 1), _extended(x * s, 1), 2 * n, -1)[..., :n]


def _named_cosine_4(x: Any) -> Any:
    n = shape_of(x)[-1]
    c, s = _angles(x, 0.0, 0.5, n, n)
    re, im = dft(_extended(x * c, n), _extended(-x * s, n), -1)
    c, s = _angles(x, 0.25, 0.5, n, n)
    return 2 * (re[..., :n] * c + im[..., :n] * s)


def _transforms(second: Callable, third: Callable, fourth: Callable) -> dict[bool, dict]:
    """Sine and cosine transforms by type."""
    sines = {
        1: _sine_1,
        2: lambda x: np.flip(second(_even(x)), -1),
        3: lambda x: _even(third(np.flip(x, -1))),
        4: lambda x: _even(fourth(np.flip(x, -1))),
    }
    return {True: sines, False: {1: _cosine_1, 2: second, 3: third, 4: fourth}}


_PLAIN = _transforms(_cosine_2, _cosine_3, _cosine_4)
_NAMED = _transforms(_named_cosine_2, _named_cosine_3, _named_cosine_4)


# -- arguments ------------------------------------------------------------------------------------


def resized(op: str, x: Any, n: Any, axis: int) -> Any:
    """x with n elements along an axis: cut, or followed by zeros. Raises ArgumentError for n that
    is no positive number."""
    length = shape_of(x)[axis]
    if n is None:
        n = length
    if not is_a(n, (int, np.integer)) or n < 1:
        raise ArgumentError(
            f"{op}: a transform of n={n!r} elements along axis {axis}: n must be 1 or more"
        )
    if n <= length:
        return x if n == length else x[(*(slice(None),) * axis, slice(n))]
    if naming() is not None:
        return _extended(x, n - length, axis)
    pads = [(0, 0)] * len(shape_of(x))
    pads[axis] = 0, int(n) - length
    return np.pad(x, pads)


def _floats(op: str, x: Any) -> Any:
    x = given(x)
    if not shape_of(x):
        raise DimensionMismatch(f"{op}: x has no axes: give an array of at least one axis")
    return x.astype(float_type(x.dtype))


def _options(op: str, type: Any, norm: Any) -> str:
    if type not in _INVERSE:
        raise ArgumentError(f"{op}: type={type!r} must be 1, 2, 3 or 4")
    norm = "backward" if norm is None else norm
    if norm not in _SWAPPED:
        raise ArgumentError(f"{op}: norm={norm!r} must be 'backward', 'ortho' or 'forward'")
    return norm


def _scaled(x: Any, places: set[int], factor: float) -> Any:
    """The elements at some positions of the last axis times a factor."""
    at = np.arange(shape_of(x)[-1], like=x)
    chosen = np.any(np.stack([at == place for place in places]), axis=0)
    return x * np.where(chosen, factor, 1.0).astype(x.dtype)


def _along(op: str, sine: bool, type: int, x: Any, norm: str, axis: int, orthogonal: Any) -> Any:
    """One transform along an axis, normalised."""
    orthogonal = norm == "ortho" if orthogonal is None else orthogonal
    n = shape_of(x)[axis]
    if type == 1 and not sine and n < 2:
        raise ArgumentError(f"{op}: type 1 is not defined for a single element along axis {axis}")
    full = 2 * (n + (0 if type > 1 else 1 if sine else -1))
    x = np.moveaxis(x, axis, -1)
    root, edge = math.sqrt(2), n - 1 if sine else 0
    if orthogonal and type == 1 and not sine:
        x = _scaled(x, {0, n - 1}, root)
    elif orthogonal and type == 3:
        x = _scaled(x, {edge}, root)
    out = (_PLAIN if naming() is None else _NAMED)[sine][type](x)
    if orthogonal and type == 1 and not sine:
        out = _scaled(out, {0, n - 1}, 1 / root)
    elif orthogonal and type == 2:
        out = _scaled(out, {edge}, 1 / root)
    if norm != "backward":
        count = _number(x, full)
        out = out / (np.sqrt(count) if norm == "ortho" else count).astype(out.dtype)
    return np.moveaxis(out, -1, axis)


def _one(op: str, sine: bool, inverse: bool, x, type, n, axis, norm, orthogonalize) -> Any:
    norm = _options(op, type, norm)
    x = _floats(op, x)
    axis = shapes.axis_of(axis, len(shape_of(x)), op)
    if inverse:
        type, norm = _INVERSE[type], _SWAPPED[norm]
    return _along(op, sine, type, resized(op, x, n, axis), norm, axis, orthogonalize)


def axes_of(op: str, x: Any, s: Any, axes: Any) -> tuple[list[int], list[Any]]:
    """The axes of a transform along several, and the numbers of elements along them. Raises
    ArgumentError for axes that repeat, and for s and axes of different lengths."""
    ndim = len(shape_of(x))
    s = [s] if is_a(s, (int, np.integer)) else s
    if s is not None and not is_a(s, Iterable):
        raise ArgumentError(f"{op}: s={s!r} must be the lengths along the axes")
    s = None if s is None else list(s)
    if axes is None and s is not None and len(s) > ndim:
        raise ArgumentError(f"{op}: {len(s)} lengths for an array of {ndim} axes")
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    axes = [axes] if is_a(axes, (int, np.integer)) else list(axes)
    axes = [shapes.axis_of(axis, ndim, op) for axis in axes]
    s = [None] * len(axes) if s is None else s
    if len(s) != len(axes):
        raise ArgumentError(f"{op}: {len(s)} lengths for {len(axes)} axes: give one for each")
    return axes, s


def _many(op: str, sine: bool, inverse: bool, x, type, s, axes, norm, orthogonalize) -> Any:
    norm = _options(op, type, norm)
    x = _floats(op, x)
    axes, s = axes_of(op, x, s, axes)
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"{op}: axes={tuple(axes)} repeat: give each axis once")
    if inverse:
        type, norm = _INVERSE[type], _SWAPPED[norm]
    for axis, n in zip(axes, s, strict=True):
        x = _along(op, sine, type, resized(op, x, n, axis), norm, axis, orthogonalize)
    return x


def _of_one_axis(op: str, sine: bool, inverse: bool) -> Callable:
    def transform(
        x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None
    ):
        return _one(op, sine, inverse, x, type, n, axis, norm, orthogonalize)

    transform.__name__ = op
    return transform


def _of_axes(op: str, sine: bool, inverse: bool) -> Callable:
    def transform(
        x, type=2, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *,
        orthogonalize=None,
    ):  # fmt: skip
        return _many(op, sine, inverse, x, type, s, axes, norm, orthogonalize)

    transform.__name__ = op
    return transform


dct, idct = _of_one_axis("dct", False, False), _of_one_axis("idct", False, True)
dst, idst = _of_one_axis("dst", True, False), _of_one_axis("idst", True, True)
dctn, idctn = _of_axes("dctn", False, False), _of_axes("idctn", False, True)
dstn, idstn = _of_axes("dstn", True, False), _of_axes("idstn", True, True)
