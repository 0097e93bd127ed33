"""Solutions whose number of steps is not known: in compiled programs and under `vmap`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..errors import StaticError
from ..transforms import stop_gradient, trees
from .captured import is_transformed, lifted
from .events import in_order, refined
from .paths import Event
from .problem import Problem, key_of
from .rates import Recorded
from .solution import Solution

__all__ = ["recorded_solution"]


def recorded_solution(
    problem: Problem, events: Sequence[Event], args: tuple, leaves: tuple, ends: tuple[Any, Any],
    y: Any, options: np.ndarray, atol: np.ndarray, t_eval: Any, at: Callable,
    max_events: int | None,
) -> Solution:  # fmt: skip
    """The solution at `t_eval`, or without times, and rows of roots with nan behind the last one.
    `sol` is to be set."""
    tree, t_events, y_events = problem.state.tree, None, None
    status: Any = 0
    if events:
        most = _most(events, max_events)
        roots, last = _roots(problem, events, args, leaves, ends, y, options, atol, most)
        t_events, y_events = _refined(problem, events, args, leaves, ends, roots, last[0], at)
        status = np.where(last[1] > 0.0, 1, 0)
        if t_eval is not None and any(each.count for each in events):
            sign = np.where(stop_gradient(ends[1]) >= stop_gradient(ends[0]), 1.0, -1.0)
            is_before = sign * (stop_gradient(t_eval) - last[0]) <= 0.0
            found = np.where(is_before, at(np.where(is_before, t_eval, last[0])), np.nan)
            t_eval = np.where(is_before, t_eval, np.nan)
            return Solution(t_eval, tree(found), None, t_events, y_events, -1, status)
    if t_eval is not None:
        return Solution(t_eval, tree(at(t_eval)), None, t_events, y_events, -1, status)
    found = Solution(None, None, None, t_events, y_events, -1, status)
    del found.t, found.y
    return found


def _most(events: Sequence[Event], max_events: int | None) -> int:
    """The length of rows of roots."""
    if max_events is not None:
        return max_events
    for i, each in enumerate(events):
        if not each.count:
            raise StaticError(
                f"ode.solve: event {i} is not terminal, so the number of its roots is not known "
                "while the function is recorded or batched: pass max_events, the length of the "
                "rows of roots"
            )
    return max(each.count for each in events)


def _roots(
    problem: Problem, events: Sequence[Event], args: tuple, leaves: tuple, ends: tuple[Any, Any],
    y: Any, options: np.ndarray, atol: np.ndarray, most: int,
) -> tuple[Any, Any]:  # fmt: skip
    """The roots of events as constants; the time of the end, and 1 at a terminal event."""
    functions, captured = zip(*(lifted(each.f, is_transformed) for each in events), strict=True)
    more, rebuild = trees.flatten(tuple(captured))
    known = tuple(
        (key_of(f), repr(trees.structure(c))) for f, c in zip(functions, captured, strict=True)
    )
    shapes = tuple(tuple(shape_of(x)) for x in more)
    key = ("roots", known, shapes)
    if key not in problem.events:
        count, given = len(leaves), len(args)

        def values(t: Any, y: Any, *every: Any) -> Any:
            state, own = problem.state.tree(y), problem.arguments(every[:count])[:given]
            cells = rebuild(every[count:])
            found = []
            for f, values in zip(functions, cells, strict=True):
                value = f(t, state, *own, values) if values else f(t, state, *own)
                found.append(np.reshape(value, ()))
            return np.stack(found)

        sizes = [(), (problem.state.size,), *(tuple(shape_of(x)) for x in leaves), *shapes]
        problem.events[key] = Recorded(values, "the events", sizes)
    limits, directions = (
        np.array([float(x) for x in numbers])
        for numbers in ([each.count for each in events], [each.direction for each in events])
    )
    t0, t1, y, leaves, more = stop_gradient((*ends, y, leaves, tuple(more)))
    every = (*leaves, *more)
    found, last = problem.run(
        key, t0, t1, y, options, atol, limits, directions, leaves, every, most
    )
    return stop_gradient((found, last))


def _refined(
    problem: Problem, events: Sequence[Event], args: tuple, leaves: tuple, ends: tuple[Any, Any],
    roots: Any, last: Any, at: Callable,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """The times of the roots and the states there, with derivatives."""
    most = shape_of(roots)[1]
    flat = np.reshape(roots, (-1,))
    are_roots = flat == flat
    which = [each for each in events for _ in range(most)]
    t, y = refined(
        which, problem, args, leaves, partial(in_order, at, *ends),
        np.where(are_roots, flat, last), are_roots,
    )  # fmt: skip
    t, y = np.where(are_roots, t, np.nan), np.where(are_roots, y, np.nan)
    t, y = np.reshape(t, (-1, most)), np.reshape(y, (-1, len(events), most))
    nest = problem.state
    states = [np.transpose(y[:, i]) if nest.is_vector else nest.tree(y[:, i])
              for i in range(len(events))]  # fmt: skip
    return [t[i] for i in range(len(events))], states
