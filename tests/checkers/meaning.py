"""The statements of the loop IR as functions of a frame: how the interpreter runs a kernel.

Each statement is prepared once, so that a loop over it only calls a function.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np

from checkers.blocks import Block, Pointer
from nbgrad.ir.affine import Affine
from nbgrad.ir.core import Slot
from nbgrad.ir.functions import NumPyNumber
from nbgrad.ir.scalar import NAMES, evaluator
from nbgrad.ir.statements import (
    PIECE,
    Accumulate,
    Assign,
    Chunks,
    For,
    Gemm,
    Literal,
    Load,
    Operand,
    Pieces,
    Position,
    Statement,
    Store,
    Variable,
)

Numbers: TypeAlias = dict[Hashable, NumPyNumber]
"""Numbers by name, and those of loops by axis."""
Base: TypeAlias = Callable[[Hashable, Numbers], tuple[Block, int]]
"""From a buffer to its block and the byte at which it begins."""


class Frame:
    """The state of a kernel or a core that runs: numbers by name and by loop axis, and where its
    buffers begin."""

    def __init__(self, numbers: Numbers, base: Base):
        self.numbers = numbers
        self._base = base
        self._pointers: dict[tuple[Hashable, np.dtype], Pointer] = {}

    def pointer(self, buffer: Hashable, dtype: np.dtype) -> Pointer:
        """The first element of a buffer."""
        if isinstance(buffer, Slot):  # which may be another one in the next round
            return self._typed(buffer, dtype)
        pointer = self._pointers.get((buffer, dtype))
        if pointer is None:
            pointer = self._pointers[buffer, dtype] = self._typed(buffer, dtype)
        return pointer

    def inside(self, **numbers: NumPyNumber) -> "Frame":
        """A frame over the same buffers that has its own numbers, and those of this one."""
        return Frame({**self.numbers, **numbers}, self._base)

    def of_rounds(self) -> "Frame":
        """A frame of the same numbers and buffers, of which those that steps name are the first
        round's: whose bytes they reach in others is not known."""

        def base(buffer: Hashable, numbers: Numbers) -> tuple[Block, int]:
            block, start = self._base(buffer, numbers)
            return block.part(None, start), start

        return Frame(self.numbers, base)

    def _typed(self, buffer: Hashable, dtype: np.dtype) -> Pointer:
        block, start = self._base(buffer, self.numbers)
        return block.pointer(dtype, start)


def prepare_all(body: Iterable[Statement]) -> Callable[[Frame], None]:
    steps = [prepare(statement) for statement in body]

    def run(frame: Frame) -> None:
        for step in steps:
            step(frame)

    return run


def prepare(statement: Statement) -> Callable[[Frame], None]:
    return _PREPARED[type(statement)](statement)


def _let(let: Assign) -> Callable[[Frame], None]:
    value = evaluator(let.body, let.inner)
    operands = list(zip(NAMES, map(operand_of, let.operands), strict=False))
    target, kind = let.target, let.dtype.type

    def run(frame: Frame) -> None:
        numbers = frame.numbers
        result = value({name: operand(numbers) for name, operand in operands})
        numbers[target] = result if type(result) is kind else kind(result)

    return run


def _place(place: Position) -> Callable[[Frame], None]:
    position = position_of(place.at)

    def run(frame: Frame) -> None:
        frame.numbers[place.target] = np.int64(position(frame.numbers))

    return run


def _begin(begin: Variable) -> Callable[[Frame], None]:
    start = operand_of(begin.start)

    def run(frame: Frame) -> None:
        frame.numbers[begin.target] = start(frame.numbers)

    return run


def _join(join: Accumulate) -> Callable[[Frame], None]:
    value, target, joined = operand_of(join.value), join.target, join.kind.joined

    def run(frame: Frame) -> None:
        numbers = frame.numbers
        numbers[target] = joined(numbers[target], value(numbers))

    return run


def _load(load: Load) -> Callable[[Frame], None]:
    position = position_of(load.at)

    def run(frame: Frame) -> None:
        pointer = frame.pointer(load.buffer, load.dtype)
        frame.numbers[load.target] = pointer.load(position(frame.numbers))

    return run


