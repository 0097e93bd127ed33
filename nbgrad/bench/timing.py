"""Timing by interleaved rounds: machines drift, so only what ran side by side is compared."""

import ctypes
import sys
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np


class Times(NamedTuple):
    """Seconds a call: the least and the median over the rounds, and the median over the rounds of
    the ratio to the reference of the same round."""

    least: float
    middle: float
    ratio: float


def interleave(
    functions: Mapping[str, Callable[[], Any]],
    reference: str,
    rounds: int = 30,
    seconds: float = 0.005,
) -> dict[str, Times]:
    """Time `functions` in turns; a turn calls one as often as fits in about `seconds`."""
    counts = {}
    for name, function in functions.items():
        for _ in range(3):
            function()
        counts[name] = max(1, int(seconds / (once(function, 1) + 1e-9)))
    found: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            found[name].append(once(function, counts[name]))
    base = found[reference]
    return {
        name: Times(
            min(times),
            median(times),
            median(time / other for time, other in zip(times, base, strict=True)),
        )
        for name, times in found.items()
    }


def keep_memory() -> None:
    """Have the C library keep what is freed, where it is glibc.

    It gives the end of its heap back to the system when that is large. Whether an array of 800 kB
    is then made of new pages, which costs more than filling it, hangs on what was freed before: on
    the neighbours in a table and not on the op.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        for parameter in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD) if hasattr(libc, "mallopt") else ():
            libc.mallopt(parameter, 1 << 25)  # the most that every version takes


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def once(function: Callable[[], Any], count: int) -> float:
    """Seconds a call over `count` calls."""
    turns = range(count)
    start = perf_counter()
    for _ in turns:
        function()
    return (perf_counter() - start) / count


def multiply_ten() -> Callable[[], Any]:
    """`np.multiply` of 10 elements: the unit in which the costs of ops are told."""
    a, b = np.full(10, 1.5), np.full(10, 0.5)
    return lambda: np.multiply(a, b)
