"""The times of events and the states there, with derivatives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..transforms import jvp, stop_gradient
from .paths import Event, Path
from .problem import Problem

__all__ = ["located"]


def located(
    path: Path, events: Sequence[Event], problem: Problem, args: tuple, leaves: tuple,
    at: Callable | None,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """For each event its times (k,) and the states there (n, k). With `at`, which gives states at
    times, they have the derivatives of the implicit function theorem."""
    times, states = [], []
    for k, event in enumerate(events):
        t = np.array([time for number, time in path.events if number == k])
        if at is None or not t.size:
            times.append(t)
            states.append(path(t) if t.size else np.empty((problem.state.size, 0)))
            continue
        found = [_refined(event, problem, args, leaves, at, time) for time in t]
        times.append(np.stack([time for time, _ in found]))
        states.append(np.stack([y for _, y in found], -1))
    return times, states


def _refined(
    event: Event, problem: Problem, args: tuple, leaves: tuple, at: Callable, t: Any
) -> tuple[Any, Any]:
    """Steps of Newton's method from a root, whose value is that root: each gives one more order of
    its derivatives."""
    for _ in range(2):
        y = at(np.stack([t]))[:, 0]
        slope = problem.rate(t, y, *leaves)
        value, rate = jvp(lambda t, y: event(t, y, args), (t, y), (np.ones(()), slope))
        t = t - (value - stop_gradient(value)) / rate
    return t, at(np.stack([t]))[:, 0]
