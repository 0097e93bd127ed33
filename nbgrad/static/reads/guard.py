"""`Guard`, which checks at each call that the places that a function reads are unchanged."""

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...errors import require_unmasked
from ...runtime.kinds import is_a
from ..trace.program import Program
from . import kinds
from .walk import Reads

# The number of calls that are compared in Python, before a C function is compiled, which takes two
# milliseconds.
FEW = 32
_PLAIN = (np.ndarray, float, int)


def _unmasked(x: Any) -> Any:
    """An argument, as a plain array where it is one of a subclass. Raises TypeError for a mask."""
    require_unmasked(x, "compile: an argument or out=")
    return x.view(np.ndarray) if is_a(x, np.ndarray) else x


class Guard:
    """What one program was recorded from: what the functions `roots` read, and arrays whose numbers
    decided about it."""

    def __init__(self, program: Program, roots: Iterable[object]):
        self.program, self._roots = program, list(roots)
        self.reads = Reads(self._roots)
        # Arrays that were found are among what is read; others are views of them.
        found = {id(place.array) for place in self.reads.places if isinstance(place, kinds.Array)}
        views = [array for _, array in program.captured if id(array) not in found]
        self._arrays = list(map(kinds.Array, views))
        self._arrays += [kinds.Array(array, key) for array, key in program.held]
        self._calls = 0
        self._table: Any = None
        self._head = np.zeros(6, np.int64)

    def is_same(self) -> bool:
        """Whether all that was read is what it was, by identity."""
        return self.program.is_current() and self.reads.is_same()

    def is_current(self) -> bool:
        """Whether recording the function anew would read the same: equal numbers and functions of
        the same code, too."""
        return self.is_same() or self.adopts(self.now())

    def now(self) -> Reads:
        """What the functions read now."""
        return Reads(self._roots)

    def adopts(self, reads: Reads) -> bool:
        """Whether what is read now is what was read: then this is what is compared from now on."""
        if not self.program.is_current() or reads.key != self.reads.key:
            return False
        self.reads = reads
        return True

    def around(self, target: Callable) -> Callable:
        """`target`, which raises ValueError instead where the program is not current, and TypeError
        where an argument is a masked array."""

        def general(*args: Any) -> Any:
            plain = [x if type(x) in _PLAIN else _unmasked(x) for x in args]
            if made is not None and any(map(operator.is_not, plain, args)):
                return made(*plain)
            self._calls += 1
            # Where a C function is due, the general way in comes back for it.
            if not self.is_current() or self._calls == FEW:
                raise ValueError
            if made is not None:
                self._note()
            return target(*plain)

        made = None
        if self._calls >= FEW:
            from ...capi.compared import calls

            self._note()
            made = calls(target, self._head, general)
        return made or general

    def _note(self) -> None:
        """Note in memory what is compared; nothing is equal where that cannot be done."""
        from ...capi.compared import Table

        try:
            table = Table(*self._tabled())
        except kinds.NotInMemory:
            table = None
        if table is None or not self.is_same():  # changed in between, by another thread
            table = Table([], [], [], never=True)
        self._table, self._head[:] = table, table.head

    def _tabled(self) -> tuple[list, list, list]:
        """Words, dicts and blocks."""
        words: list[int] = []
        dicts = []
        for place in [*self._arrays, *self.reads.places]:
            if isinstance(place, kinds.Items):
                dicts.append((place.mapping, place.version(), place.expected()))
            else:
                words += place.words()
        blocks = [(x.array, x.numbers) for x in self._arrays if x.numbers]
        return words, dicts, blocks
