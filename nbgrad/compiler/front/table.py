"""The table of instructions by name."""

from collections.abc import Callable

from .checks import CHECKS
from .values import Value

__all__ = ["INSTRUCTIONS", "row"]

INSTRUCTIONS: dict[str, Callable[..., Value]] = dict(CHECKS)


def row(function: Callable[..., Value]) -> Callable[..., Value]:
    """Decorator: the instruction of this name."""
    INSTRUCTIONS[function.__name__.strip("_")] = function
    return function
