"""The method of Broyden, Fletcher, Goldfarb and Shanno as a loop of compiled programs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..transforms import value_and_grad
from .until import repeated

_SHORTEST, _LONGEST = 2.0**-40, 2.0**40  # step lengths
_NARROWEST = 2.0**-30  # a bracket of step lengths, over the step


def bfgs(name: str, f: Callable[[Any], Any], x: Any, tol: float, maxiter: int) -> Any:
    """Return a point, downhill from the vector x, where no element of the gradient of f exceeds
    tol, or where rounding lets f fall no further.

    Raises StepsError if maxiter steps do not suffice."""
    both, n = value_and_grad(f), shape_of(x)[0]

    def unfinished(state: tuple) -> Any:
        _, _, slope, _, _, stuck = state
        return (np.max(np.abs(slope)) > tol) & np.logical_not(stuck)

    def step(state: tuple) -> tuple:
        x, value, slope, inverse, first, _ = state
        d = -(inverse @ slope)
        d = np.where(d @ slope < 0.0, d, -slope)
        length = np.where(first, np.minimum(1.0, 1.0 / np.sum(np.abs(slope))), 1.0)
        moved, less, next_slope = _searched(both, x, value, slope, d, length)
        stuck = np.logical_not(less < value)
        inverse = _updated(inverse, moved - x, next_slope - slope, first)
        kept = (moved, x), (less, value), (next_slope, slope)
        return (
            *(np.where(stuck, old, new) for new, old in kept), inverse, np.zeros((), bool), stuck,
        )  # fmt: skip

    def told(state: Any) -> str:
        return f"{name}: no convergence in maxiter={maxiter} steps of BFGS"

    yes, no = np.ones((), bool), np.zeros((), bool)
    start = (x, *both(x), np.eye(n, dtype=x.dtype), yes, no)
    return repeated(unfinished, step, start, maxiter, told)[0]


def _searched(both: Callable, x: Any, value: Any, slope: Any, d: Any, length: Any) -> tuple:
    """The point, value and gradient at a step along d that fulfils the conditions of Wolfe, by
    doubling and bisection."""
    down = slope @ d

    def falls(t: Any, less: Any) -> Any:
        return less <= value + 1e-4 * t * down

    def wanting(state: tuple) -> Any:
        t, low, high, _, less, steep = state
        done = falls(t, less) & (steep @ d >= 0.9 * down)
        wide = (np.minimum(high, _LONGEST) - low > _NARROWEST * t) & (t > _SHORTEST)
        return np.logical_not(done) & wide

    def narrow(state: tuple) -> tuple:
        t, low, high, _, less, _ = state
        forward = falls(t, less)
        low, high = np.where(forward, t, low), np.where(forward, high, t)
        t = np.where(high < np.inf, 0.5 * (low + high), 2.0 * t)
        return (t, low, high, *at(t))

    def at(t: Any) -> tuple:
        return (x + t * d, *both(x + t * d))

    start = (length, 0.0 * length, np.inf + 0.0 * length, *at(length))
    return repeated(wanting, narrow, start, 200)[3:]


def _updated(inverse: Any, s: Any, y: Any, first: Any) -> Any:
    """The approximation of the inverse Hessian after a step s that changes the gradient by y."""
    bend, size = s @ y, y @ y
    useful = bend > 1e-10 * np.sqrt((s @ s) * size)
    bend, size = np.where(useful, bend, 1.0), np.where(useful, size, 1.0)
    before = np.where(first, bend / size, 1.0) * inverse
    turned = before @ y
    both = np.outer(turned, s)
    more = (1.0 + y @ turned / bend) * np.outer(s, s) - both - both.T
    return np.where(useful, before + more / bend, inverse)
