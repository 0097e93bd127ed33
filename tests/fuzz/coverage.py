"""How often each op, row, mode and shape class was met."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from .programs import Program


class Coverage:
    """Counts of cases: an op or row with a mode, and classes of shapes, dtypes and layouts."""

    def __init__(self) -> None:
        self.programs = 0
        self.cases = 0
        self.ops: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.modes: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()

    def note(
        self, program: Program, done: Iterable[str], refused: Iterable[tuple[str, str]]
    ) -> None:
        done, ops = list(done), program.ops()
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
        for name in ("ops", "pairs", "modes", "classes", "refused"):
            getattr(self, name).update(getattr(other, name))

    def least(
        self, ops: Iterable[str], modes: Iterable[str], count: int = 12
    ) -> list[tuple[int, str, str]]:
        """The pairs of an op and a mode that were met least."""
        modes = list(modes)
        pairs = [(self.pairs[name, mode], name, mode) for name in ops for mode in modes]
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
