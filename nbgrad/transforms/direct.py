"""Functions whose calls and gradients a transformation computes by other means than by calling
them: `register` tells how, for their class."""

from collections.abc import Callable
from typing import Any

__all__ = ["callee", "register", "value_and_gradients"]

_known: list[tuple[type, Callable, Callable]] = []


def register(kind: type, call: Callable, gradients: Callable) -> None:
    """Register functions of a class.

    `call(f, args, options)` calls f with arguments that belong to the caller of a transformation,
    so they are not written to. `gradients(f, args, positions, options)` returns the value and the
    gradients with respect to the arguments at these positions, or None where f has no such value.
    """
    _known.append((kind, call, gradients))


def callee(f: Callable) -> Callable:
    """The function that a transformation calls for f."""
    for kind, call, _ in _known:
        if isinstance(f, kind):
            return lambda *args, **options: call(f, args, options)
    return f


def value_and_gradients(
    f: Callable, args: tuple, positions: tuple[int, ...], options: dict[str, Any]
) -> tuple[Any, tuple] | None:
    """The value of f and its gradients, if its class is registered; None for other functions."""
    for kind, _, gradients in _known:
        if isinstance(f, kind):
            return gradients(f, args, positions, options)
    return None
