"""The times of events and the states there, with derivatives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..transforms import jvp, stop_gradient
from .paths import Event, Path
from .problem import Problem, plain_of

__all__ = ["in_order", "located", "refined"]


def located(
    path: Path, events: Sequence[Event], problem: Problem, args: tuple, leaves: tuple,
    at: Callable | None,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """For each event its times (k,) and the states there (n, k). With `at`, which gives states at
    times, they have the derivatives of the implicit function theorem."""
    found = [[time for number, time in path.events if number == k] for k in range(len(events))]
    t: Any = np.array([time for times in found for time in times])
    which = [events[k] for k, times in enumerate(found) for _ in times]
    if not t.size:
        y = np.empty((problem.state.size, 0))
    elif at is None:
        y = path(t)
    else:
        t, y = refined(which, problem, args, leaves, at, t)
    times, states, end = [], [], 0
    for each in found:
        begin, end = end, end + len(each)
        times.append(t[begin:end])
        states.append(y[:, begin:end])
    return times, states


def refined(
    events: Sequence[Event], problem: Problem, args: tuple, leaves: tuple, at: Callable, t: Any,
    are_roots: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The roots t (k,) of k events, and the states there, with derivatives up to order 3: by two
    steps of Newton's method, which do not change the values. `are_roots` says which times are
    roots; the others are constants."""
    y = at(t)
    for is_last in (False, True):
        steps, slopes = [], []
        for k, event in enumerate(events):
            slopes.append(problem.rate(t[k], y[:, k], *leaves))
            here, ahead = (t[k], y[:, k]), (np.ones(()), slopes[k])
            value, rate = jvp(lambda t, y, event=event: event(t, y, args), here, ahead)
            if are_roots is not None:
                rate = np.where(are_roots[k], rate, 1.0)
            steps.append((value - stop_gradient(value)) / rate)
        step = np.stack(steps)
        if are_roots is not None:
            step = np.where(are_roots, step, 0.0)
        t = t - step
        y = y - np.stack(slopes, -1) * step if is_last else at(t)
    return t, y


def in_order(at: Callable, t0: Any, t1: Any, t: Any) -> Any:
    """The states at a vector of times in any order."""
    begin, end, now = (stop_gradient(x) for x in (t0, t1, t))
    if (times := plain_of(now)) is None or plain_of(begin) is None or plain_of(end) is None:
        order: Any = np.argsort(np.where(end >= begin, now, -now))
    else:
        order = np.argsort(times if plain_of(end) >= plain_of(begin) else -times, kind="stable")
    return np.take(at(np.take(t, order)), np.argsort(order), axis=1)
