"""`nbgrad.newton` and `nbgrad.fixed_point`: solutions of equations, in both tiers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import shape_of
from ..errors import ArgumentError, DimensionMismatch, EmptyError, MatrixError
from ..runtime.kinds import is_a
from ..transforms import jvp, stop_gradient, trees
from ..transforms.equations import joined
from ..transforms.flat import ravel
from ..transforms.solutions import solution
from ..transforms.systems import matrix_of
from ..values.tracked import below
from .carried import name_of
from .until import repeated

_SHORTEST = 2.0**-10  # the smallest part of a Newton step


def newton(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    tol: float = 1e-10,
    maxiter: int = 50,
    solve: Callable | None = None,
) -> Any:
    """Return x with `f(x, *args) = 0`, by Newton's method, as a differentiable function of args.

    Arguments:
        f: a function that returns as many numbers as x holds floats, in an array or a nested
            container.
        x0: the initial value: a number, a float array or a nested container. The solution has its
            structure.
        args: a tuple of further arguments of f: numbers, arrays or nested containers.
        tol: the method ends after a step shorter than tol times the largest element that x has had.
            It is at least 16 roundings of the dtype.
        maxiter: the maximum number of steps.
        solve: as for `nbgrad.implicit`: None factorizes the Jacobian; `solve(product, b)` uses
            products with it.

    A step that does not reduce the residual is halved, up to ten times. The derivatives are those
    of the implicit function theorem, of all orders; the steps are not differentiated, and x0 has
    none. Values that f closes over count as arguments. In `nbgrad.compile`, the method is a loop of
    the program, inside of `scan`, `loop` and `cond`, too. Under `nbgrad.vmap` each sample takes its
    own number of steps.

    Raises:
        StepsError: no solution was found in `maxiter` steps.
        MatrixError: a Jacobian is singular.
        DimensionMismatch: f returns another number of elements than x has.

    >>> kepler = lambda E, M, e: E - e * np.sin(E) - M
    >>> anomaly = lambda M, e: nbgrad.newton(kepler, M, (M, e))
    >>> float(anomaly(1.0, 0.3)).__round__(6), float(nbgrad.grad(anomaly)(1.0, 0.3)).__round__(6)
    (1.288091, 1.091329)
    """
    return _found("newton", f, x0, args, tol, maxiter, solve, _newton, lambda x, value: value)


def fixed_point(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    tol: float = 1e-12,
    maxiter: int = 1000,
    solve: Callable | None = None,
) -> Any:
    """Return x with `f(x, *args) = x`, by iteration, as a differentiable function of args.

    Arguments:
        f: a function that returns a value of the structure, shapes and dtypes of x.
        x0, args, solve: as for `newton`. The linear systems are those of the Jacobian of x - f(x).
        tol: the iteration ends when x changes by less than tol times its largest element. It is at
            least 16 roundings of the dtype.
        maxiter: the maximum number of steps.

    The iteration converges if f is a contraction. Derivatives, compiled programs, samples and
    errors are those of `newton`.

    >>> rest = lambda w: nbgrad.fixed_point(lambda x, w: np.tanh(w * x + 0.5), 0.0, (w,))
    >>> float(rest(0.5)).__round__(6), float(nbgrad.grad(rest)(0.5)).__round__(6)
    (0.687894, 0.491969)
    """

    def rest(x: Any, value: Any) -> Any:
        if not trees.same_structure(x, value):
            raise DimensionMismatch(
                f"fixed_point: {name_of(f, 'f')} returned {trees.describe(value)} for x of "
                f"{trees.describe(x)}: it must return a value of the structure of x"
            )
        new, old = trees.flatten(value)[0], trees.flatten(x)[0]
        pairs = zip(old, new, strict=True)
        return [a - b for a, b in pairs if trees.is_differentiable(a)]

    return _found("fixed_point", f, x0, args, tol, maxiter, solve, _iterated, rest)


def _found(
    op: str, f: Callable, x0: Any, args: Any, tol: float, maxiter: int, solve: Callable | None,
    method: Callable, rest: Callable,
) -> Any:  # fmt: skip
    trees.require_function(op, f)
    if solve is not None:
        trees.require_function(f"{op}: solve", solve)
    if not is_a(tol, (float, int)) or not tol > 0.0:
        raise ArgumentError(f"{op}: tol={tol}: pass a positive number")
    if type(maxiter) is not int or maxiter < 1:
        raise ArgumentError(f"{op}: maxiter={maxiter}: pass a positive integer")
    name = f"{op}: {name_of(f, 'f')}"

    def optimality(x: Any, start: Any, *args: Any) -> Any:
        return rest(x, f(x, *args))

    def solver(start: Any, *args: Any) -> Any:
        vector, unravel = ravel(start)
        if not shape_of(vector)[0]:
            raise EmptyError(f"{op}: x0 has no elements")

        def residual(v: Any) -> Any:
            return joined(name, optimality(unravel(v), start, *args), vector)

        limit = max(tol, 16.0 * float(np.finfo(vector.dtype).eps))
        return unravel(method(name, residual, vector, limit, maxiter, solve))

    args = args if isinstance(args, tuple) else (args,)
    return solution(name, optimality, solver, (_start(x0), *args), {}, solve, records=True)


def _start(x0: Any) -> Any:
    """Return the initial value as floats without a derivative."""
    if is_a(x0, (float, int, np.integer, np.ndarray)) and np.asarray(x0).dtype.kind in "iub":
        x0 = np.asarray(x0, np.float64)
    return stop_gradient(x0)


def _newton(
    name: str, residual: Callable, x: Any, tol: float, maxiter: int, solve: Callable | None
) -> Any:
    def step(state: tuple) -> tuple:
        x, r, _, scale = state
        d = -_solved(name, residual, x, r, solve)
        size = _most(d)
        x, r = _shortened(residual, x, d, r, size > tol * scale)
        return x, r, size, np.maximum(scale, _most(x))

    def unfinished(state: tuple) -> Any:
        return _is_long(state[2], state[3], tol)

    start = x, residual(x), _full(np.inf, x), _most(x)
    return repeated(unfinished, step, start, maxiter, partial(_told, name, maxiter))[0]


def _shortened(residual: Callable, x: Any, d: Any, r: Any, is_long: Any) -> tuple:
    """Return x + t d and its residual, for the largest t = 1, 1/2, ... that reduces it."""
    before = r @ r

    def grows(state: tuple) -> Any:
        t, _, r = state
        less = r @ r <= (1.0 - 1e-4 * t) * before
        return np.logical_not(less) & (t > _SHORTEST) & is_long

    def halve(state: tuple) -> tuple:
        t = 0.5 * state[0]
        moved = x + t * d
        return t, moved, residual(moved)

    return repeated(grows, halve, (_full(1.0, x), x + d, residual(x + d)), 12)[1:]


def _solved(name: str, residual: Callable, x: Any, r: Any, solve: Callable | None) -> Any:
    """Return J^-1 @ r."""
    if solve is not None:
        return solve(lambda v: jvp(residual, (x,), (v,))[1], r)
    matrix = matrix_of(residual, x)
    if shape_of(x) != (1,):
        try:
            return np.linalg.solve(matrix, r)
        except np.linalg.LinAlgError:
            raise MatrixError(
                f"{name}: a Jacobian on the way is singular (the residual there is "
                f"{float(_most(below(r, 0))):.3g}): start at another initial value"
            ) from None
    slope = matrix[0]
    return r / np.where(slope == 0.0, np.nan, slope)


def _iterated(
    name: str, residual: Callable, x: Any, tol: float, maxiter: int, solve: Callable | None
) -> Any:
    def step(state: tuple) -> tuple:
        x = state[0]
        d = residual(x)
        return x - d, _most(d), _most(x - d)

    def unfinished(state: tuple) -> Any:
        return _is_long(state[1], state[2], tol)

    start = x, _full(np.inf, x), _most(x)
    return repeated(unfinished, step, start, maxiter, partial(_told, name, maxiter))[0]


def _is_long(size: Any, scale: Any, tol: float) -> Any:
    """Return whether a step is long or not finite."""
    return np.logical_not((size <= tol * scale) & (scale < np.inf))


def _told(name: str, maxiter: int, state: Any) -> str:
    told = f"{name}: no convergence in maxiter={maxiter} steps"
    state = [below(x, 0) for x in state or ()]
    if state and not any(isinstance(x, Array) for x in state):
        at = np.array2string(state[0], precision=4, threshold=6)
        told += f" (x is {at}, the last step has length {float(state[-2]):.3g})"
    return f"{told}: start nearer to a solution, or increase maxiter or tol"


def _most(x: Any) -> Any:
    return np.max(np.abs(x))


def _full(number: float, like: Any) -> Any:
    return np.full((), number, like.dtype)


__all__ = ["fixed_point", "newton"]
