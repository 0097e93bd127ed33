"""The command: processes, progress, a report."""

import argparse
import multiprocessing
import os
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from rich.console import Console
from rich.live import Live
from rich.table import Table

from .coverage import ENOUGH, Coverage
from .draw import ops
from .loop import INTERPRETED, KINDS, OTHERS, RARE, Job, ops_of, small, table_of, work
from .runner import Failure

SHARES = {
    "eager": 0.28, "plain": 0.29, "compiled": 0.1, "odd": 0.05, "kernels": 0.07, "memory": 0.18,
    "lean": 0.03, "loops": 0.1, "complex": 0.05,
}  # fmt: skip
CHUNK = 20.0  # seconds of work between two reports
TEACH = """
Programs are drawn at random and run on NumPy and in every mode of nbgrad; where two disagree, the
program is shrunk and printed as Python that goes into a file of tests/regressions/ as it is.

  python -m tests.fuzz --minutes 30 --jobs 2       a long run, with a table of what was met
  python -m tests.fuzz --minutes 2 --only eager    the eager tier alone
  python -m tests.fuzz --minutes 2 --only memory   programs that write to their arrays
  python -m tests.fuzz --row cumsum --minutes 1    programs that contain one op
  python -m tests.fuzz --seed 7 --minutes 1        the programs of that seed
  python -m tests.fuzz --defects                   put known defects back, and find them

eager and plain are the two tiers in plain Python, plain on memory full of not-a-numbers: many
programs a second. memory is both for programs that write, through names and views. kernels and
compiled are machine code: few. lean compares the two front ends that compile kernels. loops
compares derivatives of functions with loops with dual numbers. complex draws programs of complex
numbers, in both tiers. odd calls public functions with what
they do not take.
The exit code is 1 where anything was found.
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        "python -m tests.fuzz", description="Look for wrong numbers.", epilog=TEACH,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    made.add_argument("--minutes", type=float, default=5.0, help="how long (5)")
    made.add_argument("--jobs", type=int, default=2, help="how many processes (2)")
    made.add_argument("--seed", type=int, help="where to start; a fresh one by default")
    made.add_argument("--only", choices=KINDS, action="append", help="run only this; repeatable")
    made.add_argument("--row", default="", metavar="NAME", help="only programs with this op")
    made.add_argument("--rows", action="store_true", help="list the ops and stop")
    made.add_argument("--defects", action="store_true", help="time how long known defects take")
    made.add_argument("--shown", type=int, default=20, help="failures that are shrunk (20)")
    return made


def main(argv: list[str] | None = None) -> int:
    given = parser().parse_args(argv)
    console = Console()
    if given.rows:
        console.print(", ".join(sorted(ops())))
        return 0
    if given.row and given.row not in ops():
        console.print(f"no op is called {given.row}; --rows lists them")
        return 2
    if given.defects:
        return _in_plain_python(given.minutes * 60, given.seed or 0)
    seed = secrets.randbelow(10**9) if given.seed is None else given.seed
    console.print(f"seed {seed}")
    kinds: list[str] = given.only or list(KINDS)
    coverage, failures = run(console, kinds, seed, given.minutes * 60, given.jobs, given.row)
    for kind in kinds:
        console.print(summary(kind, coverage[kind]))
    report(console, failures, given.shown)
    return 1 if failures else 0


def _in_plain_python(seconds: float, seed: int) -> int:
    """Defects are looked for where eager and compiled programs are cheap, in a process of its
    own."""
    with _pool(1, True) as pool:
        return pool.submit(_find_all, seconds, seed).result()


def _find_all(seconds: float, seed: int) -> int:
    from .findings import find_all

    return find_all(Console(), seconds, seed)


def jobs_of(kind: str, seed: int, op: str) -> Iterator[Job]:
    """Stretches of work with seeds of their own."""
    number = KINDS.index(kind)
    while True:
        yield Job(kind, seed * 1000 + number * 10**11, CHUNK, op=op)
        seed += 10_000


def run(
    console: Console, kinds: list[str], seed: int, seconds: float, jobs: int, op: str
) -> tuple[dict[str, Coverage], dict[tuple, Failure]]:
    """Work until the time is over: counts by kind, failures by what they have in common."""
    coverage = {kind: Coverage() for kind in kinds}
    failures: dict[tuple, Failure] = {}
    spent = dict.fromkeys(kinds, 0.0)
    queues = {kind: jobs_of(kind, seed, op) for kind in kinds}
    pools = {plain: _pool(jobs, plain) for plain in {kind in INTERPRETED for kind in kinds}}
    end = time.monotonic() + seconds
    running: dict[Future, Job] = {}
    with Live(console=console, refresh_per_second=2) as live:
        while running or time.monotonic() < end:
            while len(running) < jobs and time.monotonic() < end:
                kind = min(kinds, key=lambda k: spent[k] / SHARES[k])
                spent[kind] += CHUNK
                job = next(queues[kind])
                job = job._replace(
                    seconds=min(CHUNK, end - time.monotonic()), before=coverage[kind]
                )
                running[pools[kind in INTERPRETED].submit(work, job)] = job
            done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                job = running.pop(future)
                kind = job.kind
                try:
                    found = future.result()
                except BrokenProcessPool:  # a process died: the worst that can be found
                    told = f"python -m tests.fuzz --only {kind} --jobs 1 from seed {job.seed}"
                    failures[kind, "died", job.seed] = Failure(told, "process", "died", told)
                    pools[kind in INTERPRETED] = _pool(jobs, kind in INTERPRETED)
                    continue
                coverage[kind].add(found.coverage)
                for signature, failure in found.failures.items():
                    failures.setdefault((kind, *signature), failure)
            live.update(progress(coverage, failures, end))
    for pool in pools.values():
        pool.shutdown()
    return coverage, failures


def _pool(jobs: int, plain: bool) -> ProcessPoolExecutor:
    """Processes that start afresh; in those for plain Python, Numba compiles nothing."""
    os.environ["NUMBA_DISABLE_JIT"] = "1" if plain else "0"  # read when Numba is imported
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))
    for started in [pool.submit(time.sleep, 0.5) for _ in range(jobs)]:
        started.result()  # each process has begun with that environment
    return pool


def progress(coverage: dict[str, Coverage], failures: dict[tuple, Failure], end: float) -> Table:
    table = Table(title=f"{max(0, round(end - time.monotonic()))} s left")
    for name in ("", "programs", "cases", "refused", "differences"):
        table.add_column(name, justify="right" if name else "left")
    for kind, found in coverage.items():
        wrong = sum(signature[0] == kind for signature in failures)
        row = found.programs, found.cases, sum(found.refused.values()), wrong
        table.add_row(kind, *(f"{n:,}" for n in row))
    return table


def summary(kind: str, coverage: Coverage) -> Table:
    """What was met: modes, classes of inputs, and the pairs of op and mode met least."""
    modes = [] if kind in OTHERS else [name for name in table_of(kind) if name not in RARE]
    known = {} if kind in ("lean", "loops") else ops_of(kind)
    seldom = coverage.least(known, modes)
    table = Table(
        title=f"{kind}: {coverage.programs:,} programs, {coverage.cases:,} cases; {len(seldom):,} "
        f"of {len(known) * len(modes):,} pairs of op and mode tried less than {ENOUGH} times"
    )
    for name in (
        "modes",
        "shapes, dtypes, layouts",
        "ops met least",
        "op x mode tried least",
        "refused",
    ):
        table.add_column(name, overflow="fold")
    least = [(coverage.ops[name], name) for name in known]
    columns = [
        [f"{n:,} {name}" for name, n in coverage.modes.most_common()],
        [f"{n:,} {name}" for name, n in sorted(coverage.classes.items())],
        [f"{n:,} {name}" for n, name in sorted(least)[:25]],
        [f"{n:,} ({met:,} told) {name} x {mode}" for n, met, name, mode in seldom[:25]],
        [f"{n:,} {mode}: {message}" for (mode, message), n in coverage.refused.most_common(12)],
    ]  # fmt: skip
    table.add_row(*("\n".join(column) for column in columns))
    return table


def report(console: Console, failures: dict[tuple, Failure], shown: int) -> None:
    """The failures, shrunk, as Python to paste."""
    if not failures:
        console.print("[green]no difference[/]")
        return
    console.print(f"[red]{len(failures)} kinds of failures[/]; the first {shown}, shrunk:")
    for (kind, *_), failure in list(failures.items())[:shown]:
        failure = small_of(kind, failure)
        console.print(
            f"\n# {kind}, {failure.mode}: {failure.kind}: {failure.message[:300]}", markup=False
        )
        console.print(str(failure.program), markup=False, highlight=False)


def small_of(kind: str, failure: Failure) -> Failure:
    """The failure of a shrunk program; what happened in plain Python is shrunk in a process of that
    kind."""
    if isinstance(failure.program, str):
        return failure
    with _pool(1, kind in INTERPRETED) as pool:
        return pool.submit(small, failure).result()
