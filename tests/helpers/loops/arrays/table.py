"""Tables of programs: functions of arrays and numbers, with arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["positive", "program", "vector"]

_RANDOM = np.random.default_rng(7)


def vector(*shape: int) -> np.ndarray:
    """Normal numbers."""
    return _RANDOM.normal(size=shape)


def positive(n: int) -> np.ndarray:
    """A symmetric positive definite matrix."""
    m = _RANDOM.normal(size=(n, n))
    return m @ m.T + n * np.eye(n)


def program(table: list, *arguments: Any) -> Callable[[Callable], Callable]:
    """Decorator: note a function with its arguments."""

    def note(function: Callable) -> Callable:
        table.append((function, arguments))
        return function

    return note
