"""Compiled programs on memory that knows what was written.

The loop IR of a compiled program is interpreted on blocks that raise where an element is read
before it was written, where it lies beyond its buffer, and where an argument would be overwritten.
So one call proves, for these shapes, what no comparison of numbers can: that the program does not
depend on what lay in memory. It takes no compilation, and no text.
"""

import math
from copy import copy
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from checkers.blocks import Block, Pointer
from checkers.interpret import interpret
from checkers.loops import check_loops, check_memory
from checkers.lowered import check_values
from checkers.schedules import check_schedule

from nbgrad.core.array import Array
from nbgrad.errors import TraceError
from nbgrad.ir.sizes import Size, value_of
from nbgrad.ir.statements import Assign
from nbgrad.static.function import StaticFunction
from nbgrad.static.loops.memory import ArgumentBuffer
from nbgrad.static.variant import Variant
from nbgrad.transforms import trees

_NAN = 255  # bytes of it are nan as a float, -1 as an integer


class MemoryFault(AssertionError):
    """A program that reads what is not written, or goes beyond a buffer."""


class Watched(Block):
    """Bytes, and which of them were written: those are 255 in `written`."""

    def __init__(self, name: str, data: np.ndarray, is_written: bool, is_open: bool = True):
        super().__init__(data)
        self.name, self.is_open = name, is_open
        self.written = np.full(self.data.size, 255 if is_written else 0, np.uint8)
        self.owners: np.ndarray | None = None  # the buffers that wrote last, by number

    def pointer(self, dtype: np.dtype, start: int = 0) -> Pointer:
        return _Watching(self, dtype, start)

    def require_written(self) -> None:
        """Raise MemoryFault unless all bytes were."""
        if not self.written.all():
            count = int((self.written == 0).sum())
            raise MemoryFault(f"{self.name}: {count} of {self.data.size} bytes were never written")


class Shared(Watched):
    """Scratch: what a buffer reads there was written by itself, and by no other that shares its
    bytes. Buffers are those of the core; what the planner knows of them is not asked. A step that
    was made a loop goes on from the buffer of its first round to those of others: whose they are is
    not known."""

    def __init__(self, data: np.ndarray):
        super().__init__("scratch", data, False)
        self.owners = np.zeros(data.size, np.int64)
        self.numbers: dict[Any, int] = {}
        self.number, self.room = 0, range(0)

    def part(self, buffer: Any, start: int) -> "Shared":
        seen = copy(self)
        if buffer is None:
            seen.number = 0
            return seen
        seen.number = self.numbers.setdefault(buffer, len(self.numbers) + 1)
        seen.room = range(start + buffer.offset, start + buffer.offset + buffer.size)
        return seen

    def number_at(self, places: np.ndarray) -> np.ndarray:
        """The number of the buffer for bytes that are its own, else 0."""
        own = (places >= self.room.start) & (places < self.room.stop)
        return np.where(own, self.number, 0)

    def enter(self, start: int, size: int) -> None:
        self.written[start : start + size] = 0


class _Watching(Pointer):
    """A pointer that looks before it reads, and notes what it writes."""

    block: Any

    def __init__(self, block: Watched, dtype: np.dtype, start: int):
        super().__init__(block, dtype, start)
        of_size = np.dtype(f"u{dtype.itemsize}")
        self.whole = np.iinfo(of_size).max
        stop = start + self.count * dtype.itemsize
        data = block.written[start:stop] if self.count else block.written[:0]
        self.written = data.view(of_size)

    def load(self, places: Any) -> Any:
        found = self._checked(super().load, places)
        if not np.all(self.written[places] == self.whole):
            raise MemoryFault(f"{self.block.name}: {self.told(places)} is read before written")
        owners = self.block.owners
        if owners is not None:
            at = self._bytes(places)
            mine, wrote = self.block.number_at(at), owners[at]
            if np.any((mine != wrote) & (mine != 0) & (wrote != 0)):
                raise MemoryFault(f"{self.block.name}: {self.told(places)} is another buffer's")
        return found

    def store(self, places: Any, values: Any) -> None:
        if not self.block.is_open:
            raise MemoryFault(f"{self.block.name}: {self.told(places)} is written")
        self._checked(super().store, places, values)
        self.written[places] = self.whole
        if self.block.owners is not None:
            at = self._bytes(places)
            self.block.owners[at] = self.block.number_at(at)

    def _bytes(self, places: Any) -> Any:
        """The first bytes of elements, in the block."""
        return self.start + np.asarray(places) * self.dtype.itemsize

    def _checked(self, access: Any, *args: Any) -> Any:
        try:
            return access(*args)
        except IndexError as beyond:
            raise MemoryFault(f"{self.block.name}: {beyond}") from None


def _scratch(size: int) -> Watched:
    """What lies in scratch: nothing that is known."""
    return Shared(np.full(size, _NAN, np.uint8))


