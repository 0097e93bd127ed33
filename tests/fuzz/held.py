"""Eager modes: gradients of what holds arrays, a plain object and a function."""

from collections.abc import Callable
from typing import Any

import numpy as np

import nbgrad

from .case import Case, Different, NotHere, mode, or_zero


class Model:
    """What holds parameters, as users write it."""

    def __init__(self, run: Callable, held: Any):
        self.run = run
        self.count = len(held)
        for i, x in enumerate(held):
            setattr(self, f"p{i}", x)

    def __call__(self, x):
        return self.run(x, *(getattr(self, f"p{i}") for i in range(self.count)))


@mode
def model(c: Case) -> None:
    """The first argument goes into a model; the others are what it holds."""
    c.require_slopes()
    if len(c.moving) < 2 or not all(isinstance(x, np.ndarray) for x in c.moving):
        raise NotHere
    held = Model(c.scalar, c.moving[1:])
    _, back = nbgrad.pullback(lambda m, x: m(x), held, c.moving[0])
    _, slopes, first = back(np.ones((), c.scalar(*c.moving).dtype))
    if slopes is None:
        raise Different("pullback of a model: None for what it holds")
    found = [getattr(slopes, f"p{i}") for i in range(held.count)]
    given = [or_zero(g, x) for g, x in zip((first, *found), c.moving, strict=True)]
    c.alike("pullback of a model", given, c.gradients)


@mode
def closure(c: Case) -> None:
    """The model is a function: the arrays that it captures have gradients by their names."""
    c.require_slopes()
    if len(c.moving) < 2 or not all(isinstance(x, np.ndarray) for x in c.moving):
        raise NotHere
    first, *held = c.moving

    def run(x: Any) -> Any:
        return c.scalar(x, *held)

    _, back = nbgrad.pullback(lambda f, x: f(x), run, first)
    _, slopes, slope = back(np.ones((), c.scalar(*c.moving).dtype))
    if slopes is None:
        raise Different("pullback of a closure: None for what it captures")
    given = [or_zero(g, x) for g, x in zip((slope, *slopes["held"]), c.moving, strict=True)]
    c.alike("pullback of a closure", given, c.gradients)
