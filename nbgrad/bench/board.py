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
    was not the one derived by hand; they are not timed.
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

    def take(self, figures: dict[str, Any]) -> None:
        """Keep a line of figures of a process that measures."""
        who, workload = figures.get("contestant", ""), figures.get("workload", "")
        if "facts" in figures:
            self.facts, self.peers = figures["facts"], figures["peers"]
            self.bandwidth, self.flops = figures["bandwidth"], figures["flops"]
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
        told = [name for row in self.times.values() for name in row]
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
        yield {**environment, "NBGRAD_CACHE_DIR": folder, "NUMBA_CACHE_DIR": folder}


def measure(
    chosen: Sequence[str], with_peers: bool, quick: bool, python: str | None, tell: Callable
) -> Board:
    """Measure the workloads `chosen`; `tell(done, total, text)` hears how it goes on."""
    board = Board()
    done = [0]

    def heard(text: str) -> None:
        done[0] += 1
        tell(min(done[0], total), total, text)

    total = 1
    measuring = Measuring(python or sys.executable, board, heard)
    measuring.run("machine")
    who = [NUMPY, NUMBA, *OURS, *(board.peers if with_peers else ())]
    timed = [name for name in who if name != "naive"]
    firsts = [(workload, name) for workload in chosen for name in timed if name != NUMPY]
    if quick:
        firsts = [(workload, name) for workload, name in firsts if workload == chosen[0]]
    most, seconds = ("1e4", "0.05") if quick else ("1e7", "0.3")
    rows = 2 * len(timed) * (len(str(int(float(most)))) - 1)
    total = 1 + len(chosen) * len(who) + rows + len(firsts)
    measuring.run("times", *chosen, "--with", *who, "--seconds", seconds)
    in_sweep = [name for name in timed if name != NUMBA]
    measuring.run("sweep", "--with", *in_sweep, "--seconds", seconds, "--most", most)
    for workload, name in firsts:
        measuring.run("first", workload, "--with", name, fresh_cache=True)
    tell(total, total, "")
    return board
