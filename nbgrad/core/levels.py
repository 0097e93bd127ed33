"""Levels: the nesting of transformations.

Levels are never used twice: a new one lies above every array that there is. Each has one more right
above it, for what is tracked inside of a transformation that is at this level.
"""

import sys
from contextvars import ContextVar
from types import FunctionType
from typing import Any

from ..capi import gate
from . import modes, refusals

_fresh = modes.fresh_level
_total = refusals.total


class Level(int):
    """The level of one transformation, `op` of a function of the user's, whose code is `code`.
    Values of this level are leaked once it is over."""

    over = False
    inside = 0  # calls that work at it
    op = ""
    code: Any = None


class new_level:
    """`with new_level() as level` opens a level for a transformation: its own, above every array
    that there is, or the one given. What is tracked inside lies above it.

    The level follows the nesting of calls, not the arguments: an inner gradient of a plain array
    that uses an outer tracked value must lie above it. It is open while the call that opened it
    runs, however that ends: an interrupt in the middle of `__exit__` leaves nothing behind.

    Where a function `f` of the user's runs inside, `op` says what for: messages name both. An
    error of C code in place of a refused conversion is explained at the end, and a refused
    conversion that the function went on after is an error. `derives` says that a derivative of f is
    taken, and `holds` that another one is inside.
    """

    __slots__ = (
        "alive",
        "derives",
        "frame",
        "holds",
        "inside",
        "level",
        "outer",
        "refused",
        "runs",
    )

    def __init__(
        self, level: int | None = None, op: str = "", f: Any = None, derives: bool = False
    ):
        self.alive: Any = gate.alive
        fresh = _fresh()
        self.inside = fresh + 1
        self.runs, self.derives, self.holds = op, derives, False
        if level is None:
            level = Level(fresh)
            level.op, level.code = op, code_of(f)
        self.level = level

    def __enter__(self) -> Level:
        self.outer = outer = None if _opened.get() is None else innermost()
        while outer is not None and self.derives:
            outer.holds = True
            outer = outer.outer
        self.frame: Any = sys._getframe(1)
        self.refused = _total.count
        _opened.set(self)
        level = self.level
        if type(level) is Level:
            level.over = False
            level.inside += 1
        return level  # pyright: ignore[reportReturnType]

    @property
    def within(self) -> bool:
        """Whether it is inside of a derivative."""
        outer = self.outer
        return outer is not None and (outer.derives or outer.within)

    def __exit__(self, kind: Any = None, error: Any = None, traceback: Any = None) -> None:
        _opened.set(self.outer)
        self.frame = self.alive = None
        level = self.level
        if type(level) is Level:
            level.inside -= 1
            level.over = level.inside == 0
        if self.runs and self.refused != _total.count:
            refusals.settle(self.refused, error)


class outermost(new_level):
    """`with outermost():` what is tracked inside is tracked as outside of all transformations: for
    plain arrays only."""

    __slots__ = ()

    def __init__(self):
        self.level = self.inside = 0
        self.runs, self.derives, self.holds = "", False, False


# Each thread and each task nests transformations on its own.
_opened: ContextVar[new_level | None] = ContextVar("nbgrad_level", default=None)


modes.innermost = _opened.get


def current_level() -> int:
    """The level at which `track` makes arrays now: 0 outside of every transformation."""
    opened = _opened.get() and innermost()
    return 0 if opened is None else opened.inside


def innermost() -> new_level | None:
    """The innermost level whose call still runs."""
    known = opened = _opened.get()
    while opened is not None:
        frame: Any = sys._getframe(1)
        while frame is not None:
            if frame is opened.frame:
                break
            frame = frame.f_back
        else:
            opened = opened.outer
            continue
        break
    if opened is not known:
        _opened.set(opened)
    return opened


def unwrapped(f: Any) -> Any:
    """The function of the user's in a transformed function, a partial or a method of ours."""
    while True:
        inner = getattr(f, "__wrapped__", None) or getattr(f, "function", None)
        inner = inner or getattr(f, "func", None)
        if inner is None:
            return f
        f = inner


def code_of(f: Any) -> Any:
    """The code of a function of the user's, which holds none of his arrays; None where there is
    none."""
    if type(f) is FunctionType and not f.__dict__:
        return f.__code__
    f = unwrapped(f)
    code = getattr(f, "__code__", None)
    return code or getattr(vars(type(f)).get("__call__"), "__code__", None)
