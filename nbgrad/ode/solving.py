"""`solve`: initial value problems of ordinary differential equations."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np

from ..core.array import Array
from ..core.primitive import shape_of
from ..errors import ArgumentError, NoRuleError, StaticError
from ..rules.layout import given
from ..transforms import trees
from .arguments import count_of, options_of, start, times_of
from .captured import is_transformed, lifted
from .events import in_order, located
from .paths import Event, Path, path_of
from .problem import Nest, Problem, plain_of, problem_of
from .solution import Solution

__all__ = ["solve"]


def solve(
    f: Callable, t_span: Sequence, y0: Any, *, args: Any = (), method: str = "RK45",
    t_eval: Any = None, events: Any = None, dense_output: bool = False, rtol: float = 1e-3,
    atol: Any = 1e-6, max_step: float = np.inf, first_step: float | None = None,
    gradient: str = "discrete", checkpoint: str | int | None = "auto",
    max_events: int | None = None,
) -> Solution:  # fmt: skip
    """Solve the initial value problem dy/dt = f(t, y, *args), y(t0) = y0.

    Arguments:
        f: a function `f(t, y, *args)` that returns the derivative of the state, of its structure
            and shapes. It may be a NumPy function, a Numba function or a compiled function.
        t_span: the times t0 and t1 of the beginning and the end; t1 may be smaller.
        y0: the state at t0, an array (n,), a number, or nested dicts, lists and tuples of arrays.
        args: arguments of f, numbers and arrays, which may be nested; one that is no tuple or
            list is the only argument.
        method: "RK45" (or "DOP5", Dormand and Prince, order 5 with error estimate of order 4),
            "Rosenbrock" (RODAS, order 4, for stiff equations, with the exact Jacobian of f), or
            "RK4" (steps of one size, which is at most `max_step`).
        t_eval: the times (m,) at which the solution is returned, in order. By default the ends of
            steps, whose number only eager code can know.
        events: a function `event(t, y, *args)` that returns a number, or a list of them, whose
            roots are located. With the attribute `terminal`, True or a number of roots, it ends the
            integration; `direction` is the sign of the slope at roots that count.
        dense_output: whether `sol` of the result is a function of time.
        rtol, atol: the error of a step is at most `atol + rtol * abs(y)`; atol may be a vector.
        max_step, first_step: the largest and the first step size.
        gradient: "discrete": derivatives of the steps that were taken, exact for these. "adjoint":
            reverse mode integrates the adjoint equation, which takes memory for the states at
            `t_eval` only, and has errors of the size of the tolerances; not for stiff equations.
        checkpoint: how much a discrete gradient records. An integer: once its record has so many
            bytes, it keeps states only, before spans of steps that it runs again; for N steps the
            memory grows as sqrt(N). "auto": 8 MB. "sqrt": 0 bytes. None: all steps are recorded.
            The gradient has the same bits.
        max_events: the length of the rows of roots in a compiled program and under `vmap`, where
            the number of roots is not known: nan follows the last root. It may be omitted if all
            events are terminal.

    Returns a `Solution`, with the attributes of that of SciPy's `solve_ivp`. It is differentiable
    in y0, args, t_span, t_eval and in what f closes over, to any order in forward mode over reverse
    mode; so are the times and the states of events, by the implicit function theorem. The control
    of step sizes is not differentiated: steps have constant sizes.

    Raises:
        ArgumentError: an unknown method, tolerances that are not positive, times that are not in
            order or not in `t_span`, an event with more roots than `max_events`.
        ComplexError, DimensionMismatch: a complex state, a state of several axes as a vector, or f
            returns another shape.
        StepsError: the step size became too small: the tolerances cannot be reached, the solution
            has a pole, or f returns nan.
        StaticError: a compiled function, or one under `vmap`, without `t_eval`, or with an event
            that is not terminal and without `max_events`.

    >>> def decay(t, y, rate):
    ...     return -rate * y
    >>> def end(rate):
    ...     return nbgrad.ode.solve(
    ...         decay, (0.0, 1.0), np.ones(1), args=(rate,), t_eval=[1.0], rtol=1e-9, atol=1e-9
    ...     ).y[0, -1]
    >>> float(nbgrad.grad(end)(2.0)).__round__(6)  # -exp(-2)
    -0.135335
    """
    trees.require_function("ode.solve", f)
    state, y, t0, t1, atol = start(y0, t_span, atol, method)
    args = () if args is None else args
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    options = options_of(method, t0, t1, rtol, first_step, max_step, checkpoint)
    if gradient not in ("discrete", "adjoint"):
        raise ArgumentError(f'ode.solve: gradient={gradient!r}: use "discrete" or "adjoint"')
    max_events = count_of(max_events)
    if t_eval is not None:
        t_eval = times_of(t_eval, t0, t1)
    every = () if events is None else events if isinstance(events, (list, tuple)) else (events,)
    for each in every:
        trees.require_function("ode.solve: events", each)
    solve_for = partial(
        _solved, state, y, t0, t1, atol, args, method, options, gradient, t_eval, every,
        dense_output, max_events,
    )  # fmt: skip
    code = getattr(f, "__code__", type(f))
    every_float, transformed = lifted(f), lifted(f, is_transformed)
    if len(every_float[1]) > len(transformed[1]) and code not in _with_constants:
        try:
            return solve_for(*every_float)
        except NoRuleError:
            _with_constants.add(code)
    return solve_for(*transformed)


_with_constants: WeakSet[Any] = WeakSet()  # codes, and classes, that need floats as constants


def _solved(
    state: Nest, y: Any, t0: Any, t1: Any, atol: Any, args: tuple, method: str, options: Any,
    gradient: str, t_eval: Any, events: Sequence[Callable], dense_output: bool,
    max_events: int | None, f: Callable, captured: tuple,
) -> Solution:  # fmt: skip
    inner = (*args, captured) if captured else args
    problem = problem_of(f, method, state, inner)
    leaves = problem.leaves(inner)
    problem.look(t0, y, leaves)
    calls: list[int] = []
    at: Any = partial(_states, problem, calls, t0, t1, y, options, atol, leaves)
    if gradient == "adjoint":
        from .adjoint import states_by_adjoint

        at = partial(states_by_adjoint, problem, t0, t1, y, options, atol, leaves)
    if not events and not dense_output and t_eval is not None:
        states = at(t_eval)
        return Solution(t_eval, _tree(problem, states), nfev=calls[0] if calls else -1)
    known = [plain_of(x) for x in (t0, t1, y, *leaves)]
    fixed = _plain_args(args)
    watched = [Event(each, problem, fixed, i) for i, each in enumerate(events)]
    closed = trees.flatten([lifted(each, is_transformed)[1] for each in events])[0]
    if any(x is None for x in known) or any(plain_of(x) is None for x in closed):
        if t_eval is None and not watched and not dense_output:
            raise StaticError(
                "ode.solve: the number of steps depends on values that are not known while the "
                "function is recorded or batched: pass t_eval"
            )
        from .recorded import recorded_solution

        ends, times = (t0, t1), t_eval
        found = recorded_solution(
            problem, watched, args, leaves, ends, y, options, atol, times, at, max_events
        )
        found.sol = partial(_dense, problem.state, at, t0, t1) if dense_output else None
        return found
    if not np.isfinite(float(known[1])) and not any(each.count for each in watched):
        raise ArgumentError("ode.solve: t_span[1] is infinite: that needs a terminal event")
    begin, end, y_begin = float(known[0]), float(known[1]), np.asarray(known[2])
    path = path_of(problem, begin, end, y_begin, options, atol, tuple(known[3:]), watched)
    is_plain = not any(isinstance(x, Array) for x in (t0, t1, y, t_eval, *leaves))
    is_plain = is_plain and not closed
    any_order = None if is_plain else partial(in_order, at, t0, t1)
    found = located(path, watched, problem, args, leaves, any_order)
    return _solution(problem, path, watched, found, t0, t1, t_eval, at, is_plain, dense_output)


def _solution(
    problem: Problem, path: Path, events: Sequence[Event], found: Any, t0: Any, t1: Any,
    t_eval: Any, at: Callable, is_plain: bool, dense_output: bool,
) -> Solution:  # fmt: skip
    times, states = found
    if t_eval is None:
        t = path.times
        if is_plain:
            y = path(t[:-1]) if len(path.rows) else np.empty((problem.state.size, 0))
            y = np.concatenate([y, path.y_end[:, None]], 1)
        else:
            last = t1
            if path.is_stopped:
                last = times[path.events[-1][0]][-1]
            inner = t0 + (t[1:-1] - t[0])
            t = np.concatenate([np.stack([t0]), inner, np.stack([last])]) if len(t) > 1 else t
            y = at(t)
    else:
        t = t_eval
        if path.is_stopped:
            sign = 1.0 if path.rows[0, 1] >= 0.0 else -1.0
            t = t[: int(np.sum(sign * (plain_of(t) - path.t_end) <= 0.0))]
        y = path(t) if is_plain else at(t)
    nest = problem.state
    sol = None
    if dense_output:
        plain: Callable = lambda s: nest.tree(path(s))  # noqa: E731
        sol = plain if is_plain else partial(_dense, nest, at, t0, t1)
    t_events = y_events = None
    if events:
        t_events, y_events = times, [_rows(nest, y) for y in states]
    return Solution(t, _tree(problem, y), sol, t_events, y_events, path.calls, int(path.is_stopped))


def _dense(nest: Nest, at: Callable, t0: Any, t1: Any, t: Any) -> Any:
    """The states at times in any order."""
    t = given(t)
    y = in_order(at, t0, t1, np.reshape(t, (-1,)))
    return nest.tree(np.reshape(y, (nest.size, *shape_of(t))))


def _states(
    problem: Problem,
    calls: list[int],
    t0: Any,
    t1: Any,
    y: Any,
    options: Any,
    atol: Any,
    leaves: tuple,
    times: Any,
) -> Any:
    """The states (n, m) at times, with derivatives of the steps. `calls` notes those of f."""
    count = shape_of(times)[0]
    if any(plain_of(x) is None for x in (t0, t1, y, times, *leaves)):
        found, _ = problem.run("states", t0, t1, y, times, options, atol, leaves)
        return np.transpose(found)
    rest = max(8, 1 << (count - 1).bit_length()) - count  # so that few lengths are compiled
    if rest and count:
        times = np.concatenate([times, np.full(rest, plain_of(times)[-1])])
    found, counts = problem.run("states", t0, t1, y, times, options, atol, leaves)
    if (numbers := plain_of(counts)) is not None:
        calls.append(int(numbers[1]))
    return np.transpose(found[:count])


def _tree(problem: Problem, y: Any) -> Any:
    return problem.state.tree(y)


def _rows(nest: Nest, y: Any) -> Any:
    """The states (k, n) of events: the first axis is that of the events."""
    return np.transpose(y) if nest.is_vector else nest.tree(y)


def _plain_args(args: tuple) -> tuple:
    leaves, rebuild = trees.flatten(args)
    return rebuild([plain_of(x) for x in leaves])
