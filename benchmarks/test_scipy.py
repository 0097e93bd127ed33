"""Derivatives for SciPy's solvers, beside the finite differences that they take without.

    pytest benchmarks/test_scipy.py -n 0 --benchmark-enable -rP
    python benchmarks/test_scipy.py [rosenbrock] [fit] [residuals]          a table

A derivative is value and gradient, or residuals and Jacobian, at a new point each time; a solution
is a whole run of `minimize` (BFGS) or `least_squares`. The differences are of the plain NumPy
function. What compiling takes is not in it.
"""

import sys
from collections.abc import Callable
from itertools import cycle
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize

import nbgrad
from nbgrad.bench.timing import interleave
from nbgrad.scipy.settings import Start

SIZES = (2, 4, 16, 64)
DIFFERENCES, TIERS = "differences", ("eager", "compiled")
# At most so many times as long as the differences, for 4 numbers and more.
TARGET = 1.0
SAMPLES = 100


class Problem(NamedTuple):
    """What is minimised, or residuals, and where from."""

    function: Callable
    start: np.ndarray
    gives_residuals: bool = False


def rosenbrock(n: int) -> Problem:
    def f(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return Problem(f, np.linspace(0.5, 1.5, n))


def residuals(n: int) -> Problem:
    """Of a curve of n coefficients at 100 points."""
    t = np.linspace(-1.0, 1.0, SAMPLES)
    powers = t[:, None] ** np.arange(n)
    y = np.tanh(3.0 * t) + 0.1 * np.random.default_rng(n).normal(size=SAMPLES)

    def f(p):
        return np.tanh(powers @ p) - y

    return Problem(f, np.full(n, 0.1), True)


def fit(n: int) -> Problem:
    """The sum of the squares of those."""
    of_points, start, _ = residuals(n)
    return Problem(lambda p: np.sum(of_points(p) ** 2), start)


PROBLEMS = {"rosenbrock": rosenbrock, "fit": fit, "residuals": residuals}


def derivatives(problem: Problem) -> dict[str, Callable]:
    """For each way, a call that gives the value and the derivative at a new point."""
    points = [problem.start, problem.start + 1e-3]
    turns = cycle(points)

    def by_differences():
        x = next(turns)
        return problem.function(x), scipy.optimize.approx_fprime(x, problem.function)

    def by_nbgrad(tier):
        compiled, turns = tier == "compiled", cycle(points)
        if problem.gives_residuals:
            parts = Start(problem.start).residuals(problem.function, (), {}, compiled)
        else:
            parts = nbgrad.scipy.objective(problem.function, problem.start, compile=compiled)

        def both():
            x = next(turns)
            return parts.fun(x), parts.jac(x)

        return both

    return {DIFFERENCES: by_differences} | {tier: by_nbgrad(tier) for tier in TIERS}


def solutions(problem: Problem) -> dict[str, Callable]:
    """For each way, a call that solves the problem."""
    solver = "least_squares" if problem.gives_residuals else "minimize"
    ours, theirs = getattr(nbgrad.scipy, solver), getattr(scipy.optimize, solver)
    compiled = nbgrad.compile(problem.function)
    return {
        DIFFERENCES: lambda: theirs(problem.function, problem.start),
        "eager": lambda: ours(problem.function, problem.start),
        "compiled": lambda: ours(compiled, problem.start),
    }


each = pytest.mark.parametrize("n", SIZES)
each_problem = pytest.mark.parametrize("name", PROBLEMS)
each_tier = pytest.mark.parametrize("tier", TIERS)


@each_tier
@each
@each_problem
def test_a_derivative(benchmark, note_ratio, name, n, tier):
    ways = derivatives(PROBLEMS[name](n))
    for ours, theirs in zip(ways[tier](), ways[DIFFERENCES](), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
    benchmark(ways[tier])
    note_ratio(ways[tier], ways[DIFFERENCES], TARGET if n >= 4 else None)


@each_tier
@each
@each_problem
def test_a_solution(benchmark, note_ratio, name, n, tier):
    ways = solutions(PROBLEMS[name](n))
    assert np.max(ways[tier]().fun) <= np.max(ways[DIFFERENCES]().fun) + 1e-3
    benchmark(ways[tier])
    note_ratio(ways[tier], ways[DIFFERENCES], TARGET if n >= 4 else None)


def main() -> None:
    """A table of how many times as long the differences take."""
    print("SciPy's differences in multiples of nbgrad, median (and of least times)")
    print(f"{'':14}{'n':>4}" + "".join(f"{tier:>18}" for tier in TIERS) + "  of a solution:")
    for name in sys.argv[1:] or PROBLEMS:
        for n in SIZES:
            problem, cells = PROBLEMS[name](n), []
            for make, rounds in ((derivatives, 20), (solutions, 5)):
                found = interleave(make(problem), DIFFERENCES, rounds)
                base = found[DIFFERENCES].least
                cells += [f"{1 / found[t].ratio:.1f} ({base / found[t].least:.1f})" for t in TIERS]
            print(f"{name:14}{n:4}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
