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

# A C function, which takes two milliseconds to compile, compares from the call on at which so many
# calls, or so many places in all, were compared in Python.
FEW = 32
FEW_PLACES = 1500
_PLAIN = (np.ndarray, float, int)


def _unmasked(x: Any) -> Any:
    """An argument, as a plain array where it is one of a subclass. Raises TypeError for a mask."""
    require_unmasked(x, "compile: an argument or out=")
    return x.view(np.ndarray) if is_a(x, np.ndarray) else x


class Guard:
    """The values that a program depends on: those that the functions `roots` read, and arrays whose
    elements decided about the program."""

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
        self._others: list[Any] = []  # places that only Python can compare
        self._is_checked = True  # whether a call compares those
        self._head = np.zeros(6, np.int64)

    def is_same(self) -> bool:
        """Whether all that was read is what it was, by identity."""
        return self.program.is_current() and self.reads.is_same()

    def is_current(self) -> bool:
        """Whether recording the function anew would read the same: equal numbers and functions of
        the same code, too."""
        return self.is_same() or self.adopts(self.now())

    def now(self) -> Reads:
        """The values that the functions read now."""
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
            # A ValueError leads to the general entry, which makes the C function when it is due.
            if not self.is_current() or (made is None and self.is_due):
                raise ValueError
            if made is not None:
                self._note()
            return target(*plain)

        made = None
        if self.is_due:
            from ...capi.compared import calls

            self._note()
            self._is_checked = bool(self._others)
            entry = self._checked(target, general) if self._others else target
            made = calls(entry, self._head, general)
        return made or general

    def renew(self) -> None:
        """Let what `around` gave before compare what is read now."""
        if self._table is not None:
            self._note()

    @property
    def is_due(self) -> bool:
        """Whether a C function is to compare from now on."""
        return self._calls >= min(FEW, FEW_PLACES // (1 + len(self.reads.places)))

    def _checked(self, target: Callable, general: Callable) -> Callable:
        """`target`, or `general` where a place that only Python can compare has changed."""

        def checked(*args: Any) -> Any:
            unchanged = all(place.is_same() for place in self._others)
            return (target if unchanged else general)(*args)

        return checked

    def _note(self) -> None:
        """Note in memory what is compared, and apart from it what only Python can compare."""
        from ...capi.compared import Table

        words, dicts, blocks, self._others = self._tabled()
        table = Table(words, dicts, blocks)
        unseen = self._others and not self._is_checked
        if unseen or not self.is_same():  # changed in between, by another thread
            table = Table([], [], [], never=True)
        self._table, self._head[:] = table, table.head

    def _tabled(self) -> tuple[list, list, list, list]:
        """Words, dicts and blocks, and the places that are none of these."""
        words: list[int] = []
        dicts, blocks, others = [], [], []
        for place in [*self._arrays, *self.reads.places]:
            try:
                if isinstance(place, kinds.Items):
                    dicts.append((place.mapping, place.version(), place.expected()))
                else:
                    words += place.words()
                    if isinstance(place, kinds.Array) and place.numbers:
                        blocks.append((place.array, place.numbers))
            except kinds.NotInMemory:
                others.append(place)
        return words, dicts, blocks, others
