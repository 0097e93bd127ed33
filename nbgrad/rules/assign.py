"""Writing at an index: the row behind `x.at[i].set(v)` and `y[i] = v`."""

from typing import Any

import numpy as np

from ..core.array import Array, functions
from ..core.memory import Path
from ..core.primitive import Aval, Unplanned, bind, shape_of
from ..core.symbols import user_line
from ..errors import DimensionMismatch, TraceError, UntrackedError, require_unmasked
from . import batching, dtypes
from .dtypes import common_type
from .families import Linear, sample
from .forms import indexing as forms
from .index import (
    divided,
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
        part = index.of(out)
        part[index.index] = value
    else:
        out[index] = value
    return out


def _transpose(ct, args, *, index):
    """What was overwritten gets nothing; the value gets what it was written to."""
    if type(index) is Path:
        part = index.of(ct)
        cleared, index = index.set(ct, 0.0), index.index
    else:
        part, cleared = ct, bind(assign, ct, 0.0, index=index)
    taken = index_of(part, index)
    last = last_writes(index, shape_of(part))
    return [cleared, taken if last is None else np.where(last, taken, 0.0)]


def last_writes(index, shape: tuple[int, ...]) -> np.ndarray | None:
    """Of several writes to one position the last stays: where it is that; None where all are."""
    if is_basic(index):
        return None
    positions = np.arange(int(np.prod(shape, dtype=np.intp))).reshape(shape)[index]
    writes = np.arange(positions.size)
    winner = np.empty(int(np.prod(shape, dtype=np.intp)), np.intp)
    winner[positions.ravel()] = writes
    last = winner[positions.ravel()] == writes
    return None if last.all() else last.reshape(positions.shape)


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
    reference=_written,
    spelling="`x.at[i].set(v)`",
)
assign.plans, assign.takes_numbers = Unplanned(), True


PLAIN = (np.ndarray, np.generic, float, int)
"""Arrays and numbers that belong to NumPy and Python."""


class At:
    """`x.at[index]`: new arrays that differ from x at an index. x itself stays as it is.

    >>> x = nbgrad.track([1.0, 2.0, 3.0])
    >>> x.at[1:].set(0.0)
    [1. 0. 0.] (tracked assign)
    """

    def __init__(self, x: Any):
        self._x = x

    def __getitem__(self, index: Any) -> "AtIndex":
        return AtIndex(self._x, index)

    def __getattr__(self, name: str):
        raise AttributeError(f"x.at.{name}: it takes an index first, as in x.at[i].set(v)")


def at(x: Any) -> At:
    """`nbgrad.at(x)[i].set(v)`, `.add(v)` and `.multiply(v)`: new arrays that differ from x at an
    index, and `.get()`: its elements there.

    Arguments:
        x: any kind of array, tracked or plain, so that a function which is differentiated may be
            called with plain arrays too; only tracked ones have `x.at`.

    What they give is floats, plain where x, the index and v are plain. Raises IndexError as NumPy
    does, DimensionMismatch for a value that does not fill what the index selects.

    >>> nbgrad.at(np.zeros(3))[1].set(2.0)
    array([0., 2., 0.])
    """
    require_unmasked(x, "at")
    return At(x if isinstance(x, Array) else np.asarray(x))


class explaining_at:
    """`with explaining_at("loop: body"):` the error that a plain array has no `.at` names
    `nbgrad.at`."""

    def __init__(self, caller: str):
        self._caller = caller

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> None:
        if not isinstance(error, AttributeError) or error.name != "at":
            return
        if isinstance(error.obj, PLAIN):
            asked = where
            while asked.tb_next is not None:
                asked = asked.tb_next
            raise AttributeError(
                f"{self._caller} asks for .at of a {type(error.obj).__name__}, which has none; "
                "write nbgrad.at(x)[i].set(v), which takes plain arrays and tracked "
                f"ones{user_line(asked.tb_frame)}"
            ) from error


class AtIndex:
    """One index of an array, to be read or written to."""

    def __init__(self, x: Any, index: Any):
        self._x, self._given = x, index
        self._index, self._positions = divided(held(without_lists(index)))
        # NumPy checks the index, and says what it selects.
        self._shape = selected(self._index, self._positions, shape_of(x))

    def get(self) -> Any:
        """The elements of `x` at the index."""
        return index_of(self._x, self._given)

    def set(self, value: Any) -> Any:
        """`x` with `value` at the index; of repeated positions the last one counts."""
        self._check(value, "set")
        if self._positions:
            return np.where(self._added(1.0) != 0.0, self._added(value), self._x)
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

    def multiply(self, value: Any) -> Any:
        """`x` with its elements at the index multiplied by `value`.

        Raises NotImplementedError where the index repeats a position.
        """
        self._check(value, "multiply")
        if not self._positions and last_writes(self._index, shape_of(self._x)) is not None:
            raise NotImplementedError(
                "at[index].multiply: the index repeats a position; multiply once for each"
            )
        return self.set(self.get() * self._array_of(value))

    def __getattr__(self, name: str):
        raise AttributeError(f"x.at[i].{name}: there are set, add and multiply")

    def _array_of(self, value: Any, number: bool = False) -> Any:
        """Lists of Python numbers, and with `number` these, in the dtype that x takes them in."""
        require_unmasked(value, "at[index]: a value")
        if isinstance(value, (list, tuple)) or (number and type(value) in (int, float, bool)):
            array = np.asarray(value)
            weak = {"f": float, "i": int}.get(array.dtype.kind, array.dtype)
            return array.astype(common_type(self._x.dtype, weak), copy=False)
        return value

    def _check(self, value: Any, op: str) -> None:
        if op != "add" and any(shape_of(x) for x in self._positions):
            kind = UntrackedError if any(x.is_batch for x in self._positions) else TraceError
            raise kind(
                f"at[index].{op}: the index depends on the arguments, so which of its positions "
                "are equal is not known: write at one of them at a time, use "
                "np.where(np.arange(n) == i, v, x), or .add"
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
