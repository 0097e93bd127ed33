"""Functions that are pickled as the call that makes them again.

A closure cannot be pickled, and what it holds, such as a recorded graph, need not be: the process
that reads the pickle makes the function again from the arguments. A function that a decorator hides
behind its own name is found by name, as the functions of a module are.
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
        """What this transformation makes of another function."""
        raise NotImplementedError


class Remade(partial):
    """A function that is pickled and copied as `make(*arguments)`.

    It is a `partial` that fixes nothing, so that a call takes no time of its own.
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
    """What `__reduce__` gives for an object that `make(*arguments)` makes again, where the first of
    `arguments` is the function that it decorates.

    Where the function's name stands for the object, the object is pickled by that name. Objects of
    a script are not, as workers that get functions by value do not have its names: there the
    function is called what it is, the attribute `function` of the object, where `pickle` finds it.
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
