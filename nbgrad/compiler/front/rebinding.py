"""Variables for arrays that several statements assign, such as `u` in `u = u + step` in a loop.

Such a variable has a buffer of its own, into which arrays are copied where ways of control meet. So
two variables that stand for one array become two arrays there. That is the same as long as neither
of them is written to in place afterwards, which is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import count_of, fill, lazy
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import INT, Array, Number, Place, whole

__all__ = ["ArraySlot", "Copies", "array_buffers"]


@dataclass(frozen=True)
class ArraySlot:
    """An array that several statements assign: its buffer, and the variables of its lengths."""

    name: str
    buffer: str
    dtype: np.dtype
    lengths: tuple[str, ...]

    def read(self, emit: FunctionBuilder) -> Array:
        """The array."""
        lengths = [emit.settled(Number(name, INT, True, False)) for name in self.lengths]
        return Array(Place(self.buffer, self.dtype), tuple(lengths))  # pyright: ignore


class Copies:
    """The copies of arrays that are made at one place, all at once."""

    def __init__(self, emit: FunctionBuilder):
        self._emit = emit
        self._first = len(emit.buffers)  # buffers before this one belong to the callers
        self._pairs: list[tuple[ArraySlot, Array]] = []

    def add(self, target: ArraySlot, source: Array) -> None:
        """Copy an array into that of a variable."""
        self._pairs.append((target, source))

    def taken(self) -> list[tuple[ArraySlot, Array]]:
        """The copies that are to be made, which are forgotten."""
        pairs, self._pairs = self._pairs, []
        return pairs

    def make(self, known: Mapping[str, Any], given: Sequence[tuple[ArraySlot, Array]] = ()) -> None:
        """Write the copies; `known` are the variables before, and their arrays."""
        pairs, emit = [*given, *self.taken()], self._emit
        if not pairs:
            return
        targets = {target.buffer for target, _ in pairs}
        self._check(pairs, known)
        ready: list[tuple[ArraySlot, Array]] = []
        for target, source in pairs:
            if whole(source.place.buffer) in targets:
                other = lazy(emit, source)
                copy = Array(emit.new(count_of(emit, source.shape), target.dtype), source.shape)
                fill(emit, copy, other)
                source = copy
            ready.append((target, source))
        for target, source in ready:
            count = emit.cast(count_of(emit, source.shape), INT)
            emit.make(Place(target.buffer, target.dtype), count)
            for name, length in zip(target.lengths, source.shape, strict=True):
                emit.accumulate(Number(name, INT), length)
            place = Place(target.buffer, target.dtype)
            fill(emit, Array(place, source.shape), lazy(emit, source))

    def _check(self, pairs: list[tuple[ArraySlot, Array]], known: Mapping[str, Any]) -> None:
        """Let no two variables of one array be written to in place."""
        emit = self._emit
        own = set(emit.buffers[self._first :])
        sources = {target.name: whole(source.place.buffer) for target, source in pairs}
        becomes = {target.name: target.buffer for target, _ in pairs}
        for name, variable in known.items():
            held = set(array_buffers(variable)) & set(becomes.values())
            if held and name not in becomes:
                target = next(x for x in becomes if becomes[x] in held)
                raise Unsupported(
                    f"{target} is assigned again while {name} is its array or a view of it: make "
                    "a copy with .copy()"
                )
        for target, source in pairs:
            buffer = whole(source.place.buffer)
            others = [
                name for name, variable in known.items()
                if name != target.name and buffer in array_buffers(variable)
                and not (name in sources and sources[name] != buffer)
            ]  # fmt: skip
            if others:
                text = f"{target.name}, which is the array of {others[0]},"
                emit.writes.freeze(
                    [target.buffer, buffer, *(becomes.get(x, buffer) for x in others)], text
                )
            elif buffer not in own:
                emit.writes.freeze([target.buffer], f"{target.name}, which may be an argument,")
            emit.writes.copy(buffer, target.buffer)


def array_buffers(variable: Any) -> Iterator[str]:
    """The buffers of the arrays of a variable."""
    if isinstance(variable, tuple):
        for part in variable:
            yield from array_buffers(part)
    elif isinstance(variable, Array):
        yield whole(variable.place.buffer)
    elif isinstance(variable, ArraySlot):
        yield variable.buffer
