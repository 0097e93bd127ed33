"""Compiled gradients inside the user's own `@njit` loops, beside gradients by hand in Numba.

From Python a call costs what its arguments cost; in a loop of compiled code only the work is left.
"""

from collections.abc import Callable

import numba
import numpy as np
from test_workloads import by_name, by_name_in_numba, same

import nbgrad
from nbgrad.bench.hand_numba import descent, fast, hand_numba
from nbgrad.bench.libraries import nbgrad_compiled_library
from nbgrad.bench.timing import interleave
from nbgrad.bench.workloads import hand_runner, numba_arguments, numba_runner, runner, workloads

# At most so many times as long as the hand-written Numba.
FROM_PYTHON, INSIDE = None, 1.05


def compiled_njit(name: str) -> Callable:
    """The value and gradients of a workload for `@njit` code."""
    workload = workloads[name]
    if workload.is_descent:
        return descent(compiled_njit("W5"))
    library = nbgrad_compiled_library()
    numbers = tuple(range(len(workload.parameters())))
    both = nbgrad.value_and_grad(lambda *args: workload.function(library, *args), numbers)
    return nbgrad.compile(both).variant(*numba_arguments(workload)).njit


def looped(function: Callable, name: str, calls: int) -> Callable[[], float]:
    """Calls of `function` in one `@njit` loop; gives the sum of its values."""

    # A first argument that depends on the value before keeps a loop over scalars from folding.
    @numba.njit
    def over_scalars(calls, first, *rest):
        total = 0.0
        for _ in range(calls):
            total += function(first + 0.0 * total, *rest)[0]
        return total

    @numba.njit
    def over_arrays(calls, *given):
        total = 0.0
        for _ in range(calls):
            total += function(*given)[0]
        return total

    given = numba_arguments(workloads[name])
    loop = over_arrays if isinstance(given[0], np.ndarray) else over_scalars
    return lambda: loop(calls, *given)


def pair(name: str, functions, calls: int | None = None) -> dict[str, Callable]:
    """The compiled program and the hand-written Numba, in loops that take about a millisecond."""
    compiled, by_hand = compiled_njit(name), hand_numba(functions)[name]
    if calls is None:
        (once,) = interleave({"": looped(by_hand, name, 1)}, "", 3).values()
        calls = max(1, int(1e-3 / once.least))
    return {"compiled": looped(compiled, name, calls), "by hand": looped(by_hand, name, calls)}


@by_name_in_numba
def test_inside_njit(benchmark, note_ratio, name):
    loops = pair(name, fast(), calls=None if benchmark.enabled else 2)
    np.testing.assert_allclose(
        benchmark(loops["compiled"]), loops["by hand"](), rtol=workloads[name].tolerance
    )
    note_ratio(loops["compiled"], loops["by hand"], INSIDE)


@by_name
def test_compiled_descends_and_differentiates_alike_in_njit(name):
    workload = workloads[name]
    value, *gradients = compiled_njit(name)(*numba_arguments(workload))
    same((value, gradients), hand_runner(workload)(), workload.tolerance)


@by_name_in_numba
def test_from_python(benchmark, note_ratio, name):
    run = runner(workloads[name], nbgrad_compiled_library())
    benchmark(run)
    note_ratio(run, numba_runner(workloads[name], hand_numba(fast())), FROM_PYTHON)


def main() -> None:
    """A table of ratios: python benchmarks/test_static.py W1 W5 ..."""
    import sys

    print("compiled nbgrad in multiples of Numba by hand, median (and of least times)")
    print(f"{'':6}{'from Python':>20}{'in @njit':>20}{'math.*: Python':>20}{'in @njit':>20}")
    for name in sys.argv[1:] or hand_numba():
        cells = []
        for functions in (fast(), None):
            hands = hand_numba(functions) if functions else hand_numba()
            runs = {
                "compiled": runner(workloads[name], nbgrad_compiled_library()),
                "by hand": numba_runner(workloads[name], hands),
            }
            for these in (runs, pair(name, functions) if functions else None):
                if these is None:
                    continue
                found = interleave(these, "by hand", 20)
                least = found["compiled"].least / found["by hand"].least
                cells.append(f"{found['compiled'].ratio:.2f} ({least:.2f})")
        print(f"{name:6}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
