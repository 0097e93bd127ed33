"""Functions that are called often: a C function takes their place.

To write one takes two or three milliseconds, which it saves again in some thousand calls.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..capi.launch import Launch, launcher
from ..runtime.layout import IS_KNOWN

AFTER = 256
"""The calls of a function after which another takes its place."""


class Often:
    """A function, and in its place another one of the same meaning once it has been called often.

    `better` makes that from the function, and `install` is given what is to be called from then on.
    """

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


def often(owner: Any, name: str, better: Callable[[Callable], Callable]) -> None:
    """Let a better function, which is one in C, take the place of `owner.name` once that is called
    often. The function stays where the layout of objects is not known."""
    if IS_KNOWN:
        function = Often(getattr(owner, name), better, partial(setattr, owner, name))
        setattr(owner, name, function)


def launched(plan: Any, name: str, count: int, launch: Launch) -> None:
    """Let a launcher take the place of a plan's function of `count` arguments once that is called
    often."""
    often(plan, name, partial(launcher, launch, count))
