"""An interpreter of the loop IR and the core IR, in plain Python and NumPy: what they mean.

It shares nothing with the printer, so a program that both run alike is what the IR says. It is for
tests: each element is a few microseconds. Memory is `blocks` behind pointers; a test that wants to
see every element that is read or written passes blocks of its own.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .affine import Affine
from .blocks import Block, Pointer
from .core import (
    Address,
    Core,
    CoreStatement,
    CoreStep,
    Repeat,
    RunCore,
    RunDevice,
    RunKernel,
    Scratch,
    Slot,
)
from .devices import DEVICES
from .functions import NumPyNumber
from .loops import (
    Begin,
    Chunks,
    Gemm,
    Guarded,
    Join,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Operand,
    Place,
    Statement,
    Store,
)
from .scalar import NAMES, evaluator

Numbers: TypeAlias = dict[Hashable, NumPyNumber]
"""Numbers by name, and those of loops by axis."""
Base: TypeAlias = Callable[[Hashable, Numbers], tuple[Block, int]]
"""From a buffer to its block and the byte at which it begins."""
Argument: TypeAlias = Block | tuple[Block, int] | NumPyNumber


class _Frame:
    """What a kernel or a core knows while it runs: numbers by name and by loop axis, and where its
    buffers begin."""

    def __init__(self, numbers: Numbers, base: Base):
        self.numbers = numbers
        self._base = base
        self._pointers: dict[tuple[Hashable, np.dtype], Pointer] = {}

    def pointer(self, buffer: Hashable, dtype: np.dtype) -> Pointer:
        """The first element of a buffer."""
        if isinstance(buffer, Slot):  # which may be another one in the next round
            return self._typed(buffer, dtype)
        found = self._pointers.get((buffer, dtype))
        if found is None:
            found = self._pointers[buffer, dtype] = self._typed(buffer, dtype)
        return found

    def _typed(self, buffer: Hashable, dtype: np.dtype) -> Pointer:
        block, start = self._base(buffer, self.numbers)
        return block.pointer(dtype, start)


# -- cores ----------------------------------------------------------------------------------------


def interpret(
    core: Core,
    arguments: Sequence[Block | np.ndarray | NumPyNumber],
    table: Sequence[Block] = (),
    scratch: Callable[[int], Block] = lambda size: Block(np.zeros(size, np.uint8)),
) -> list[NumPyNumber]:
    """Run a core; its results, numbers of NumPy's.

    Arguments:
        core: The program.
        arguments: For each of its parameters a `Block`, an array that becomes one, or a number.
        table: All arrays that `Slot`s may mean, inputs before results.
        scratch: Makes the block of its scratch from a size in bytes.

    Raises IndexError for an element beyond its buffer.

    >>> f = nbgrad.compile(lambda x: np.sum(x * 2.0))
    >>> core = f.variant(np.ones(3)).loops.core
    >>> interpret(core, [np.arange(3.0)])
    [np.float64(6.0)]
    """
    given = [_argument(x) for x in arguments]
    with np.errstate(all="ignore"):
        return _Machine(table).run(core, given, (scratch(core.scratch), 0))


def _argument(x: Block | np.ndarray | NumPyNumber) -> Argument:
    """An array as a block; one without axes as a number."""
    if not isinstance(x, np.ndarray):
        return x
    return Block(x) if x.ndim else x.dtype.type(x)


class _Machine:
    """Runs cores; the statements of each kernel are prepared once."""

    def __init__(self, table: Sequence[Block]):
        self.table = table
        self._kernels: dict[int, tuple[Kernel, Callable[[_Frame], None]]] = {}

    def run(
        self, core: Core, arguments: Sequence[Argument], scratch: tuple[Block, int] | None
    ) -> list[NumPyNumber]:
        """The results; a pointer is given as its block and byte."""
        numbers: Numbers = {}
        places: dict[Hashable, tuple[Block, int]] = {}
        for parameter, value in zip(core.parameters, arguments, strict=True):
            if isinstance(value, Block):
                places[parameter] = value, 0
            elif isinstance(value, tuple):
                places[parameter] = value
            else:
                numbers[parameter] = value

        def base(buffer: Hashable, numbers: Numbers) -> tuple[Block, int]:
            if isinstance(buffer, Scratch):
                assert scratch is not None
                return scratch[0], scratch[1] + buffer.offset
            if isinstance(buffer, Slot):
                return self.table[_position(buffer.at)(numbers)], 0
            return places[buffer]

        frame = _Frame(numbers, base)
        self._steps(core.steps, frame)
        return [_operand(x)(numbers) for x in core.results]

    def _steps(self, steps: Iterable[CoreStep], frame: _Frame) -> None:
        for step in steps:
            self._step(step.statement, frame)

    def _step(self, statement: CoreStatement, frame: _Frame) -> None:
        numbers = frame.numbers
        if isinstance(statement, Repeat):
            each = range(statement.n)
            for i in reversed(each) if statement.reverse else each:
                numbers[statement.variable] = np.int64(i)
                self._steps(statement.body, frame)
        elif isinstance(statement, RunKernel):
            pointers = [self._pointer(p, frame) for p in statement.pointers]
            given = [_operand(x)(numbers) for x in statement.numbers]
            found = self._kernel(statement.kernel, pointers, given)
            numbers.update(zip(statement.results, found, strict=True))
        elif isinstance(statement, RunDevice):
            pointers = [self._pointer(p, frame) for p in statement.pointers]
            DEVICES[statement.function](*pointers, *statement.sizes)
        elif isinstance(statement, RunCore):
            found = self._enter(statement, frame)
            numbers.update(zip(statement.results, found, strict=True))
        else:
            _prepared(statement)(frame)

    def _enter(self, enter: RunCore, frame: _Frame) -> list[NumPyNumber]:
        """The core of a loop's step, whose scratch is the last argument where it needs any."""
        given: list[Argument] = []
        for x in enter.arguments:
            if isinstance(x, Address):
                pointer = self._pointer(x, frame)
                given.append((pointer.block, pointer.start))
            else:
                given.append(_operand(x)(frame.numbers))
        scratch = given.pop() if enter.core.given else None
        assert scratch is None or isinstance(scratch, tuple)
        return self.run(enter.core, given, scratch)

    def _pointer(self, place: Address, frame: _Frame) -> Pointer:
        pointer = frame.pointer(place.buffer, place.dtype)
        return pointer.further(_position(place.at)(frame.numbers))

    def _kernel(
        self, kernel: Kernel, pointers: list[Pointer], given: list[NumPyNumber]
    ) -> list[NumPyNumber]:
        if id(kernel) not in self._kernels:
            self._kernels[id(kernel)] = kernel, _all(kernel.body)
        numbers: Numbers = dict(zip(kernel.numbers, given, strict=True))
        begins: dict[Hashable, tuple[Block, int]] = {
            i: (pointer.block, pointer.start) for i, pointer in enumerate(pointers)
        }
        frame = _Frame(numbers, lambda buffer, _: begins[buffer])
        self._kernels[id(kernel)][1](frame)
        return [numbers[name] for name in kernel.results]


