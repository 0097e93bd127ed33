"""The twelve functions with loops that are measured, and arguments for each."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from helpers.loops.kernels import (
    align,
    barrier,
    cholesky,
    definite,
    durbin,
    garch,
    gauss_seidel,
    jacobi,
    lotka_volterra,
    lu,
    nbody,
    newton,
    soft_dtw,
)


class LoopKernel(NamedTuple):
    """A function, the arguments by which it is differentiated, and its arguments."""

    function: Callable[..., float]
    wrt: tuple[int, ...]
    arguments: Callable[[np.random.Generator, bool], tuple[Any, ...]]
    """Arguments for a generator, large ones or, for checks, small ones."""

    def given(self, large: bool = True) -> tuple[Any, ...]:
        return self.arguments(np.random.default_rng(1), large)


def _grids(rng, large):
    n = 200 if large else 9
    return rng.normal(size=(n, n)), 20 if large else 3


def _two_grids(rng, large):
    a, sweeps = _grids(rng, large)
    return a, np.zeros(a.shape), sweeps


def _matrix(rng, large):
    return (definite(rng, 200 if large else 7),)


def _durbin(rng, large):
    n = 800 if large else 12
    return rng.normal(size=n) * 0.01, np.zeros(n), np.zeros(n)


def _bodies(rng, large):
    n = 40 if large else 5
    return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), 50 if large else 4


def _predators(rng, large):
    steps, dt = (100_000, 0.001) if large else (30, 0.05)
    return np.array([1.0, 0.5, 0.3, 0.7]), steps, dt


def _returns(rng, large):
    return np.array([0.1, 0.2, 0.7]), rng.normal(size=100_000 if large else 20)


def _distances(rng, large):
    n = 150 if large else 6
    return rng.uniform(size=(n, n)), rng.uniform(size=(n + 1, n + 1)), 0.7


def _sequences(rng, large):
    n = 400 if large else 8
    return rng.normal(size=n), rng.normal(size=n), np.zeros((n + 1, n + 1))


def _noise(rng, large):
    return rng.normal(size=(2000, 252) if large else (20, 12)), 100.0, 0.2, 95.0


def _cubes(rng, large):
    return (rng.uniform(1, 3, size=10_000 if large else 8),)


kernels = {
    "Gauss-Seidel": LoopKernel(gauss_seidel, (0,), _grids),
    "Jacobi": LoopKernel(jacobi, (0,), _two_grids),
    "Cholesky": LoopKernel(cholesky, (0,), _matrix),
    "LU": LoopKernel(lu, (0,), _matrix),
    "Durbin": LoopKernel(durbin, (0,), _durbin),
    "N-body": LoopKernel(nbody, (0, 1), _bodies),
    "Lotka-Volterra": LoopKernel(lotka_volterra, (0,), _predators),
    "GARCH": LoopKernel(garch, (0, 1), _returns),
    "soft-DTW": LoopKernel(soft_dtw, (0, 2), _distances),
    "alignment": LoopKernel(align, (0, 1), _sequences),
    "barrier option": LoopKernel(barrier, (0, 1, 2), _noise),
    "Newton": LoopKernel(newton, (0,), _cubes),
}
