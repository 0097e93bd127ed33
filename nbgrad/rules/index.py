"""Indexing: slices, integers, arrays of integers, and the scatter that is their transpose."""

import numpy as np

from ..capi.gate import is_tracing
from ..core.array import Array, apply, implements
from ..core.conversions import wrong_index
from ..core.functions import functions, items_of
from ..core.memory import link
from ..core.primitive import Aval, Primitive, Unplanned, bind, shape_of
from ..core.steps import Index, Path, names_rest
from ..core.symbols import recording
from ..eager import plans as eager
from ..errors import require_unmasked
from ..ir.naming import naming
from ..ir.sizes import is_dynamic
from ..kernels import index as kernels
from ..runtime.kinds import is_a
from . import batching, patterns
from .dtypes import common_type
from .families import Custom, Linear, sample
from .forms import indexing as forms
from .forms.indexing import HOLE, filled


def is_basic(index) -> bool:
    """Whether an index is basic: only ints, slices, None and Ellipsis."""
    if type(index) is slice or type(index) is int:
        return True
    for part in index if isinstance(index, tuple) else (index,):
        known = part is None or part is Ellipsis or is_a(part, (int, np.integer, slice))
        if not known or isinstance(part, bool):
            return False
    return True


def _compute(x, *, index):
    x = np.asarray(x)
    if type(index) is Path:
        return np.array(index.view(x)[index.index])
    if type(index) is np.ndarray and index.dtype == np.intp and x.ndim and index.ndim:
        return x.take(index, 0)  # in half the time
    if is_basic(index):
        return np.array(x[index])
    if _takes_many(index, x):
        rows = kernels.positions(index, x.shape)[0]
        return x.take(rows, mode="clip").reshape(np.broadcast(*index).shape)
    return np.array(x[index], order="C", copy=None)


# Elements from which on flat positions are faster, including the time to compute them.
_MANY = 4096


def _takes_many(index, x: np.ndarray) -> bool:
    """Whether an index takes many single elements, for which flat positions are faster."""
    if type(index) is not tuple or len(index) != x.ndim or not x.flags.c_contiguous:
        return False
    arrays = all(type(part) is np.ndarray and part.dtype.kind in "iu" for part in index)
    return arrays and max(part.size for part in index) >= _MANY


def add_into(buffer: np.ndarray, ct: np.ndarray, index) -> None:
    """buffer[index] += ct, with equal positions accumulated; `buffer` is contiguous."""
    if type(index) is Path:
        buffer, index = index.view(buffer), index.index
    if type(index) is slice:
        part = buffer[index]
        np.add(part, ct, part)
    elif is_basic(index):
        buffer[index] += ct
    else:
        kernels.add_at(buffer, index, ct)


class IndexPlan(eager.FunctionPlan):
    """Indexing of one array: cotangents are added into one buffer."""

    __slots__ = ()
    adds = True

    def add_into(self, buffer, ct):
        add_into(buffer, ct, self.params["index"])


_of_slices: dict[tuple, IndexPlan] = {}


def slice_plan(aval: Aval, index: int | slice) -> IndexPlan:
    """The plan of `x[index]`, cached for equal slices."""
    key = (aval, index)
    if isinstance(index, slice):
        key = aval, index.start, index.stop, index.step
    try:
        plan = _of_slices.get(key)
    except TypeError:  # unhashable bounds: arrays of one element
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
    return Aval.of(_shape_at(x.shape, index, forms.template_of), common_type(x))


def _shape_at(shape: tuple[int, ...], index, how=forms.outline_of) -> tuple[int, ...]:
    """The shape of `x[index]` for an array of this shape. Raises IndexError."""
    if naming() is not None:
        parts = index if isinstance(index, tuple) else (index,)
        bounds = [b for p in parts if isinstance(p, slice) for b in (p.start, p.stop)]
        if any(map(is_dynamic, (*shape, *parts, *bounds))):
            return how(index, shape)[1]
    return np.broadcast_to(np.empty(()), shape)[index].shape


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


def _added(x, *, shape, index):
    out = np.zeros(shape, x.dtype)
    np.add.at(out, index, x)
    return out


def _index_transpose(ct, args, *, index):
    if type(index) is Path:
        return [index.set(np.zeros(shape_of(args[0]), ct.dtype), ct)]
    return [bind(scatter, ct, shape=shape_of(args[0]), index=index)]


index_row = Linear(
    "index", _compute, _infer,
    _index_transpose,
    samples=_samples, notes="an index that occurs twice gets both cotangents", batch=batching.taken,
    unit=True, form=forms.gather, pattern=patterns.moved, spelling="`x[i]`",
    reference=lambda x, *, index: x[index],
)  # fmt: skip
index_row.plan_class = IndexPlan
index_row.plans = Unplanned()
scatter = Linear(
    "scatter", _scatter, lambda ct, *, shape, index: Aval.of(shape, common_type(ct)),
    lambda ct, args, *, shape, index: [bind(index_row, ct, index=index)],
    samples=[
        sample((), shape=(3,), index=1),
        sample((4, 3), shape=(2, 3), index=_rows),
    ],
    notes="zeros of a shape, with values added at an index: the transpose of index",
    batch=batching.scattered, unit=True, form=forms.scatter, pattern=patterns.scattered,
    reference=_added,
)  # fmt: skip


# -- positions that are arguments -----------------------------------------------------------------


