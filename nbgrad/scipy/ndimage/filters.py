"""Linear filters of images, with derivatives in the image, the weights and sigma."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.ndimage as _plain
from numpy.lib.array_utils import normalize_axis_index

from ...core.array import Array
from ...core.fillable import highest
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch, NoRuleError, OutError, require_unmasked
from ...kernels import shapes
from ...rules.layout import given
from .borders import mode_of, with_margins


def image(op: str, x: Any, output: Any) -> Any:
    """A tracked image as floats. Raises OutError for `output`."""
    if output is not None:
        raise OutError(f"{op}: output=... cannot be written to with tracked arrays; use the result")
    x = given(x)
    require_unmasked(x, op)
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def per_axis(op: str, name: str, value: Any, n: int) -> list:
    """One value for each axis, from one or from a sequence."""
    if isinstance(value, (list, tuple)) or (not isinstance(value, str) and shape_of(value)):
        if len(value) != n:
            raise DimensionMismatch(
                f"{op}: {name} has {len(value)} elements; it has one for each of the {n} axes"
            )
        return [value[i] for i in range(n)]
    return [value] * n


def _axes(op: str, axes: Any, ndim: int) -> list[int]:
    if axes is None:
        return list(range(ndim))
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    found = [normalize_axis_index(shapes.whole(i, f"{op}: an axis"), ndim) for i in listed]
    if len(set(found)) != len(found):
        raise ArgumentError(f"{op}: axes must be unique, not {axes}")
    return found


def _summed(
    op: str, x: Any, weights: Any, axes: Sequence[int], modes: Sequence[str], cval: Any,
    origins: Sequence[int],
) -> Any:  # fmt: skip
    """out[i] = sum of weights[j] * x[i + j - size // 2 - origin] over the axes."""
    dtype, sizes = x.dtype, shape_of(weights)
    x = x if dtype == np.float64 else x.astype(np.float64)
    for axis, size, mode, origin in zip(axes, sizes, modes, origins, strict=True):
        before, behind = size // 2 + origin, (size - 1) // 2 - origin
        if before < 0 or behind < 0:
            raise ArgumentError(
                f"{op}: invalid origin {origin}; it must satisfy -(size // 2) <= origin <= "
                f"(size - 1) // 2 for a filter of size {size}"
            )
        x = with_margins(x, axis, before, behind, mode_of(op, mode), cval)
    windows = np.lib.stride_tricks.sliding_window_view(x, sizes, tuple(axes))
    ndim = len(shape_of(x))
    out = np.tensordot(windows, weights, ([*range(ndim, ndim + len(sizes))], [*range(len(sizes))]))
    return out if dtype == np.float64 else out.astype(dtype)


def _filter(op: str, turned: bool) -> Callable:
    """`correlate` or `convolve`; the latter with the weights turned."""
    plain = getattr(_plain, op)

    def call(
        input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
        origin: Any = 0, *, axes: Any = None,
    ) -> Any:  # fmt: skip
        if highest(input, weights, cval) is None:
            options = {} if axes is None else {"axes": axes}  # newer than other parameters
            return plain(input, weights, output, mode, cval, origin, **options)
        x, weights = image(op, input, output), _weights(op, weights)
        at = _axes(op, axes, len(shape_of(x)))
        if len(shape_of(weights)) != len(at) or 0 in shape_of(weights):
            raise DimensionMismatch(
                f"{op}: weights of shape {shape_of(weights)} for {len(at)} axes: they have one "
                "axis for each, none of length 0"
            )
        origins = [
            shapes.whole(o, f"{op}: origin") for o in per_axis(op, "origin", origin, len(at))
        ]
        if turned:
            weights = np.flip(weights)
            sizes = shape_of(weights)
            origins = [-o - (1 - n % 2) for o, n in zip(origins, sizes, strict=True)]
        return _summed(op, x, weights, at, [mode] * len(at), cval, origins)

    return call


def _weights(op: str, weights: Any) -> Any:
    weights = given(weights)
    require_unmasked(weights, f"{op}: weights")
    return weights if weights.dtype == np.float64 else weights.astype(np.float64)


_correlate, _convolve = _filter("correlate", False), _filter("convolve", True)


def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """Correlate an image with weights: sums of weights[j] * input[i + j - size // 2 - origin].

    Arguments:
        input: an array of any number of axes.
        weights: an array with as many axes as are filtered.
        output: must be None for tracked arrays.
        mode: how the image continues: "reflect", "constant", "nearest", "mirror" or "wrap".
        cval: the value outside in mode "constant".
        origin: a shift of the filter, one number or one for each axis.
        axes: the axes to filter, all by default.

    Returns an array of the shape and dtype of the image. It is linear in the image and in the
    weights, and differentiable in both and in `cval`, also in compiled programs. Plain arrays are
    passed to SciPy. Raises ValueError for other modes, origins and shapes.

    >>> nbgrad.grad(lambda w: correlate(np.array([1.0, 2.0, 4.0]), w)[1])(np.ones(3))
    array([1., 2., 4.])
    """
    return _correlate(input, weights, output, mode, cval, origin, axes=axes)


def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """Convolve an image with weights: `correlate` with the weights in reverse order.

    Arguments, result and errors are those of `correlate`.

    >>> nbgrad.grad(lambda w: convolve(np.array([1.0, 2.0, 4.0]), w)[1])(np.ones(3))
    array([4., 2., 1.])
    """
    return _convolve(input, weights, output, mode, cval, origin, axes=axes)


def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """Correlate an image with a vector of weights along one axis; see `correlate`.

    >>> nbgrad.jvp(lambda x: correlate1d(x, [1.0, -1.0]), (np.ones(3),), (np.arange(3.0),))[1]
    array([ 0., -1., -1.])
    """
    if highest(input, weights, cval) is None:
        return _plain.correlate1d(input, weights, axis, output, mode, cval, origin)
    x, weights = image("correlate1d", input, output), _weights("correlate1d", weights)
    return _along("correlate1d", x, weights, axis, mode, cval, origin)


def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """Convolve an image with a vector of weights along one axis; see `correlate`.

    >>> nbgrad.jvp(lambda x: convolve1d(x, [1.0, -1.0]), (np.ones(3),), (np.arange(3.0),))[1]
    array([1., 1., 0.])
    """
    if highest(input, weights, cval) is None:
        return _plain.convolve1d(input, weights, axis, output, mode, cval, origin)
    x, weights = image("convolve1d", input, output), np.flip(_weights("convolve1d", weights))
    origin = -origin - (1 - shape_of(weights)[0] % 2)
    return _along("convolve1d", x, weights, axis, mode, cval, origin)


def _along(op: str, x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int) -> Any:
    if len(shape_of(weights)) != 1 or not shape_of(weights)[0]:
        raise DimensionMismatch(f"{op}: weights of shape {shape_of(weights)} are no vector")
    axis = shapes.axis_of(axis, len(shape_of(x)), op)
    return _summed(op, x, weights, [axis], [mode], cval, [shapes.whole(origin, f"{op}: origin")])


def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """Average an image over a window.

    Arguments:
        input: an array of any number of axes.
        size: the length of the window, one number or one for each axis.
        output, mode, cval, origin, axes: as for `correlate`; one mode for each axis is possible.

    Returns an array of the shape and dtype of the image, linear in it.

    >>> nbgrad.grad(lambda x: uniform_filter(x, 3)[0])(np.array([1.0, 2.0, 4.0, 8.0])).round(6)
    array([0.666667, 0.333333, 0.      , 0.      ])
    """
    op = "uniform_filter"
    if highest(input, cval) is None:
        options = {} if axes is None else {"axes": axes}
        return _plain.uniform_filter(input, size, output, mode, cval, origin, **options)
    x = image(op, input, output)
    at = _axes(op, axes, len(shape_of(x)))
    named = (("size", size), ("mode", mode), ("origin", origin))
    values = zip(at, *(per_axis(op, name, z, len(at)) for name, z in named), strict=True)
    for axis, length, how, shift in values:
        length = int(length)
        if length > 1:
            x = _along(op, x, np.full(length, 1.0 / length), axis, how, cval, shift)
    return x


def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """Smooth an image by a Gaussian kernel, or by a derivative of it.

    Arguments:
        input: an array of any number of axes.
        sigma: the standard deviation, one number or one for each axis. A tracked one needs
            `radius`, as the length of the kernel cannot depend on it.
        order: the order of the derivative of the kernel, one or one for each axis.
        output, mode, cval, axes: as for `correlate`; one mode for each axis is possible.
        truncate: the radius of the kernel in standard deviations.
        radius: the radius of the kernel, one number or one for each axis.

    Returns an array of the shape and dtype of the image. It is differentiable in the image and in
    sigma, also in compiled programs.

    >>> x = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    >>> slope = nbgrad.grad(lambda s: gaussian_filter(x, s, radius=2)[2])(1.0)
    >>> round(float(slope), 6)  # a wider kernel is lower
    -0.372147
    """
    op = "gaussian_filter"
    if highest(input, sigma, cval) is None:
        options = {} if axes is None else {"axes": axes}
        options |= {} if radius is None else {"radius": radius}
        return _plain.gaussian_filter(input, sigma, order, output, mode, cval, truncate, **options)
    x = image(op, input, output)
    at = _axes(op, axes, len(shape_of(x)))
    named = (("sigma", sigma), ("order", order), ("mode", mode), ("radius", radius))
    values = zip(at, *(per_axis(op, name, z, len(at)) for name, z in named), strict=True)
    for axis, s, degree, how, reach in values:
        if not isinstance(s, Array):
            s = float(s)
            if s <= 1e-15:
                continue
            reach = int(truncate * s + 0.5) if reach is None else reach
        elif reach is None:
            raise NoRuleError(
                f"{op}: a tracked sigma needs radius=..., the length of the kernel to each side, "
                "such as int(4 * largest_sigma + 0.5)"
            )
        reach = shapes.whole(reach, f"{op}: radius")
        degree = shapes.whole(degree, f"{op}: order")
        if reach < 0 or degree < 0:
            raise ArgumentError(f"{op}: radius={reach} and order={degree} must not be negative")
        x = _along(op, x, _gaussian(s, degree, reach)[::-1], axis, how, cval, 0)
    return x


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """The kernel: a polynomial times exp(-x**2 / (2 sigma**2)), whose sum is 1 for order 0."""
    x = np.arange(-float(radius), radius + 1.0)
    variance = sigma * sigma
    bell = np.exp(-0.5 / variance * x**2)
    bell = bell / np.sum(bell)
    terms: list[Any] = [1.0]
    for _ in range(order):  # (q * bell)' = (q' - q x / variance) * bell
        slope = [(i + 1) * c for i, c in enumerate(terms[1:])] + [0.0, 0.0]
        terms = [a - b / variance for a, b in zip(slope, [0.0, *terms], strict=True)]
    if not order:
        return bell
    return sum((c * x**i for i, c in enumerate(terms[1:], 1)), terms[0] + 0.0 * x) * bell
