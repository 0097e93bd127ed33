"""Runs of equations that repeat with a period: a Python loop writes its steps one after another."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

# A run has at least so many rounds, of at most so many equations.
ROUNDS, _LONGEST = 16, 512


class Run(NamedTuple):
    """Equations from `start` on that repeat: `rounds` times as many as `length`."""

    start: int
    rounds: int
    length: int

    @property
    def stop(self) -> int:
        return self.start + self.rounds * self.length


def runs(forms: Sequence[Hashable]) -> list[Run]:
    """Return the runs of equal forms, the longest first, and of equal ones those of shorter
    rounds first. They may overlap."""
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(form, len(numbers)) for form in forms])
    found = []
    for length in range(1, min(_LONGEST, len(codes) // ROUNDS) + 1):
        same = codes[length:] == codes[:-length]
        edges = np.flatnonzero(np.diff(np.r_[False, same, False]))
        for start, stop in edges.reshape(-1, 2).tolist():
            rounds = (stop - start) // length + 1
            if rounds >= ROUNDS:
                found.append(Run(start, rounds, length))
    return sorted(found, key=lambda run: (run.start - run.stop, run.length))