def watched(f: StaticFunction, *args: Any) -> Any:
    """The result of a compiled function, as its loop IR gives it on watched memory.

    Every stage that led to it is checked first, and AssertionError raised for one that is unsound.
    Raises MemoryFault for an element that is read before it is written or lies beyond its buffer,
    for one of a result that is never written, and for one of an argument that is.

    >>> watched(nbgrad.compile(lambda x: np.cumsum(x) * 2.0), np.ones(3))
    array([2., 4., 6.])
    """
    variant, leaves = f._find(args, {})
    check_stages(variant)
    return run(variant, leaves)


def check_stages(variant: Variant) -> None:
    """Raise AssertionError unless every stage of a compiled program is sound."""
    emitted = variant._emitted
    plan = emitted.plan
    try:
        variant.program.check()
        check_values([*plan.outputs, *(ok for ok, _ in plan.graph.checks)])
        check_schedule(plan.schedule)
        check_memory(plan)
        check_loops(emitted.core, plan)
    except TraceError as unsound:
        raise AssertionError(f"a stage of {variant.program.name} is unsound: {unsound}") from None


def literal(part: Any, sizes: dict[str, int]) -> Any:
    """A core, or a part of one, for named sizes that have these values."""
    memo: dict[int, Any] = {}  # buffers and cores are told apart by identity

    def made(part: Any) -> Any:
        if isinstance(part, Size):
            return value_of(part, sizes)
        if isinstance(part, (tuple, list)):
            items = [made(item) for item in part]
            return type(part)(*items) if hasattr(part, "_fields") else type(part)(items)
        if not is_dataclass(part) or isinstance(part, type):
            return part
        if id(part) not in memo:
            names = (
                ["operands"]
                if isinstance(part, Assign)
                else [f.name for f in fields(part) if f.init]
            )
            known = {name: made(getattr(part, name)) for name in names}
            memo[id(part)] = replace(part, **known)
        return memo[id(part)]

    return made(part)


def run(variant: Variant, leaves: list[Any]) -> Any:
    """The same for leaves in order."""
    signature = variant.signature
    sizes = {name: leaves[i].shape[axis] for name, (i, axis) in signature.places.items()}
    core = variant._emitted.printed
    given: list[Any] = []
    for i, (leaf, value) in enumerate(
        zip([*leaves, *variant.captured], signature.inputs, strict=True)
    ):
        if value.shape == ():
            given.append(value.dtype.type(leaf))
        else:
            data = np.array(leaf, value.dtype, order="C")
            given.append(Watched(f"argument {i}", data, True, False))
    arrays: dict[int, np.ndarray] = {}
    blocks: dict[int, Watched] = {}
    for i in signature.arrays():
        value = signature.outputs[i]
        shape = signature.shape(value, leaves)
        arrays[i] = np.full(math.prod(shape) * value.dtype.itemsize, _NAN, np.uint8)
        arrays[i] = arrays[i].view(value.dtype).reshape(shape)
        blocks[i] = Watched(f"result {i}", arrays[i], False)
    passed = [*given, *(blocks[i] for i in signature.memory.written)]
    table = [x for x in given if isinstance(x, Watched)] + list(blocks.values())
    found = interpret(literal(core, sizes) if sizes else core, passed, table, _scratch)
    scalars, checks = found[: len(signature.scalars())], found[len(signature.scalars()) :]
    for i in signature.memory.written:
        blocks[i].require_written()
    for ok, (error, message) in zip(checks, signature.messages, strict=True):
        if not ok:
            raise error(message)
    for i, source in signature.memory.copies.items():
        is_given = isinstance(source, ArgumentBuffer)
        block = given[source.position] if is_given else blocks[source.position]
        blocks[i].data[...] = block.data
    results: list[Any] = [None] * len(signature.outputs)
    for i, number in zip(signature.scalars(), scalars, strict=True):
        results[i] = signature.outputs[i].dtype.type(number).item()
    for i, array in arrays.items():
        results[i] = array
    return variant.python._built([results[i] for i in signature.arrays()],
                                 [results[i] for i in signature.scalars()])  # fmt: skip


def check_written(f: StaticFunction, *args: Any) -> None:
    """Raise MemoryFault unless the program for these arguments writes all that it reads and all
    of its results, and AssertionError unless it gives what the function gives to 1e-10 of the
    scale."""
    mine, _ = trees.flatten(watched(f, *args))
    with np.errstate(all="ignore"):
        theirs, _ = trees.flatten(f._f(*args))
    assert len(mine) == len(theirs)
    pairs = [
        (np.asarray(x), np.asarray(y.data if isinstance(y, Array) else y))
        for x, y in zip(mine, theirs, strict=True)
        if x is not None or y is not None
    ]
    floats = [y[np.isfinite(y)] for _, y in pairs if y.dtype.kind == "f"]
    scale = max((float(np.abs(y).max()) for y in floats if y.size), default=1.0)
    for x, y in pairs:
        assert x.shape == y.shape, (x.shape, y.shape)
        rtol = 1e-4 if np.float32 in (x.dtype, y.dtype) else 1e-10
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale)
