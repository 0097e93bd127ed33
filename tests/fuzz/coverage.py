"""How often each op, row, mode and shape class was met."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .programs import Program

ENOUGH = 50
"""So often a pair of an op and a mode should be met; or tried, where it has nothing to say."""


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
        self.narrow: Counter[str] = Counter()  # ops of programs in which all floats are narrow
        self._lacking: dict[str, int] = {}

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
        kinds = classes(program)
        self.classes.update(kinds)
        if "float32" in kinds and "float64" not in kinds:
            self.narrow.update(ops)
        for name in ops:
            self._lacking.pop(name, None)
        for mode, message in refused:
            self.refused[mode, message[:70]] += 1

    def add(self, other: "Coverage") -> None:
        self.programs += other.programs
        self.cases += other.cases
        for name in ("ops", "pairs", "modes", "classes", "silent", "refused", "narrow"):
            getattr(self, name).update(getattr(other, name))
        self._lacking.clear()

    def lacking(self, name: str, modes: Iterable[str]) -> int:
        """How many cases an op lacks until it was met, or tried, often enough in each mode."""
        found = self._lacking.get(name)
        if found is None:
            tried = (self.pairs[name, mode] + self.silent[name, mode] for mode in modes)
            found = self._lacking[name] = sum(max(0, ENOUGH - n) for n in tried)
        return found

    def weights(self, names: Sequence[str], modes: Sequence[str], narrow: bool) -> np.ndarray:
        """How likely each op is to be drawn: some of it is the same for all, the rest goes to those
        that were met least, alone and in these modes, or beside narrow floats."""
        met = self.narrow if narrow else self.ops
        seldom = np.array([1.0 / (1.0 + met[name]) for name in names])
        short = np.array([float(self.lacking(name, modes)) for name in names])
        short = short if short.any() else np.ones(len(names))
        return 0.3 / len(names) + 0.35 * seldom / seldom.sum() + 0.35 * short / short.sum()

    def least(self, ops: Iterable[str], modes: Iterable[str]) -> list[tuple[int, int, str, str]]:
        """The pairs of an op and a mode that were not tried often enough, those that were tried
        least first: how often they were tried, and how often that told something. Slopes of
        functions without one have nothing to say, however often they are asked for."""
        pairs = [(name, mode) for name in ops for mode in modes]
        tried = [(self.pairs[pair] + self.silent[pair], self.pairs[pair], *pair) for pair in pairs]
        return sorted(pair for pair in tried if pair[0] < ENOUGH)


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
