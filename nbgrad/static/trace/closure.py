"""Arrays whose values are part of a recorded program.

A captured array that is an operand of a recorded op is an input of the program, read at each call.
An array that Python computes from plain arrays alone (an index, `y + 1`) is computed once, while
the function is recorded. The program keeps the values of the arrays that it was computed from, and
is recorded again if they change.
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
    """The arrays whose values are part of a program, such as indices."""

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # by id, each with a copy
        self._copies: dict[int, np.ndarray] = {}  # by id, the copies that ops use
        self.has_numbers = False  # whether there is a NumPy scalar, such as `y[0]`

    def copy_of(self, array: np.ndarray) -> np.ndarray:
        """Return a copy of an array, for the program."""
        if id(array) in self._copies:
            return array
        known = self._arrays.get(id(array))
        if known is None or not np.array_equal(known[1], array, equal_nan=True):
            known = self._arrays[id(array)] = array, array.copy()
            self._copies[id(known[1])] = known[1]
        return known[1]

    def held(
        self, f: Callable, captured: Iterable[np.ndarray]
    ) -> tuple[tuple[tuple[np.ndarray, Any], ...], list[int], list[int]]:
        """Return the arrays that must not change, with keys of their values, and the positions of
        captured numbers that do not change, and of captured arrays that `f` made, once `f` has
        returned.

        The former are the used arrays that are still referenced elsewhere, and small integer arrays
        that `f` reaches and that are no inputs, since Python may have read them unnoticed, as `n`
        in `x[:n]`. If `f` computed an array itself, from unknown arrays, they are all arrays that
        `f` reaches.
        """
        captured = list(captured)
        traces = [_Trace(array, copy) for array, copy in self._arrays.values()]
        self._arrays.clear()
        kept = {_place(array): (array, trace.key) for trace in traces
                if (array := trace.array()) is not None}  # fmt: skip
        has_new = self.has_numbers or any(
            trace.array() is None and not _is_range(trace.copy) for trace in traces
        )
        new = _new(captured)
        has_new = has_new or bool(new)
        inputs = {id(_owner(array)) for array in captured}
        reads = Reads([f])
        for array in (place.array for place in reads.places if isinstance(place, kinds.Array)):
            if isinstance(array, Filled):  # it holds tracked values: no constant
                continue
            if has_new or (_may_be_read(array) and id(_owner(array)) not in inputs):
                kept.setdefault(_place(array), (array, static_key(array)))
        numbers = [i for i in new if captured[i].shape == () and _is_float(captured[i])]
        # A number that f reaches may change often, which should not compile anew each time.
        numbers = [i for i in numbers if static_key(captured[i][()]) not in reads.key]
        return tuple(kept.values()), numbers, new


class _Trace:
    """The memory of an array, without a reference to the array."""

    def __init__(self, array: np.ndarray, copy: np.ndarray):
        self.copy, self.key = copy, static_key(copy)
        self._interface = array.__array_interface__
        owner = _owner(array)
        # Memory that no array owns: the lifetime of its owner is unknown.
        self._foreign = owner if owner.base is not None else None
        self._owner = weakref.ref(owner)

    def array(self) -> np.ndarray | None:
        """Return the array if its memory is still alive."""
        owner = self._owner()
        return None if owner is None else np.asarray(_Seen(self._interface, owner))


class _Seen:
    """A part of the memory of another array, for `np.asarray`."""

    def __init__(self, interface: dict, owner: np.ndarray):
        self.__array_interface__, self._owner = interface, owner


def _owner(array: np.ndarray) -> np.ndarray:
    while is_a(array.base, np.ndarray):
        array = array.base
    return array


def _place(array: np.ndarray) -> tuple:
    """Return the memory of an array, as a key."""
    seen = array.__array_interface__
    return seen["data"], seen["shape"], seen["strides"], seen["typestr"]


def _may_be_read(array: np.ndarray) -> bool:
    """Return whether the array may hold sizes or positions."""
    return array.dtype.kind in "iub" and array.size <= _SMALL


def _is_range(array: np.ndarray) -> bool:
    """Return whether an index is evenly spaced, as one computed from shapes, not from arrays."""
    steps = np.diff(array.ravel()) if array.dtype != bool else None
    return steps is not None and bool((steps == steps[:1]).all())


def _references(array: np.ndarray) -> int:
    return sys.getrefcount(array)


def _measured() -> int:
    arrays = [np.empty(1)]
    array = arrays[0]
    return _references(array)


_ALONE = _measured()
"""The reference count of an array that one list and one name hold."""


def _new(arrays: list[np.ndarray]) -> list[int]:
    """Return the positions of the arrays which, or whose memory, have no references apart from this
    list and that of the caller: those that were made while the function was recorded."""
    shared: dict[int, int] = {}
    for array in arrays:
        if array.base is not None:
            shared[id(_owner(array))] = shared.get(id(_owner(array)), 0) + 1
    new = []
    for i in range(len(arrays)):  # enumerate has references, too
        array = arrays[i]
        owner = _owner(array)
        if array is owner:
            held = _references(array) > _ALONE + 2  # this name twice, and who gave the list
        else:
            held = owner.base is not None or _references(owner) > _ALONE - 1 + shared[id(owner)]
        if not held:
            new.append(i)
    return new


def _is_float(array: np.ndarray) -> bool:
    """Return whether Python's floats have the number of an array without axes."""
    return array.dtype.kind in "fb" or (array.dtype.kind in "iu" and abs(int(array)) < 2**53)


def is_users(f: types.FunctionType) -> bool:
    """Return whether a function is neither of this package nor of NumPy."""
    return (f.__module__ or "").partition(".")[0] not in ("nbgrad", "numpy")


def closed(function: types.FunctionType) -> Iterable[tuple[str, object]]:
    """Return the names of captured variables, and their values."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
