"""Rows that only move elements: reshape, transpose, broadcast_to, concatenate, stack, astype."""

import math
from typing import Any

import numpy as np

from ..core.array import Array, apply, implements
from ..core.functions import functions
from ..core.memory import copied, link, numpy_gives_view, view
from ..core.numpy_class import Pair
from ..core.primitive import Aval, bind, shape_of
from ..core.steps import Axes, ReadOnly, Shape
from ..core.symbols import Symbol
from ..errors import ArgumentError, DimensionMismatch, DtypeError, EmptyError, require_unmasked
from ..ir.naming import tagged
from ..kernels import reduce as kernels
from ..kernels import shapes
from . import batching, jacobian, patterns, simplify
from .dtypes import FLOATS, common_type, held
from .families import Linear, sample
from .forms import layout as forms
from .reduce import unbroadcast

reshape = Linear(
    "reshape",
    lambda x, *, shape: np.asarray(x).reshape(shape),
    lambda x, *, shape: Aval.of(shape, common_type(x)),
    lambda ct, args, *, shape: [np.reshape(ct, shape_of(args[0]))],
    fused=lambda ct, args, *, shape: [ct.reshape(args[0].shape)],
    function=np.reshape,
    batch=batching.reshaped,
    blocks=jacobian.each,
    unit=True,
    form=forms.reshape,
    pattern=patterns.moved,
    simplify=simplify.of_same_shape,
    samples=[sample((2, 3), shape=(3, 2)), sample((2, 3), shape=(6,)), sample((), shape=(1, 1))],
)


def _lengths(op: str, shape) -> list[int]:
    listed = shape if isinstance(shape, (tuple, list)) else (shape,)
    return [shapes.whole(n, f"{op}: a length") for n in listed]


@implements(np.reshape)
def reshape_of(a, shape, order="C"):
    """The elements of a in another shape, in C order, or in Fortran order with `order="F"`; one
    length may be -1."""
    if _require_order("reshape", a, order) != "C":
        turned = shape[::-1] if isinstance(shape, (tuple, list)) else shape
        return np.transpose(reshape_of(np.transpose(a), turned))
    old = shape_of(a)
    new = list(tagged(tuple(_lengths("reshape", shape))))
    size = math.prod(old)
    if new.count(-1) == 1:
        known = -math.prod(new)
        if known > 0 and size % known == 0:
            new[new.index(-1)] = size // known
    if math.prod(new) != size or -1 in new:
        raise DimensionMismatch(
            f"reshape: {size} elements of shape {old} do not fill {shape}; its lengths must "
            f"multiply to {size}, and one of them may be -1"
        )
    out = apply(reshape, a, shape=tuple(new))
    if isinstance(a, Array) and (a.origin is None or numpy_gives_view(a, lambda x: x.reshape(new))):
        if out is not a:
            link(a, out, Shape(tuple(new)))
    return out


def _require_order(op: str, a, order) -> str:
    """The order of the elements, "C" or "F"; "C" for at most one axis."""
    if order in ("C", "F"):
        return order
    if order in ("A", "K") and len(shape_of(a)) < 2:
        return "C"
    raise ArgumentError(
        f"{op}: order={order!r}: tracked arrays have no order in memory; give 'C' or 'F'"
    )


@implements(np.ravel)
def ravel(a, order: Any = "C"):
    """The elements along one axis, in C order, or in Fortran order with `order="F"`."""
    order = _require_order("ravel", a, order)
    out = reshape_of(a if order == "C" else np.transpose(a), -1)
    # A view with gaps is copied, although reshape would return a view of it.
    is_view = isinstance(a, Array) and numpy_gives_view(a, lambda x: x.ravel(order))
    return out if is_view else copied(out)


def _transpose_infer(x, *, axes):
    return Aval.of(tuple(x.shape[i] for i in axes), common_type(x))


def _inverse(axes):
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


transpose = Linear(
    "transpose",
    lambda x, *, axes: np.transpose(x, axes),
    _transpose_infer,
    lambda ct, args, *, axes: [np.transpose(ct, _inverse(axes))],
    function=np.transpose,
    batch=batching.permuted,
    unit=True,
    form=forms.transpose,
    pattern=patterns.moved,
    samples=[sample((2, 3), axes=(1, 0)), sample((2, 3, 4), axes=(2, 0, 1)), sample((), axes=())],
)


