"""Functions that the front end reads as instructions, not by their text."""

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

__all__ = ["LINKED", "Extern", "instruction"]

LINKED: WeakValueDictionary[str, Any] = WeakValueDictionary()
"""The cores of programs that functions call, by symbol."""


def instruction(function: Any = None, row: tuple = ()) -> Any:
    """Decorator: a function that the front end has an instruction for, which means the same as its
    text in plain Python. `row` is its row in the table of instructions, with parameters, where that
    is not its name; or the function that it stands for."""

    def decorate(function: Callable) -> Any:
        function.row = row or (function.__name__,)  # pyright: ignore[reportFunctionMemberAccess]
        return function

    return decorate if function is None else decorate(function)


class Extern:
    """A function outside of compiled code, for functions of the kernel IR: `row` is its row in the
    front end's table of instructions."""

    def __init__(self, *row: Any):
        self.row = row

    def __call__(self, *operands: Any) -> Any:
        raise TypeError(f"{self!r} is called by compiled code only")

    def __repr__(self) -> str:
        return f"<extern {' '.join(map(str, self.row))}>"
