"""`profile`, the context manager."""

import threading
from pathlib import Path
from typing import Self

from ..compiler.forks import fork_safe
from ..errors import ArgumentError, ProfileError
from . import events, kept_values, swaps, tally
from .breakdown import SORTS, Breakdown, Row, Start
from .sampler import Sampler
from .tally import Cell

__all__ = ["SORTS", "profile"]

_lock = fork_safe(threading.RLock())
_open: list["profile"] = []
_sampler: list[Sampler] = []


class profile:
    """`with nbgrad.profile() as p:` measures where the time of the block goes; `print(p)` tells.

    It counts ops forward and backward, calls of compiled and njit functions, and compilations, by
    the line of your program; the memory that graphs hold for the backward pass; and the time
    outside of nbgrad. All threads are counted. Profiles may be nested: each one tells what happened
    in its block. Small ops take up to twice as long inside of a block, and no longer outside.

    Arguments:
        top: the number of rows that the tables of `print(p)` show.
        sort: "time", "calls", "forward" or "backward", what rows are sorted by.

    Raises ValueError for another `sort`, and RuntimeError if a profile is opened twice.

    >>> x = nbgrad.track(np.ones(3))
    >>> with nbgrad.profile() as p:
    ...     y = np.sum(x * x)
    ...     y.backward()
    >>> sorted((row.op, row.calls, row.back_calls) for row in p.table if row.kind == "op")
    [('multiply', 1, 1), ('sum', 1, 1)]
    """

    def __init__(self, *, top: int = 15, sort: str = "time") -> None:
        if sort not in SORTS:
            raise ArgumentError(f"sort is {sort!r}; give one of {', '.join(SORTS)}")
        self.top, self.sort = top, sort
        self._start: Start | None = None
        self._result: Breakdown | None = None
        self._peak: tuple[int, kept_values.Held] = (0, {})

    def __enter__(self) -> Self:
        with _lock:
            if self._start is not None:
                raise ProfileError("this profile was opened before: make a new one for each block")
            if not _open:
                swaps.install()
                _sampler.append(Sampler())
                _sampler[0].start()
            tally.own()
            _open.append(self)
            kept_values.watchers.append(self._note)
            self._start = Start()
        return self

    def __exit__(self, *error: object) -> None:
        with _lock:
            self._result = self.result
            _open.remove(self)
            kept_values.watchers.remove(self._note)
            if not _open:
                _sampler.pop().stop()
                swaps.remove()
                tally.clear()

    def _note(self, total: int, held: dict[Cell, int]) -> None:
        if total > self._peak[0]:
            self._peak = total, held

    @property
    def result(self) -> Breakdown:
        """All that was measured; inside of the block, until now. Raises ProfileError before."""
        if self._result is not None:
            return self._result
        if self._start is None:
            raise ProfileError("nothing was measured yet: with nbgrad.profile() as p: ...")
        return Breakdown(self._start, events.cost(), *self._peak)

    @property
    def table(self) -> list[Row]:
        """One row for each line and op, those with most time first. `kind` is "op", "call" (of a
        compiled function), "pass" (the part of a backward pass that belongs to no op), "compile"
        or "python"."""
        return self.result.sorted(self.sort)

    @property
    def findings(self) -> list[str]:
        """What the numbers show, and what helps, in sentences."""
        from .findings import findings

        return findings(self.result)

    def __str__(self) -> str:
        from .sections import text

        return text(self.result, self.top, self.sort)

    def _repr_html_(self) -> str:
        from .profile_page import fragment

        return fragment(self.result, self.top, self.sort)

    def write(self, path: str | Path) -> None:
        """Write the profile to an HTML file, with a flame graph."""
        from .profile_page import page

        Path(path).write_text(page(self.result, self.top, self.sort), encoding="utf-8")
