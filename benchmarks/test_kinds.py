"""Programs of the kinds that users write, compiled, beside JAX.

    python benchmarks/test_kinds.py [name...]      a table; needs JAX

Both sides have one thread, the same programs and the same arguments, and run in turns. Set
`XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"` for one thread.
"""

import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from kinds import kinds
from kinds.tools import jax_tools, nbgrad_tools

import nbgrad
from nbgrad.bench.timing import interleave

by_name = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.benchmark(group=n)) for n in kinds]
)
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of nested results, in order."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    return [np.asarray(tree)]


def same(found: Any, expected: Any, tolerance: float) -> None:
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        scale = float(np.max(np.abs(other)))
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


@by_name
def test_compiled(benchmark, name):
    benchmark(kinds[name].runner(nbgrad_tools()))


@by_name
@needs_jax
def test_beside_jax(benchmark, note_ratio, name):
    ours, theirs = kinds[name].runner(nbgrad_tools()), kinds[name].runner(jax_tools())
    same(benchmark(ours), theirs(), kinds[name].tolerance)
    note_ratio(ours, theirs, 1.0)


def first(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main(names: list[str]) -> None:
    nbgrad.set_threads(1)
    print(
        "| kind | nbgrad, us | JAX / nbgrad | first calls, s: nbgrad | JAX |\n|---|--:|--:|--:|--:|"
    )
    ratios = []
    for name in names or kinds:
        ours, theirs = kinds[name].runner(nbgrad_tools()), kinds[name].runner(jax_tools())
        begun = first(ours), first(theirs)
        same(ours(), theirs(), kinds[name].tolerance)
        times = interleave({"nbgrad": ours, "JAX": theirs}, "nbgrad", 30)
        ratios.append(times["JAX"].ratio)
        print(
            f"| {name} | {times['nbgrad'].middle * 1e6:.1f} | {ratios[-1]:.2f} "
            f"| {begun[0]:.2f} | {begun[1]:.2f} |",
            flush=True,
        )
    print(f"| geometric mean | | {np.exp(np.mean(np.log(ratios))):.2f} | | |")


if __name__ == "__main__":
    main(sys.argv[1:])
