"""Every eager mode by name, and the ways to run what must be refused."""

from collections.abc import Callable
from typing import Any

import numpy as np

import nbgrad

from . import blocks, first, held, higher, kinks, unnumbers
from .case import MODES, REFUSALS, Case, Different, NotHere, tracked
from .programs import Program

__all__ = [
    "MODES",
    "REFUSALS",
    "Case",
    "Different",
    "NotHere",
    "blocks",
    "first",
    "held",
    "higher",
    "kinks",
    "refuses",
    "refusing",
    "unnumbers",
]


def refuses(program: Program, run: Callable) -> None:
    """What NumPy refuses for its numbers, `run` must refuse with an error."""
    try:
        found = run()
    except (IndexError, ValueError):
        return
    raise Different(f"an index out of range is taken: {found}")


def refusing(program: Program) -> dict[str, Callable]:
    """The ways to run a program that must be refused."""
    f, args = program.function(), program.make()
    given = [tracked(x) if k in program.floats else x for k, x in enumerate(args)]
    twice = [np.stack([np.asarray(x)] * 2) for x in args]
    return {
        "value": lambda: f(*given),
        "vmap": lambda: nbgrad.vmap(f)(*twice),
        "grad": lambda: _slope(f, args, program.floats[0]) if program.floats else f(*given),
    }


def _slope(f: Callable, args: list[Any], k: int) -> Any:
    """The gradient of the sum with respect to argument k."""
    return nbgrad.grad(lambda x: np.sum(f(*args[:k], x, *args[k + 1 :])))(args[k])
