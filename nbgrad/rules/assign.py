"""Writing at an index: the row of `x.at[i].set(v)` and `y[i] = v`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array, functions
from ..core.primitive import Aval, Primitive, Unplanned, bind, shape_of
from ..core.steps import Path
from ..errors import (
    DimensionMismatch,
    MissingAttribute,
    NoRuleError,
    TraceError,
    UntrackedError,
    require_unmasked,
)
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from . import batching, dtypes, patterns
from .dtypes import common_type
from .families import Custom, Linear, sample, zeros_like
from .forms import indexing as forms
from .forms.indexing import HOLE, filled
from .index import (
    divided,
    gather,
    held,
    index_of,
    is_basic,
    scatter,
    scatter_at,
    selected,
    without_lists,
)


def _assigned(x, value, *, index):
    out = np.array(x, common_type(np.asarray(x).dtype, dtypes.kind_of(value)), order="C")
    if type(index) is Path:
        part = index.view(out)
        part[index.index] = value
    else:
        out[index] = value
    return out


def _transpose(ct, args, *, index):
    """Zero for overwritten elements; the value gets the cotangent at the index."""
    if type(index) is Path:
        part = index.view(ct)
        cleared, index = index.set(ct, 0.0), index.index
    else:
        part, cleared = ct, bind(assign, ct, 0.0, index=index)
    taken = index_of(part, index)
    last = last_writes(index, shape_of(part))
    return [cleared, taken if last is None else np.where(last, taken, 0.0)]


def last_writes(index, shape: tuple[int, ...]) -> np.ndarray | None:
    """The mask of the writes that are the last ones to their position; None if all are."""
    if is_basic(index) or _are_distinct(index, shape):
        return None
    positions = np.arange(int(np.prod(shape, dtype=np.intp))).reshape(shape)[index]
    writes = np.arange(positions.size)
    winner = np.empty(int(np.prod(shape, dtype=np.intp)), np.intp)
    winner[positions.ravel()] = writes
    last = winner[positions.ravel()] == writes
    return None if last.all() else last.reshape(positions.shape)


def _are_distinct(index, shape: tuple[int, ...]) -> bool:
    """Whether the arrays of an index contain each position once, as far as they alone decide it."""
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [(i, np.asarray(part)) for i, part in enumerate(parts) if hasattr(part, "dtype")]
    if len(arrays) == 1 and arrays[0][1].dtype == bool:
        return True
    if any(part is None or part is Ellipsis for part in parts):
        return False
    if not arrays or any(array.dtype.kind not in "iu" for _, array in arrays):
        return False
    lengths = [shape[i] for i, _ in arrays]
    joint = np.broadcast_arrays(*(array % n for (_, array), n in zip(arrays, lengths, strict=True)))
    flat = np.sort(np.ravel_multi_index(joint, lengths), axis=None)
    return not (flat[1:] == flat[:-1]).any()


def _written(x, value, *, index):
    out = np.array(x)
    out[index] = value
    return out


assign = Linear(
    "assign",
    _assigned,
    lambda x, value, *, index: Aval.of(x.shape, common_type(x, value)),
    _transpose,
    samples=[
        sample((3,), (), index=1),
        sample((2, 3), (3,), index=(slice(None), slice(0, 3))),
        sample((2, 3), (2,), index=(np.array([1, 0]), np.array([2, 2]))),
        sample((3,), (3,), index=np.array([0, 2, 0])),
    ],
    notes="of several writes to one position the last one counts",
    batch=batching.assigned,
    unit=True,
    form=forms.assign,
    pattern=patterns.moved,
    reference=_written,
    spelling="`x.at[i].set(v)`",
)
assign.plans, assign.takes_numbers = Unplanned(), True


def _transpose_at(ct, out, args, need, *, index):
    """`_transpose` for traced positions."""
    x, _, *positions = args
    taken = bind(gather, ct, *positions, index=index)
    cleared = None
    if need[0]:
        cleared = bind(assign_at, ct, zeros_like(taken), *positions, index=index)
    last = _last_of(index, positions, shape_of(x))
    taken = taken if last is None else np.where(last, taken, 0.0)
    return [cleared, taken if need[1] else None, *(None for _ in positions)]


def _last_of(index, positions, shape: tuple[int, ...]) -> np.ndarray | None:
    """`last_writes` for traced positions, on which it does not depend: they are scalars, or one per
    sample, of which no two write to one position."""
    if any(map(shape_of, positions)):
        return None
    return last_writes(filled(index, [np.zeros((), np.intp) for _ in positions]), shape)


def _push_at(tangents, out, args, *, index):
    x_dot, value_dot, *_ = tangents
    x_dot = zeros_like(out) if x_dot is None else x_dot
    if value_dot is None:
        value_dot = zeros_like(bind(gather, x_dot, *args[2:], index=index))
    return bind(assign_at, x_dot, value_dot, *args[2:], index=index)


def _batch_at(primitive, size, args, batched, *, index):
    (x, value, *positions), (has_x, has_value, *has) = args, batched
    full, aligned = batching.over_samples(size, index, positions, has, True)
    if full is None or any(shape_of(p)[own:] for p, own in zip(positions, has, strict=True)):
        return Primitive.batch(primitive, size, args, batched, index=index)
    if _last_of(index, [0] * len(positions), shape_of(x)[has_x:]) is not None:
        return Primitive.batch(primitive, size, args, batched, index=index)
    x, value = batching.spread(size, (x, value), (has_x, has_value))
    return bind(primitive, x, value, *aligned, index=full)


assign_at = Custom(
    "assign_at",
    lambda x, value, *positions, index: _assigned(x, value, index=filled(index, positions)),
    lambda x, value, *positions, index: Aval.of(x.shape, common_type(x, value)),
    _transpose_at,
    _push_at,
    samples=[
        sample((4,), (), np.array(2), index=HOLE),
        sample((3, 2), (2,), np.array(-1), index=(HOLE, slice(None))),
    ],
    notes="assign at positions that are known only when the program runs: no two of them are equal",
    batch=_batch_at,
    unit=True,
    form=forms.assign,
    pattern=patterns.assigned,
    reference=lambda x, value, *positions, index: _written(
        x, value, index=filled(index, positions)
    ),
)
assign_at.plans, assign_at.checks = Unplanned(), True
assign.at = assign_at


PLAIN = (np.ndarray, np.generic, float, int)
"""Arrays and numbers of NumPy and Python."""


class At:
    """`x.at[index]`: new arrays that differ from x at an index. x itself does not change.

    >>> x = nbgrad.track([1.0, 2.0, 3.0])
    >>> x.at[1:].set(0.0)
    [1. 0. 0.] (tracked assign)
    """

    def __init__(self, x: Any):
        self._x = x

    def __getitem__(self, index: Any) -> "AtIndex":
        return AtIndex(self._x, index)

    def __getattr__(self, name: str):
        raise MissingAttribute(f"x.at.{name}: it takes an index first, as in x.at[i].set(v)")


def at(x: Any) -> At:
    """`nbgrad.at(x)[i].set(v)`, `.add(v)` and `.multiply(v)`: new arrays that differ from x at an
    index, and `.get()`: its elements there.

    Arguments:
        x: any kind of array, tracked or plain; only tracked ones have `x.at`.

    The results are plain if x, the index and v are plain. Raises IndexError as NumPy does,
    DimensionMismatch for a value that does not broadcast to the selection.

    >>> nbgrad.at(np.zeros(3))[1].set(2.0)
    array([0., 2., 0.])
    """
    require_unmasked(x, "at")
    return At(x if isinstance(x, Array) else np.asarray(x))


class explaining_at:
    """Context manager in which the AttributeError of a plain array without `.at` names
    `nbgrad.at`."""

    def __init__(self, caller: str):
        self._caller = caller

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> None:
        if not isinstance(error, AttributeError) or error.name != "at":
            return
        if is_a(error.obj, PLAIN):
            asked = where
            while asked.tb_next is not None:
                asked = asked.tb_next
            raise MissingAttribute(
                f"{self._caller} asks for .at of a {type(error.obj).__name__}, which has none; "
                "write nbgrad.at(x)[i].set(v), which takes plain arrays and tracked "
                f"ones{user_line(asked.tb_frame)}"
            ) from error


def _joined(name: str, function: Callable, result: str) -> Callable:
    """A method that combines the elements at the index with a value."""

    def method(self, value: Any) -> Any:
        self._check(value, name)
        if not self._positions and last_writes(self._index, shape_of(self._x)) is not None:
            raise NoRuleError(f"at[index].{name}: the index repeats a position; write to each once")
        return self.set(function(self.get(), self._array_of(value)))

    method.__name__ = name
    method.__doc__ = f"""`x` with its elements at the index {result}.

        Raises NotImplementedError if the index repeats a position.
        """
    return method


class AtIndex:
    """One index of an array, to be read or written to."""

    def __init__(self, x: Any, index: Any):
        self._x, self._given = x, index
        self._index, self._positions = divided(held(without_lists(index)))
        # Raises IndexError as NumPy does.
        self._shape = selected(self._index, self._positions, shape_of(x))

    def get(self) -> Any:
        """The elements of `x` at the index."""
        return index_of(self._x, self._given)

    def set(self, value: Any) -> Any:
        """`x` with `value` at the index; the last one counts for repeated positions."""
        self._check(value, "set")
        if self._positions:
            value = np.broadcast_to(self._array_of(value, number=True), self._shape)
            return bind(assign_at, self._x, value, *self._positions, index=self._index)
        return bind(assign, self._x, self._array_of(value), index=self._index)

    def add(self, value: Any) -> Any:
        """`x` with `value` added at the index; repeated positions add up."""
        self._check(value, "add")
        return self._x + self._added(value)

    def _added(self, value: Any) -> Any:
        """Zeros of the shape of x with `value` added at the index."""
        value = np.broadcast_to(self._array_of(value, number=True), self._shape)
        primitive = scatter_at if self._positions else scatter
        return bind(primitive, value, *self._positions, shape=shape_of(self._x), index=self._index)

    def subtract(self, value: Any) -> Any:
        """`x` with `value` subtracted at the index; repeated positions add up."""
        return self.add(-self._array_of(value, number=True))

    multiply = _joined("multiply", np.multiply, "multiplied by `value`")
    divide = _joined("divide", np.divide, "divided by `value`")
    max = _joined("max", np.maximum, "no less than `value`")
    min = _joined("min", np.minimum, "no greater than `value`")

    def __getattr__(self, name: str):
        raise MissingAttribute(
            f"x.at[i].{name}: there are set, add, subtract, multiply, divide, max and min"
        )

    def _array_of(self, value: Any, number: bool = False) -> Any:
        """Lists of Python numbers, and with `number` Python numbers, as arrays of the promoted
        dtype."""
        require_unmasked(value, "at[index]: a value")
        if isinstance(value, (list, tuple)) or (number and type(value) in (int, float, bool)):
            array = np.asarray(value)
            weak = {"f": float, "i": int}.get(array.dtype.kind, array.dtype)
            return array.astype(common_type(self._x.dtype, weak), copy=False)
        return value

    def _takes(self, value: Any, op: str) -> bool:
        """Whether the plain parts of the index exclude repeated positions, or all positions get one
        plain number."""
        if op == "set" and not shape_of(value) and not isinstance(value, Array):
            return True
        places = [np.zeros(shape_of(x), np.intp) for x in self._positions]
        return _are_distinct(filled(self._index, places), shape_of(self._x))

    def _check(self, value: Any, op: str) -> None:
        if op != "add" and any(map(shape_of, self._positions)) and not self._takes(value, op):
            kind = UntrackedError if any(x.is_batch for x in self._positions) else TraceError
            raise kind(
                f"at[index].{op}: the index depends on the arguments, so which of its positions "
                "are equal is not known: write at one of them at a time, use "
                "np.where(np.arange(n) == i, v, x), or .add",
                code="NB-STATIC",
            )
        shape = shape_of(value)
        try:
            fits = np.broadcast_shapes(shape, self._shape) == self._shape
        except ValueError:
            fits = False
        if not fits:
            raise DimensionMismatch(
                f"at[index].{op}: a value of shape {shape} does not fill the shape {self._shape} "
                f"that the index selects from an array of shape {shape_of(self._x)}"
            )


functions["at"] = At