# -- statements, prepared as functions of a frame -------------------------------------------------


def _all(body: Iterable[Statement]) -> Callable[[_Frame], None]:
    steps = [_prepared(statement) for statement in body]

    def run(frame: _Frame) -> None:
        for step in steps:
            step(frame)

    return run


def _prepared(statement: Statement) -> Callable[[_Frame], None]:
    return _PREPARED[type(statement)](statement)


def _let(let: Let) -> Callable[[_Frame], None]:
    value = evaluator(let.body, let.inner)
    operands = list(zip(NAMES, map(_operand, let.operands), strict=False))
    target, kind = let.target, let.dtype.type

    def run(frame: _Frame) -> None:
        numbers = frame.numbers
        result = value({name: operand(numbers) for name, operand in operands})
        numbers[target] = result if type(result) is kind else kind(result)

    return run


def _place(place: Place) -> Callable[[_Frame], None]:
    position = _position(place.at)

    def run(frame: _Frame) -> None:
        frame.numbers[place.target] = np.int64(position(frame.numbers))

    return run


def _begin(begin: Begin) -> Callable[[_Frame], None]:
    start = _operand(begin.start)

    def run(frame: _Frame) -> None:
        frame.numbers[begin.target] = start(frame.numbers)

    return run


def _join(join: Join) -> Callable[[_Frame], None]:
    value, target, joined = _operand(join.value), join.target, join.kind.joined

    def run(frame: _Frame) -> None:
        numbers = frame.numbers
        numbers[target] = joined(numbers[target], value(numbers))

    return run


