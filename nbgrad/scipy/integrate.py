"""`scipy.integrate` with a differentiable `odeint`, for programs that use autograd's."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.integrate as _plain

from ..core.array import Array
from ..errors import NoRuleError
from ..ode.captured import lifted
from ..ode.solving import solve
from ..rules.layout import given
from ..transforms import custom_rule, jvp, trees, vjp
from ..transforms.flat import ravel

if TYPE_CHECKING:
    from scipy.integrate import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

    def __getattr__(name: str) -> Any: ...


__all__ = []
__all__ += _plain.__all__
globals().update({name: getattr(_plain, name) for name in __all__})


def solve_ivp(
    fun: Callable, t_span: Sequence, y0: Any, method: Any = "RK45", t_eval: Any = None,
    dense_output: bool = False, events: Any = None, vectorized: bool = False, args: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """Solve the initial value problem dy/dt = fun(t, y, *args), y(t0) = y0.

    The arguments are those of `scipy.integrate.solve_ivp`, which is called if none of y0, t_span,
    t_eval and args is tracked and fun closes over no tracked value. Otherwise this is
    `nbgrad.ode.solve`: methods other than "RK45" are replaced by "Rosenbrock" if they are implicit
    ("Radau", "BDF", "LSODA"), and refused if not; `jac` and `vectorized` are not needed.

    Raises the errors of `nbgrad.ode.solve`.

    >>> def end(rate):
    ...     found = solve_ivp(
    ...         lambda t, y, k: -k * y, (0.0, 1.0), np.ones(1), args=(rate,), rtol=1e-9, atol=1e-9
    ...     )
    ...     return found.y[0, -1]
    >>> float(nbgrad.grad(end)(2.0)).__round__(6)  # -exp(-2)
    -0.135335
    """
    given_args = () if args is None else tuple(args)
    values = trees.flatten([y0, t_span, t_eval, given_args])[0]
    if not any(isinstance(x, Array) for x in values) and not lifted(fun)[1]:
        return _plain.solve_ivp(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )
    if method in ("Radau", "BDF", "LSODA"):
        method = "Rosenbrock"
    for name in ("jac", "jac_sparsity", "lband", "uband", "min_step"):
        options.pop(name, None)
    return solve(
        fun, t_span, y0, args=given_args, method=method, t_eval=t_eval, events=events,
        dense_output=dense_output, **options,
    )  # fmt: skip


def odeint(func: Callable, y0: Any, t: Any, args: tuple = (), **options: Any) -> Any:
    """Solve the ordinary differential equation dy/dt = func(y, t, *args).

    Arguments:
        func: a function that returns the derivative, an array or list (n,), and accepts tracked
            values.
        y0: the state (n,) at t[0].
        t: the times.
        args: numbers, float arrays, or nested containers of them.
        options: further arguments of `scipy.integrate.odeint`, also used for the adjoint equation.

    Returns the states at the times t, of shape (len(t), n). They are differentiable in y0, t and
    args, to any order: reverse mode solves the adjoint equation between successive times, and
    forward mode the tangent equation. Values that `func` captures are constants: pass them in
    `args`. Eager only.

    Raises NoRuleError for `full_output` and `Dfun` with tracked values.

    >>> def end(rate):
    ...     return odeint(lambda y, t, k: -k * y, np.ones(1), np.array([0.0, 1.0]), (rate,))[-1, 0]
    >>> float(nbgrad.grad(end)(2.0)).__round__(6)  # -exp(-2)
    -0.135335
    """
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    if not any(isinstance(x, Array) for x in trees.flatten([y0, t, args])[0]):
        return _plain.odeint(func, y0, t, args, **options)
    refused = [name for name in ("full_output", "Dfun") if options.get(name)]
    if refused:
        raise NoRuleError(f"odeint: {refused[0]} is not supported with tracked values: omit it")
    if options.pop("tfirst", False):
        return odeint(lambda y, t, *args: func(t, y, *args), y0, t, args, **options)

    def solve(y0, t, args):
        return _plain.odeint(func, y0, t, args, **options)

    def slope(y, t, args):
        return np.reshape(given(func(y, t, *args)), y.shape)

    def back(ct, out, y0, t, args):
        n, (p, unravel) = len(y0), _floats(args)

        def adjoint(state, t, p):
            y, y_bar = state[:n], state[n : 2 * n]
            value, pullback = vjp(lambda y, p: slope(y, t, unravel(p)), y, p)
            return np.concatenate([value, *(-ct for ct in pullback(y_bar))])

        y_bar, p_bar, t_bars = ct[-1], np.zeros(p.size), []
        for i in range(len(t) - 1, 0, -1):
            t_bars.append(np.sum(slope(out[i], t[i], args) * ct[i]))
            state = np.concatenate([out[i], y_bar, p_bar])
            span = np.stack([t[i], t[i - 1]])
            state = odeint(adjoint, state, span, (p,), **options)[1]
            y_bar, p_bar = state[n : 2 * n] + ct[i - 1], state[2 * n :]
        t_bars.append(-np.sum(slope(out[0], t[0], args) * (y_bar - ct[0])))
        return y_bar, np.stack(t_bars[::-1]), unravel(p_bar)

    def push(tangents, out, y0, t, args):
        n, (p, unravel) = len(y0), _floats(args)
        y_dot, t_dot, _ = tangents
        p_dot = _floats(tangents[2], args)[0]

        def both(state, t, p, p_dot):
            def at(y, p):
                return slope(y, t, unravel(p))

            return np.concatenate(jvp(at, (state[:n], p), (state[n:], p_dot)))

        state = np.concatenate([y0, y_dot - slope(y0, t[0], args) * t_dot[0]])
        states = odeint(both, state, t, (p, p_dot), **options)
        slopes = np.stack([slope(y, s, args) for y, s in zip(out, t, strict=True)])
        return states[:, n:] + slopes * np.reshape(t_dot, (-1, 1))

    rule = custom_rule(solve, pullback=back, pushforward=push)
    return rule(np.atleast_1d(_real(y0)), _real(t), args)


def _real(x: Any) -> Any:
    x = given(x)
    return x.astype(np.float64) if x.dtype.kind in "iub" else x


def _floats(tree: Any, like: Any = None) -> tuple[Any, Callable]:
    """Return the floats of a tree as one vector, and the inverse; with `like`, those leaves whose
    counterparts in `like` are floats."""
    leaves: Sequence = trees.flatten(tree if like is None else like)[0]
    if not any(map(trees.is_differentiable, leaves)):
        return np.zeros(0), lambda vector: tree
    if like is None:
        return ravel(tree)
    pairs = zip(trees.flatten(tree)[0], leaves, strict=True)
    return ravel([x for x, leaf in pairs if trees.is_differentiable(leaf)])
