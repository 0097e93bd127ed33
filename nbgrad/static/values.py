"""The values of the lowered program, and what can be read off them."""

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

BOOL, INT = np.dtype(bool), np.dtype(np.int64)


class Axis(NamedTuple):
    """Where an axis of a source lies in a view: `start + step * (position along axis out)`; `out`
    None means `start` alone."""

    out: int | None
    start: int
    step: int


class Value:
    """One array of the program. Values are compared by identity."""

    __slots__ = ("args", "data", "dtype", "line", "op", "shape")

    def __init__(self, op: str, shape: tuple, dtype: np.dtype, args: tuple, data: Any, line: str):
        self.op, self.shape, self.dtype = op, shape, dtype
        self.args: tuple[Value, ...] = args
        self.data, self.line = data, line

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self):
        return f"<{self.op} {self.dtype}{list(self.shape)}>"


_COSTS = re.compile(r"[A-Za-z_]\w*(?=\()|/|\*\*|[-+*<>=&|]+")
_DEAR = {"select": 1, "abs": 1, "sqrt": 6, "/": 4, "maximum": 2, "minimum": 2, "isfinite": 1}


def places_of(scatter: Value) -> tuple[Value, ...]:
    """The arrays of integers of a `scatter`."""
    return scatter.args[1 : 1 + sum(isinstance(axis, int) for axis in scatter.data[0])]


def below_of(scatter: Value) -> Value | None:
    """The array that a `scatter` adds to or writes over; None where it adds to zeros."""
    rest = scatter.args[1 + len(places_of(scatter)) :]
    return rest[0] if rest else None


def cost_of(body: str) -> int:
    """About how many arithmetic operations scalar code takes."""
    total = 0
    for found in _COSTS.findall(body):
        total += _DEAR.get(found, 12 if found[0].isalpha() or found == "**" else 1)
    return total


def number_of(value: Value) -> Any:
    """The number of a `full`, else None."""
    return _read(value.data) if value.op == "full" else None


def is_finite(value: Value) -> bool:
    """Whether it is a `full` of a finite number."""
    number = number_of(value)
    return number is not None and math.isfinite(number)


def _read(text: str) -> Any:
    return {"True": True, "False": False}[text] if text in ("True", "False") else (
        float(text) if any(c in text for c in ".einf") else int(text)
    )  # fmt: skip


def topological(outputs: Iterable[Value]) -> list[Value]:
    """The values that `outputs` need, each after its arguments."""
    order: list[Value] = []
    seen: set[int] = set()
    stack = [(value, False) for value in list(outputs)[::-1]]
    while stack:
        value, done = stack.pop()
        if done:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack.extend((arg, False) for arg in reversed(value.args))
    return order
