"""The work of each workload, counted: what stands in `counted.json` beside this file.

    python tests/bench/counted.py            shows what is counted now, and what differs
    python tests/bench/counted.py --write    writes it into the file, for whoever changed it

No clock runs here: counted are calls of Python functions, of kernels, from Python of NumPy's
allocators and of Numba's, bytes, operations, the lines and instructions of programs. What hangs on
the versions of Python and Numba or on the processor is compared where these are the same.
"""

import gc
import json
import platform
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import llvmlite
import numba
import numpy as np
from llvmlite import binding

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from helpers.calls import allocations
from kinds import kinds
from kinds.tools import nbgrad_tools

import nbgrad
from nbgrad.bench.libraries import (
    Library,
    as_float,
    nbgrad_compiled_library,
    nbgrad_function_library,
    nbgrad_library,
)
from nbgrad.bench.workloads import runner, workloads
from nbgrad.compiler.machine import optimized
from nbgrad.static.entry.run import text_of
from nbgrad.static.reads import guard
from nbgrad.values.replay import AFTER

FILE = Path(__file__).with_suffix(".json")
NAMES = ("W1", "W2", "W3", "W4", "W5", "W6", "W10")
"""Those whose programs compile in a second."""
HANGS_ON = {
    "frames": ("python",),
    "allocations": ("python", "numba"),
    "bytes": ("python", "numba"),
    "instructions": ("numba", "processor"),
}
"""By the last word of a count, the versions that it is compared for."""
ALLOCATORS = {np.empty, np.zeros, np.ones, np.empty_like, np.zeros_like, np.ones_like, np.array}


def versions() -> dict[str, str]:
    """The versions that counts may depend on. Virtual machines may hide features of a processor."""
    features = sorted(name for name, has in binding.get_host_cpu_features().items() if has)
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numba": f"{numba.__version__}, llvmlite {llvmlite.__version__}, NumPy {np.__version__}",
        "processor": f"{binding.get_host_cpu_name()} {crc32(' '.join(features).encode()):x}",
    }


def counts() -> dict[str, dict[str, int]]:
    """The counts of all workloads, in both tiers, and of compiled programs of users' kinds."""
    found = {name: eager(name) | compiled(*gradient(name)) for name in NAMES}
    tools = nbgrad_tools()
    for name, kind in kinds.items():
        arguments = kind.arguments(np.random.default_rng(3))
        found[name] = compiled(nbgrad.compile(kind.program(tools)), arguments)
    return found


def eager(name: str) -> dict[str, int]:
    """One forward and backward pass with leaves that stay, as in the middle of a training; then
    the frames of others that keep nothing."""
    run = runner(workloads[name], nbgrad_library())
    others = {
        "value_and_grad": runner(workloads[name], nbgrad_function_library()),
        "hvp": runner(workloads[name], hvp_library()),
    }
    for _ in range(AFTER + 3):
        run()
        for other in others.values():
            other()
    before = nbgrad.stats()["called"]
    run()
    kernels = nbgrad.stats()["called"] - before
    frames, allocations = _calls(run)
    return {
        "eager: kernel calls": kernels,
        "eager: frames": frames,
        "eager: allocations": allocations,
        "eager: bytes": _bytes(run),
        **{f"eager, {other}: frames": _calls(again)[0] for other, again in others.items()},
    }


def hvp_library() -> Library:
    """The product of the Hessian in the first parameter with a direction, eager."""

    def prepare(f: Callable, parameters: list, data: list) -> Callable[[], Any]:
        product, direction = nbgrad.hvp(f), np.ones_like(parameters[0])
        return lambda: product(*parameters, *data, direction)

    return replace(nbgrad_function_library(), prepare=prepare)


def gradient(name: str) -> tuple[Any, list]:
    """The compiled value and gradients of a workload, and their arguments."""
    workload, library = workloads[name], nbgrad_compiled_library()
    parameters, data = workload.parameters(), workload.data()
    both = nbgrad.value_and_grad(
        lambda *args: workload.function(library, *args), tuple(range(len(parameters)))
    )
    return nbgrad.compile(both), [*map(as_float, parameters), *data]


def compiled(function: Any, arguments: Sequence) -> dict[str, int]:
    """One call of a compiled function from Python, and its program."""

    def run():
        function(*arguments)

    for _ in range(guard.FEW + 2):  # then a C function compares what was read
        run()
    frames, allocations = _calls(run)
    plan, text = function.only_variant("plan").plan, function.source
    return {
        "compiled: frames": frames,
        "compiled: allocations": allocations,
        "compiled: bytes moved": plan.reads + plan.writes,
        "compiled: scratch": plan.scratch,
        "compiled: flops": plan.flops,
        "compiled: functions": text.count("@device"),
        "compiled: lines": sum(1 for line in text.splitlines() if line.strip()),
        "compiled: instructions": instructions(function),
    }


def instructions(function: Any) -> int:
    """LLVM's instructions of the optimized program, with its entry."""
    variant = function.only_variant("plan")
    core = variant._emitted.linked
    module, _ = optimized(text_of(variant.signature, core), core.modules)
    return sum(
        sum(1 for _ in block.instructions)
        for found in module.functions
        for block in found.blocks
    )  # fmt: skip


def _calls(run: Callable[[], Any]) -> tuple[int, int]:
    """Python functions entered, and arrays made, in one run."""
    seen = {"call": 0, "made": 0}

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            seen["call"] += 1
        elif event == "c_call" and arg in ALLOCATORS:
            seen["made"] += 1

    gc.collect()
    gc.disable()

    before = allocations()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return seen["call"], seen["made"] + allocations() - before


def _bytes(run: Callable[[], Any]) -> int:
    """Bytes of NumPy's arrays and Python's objects that one run holds at most."""
    gc.collect()
    tracemalloc.start()
    try:
        run()
        tracemalloc.reset_peak()
        held = tracemalloc.get_traced_memory()[0]
        run()
        return tracemalloc.get_traced_memory()[1] - held
    finally:
        tracemalloc.stop()


def raised(found: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """The counts that are higher than those known, where they can be compared."""
    same = {version for version, told in known["with"].items() if found["with"][version] == told}
    return [
        f"{name}, {what}: {found['counts'][name][what]:,}, known {count:,}"
        for name, row in known["counts"].items()
        for what, count in row.items()
        if same.issuperset(HANGS_ON.get(what.split()[-1], ()))
        and found["counts"][name][what] > count
    ]


def main() -> None:
    """Show or write the counts."""
    found = {"with": versions(), "counts": counts()}
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    known = json.loads(FILE.read_text())["counts"] if FILE.exists() else {}
    for name, row in found["counts"].items():
        for what, count in row.items():
            old = known.get(name, {}).get(what)
            print(f"{name:<20} {what:<24} {count:>10,}" + ("" if old == count else f"  was {old}"))
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
