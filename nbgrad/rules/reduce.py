"""Sums, means and products, and the undoing of broadcasting."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import implements
from ..core.primitive import Aval, bind, shape_of
from ..eager.sums import MeanPlan, SumPlan, share_along
from ..errors import ComplexError, DimensionMismatch
from ..ir.reductions import PRODUCT, SUM
from ..ir.sizes import is_dynamic
from ..kernels import directions, shapes
from ..kernels import reduce as kernels
from ..kernels import unbroadcast as unbroadcast_kernel
from . import batching, patterns, simplify
from .arithmetic import multiply
from .dtypes import FLOATS, float_type, held, in_dtype, kind_of, type_of
from .families import Custom, Linear, is_finite, sample, scaled
from .families.arrays import zeros_like
from .forms import layout
from .forms import reductions as forms
from .recurrences import products


def inferred(function: Callable) -> Callable:
    """The `infer` of a reduction, with the dtype that NumPy's function gives."""

    def infer(x: Aval, *, axes, keepdims) -> Aval:
        return Aval.of(shapes.reduced(x.shape, axes, keepdims), type_of(function, x))

    return infer


def _total_of(function: Callable, x, axes, keepdims, share: float = 1.0) -> np.ndarray:
    """A sum or mean: kernels for floats, NumPy's function for integers and bools."""
    x = held(x)
    if x.dtype in FLOATS:
        return kernels.total(x, axes, keepdims, share)
    return np.asarray(function(x, axis=axes, keepdims=keepdims))


def opened(ct, shape, axes):
    """`ct` with the reduced axes restored, of length 1."""
    return np.reshape(ct, shapes.reduced(shape, axes, True))


def _sum_transpose(ct, args, *, axes, keepdims):
    shape = shape_of(args[0])
    return [np.broadcast_to(opened(ct, shape, axes), shape)]


def _mean_transpose(ct, args, *, axes, keepdims):
    ct = ct * share_along(shape_of(args[0]), axes)
    return _sum_transpose(ct, args, axes=axes, keepdims=keepdims)


samples = [
    sample((3,), axes=(0,), keepdims=False),
    sample((2, 3), axes=(0,), keepdims=False),
    sample((2, 3), axes=(1,), keepdims=True),
    sample((2, 3, 2), axes=(0, 2), keepdims=False),
    sample((2, 3, 2), axes=(1,), keepdims=False),
    sample((), axes=(), keepdims=False),
    sample((2, 3), axes=(0, 1), keepdims=False),
]
_with_empty = [*samples, sample((0, 3), axes=(0,), keepdims=False)]

sum_row = Linear(
    "sum", lambda x, *, axes, keepdims: _total_of(np.sum, x, axes, keepdims),
    inferred(np.sum), _sum_transpose, function=np.sum, samples=_with_empty,
    along="axes", unit=True, form=forms.reduction(SUM),
)  # fmt: skip
mean_row = Linear(
    "mean",
    lambda x, *, axes, keepdims: _total_of(np.mean, x, axes, keepdims, share_along(x.shape, axes)),
    inferred(np.mean), _mean_transpose, function=np.mean, samples=samples,
    along="axes", form=forms.mean,
    simplify=functools.partial(simplify.scaled_sum, total=sum_row, product=multiply),
)  # fmt: skip
sum_row.plan_class, mean_row.plan_class = SumPlan, MeanPlan


def _mean_push(tangents, out, args, **params):
    """The mean of an empty array is the constant nan."""
    if 0 in shape_of(args[0]):
        return zeros_like(out)
    return bind(mean_row, tangents[0], **params)


mean_row.pushforward = _mean_push


@implements(np.sum)
def sum(a, axis=None, dtype=None, *, keepdims: bool = False, initial=None, where=True):
    """Sum over `axis`: an int, a tuple of ints, or None for all. Pullback: ct broadcast to x."""
    if dtype is not None or where is not True:
        if not is_float(dtype):
            start = 0 if initial is None else initial
            return counted(np.sum, a, axis, dtype, keepdims=keepdims, initial=start, where=where)
        a = chosen("sum", a, dtype, where, 0)
    axes = shapes.axes_of(axis, len(a.aval.shape), "sum", of_ufunc=True)
    total = a.bind1(sum_row, a, axes=axes, keepdims=bool(keepdims))
    return total if initial is None else total + in_dtype(initial, total.dtype)


