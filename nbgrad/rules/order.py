"""Sorting, partitioning, argmax and argmin, and searchsorted."""

import numpy as np

from ..compiler.kernel import DISABLED
from ..core.array import implements
from ..core.primitive import Aval, bind, shape_of
from ..errors import ArgumentError, EmptyError, OutError
from ..ir.reductions import MAXIMUM, MINIMUM
from ..kernels import selection, shapes
from ..runtime.kinds import is_a
from .dtypes import INT, held
from .families import WithoutDerivative, sample
from .forms import order as forms
from .select import along

# -- sorting --------------------------------------------------------------------------------------


# From this size on, kernels are faster by more than the time to compile them.
_LARGE = 1 << 14
# Up to this size NumPy's stable sort is as fast as its others.
_SHORT = 128
_SORTED_BY_KERNELS = {np.dtype(kind) for kind in ("float64", "float32", "int64") if not DISABLED}


def _order(x, *, axis, kth, kind):
    """Equal elements keep their order, as in compiled programs."""
    x = np.asarray(x)
    if x.size >= _LARGE and x.dtype in _SORTED_BY_KERNELS and len(kth) != 1:
        rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
        return np.ascontiguousarray(np.moveaxis(selection.order_of_rows(rows, kth), -1, axis))
    if kind is None and x.shape[axis] <= _SHORT:
        return np.argsort(x, axis, "stable")
    order = np.argpartition(x, kth, axis) if kth else np.argsort(x, axis, kind)
    return np.argsort(x, axis, "stable") if _are_tied(x, order, axis, kth) else order


def _are_tied(x, order, axis, kth) -> bool:
    """Whether there are equal elements, or elements equal to one at `kth`; nan equals nan."""
    if axis not in (-1, x.ndim - 1):
        x, order = np.moveaxis(x, axis, -1), np.moveaxis(order, axis, -1)
    places = order[..., kth] if kth else order
    found = x[places] if x.ndim == 1 else np.take_along_axis(x, places, -1)
    if kth:
        rows = x.size // x.shape[-1]
        singles = (np.count_nonzero(x == found[..., [i]]) == rows for i in range(len(kth)))
        return bool((found != found).any()) or not all(singles)
    last = found[..., -2:-1]
    return bool((found[..., 1:] == found[..., :-1]).any() or (last != last).any())


def _smallest_first(x, *, axis, kth, kind):
    return np.argsort(x, axis, kind)


order_row = WithoutDerivative(
    "argsort", _order, lambda x, *, axis, kth, kind: Aval.of(x.shape, INT), along="axis",
    samples=[
        sample((5,), axis=0, kth=(), kind=None), sample((3, 4), axis=0, kth=(), kind="stable"),
        sample((3, 4), axis=1, kth=(), kind=None), sample((0, 3), axis=1, kth=(), kind=None),
    ],
    form=forms.argsort, reference=_smallest_first,
    notes="equal elements keep their order, whatever the kind, so the first of them has the whole "
    "derivative of the first place; kth: only these places are right, as np.argpartition has it",
    slow="NumPy sorts short rows of floats in vectors, without the positions that a derivative "
    "asks for, and selects in vectors, which compiled programs do not",
)  # fmt: skip


def order_of(x, axis: int, kth=(), kind=None):
    """The positions of the elements in ascending order along `axis`, or of those at `kth`."""
    return bind(order_row, x, axis=axis, kth=tuple(kth), kind=kind)


def _line(a, axis, op: str, take_number: bool = False):
    """The array and the axis to sort along: the flattened array for None, and for a number if
    NumPy's function accepts one."""
    if axis is None or (take_number and axis in (0, -1) and not shape_of(a)):
        return np.reshape(a, -1), 0
    return a, shapes.axis_of(axis, len(shape_of(a)), op)


def _kind(kind, order, stable, op: str):
    if order is not None:
        raise ArgumentError(f"{op}: order is for arrays with fields")
    if kind is not None and stable is not None:
        raise ArgumentError(f"{op}: `kind` and `stable` cannot be given together")
    return "stable" if stable else kind


@implements(np.argsort)
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """The positions of the elements in ascending order along `axis`: plain integers."""
    a, axis = _line(a, axis, "argsort", take_number=True)
    return order_of(a, axis, kind=_kind(kind, order, stable, "argsort"))


