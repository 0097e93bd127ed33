"""Transformed functions, which are pickled as the call that makes them.

A closure cannot be pickled, and its state, such as a recorded graph, need not be: unpickling makes
the function again from its arguments. The function under a decorator is pickled by name, as the
functions of a module are.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any


class Wrapper:
    """A transformed function, whose transformation can be applied to another function."""

    __slots__ = ()
    function: Any

    def of(self, f: Callable) -> Callable:
        """Apply this transformation to another function."""
        raise NotImplementedError


class Remade(partial):
    """A function that is pickled and copied as `make(*arguments)`.

    It is a `partial` without arguments, which adds no time to a call.
    """

    make: Callable
    arguments: tuple
    function = property(lambda self: self.arguments[0])

    def __new__(cls, computes: Callable, make: Callable, *arguments: Any):
        self = super().__new__(cls, computes)
        self.make, self.arguments = make, arguments
        return self

    def __reduce__(self) -> Any:
        return reduced(self, self.make, *self.arguments)

    def __repr__(self) -> str:
        return f"<{getattr(self, '__name__', self.make.__name__)} of nbgrad>"


def reduced(decorated: Any, make: Callable, *arguments: Any) -> Any:
    """The result of `__reduce__` for an object made by `make(*arguments)`, whose first argument is
    the decorated function.

    If the name of the function refers to the object, the object is pickled by that name. Objects of
    a script are not, as workers that receive functions by value do not have its names: there the
    function is renamed to the attribute `function` of the object, where `pickle` finds it.
    """
    f: Any = arguments[0]
    name, module = getattr(f, "__qualname__", None), getattr(f, "__module__", None)
    if name is None or _look_up(module, name) is not decorated:
        return make, arguments
    if module != "__main__":
        return name
    f.__qualname__ = f"{name}.function"
    return make, arguments


def _look_up(module: str | None, name: str) -> Any:
    value: Any = sys.modules.get(module or "")
    for part in name.split("."):
        value = getattr(value, part, None)
    return value