@implements(np.transpose)
def transpose_of(a, axes=None):
    """Axes permuted, or reversed if `axes` is None."""
    ndim = len(shape_of(a))
    if axes is None:
        order = tuple(range(ndim))[::-1]
        return view(a, apply(transpose, a, axes=order), Axes(order))
    order = tuple([shapes.axis_of(axis, ndim, "transpose") for axis in axes])
    if sorted(order) != list(range(ndim)):
        raise ArgumentError(
            f"transpose: axes {axes} do not permute the {ndim} axes of the array; name each once"
        )
    return view(a, apply(transpose, a, axes=order), Axes(order))


def _broadcast(x, *, shape):
    x = np.asarray(x)
    axes = shapes.lost_axes(x.shape, shape)
    return kernels.spread(x, shape, axes) if axes else np.array(x).reshape(shape)


broadcast_to = Linear(
    "broadcast_to",
    _broadcast,
    lambda x, *, shape: Aval.of(shape, common_type(x)),
    lambda ct, args, *, shape: [bind(unbroadcast, ct, shape=shape_of(args[0]))],
    function=np.broadcast_to,
    batch=batching.repeated,
    blocks=jacobian.elementwise,
    unit=True,
    form=forms.broadcast_to,
    pattern=patterns.moved,
    simplify=simplify.of_same_shape,
    samples=[
        sample((3,), shape=(2, 3)),
        sample((2, 1), shape=(2, 3)),
        sample((), shape=(2,)),
        sample((1, 3, 1), shape=(2, 3, 2)),
    ],
)


@implements(np.broadcast_to)
def broadcast_to_of(array, shape):
    """x broadcast to `shape`."""
    shape = tuple(_lengths("broadcast_to", shape))
    if shapes.broadcast("broadcast_to", shape_of(array), shape) != shape:
        raise DimensionMismatch(
            f"broadcast_to: the shape {shape_of(array)} does not fill {shape}; only an axis of "
            "length 1 can be repeated"
        )
    out = apply(broadcast_to, array, shape=shape)
    return view(array, out, ReadOnly(lambda x: np.broadcast_to(x, shape), "np.broadcast_to"))


def _concatenate_infer(*avals, axis):
    shape = list(avals[0].shape)
    shape[axis] = sum(aval.shape[axis] for aval in avals)
    return Aval.of(tuple(shape), common_type(*avals))


def _concatenate_transpose(ct, args, *, axis):
    cotangents, start = [], 0
    for arg in args:
        stop = start + shape_of(arg)[axis]
        cotangents.append(ct[(slice(None),) * axis + (slice(start, stop),)])
        start = stop
    return cotangents


concatenate = Linear(
    "concatenate",
    lambda *arrays, axis: np.concatenate([held(a) for a in arrays], axis=axis),
    _concatenate_infer,
    _concatenate_transpose,
    function=np.concatenate,
    along="axis",
    unit=True,
    form=forms.concatenate,
    pattern=patterns.moved,
    samples=[
        sample((2,), (3,), axis=0),
        sample((2, 3), (2, 1), axis=1),
        sample((0, 3), (2, 3), (1, 3), axis=0),
    ],
)


def _cast(op: str, arrays, dtype, casting) -> list:
    """The arrays cast to `dtype`."""
    if dtype is None:
        return list(arrays)
    arrays = [x if hasattr(x, "dtype") else array(x) for x in arrays]
    for x in arrays:
        if not np.can_cast(x.dtype, dtype, casting):
            raise DtypeError(f"{op}: cannot cast {x.dtype} to {np.dtype(dtype)} by {casting!r}")
    return [x.astype(dtype) for x in arrays]


@implements(np.concatenate)
def concatenate_of(arrays, axis=0, *, dtype=None, casting="same_kind"):
    """Arrays joined along an existing axis; flattened arrays if `axis` is None."""
    arrays = _cast("concatenate", arrays, dtype, casting)
    if not arrays:
        raise EmptyError("concatenate: need at least one array")
    if axis is None:
        return concatenate_of([np.reshape(a, -1) for a in arrays])
    given = [shape_of(a) for a in arrays]
    if not given[0]:
        raise ArgumentError("concatenate: arrays without axes cannot be joined; use np.stack")
    axis = shapes.axis_of(axis, len(given[0]), "concatenate")
    rests = [shape[:axis] + shape[axis + 1 :] for shape in given]
    if any(len(shape) != len(given[0]) for shape in given) or any(r != rests[0] for r in rests):
        listed = ", ".join(map(str, given))
        raise DimensionMismatch(
            f"concatenate: the shapes {listed} differ outside of axis {axis}; they must agree there"
        )
    return bind(concatenate, *arrays, axis=axis)