@implements(np.mean)
def mean(a, axis=None, dtype=None, *, keepdims: bool = False, where=True):
    """Mean over `axis`; nan for no elements, as in NumPy."""
    if dtype is not None or where is not True:
        if not is_float(dtype):
            return counted(np.mean, a, axis, dtype, keepdims=keepdims, where=where)
        a = chosen("mean", a, dtype)
        if where is not True:
            total = sum(a, axis, keepdims=keepdims, where=where)
            return total / count(a, axis, keepdims, where).astype(total.dtype)
    axes = shapes.axes_of(axis, len(a.aval.shape), "mean")
    return a.bind1(mean_row, a, axes=axes, keepdims=bool(keepdims))


def count(a, axis, keepdims, where):
    """The number of elements along `axis` selected by the mask `where`."""
    return np.sum(np.broadcast_to(where, shape_of(a)), axis=axis, keepdims=keepdims)


def is_float(dtype: Any) -> bool:
    """Whether a reduction in this dtype, None for that of its argument, has a derivative."""
    return dtype is None or np.dtype(dtype).kind == "f"


def require_float(op: str, dtype: Any) -> None:
    """Raise TypeError for a dtype in which moments have no meaning."""
    if not is_float(dtype):
        raise ComplexError(
            f"{op}: dtype={np.dtype(dtype)} is not a real float: leave it out, and cast the result "
            "by .astype"
        )


def counted(function: Callable, a, axis, dtype, **options):
    """A reduction in a dtype of integers or bools, which has no derivative."""
    whole = a.astype(dtype)
    if type(whole) is np.ndarray:
        return function(whole, axis, dtype, **options)
    return function(whole, axis, **options).astype(dtype)


def chosen(op: str, a, dtype=None, where: Any = True, neutral: Any = None):
    """The array cast to `dtype`, with a neutral number where the mask `where` is false."""
    if dtype is not None:
        a = a.astype(dtype)
    if where is True:
        return a
    shape = shape_of(a)
    if shapes.broadcast(op, shape, shape_of(where)) != shape:
        raise DimensionMismatch(
            f"{op}: where of shape {shape_of(where)} does not broadcast to the shape {shape}"
        )
    return np.where(where, a, a.dtype.type(neutral).item())


def _before(x):
    """For each element, the product of those before it along the last axis."""
    return np.concatenate([zeros_like(x[..., :1]) + 1.0, products(x)[..., :-1]], axis=-1)


def _others(x):
    """For each element, the product of all others along the last axis, which is not empty.

    Pairs are multiplied in log2(length) steps, without division; if the length is a named size,
    the products before and behind each element are.
    """
    *lead, length = shape_of(x)
    if is_dynamic(length):
        turned = np.flip(x, -1)
        return _before(x) * np.flip(_before(turned), -1)
    if length == 1:
        return np.ones(shape_of(x), x.dtype)
    if length % 2:
        x = np.concatenate([x, np.ones((*lead, 1), x.dtype)], axis=-1)
    left, right = x[..., ::2], x[..., 1::2]
    above = _others(left * right)
    both = np.stack([above * right, above * left], axis=-1)
    return np.reshape(both, (*lead, -1))[..., :length]


def _cofactors(x, axes, out):
    """For each element, the product of all others that are reduced with it. Where an intermediate
    product overflows or underflows, and the whole product does not, the whole divided by the
    element."""
    shape = shape_of(x)
    if 0 in shape:
        return np.ones(shape, x.dtype)
    order = (*(i for i in range(len(shape)) if i not in axes), *axes)
    moved = np.transpose(x, order)
    count = math.prod(shape[i] for i in axes)
    found = np.reshape(_others(np.reshape(moved, (-1, count))), shape_of(moved))
    found = np.transpose(found, tuple(sorted(range(len(order)), key=order.__getitem__)))
    whole = np.broadcast_to(opened(out, shape, axes), shape)
    lost = np.logical_or(np.equal(found, 0), np.logical_not(np.isfinite(found)))
    lost = np.logical_and(lost, np.logical_and(np.not_equal(whole, 0), np.isfinite(whole)))
    return np.where(lost, whole / np.where(lost, x, 1.0), found)


