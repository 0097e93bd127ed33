"""The arrays that a function closes over, while it is recorded.

They are read at each call of the program. One that is written to while the function runs, such as
a mask that is filled anew in each round of a loop, is kept as it was where ops used it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.symbols import Symbol
from ...errors import TraceError
from ...kernels.checksum import checksum

_MOST = 1 << 24
"""Arrays of more bytes are not copied: a write to one is an error."""


class _Captured:
    """An array that ops use, and the numbers that a plain one had then."""

    def __init__(self, symbol: Symbol, array: Any):
        self.symbol, self.array = symbol, array
        self._seen: Any = array
        if type(array) is np.ndarray:
            self._seen = array.copy() if array.nbytes <= _MOST else checksum(array)

    def settle(self) -> bool:
        """Whether the array is unchanged; otherwise the copy takes its place.

        Raises TraceError for a long array, of which there is no copy.
        """
        seen, array = self._seen, self.array
        if seen is array:
            return True
        if isinstance(seen, int):
            if checksum(array) != seen:
                raise TraceError(
                    f"compile: an array of shape {array.shape} was written to after an op used it: "
                    "give the op a copy, x.copy()"
                )
            return True
        unchanged = np.array_equal(seen, array, equal_nan=True)
        if not unchanged:
            self.array = seen
        return unchanged


class Captures:
    """All arrays from outside of what is recorded, plain ones by their place in memory."""

    def __init__(self) -> None:
        self._all: list[_Captured] = []
        self._last: dict[Any, _Captured] = {}

    def symbol_for(self, array: Any, new: Callable[[Any], Symbol]) -> Symbol:
        """The symbol of an array as it is now, which is made where there is none."""
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
        """The symbols with the arrays, once the function has returned; they are not kept here, as
        what else holds an array tells who may change it."""
        for known in self._all:
            known.settle()
        pairs = tuple([(known.symbol, known.array) for known in self._all])
        self._all.clear()
        self._last.clear()
        return pairs
