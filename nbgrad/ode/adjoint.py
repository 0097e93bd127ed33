"""The continuous adjoint: reverse mode that integrates the adjoint equation backward (Chen,
Rubanova, Bettencourt, Duvenaud, Neural Ordinary Differential Equations, 2018, appendix B)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..control import scan
from ..core.primitive import shape_of
from ..errors import StepsError
from ..transforms import custom_rule, jvp, vjp
from .problem import Nest, Problem

__all__ = ["states_by_adjoint"]


def states_by_adjoint(
    problem: Problem, t0: Any, t1: Any, y0: Any, options: np.ndarray, atol: np.ndarray,
    leaves: tuple, times: Any,
) -> Any:  # fmt: skip
    """The states (n, m) at times, whose pullback integrates the adjoint equation."""

    def states(y0: Any, t0: Any, t1: Any, times: Any, *leaves: Any) -> Any:
        found, _ = problem.run("states", t0, t1, y0, times, options, atol, leaves)
        return np.transpose(found)

    def back(ct: Any, out: Any, y0: Any, t0: Any, t1: Any, times: Any, *leaves: Any) -> tuple:
        return _pulled(problem, options, atol, ct, out, y0, t0, times, leaves)

    def push(tangents: Sequence, out: Any, *args: Any) -> Any:
        return jvp(states, args, tuple(tangents))[1]

    return custom_rule(states, pullback=back, pushforward=push)(y0, t0, t1, times, *leaves)


def _pulled(
    problem: Problem, options: np.ndarray, atol: np.ndarray, ct: Any, out: Any, y0: Any, t0: Any,
    times: Any, leaves: tuple,
) -> tuple:  # fmt: skip
    """The cotangents of the initial state, t0, t1, the times and the leaves."""
    n, shapes = problem.state.size, [tuple(shape_of(x)) for x in leaves]
    sizes = [int(np.prod(shape)) for shape in shapes]
    backward = _backward(problem, sum(sizes))
    every = np.concatenate([atol, atol, np.full(sum(sizes), np.min(atol, initial=np.inf))])

    def interval(state: tuple, x: tuple) -> tuple:
        y_bar, p_bar = state
        late, early, y, ct = x
        t_bar = np.sum(problem.rate(late, y, *leaves) * ct)
        start = np.concatenate([y, y_bar + ct, p_bar])
        end = np.stack([early])
        try:
            found, _ = backward.run("states", late, early, start, end, options, every, leaves)
        except (StepsError, np.linalg.LinAlgError) as error:
            raise StepsError(
                'ode.solve: gradient="adjoint" integrates f backward in time, which failed, as it '
                'does where f is stiff: use gradient="discrete"'
            ) from error
        return (found[0, n : 2 * n], found[0, 2 * n :]), t_bar

    early = np.concatenate([np.stack([t0]), times[:-1]])
    xs = (times[::-1], early[::-1], np.transpose(out)[::-1], np.transpose(ct)[::-1])
    (y_bar, p_bar), t_bars = scan(interval, (np.zeros(n), np.zeros(sum(sizes))), xs)
    t0_bar = -np.sum(problem.rate(t0, y0, *leaves) * y_bar)
    ends = np.cumsum([0, *sizes])
    parts = [np.reshape(p_bar[ends[i] : ends[i + 1]], shape) for i, shape in enumerate(shapes)]
    return (y_bar, t0_bar, None, t_bars[::-1], *parts)


def _backward(problem: Problem, count: int) -> Problem:
    """The problem of the state, its cotangent, and the cotangents of `count` numbers."""
    if problem.adjoint is None:

        def rates(t: Any, state: Any, *leaves: Any) -> Any:
            n = problem.state.size
            value, pullback = vjp(
                lambda y, *leaves: problem.rate(t, y, *leaves), state[:n], *leaves
            )
            cts = pullback(state[n : 2 * n])
            return np.concatenate([value, *(-np.reshape(x, (-1,)) for x in cts)])

        rates.__name__ = f"the adjoint equation of {problem.name}"
        shape = np.zeros(2 * problem.state.size + count)
        leaves = problem.examples
        problem.adjoint = Problem(rates, problem.method, Nest(shape), leaves)
    return problem.adjoint
