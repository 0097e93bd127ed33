"""What a worker does in a step, and how the results of shards become one."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..static import compile
from ..transforms import trees
from ..transforms.reverse import value_and_grad
from .kept import Kept
from .versions import whoami

TOGETHER = 8
"""So many neighbours are summed at once, then so many of the sums: a tree that the number of shards
alone decides. Who computes a shard, and when, does not change a bit."""


class Seen(NamedTuple):
    """One shard in a step: its number, who computed it, its rows, and how long that took."""

    shard: int
    worker: str
    rows: int
    seconds: float


class Part(NamedTuple):
    """The sums of some shards, weight, weight * value and weight * gradient, and who made them."""

    total: np.ndarray
    seen: tuple[Seen, ...]


class Share(Kept):
    """The work of a step on one shard: value and gradient of the loss, times the weight."""

    def __init__(self, loss: Callable, mean: bool, compiled: bool):
        super().__init__(loss, mean, compiled)
        self.mean = mean
        both = value_and_grad(loss)
        self._both = compile(both) if compiled else both

    def __call__(self, index: int, shard: Any, params: Any) -> Part:
        """The part of the shard with this number. A failure names it."""
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
            raise TypeError(
                'parallel: reduce="mean" weighs a shard by the length of its first array, and '
                f'there is none in a shard of {len(arrays)} values; take reduce="sum", or put an '
                "array with one row a sample first"
            )
        return 1

    def _total(self, params: Any, arrays: tuple, rows: int) -> np.ndarray:
        size = sum(np.size(x) for x in trees.flatten(params)[0] if trees.is_differentiable(x))
        total = np.zeros(2 + size)
        if self.mean and rows == 0:  # a mean of nothing is nan, and has no weight
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
    """The arrays of a shard: it, or what it gives when it is called."""
    arrays = shard() if callable(shard) else shard
    if not isinstance(arrays, (tuple, list)):
        what = "a function that gives" if callable(shard) else "a shard that is"
        raise TypeError(
            f"parallel: {what} a {type(arrays).__name__}: a shard is a tuple of arrays, the "
            "arguments of the loss after the parameters, such as (x, y) or (x,)"
        )
    return tuple(arrays)


def fold(parts: Sequence[Part]) -> Part:
    """The sum of some parts, from the first to the last."""
    first, *rest = parts
    if not rest:
        return first
    total = first.total.copy()
    for part in rest:
        total += part.total
    return Part(total, tuple(seen for part in parts for seen in part.seen))


class Tree:
    """The sum of parts that come one by one, in the order of the tree, keeping few of them."""

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
        """The sum of all that was added, one part or more."""
        level = 0
        while level < len(self._levels) - 1:
            if self._levels[level]:
                waiting, self._levels[level] = self._levels[level], []
                self._levels[level + 1].append(fold(waiting))
            level += 1
        return fold(self._levels[-1])
