"""Levels: the nesting of transformations.

Each transformation has a level of its own, which is higher than those of all existing arrays and is
never used again. The next higher number is the level of arrays that are tracked inside of it.
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
    """The level of one transformation: `op` of a function of the user, whose code is `code`. When
    it is over, values of this level are leaked."""

    over = False
    inside = 0  # the number of running calls at this level
    op = ""
    code: Any = None


class new_level:
    """`with new_level() as level` opens a level for a transformation: a new one, higher than all
    existing arrays, or `level` if it is passed. Arrays tracked inside of the block are above it.

    Levels follow the nesting of calls, not of arguments: an inner gradient with respect to a plain
    array may use an outer tracked value, and must be above it. A level is open as long as the frame
    that opened it runs, so an interrupt in the middle of `__exit__` does not leave it open.

    If a function `f` of the user runs inside, `op` is the name of the transformation; messages name
    both. At the end, an error of C code that replaced a refused conversion is explained, and a
    refused conversion that the function caught is raised again. `derives`: a derivative of `f` is
    computed; `holds`: another derivative is computed inside.
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
        """Whether a derivative is being computed around it."""
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
    """`with outermost():` arrays are tracked at level 0, as outside of all transformations."""

    __slots__ = ()

    def __init__(self):
        self.level = self.inside = 0
        self.runs, self.derives, self.holds = "", False, False


# Each thread and each task has its own nesting.
_opened: ContextVar[new_level | None] = ContextVar("nbgrad_level", default=None)


modes.innermost = _opened.get


def current_level() -> int:
    """The level of arrays that `track` makes now: 0 outside of all transformations."""
    opened = _opened.get() and innermost()
    return 0 if opened is None else opened.inside


def innermost() -> new_level | None:
    """The innermost open level, whose frame is still running."""
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
    """The function of the user inside of a transformed function, a partial or a wrapper."""
    while True:
        inner = getattr(f, "__wrapped__", None) or getattr(f, "function", None)
        inner = inner or getattr(f, "func", None)
        if inner is None:
            return f
        f = inner


def code_of(f: Any) -> Any:
    """The code object of a function of the user, or None; unlike the function it keeps no arrays
    alive."""
    if type(f) is FunctionType and not f.__dict__:
        return f.__code__
    f = unwrapped(f)
    code = getattr(f, "__code__", None)
    return code or getattr(vars(type(f)).get("__call__"), "__code__", None)
