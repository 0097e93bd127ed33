"""The arrays that a recorded function closes over: which of them a program was made for.

An array that meets a traced value is an input of the program, read at each call. What Python makes
of plain arrays alone (an index, `y + 1`) is there once, while the function is recorded. So a
program keeps what such arrays were, and is recorded anew when they are others.
"""

import sys
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...core.fillable import Filled
from ...core.symbols import static_key
from ...runtime.kinds import is_a
from ..reads import kinds
from ..reads.walk import Reads

# Elements of an array of integers that may hold sizes, positions and the like.
_SMALL = 4096


class Fixed:
    """Arrays whose numbers decide about a program while it is recorded, such as indices."""

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # by id, each with a copy
        self._copies: dict[int, np.ndarray] = {}  # by id, those that were given
        self.has_numbers = False  # whether there is a number that NumPy made, such as `y[0]`

    def copy_of(self, array: np.ndarray) -> np.ndarray:
        """A copy of an array, which the program keeps and nobody changes."""
        if id(array) in self._copies:
            return array
        known = self._arrays.get(id(array))
        if known is None or not np.array_equal(known[1], array, equal_nan=True):
            known = self._arrays[id(array)] = array, array.copy()
            self._copies[id(known[1])] = known[1]
        return known[1]

    def held(
        self, f: Callable, captured: Iterable[np.ndarray]
    ) -> tuple[tuple[np.ndarray, Any], ...]:
        """The arrays that must stay as they are, with keys of what they are, once `f` has returned:
        those that somebody else holds, and small integers that `f` reaches and that are no inputs:
        what Python reads of those, such as `n` in `x[:n]`, nobody sees. Where one was made by `f`
        itself, of what is not known, these are all that `f` reaches."""
        captured = list(captured)
        traces = [_Trace(array, copy) for array, copy in self._arrays.values()]
        self._arrays.clear()
        kept = {_place(array): (array, trace.key) for trace in traces
                if (array := trace.array()) is not None}  # fmt: skip
        has_new = self.has_numbers or any(
            trace.array() is None and not _is_range(trace.copy) for trace in traces
        )
        has_new = has_new or _any_new(captured)
        inputs = {id(_owner(array)) for array in captured}
        places = Reads([f]).places
        for array in (place.array for place in places if isinstance(place, kinds.Array)):
            if isinstance(array, Filled):  # it holds tracked values: no constant
                continue
            if has_new or (_may_be_read(array) and id(_owner(array)) not in inputs):
                kept.setdefault(_place(array), (array, static_key(array)))
        return tuple(kept.values())


class _Trace:
    """Where an array lies, without keeping it alive."""

    def __init__(self, array: np.ndarray, copy: np.ndarray):
        self.copy, self.key = copy, static_key(copy)
        self._interface = array.__array_interface__
        owner = _owner(array)
        # Memory that is no array's has an owner of which nothing is known.
        self._foreign = owner if owner.base is not None else None
        self._owner = weakref.ref(owner)

    def array(self) -> np.ndarray | None:
        """The array once more, where its memory has an owner still."""
        owner = self._owner()
        return None if owner is None else np.asarray(_Seen(self._interface, owner))


class _Seen:
    """A place in the memory of another array, which NumPy makes an array of."""

    def __init__(self, interface: dict, owner: np.ndarray):
        self.__array_interface__, self._owner = interface, owner


def _owner(array: np.ndarray) -> np.ndarray:
    while is_a(array.base, np.ndarray):
        array = array.base
    return array


def _place(array: np.ndarray) -> tuple:
    """Where its elements are in memory."""
    seen = array.__array_interface__
    return seen["data"], seen["shape"], seen["strides"], seen["typestr"]


def _may_be_read(array: np.ndarray) -> bool:
    """Whether it may hold what shapes and places are made of."""
    return array.dtype.kind in "iub" and array.size <= _SMALL


def _is_range(array: np.ndarray) -> bool:
    """Whether an index is what np.arange gives, or one number: made of shapes, not of arrays."""
    steps = np.diff(array.ravel()) if array.dtype != bool else None
    return steps is not None and bool((steps == steps[:1]).all())


def _references(array: np.ndarray) -> int:
    return sys.getrefcount(array)


for _alone in [np.empty(1)]:
    _ALONE = _references(_alone)  # of an array that one list holds


def _any_new(arrays: list[np.ndarray]) -> bool:
    """Whether nobody but this list, and who gave it, holds one of the arrays or its memory."""
    shared: dict[int, int] = {}
    for array in arrays:
        if array.base is not None:
            shared[id(_owner(array))] = shared.get(id(_owner(array)), 0) + 1
    for array in arrays:
        owner = _owner(array)
        if array is owner:
            held = _references(array) > _ALONE + 2  # this name twice, and who gave the list
        else:
            held = owner.base is not None or _references(owner) > _ALONE - 1 + shared[id(owner)]
        if not held:
            return True
    return False


def is_users(f: types.FunctionType) -> bool:
    """Whether a function is not of this package and not of NumPy, whose globals are their own."""
    return (f.__module__ or "").partition(".")[0] not in ("nbgrad", "numpy")


def closed(function: types.FunctionType) -> Iterable[tuple[str, object]]:
    """The names in a closure, and their values."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
