"""Proof that the fuzzer finds: a defect is put back, and it runs until a difference shows."""

import importlib
import itertools
import pkgutil
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from rich.console import Console

from . import defects, loop, runner
from .coverage import Coverage
from .oracle import Unusable
from .runner import Failure
from .shrink import shrunk

Defect = Callable[[], AbstractContextManager]


ELSEWHERE = {
    "cache: key-without-the-text": "tests/compiler/test_cache.py: machine code of another process",
    "dtypes: changes-unnoticed": "tests/static/test_captured.py: arrays that change",
    "dtypes: derivatives-of-old-arrays": "tests/static/test_captured.py: arrays that change",
    "dtypes: numbers-as-they-come": "tests/static/test_integers_and_keys.py: numbers from @njit",
    "graph: detached-copies": "tests/fuzz/test_graph_defects.py: copies by copy.deepcopy",
    "graph: index-not-copied": "tests/fuzz/test_graph_defects.py: arrays that change in between",
    "graph: memo-lost": "tests/fuzz/test_graph_machine.py: arrays that are dropped",
    "graph: modes-of-all-tasks": "tests/fuzz/test_graph_defects.py: tasks",
    "graph: unlocked-leaves": "tests/fuzz/test_graph_defects.py: threads",
}
"""Defects that no single call of a program shows, and what finds them."""


class Finding(NamedTuple):
    """When a defect was found, after how many programs, and by what; `failure` is None where it was
    not found."""

    seconds: float
    programs: int
    failure: Failure | None


def known_defects() -> dict[str, Defect]:
    """Every defect of the package's modules, by the module and its name there."""
    found = {}
    for module in pkgutil.iter_modules(defects.__path__):
        table = importlib.import_module(f"{defects.__name__}.{module.name}").DEFECTS
        found |= {f"{module.name}: {name}": defect for name, defect in table.items()}
    return found


KINDS = ("eager", "eager", "plain")
WRITING = ("memory",)


def kinds_for(name: str) -> tuple[str, ...]:
    """The kinds of programs that a defect shows in."""
    return WRITING if name.startswith("memory: ") else KINDS


def find(
    defect: Defect,
    seconds: float,
    seed: int = 0,
    shrinking: float = 10.0,
    kinds: Sequence[str] = KINDS,
) -> Finding:
    """Run programs of these kinds with the defect until one goes wrong that is right without it."""
    start = time.monotonic()
    coverage = Coverage()
    programs = 0
    for number, kind in enumerate(itertools.cycle(kinds), seed):
        if time.monotonic() - start > seconds:
            return Finding(time.monotonic() - start, programs, None)
        job = loop.Job(kind, number)
        program = loop.drawn(job, number, coverage)
        if program is None:
            continue
        programs += 1
        with defect():
            failures = loop.trial(job, program, coverage)
        for failure in failures:
            if not _fails(failure):
                took = time.monotonic() - start
                return Finding(took, programs, small(failure, defect, shrinking))
    raise AssertionError("the programs do not end")


def _fails(failure: Failure) -> bool:
    """Whether the program goes wrong in that mode."""
    table = loop.table_for(failure)
    try:
        found = runner.outcome(failure.program, [failure.mode], table).failures
    except Unusable:
        return False
    return any(f.mode == failure.mode for f in found)


def small(failure: Failure, defect: Defect, seconds: float) -> Failure:
    """A smaller program that goes wrong with the defect and is right without."""

    def fails(program) -> bool:
        candidate = failure._replace(program=program)
        with defect():
            wrong = _fails(candidate)
        return wrong and not _fails(candidate)

    return failure._replace(program=shrunk(failure.program, fails, seconds))


def find_all(console: Console, seconds: float, seed: int) -> int:
    """Look for every defect; 1 where one stays hidden."""
    hidden = 0
    for name, defect in known_defects().items():
        if name in ELSEWHERE:
            console.print(f"{name}: by {ELSEWHERE[name]}", markup=False)
            continue
        found = find(defect, seconds, seed, kinds=kinds_for(name))
        if found.failure is None:
            hidden += 1
            console.print(f"[red]{name}: not found[/] in {found.programs} programs")
            continue
        took = f"{found.seconds:.1f} s, {found.programs} programs, by {found.failure.mode}"
        console.print(f"{name}: {took}: {found.failure.message[:160]}", markup=False)
        console.print(str(found.failure.program), markup=False, highlight=False)
    return 1 if hidden else 0