def _prod_rule(ct, out, args, need, *, axes, keepdims):
    shape = shape_of(args[0])
    return [scaled(opened(ct, shape, axes), _cofactors(args[0], axes, out))]


def _prod_push(tangents, out, args, *, axes, keepdims):
    slopes = scaled(tangents[0], _cofactors(args[0], axes, out))
    return np.sum(slopes, axis=axes, keepdims=keepdims)


def _prod_fused(ct, out, args, need, *, axes, keepdims):
    x = args[0]
    if not axes:
        return [ct]
    if not is_finite(ct):
        return _prod_rule(ct, out, args, need, axes=axes, keepdims=keepdims)
    x_bar = kernels.pulled(kernels.prod_pullback, ct, x, axes)
    if not np.all(x_bar) or not np.isfinite(np.sum(x_bar)):  # rare
        with np.errstate(all="ignore"):
            return _prod_rule(ct, out, args, need, axes=axes, keepdims=keepdims)
    return [x_bar]


def _prod_slope(x, out, x_dot, *, axes, keepdims):
    slope = kernels.pushed(directions.prod_slope, x, x_dot, out, axes)
    if np.all(slope) and np.isfinite(np.sum(slope)):
        return slope
    with np.errstate(all="ignore"):
        return np.asarray(_prod_push([x_dot], out, [x], axes=axes, keepdims=keepdims))


def _prod_curve(ct, out_dot, x, out, x_dot, *, axes, keepdims):
    held, slopes = np.empty(x.shape, x.dtype), np.empty(ct.shape, x.dtype)
    return kernels.pulled(directions.prod_slope_pullback, ct, x, axes, x_dot, held, slopes)


prod_row = Custom(
    "prod",
    lambda x, *, axes, keepdims: np.asarray(
        np.multiply.reduce(held(x), axis=axes, keepdims=keepdims)
    ),
    inferred(np.prod), _prod_rule, _prod_push, fused=_prod_fused,
    slopes=(_prod_slope, _prod_curve), function=np.prod,
    samples=_with_empty, along="axes", form=forms.reduction(PRODUCT),
    kinks=[
        ((np.array([0.0, 2.0, 3.0]),), (np.array([6.0, 0.0, 0.0]),)),
        ((np.array([0.0, 0.0]),), (np.array([0.0, 0.0]),)),
    ],
    notes="exact where elements are 0, at every order",
)  # fmt: skip


@implements(np.prod)
def prod(a, axis=None, dtype=None, *, keepdims: bool = False, initial=None, where=True):
    """Product over `axis`. Pullback: ct times the product of the other elements."""
    if not is_float(dtype):
        start = 1 if initial is None else initial
        return counted(np.prod, a, axis, dtype, keepdims=keepdims, initial=start, where=where)
    a = chosen("prod", a, dtype, where, 1)
    axes = shapes.axes_of(axis, len(shape_of(a)), "prod", of_ufunc=True)
    out = bind(prod_row, a, axes=axes, keepdims=bool(keepdims))
    return out if initial is None else out * in_dtype(initial, out.dtype)


def _unbroadcast(x, *, shape):
    lost = x.ndim - len(shape)
    ones = tuple(lost + i for i, n in enumerate(shape) if n == 1)
    return x.sum(axis=(*range(lost), *ones)).reshape(shape)


# The only place that undoes broadcasting: the graph applies it to the cotangents of rules.
unbroadcast = Linear(
    "unbroadcast",
    lambda x, *, shape: unbroadcast_kernel.unbroadcast(
        np.asarray(x).astype(float_type(kind_of(x)), copy=False), shape
    ),
    lambda x, *, shape: Aval.of(shape, float_type(x)),
    lambda ct, args, *, shape: [np.broadcast_to(ct, shape_of(args[0]))],
    samples=[sample((2, 3), shape=(3,)), sample((2, 3), shape=(2, 1)), sample((3,), shape=())],
    batch=batching.unrepeated,
    unit=True,
    form=layout.unbroadcast,
    pattern=patterns.unbroadcast,
    reference=_unbroadcast,
)
