"""The work of a worker in a step, and the sum of results."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentTypeError
from ..static import compile
from ..transforms import trees
from ..transforms.reverse import value_and_grad
from .kept import Kept
from .versions import whoami

TOGETHER = 8
"""The number of neighbours summed at once, in a tree that depends only on the number of shards, so
that results do not depend on which worker computes a shard, or when."""


class Seen(NamedTuple):
    """The work on one shard: its number, the worker, its rows, and the time in seconds."""

    shard: int
    worker: str
    rows: int
    seconds: float


class Part(NamedTuple):
    """The sums of weight, weight * value and weight * gradient over some shards."""

    total: np.ndarray
    seen: tuple[Seen, ...]


class Share(Kept):
    """The weighted value and gradient of the loss for one shard."""

    def __init__(self, loss: Callable, mean: bool, compiled: bool):
        super().__init__(loss, mean, compiled)
        self.mean = mean
        both = value_and_grad(loss)
        self._both = compile(both) if compiled else both

    def __call__(self, index: int, shard: Any, params: Any) -> Part:
        """Return the part of a shard. The note of an error has the number of the shard."""
        started = time.perf_counter()
        self.require_same(whoami())
        try:
            arrays = loaded(shard)
            rows = self._rows(arrays)
            total = self._total(params, arrays, rows)
        except Exception as error:
            error.add_note(f"nbgrad.parallel: in shard {index}, by the worker {whoami()}")
            raise
        seconds = time.perf_counter() - started
        return Part(total, (Seen(index, whoami(), rows, seconds),))

    def _rows(self, arrays: tuple) -> int:
        if arrays and np.ndim(arrays[0]):
            return len(arrays[0])
        if self.mean:
            raise ArgumentTypeError(
                'parallel: reduce="mean" weights a shard by the length of its first array, and '
                f'there is none in a shard of {len(arrays)} values: use reduce="sum", or put an '
                "array with one row per sample first"
            )
        return 1

    def _total(self, params: Any, arrays: tuple, rows: int) -> np.ndarray:
        size = sum(np.size(x) for x in trees.flatten(params)[0] if trees.is_differentiable(x))
        total = np.zeros(2 + size)
        if self.mean and rows == 0:  # the mean would be nan
            return total
        value, slopes = self._both(params, *arrays)
        total[0], total[1] = 1.0, value
        at = 2
        for x in trees.flatten(slopes)[0]:
            if x is not None:
                total[at : at + np.size(x)] = np.ravel(x)
                at += np.size(x)
        if self.mean:
            total *= rows
        return total


def loaded(shard: Any) -> tuple:
    """Return the arrays of a shard, which may be a function that returns them."""
    arrays = shard() if callable(shard) else shard
    if not isinstance(arrays, (tuple, list)):
        what = "a function that returns" if callable(shard) else "a shard that is"
        raise ArgumentTypeError(
            f"parallel: {what} a {type(arrays).__name__}: a shard must be a tuple of arrays, the "
            "arguments of the loss after the parameters, such as (x, y) or (x,)"
        )
    return tuple(arrays)


def fold(parts: Sequence[Part]) -> Part:
    """Return the sum of parts, in order."""
    first, *rest = parts
    if not rest:
        return first
    total = first.total.copy()
    for part in rest:
        total += part.total
    return Part(total, tuple(seen for part in parts for seen in part.seen))


class Tree:
    """The sum of parts that are added one by one, in the order of the tree."""

    def __init__(self):
        self._levels: list[list[Part]] = []

    def add(self, part: Part, level: int = 0) -> None:
        if level == len(self._levels):
            self._levels.append([])
        waiting = self._levels[level]
        waiting.append(part)
        if len(waiting) == TOGETHER:
            self._levels[level] = []
            self.add(fold(waiting), level + 1)

    def sum(self) -> Part:
        """Return the sum of all parts, of which there must be at least one."""
        level = 0
        while level < len(self._levels) - 1:
            if self._levels[level]:
                waiting, self._levels[level] = self._levels[level], []
                self._levels[level + 1].append(fold(waiting))
            level += 1
        return fold(self._levels[-1])
