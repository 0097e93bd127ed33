"""The processes that measure: started, heard, and ended where a library does not end."""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbgrad

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NBGRAD_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
GRACE = 5.0
"""Seconds beyond the budget after which a process is ended that did not give up by itself."""


class BenchError(Exception):
    """A process that measures failed; the message has its last line."""


class Measuring:
    """Runs the processes that measure, in one environment and on one thread.

    `take` hears the figures as they come, `on_line` what they are of.
    """

    def __init__(
        self,
        python: str,
        take: Callable[[dict[str, Any]], None],
        on_line: Callable[[str], None],
        budget: float,
    ):
        self.python, self.take, self.on_line, self.budget = python, take, on_line, budget

    def run(
        self, *arguments: str, contestants: Sequence[str] = (), fresh_cache: bool = False
    ) -> None:
        """One process, or where one contestant hung in it another without that one."""
        left, given = list(contestants), list(arguments)
        if contestants:
            given += ["--budget", str(self.budget), "--with"]
        with _environment(fresh_cache) as environment:
            while left or not contestants:
                hung = self._process([*given, *left], environment)
                if hung is None:
                    return
                self.take({**hung, "gave_up": self.budget})
                left.remove(hung["contestant"])

    def _process(self, given: list[str], environment: dict[str, str]) -> dict[str, Any] | None:
        """Run one to its end, or to that of the budget: then who is at work, and on what."""
        command = [self.python, "-m", "nbgrad.bench", *given]
        tried: dict[str, Any] = {}
        ended = threading.Event()
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:

            def end() -> None:
                ended.set()
                process.kill()

            assert process.stdout is not None and process.stderr is not None
            limit = threading.Timer(self.budget + GRACE, end)
            try:
                for line in process.stdout:
                    if not line.startswith("{"):
                        continue
                    limit.cancel()
                    figures = json.loads(line)
                    if figures.pop("tries", False):
                        tried = figures
                        limit = threading.Timer(self.budget + GRACE, end)
                        limit.start()
                    elif figures:
                        self.take(figures)
                        self.on_line(str(figures.get("workload") or figures.get("size", "")))
                told = process.stderr.read().strip().splitlines()
            finally:
                limit.cancel()
        if ended.is_set():
            return tried
        if process.returncode:
            raise BenchError(
                f"{' '.join(command[:3])} {' '.join(given)} failed with exit code "
                f"{process.returncode}: {told[-1] if told else 'it said nothing'}"
            )
        return None


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
