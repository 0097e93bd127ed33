"""Pulling: from an element that is wanted to the loads and the scalar code that give it.

A `Writer` walks from a value through views, pads, joins and maps to what has a buffer, and appends
a line for each step. Where it appends to, and what is known already, is its subclass's to say.
"""

import math
import re
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..emission import NAMES
from ..kernels.emit import substitute
from . import affine
from .affine import Affine, flat, span
from .fuse import inlined, taken
from .values import BOOL, Value, number_of

_LITERAL = re.compile(r"(?<![\w.])(\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)(?![\w.])")


# Yields what it needs, is sent the names, and returns its own.
Pulling = Generator[tuple[Value, tuple[Affine, ...]], Any, str]


class Line(NamedTuple):
    """Scalar code with places for positions, `{0}`, `{1}`."""

    text: str
    positions: tuple[Affine, ...] = ()
    source: str = ""


class Access(NamedTuple):
    """One load or store of a value's buffer; `low` is the first element that it can touch."""

    value: Value
    position: Affine
    store: bool
    sweep: int
    low: int


class Writer:
    """Pulls elements of values, as lines of scalar code."""

    def __init__(self, roots: set[Value]):
        self.roots = roots
        self.accesses: list[Access] = []
        self.scalars: dict[Value, str] = {}
        self.level_of: dict[str, int] = {}
        self.sweep = 0
        self._count = 0

    # What a nest, or straight-line code, makes of these.

    def append(self, line: Line, level: int) -> None:
        raise NotImplementedError

    def known(self, key: tuple) -> str | None:
        raise NotImplementedError

    def remember(self, key: tuple, name: str, level: int) -> None:
        raise NotImplementedError

    def scalar(self, value: Value) -> str:
        """The name of a scalar root or input."""
        raise NotImplementedError

    def bounds(self, axis: int) -> tuple[int, int]:
        raise NotImplementedError

    def level(self, position: Affine) -> int:
        """Inside how many loops a position is known."""
        raise NotImplementedError

    # Pulling

    def fresh(self) -> str:
        self._count += 1
        return f"v{self._count - 1}"

    def let(self, text: str, level: int, value: Value, positions: Sequence[Affine] = ()) -> str:
        name = self.fresh()
        self.level_of[name] = level
        self.append(Line(f"{name} = {text}", tuple(positions), value.line), level)
        return name

    def access(self, value: Value, position: Affine, store: bool = False) -> str:
        """The place of a pointer in a line, for one load or store."""
        found = span(position, self.bounds)
        low = found[0] if found else 0
        self.accesses.append(Access(value, position, store, self.sweep, low))
        return f"@{{{len(self.accesses) - 1}}}"

    def element(self, value: Value, index: Sequence[Affine], inner: bool = False) -> str:
        """The name of an element; `inner` computes a root instead of reading it.

        Whatever is computed asks for its arguments by yielding them, and is kept on a stack while
        they are found: programs may be deeper than Python's.
        """
        name = None if inner else self._found(value, tuple(index))
        if name is not None:
            return name
        stack = [self._pulled(value, tuple(index))]
        while stack:
            try:
                wanted = stack[-1].send(name)
            except StopIteration as done:
                name = done.value
                stack.pop()
                continue
            name = self._found(*wanted)
            if name is None:
                stack.append(self._pulled(*wanted))
        assert name is not None
        return name

    def _found(self, value: Value, index: tuple[Affine, ...]) -> str | None:
        """The name of an element that needs no computing, or was computed."""
        number = number_of(value)
        if number is not None:
            return literal(number, value.dtype)
        if value.op == "input" or value in self.roots:
            return self._stored(value, flat(value.shape, index))
        return self.known((value, index))

    def _pulled(self, value: Value, index: tuple[Affine, ...]) -> Pulling:
        number = number_of(value)
        if number is not None:
            return literal(number, value.dtype)
        name = self.known((value, index))
        if name is None:
            name = yield from self._computed(value, index)
            self.remember((value, index), name, self.level_of.get(name, 0))
        return name

    def _stored(self, value: Value, position: Affine) -> str:
        if value.shape == ():
            return self.scalar(value)
        key = (value, position)
        name = self.known(key)
        if name is None:
            text = f"{self.access(value, position)}[{{0}}]"
            text += " != 0" if value.dtype == BOOL else ""
            name = self.let(text, self.level(position), value, (position,))
            self.remember(key, name, self.level_of[name])
        return name

    def _computed(self, value: Value, index: tuple[Affine, ...]) -> Pulling:
        if value.op == "map":
            names = []
            for wanted in inlined(value, index):
                names.append((yield wanted))
            return self._mapped(value, names)
        if value.op == "view":
            return (yield value.args[0], affine.seen(value.data, index))
        if value.op == "reshape":
            return self._stored(value.args[0], flat(value.shape, index))
        if value.op == "iota":
            position = index[value.data]
            return self.let("{0}", self.level(position), value, (position,))
        if value.op == "pad":
            ((arg, at),) = inlined(value, index)
            inside = self._inside(at, arg.shape)
            return (yield arg, at) if inside else literal(0.0, value.dtype)
        if value.op == "inset":
            (background, here), (block, at) = inlined(value, index)
            return (yield block, at) if self._inside(at, block.shape) else (yield background, here)
        if value.op == "concat":
            for arg, at in inlined(value, index):
                if self._inside(at, arg.shape):
                    return (yield arg, at)
            raise AssertionError("an index beyond the joined arrays")
        if value.op == "take":
            axes, place, joint = value.data
            dynamic = []
            for arg in value.args[1:]:
                dynamic.append(affine.variable((yield arg, index[place : place + joint])))
            return (yield value.args[0], taken(axes, dynamic, index))
        raise AssertionError(f"{value.op} cannot be computed where it is read")

    def _mapped(self, value: Value, names: Sequence[str]) -> str:
        level = max((self.level_of.get(name, 0) for name in names), default=0)
        kind = next((a.dtype for a in value.args if a.dtype.kind == "f"), value.dtype)
        body = value.data
        if body == "x":
            body = {"f": f"{value.dtype.name}(x)", "i": "int64(x)", "b": "x != 0"}[value.dtype.kind]
        body = typed(body, kind)
        return self.let(substitute(body, dict(zip(NAMES, names, strict=False))), level, value)

    def _inside(self, index: Sequence[Affine], shape: Sequence[int]) -> bool:
        """Whether an index lies in an array of `shape`, everywhere in the present loops, which
        were cut so that the answer is one."""
        for position, n in zip(index, shape, strict=True):
            found = span(position, self.bounds)
            assert found is not None
            low, high = found
            if high < 0 or low >= n:
                return False
            assert low >= 0 and high < n, "loops that are not cut where an array ends"
        return True


def literal(number: Any, dtype: np.dtype) -> str:
    if dtype.kind == "b":
        return "True" if number else "False"
    if dtype.kind in "iu":
        return f"({number})" if number < 0 else str(number)
    text = "np." + repr(abs(number)) if not math.isfinite(number) else repr(abs(number))
    text = text if dtype == np.float64 else f"float32({text})"
    return f"(-{text})" if math.copysign(1.0, number) < 0 else text


def initial(kind: str, dtype: np.dtype) -> str:
    """What a reduction begins with."""
    whole = dtype.kind in "iu"
    end = np.iinfo(np.int64).max if whole else np.inf
    number = {"sum": 0, "prod": 1, "max": -end, "min": end}[kind]
    return literal(number if whole else float(number), dtype)


def typed(body: str, dtype: np.dtype) -> str:
    """`body` with its literals of the kind of its arguments: one float64 widens a float32 loop."""

    def constant(match: re.Match) -> str:
        text = match[0] if match[0][0].isdigit() else f"np.{match[0]}"
        return f"float32({text})" if dtype == np.float32 else text

    return _LITERAL.sub(constant, body) if dtype.kind == "f" else body
