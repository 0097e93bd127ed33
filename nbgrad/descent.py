"""Plain gradient descent: `descend` takes one step, `minimize` takes many and returns the path."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .control import scan
from .errors import ArgumentError, EagerOnlyError
from .runtime.lines import user_line
from .static.trace.record import is_recording
from .transforms import gradient, trees


def descend(f: Callable[..., Any], lr: float, *args: Any) -> tuple[Any, ...]:
    """Return the arguments after one step of gradient descent on the scalar function `f`.

    Arguments:
        f: a function of the arguments that returns one number.
        lr: the learning rate: each argument changes by -lr times its gradient.
        args: numbers, float arrays, or nested dicts, lists and tuples of them. Integers inside
            containers do not change.

    >>> x, y = nbgrad.descend(lambda x, y: y * y + np.sin(x), 0.2, 1.0, 1.0)
    >>> float(x), float(y)
    (0.891939538826372, 0.6)
    """
    leaves, rebuild = trees.flatten(args)
    slopes, _ = trees.flatten(gradient(f, *args))
    return rebuild(
        [
            leaf if slope is None else leaf - lr * slope
            for leaf, slope in zip(leaves, slopes, strict=True)
        ]
    )


def minimize(
    f: Callable[..., Any],
    *args: Any,
    niters: int = 20,
    lr: float = 0.01,
    callback: Callable[..., Any] | None = None,
) -> tuple[Any, ...]:
    """Return the path of each argument over `niters` steps of gradient descent on `f`.

    The first axis of a path holds the values after each step, without the initial value, so
    `path[-1]` is the result. The path of a nested argument is nested in the same way. Paths are
    differentiable, and inside `nbgrad.compile` the steps become a compiled loop.

    Arguments:
        f, lr, args: as for `descend`.
        niters: the number of steps.
        callback: called after each step as `callback(step, value, *args)`, with the number of the
            step, from 1, and the value of `f`.

    Raises ValueError if `niters` is negative, TraceError for a callback in a compiled function.

    >>> (xs,) = nbgrad.minimize(lambda x: (x - 3.0) ** 2, 0.0, niters=3, lr=0.25)
    >>> xs
    array([1.5  , 2.25 , 2.625])
    """
    if niters < 0:
        raise ArgumentError(f"minimize: niters is {niters}; it must not be negative")
    if is_recording():
        if callback is not None:
            raise EagerOnlyError(
                "minimize: a compiled loop cannot call a Python callback: use the paths that it "
                "returns" + user_line()
            )

        def step(now: tuple, _: Any) -> tuple[tuple, tuple]:
            after = descend(f, lr, *now)
            return after, after

        return scan(step, args, length=niters)[1]
    leaves, rebuild = trees.flatten(args)
    paths: list[list[Any]] = [[] for _ in leaves]
    for i in range(1, niters + 1):
        args = descend(f, lr, *args)
        for path, leaf in zip(paths, trees.flatten(args)[0], strict=True):
            path.append(leaf)
        if callback is not None:
            callback(i, f(*args), *args)
    if niters == 0:
        return rebuild([np.empty((0, *np.shape(leaf)), _dtype(leaf)) for leaf in leaves])
    return rebuild([np.stack(path) for path in paths])


def _dtype(leaf: Any) -> np.dtype:
    return leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
