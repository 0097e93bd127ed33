"""The modes and tiers in which choices and loops are held against Python's own."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import optree
import pytest
from helpers import rows

import nbgrad

MODES: dict[str, Callable] = {
    "value": lambda f: f,
    "gradient": nbgrad.value_and_grad,
    "jvp": lambda f: lambda x: nbgrad.jvp(f, (x,), (np.cos(x),)),
    "vjp": lambda f: lambda x: nbgrad.vjp(f, x)[1](2.0),
    "linearize": lambda f: lambda x: nbgrad.linearize(f, x)[1](np.cos(x)),
    "hessian": nbgrad.hessian,
    "reverse over reverse": lambda f: nbgrad.grad(lambda x: np.sum(nbgrad.grad(f)(x * x) ** 2)),
    "jvp of grad": lambda f: lambda x: nbgrad.jvp(nbgrad.grad(f), (x,), (x,))[1],
}

# Numba compiles few of them in every run; plain Python takes all.
TIERS = ["eager", pytest.param("compiled", marks=rows.marks(False))]


def in_tier(tier: str) -> Callable:
    """What a function goes through to run in a tier."""
    return nbgrad.compile if tier == "compiled" else lambda f: f


def compiled_cases(
    functions: Iterable[str], modes: Iterable[str], always: set[tuple[str, str]]
) -> pytest.MarkDecorator:
    """Each function in each mode, of which Numba compiles those of `always` in every run."""
    modes = list(modes)
    cases = [
        pytest.param(name, mode, marks=rows.marks((name, mode) in always))
        for name in functions
        for mode in modes
    ]
    return pytest.mark.parametrize(("name", "mode"), cases)


def assert_close(found: Any, wanted: Any, tolerance: float = 1e-11) -> None:
    """The same numbers in both, nested as they are."""
    left, right = optree.tree_leaves(found), optree.tree_leaves(wanted)
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
