"""The process that measures: ``python -m nbgrad.bench``, one line of JSON for each figure.

    python -m nbgrad.bench times W1 W5 --with "NumPy by hand" "nbgrad compiled" --seconds 0.2
    python -m nbgrad.bench sweep --with "NumPy by hand" nbgrad --most 1e5
    python -m nbgrad.bench first W5 --with "nbgrad compiled"
    python -m nbgrad.bench machine
    python -m nbgrad.bench peers

It needs no package for tables or pictures, so that it runs in the environment of any library.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from . import machine, sweep
from .budget import GaveUp, budget
from .contestants import NUMPY, Contestant, agrees, contestant
from .peers import peers
from .timing import interleave
from .workloads import Workload, workloads

SLOT = 0.005
"""Seconds of one turn of a contestant."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m nbgrad.bench", description="Measures.")
    parser.add_argument("what", choices=["machine", "peers", "times", "sweep", "first"])
    parser.add_argument("names", nargs="*", help="workloads")
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
                for curve, found in sweep.sizes(options.most).items():
                    for n in found:
                        facts = {"curve": curve, "size": n}
                        _times(facts, sweep.workload(curve, n), able, options)


def _times(
    facts: dict[str, Any], workload: Workload, able: list[Contestant], options: argparse.Namespace
) -> None:
    """Each contestant on one workload: checked against the hand, then timed in turns."""
    expected = contestant(NUMPY).runner(workload)()
    runs: dict[str, Callable[[], Any]] = {}
    for one in able:
        if not one.takes(workload):
            continue
        try:
            with budget(options.budget):
                run = one.runner(workload)
                result = run()
        except GaveUp:
            _tell(**facts, contestant=one.name, gave_up=options.budget)
            continue
        if agrees(result, expected, workload.tolerance):
            runs[one.name] = run
        else:
            _tell(**facts, contestant=one.name, wrong=True)
    if not runs:
        return
    rounds = max(3, int(options.seconds / SLOT))
    found = interleave(runs, next(iter(runs)), rounds=rounds, seconds=SLOT)
    for name, times in found.items():
        _tell(**facts, contestant=name, least=times.least, median=times.middle)


def _first(workload: Workload, one: Contestant, seconds: float) -> None:
    """Seconds of the first call after the start of its compiler, and megabytes at the peak."""
    if not one.takes(workload):
        return
    one.start()
    before = _peak()
    start = perf_counter()
    try:
        with budget(seconds):
            one.runner(workload)()
    except GaveUp:
        return  # as it is told beside the times of calls
    _tell(
        workload=workload.name, contestant=one.name, first=perf_counter() - start,
        memory=_peak() - before,
    )  # fmt: skip


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
