"""Functions whose calls and gradients a transformation computes by other means than by calling
them: `register` tells how, for their class."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

__all__ = ["callee", "register", "value_and_gradients"]

_known: dict[type, tuple[Callable, Callable]] = {}


def register(kind: type, call: Callable, gradients: Callable) -> None:
    """Register functions of a class.

    `call(f, args, options)` calls f with arguments that belong to the caller of a transformation,
    so they are not written to. `gradients(f, args, positions, options)` returns the value and the
    gradients with respect to the arguments at these positions, or None where f has no such value.
    """
    _known[kind] = call, gradients


def _of(f: Callable) -> tuple[Callable, Callable] | None:
    kinds: list[type] = type.mro(type(f))
    return next((_known[kind] for kind in kinds if kind in _known), None)


def callee(f: Callable) -> Callable:
    """The function that a transformation calls for f."""
    if type(f) is FunctionType or (found := _of(f)) is None:
        return f
    return lambda *args, **options: found[0](f, args, options)


def value_and_gradients(
    f: Callable, args: tuple, positions: tuple[int, ...], options: dict[str, Any]
) -> tuple[Any, tuple] | None:
    """The value of f and its gradients, if its class is registered; None for other functions."""
    found = _of(f)
    return found[1](f, args, positions, options) if found else None
