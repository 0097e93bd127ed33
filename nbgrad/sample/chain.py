"""`Chain`: one chain, its memory, and its warm-up and draws in short calls of compiled code."""

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..kernels import hamiltonian, nuts
from .density import Density
from .warm_up import Mass, windows

_SECONDS = 0.05
"""About how long a call of compiled code takes: Python handles signals in between."""
_SMALLEST = 1e-250
_BLOCKS = 48
"""Each chain has 2**48 blocks of random numbers of its own."""


class Chain:
    """A chain of a sampler. Its draws depend on the seed and its number alone."""

    def __init__(
        self, density: Density, seed: np.ndarray, number: int, is_nuts: bool, length: int,
        target: float, dense: bool, step: float,
    ):  # fmt: skip
        n = len(density.vector)
        self.number, self._density = number, density
        self._error: BaseException | None = None
        self.mass = Mass(n, dense)
        self._integers, self._floats = np.zeros(8, np.int64), np.zeros(8)
        depth = length if is_nuts else 0
        self._work = np.zeros(nuts.length_of_work(n, depth))
        self._random = np.array([seed[0], number << _BLOCKS], np.int64)
        self._numbers = np.zeros(4)
        rows = self._work[: 4 * n].reshape(4, n)
        self.position, self.gradient = rows[hamiltonian.POSITION], rows[hamiltonian.GRADIENT]
        code = density.code(self.position, self.gradient, self._failed)
        address, self._words, self._alive = code
        for place, value in (
            (hamiltonian.CODE, address), (hamiltonian.SIZE, n), (hamiltonian.DENSE, dense),
            (hamiltonian.LENGTH, length), (hamiltonian.KIND, not is_nuts),
        ):  # fmt: skip
            self._integers[place] = value
        self._floats[hamiltonian.STEP] = step
        self._floats[hamiltonian.TARGET] = target
        self._budget = 64.0

    def begin(self, q: np.ndarray) -> float:
        """Put the chain at a position; return the log density there."""
        self.position[:] = q
        return nuts.begin(self._integers, self._floats, self._words, self._numbers, self._work)

    def run(
        self, warmup: int, draws: int, adapts: bool, tell: Callable[[int], None]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Run the chain; return the draws and statistics of the warm-up, and those after it."""
        n = len(self.position)
        early, told = np.empty((warmup, n)), np.zeros((warmup, nuts.STATS))
        start = 0
        if adapts and warmup:
            self._stride()
            self._integers[hamiltonian.ADAPTS] = 1
        for size, is_window in windows(warmup):
            rows = slice(start, start + size)
            self._walk(early[rows], told[rows], tell)
            if adapts and is_window and not self.is_stopped:
                self.mass.estimate(early[rows])
                self._floats[hamiltonian.STEP] = math.exp(self._floats[hamiltonian.MEAN])
                self._stride()
            start += size
        if adapts and warmup:
            self._integers[hamiltonian.ADAPTS] = 0
            self._floats[hamiltonian.STEP] = math.exp(self._floats[hamiltonian.MEAN])
        kept, facts = np.empty((draws, n)), np.zeros((draws, nuts.STATS))
        self._walk(kept, facts, tell)
        return early, told, kept, facts

    def stop(self) -> None:
        """End the chain soon, from another thread."""
        self._integers[hamiltonian.STOPPED] = 1

    @property
    def is_stopped(self) -> bool:
        return bool(self._integers[hamiltonian.STOPPED] or self._integers[hamiltonian.FAILED])

    def require_whole(self) -> None:
        """Raise the exception that the density raised, if it did."""
        if self._integers[hamiltonian.FAILED]:
            if self._error is not None:
                raise self._error
            self._density.slope(self.position.copy())

    def _stride(self) -> None:
        nuts.stride(*self._state())
        step = self._floats[hamiltonian.STEP]
        if not self.is_stopped and not _SMALLEST < step < 1.0 / _SMALLEST:
            raise ArgumentError(
                f"nbgrad.sample: chain {self.number} found no step size, of {step:.0e}: "
                + (
                    "the density does not fall off, so it is none (improper); give each parameter "
                    "a prior"
                    if step > 1.0
                    else "the log density does not follow its gradient; it jumps, or a derivative "
                    "is lost: try nbgrad.check_grads"
                )
            )

    def _walk(self, draws: np.ndarray, told: np.ndarray, tell: Callable[[int], None]) -> None:
        done = 0
        while done < len(draws) and not self.is_stopped:
            started = perf_counter()
            before = done
            done = nuts.walk(*self._state(), draws, told, done, self._budget)
            tell(done - before)
            seconds = perf_counter() - started
            if seconds < 0.5 * _SECONDS:
                self._budget *= 2.0
            elif seconds > 2.0 * _SECONDS:
                self._budget = max(1.0, 0.5 * self._budget)

    def _state(self) -> tuple[Any, ...]:
        return (
            self._integers, self._floats, self._random, self._words, self._numbers,
            self.mass.inverse, self.mass.factor, self._work,
        )  # fmt: skip

    def _failed(self, error: BaseException) -> None:
        self._error = error
