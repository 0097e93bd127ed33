"""Compiled functions of three kinds of arguments, for the tests of how they are called."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.calls import energy

import nbgrad
from nbgrad.transforms import trees


def net(params, x, s):
    """Of so many arrays that they go in a table."""
    for w, b in params:
        x = np.tanh(x @ w + b)
    return np.sum(x) * s


def net_arguments(rng):
    params = [(rng.normal(size=(4, 4)) / 2, rng.normal(size=4)) for _ in range(13)]
    return params, rng.normal(size=(3, 4)), 2.0


def wide(x):
    """Scratch far beyond the stack's share."""
    y = np.cumsum(np.exp(-x))
    return np.sum(np.cumsum(y * x) * np.cumsum(np.tanh(x)) / y) / 1e6


FUNCTIONS: dict[str, tuple[Callable, Callable]] = {
    "small": (energy, lambda rng: (rng.normal(size=50),)),
    "large scratch": (wide, lambda rng: (rng.uniform(size=20_000),)),
    "many arrays": (net, net_arguments),
}


by_kind = pytest.mark.parametrize("kind", FUNCTIONS)


RTOL = 1e-9


def mapped(f: Callable, tree: Any) -> Any:
    leaves, rebuild = trees.flatten(tree)
    return rebuild([f(leaf) for leaf in leaves])


def prepared(kind: str, rng) -> tuple[Any, Callable, tuple]:
    """The compiled value and gradient, the eager ones, and arguments."""
    f, arguments = FUNCTIONS[kind]
    both = nbgrad.value_and_grad(f)
    return nbgrad.compile(both), both, arguments(rng)
