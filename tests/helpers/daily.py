"""Which parameters of a test run each time, and which with the long tests."""

from collections.abc import Iterable
from typing import Any

import pytest


def daily(values: Iterable[Any], count: int) -> list[Any]:
    """Of the parameters of a test, `count` that are evenly spread; the others are marked full."""
    every = list(values)
    chosen = {round(i * len(every) / count) for i in range(count)}
    return [x if i in chosen else pytest.param(x, marks=pytest.mark.full)
            for i, x in enumerate(every)]  # fmt: skip
