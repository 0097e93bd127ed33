"""What is counted while a profile is open: calls and seconds, by line and op, for each thread.

Counts only grow. A profile compares those at its end with those at its beginning, so profiles may
be nested.
"""

import runpy
from itertools import islice
from threading import get_ident
from time import perf_counter
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..runtime.lines import is_inner

__all__ = ["Cell", "Compilation", "Place", "Tally", "Walk", "cell_of_node", "clear", "clock"]
__all__ += ["codes", "inner", "marks", "own", "starters", "tallies", "trim", "user"]

clock = perf_counter
Place = tuple[int, int]
"""The id of a code object, and the offset of an instruction in it."""
_MARKED = 1 << 18
"""The nodes whose lines are remembered for their backward pass."""

starters: set[str] = {runpy.run_path.__code__.co_filename}
"""The files that start programs: the frames outside of them are not the program's."""


class Cell:
    """One op of one line: its calls and seconds, without compilations, forward and backward.
    `note` is a fact about its arguments, `bytes` what the latest call recorded."""

    __slots__ = ("back_calls", "back_seconds", "bytes", "calls", "note", "seconds")

    def __init__(self) -> None:
        self.calls = self.back_calls = self.bytes = 0
        self.seconds = self.back_seconds = 0.0
        self.note = ""

    def numbers(self) -> tuple[int, float, int, float]:
        """The counts, which grow."""
        return self.calls, self.seconds, self.back_calls, self.back_seconds


class Compilation(NamedTuple):
    """Something that was prepared for later calls: for which op or function, why, how long it took,
    and how many kernels were compiled and loaded for it. A later stage `is_part` of the one
    before."""

    place: Place
    name: str
    why: str
    is_part: bool
    seconds: float
    compiled: int
    loaded: int


class Walk:
    """The backward passes that one line begins. Some are observed: `parts` has the seconds of each
    node of the latest one. The time of the others is divided among the ops in the same way."""

    __slots__ = ("_aside", "_cell", "_length", "_seconds", "_undivided", "parts", "passes")

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self.parts: list[tuple[Cell, float]] = []
        self.passes = self._undivided = 0
        self._seconds = self._length = self._aside = 0.0

    def is_due(self) -> bool:
        """Whether the next pass is observed."""
        return self.passes < 16 or self.passes % 31 == 0

    def begin(self) -> None:
        self.parts, self._aside = [], 0.0

    def note(self, cell: Cell, seconds: float, aside: float) -> None:
        """Note the seconds of a node, and of the observation itself."""
        self.parts.append((cell, seconds))
        self._aside += aside

    def add(self, seconds: float, is_observed: bool) -> float:
        """Add a pass, and divide its time and that of passes before it. Returns the seconds that
        the observation took."""
        self.passes += 1
        self._undivided += 1
        self._seconds += seconds
        if is_observed:
            self._length = seconds - self._aside
            self._seconds -= self._aside
            self.divide()
            return self._aside
        return 0.0

    def divide(self) -> None:
        """Divide the time of the latest passes among the ops of the observed one."""
        share = self._seconds / self._length if self._length > 0.0 else 0.0
        rest = self._seconds
        for cell, seconds in self.parts:
            cell.back_calls += self._undivided
            cell.back_seconds += seconds * share
            rest -= seconds * share
        self._cell.back_calls += self._undivided
        self._cell.back_seconds += rest
        self._undivided, self._seconds = 0, 0.0


class Tally:
    """The counts of one thread.

    `busy` is true inside of an event: an op, a backward pass, a call of a compiled function. All
    that happens inside belongs to the event, but for compilations, of which `inner` has the
    seconds, and `seen` those before the latest node of a walk. `made` has the times of nodes that
    were made inside of the event, `bytes` what it recorded, `walk` the pass that is observed, and
    `aside` the seconds that the measurement took of backward passes.
    """

    def __init__(self) -> None:
        self.busy = self.compiling = False
        self.inner = self.seen = self.last = self.aside = 0.0
        self.bytes = 0
        self.made: list[int] = []
        self.walk: Walk | None = None
        self.walks: dict[Place, Walk] = {}
        self.cells: dict[tuple, Cell] = {}
        self.compilations: list[Compilation] = []
        self.fallbacks: list[tuple[Place, str, str]] = []
        self.samples: dict[tuple[int, int, bool], int] = {}

    def cell(self, key: tuple) -> Cell:
        """The cell of a key: place, op, kernel."""
        found = self.cells.get(key)
        return self.cells.setdefault(key, Cell()) if found is None else found


tallies: dict[int, Tally] = {}
"""By the identifiers of threads."""
codes: dict[int, CodeType] = {}
"""The code objects of places, by their ids."""
marks: dict[int, Cell] = {}
"""The cells of nodes, by the times at which they were made."""


def own() -> Tally:
    """The counts of this thread."""
    found = tallies.get(get_ident())
    return tallies.setdefault(get_ident(), Tally()) if found is None else found


def clear() -> None:
    """Forget all counts."""
    for table in (tallies, codes, marks):
        table.clear()


class _Inner(dict[str, bool]):
    """Whether files belong to nbgrad and the libraries below it."""

    def __missing__(self, path: str) -> bool:
        found = self[path] = is_inner(path)
        return found


inner = _Inner()


def user(frame: FrameType) -> Place:
    """The innermost place of the user's code, from `frame` on; zeros in a thread without any."""
    while inner[path := frame.f_code.co_filename] or _is_generated(path, frame.f_globals):
        outer = frame.f_back
        if outer is None or path in starters:
            return 0, 0
        frame = outer
    code = frame.f_code
    codes[id(code)] = code
    return id(code), frame.f_lasti


def _is_generated(path: str, scope: dict) -> bool:
    """Whether a function was generated by nbgrad: those have no file and no module."""
    return path == "<string>" and "__name__" not in scope


def trim() -> None:
    """Forget the cells of old nodes where there are many."""
    if len(marks) > _MARKED:
        for time in list(islice(marks, len(marks) - _MARKED // 2)):
            marks.pop(time, None)


def cell_of_node(tally: Tally, node: Any) -> Cell:
    """The cell of the op that made a node; one without a line for a node from before."""
    found = marks.get(node.time)
    return tally.cell((0, 0, node.plan.primitive, None)) if found is None else found
