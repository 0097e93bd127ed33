"""What was measured, and the processes that measure it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbgrad
from nbgrad.errors import NbgradError

from .contestants import COMPILED, EAGER, NUMBA, NUMPY, OURS

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NBGRAD_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
BY_HAND = (NUMPY, NUMBA)


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
            self.wrong.append(f"{who} on {workload or figures['curve']}")
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


class Measuring:
    """Runs the processes that measure, in one environment and on one thread."""

    def __init__(self, python: str, board: Board, on_line: Callable[[str], None]):
        self.python, self.board, self.on_line = python, board, on_line

    def run(self, *arguments: str, fresh_cache: bool = False) -> None:
        """One process; its figures go to the board as they come."""
        with _environment(fresh_cache) as environment:
            command = [self.python, "-m", "nbgrad.bench", *arguments]
            with subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as process:
                assert process.stdout is not None and process.stderr is not None
                for line in process.stdout:
                    if line.startswith("{"):
                        figures = json.loads(line)
                        self.board.take(figures)
                        self.on_line(str(figures.get("workload") or figures.get("size", "")))
                told = process.stderr.read().strip().splitlines()
        if process.returncode:
            raise BenchError(
                f"{' '.join(command[:3])} {' '.join(arguments)} failed with exit code "
                f"{process.returncode}: {told[-1] if told else 'it said nothing'}"
            )


class BenchError(NbgradError):
    """A process that measures failed; the message has its last line."""


@contextmanager
def _environment(fresh_cache: bool) -> Iterator[dict[str, str]]:
    """One thread everywhere, this nbgrad, and where wanted an empty cache of kernels."""
    here = str(Path(nbgrad.__file__).parents[1])
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": here}
    if not fresh_cache:
        yield environment
        return
    with tempfile.TemporaryDirectory() as folder:
        caches = {"NBGRAD_CACHE_DIR": folder, "NUMBA_CACHE_DIR": folder}
        yield {**environment, **caches, "PYTENSOR_FLAGS": f"base_compiledir={folder}"}


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
        one, known = Measuring(python, board, heard), list(board.peers)
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
    limits = ("--seconds", seconds, "--budget", str(budget))
    count = sum(map(len, every.values()))
    total = 1 + len(chosen) * count + 2 * count * (len(str(int(float(most)))) - 1) + len(firsts)
    for workload in chosen:
        for one, names in every.items():
            one.run("times", workload, "--with", *names, *limits)
    for one, names in timed.items():
        able = [name for name in names if name != NUMBA]
        one.run("sweep", "--with", *able, *limits, "--most", most)
    for one, workload, name in firsts:
        if name not in board.gave_up.get(workload, ()):
            given = ("first", workload, "--with", name, "--budget", str(budget))
            one.run(*given, fresh_cache=True)
    tell(total, total, "")
    return board
