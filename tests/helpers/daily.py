"""Which parameters of a test run each time, and which with the long tests."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def daily(values: Iterable[Any], count: int) -> list[Any]:
    """Of the parameters of a test, `count` that are evenly spread; the others are marked full."""
    every = list(values)
    chosen = {round(i * len(every) / count) for i in range(count)}
    return [x if i in chosen else pytest.param(x, marks=pytest.mark.full)
            for i, x in enumerate(every)]  # fmt: skip


def pairs(first: Sequence[Any], second: Sequence[Any], of: int = 2) -> list[Any]:
    """Of all pairs for a test of two parameters, one of every `of` in a chessboard, so that each
    value takes part; the others are marked full."""
    return [
        pytest.param(x, y, marks=() if (i + k) % of == 0 else pytest.mark.full)
        for i, x in enumerate(first)
        for k, y in enumerate(second)
    ]


def every_other(cases: Sequence[tuple]) -> list[Any]:
    """Of the cases of a test of several parameters, every other one; the rest are marked full."""
    return [
        pytest.param(*case, marks=pytest.mark.full if i % 2 else ()) for i, case in enumerate(cases)
    ]
