"""Random steps of a loop that write parts of their states and read others."""

from collections.abc import Callable
from typing import Any

import numpy as np

import nbgrad

SIZE = 8  # of which a row is small enough to be written by itself


class Draw:
    """A random body of a loop over states of SIZE x SIZE and of SIZE elements."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.lines = [self.line() for _ in range(rng.integers(1, 4))]
        self.swaps = rng.random() < 0.1

    def pick(self, *options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def place(self) -> Callable:
        """A position for the number of a step, which may be negative."""
        k = int(self.rng.integers(-2, 3))
        fixed = int(self.rng.integers(-SIZE, SIZE))
        return self.pick(
            lambda i: i, lambda i: i, lambda i: i - 1, lambda i: -1 - i, lambda i: (i + k) % SIZE,
            lambda i: (3 * i + k) % SIZE, lambda i: fixed,
        )  # fmt: skip

    def index(self) -> Callable:
        """An index of a matrix for the number of a step, and whether it is a number."""
        p, q, kind = self.place(), self.place(), self.rng.integers(6)
        start = int(self.rng.integers(0, 2))
        if kind < 3:
            return lambda i: p(i)
        if kind == 3:
            return lambda i: (p(i), q(i))
        if kind == 4:
            return lambda i: (slice(None), p(i))
        return lambda i: (p(i), slice(start, SIZE - 1))

    def value(self, matrix: int) -> Callable:
        """An expression of both states, the first ones and those before the step: a row, or
        numbers, that fit what is read."""
        terms = [self.term() for _ in range(self.rng.integers(1, 4))]
        bend = self.pick(np.tanh, np.sin, lambda v: v, lambda v: v)

        def total(i, now, old, x, of):
            parts = [term(i, now, old, x) for term in terms]
            return bend(sum(c * of(part) for c, part in parts))

        return total

    def term(self) -> Callable:
        c = float(self.rng.uniform(0.2, 0.6))
        p, q = self.place(), self.place()
        kind, which = self.rng.integers(9), self.pick(0, 0, 0, 1)
        if kind == 0:
            return lambda i, now, old, x: (c, x[p(i)])
        if kind == 1:
            return lambda i, now, old, x: (c, x[:, p(i)])
        if kind == 2:
            return lambda i, now, old, x: (c, np.sum(now[which] * now[which]) * 0.1)
        if kind == 3:
            return lambda i, now, old, x: (c, old[which][p(i)])
        if kind == 4:
            return lambda i, now, old, x: (c, old[0][:, p(i)] * now[1][q(i)])
        if kind == 5:
            return lambda i, now, old, x: (c, now[0][p(i), q(i)])
        return lambda i, now, old, x: (c, now[which][p(i)])

    def line(self) -> Callable:
        """One write: the states after it."""
        value, kind, which = self.value(0), self.rng.integers(10), self.pick(0, 0, 1)
        index, place = self.index(), self.place()
        adds = self.rng.random() < 0.3

        def write(i, now, old, x):
            states = list(now)
            at = index(i) if which == 0 else place(i)
            whole = now[which]
            if kind == 0 and which == 0:
                block = 0.5 * (whole[:-2] + whole[2:])
                states[0] = nbgrad.at(whole)[1:-1].set(block)
                return states
            if kind == 1 and which == 0:
                states[0] = np.tanh(whole) * 0.9
                return states
            shape = np.shape(nbgrad.at(whole)[at].get())

            def of(part):
                """What of a part fits the place that is written to."""
                if np.ndim(part) <= len(shape):
                    return part if np.shape(part) in ((), shape) else part[: shape[0]]
                return np.sum(part)

            new = value(i, now, old, x, of)
            target = nbgrad.at(whole)[at]
            states[which] = target.add(new) if adds else target.set(new)
            return states

        return write

    def body(self, x: Any) -> Callable:
        def step(i, states):
            now = list(states)
            for line in self.lines:
                now = line(i, now, states, x)
            if self.swaps:
                now[0] = now[0] + 0.1 * states[0]
            return tuple(now)

        return step


def point(seed: int, dtype: type = np.float64) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (SIZE, SIZE)).astype(dtype)
