"""Writing at an index: the row behind `x.at[i].set(v)` and `y[i] = v`."""

from typing import Any

import numpy as np

from ..array import Array, functions
from ..core import Aval, Unplanned, bind, shape_of
from ..errors import DimensionMismatch, TraceError, UntrackedError
from ..symbols import user_line
from . import batching, dtypes
from .dtypes import common_type
from .families import Linear, sample
from .index import index_of, is_basic, scatter


def _assigned(x, value, *, index):
    out = np.array(x, common_type(np.asarray(x).dtype, dtypes.kind_of(value)), order="C")
    out[index] = value
    return out


def _transpose(ct, args, *, index):
    """What was overwritten gets nothing; the value gets what it was written to."""
    cleared = bind(assign, ct, 0.0, index=index)
    taken = index_of(ct, index)
    last = _written_last(index, shape_of(args[0]))
    return [cleared, taken if last is None else np.where(last, taken, 0.0)]


def _written_last(index, shape: tuple[int, ...]) -> np.ndarray | None:
    """Of several writes to one position the last stays: where it is that; None where all are."""
    if is_basic(index):
        return None
    positions = np.arange(int(np.prod(shape, dtype=np.intp))).reshape(shape)[index]
    writes = np.arange(positions.size)
    winner = np.empty(int(np.prod(shape, dtype=np.intp)), np.intp)
    winner[positions.ravel()] = writes
    last = winner[positions.ravel()] == writes
    return None if last.all() else last.reshape(positions.shape)


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
)
assign.plans, assign.takes_numbers = Unplanned(), True


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


class AtIndex:
    """One index of an array, to be written to."""

    def __init__(self, x: Any, index: Any):
        self._x, self._index = x, np.asarray(index) if isinstance(index, list) else index
        parts = index if isinstance(index, tuple) else (index,)
        varying = [part for part in parts if isinstance(part, Array)]
        if varying:
            raise (UntrackedError if any(part.is_batch for part in varying) else TraceError)(
                "x.at[i] for an i that is known only when the program runs, or differs from sample "
                "to sample, is not there: write np.where(np.arange(n) == i, value, x)" + user_line()
            )
        # NumPy checks the index, and says what it selects.
        self._shape = np.broadcast_to(np.empty(()), shape_of(x))[self._index].shape

    def set(self, value: Any) -> Any:
        """`x` with `value` at the index; of repeated positions the last one counts."""
        self._check(value, "set")
        return bind(assign, self._x, _plain_list(value), index=self._index)

    def add(self, value: Any) -> Any:
        """`x` with `value` added at the index; repeated positions add up."""
        self._check(value, "add")
        value = np.broadcast_to(_plain_list(value), self._shape)
        spread = bind(scatter, value, shape=shape_of(self._x), index=self._index)
        return self._x + spread

    def multiply(self, value: Any) -> Any:
        """`x` with its elements at the index multiplied by `value`.

        Raises NotImplementedError where the index repeats a position.
        """
        self._check(value, "multiply")
        if _written_last(self._index, shape_of(self._x)) is not None:
            raise NotImplementedError(
                "at[index].multiply: the index repeats a position; multiply once for each"
            )
        return self.set(index_of(self._x, self._index) * _plain_list(value))

    def __getattr__(self, name: str):
        raise AttributeError(f"x.at[i].{name}: there are set, add and multiply")

    def _check(self, value: Any, op: str) -> None:
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


def _plain_list(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, (list, tuple)) else value


functions["at"] = At