def _load(load: Load) -> Callable[[_Frame], None]:
    position = _position(load.at)

    def run(frame: _Frame) -> None:
        pointer = frame.pointer(load.buffer, load.dtype)
        frame.numbers[load.target] = pointer.load(position(frame.numbers))

    return run


def _store(store: Store) -> Callable[[_Frame], None]:
    position, value, kind = _position(store.at), _operand(store.value), store.kind

    def run(frame: _Frame) -> None:
        pointer = frame.pointer(store.buffer, store.dtype)
        place, new = position(frame.numbers), value(frame.numbers)
        if kind is not None:
            new = kind.joined(pointer.load(place), new)
        pointer.store(place, new)

    return run


def _loop(loop: Loop) -> Callable[[_Frame], None]:
    body = [_prepared(statement) for statement in loop.body]

    def run(frame: _Frame) -> None:
        for i in range(loop.start, loop.stop):
            frame.numbers[loop.axis] = i
            for step in body:
                step(frame)

    return run


def _chunks(chunks: Chunks) -> Callable[[_Frame], None]:
    whole, body = chunks.loop, _all(chunks.loop.body)
    before, after = _all(chunks.before), _all(chunks.after)

    def run(frame: _Frame) -> None:
        for start in range(whole.start, whole.stop, chunks.size):
            before(frame)
            for i in range(start, min(start + chunks.size, whole.stop)):
                frame.numbers[whole.axis] = i
                body(frame)
            after(frame)

    return run


def _guarded(guarded: Guarded) -> Callable[[_Frame], None]:
    body = _all(guarded.body)

    def run(frame: _Frame) -> None:
        # Where an argument is far from 0 all is done again: a second time must give the same.
        body(frame)
        body(frame)

    return run


def _gemm(gemm: Gemm) -> Callable[[_Frame], None]:
    (m, n, k), (lda, ldb) = gemm.sizes, gemm.strides
    shapes = [(k, m) if gemm.turned[0] else (m, k), (n, k) if gemm.turned[1] else (k, n), (m, n)]
    strides = (lda, ldb, n)
    at = [_position(at) for _, at in (gemm.a, gemm.b, gemm.c)]

    def run(frame: _Frame) -> None:
        def part(i: int) -> tuple[Pointer, np.ndarray]:
            rows, columns = shapes[i]
            places = np.arange(rows)[:, None] * strides[i] + np.arange(columns)
            pointer = frame.pointer(gemm[i][0], gemm.dtype)
            return pointer, places + at[i](frame.numbers)

        (a, of_a), (b, of_b), (c, of_c) = map(part, range(3))
        x, y = a.load(of_a), b.load(of_b)
        c.store(of_c, (x.T if gemm.turned[0] else x) @ (y.T if gemm.turned[1] else y))

    return run


_PREPARED: dict[type, Callable[[Any], Callable[[_Frame], None]]] = {
    Let: _let, Place: _place, Begin: _begin, Join: _join, Load: _load, Store: _store, Loop: _loop,
    Chunks: _chunks, Guarded: _guarded, Gemm: _gemm,
}  # fmt: skip


def _operand(operand: Operand) -> Callable[[Numbers], NumPyNumber]:
    """The function of the numbers that gives an operand."""
    if isinstance(operand, Literal):
        number = operand.dtype.type(operand.number)
        return lambda numbers: number
    return lambda numbers: numbers[operand]


def _position(at: Affine) -> Callable[[Numbers], int]:
    """The function of the numbers that gives a position."""
    const, terms = at.const, at.terms
    if not terms:
        return lambda numbers: const
    if len(terms) == 1:
        ((name, step),) = terms
        return lambda numbers: const + int(numbers[name]) * step
    return lambda numbers: const + sum(int(numbers[name]) * step for name, step in terms)


__all__ = ["interpret"]
