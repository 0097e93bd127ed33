"""Indexing: slices, integers, arrays of integers, and the scatter that is their transpose."""

import numpy as np

from .. import eager
from ..array import Array, apply, implements
from ..core import Aval, Unplanned, bind, shape_of
from ..errors import TraceError
from ..kernels import index as kernels
from ..symbols import user_line
from .families import Custom, Linear, float_type, sample


def is_basic(index) -> bool:
    """Only ints, slices, None and Ellipsis: no element is taken twice."""
    if type(index) is slice or type(index) is int:
        return True
    for part in index if isinstance(index, tuple) else (index,):
        known = part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice))
        if not known or isinstance(part, bool):
            return False
    return True


def _compute(x, *, index):
    x = np.asarray(x)
    if type(index) is np.ndarray and index.dtype == np.intp and x.ndim and index.ndim:
        return x.take(index, 0)  # in half the time
    if is_basic(index):
        return np.array(x[index])
    return np.array(x[index], order="C", copy=None)


def add_into(buffer: np.ndarray, ct: np.ndarray, index) -> None:
    """buffer[index] += ct, where equal positions add up; `buffer` is contiguous."""
    if type(index) is slice:
        part = buffer[index]
        np.add(part, ct, part)
    elif is_basic(index):
        buffer[index] += ct
    else:
        kernels.add_at(buffer, index, ct)


class IndexPlan(eager.Call):
    """Reads of one array: their cotangents are added into one buffer."""

    __slots__ = ()
    adds = True

    def add_into(self, buffer, ct):
        add_into(buffer, ct, self.params["index"])


_of_slices: dict[tuple, IndexPlan] = {}


def slice_plan(aval: Aval, index: int | slice) -> IndexPlan:
    """The plan of `x[index]`, the same for equal slices: they are read again and again."""
    key = (aval, index) if type(index) is int else (aval, index.start, index.stop, index.step)
    try:
        plan = _of_slices.get(key)
    except TypeError:  # bounds may be arrays of one number
        return IndexPlan(index_row, (aval,), {"index": index})
    if plan is None:
        if len(_of_slices) >= eager.LIMIT:
            _of_slices.clear()
        plan = _of_slices[key] = IndexPlan(index_row, (aval,), {"index": index})
        plan.aval = _infer(aval, index=index)
    return plan


def _scatter(ct, *, shape, index):
    out = np.zeros(shape, ct.dtype)
    if is_basic(index):
        out[index] = ct
    else:
        add_into(out, np.asarray(ct), index)
    return out


def _infer(x: Aval, *, index) -> Aval:
    probe = np.broadcast_to(np.empty((), x.dtype), x.shape)
    return Aval.of(probe[index].shape, float_type(x))


_rows = np.array([0, 1, 1, -1])
_samples = [
    sample((3,), index=1),
    sample((2, 3), index=(slice(None), slice(0, 2))),
    sample((2, 3), index=(..., None, slice(None, None, -2))),
    sample((2, 3), index=_rows),
    sample((2, 3), index=(np.array([0, 1, 1]), np.array([2, 0, 0]))),
    sample((2, 3, 2), index=(slice(None), np.array([[2, 0], [1, 1]]))),
    sample((3,), index=np.array([], np.intp)),
    sample((2, 3), index=np.array([[True, False, True], [False, False, True]])),
]

index_row = Linear(
    "index", _compute, _infer,
    lambda ct, args, *, index: [bind(scatter, ct, shape=shape_of(args[0]), index=index)],
    samples=_samples, notes="an index that occurs twice gets both cotangents",
)  # fmt: skip
index_row.plan_class = IndexPlan
index_row.plans = Unplanned()
scatter = Linear(
    "scatter", _scatter, lambda ct, *, shape, index: Aval.of(shape, float_type(ct)),
    lambda ct, args, *, shape, index: [bind(index_row, ct, index=index)],
    samples=[
        sample((), shape=(3,), index=1),
        sample((4, 3), shape=(2, 3), index=_rows),
    ],
    notes="zeros of a shape, with values added at an index: the transpose of index",
)  # fmt: skip


# -- positions that are arguments -----------------------------------------------------------------

HOLE = "position"
"""Stands in a static index for a position that is an argument of the op."""


def _filled(index, positions):
    """The index with its holes filled."""
    rest = iter(positions)
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(np.asarray(next(rest)) if part is HOLE else part for part in parts)


def _gather_infer(x: Aval, *positions, index) -> Aval:
    probe = np.broadcast_to(np.empty((), x.dtype), x.shape)
    zeros = [np.zeros(p.shape, np.intp) if isinstance(p, Aval) else p for p in positions]
    return Aval.of(probe[_filled(index, zeros)].shape, float_type(x))


gather = Custom(
    "gather",
    lambda x, *positions, index: _compute(x, index=_filled(index, positions)),
    _gather_infer,
    lambda ct, out, args, need, *, index: [
        bind(scatter_at, ct, *args[1:], shape=shape_of(args[0]), index=index),
        *(None for _ in args[1:]),
    ],
    lambda tangents, out, args, *, index: bind(gather, tangents[0], *args[1:], index=index),
    samples=[
        sample((4,), np.array([2, 0, 2]), index=HOLE),
        sample((3, 2), np.array([1, -1]), index=(HOLE, 1)),
    ],
    notes="x[i] for positions i that are known only when the program runs",
)
scatter_at = Custom(
    "scatter_at",
    lambda ct, *positions, shape, index: _scatter(ct, shape=shape, index=_filled(index, positions)),
    lambda ct, *positions, shape, index: Aval.of(shape, float_type(ct)),
    lambda ct, out, args, need, *, shape, index: [
        bind(gather, ct, *args[1:], index=index),
        *(None for _ in args[1:]),
    ],
    lambda tangents, out, args, *, shape, index: bind(
        scatter_at, tangents[0], *args[1:], shape=shape, index=index
    ),
    samples=[sample((3,), np.array([2, 0, 2]), shape=(4,), index=HOLE)],
    notes="the transpose of gather",
)


@implements("index")
def index_of(x, index):
    """`x[index]`. Raises IndexError as NumPy does."""
    if type(index) is np.ndarray:
        return apply(index_row, x, index=index)
    if isinstance(index, list):
        index = np.asarray(index)
        index = index if index.size else index.astype(np.intp)
    parts = index if isinstance(index, tuple) else (index,)
    positions = [part for part in parts if isinstance(part, Array)]
    if positions:
        if any(part.dtype.kind not in "iu" for part in positions):
            raise TraceError(
                "an index of bools that depends on the arguments gives a shape that depends on "
                "values: use np.where(mask, x, 0.0)" + user_line()
            )
        holes = tuple(HOLE if isinstance(part, Array) else part for part in parts)
        return bind(gather, x, *positions, index=holes if isinstance(index, tuple) else HOLE)
    return apply(index_row, x, index=index)


scatter.plans = Unplanned()
