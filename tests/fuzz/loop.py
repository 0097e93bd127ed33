"""The loop of one process: draw, run, count, keep what fails."""

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import nbgrad

from . import complex_programs, frontend, odd, runner
from .coverage import Coverage
from .derivatives import drawing as drawing_of_loops
from .derivatives import running
from .derivatives.checking import check
from .derivatives.machine import check_machine, check_tracked
from .derivatives.packed import check_packed
from .derivatives.pieces import check_in_pieces, check_threads
from .derivatives.second import check_second
from .derivatives.whole import draw_whole
from .draw import draw, ops
from .memory import drawing
from .modes import MODES
from .oracle import Unusable
from .programs import Program
from .runner import Failure
from .shrink import shrunk
from .static import STATIC

KINDS = ("eager", "plain", "compiled", "odd", "kernels", "memory", "lean", "loops", "complex")
"""What runs: the eager tier and compiled programs, both in plain Python; compiled programs as
machine code; odd calls; the eager tier with kernels of machine code; programs that write to their
arrays, in both tiers in plain Python; kernels compiled by our own front end and by Numba's;
derivatives of functions with loops; programs of complex numbers, in both tiers in plain Python."""
OTHERS = ("odd", "lean", "loops", "complex")
"""The kinds whose programs are no steps of ops."""

INTERPRETED = ("eager", "plain", "memory", "complex")
"""The kinds that run where Numba compiles nothing: ever new kernels take most of the time."""

WRITING = 4
"""Of so many programs that run as machine code one writes to its arrays."""

PER_PROGRAM = {"eager": 12, "plain": 5, "compiled": 2, "kernels": 9, "memory": 14}
RARE = {"second_process": 0.03}  # takes seconds
LONGEST = {"eager": 12, "plain": 8, "compiled": 5, "kernels": 6, "memory": 10}


class Job(NamedTuple):
    """One stretch of work: what runs, from which seed, until when."""

    kind: str
    seed: int
    seconds: float = 1e9
    programs: int = 10**9
    op: str = ""
    before: Coverage | None = None  # what was met so far, by other jobs too


class Found(NamedTuple):
    coverage: Coverage
    failures: dict[tuple, Failure]
    times: dict[tuple, float]


def table_of(kind: str) -> dict[str, Any]:
    if kind == "memory":
        return {**MODES, **STATIC}
    return MODES if kind in ("eager", "kernels") else STATIC


def ops_of(kind: str) -> dict[str, Any]:
    """The steps that programs of a kind are held to account for."""
    return drawing.memory_ops() if kind == "memory" else ops()


def work(job: Job, seen: Callable[[Coverage, Failure | None], None] | None = None) -> Found:
    """Run one job. `seen` is told of progress."""
    if job.kind == "odd":
        return _odd(job)
    if job.kind == "lean":
        return _lean(job)
    if job.kind == "loops":
        return _loops(job)
    if job.kind == "complex":
        return _complex(job)
    coverage, failures, times = Coverage(), {}, {}
    met = Coverage()
    if job.before:
        met.add(job.before)
    start = time.monotonic()
    for number in range(job.programs):
        if time.monotonic() - start > job.seconds:
            break
        program = drawn(job, job.seed + number, met)
        if program is None:
            continue
        for failure in trial(job, program, coverage, met):
            if failure.signature not in failures:
                failures[failure.signature] = failure
                times[failure.signature] = time.monotonic() - start
                if seen:
                    seen(coverage, failure)
    return Found(coverage, failures, times)


def _odd(job: Job) -> Found:
    """Calls with odd arguments, a hundred at a time: eager ones, then compiled ones."""
    coverage, failures = Coverage(), {}
    start = time.monotonic()
    for number in range(min(job.programs, 10**6)):
        if time.monotonic() - start > job.seconds:
            break
        compiled = number % 4 == 3
        faults = odd.run(100, job.seed + number, compiled)
        coverage.programs += 100
        coverage.cases += 100
        coverage.modes["compiled" if compiled else "eager"] += 100
        for fault in faults:
            kind = fault.split(" ")[0]
            failures[kind, compiled, fault.split(":")[-1][:30]] = Failure(fault, "odd", kind, fault)
    return Found(coverage, failures, {})


def _lean(job: Job) -> Found:
    """Kernels compiled by two front ends; those that the lean one leaves to Numba are refused."""
    coverage, failures = Coverage(), {}
    start = time.monotonic()
    for seed in range(job.seed, job.seed + min(job.programs, 10**6)):
        if time.monotonic() - start > job.seconds:
            break
        text, calls = frontend.draw(seed), frontend.arguments(seed)
        found = frontend.compared(text, calls)
        coverage.programs += 1
        coverage.cases += found.is_lean * len(calls)
        coverage.refused["lean", "refused"] += not found.is_lean
        if found.told and not failures:
            text = frontend.shrunk(text, calls, 20.0)
            told = f"# seed {seed}\n{text}\n{frontend.compared(text, calls).told}"
            failures["lean", seed] = Failure(told, "lean", "Different", told)
    return Found(coverage, failures, {})