def _stack_infer(*avals, axis):
    shape = avals[0].shape if isinstance(avals[0], Aval) else ()
    return Aval.of((*shape[:axis], len(avals), *shape[axis:]), common_type(*avals))


stack_row = Linear(
    "stack",
    lambda *arrays, axis: np.stack([held(a) for a in arrays], axis=axis),
    _stack_infer,
    lambda ct, args, *, axis: [ct[(slice(None),) * axis + (i,)] for i in range(len(args))],
    function=np.stack,
    along="axis",
    unit=True,
    form=forms.stack,
    pattern=patterns.moved,
    samples=[sample((3,), (3,), axis=0), sample((2, 3), (2, 3), axis=2), sample((), (), axis=0)],
)


@implements(np.stack)
def stack(arrays, axis=0, *, dtype=None, casting="same_kind"):
    """Arrays of one shape joined along a new axis."""
    arrays = _cast("stack", arrays, dtype, casting)
    arrays = [x if hasattr(x, "dtype") else np.asarray(x) for x in arrays]
    if not arrays:
        raise EmptyError("stack: need at least one array")
    given = [shape_of(a) for a in arrays]
    if len(set(given)) > 1:
        raise DimensionMismatch(
            f"stack: the shapes {', '.join(map(str, given))} differ; stacked arrays need one shape"
        )
    axis = shapes.axis_of(axis, len(given[0]) + 1, "stack")
    return bind(stack_row, *arrays, axis=axis)


def array(nested: Any) -> Any:
    """An array from nested lists and tuples of tracked and plain numbers and arrays, in the dtype
    that NumPy gives them together.

    >>> x = nbgrad.track(2.0)
    >>> nbgrad.array([[x, 1.0], [0.0, x * x]])
    [[2. 1.]
     [0. 4.]] (tracked stack)
    """
    if isinstance(nested, (list, tuple)) and nested:
        return np.stack([array(item) for item in nested])
    if isinstance(nested, (Array, Pair)):
        return nested
    require_unmasked(nested, "array")
    return np.asarray(nested)


@implements("given")
def given(x: Any) -> Any:
    """An array from an argument of a NumPy function: an array, a Python number, or nested lists,
    which may contain tracked numbers."""
    if hasattr(x, "dtype"):
        return x
    return array(x) if isinstance(x, (list, tuple)) else np.asarray(x)


astype = Linear(
    "astype",
    lambda x, *, dtype: np.asarray(x).astype(dtype),
    lambda x, *, dtype: Aval.of(x.shape, np.dtype(dtype)),
    lambda ct, args, *, dtype: [bind(astype, ct, dtype=args[0].dtype.name)],
    along="",
    unit=True,
    form=forms.astype,
    pattern=patterns.same,
    reference=lambda x, *, dtype: x.astype(dtype),
    spelling="`x.astype`",
    samples=[sample((2, 3), dtype="float64"), sample((), dtype="float64")],
)


@implements("astype")
def astype_of(x, dtype):
    """Cast to another real dtype. Integers and bools have no derivative, and are plain arrays in
    eager mode. Raises TypeError for other dtypes."""
    kind = np.dtype(dtype).newbyteorder("=")
    if kind not in FLOATS and kind.kind not in "iub":
        raise DtypeError(
            f"astype({kind.name}): tracked values are float64 or float32, and integers and bools "
            "have no derivative; use x.data.astype for others"
        )
    if x.dtype == kind:
        return x.settled()
    if kind not in FLOATS:
        value = x
        while isinstance(value, Array) and value.is_batch:
            value = value.below
        if isinstance(value, Array) and not isinstance(value, Symbol):
            x = functions["stopped"](x)
    return bind(astype, x, dtype=kind.name) if isinstance(x, Array) else np.asarray(x).astype(kind)
