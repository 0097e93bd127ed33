"""An interpreter of the loop IR and the core IR, in plain Python and NumPy: what they mean.

It shares nothing with the printer, so a program that both run alike is what the IR says. It is for
tests: each element is a few microseconds. Memory is `blocks` behind pointers; a test that wants to
see every element that is read or written passes blocks of its own.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from checkers.blocks import Block, Pointer
from checkers.devices import run_device
from checkers.meaning import Frame, Numbers, operand_of, position_of, prepare, prepare_all
from nbgrad.ir.core import Core, CoreStatement, CoreStep, Device, Repeat, Scratch, Slot
from nbgrad.ir.functions import NumPyNumber
from nbgrad.ir.statements import Address, Call, If, Kernel
from nbgrad.ir.walk import is_ranged, walk

Argument: TypeAlias = Block | tuple[Block, int] | NumPyNumber


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
    operands = [_argument(x) for x in arguments]
    with np.errstate(all="ignore"):
        return _Machine(table).run(core, operands, (scratch(core.scratch), 0))


def _argument(x: Block | np.ndarray | NumPyNumber) -> Argument:
    """An array as a block; one without axes as a number."""
    if not isinstance(x, np.ndarray):
        return x
    return Block(x) if x.ndim else x.dtype.type(x)


class _Machine:
    """Runs cores; the statements of each kernel are prepared once."""

    def __init__(self, table: Sequence[Block]):
        self.table = table
        self._kernels: dict[int, tuple[Kernel, Callable[[Frame], None]]] = {}

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
                return scratch[0].part(buffer, scratch[1]), scratch[1] + buffer.offset
            if isinstance(buffer, Slot):
                return self.table[position_of(buffer.at)(numbers)], 0
            return places[buffer]

        frame = Frame(numbers, base)
        self._steps(core.steps, frame)
        return [operand_of(x)(numbers) for x in core.results]

    def _steps(self, steps: Iterable[CoreStep], frame: Frame) -> None:
        for step in steps:
            self._step(step.statement, frame)

    def _step(self, statement: CoreStatement, frame: Frame) -> None:
        numbers = frame.numbers
        if isinstance(statement, Repeat):
            count = statement.n if statement.count is None else operand_of(statement.count)(numbers)
            each = range(int(count))
            frame = frame.of_rounds()
            for i in reversed(each) if statement.reverse else each:
                if statement.going and not numbers[statement.going]:
                    break
                numbers[statement.variable] = np.int64(i)
                self._steps(statement.body, frame)
        elif isinstance(statement, If):
            holds = operand_of(statement.condition)(numbers)
            self._steps(statement.then if holds else statement.otherwise, frame)
        elif isinstance(statement, Call):
            results = self._call(statement, frame)
            numbers.update(zip(statement.results, results, strict=True))
        else:
            prepare(statement)(frame)

    def _call(self, call: Call, frame: Frame) -> list[NumPyNumber]:
        function, pointers = call.function, [self._pointer(x, frame) for x in call.pointers]
        if isinstance(function, Core):
            return self._enter(function, call, frame)
        operands = [operand_of(x)(frame.numbers) for x in call.numbers]
        if isinstance(function, Kernel):
            return self._kernel(function, pointers, operands)
        assert isinstance(function, Device)
        run_device(function, pointers, operands)
        return []

    def _enter(self, core: Core, call: Call, frame: Frame) -> list[NumPyNumber]:
        """The core of a loop's step, whose scratch is the last argument where it needs any."""
        operands: list[Argument] = []
        for x in call.arguments:
            if isinstance(x, Address):
                pointer = self._pointer(x, frame)
                operands.append((pointer.block, pointer.start))
            else:
                operands.append(operand_of(x)(frame.numbers))
        scratch = operands.pop() if core.takes_scratch else None
        assert scratch is None or isinstance(scratch, tuple)
        if scratch is not None:
            scratch[0].enter(scratch[1], core.scratch)
        return self.run(core, operands, scratch)

    def _pointer(self, place: Address, frame: Frame) -> Pointer:
        pointer = frame.pointer(place.buffer, place.dtype)
        return pointer.further(position_of(place.at)(frame.numbers))

    def _kernel(
        self, kernel: Kernel, pointers: list[Pointer], operands: list[NumPyNumber]
    ) -> list[NumPyNumber]:
        if id(kernel) not in self._kernels:
            self._kernels[id(kernel)] = kernel, prepare_all(kernel.body)
        numbers: Numbers = dict(zip(kernel.numbers, operands, strict=True))
        begins: dict[Hashable, tuple[Block, int]] = {
            i: (pointer.block, pointer.start) for i, pointer in enumerate(pointers)
        }
        frame = Frame(numbers, lambda buffer, _: begins[buffer])
        self._kernels[id(kernel)][1](frame)
        if any(map(is_ranged, walk(kernel.body))):
            # A target may run such a kernel twice: the second time must give the same.
            self._kernels[id(kernel)][1](frame)
        return [numbers[name] for name in kernel.results]


__all__ = ["interpret"]
