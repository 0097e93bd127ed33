"""How often each op, row, mode and shape class was met."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from .programs import Program

SILENT = 50
"""A pair of an op and a mode was tried often enough when it was silent so many times."""


class Coverage:
    """Counts of cases: an op or row with a mode, and classes of shapes, dtypes and layouts."""

    def __init__(self) -> None:
        self.programs = 0
        self.cases = 0
        self.ops: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.modes: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.silent: Counter[tuple[str, str]] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()

    def note(
        self,
        program: Program,
        done: Iterable[str],
        refused: Iterable[tuple[str, str]],
        silent: Iterable[str] = (),
    ) -> None:
        done, ops, refused = list(done), program.ops(), list(refused)
        silent = [*silent, *(mode for mode, _ in refused)]
        self.silent.update((name, mode) for name in ops for mode in silent)
        self.programs += 1
        self.cases += len(done)
        self.ops.update(ops)
        self.modes.update(done)
        self.pairs.update((name, mode) for name in ops for mode in done)
        self.classes.update(classes(program))
        for mode, message in refused:
            self.refused[mode, message[:70]] += 1

    def add(self, other: "Coverage") -> None:
        self.programs += other.programs
        self.cases += other.cases
        for name in ("ops", "pairs", "modes", "classes", "silent", "refused"):
            getattr(self, name).update(getattr(other, name))

    def least(
        self, ops: Iterable[str], modes: Iterable[str], count: int = 12
    ) -> list[tuple[int, str, str]]:
        """The pairs of an op and a mode that were met least, but for those that were tried often
        and have nothing to say, as slopes of functions without one."""
        tried = [(name, mode) for name in ops for mode in modes]
        pairs = [(self.pairs[pair], *pair) for pair in tried if self.silent[pair] < SILENT]
        return sorted(pairs)[:count]


def classes(program: Program) -> set[str]:
    """What kinds of inputs a program has."""
    found = set()
    for x in program.inputs:
        v: Any = x.value
        array = np.asarray(v)
        found |= {f"rank {array.ndim}", f"{array.dtype}", f"{x.role}", f"layout {x.layout}"}
        found |= {f"size {n}" for n in array.shape}
        if not isinstance(v, np.ndarray):
            found.add("number of Python")
    return found
