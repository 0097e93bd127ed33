"""Loops as people write them for Numba: values and gradients by `nbgrad.njit`, beside the plain
function, adjoints by hand, JAX and Enzyme.

    python benchmarks/test_loops.py [--peers] [kernel...]      a table

All functions are called with copies of the arrays that they write to. The table has CPU times,
which do not count what other programs take, except for JAX and Enzyme: they have wall times, and
nbgrad's wall times beside them. `--peers` needs an environment with JAX (and enzyme-ad); set
`XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"` for one thread.
"""

import sys
import time
from collections.abc import Callable
from math import prod
from typing import Any

import loop_adjoints_of_matrices
import loop_adjoints_of_paths
import numba
import numpy as np
import pytest
from loop_enzyme import enzyme_runner
from loop_kernels import kernels
from loop_peers import jax_runner

import nbgrad

# At most so many times the plain Numba function, and so many times the adjoint by hand.
PLAIN, HAND = 4.0, 1.1

adjoints = loop_adjoints_of_matrices.adjoints | loop_adjoints_of_paths.adjoints

by_name = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.benchmark(group=n)) for n in kernels]
)


def copied(arguments: tuple) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]


def plain(name: str, large: bool = True, decorator: Callable = numba.njit) -> Callable[[], Any]:
    """The kernel, on copies of its arguments."""
    f, arguments = decorator(kernels[name].function), kernels[name].given(large)
    return lambda: f(*copied(arguments))


def gradient(name: str, large: bool = True) -> Callable[[], Any]:
    """Value and gradients by nbgrad, which writes to copies, too."""
    kernel = kernels[name]
    f, arguments = (
        nbgrad.value_and_grad(nbgrad.njit(kernel.function), kernel.wrt),
        kernel.given(large),
    )
    return lambda: f(*arguments)


def by_hand(name: str, large: bool = True) -> Callable[[], Any]:
    arguments = kernels[name].given(large)
    return lambda: adjoints[name](*arguments)


def same(found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """Values and gradients agree."""
    np.testing.assert_allclose(found[0], expected[0], rtol=tolerance)
    for one, other in zip(found[1], expected[1], strict=True):
        scale = float(np.max(np.abs(other)))
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


@by_name
def test_plain(benchmark, name):
    benchmark(plain(name))


@by_name
def test_the_value_costs_what_it_does_by_numba(benchmark, note_ratio, name):
    ours, reference = plain(name, decorator=nbgrad.njit), plain(name)
    assert benchmark(ours) == reference()
    note_ratio(ours, reference, 1.03)


@by_name
def test_gradient(benchmark, note_ratio, name):
    run = gradient(name)
    value, *slopes = adjoints[name](*kernels[name].given())
    same(benchmark(run), (value, slopes))
    note_ratio(run, plain(name), PLAIN)


@by_name
def test_gradient_beside_adjoint_by_hand(benchmark, note_ratio, name):
    hand = by_hand(name)
    benchmark(hand)
    note_ratio(gradient(name), hand, HAND)


@by_name
def test_adjoint_by_hand(name):
    kernel = kernels[name]
    arguments = kernel.given(large=False)
    value, *slopes = adjoints[name](*arguments)
    assert np.isclose(value, kernel.function(*copied(arguments)), rtol=1e-13)
    rng = np.random.default_rng(0)
    steps = [rng.normal(size=np.shape(arguments[i])) for i in kernel.wrt]

    def at(size: float) -> float:
        moved = copied(arguments)
        for i, step in zip(kernel.wrt, steps, strict=True):
            moved[i] = moved[i] + size * step
        return kernel.function(*moved)

    expected = (8 * (at(1e-4) - at(-1e-4)) - at(2e-4) + at(-2e-4)) / 1.2e-3
    found = sum(np.sum(slope * step) for slope, step in zip(slopes, steps, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@by_name
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("runner", [jax_runner, enzyme_runner])
def test_peer(benchmark, name, runner):
    run = runner(name, kernels[name])
    if run is None:
        pytest.skip("not installed, or not a kernel for it")
    value, *slopes = adjoints[name](*kernels[name].given())
    same(benchmark(run), (value, slopes), 1e-6)


# -- the table ------------------------------------------------------------------------------------


def least(runs: dict[str, Callable], clock: Callable[[], float], seconds: float) -> dict:
    """The least times of calls in turns, for about so many seconds."""
    found = {name: np.inf for name in runs}
    until = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < until:
        rounds += 1
        for name, run in runs.items():
            start = clock()
            run()
            found[name] = min(found[name], clock() - start)
    return found


def table(names: list[str], peers: bool, seconds: float = 3.0) -> None:
    print("| kernel | plain, us | njit / plain | gradient / plain | gradient / by hand |"
          " JAX / gradient | Enzyme / gradient | first call, s |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    ratios: dict[str, list[float]] = {}
    nbgrad.set_threads(1)
    for name in names:
        start = time.perf_counter()
        own = gradient(name)
        own()
        first = time.perf_counter() - start
        runs = {
            "plain": plain(name), "njit": plain(name, decorator=nbgrad.njit),
            "gradient": own, "hand": by_hand(name),
        }  # fmt: skip
        for run in runs.values():
            run()
        cpu = least(runs, time.process_time, seconds)
        row = {
            "njit": cpu["njit"] / cpu["plain"], "gradient": cpu["gradient"] / cpu["plain"],
            "hand": cpu["gradient"] / cpu["hand"],
        }  # fmt: skip
        if peers:
            others = {"jax": jax_runner(name, kernels[name])}
            others["enzyme"] = enzyme_runner(name, kernels[name])
            others = {key: run for key, run in others.items() if run is not None}
            for run in others.values():
                run()
            wall = least({"gradient": own, **others}, time.perf_counter, seconds)
            row |= {key: wall[key] / wall["gradient"] for key in others}
        for key, ratio in row.items():
            ratios.setdefault(key, []).append(ratio)
        shown = (f"{row[key]:.2f}" if key in row else "" for key in KEYS)
        print(
            f"| {name} | {1e6 * cpu['plain']:.0f} | {' | '.join(shown)} | {first:.1f} |", flush=True
        )
    means = (f"{prod(found) ** (1 / len(found)):.2f}" if (found := ratios.get(key)) else ""
             for key in KEYS)  # fmt: skip
    print(f"| geometric mean | | {' | '.join(means)} | |")


KEYS = ("njit", "gradient", "hand", "jax", "enzyme")

if __name__ == "__main__":
    given = sys.argv[1:]
    table([x for x in given if x != "--peers"] or list(kernels), "--peers" in given)