@implements(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    """Elements in ascending order along `axis`; the pullback restores the order."""
    a, axis = _line(a, axis, "sort")
    kind = _kind(kind, order, stable, "sort")
    return along(a, order_of(a, axis, kind=kind), axis)


def _kth(kth, n: int, size: int, op: str) -> tuple[int, ...]:
    places = [shapes.whole(k, f"{op}: kth") for k in np.ravel(kth)]
    if not size:
        return ()
    for k in places:
        if not -n <= k < n:
            raise ArgumentError(f"{op}: kth={k} is out of bounds for an axis of length {n}")
    return tuple(k % n for k in places)


@implements(np.argpartition)
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    """Positions that partition the elements around the `kth` one in sorted order."""
    _kind(None, order, None, "argpartition")
    a, axis = _line(a, axis, "argpartition", take_number=True)
    return order_of(a, axis, _kth(kth, shape_of(a)[axis], a.size, "argpartition"))


@implements(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    """Elements partitioned around the `kth` one in sorted order."""
    a, axis = _line(a, axis, "partition")
    return along(a, argpartition(a, kth, axis, order=order), axis)


# -- the largest and the smallest -----------------------------------------------------------------


def _extreme(function, kind):
    def compute(x, *, axis):
        return np.asarray(function(np.asarray(x), axis=axis))

    def infer(x: Aval, *, axis):
        return Aval.of(shapes.reduced(x.shape, (axis,), False), INT)

    row = WithoutDerivative(
        function.__name__, compute, infer, along="axis", function=function,
        samples=[sample((3,), axis=0), sample((2, 3), axis=0), sample((2, 3, 2), axis=1)],
        form=forms.extreme(kind),
    )  # fmt: skip

    def position(a, axis=None, out=None, *, keepdims: bool = False):
        shape = shape_of(a)
        whole = axis is None or not shape
        a, axis = _line(a, axis, row.name, take_number=True)
        if out is not None:
            raise OutError(f"{row.name}: out=... cannot be written to; use what it returns")
        if not shape_of(a)[axis]:
            raise EmptyError(f"{row.name}: an axis of length 0 of an array of shape {shape}")
        found = bind(row, a, axis=axis)
        axes = range(len(shape)) if whole else (axis,)
        if keepdims:
            return np.reshape(found, shapes.reduced(shape, axes, True))
        return found[()] if is_a(found, np.ndarray) else found  # as in NumPy

    position.__name__ = function.__name__
    position.__doc__ = f"np.{function.__name__}: the first position, a plain integer."
    implements(function)(position)


_extreme(np.argmax, MAXIMUM)
_extreme(np.argmin, MINIMUM)


# -- among sorted numbers -------------------------------------------------------------------------


def _searched(a, v, *, side):
    return np.asarray(np.searchsorted(held(a), held(v), side))


def _searched_batch(row, size, args, batched, *, side):
    if batched[0]:
        return WithoutDerivative.batch(row, size, args, batched, side=side)
    return bind(row, *args, side=side)


searched_row = WithoutDerivative(
    "searchsorted", _searched, lambda a, v, *, side: Aval.of(v.shape, INT), batch=_searched_batch,
    samples=[
        sample(np.array([-1.0, 0.0, 1.0]), (4,), side="left"),
        sample(np.array([-1.0, 0.0, 1.0]), (2, 3), side="right"),
        sample(np.array([0.5]), (), side="left"), sample(np.zeros(0), (3,), side="left"),
    ],
    form=forms.searchsorted, function=np.searchsorted,
)  # fmt: skip


@implements(np.searchsorted)
def searchsorted(a, v, side="left", sorter=None):
    """The positions at which `v` would be inserted into the sorted `a`: plain integers."""
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side={side!r} must be 'left' or 'right'")
    a, v = (x if hasattr(x, "dtype") else np.asarray(x) for x in (a, v))
    if len(shape_of(a)) != 1:
        raise ArgumentError(
            f"searchsorted: the sorted numbers have the shape {shape_of(a)}, not one axis"
        )
    if sorter is not None:
        a = np.take(a, sorter)
    return bind(searched_row, a, v, side=side)