_CHECKS = {
    0: check_machine, 2: check_packed, 3: check_packed, 4: check_threads, 5: check_second,
    6: check_in_pieces,
}  # fmt: skip


def _loops(job: Job) -> Found:
    """Derivatives of functions with loops: interpreted, and some as machine code."""
    coverage, failures = Coverage(), {}
    end = time.monotonic() + job.seconds
    for seed in range(job.seed, job.seed + min(job.programs, 10**6)):
        if time.monotonic() > end:
            break
        checked = check_tracked if seed % 16 == 8 else _CHECKS.get(seed % 8, check)
        kind = draw_whole if seed % 3 == 0 else drawing_of_loops.draw
        found = running.run(seed, 1, checked=checked, draw=kind)
        coverage.programs += 1
        coverage.cases += found.counts["right"]
        coverage.refused["loops", "refused"] += found.counts["refused"]
        for program, wrong in found.failures:
            if ("loops", wrong[:24]) not in failures:
                told = running.told(running.small(program, 20.0, checked), checked)
                failures["loops", wrong[:24]] = Failure(told, "loops", "Different", told)
    return Found(coverage, failures, {})


def _complex(job: Job) -> Found:
    """Programs of complex numbers; refusals by name count as such."""
    coverage, failures = Coverage(), {}
    end = time.monotonic() + job.seconds
    for seed in range(job.seed, job.seed + min(job.programs, 10**6)):
        if time.monotonic() > end:
            break
        coverage.programs += 1
        try:
            told = complex_programs.fault(seed)
        except nbgrad.NbgradError:
            coverage.refused["complex", "refused"] += 1
            continue
        except Exception as error:
            told = f"{complex_programs.draw(seed)[0]}# {type(error).__name__}: {error}"
        coverage.cases += 1
        if told:
            what = told.split("# ")[-1][:24]
            failures.setdefault(("complex", what), Failure(told, "complex", "Different", told))
    return Found(coverage, failures, {})


def drawn(job: Job, seed: int, coverage: Coverage) -> Program | None:
    try:
        if job.kind == "memory" or (job.kind not in INTERPRETED and seed % WRITING == 0):
            return drawing.draw(seed, LONGEST[job.kind], job.op)
        modes = [name for name in table_of(job.kind) if name not in RARE]
        return draw(seed, coverage, LONGEST[job.kind], job.op, modes)
    except Unusable:
        return None


def trial(
    job: Job, program: Program, coverage: Coverage, met: Coverage | None = None
) -> list[Failure]:
    """Run a program in the modes that its ops met least, as `met` knows."""
    table = table_of(job.kind)
    rng = np.random.default_rng(program.seed)
    names = [name for name in table if name not in RARE or rng.random() < RARE[name]]
    known = coverage if met is None else met
    ops = program.ops()
    # Silent ones count too: a mode that says nothing of an op does not come first for ever.
    counts = [min(known.pairs[op, name] + known.silent[op, name] for op in ops) for name in names]
    order = np.argsort(np.array(counts) + rng.random(len(counts)) * 3)
    chosen = [names[i] for i in order[: PER_PROGRAM[job.kind]]]
    try:
        found = runner.outcome(program, chosen, table)
    except Unusable:
        return []
    for counted in (coverage, met):
        if counted is not None:
            counted.note(program, found.done, found.refused, found.silent)
    return found.failures


def table_for(failure: Failure) -> dict[str, Any]:
    """The modes among which a failure's is."""
    eager = failure.mode in MODES or failure.mode in ("refuse value", "refuse vmap", "refuse grad")
    return MODES if eager else STATIC


def small(failure: Failure, seconds: float = 20.0) -> Failure:
    """The failure with its program shrunk."""
    table = table_for(failure)

    def failing(program: Program) -> Failure | None:
        try:
            found = runner.outcome(program, [failure.mode], table).failures
        except Unusable:
            return None
        return next((f for f in found if f.signature == failure.signature), None)

    program = shrunk(failure.program, lambda program: failing(program) is not None, seconds)
    return failing(program) or failure


def seed_from_environment(default: int) -> int:
    """NBGRAD_FUZZ_SEED, for a fresh one each day; else the fixed one."""
    return int(os.environ.get("NBGRAD_FUZZ_SEED", default))
