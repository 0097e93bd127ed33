"""Functions of plans that are called often: a launcher takes their place.

To write one takes a millisecond or two, which it saves again in a few thousand calls.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..kernels.launch import Launch, launcher

AFTER = 256
"""The calls of a function after which its launcher is written."""


class Often:
    """A function of `count` arguments, and in its place a launcher once it has been called often.

    `launch` says what that does, and `install` is given what is to be called from then on.
    """

    __slots__ = ("_calls", "_count", "_function", "_install", "_launch")

    def __init__(
        self, function: Callable, count: int, launch: Launch, install: Callable[[Callable], Any]
    ):
        self._function, self._count, self._install = function, count, install
        self._launch: Launch | None = launch
        self._calls = 0

    def __call__(self, *args):
        self._calls += 1
        if self._calls >= AFTER and (launch := self._launch) is not None:
            self._launch = None
            self._function = launcher(launch, self._count, self._function)
            self._install(self._function)
        return self._function(*args)


def often(plan: Any, name: str, count: int, launch: Launch) -> None:
    """Let a launcher take the place of the function `name` of a plan once that is called often."""
    function = getattr(plan, name)
    setattr(plan, name, Often(function, count, launch, partial(setattr, plan, name)))
