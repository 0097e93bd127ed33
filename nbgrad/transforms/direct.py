"""Functions whose calls and gradients a transformation computes by other means than by calling
them: `register` tells how, for their class."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

__all__ = ["callee", "look", "register", "value_and_gradients"]

_known: dict[type, tuple[Callable, Callable, Callable]] = {}


def register(kind: type, call: Callable, gradients: Callable, look: Callable) -> None:
    """Register functions of a class.

    `call(f, args, options)` calls f with arguments that belong to the caller of a transformation,
    so they are not written to. `gradients(f, args, positions, options)` returns the value and the
    gradients with respect to the arguments at these positions, or None where f has no such value.
    `look(f, args, options)` raises an error for arguments that must not share memory.
    """
    _known[kind] = call, gradients, look


def _of(f: Callable) -> tuple[Callable, Callable, Callable] | None:
    own: Any = type(f)
    for kind in own.__mro__:
        if kind in _known:
            return _known[kind]
    return None


def callee(f: Callable) -> Callable:
    """The function that a transformation calls for f."""
    if type(f) is FunctionType or (found := _of(f)) is None:
        return f
    return lambda *args, **options: found[0](f, args, options)


def look(f: Callable, args: tuple, options: dict[str, Any]) -> None:
    """Check the arguments of a registered function, before a transformation copies them."""
    if type(f) is not FunctionType and (found := _of(f)) is not None:
        found[2](f, args, options)


def value_and_gradients(
    f: Callable, args: tuple, positions: tuple[int, ...], options: dict[str, Any]
) -> tuple[Any, tuple] | None:
    """The value of f and its gradients, if its class is registered; None for other functions."""
    found = _of(f)
    return found[1](f, args, positions, options) if found else None
