"""Norms, variance and standard deviation."""

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core.array import implements
from ..core.primitive import Aval, bind, shape_of
from ..eager.sums import share
from ..errors import ArgumentError
from ..kernels import directions, shapes
from ..kernels import reduce as kernels
from ..runtime.kinds import is_a
from .families import Custom, float_type, sample, scaled
from .forms import reductions as forms
from .nondiff import stopped
from .reduce import chosen, count, require_float


def _inverse(out, shape, axes):
    """1 / out with the reduced axes restored; 0 where the norm is 0."""
    zero = out == 0
    inverse = np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, out))
    return np.reshape(inverse, shapes.reduced(shape, axes, True))


def _compute(x, *, axes, keepdims):
    x = np.asarray(x)
    x = x.astype(float_type(x.dtype), copy=False)
    if len(axes) == x.ndim:
        flat = x.ravel()
        out = np.sqrt(np.dot(flat, flat), dtype=x.dtype)
        return np.asarray(out).reshape(shapes.reduced(x.shape, axes, keepdims))
    return np.sqrt(np.add.reduce(x * x, axis=axes, keepdims=keepdims))


def _rule(ct, out, args, need, *, axes, keepdims):
    shape = shape_of(args[0])
    ct = np.reshape(ct, shapes.reduced(shape, axes, True))
    return [scaled(scaled(ct, _inverse(out, shape, axes)), args[0])]


def _push(tangents, out, args, *, axes, keepdims):
    unit = scaled(_inverse(out, shape_of(args[0]), axes), args[0])
    return np.sum(scaled(tangents[0], unit), axis=axes, keepdims=keepdims)


def _slope(x, out, x_dot, *, axes, keepdims):
    return kernels.pushed(directions.norm_slope, x, x_dot, out, axes)


def _curve(ct, out_dot, x, out, x_dot, *, axes, keepdims):
    return kernels.pulled(directions.norm_slope_pullback, ct, x, axes, x_dot, out, out_dot)


norm_row = Custom(
    "norm", _compute,
    lambda x, *, axes, keepdims: Aval.of(shapes.reduced(x.shape, axes, keepdims), float_type(x)),
    _rule, _push, slopes=(_slope, _curve),
    samples=[
        sample((3,), axes=(0,), keepdims=False), sample((2, 3), axes=(1,), keepdims=True),
        sample((2, 3), axes=(0, 1), keepdims=False), sample((2, 3, 2), axes=(0, 2), keepdims=False),
        sample((0, 3), axes=(0,), keepdims=False),
    ],
    kinks=[((np.zeros(3),), (np.zeros(3),))], along="axes", form=forms.norm,
    reference=lambda x, *, axes, keepdims: np.sqrt(np.sum(x * x, axis=axes, keepdims=keepdims)),
    notes="derivative 0 where the norm is 0",
)  # fmt: skip


