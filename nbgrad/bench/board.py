"""What was measured, and who is asked for what."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .contestants import COMPILED, EAGER, NUMBA, NUMPY, OURS
from .processes import Measuring
from .sweep import CURVES


@dataclass
class Board:
    """The figures of a run.

    Seconds a call by workload and contestant in `times`, by curve, contestant and size in `curves`;
    seconds and megabytes of a first call in `first` and `memory`. `wrong` are those whose gradient
    was not the one derived by hand; they are not timed, as are those that `gave_up` after so many
    seconds, by workload (a curve and a size) and contestant.
    """

    facts: dict[str, str] = field(default_factory=dict)
    peers: list[str] = field(default_factory=list)
    bandwidth: float = 0.0
    flops: float = 0.0
    times: dict[str, dict[str, float]] = field(default_factory=dict)
    curves: dict[str, dict[str, dict[int, float]]] = field(default_factory=dict)
    first: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: dict[str, dict[str, float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    gave_up: dict[str, dict[str, float]] = field(default_factory=dict)

    def take(self, figures: dict[str, Any]) -> None:
        """Keep a line of figures of a process that measures."""
        who, workload = figures.get("contestant", ""), figures.get("workload", "")
        if "bandwidth" in figures:
            self.facts, self.peers = figures["facts"], figures["peers"]
            self.bandwidth, self.flops = figures["bandwidth"], figures["flops"]
        elif "facts" in figures:  # of another environment
            told = figures["facts"]
            for name in figures["peers"]:
                if name not in self.peers:
                    self.peers.append(name)
                    beside = f"NumPy {told['numpy']}, Numba {told['numba']}"
                    self.facts[name] = f"{told[name]} (beside {beside})"
        elif "gave_up" in figures:
            where = workload or f"{figures['curve']} {figures['size']}"
            self.gave_up.setdefault(where, {})[who] = figures["gave_up"]
        elif "wrong" in figures:
            told = f"{who} on {workload or figures['curve']}"
            self.wrong += [told] if told not in self.wrong else []
        elif "curve" in figures:
            curve = self.curves.setdefault(figures["curve"], {}).setdefault(who, {})
            curve[figures["size"]] = figures["least"]
        elif "first" in figures:
            self.first.setdefault(workload, {})[who] = figures["first"]
            self.memory.setdefault(workload, {})[who] = figures["memory"]
        else:
            self.times.setdefault(workload, {})[who] = figures["least"]

    @property
    def contestants(self) -> list[str]:
        """All that were timed, ours first."""
        rows = (*self.times.values(), *self.gave_up.values())
        told = [name for row in rows for name in row]
        ours = [name for name in (NUMPY, NUMBA, *OURS) if name in told]
        return ours + [name for name in dict.fromkeys(told) if name not in ours]

    def losses(self) -> list[str]:
        """Where the hand or another library is faster than nbgrad, and how much."""
        found = []
        for ours in (COMPILED, EAGER):
            for workload, row in self.times.items():
                if ours not in row:
                    continue
                rivals = [
                    f"{name} ({row[ours] / seconds:.1f} times)"
                    for name, seconds in sorted(row.items(), key=lambda item: item[1])
                    if name not in (EAGER, COMPILED) and seconds < row[ours]
                ]
                if rivals:
                    found.append(f"{ours} on {workload}: faster are {', '.join(rivals)}")
        return found


def measure(
    chosen: Sequence[str],
    with_peers: bool,
    quick: bool,
    pythons: Sequence[str],
    budget: float,
    tell: Callable,
) -> Board:
    """Measure the workloads `chosen`; `tell(done, total, text)` hears how it goes on.

    The first of `pythons` runs nbgrad, what is by hand, and the peers that it has; each of the
    others the peers that none before it has, in a process of its own for each workload.
    """
    board = Board()
    done, total = [0], 1

    def heard(text: str) -> None:
        done[0] += 1
        tell(min(done[0], total), total, text)

    who: dict[Measuring, list[str]] = {}
    for python in pythons or [sys.executable]:
        one, known = Measuring(python, board.take, heard, budget), list(board.peers)
        one.run("peers" if who else "machine")
        new = [name for name in board.peers if name not in known] if with_peers else []
        who[one] = new if who else [NUMPY, NUMBA, *OURS, *new]
    every = {one: names for one, names in who.items() if names}
    timed = {one: [n for n in names if n != "naive"] for one, names in every.items()}
    firsts = [
        (one, workload, name)
        for workload in (chosen[:1] if quick else chosen)
        for one, names in timed.items() for name in names if name != NUMPY
    ]  # fmt: skip
    most, seconds = ("1e4", "0.05") if quick else ("1e7", "0.3")
    count = sum(map(len, every.values()))
    total = 1 + len(chosen) * count + 2 * count * (len(str(int(float(most)))) - 1) + len(firsts)
    for workload in chosen:
        for one, names in every.items():
            one.run("times", workload, "--seconds", seconds, contestants=names)
    for one, names in timed.items():
        able = [name for name in names if name != NUMBA]
        for curve in CURVES:
            one.run("sweep", curve, "--seconds", seconds, "--most", most, contestants=able)
    for one, workload, name in firsts:
        if name not in board.gave_up.get(workload, ()):
            one.run("first", workload, contestants=[name], fresh_cache=True)
    tell(total, total, "")
    return board
