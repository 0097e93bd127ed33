"""Reductions by max and min."""

import numpy as np

from ..core.array import implements
from ..core.primitive import bind, shape_of
from ..errors import ArgumentError, EmptyError
from ..ir.reductions import MAXIMUM, MINIMUM
from ..kernels import directions, shapes
from ..kernels import reduce as kernels
from .arithmetic import divide
from .dtypes import held, in_dtype
from .families import Custom
from .forms import reductions as forms
from .reduce import inferred, opened, samples


def _ties(x, out, axes):
    """The mask of the extreme elements, and their number, in the shape of `out`."""
    mask = x == np.broadcast_to(opened(out, shape_of(x), axes), shape_of(x))
    count = np.count_nonzero(mask, axis=axes)
    count = np.maximum(count, 1)  # no element equals nan: derivative 0
    return mask, np.reshape(count, shape_of(out)).astype(x.dtype)


def _max_rule(ct, out, args, need, *, axes, keepdims):
    shape = shape_of(args[0])
    mask, count = _ties(args[0], out, axes)
    part = opened(bind(divide, ct, count), shape, axes)
    return [np.where(mask, np.broadcast_to(part, shape), 0.0)]


def _max_push(tangents, out, args, *, axes, keepdims):
    mask, count = _ties(args[0], out, axes)
    total = np.sum(np.where(mask, tangents[0], 0.0), axis=axes, keepdims=keepdims)
    return bind(divide, total, count)


def _max_fused(ct, out, args, need, *, axes, keepdims):
    x = args[0]
    return [kernels.pulled(kernels.choice_pullback, ct, x, axes, out)] if axes else [ct]


def _max_slope(x, out, x_dot, *, axes, keepdims):
    return kernels.pushed(directions.choice_slope, x, x_dot, out, axes)


def _max_curve(ct, out_dot, x, out, x_dot, *, axes, keepdims):
    """None: the second derivative is 0."""


def _extreme(function, ufunc, kind):
    """The row of max or min, computed by NumPy, with one pullback for both."""

    def compute(x, *, axes, keepdims):
        return np.asarray(ufunc.reduce(held(x), axis=axes, keepdims=keepdims))

    return Custom(
        function.__name__.removeprefix("a"), compute, inferred(function), _max_rule, _max_push,
        fused=_max_fused, slopes=(_max_slope, _max_curve), function=function, samples=samples,
        along="axes",
        form=forms.reduction(kind),
        kinks=[((np.array([1.0, 1.0]),), (np.array([0.5, 0.5]),))],
        notes="ties share the derivative evenly; 0 where the result is nan",
    )  # fmt: skip


max_row = _extreme(np.max, np.maximum, MAXIMUM)
min_row = _extreme(np.min, np.minimum, MINIMUM)


def _choose(primitive, x, axis, keepdims, initial, where):
    shape, initial = shape_of(x), None if initial is None else in_dtype(initial, x.dtype)
    axes = shapes.axes_of(axis, len(shape), primitive.name, of_ufunc=True)
    if where is not True:
        if initial is None:
            raise ArgumentError(
                f"{primitive.name}: where=... needs initial=..., for where it chooses none"
            )
        x = np.where(np.broadcast_to(where, shape), x, initial)
    if any(shape[i] == 0 for i in axes):
        if initial is not None:
            return np.broadcast_to(initial, shapes.reduced(shape, axes, keepdims)).astype(x.dtype)
        raise EmptyError(
            f"{primitive.name}: the array of shape {shape} is empty along an axis in {axes}"
        )
    out = bind(primitive, x, axes=axes, keepdims=bool(keepdims))
    join = np.maximum if primitive is max_row else np.minimum
    return out if initial is None else join(out, initial)


@implements(np.max, np.amax)
def max(a, axis=None, *, keepdims: bool = False, initial=None, where=True):
    """Largest element over `axis`; tied elements share the cotangent evenly.

    Raises ValueError for an empty array.
    """
    return _choose(max_row, a, axis, keepdims, initial, where)


@implements(np.min, np.amin)
def min(a, axis=None, *, keepdims: bool = False, initial=None, where=True):
    """Smallest element over `axis`; tied elements share the cotangent evenly.

    Raises ValueError for an empty array.
    """
    return _choose(min_row, a, axis, keepdims, initial, where)


@implements(np.ptp)
def ptp(a, axis=None, *, keepdims: bool = False):
    """The largest minus the smallest element over `axis`."""
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)
