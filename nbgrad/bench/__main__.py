"""The process that measures: ``python -m nbgrad.bench``, one line of JSON for each figure.

    python -m nbgrad.bench times W1 W5 --with "NumPy by hand" "nbgrad compiled" --seconds 0.2
    python -m nbgrad.bench sweep rosenbrock --with "NumPy by hand" nbgrad --most 1e5
    python -m nbgrad.bench first W5 --with "nbgrad compiled"
    python -m nbgrad.bench machine
    python -m nbgrad.bench peers

It needs no package for tables or pictures, so that it runs in the environment of any library.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from . import machine, sweep
from .budget import GaveUp, budget
from .contestants import NUMPY, Contestant, agrees, contestant
from .peers import peers
from .timing import interleave, once
from .workloads import Workload, workloads

SLOT = 0.005
"""Seconds of one turn of a contestant."""
LEAST = 3
"""Turns of one whose call takes longer than all turns together may."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m nbgrad.bench", description="Measures.")
    parser.add_argument("what", choices=["machine", "peers", "times", "sweep", "first"])
    parser.add_argument("names", nargs="*", help="workloads, curves")
    parser.add_argument("--with", nargs="+", dest="contestants", default=[])
    parser.add_argument("--seconds", type=float, default=0.3, help="a contestant and workload")
    parser.add_argument("--most", type=float, default=1e7, help="the largest size of a sweep")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of a first call")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other libraries, on import
        if options.what in ("machine", "peers"):
            here = [name for name in peers if find_spec(name)]
            alone = options.what == "peers"
            most = {} if alone else {"bandwidth": machine.bandwidth(), "flops": machine.flops()}
            _tell(facts=machine.facts(), peers=here, **most)
        elif options.what == "first":
            [name], [who] = options.names, options.contestants
            _first(workloads[name], contestant(who), options.budget)
        else:
            able = [contestant(name) for name in options.contestants]
            if options.what == "times":
                for name in options.names:
                    _times({"workload": name}, workloads[name], able, options)
            else:
                for curve in options.names:
                    left = able  # who gave up is not asked for more
                    for n in sweep.sizes(curve, options.most):
                        facts = {"curve": curve, "size": n}
                        left = _times(facts, sweep.workload(curve, n), left, options)


def _times(
    facts: dict[str, Any], workload: Workload, able: list[Contestant], options: argparse.Namespace
) -> list[Contestant]:
    """Each contestant on one workload: checked against the hand, then timed in turns.

    Returns those that came to an end.
    """
    expected = contestant(NUMPY).runner(workload)()
    runs: dict[str, Callable[[], Any]] = {}
    slow: dict[str, Callable[[], Any]] = {}
    left: list[Contestant] = []
    for one in able:
        if not one.takes(workload):
            continue
        about = {**facts, "contestant": one.name}
        with _trying(about, options.budget):
            run = one.runner(workload)
            right = agrees(run(), expected, workload.tolerance)
            taken = once(run, 1)
            left.append(one)
            if right:
                (slow if taken > options.seconds else runs)[one.name] = run
            else:
                _tell(**about, wrong=True)
    rounds = max(LEAST, int(options.seconds / SLOT))
    for group, turns in ((runs, rounds), (slow, LEAST)):
        found = interleave(group, next(iter(group)), turns, SLOT) if group else {}
        for name, times in found.items():
            _tell(**facts, contestant=name, least=times.least, median=times.middle)
    return left


def _first(workload: Workload, one: Contestant, seconds: float) -> None:
    """Seconds of the first call after the start of its compiler, and megabytes at the peak."""
    if not one.takes(workload):
        return
    one.start()
    about = {"workload": workload.name, "contestant": one.name}
    before = _peak()
    start = perf_counter()
    with _trying(about, seconds):
        one.runner(workload)()
        _tell(**about, first=perf_counter() - start, memory=_peak() - before)


@contextmanager
def _trying(about: dict[str, Any], seconds: float) -> Iterator[None]:
    """What may not end is told before and after, so that who listens can end it from outside."""
    _tell(**about, tries=True)
    try:
        with budget(seconds):
            yield
        _tell(tries=False)
    except GaveUp:
        _tell(**about, gave_up=seconds)


def _peak() -> float:
    """Megabytes that this process held at most; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0.0
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1e6 if sys.platform == "darwin" else 1e3)


def _tell(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