def _gather_infer(x: Aval, *positions, index) -> Aval:
    zeros = [np.zeros(p.shape, np.intp) if isinstance(p, Aval) else p for p in positions]
    return Aval.of(_shape_at(x.shape, filled(index, zeros)), common_type(x))


def _gather_batch(primitive, size, args, batched, *, index):
    """Positions of each sample, after the number of the sample."""
    (x, *positions), (has_x, *has) = args, batched
    full, positions = batching.over_samples(size, index, positions, has, has_x)
    if full is None:
        return Primitive.batch(primitive, size, args, batched, index=index)
    return bind(primitive, x, *positions, index=full)


def _scatter_batch(primitive, size, args, batched, *, shape, index):
    (ct, *positions), (_, *has) = args, batched
    full, positions = batching.over_samples(size, index, positions, has, True)
    if full is None:
        return Primitive.batch(primitive, size, args, batched, shape=shape, index=index)
    (ct,) = batching.spread(size, (ct,), batched[:1])
    return bind(primitive, ct, *positions, shape=(size, *shape), index=full)


gather = Custom(
    "gather",
    lambda x, *positions, index: _compute(x, index=filled(index, positions)),
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
    batch=_gather_batch,
    unit=True,
    form=forms.gather,
    pattern=patterns.gathered,
    reference=lambda x, *positions, index: x[filled(index, positions)],
)
scatter_at = Custom(
    "scatter_at",
    lambda ct, *positions, shape, index: _scatter(ct, shape=shape, index=filled(index, positions)),
    lambda ct, *positions, shape, index: Aval.of(shape, common_type(ct)),
    lambda ct, out, args, need, *, shape, index: [
        bind(gather, ct, *args[1:], index=index),
        *(None for _ in args[1:]),
    ],
    lambda tangents, out, args, *, shape, index: bind(
        scatter_at, tangents[0], *args[1:], shape=shape, index=index
    ),
    samples=[sample((3,), np.array([2, 0, 2]), shape=(4,), index=HOLE)],
    notes="the transpose of gather",
    batch=_scatter_batch,
    unit=True,
    form=forms.scatter,
    pattern=patterns.scattered,
    reference=lambda x, *positions, shape, index: _added(
        x, shape=shape, index=filled(index, positions)
    ),
)
gather.checks = scatter_at.checks = True
index_row.at, scatter.at = gather, scatter_at


def without_lists(index):
    """An index with arrays in place of lists, ranges and inner tuples, as in NumPy."""
    if isinstance(index, tuple):
        if any(is_a(part, (list, tuple, range, np.ndarray)) for part in index):
            return tuple(
                without_lists(list(part) if isinstance(part, tuple) else part) for part in index
            )
    elif isinstance(index, (list, range)):
        if is_tracing() and any(isinstance(x, Array) for x in items_of(index)):
            return functions["given"](index)
        index = np.asarray(index)
        return index if index.size else index.astype(np.intp)
    require_unmasked(index, "index")
    return index


@implements("index")
def index_of(x, index):
    """`x[index]`. Raises IndexError as NumPy does.

    Arrays in the index are copied, since the pullback reads them again.
    """
    if type(index) is np.ndarray:
        return at_index(x, held(index))
    index = held(without_lists(index))
    out = at_index(x, index)
    both = isinstance(x, Array) and isinstance(out, Array)
    if both and is_view(index) and (out.shape or names_rest(index)):
        link(x, out, Index(index))
    return out


def is_view(index) -> bool:
    """Whether indexing gives a view; integers in the index may be traced."""
    for part in index if isinstance(index, tuple) else (index,):
        if not (isinstance(part, Array) and part.shape == ()) and not is_basic(part):
            return False
    return True


def at_index(x, index):
    """`x[index]`, for an index whose arrays do not change."""
    if type(index) is tuple and len(index) == 1 and type(index[0]) is np.ndarray:
        (index,) = index
    if type(index) is np.ndarray:
        return apply(index_row, x, index=index)
    index, positions = divided(index)
    if positions:
        return bind(gather, x, *positions, index=index)
    return apply(index_row, x, index=index)


def held(index):
    """The index with its arrays copied, so that later writes do not change it. A recorder makes the
    copies itself, since it compares the arrays before each call."""
    recorder = recording.recorder
    copied = np.copy if recorder is None else recorder.fix
    if isinstance(index, tuple):
        return tuple([copied(part) if is_a(part, np.ndarray) else part for part in index])
    return copied(index) if is_a(index, np.ndarray) else index


def divided(index):
    """An index with holes in place of traced positions, and these positions.

    Raises TraceError or UntrackedError for bools among them, IndexError for floats.
    """
    parts = index if isinstance(index, tuple) else (index,)
    positions = [part for part in parts if isinstance(part, Array)]
    if not positions:
        return index, positions
    if any(part.dtype.kind not in "iu" for part in positions):
        raise wrong_index(positions)
    holes = tuple(HOLE if isinstance(part, Array) else part for part in parts)
    return holes if isinstance(index, tuple) else HOLE, positions


def selected(index, positions, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that an index with holes takes from an array of `shape`. Raises IndexError."""
    if positions:
        index = filled(index, [np.zeros(shape_of(p), np.intp) for p in positions])
    return _shape_at(shape, index)


# No plans are cached, since their indices contain arrays.
scatter.plans = gather.plans = scatter_at.plans = Unplanned()
