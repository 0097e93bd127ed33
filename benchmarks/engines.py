"""What a step costs on each engine of `nbgrad.parallel`, in milliseconds.

    python benchmarks/engines.py threads|processes|dask
    mpiexec -n 2 python benchmarks/engines.py mpi

A step without work, with 2 workers and as many shards; the same for a million parameters, with the
part of it that workers took; and a heavy loss on one core and on two workers, wall and CPU time.
The fastest of some steps: what disturbs a step, such as other programs, only makes it slower.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import nbgrad


def nothing(w: Any, x: Any) -> Any:
    return np.sum(w) * np.sum(x)


def heavy(w: Any, x: Any, y: Any) -> Any:
    h = x
    for _ in range(6):
        h = np.tanh(h * w)
    return np.mean((h - y) ** 2)


def fastest(step: Callable[[], Any], times: int) -> float:
    """Milliseconds of the fastest of some calls, after two that compile."""
    step()
    step()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        step()
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


def main(engine: str) -> None:
    rank, size, workers = 0, 1, 2
    if engine == "mpi":
        comm = import_module("mpi4py.MPI").COMM_WORLD
        rank, size, workers = comm.Get_rank(), comm.Get_size(), None
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(400_000, 4)), rng.normal(size=(400_000, 4)), np.ones(4)
    alone = nbgrad.compile(nbgrad.value_and_grad(heavy))
    one = fastest(lambda: alone(w, x, y), 9)  # on MPI, on each rank at the same time
    lines = [f"{engine}: the heavy loss on one core: {one:.1f} ms"]
    with nbgrad.parallel.value_and_grad(nothing, engine, "sum", workers=workers) as vg:
        shards = [(np.ones(2),)] * 2
        for n, times in ((1, 200), (100_000, 50), (1_000_000, 20)):
            took = fastest(lambda n=n: vg(np.ones(n), shards[rank::size]), times)
            lines.append(f"  {n} parameters: {took:.2f} ms a step without work")
    with tempfile.TemporaryDirectory() as folder:
        parts = list(zip(np.split(x, 2), np.split(y, 2), strict=True))[rank::size]
        shards = nbgrad.parallel.store(f"{folder}/{rank}", parts)
        with nbgrad.parallel.value_and_grad(heavy, engine, workers=workers) as vg:
            two = fastest(lambda: vg(w, shards), 9)
            lines.append(f"  the heavy loss on 2 workers: {two:.1f} ms, {one / two:.2f} times")
    if rank == 0:
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
