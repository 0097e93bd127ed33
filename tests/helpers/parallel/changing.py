"""A loss that reads its data from many places, and changes of them that double its value."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

SCALE = 1.0
OFFSETS = np.zeros(1)


def helper() -> float:
    return 1.0


def other() -> float:
    return 2.0


class Settings:
    def __init__(self):
        self.scale = 1.0


class Loss:
    factor = 1.0

    def __init__(self):
        self.array, self.scale, self.inner = np.ones(2), 1.0, Settings()
        self.items = {"a": [1.0]}

    def __call__(self, w: Any, x: Any) -> Any:
        own = self.array[0] * self.scale * self.inner.scale * self.items["a"][0]
        return np.sum(w * x) * own * SCALE * (1.0 + OFFSETS[0]) * helper() * self.factor


def _double(array: np.ndarray) -> None:
    array *= 2.0


def _globals(**values: Any) -> None:
    for name, value in values.items():
        setattr(sys.modules[__name__], name, value)


def total(w: Any) -> Any:
    return Loss()(w, np.ones(3))


CARRIED: dict[str, Callable[[Loss, list], Any]] = {
    "a shard in place": lambda loss, shards: [_double(x) for (x,) in shards],
    "a shard replaced": lambda loss, shards: shards.__setitem__(0, (3.0 * shards[0][0],)),
    "an array of the loss in place": lambda loss, shards: _double(loss.array),
    "an array of the loss replaced": lambda loss, shards: setattr(loss, "array", np.full(2, 2.0)),
    "a number of the loss": lambda loss, shards: setattr(loss, "scale", 2.0),
    "an attribute of a nested object": lambda loss, shards: setattr(loss.inner, "scale", 2.0),
    "a nested object replaced": lambda loss, shards: setattr(loss, "inner", _settings(2.0)),
    "an item of a list in a dict": lambda loss, shards: loss.items["a"].__setitem__(0, 2.0),
    "an item of a dict": lambda loss, shards: loss.items.update(a=[2.0]),
}
"""What a pickle has: each engine takes it as it is at the step."""

NAMED: dict[str, tuple[str, Callable[[], None], Callable[[], None]]] = {
    "a global": ("SCALE", lambda: _globals(SCALE=2.0), lambda: _globals(SCALE=1.0)),
    "a global array": ("OFFSETS", lambda: _fill(OFFSETS, 1.0), lambda: _fill(OFFSETS, 0)),
    "a function": ("helper", lambda: _globals(helper=other), lambda: _globals(helper=HELPER)),
    "the attribute of a class": (
        "Loss.factor", lambda: setattr(Loss, "factor", 2.0), lambda: setattr(Loss, "factor", 1.0),
    ),
}  # fmt: skip
"""What a pickle has by name: its change, and how it is undone. Other processes refuse it."""

HELPER = helper


def _settings(scale: float) -> Settings:
    made = Settings()
    made.scale = scale
    return made


def _fill(array: np.ndarray, value: float) -> None:
    array[...] = value