@implements(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims: bool = False):
    """The 2-norm of vectors and Frobenius norm of matrices, over `axis` or all elements.

    `ord` is any number for vectors; None, "fro", "nuc", 1, 2, inf or their negatives for matrices.
    The derivative of the 2-norm at 0 is 0; that of a norm of singular values that are 0 or equal is
    a subgradient.
    """
    ndim = len(shape_of(x))
    if axis is None and ord is None:
        return bind(norm_row, x, axes=tuple(range(ndim)), keepdims=bool(keepdims))
    x = x if hasattr(x, "dtype") else np.asarray(x)
    if ord is not None and x.dtype.kind in "iub":
        x = x.astype(float_type(x.dtype))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else axis
    axes = tuple(range(ndim)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    axes = tuple(normalize_axis_index(a, ndim, "norm") for a in axes)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ArgumentError(f"norm: improper number of dimensions to norm: the axes {axes}")
    if axes[0] == axes[1]:
        raise ArgumentError(f"norm: duplicate axes given: {axes}")
    return _matrix_norm(x, ord, axes, keepdims)


def _vector_norm(x, ord, axes, keepdims):
    if ord is None or ord == 2:
        return bind(norm_row, x, axes=axes, keepdims=bool(keepdims))
    if isinstance(ord, str):
        raise ArgumentError(f"norm: invalid norm order {ord!r} for vectors")
    if ord == 1:
        return np.sum(np.abs(x), axis=axes, keepdims=keepdims)
    if abs(ord) == math.inf:
        if ord > 0 and not shape_of(x)[axes[0]]:
            return np.sum(np.abs(x), axis=axes, keepdims=keepdims)  # 0 for an empty vector
        extreme = np.max if ord > 0 else np.min
        return extreme(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == 0:
        return np.sum(np.not_equal(x, 0), axis=axes, keepdims=keepdims).astype(float_type(x.dtype))
    return np.sum(np.abs(x) ** ord, axis=axes, keepdims=keepdims) ** (1.0 / ord)


def _matrix_norm(x, ord, axes, keepdims):
    if ord is None or ord == "fro":
        return bind(norm_row, x, axes=tuple(sorted(axes)), keepdims=bool(keepdims))
    if ord in (2, -2, "nuc"):
        s = np.linalg.svdvals(np.moveaxis(x, axes, (-2, -1)))
        some = s if shape_of(s)[-1] else np.zeros((*shape_of(s)[:-1], 1), s.dtype)
        out = np.sum(s, axis=-1) if ord == "nuc" else some[..., 0 if ord > 0 else -1]
        return np.reshape(out, shapes.reduced(shape_of(x), axes, True)) if keepdims else out
    if ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(f"norm: invalid norm order {ord!r} for matrices")
    summed, chosen = axes if abs(ord) == 1 else axes[::-1]
    extreme = np.max if ord > 0 else np.min
    out = extreme(np.sum(np.abs(x), axis=summed, keepdims=True), axis=chosen, keepdims=True)
    return out if keepdims else np.reshape(out, shapes.reduced(shape_of(x), axes, False))


def _centred(x, axis, dtype, ddof, correction, where, mean, op):
    """x minus its mean, the axes, and 1 over the divisor, the number of elements minus `ddof`."""
    if correction is not None:
        if ddof:
            raise ArgumentError(f"{op}: ddof and correction cannot be given together")
        ddof = correction
    require_float(op, dtype)
    x = chosen(op, x, dtype)
    shape = shape_of(x)
    axes = shapes.axes_of(axis, len(shape), op)
    if mean is None:
        mean = np.mean(x, axis=axes, keepdims=True, where=where)
    if where is True:
        divisor = max(math.prod(shape[i] for i in axes) - ddof, 0)
        return x - mean, axes, share(divisor) if divisor else math.inf
    divisor = np.maximum(count(x, axes, True, where) - ddof, 0)
    shares = np.where(divisor > 0, 1.0 / np.maximum(divisor, 1), np.inf)
    return chosen(op, x - mean, None, where, 0), axes, shares.astype(float_type(x.dtype))


@implements(np.var)
def var(a, axis=None, dtype=None, *, ddof=0, keepdims: bool = False, where=True, mean=None,
        correction=None):  # fmt: skip
    """Sum of squared deviations from the mean over `axis`, divided by their number minus `ddof`.

    If the divisor is 0, it is inf, or nan where all deviations are 0, with derivative 0.
    """
    centred, axes, share = _centred(a, axis, dtype, ddof, correction, where, mean, "var")
    total = np.sum(np.square(centred), axis=axes, keepdims=keepdims)
    return _shared(total, share)


@implements(np.std)
def std(a, axis=None, dtype=None, *, ddof=0, keepdims: bool = False, where=True, mean=None,
        correction=None):  # fmt: skip
    """Square root of the variance; its derivative is 0 where all elements are equal."""
    centred, axes, share = _centred(a, axis, dtype, ddof, correction, where, mean, "std")
    out = bind(norm_row, centred, axes=axes, keepdims=bool(keepdims))
    return _shared(out, math.sqrt(share) if type(share) is float else np.sqrt(share))


def _shared(out, share):
    """`out * share`, constant where the share is inf since the divisor is 0."""
    if type(share) is float:
        return out * share if share < math.inf else stopped(out) * share
    share = np.reshape(share, shape_of(out))
    if is_a(share, np.ndarray) and np.all(np.isfinite(share)):
        return out * share
    with np.errstate(invalid="ignore"):  # nan of 0 times inf
        return np.where(np.isfinite(share), out * share, stopped(out) * share)
