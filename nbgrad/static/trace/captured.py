"""Captured arrays: those that a function closes over, inputs of the program read at each call.

If an array is written to while the function is recorded, such as a mask that each iteration fills,
the program gets a copy of the values at the time of the op.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ...core.symbols import Symbol
from ...errors import TraceError
from ...kernels.checksum import checksum

_MOST = 1 << 24
"""Arrays of more bytes are not copied; a write to one is an error."""
_LARGEST = 1 << 20
"""Arrays of more bytes are not compared with others."""


class _Captured:
    """An array that ops use, with a copy or a checksum of its values at that time."""

    def __init__(self, symbol: Symbol, array: Any):
        self.symbol, self.array = symbol, array
        self._seen: Any = array
        if type(array) is np.ndarray:
            self._seen = array.copy() if array.nbytes <= _MOST else checksum(array)

    def settle(self) -> bool:
        """Return whether the array is unchanged; otherwise the copy replaces it.

        Raises TraceError for a changed array that is too long to be copied.
        """
        seen, array = self._seen, self.array
        if seen is array:
            return True
        if isinstance(seen, int):
            if checksum(array) != seen:
                raise TraceError(
                    f"compile: an array of shape {array.shape} was written to after an op used it: "
                    "pass the op a copy, x.copy()",
                    code="NB-CHANGED",
                )
            return True
        unchanged = np.array_equal(seen, array, equal_nan=True)
        if not unchanged:
            self.array = seen
        return unchanged


def one_of_each(
    pairs: Sequence[tuple[Symbol, Any]], new: Collection[int]
) -> list[tuple[Symbol, Any]]:
    """The symbols and arrays; of equal arrays among those at the positions `new`, which the
    function made, all symbols have the first one. So ops of them can be recognised as the same."""
    first: dict[Any, np.ndarray] = {}
    merged = list(pairs)
    for i in new:
        symbol, array = pairs[i]
        if array.nbytes <= _LARGEST:
            key = array.shape, array.dtype.str, array.tobytes()
            merged[i] = symbol, first.setdefault(key, array)
    return merged


class Captures:
    """All captured arrays; plain ones are identified by their memory."""

    def __init__(self) -> None:
        self._all: list[_Captured] = []
        self._last: dict[Any, _Captured] = {}

    def symbol_for(self, array: Any, new: Callable[[Any], Symbol]) -> Symbol:
        """Return the symbol of an array with its current values; `new` makes one if necessary."""
        place: Any = id(array)
        if type(array) is np.ndarray:
            start = array.__array_interface__["data"][0]
            place = (start, array.shape, array.strides, array.dtype.str)
        known = self._last.get(place)
        if known is None or not known.settle():
            known = self._last[place] = _Captured(new(array), array)
            self._all.append(known)
        return known.symbol

    def pairs(self) -> tuple[tuple[Symbol, Any], ...]:
        """Return the symbols and arrays, once the function has returned. No references are kept, as
        reference counts tell whether an array can be changed by others."""
        for known in self._all:
            known.settle()
        pairs = tuple([(known.symbol, known.array) for known in self._all])
        self._all.clear()
        self._last.clear()
        return pairs
