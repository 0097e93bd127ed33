"""What a step costs on each engine of `nbgrad.parallel`, in milliseconds.

    python benchmarks/engines.py threads|processes|dask [work|two|workers...]
    mpiexec -n 2 python benchmarks/engines.py mpi

`work`: a step without work, with 2 workers and as many shards, for few and many parameters. `two`:
a heavy loss on one core and on two workers, in turns, and the CPU time that both take. Numbers: so
many workers, simulated: each waits for its part of a second and a half, which takes no core.
The fastest of some steps: what disturbs a step, such as other programs, only makes it slower.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import nbgrad

WAIT = 1.5  # seconds


def nothing(w: Any, x: Any) -> Any:
    return np.sum(w) * np.sum(x)


def heavy(w: Any, x: Any, y: Any) -> Any:
    h = x
    for _ in range(6):
        h = np.tanh(h * w)
    return np.mean((h - y) ** 2)


class Waiting:
    """A shard whose worker is busy for so many seconds."""

    def __init__(self, seconds: float):
        self.seconds = seconds

    def __call__(self) -> tuple[np.ndarray]:
        time.sleep(self.seconds)
        return (np.ones(2),)


def taken(step: Callable[[], Any]) -> float:
    """Milliseconds of a call."""
    start = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - start)


def fastest(step: Callable[[], Any], times: int) -> float:
    """Milliseconds of the fastest of some calls, after two that compile."""
    return min([taken(step) for _ in range(times + 2)][2:])


def cpu(workers: Iterable[str]) -> dict[str, float]:
    """Milliseconds of CPU that this process and those of these workers have taken, on Linux."""
    pids = {str(os.getpid()), *(worker.split()[0].rpartition(":")[2] for worker in workers)}
    found = {}
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        found[pid] = 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


class Bench:
    """An engine by its name, and who tells what was found."""

    def __init__(self, engine: str):
        nbgrad.set_threads(1)  # what is called one core is one
        self.engine, self.rank, self.size = engine, 0, 2
        if engine == "mpi":
            comm = import_module("mpi4py.MPI").COMM_WORLD
            self.rank, self.size = comm.Get_rank(), comm.Get_size()
            self.barrier = comm.Ibarrier

    def together(self) -> None:
        """Wait for the other ranks, and leave them the cores."""
        if self.engine == "mpi":
            request = self.barrier()
            while not request.Test():
                time.sleep(0.0005)

    def tell(self, line: str) -> None:
        if self.rank == 0:
            print(f"{self.engine}: {line}", flush=True)

    def vg(self, loss: Callable, workers: int, reduce: Any = "sum") -> nbgrad.parallel.ValueAndGrad:
        return nbgrad.parallel.value_and_grad(loss, self.engine, reduce, workers=workers)

    def work(self) -> None:
        with self.vg(nothing, self.size) as vg:
            shards = vg.mine([(np.ones(2),)] * self.size)
            for n, times in ((1, 200), (100_000, 50), (1_000_000, 20)):
                took = fastest(lambda n=n: vg(np.ones(n), shards), times)
                self.tell(f"{n} parameters: {took:.2f} ms a step without work")

    def two(self, pairs: int = 25) -> None:
        rng = np.random.default_rng(0)
        x, y, w = rng.normal(size=(400_000, 4)), rng.normal(size=(400_000, 4)), np.ones(4)
        alone = nbgrad.compile(nbgrad.value_and_grad(heavy))
        with tempfile.TemporaryDirectory() as folder, self.vg(heavy, self.size, "mean") as vg:
            parts = list(zip(np.split(x, 2), np.split(y, 2), strict=True))
            shards = nbgrad.parallel.store(f"{folder}/{self.rank}", vg.mine(parts))
            for _ in range(2):
                alone(w, x, y), vg(w, shards)
            ones, twos, burnt = [], [], 0.0
            used = dict.fromkeys(cpu(vg.report.workers), 0.0)
            for _ in range(pairs):
                began = time.process_time()
                ones.append(taken(lambda: alone(w, x, y)) if self.rank == 0 else 0.0)
                burnt += 1e3 * (time.process_time() - began)
                self.together()
                before = cpu(vg.report.workers)
                twos.append(taken(lambda: vg(w, shards)))
                for pid, after in cpu(vg.report.workers).items():
                    used[pid] = used.get(pid, 0.0) + after - before.get(pid, after)
        one, two = min(ones), min(twos)
        pair = max(a / b for a, b in zip(ones, twos, strict=True))
        caller = used.pop(str(os.getpid()))
        shares = ", ".join(f"{each / pairs:.0f}" for each in used.values()) or "none"
        self.tell(
            f"a heavy loss: {one:.0f} ms on one core, {two:.0f} ms on two: {one / two:.2f} times, "
            f"the best pair {pair:.2f}; of CPU {burnt / pairs:.0f} ms on one core, on two "
            f"{caller / pairs:.0f} ms here and {shares} ms in others"
        )

    def waiting(self, workers: int) -> None:
        with self.vg(nothing, workers) as vg:
            shards = vg.mine([Waiting(WAIT / workers)] * workers)
            few = [Waiting(0.0)] * len(shards)
            least = fastest(lambda: vg(np.ones(1), few), 5)
            took = fastest(lambda: vg(np.ones(1), shards), 3)
            ideal = 1e3 * WAIT / workers
            self.tell(
                f"{workers} workers that wait for {ideal:.0f} ms each: {took:.1f} ms; "
                f"without waiting {least:.1f} ms"
            )


def main(engine: str, *tasks: str) -> None:
    bench = Bench(engine)
    for task in tasks or ("work", "two"):
        if task.isdigit():
            bench.waiting(int(task))
        else:
            getattr(bench, task)()


if __name__ == "__main__":
    main(*sys.argv[1:])
