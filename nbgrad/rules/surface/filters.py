"""Filters of signals and convolutions by Fourier transforms, under SciPy's names."""

import math
from typing import Any

import numpy as np

from ...core.primitive import bind, shape_of
from ...core.symbols import is_recorded
from ...errors import ArgumentError, DimensionMismatch, NoRuleError, StaticError
from ...ir.naming import naming
from ...kernels import shapes
from ..dtypes import float_type
from ..feedback import feedback
from ..fourier import dft, half_to_real, real_to_half
from ..layout import given
from ..linalg.toeplitz import sliding
from .cosines import axes_of, resized

__all__ = [
    "fftconvolve",
    "filtfilt",
    "lfilter",
    "lfilter_zi",
    "oaconvolve",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
]

_SHORT = 64
"""Coefficients up to which sums are direct."""
_FAST = (1, 3, 5, 7, 9, 15)
"""Factors beside a power of two of lengths whose transforms are fast."""


# -- convolutions ---------------------------------------------------------------------------------


def _fast_length(n: int) -> int:
    """The least length of n or more whose transform is fast; n where lengths are named."""
    return n if naming() else min(c << max((-(-n // c) - 1).bit_length(), 0) for c in _FAST)


def _products(x: Any, y: Any, axes: list[int], lengths: list[int]) -> Any:
    """Convolutions along axes, of so many elements."""
    *others, last = axes
    *sizes, size = [_fast_length(n) for n in lengths]
    spectra = []
    for each in (x, y):
        re, im = real_to_half(resized("fftconvolve", each, size, last), last)
        for axis, n in zip(others, sizes, strict=True):
            re, im = (resized("fftconvolve", part, n, axis) for part in (re, im))
            re, im = dft(re, im, axis)
        spectra.append((re, im))
    (a, b), (c, d) = spectra
    re, im = a * c - b * d, a * d + b * c
    for axis in others:
        re, im = dft(re, im, axis, inverse=True)
    out = half_to_real(re, im, size, last)
    index = [slice(None)] * len(shape_of(out))
    for axis, n in zip(axes, lengths, strict=True):
        index[axis] = slice(n)
    out = out[tuple(index)]
    return out / np.full((), math.prod([*sizes, size]), out.dtype, like=out)


def _signals(op: str, *arrays: Any) -> list[Any]:
    arrays = tuple(map(given, arrays))
    dtype = float_type(*(x.dtype for x in arrays))
    return [x.astype(dtype) for x in arrays]


def fftconvolve(in1, in2, mode="full", axes=None):
    """The convolution of two arrays along axes, by Fourier transforms."""
    return _convolution("fftconvolve", in1, in2, mode, axes)


def oaconvolve(in1, in2, mode="full", axes=None):
    """`fftconvolve`."""
    return _convolution("oaconvolve", in1, in2, mode, axes)


def _convolution(op: str, in1: Any, in2: Any, mode: str, axes: Any) -> Any:
    if mode not in ("full", "valid", "same"):
        raise ArgumentError(f"{op}: mode={mode!r} must be 'full', 'valid' or 'same'")
    x, y = _signals(op, in1, in2)
    if len(shape_of(x)) != len(shape_of(y)):
        raise DimensionMismatch(
            f"{op}: arrays of shapes {shape_of(x)} and {shape_of(y)} must have as many axes"
        )
    if not shape_of(x):
        return x * y
    along, _ = axes_of(op, x, None, axes)
    if axes is not None and not along:
        raise ArgumentError(f"{op}: axes={axes!r} names no axis")
    if len(set(along)) != len(along):
        raise ArgumentError(f"{op}: axes={tuple(along)} repeat: give each axis once")
    if 0 in shape_of(x) or 0 in shape_of(y):
        return np.zeros((0,) * len(shape_of(x)), x.dtype)
    # Arrays broadcast along axes of length 1.
    along = [i for i in along if shape_of(x)[i] != 1 and shape_of(y)[i] != 1]
    lead = [tuple(1 if i in along else n for i, n in enumerate(shape_of(z))) for z in (x, y)]
    shapes.broadcast(op, *lead)
    n, m = ([shape_of(each)[i] for i in along] for each in (x, y))
    if mode == "valid" and any(a < b for a, b in zip(n, m, strict=True)):
        if any(a > b for a, b in zip(n, m, strict=True)):
            raise DimensionMismatch(
                f"{op}: of arrays of shapes {shape_of(x)} and {shape_of(y)}, neither is the larger "
                "one along all axes, which mode='valid' requires"
            )
        x, y, n, m = y, x, m, n
    lengths = [a + b - 1 for a, b in zip(n, m, strict=True)]
    out = _products(x, y, along, lengths) if along else x * y
    index = [slice(None)] * len(shape_of(out))
    if mode == "valid":
        for axis, a, b in zip(along, n, m, strict=True):
            index[axis] = slice(b - 1, a)
    elif mode == "same":
        for axis, (a, b) in enumerate(zip(shape_of(out), shape_of(x), strict=True)):
            index[axis] = slice((a - b) // 2, (a - b) // 2 + b)
    return out[tuple(index)]


# -- recursive filters ----------------------------------------------------------------------------


def _moving(b: Any, x: Any) -> Any:
    """The sum of b[k] * x[..., j - k]."""
    order, n = shape_of(b)[0] - 1, shape_of(x)[-1]
    if not order:
        return b[0] * x
    if order >= _SHORT and n >= _SHORT:
        lead = (1,) * (len(shape_of(x)) - 1)
        b = np.reshape(b, (*lead, order + 1))
        return _products(x, b, [len(lead)], [n + order])[..., :n]
    pads = ((0, 0),) * (len(shape_of(x)) - 1)
    return bind(sliding, np.pad(x, (*pads, (order, 0))), np.flip(b))


def _coefficients(op: str, b: Any, a: Any) -> tuple[Any, Any]:
    """b and a of one length, with 1 for the first of a."""
    for name, each in (("b", b), ("a", a)):
        if len(shape_of(each)) > 1 or (shape_of(each) and not shape_of(each)[0]):
            raise DimensionMismatch(
                f"{op}: {name} of shape {shape_of(each)}: give coefficients, a vector"
            )
    b, a = (np.reshape(each, -1) for each in (b, a))
    if not is_recorded(a) and np.any(np.equal(a[0], 0)):
        raise ArgumentError(f"{op}: a[0] is 0: all coefficients are divided by it")
    n = max(shape_of(b)[0], shape_of(a)[0])
    b, a = (np.pad(each, (0, n - shape_of(each)[0])) for each in (b, a))
    return b / a[0], a / a[0]


def lfilter(b, a, x, axis=-1, zi=None):
    """Filter by a rational transfer function b / a along an axis.

    With `zi`, the state before the first element, the result is the pair (y, zf)."""
    b, a, x, *state = _signals("lfilter", b, a, x, *([] if zi is None else [zi]))
    if not shape_of(x):
        raise DimensionMismatch("lfilter: x has no axes: give an array of at least one axis")
    recursive = max(shape_of(np.reshape(a, -1))[0], 1) > 1
    b, a = _coefficients("lfilter", b, a)
    axis = shapes.axis_of(axis, len(shape_of(x)), "lfilter")
    x = np.moveaxis(x, axis, -1)
    order, n = shape_of(b)[0] - 1, shape_of(x)[-1]
    if zi is None:
        out = _moving(b, x)
        return np.moveaxis(feedback(a[1:], out) if recursive else out, -1, axis)
    state = np.moveaxis(_state("lfilter", state[0], shape_of(x), order, axis), axis, -1)
    # The outputs of the state alone are added to those of the input, also behind the last element.
    pads = ((0, 0),) * (len(shape_of(x)) - 1)
    driven = _moving(b, np.pad(x, (*pads, (0, order)))) + _resized_end(state, n + order)
    out = feedback(a[1:], driven[..., :n]) if recursive else driven[..., :n]
    left = driven[..., n:]
    if recursive:
        left = left - _moving(a, np.pad(out, (*pads, (0, order))))[..., n:]
    return np.moveaxis(out, -1, axis), np.moveaxis(left, -1, axis)


def _resized_end(x: Any, n: int) -> Any:
    return resized("lfilter", x, n, len(shape_of(x)) - 1) if shape_of(x)[-1] else 0.0


def _state(op: str, zi: Any, shape: tuple, order: int, axis: int) -> Any:
    wanted = [*shape[:-1]]
    wanted.insert(axis, order)
    given_shape = shape_of(zi)
    fits = len(given_shape) == len(wanted) and all(
        m in (1, n) if i != axis else m == n
        for i, (m, n) in enumerate(zip(given_shape, wanted, strict=True))
    )
    if not fits:
        raise DimensionMismatch(
            f"{op}: zi of shape {given_shape} must have the shape {tuple(wanted)}"
        )
    return np.broadcast_to(zi, tuple(wanted))


def lfilter_zi(b, a):
    """The state of `lfilter` in which the answer to a constant 1 is constant."""
    b, a = _coefficients("lfilter_zi", *_signals("lfilter_zi", b, a))
    change = b[1:] - a[1:] * b[0]
    first = np.sum(change) / np.sum(a)
    ahead, behind = np.cumsum(a)[:-1], np.cumsum(change)
    before = np.concatenate([0 * behind[:1], behind[:-1]])
    return ahead * first - before


def _sections(op: str, sos: Any) -> Any:
    if len(shape_of(sos)) != 2 or shape_of(sos)[1] != 6 or not shape_of(sos)[0]:
        raise DimensionMismatch(f"{op}: sos of shape {shape_of(sos)} must have the shape (n, 6)")
    return sos


def sosfilt(sos, x, axis=-1, zi=None):
    """Filter by sections of second order, one after the other, along an axis.

    With `zi`, the states of the sections, the result is the pair (y, zf)."""
    sos, x = _signals("sosfilt", sos, x)
    _sections("sosfilt", sos)
    states = None if zi is None else given(zi)
    if states is not None and shape_of(states)[:1] != shape_of(sos)[:1]:
        raise DimensionMismatch(
            f"sosfilt: zi of shape {shape_of(states)} must have a state for each of the "
            f"{shape_of(sos)[0]} sections"
        )
    left = []
    for i in range(shape_of(sos)[0]):
        if states is None:
            x = lfilter(sos[i, :3], sos[i, 3:], x, axis)
        else:
            x, state = lfilter(sos[i, :3], sos[i, 3:], x, axis, states[i])
            left.append(state)
    return x if states is None else (x, np.stack(left))


def sosfilt_zi(sos):
    """The states of `sosfilt` in which the answer to a constant 1 is constant."""
    (sos,) = _signals("sosfilt_zi", sos)
    _sections("sosfilt_zi", sos)
    states, scale = [], 1.0
    for i in range(shape_of(sos)[0]):
        b, a = sos[i, :3], sos[i, 3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(states)


# -- forward and backward -------------------------------------------------------------------------


def _extended(op: str, x: Any, padtype: Any, padlen: int) -> tuple[Any, int]:
    """x with elements at both ends of the last axis, and their number."""
    if padtype not in ("even", "odd", "constant", None):
        raise ArgumentError(f"{op}: padtype={padtype!r} must be 'even', 'odd', 'constant' or None")
    n = shape_of(x)[-1]
    edge = 0 if padtype is None else padlen
    if edge < 0 or n <= edge:
        raise ArgumentError(
            f"{op}: x has {n} elements along the axis, which must be more than padlen={edge}"
        )
    if not edge:
        return x, 0
    if padtype == "constant":
        before, after = (np.repeat(end, edge, axis=-1) for end in (x[..., :1], x[..., -1:]))
    else:
        before, after = np.flip(x[..., 1 : edge + 1], -1), np.flip(x[..., -edge - 1 : -1], -1)
        if padtype == "odd":
            before, after = 2 * x[..., :1] - before, 2 * x[..., -1:] - after
    return np.concatenate([before, x, after], -1), edge


def _both_ways(op: str, run, state, x, axis, padtype, padlen) -> Any:
    """Filter forward and then backward: `run(x, zi)` of the last axis, `state(end)`."""
    axis = shapes.axis_of(axis, len(shape_of(x)), op)
    x = np.moveaxis(x, axis, -1)
    x, edge = _extended(op, x, padtype, padlen)
    for _ in range(2):
        x = np.flip(run(x, state(x[..., :1])), -1)
    x = x[..., edge : shape_of(x)[-1] - edge]
    return np.moveaxis(x, -1, axis)


def filtfilt(b, a, x, axis=-1, padtype="odd", padlen=None, method="pad", irlen=None):
    """Filter forward and backward along an axis, which delays no frequency."""
    if method != "pad":
        raise NoRuleError(f"filtfilt: method={method!r} has no derivative rule: give 'pad'")
    b, a, x = _signals("filtfilt", b, a, x)
    if padlen is None:
        padlen = 3 * max(len(np.reshape(b, -1)), len(np.reshape(a, -1)))
    zi = lfilter_zi(b, a)
    return _both_ways(
        "filtfilt", lambda x, zi: lfilter(b, a, x, -1, zi)[0], lambda end: zi * end, x, axis,
        padtype, padlen,
    )  # fmt: skip


def _least_order(op: str, sos: Any) -> int:
    """How many sections have order 1, in the numerators or the denominators."""
    if is_recorded(sos):
        raise StaticError(f"{op}: the default padlen depends on the values of sos: give padlen=...")
    return min(int(np.sum(np.equal(sos[:, k], 0))) for k in (2, 5))


def sosfiltfilt(sos, x, axis=-1, padtype="odd", padlen=None):
    """Filter by sections of second order forward and backward along an axis."""
    sos, x = _signals("sosfiltfilt", sos, x)
    n = shape_of(_sections("sosfiltfilt", sos))[0]
    if padlen is None:
        padlen = 3 * (2 * n + 1 - _least_order("sosfiltfilt", sos))
    zi = sosfilt_zi(sos)
    return _both_ways(
        "sosfiltfilt", lambda x, zi: sosfilt(sos, x, -1, zi)[0],
        lambda end: np.reshape(zi, (n, *(1,) * (len(shape_of(x)) - 1), 2)) * end, x, axis, padtype,
        padlen,
    )  # fmt: skip
