"""Gradients of NPBench's kernels, as they stand, beside its JAX versions.

    git clone https://github.com/spcl/npbench
    taskset -c 0 python benchmarks/npbench.py path/to/npbench [names] [--size S]

The loss is the sum of all that a kernel returns or writes; the gradients are those of all arrays
of real or complex numbers. Both are called in turns, in one process, and must agree.
"""

import argparse
import importlib
import inspect
import json
import linecache
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax  # pyright: ignore[reportMissingImports]
import numpy as np

import nbgrad

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
ROUNDS, SECONDS = 9, 3.0
LIMIT = 120
"""Seconds for all of one kernel, the compilations included."""


class Kernel:
    """A kernel of NPBench, and what it is called with."""

    def __init__(self, info: dict, size: str):
        folder = "npbench.benchmarks." + info["relative_path"].replace("/", ".")
        self.module, self.name = f"{folder}.{info['module_name']}", info["func_name"]
        self.plain = getattr(importlib.import_module(f"{self.module}_numpy"), self.name)
        known = dict(info["parameters"][size])
        if made := info.get("init"):
            module = importlib.import_module(self.module)
            values = getattr(module, made["func_name"])(*(known[n] for n in made["input_args"]))
            values = values if len(made["output_args"]) > 1 else (values,)
            known |= dict(zip(made["output_args"], values, strict=True))
        self.names = info["input_args"]
        self.given = [known[n] for n in self.names]
        self.wrt = tuple(
            i
            for i, x in enumerate(self.given)
            if isinstance(x, np.ndarray) and x.dtype.kind in "fc"
        )
        copies = self.copies()
        with np.errstate(all="ignore"):
            returned = self.plain(*copies)
        changed = [
            i for i in self.wrt if not np.array_equal(copies[i], self.given[i], equal_nan=True)
        ]
        self.written = changed or [i for i in self.wrt if self.names[i] in info["output_args"]]
        self.returned = returned if isinstance(returned, tuple | list) else [returned]

    def copies(self, of: Sequence[int] | None = None) -> list:
        """The arguments, with copies of these arrays; by default, of all."""
        return [
            x.copy() if isinstance(x, np.ndarray) and (of is None or i in of) else x
            for i, x in enumerate(self.given)
        ]

    def loss(self) -> Callable:
        """The kernel and the sum of what it gives, as one function for `nbgrad.njit`."""
        results = [(f"r{i}", x) for i, x in enumerate(self.returned)]
        written = [(self.names[i], self.given[i]) for i in self.written]
        numbers = [pair for pair in results if np.asarray(pair[1]).dtype.kind in "fc"]
        terms = [
            name + ".real" * np.iscomplexobj(x) + ".sum()" * bool(np.ndim(x))
            for name, x in numbers or written
        ]
        call = f"kernel({', '.join(self.names)})"
        call = (
            call
            if self.returned[0] is None
            else f"{', '.join(name for name, _ in results)} = {call}"
        )
        lines = f"def loss({', '.join(self.names)}):\n    {call}\n    return {' + '.join(terms)}\n"
        scope: dict[str, Any] = {"kernel": nbgrad.njit(self.plain)}
        file = f"<{self.module}>"
        linecache.cache[file] = (len(lines), None, lines.splitlines(keepends=True), file)
        exec(compile(lines, file, "exec"), scope)
        return nbgrad.njit(scope["loss"])

    def nbgrad_call(self) -> Callable[[], Any]:
        program = nbgrad.value_and_grad(self.loss(), argnums=self.wrt)
        if self.written:
            return lambda: program(*self.copies(self.written))
        return lambda: program(*self.given)

    def jax_call(self) -> Callable[[], Any]:
        function = getattr(importlib.import_module(f"{self.module}_jax"), self.name)
        given, wrt = self.copies(), self.wrt
        assert len(inspect.signature(function).parameters) == len(given)

        def loss(*active):
            arguments = list(given)
            for i, x in zip(wrt, active, strict=True):
                arguments[i] = x
            leaves = jax.tree.leaves(function(*arguments))
            return sum(x.real.sum() for x in leaves if x.dtype.kind in "fc")

        program = jax.jit(jax.value_and_grad(loss, tuple(range(len(wrt)))))
        active = [jax.device_put(given[i]) for i in wrt]
        return lambda: jax.block_until_ready(program(*active))


def times(calls: list[Callable[[], Any]]) -> list[float]:
    """The least seconds of each call, in turns."""
    least, start = [np.inf] * len(calls), time.perf_counter()
    for round_ in range(1000):
        for i, call in enumerate(calls):
            before = time.perf_counter()
            call()
            least[i] = min(least[i], time.perf_counter() - before)
        if round_ >= ROUNDS and time.perf_counter() - start > SECONDS:
            break
    return least


def difference(ours: tuple, theirs: tuple) -> str:
    """A note on the first difference beyond rounding; JAX's gradients are conjugates."""
    if not np.isclose(ours[0], theirs[0], rtol=1e-3):
        return f"  values: {ours[0]:.6g}, {theirs[0]:.6g}"
    for a, b in zip(ours[1], map(np.conj, theirs[1]), strict=True):
        if not np.isfinite(b).all():
            return "  JAX: nan"
        near = 1e-4 * np.abs(b).max(initial=0) + 1e-9 * abs(ours[0])
        if not np.allclose(a, b, rtol=1e-3, atol=near):
            return f"  gradients: {np.abs(a - b).max():.2g} of {np.abs(b).max():.2g}"
    return ""


def measure(info: dict, size: str) -> float | None:
    """Print one line; return how many times nbgrad is as fast as JAX."""
    print(f"{info['short_name']:20}", end="", flush=True)
    try:
        kernel = Kernel(info, size)
        ours = kernel.nbgrad_call()
        mine = ours()
    except Exception as error:
        print(f"nbgrad: {type(error).__name__}: {str(error).splitlines()[0]}")
        return None
    try:
        theirs = kernel.jax_call()
        other = theirs()
    except Exception as error:
        text = traceback.format_exception_only(error)[0].splitlines()[0]
        print(f"{times([ours])[0] * 1e3:10.3f} ms   JAX: {text[:80]}")
        return None
    note = difference(mine, other)
    a, b = times([ours, theirs])
    print(f"{a * 1e3:10.3f} ms {b * 1e3:10.3f} ms {b / a:8.2f}{note}", flush=True)
    return b / a


def late(*_):
    raise TimeoutError(f"not done in {LIMIT} s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("checkout", type=Path, help="a clone of spcl/npbench")
    parser.add_argument("names", nargs="*", help="short names of kernels; all by default")
    parser.add_argument("--size", default="S", help="S, M, L or paper")
    given = parser.parse_args()
    sys.path.insert(0, str(given.checkout))
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, late)
    print(f"{'':20}{'nbgrad':>13} {'JAX':>13} {'times':>8}")
    ratios = []
    for path in sorted((given.checkout / "bench_info").glob("*.json")):
        info = json.loads(path.read_text())["benchmark"]
        if given.names and info["short_name"] not in given.names:
            continue
        signal.alarm(LIMIT)
        try:
            ratio = measure(info, given.size)
        except Exception as error:
            print(f"{type(error).__name__}: {str(error)[:90]}")
            continue
        finally:
            signal.alarm(0)
        if ratio is not None:
            ratios.append(ratio)
    ahead = sum(r > 1 for r in ratios)
    mean = np.exp(np.mean(np.log(ratios)))
    print(f"{len(ratios)} kernels: ahead on {ahead}, geometric mean {mean:.2f}")


if __name__ == "__main__":
    main()
