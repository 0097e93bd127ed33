"""Hot functions: a Python function that is called often is replaced by a C version of it.

The Python function is the definition, and names the writer of its C version:

    @replaceable(lambda: Reset(TrackedArray, Node, Leaf))
    def _reset(arrays): ...

After `AFTER` calls the C version is compiled, which takes two or three milliseconds and pays off
within some thousand calls, and set in place of the definition. It handles the common cases and
calls the definition for all others. Call a replaceable function as an attribute of its module or
class: a name bound by `from module import function` keeps the counting wrapper.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from ..runtime.layout import IS_KNOWN
from .builtin import c_function
from .emitter import Emitter

AFTER = 256
"""The number of calls after which a function is replaced."""

Function = TypeVar("Function", bound=Callable)


class HotFunction:
    """Calls `function` and counts the calls; after `AFTER` of them passes `better(function)` to
    `install`, and calls that from then on."""

    __slots__ = ("_better", "_calls", "_function", "_install")

    def __init__(
        self,
        function: Callable,
        better: Callable[[Callable], Callable],
        install: Callable[[Callable], Any],
    ):
        self._function, self._install = function, install
        self._better: Callable[[Callable], Callable] | None = better
        self._calls = 0

    def __call__(self, *args, **options):
        self._calls += 1
        if self._calls >= AFTER and (better := self._better) is not None:
            self._better = None
            self._function = better(self._function)
            self._install(self._function)
        return self._function(*args, **options)


class Replaceable(NamedTuple):
    """A definition in Python, and the writer of its C version."""

    definition: Callable
    write: Callable[[], Emitter]

    def c_version(self, general: Callable) -> Callable:
        """Compile the C version, which calls `general` for arguments that it does not handle."""
        return c_function(self.write, general)

    def install(self, function: Callable) -> None:
        """Set a function in place of the definition, in its module or class."""
        owner: Any = sys.modules[self.definition.__module__]
        *outer, name = self.definition.__qualname__.split(".")
        for part in outer:
            owner = getattr(owner, part)
        setattr(owner, name, function)


replaceables: dict[str, Replaceable] = {}
"""All replaceable functions by their full names."""


def replaceable(write: Callable[[], Emitter]) -> Callable[[Function], Function]:
    """Decorator for a function of a module, or a static method, with a C version. `write` returns
    its emitter, and is called when the function is replaced.

    Nothing is replaced where the layout of Python's objects is not known.
    """

    def declare(function: Function) -> Function:
        declared = Replaceable(function, write)
        replaceables[f"{function.__module__}.{function.__qualname__}"] = declared
        if not IS_KNOWN:
            return function
        return cast(Function, HotFunction(function, declared.c_version, declared.install))

    return declare


def replace_when_hot(owner: Any, name: str, better: Callable[[Callable], Callable]) -> None:
    """Replace the method `owner.name` of one object by `better(owner.name)` once it is hot."""
    if IS_KNOWN:
        install = partial(setattr, owner, name)
        install(HotFunction(getattr(owner, name), better, install))