def _store(store: Store) -> Callable[[Frame], None]:
    position, value, kind = position_of(store.at), operand_of(store.value), store.kind

    def run(frame: Frame) -> None:
        pointer = frame.pointer(store.buffer, store.dtype)
        place, new = position(frame.numbers), value(frame.numbers)
        if kind is not None:
            new = kind.joined(pointer.load(place), new)
        pointer.store(place, new)

    return run


def _loop(loop: For) -> Callable[[Frame], None]:
    body = [prepare(statement) for statement in loop.body]

    def run(frame: Frame) -> None:
        for i in _rounds(loop, frame):
            frame.numbers[loop.axis] = i
            for step in body:
                step(frame)

    return run


def _rounds(loop: For, frame: Frame) -> range:
    if not loop.piece:
        return range(loop.start, loop.stop)
    low = loop.start + int(frame.numbers[PIECE]) * loop.piece
    return range(low, min(low + loop.piece, loop.stop))


def _chunks(chunks: Chunks) -> Callable[[Frame], None]:
    whole, body = chunks.loop, prepare_all(chunks.loop.body)
    before, after = prepare_all(chunks.before), prepare_all(chunks.after)

    def run(frame: Frame) -> None:
        rounds = _rounds(whole, frame)
        for start in rounds[:: chunks.size]:
            before(frame)
            for i in range(start, min(start + chunks.size, rounds.stop)):
                frame.numbers[whole.axis] = i
                body(frame)
            after(frame)

    return run


def _pieces(pieces: Pieces) -> Callable[[Frame], None]:
    body = prepare_all(pieces.part.body)

    def run(frame: Frame) -> None:
        found: dict[int, Numbers] = {}
        # In any order: from the last to the first here.
        for k in range(pieces.count - 1, -1, -1):
            inner = frame.inside(**{PIECE: np.int64(k)})
            body(inner)
            found[k] = {name: inner.numbers[name] for name in pieces.part.results}
        for k in range(pieces.count):
            for join, name in zip(pieces.joins, pieces.part.results, strict=True):
                before = frame.numbers[join.target]
                frame.numbers[join.target] = join.kind.joined(before, found[k][name])

    return run


def _gemm(gemm: Gemm) -> Callable[[Frame], None]:
    (m, n, k), (lda, ldb) = gemm.sizes, gemm.strides
    shapes = [(k, m) if gemm.turned[0] else (m, k), (n, k) if gemm.turned[1] else (k, n), (m, n)]
    strides = (lda, ldb, n)
    buffers = [buffer for buffer, _ in (gemm.a, gemm.b, gemm.c)]
    at = [position_of(at) for _, at in (gemm.a, gemm.b, gemm.c)]

    def run(frame: Frame) -> None:
        def part(i: int) -> tuple[Pointer, np.ndarray]:
            rows, columns = shapes[i]
            places = np.arange(rows)[:, None] * strides[i] + np.arange(columns)
            pointer = frame.pointer(buffers[i], gemm.dtype)
            return pointer, places + at[i](frame.numbers)

        (a, of_a), (b, of_b), (c, of_c) = map(part, range(3))
        x, y = a.load(of_a), b.load(of_b)
        c.store(of_c, (x.T if gemm.turned[0] else x) @ (y.T if gemm.turned[1] else y))

    return run


_PREPARED: dict[type, Callable[[Any], Callable[[Frame], None]]] = {
    Assign: _let, Position: _place, Variable: _begin, Accumulate: _join, Load: _load, Store: _store,
    For: _loop, Chunks: _chunks, Pieces: _pieces, Gemm: _gemm,
}  # fmt: skip


def operand_of(operand: Operand) -> Callable[[Numbers], NumPyNumber]:
    """The function of the numbers that gives an operand."""
    if isinstance(operand, Literal):
        number = operand.dtype.type(operand.number)
        return lambda numbers: number
    return lambda numbers: numbers[operand]


def position_of(at: Affine) -> Callable[[Numbers], int]:
    """The function of the numbers that gives a position."""
    const, terms = at.const, at.terms
    if not terms:
        return lambda numbers: const
    if len(terms) == 1:
        ((name, step),) = terms
        return lambda numbers: const + int(numbers[name]) * step
    return lambda numbers: const + sum(int(numbers[name]) * step for name, step in terms)


__all__ = ["Frame", "Numbers", "operand_of", "position_of", "prepare", "prepare_all"]
