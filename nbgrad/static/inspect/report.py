"""`Plan`, the work of a compiled program step by step: operations, bytes moved, buffers.

A plan is made on demand, so it adds nothing to compile time. `annotate` adds the user's lines to
the source. The compiled text has none, so it is a cache hit even if a script is edited elsewhere.
"""

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...ir.core import CoreStep
from ...ir.scalar import Apply, ordered
from ...ir.sizes import is_dynamic
from ...ir.statements import Accumulate, Assign, For, Kernel, Statement, Store
from ...ir.walk import inner
from ..entry.module import Emitted
from ..loops.elements import Access
from ..loops.memory import ArgumentBuffer, Memory, ResultBuffer, Scratch, bytes_of
from ..loops.nest import Nest
from ..lower.buffered import DeviceCall, Item, Matmul, Nested
from ..lower.values import Reshape, Value, View
from ..schedule.fuse import FusionGroup, Single


class BufferUse(NamedTuple):
    """A buffer that a step reads or writes, and how many bytes of it."""

    storage: Hashable
    what: str  # dtype and shape
    size: int  # of the buffer
    touched: int
    written: bool


@dataclass(frozen=True)
class PlanStep:
    """One step of a program: a loop nest, a product, a call, or lines of scalar code.

    `flops` counts each addition, comparison, exponential, ... as one; it is None if unknown.
    `reads` and `writes` are bytes of buffers, each element counted once. `lines` are the user's.
    """

    what: str
    text: str
    flops: int | None
    uses: tuple[BufferUse, ...]
    lines: tuple[str, ...]

    @property
    def reads(self) -> int:
        return sum(use.touched for use in self.uses if not use.written)

    @property
    def writes(self) -> int:
        return sum(use.touched for use in self.uses if use.written)


@dataclass(frozen=True)
class Buffer:
    """Memory of a program: an input, a result, or a part of the scratch memory at `offset`, live
    from step `first` to step `last`."""

    name: str
    kind: str
    what: str
    size: int
    first: int
    last: int
    offset: int | None = None


@dataclass(frozen=True)
class Plan:
    """The steps of a compiled program in order, and its buffers; `print` shows a table.

    >>> f = nbgrad.compile(lambda x: np.exp(x) * x)
    >>> y = f(np.ones(1000))
    >>> f.plan.summary
    'compiled: 1 step, 2,000 flops, 8 kB read, 8 kB written, 0 B of scratch'
    >>> [(step.what, step.flops) for step in f.plan.steps]
    [('loop0 1000', 2000)]
    """

    name: str
    steps: tuple[PlanStep, ...]
    buffers: tuple[Buffer, ...]
    scratch: int

    @property
    def flops(self) -> int:
        """The number of operations of all steps, as far as it is known."""
        return sum(step.flops or 0 for step in self.steps)

    @property
    def reads(self) -> int:
        return sum(step.reads for step in self.steps)

    @property
    def writes(self) -> int:
        return sum(step.writes for step in self.steps)

    @property
    def summary(self) -> str:
        """The totals in one line."""
        count = len(self.steps)
        least = "at least " if any(step.flops is None for step in self.steps) else ""
        return (
            f"{self.name}: {count} step{'s' * (count != 1)}, {least}{self.flops:,} flops, "
            f"{in_bytes(self.reads)} read, {in_bytes(self.writes)} written, "
            f"{in_bytes(self.scratch)} of scratch"
        )

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Return the rows of the table, whose columns are `HEADER`."""
        for i, step in enumerate(self.steps):
            flops = "?" if step.flops is None else f"{step.flops:,}"
            line = step.lines[0] if step.lines else ""
            more = f" (and {len(step.lines) - 1} more)" if len(step.lines) > 1 else ""
            yield (
                str(i), step.what, flops, in_bytes(step.reads), in_bytes(step.writes), line + more
            )  # fmt: skip

    def __str__(self) -> str:
        rows = [HEADER, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self.summary]
        for row in rows:
            cells = zip(row, widths, NUMBERS, strict=True)
            shown = [c.rjust(w) if number else c.ljust(w) for c, w, number in cells]
            lines.append("  ".join(shown).rstrip())
        return "\n".join(lines)

    __repr__ = __str__


HEADER = ("step", "what", "flops", "read", "written", "line")
NUMBERS = (True, False, True, True, True, False)
"""Whether a column holds numbers."""


def plan_of(emitted: Emitted) -> Plan:
    """Return the plan of a program. Scalar computations between other steps are one step."""
    steps: list[PlanStep] = []
    numbers: list[CoreStep] = []
    for planned, core_steps in emitted.parts:
        if isinstance(planned, Single) and _is_number(planned.value):
            numbers += core_steps
            continue
        steps += _number_step(numbers, emitted)
        numbers = []
        steps.append(_step(planned, core_steps, emitted))
    steps += _number_step(numbers, emitted)
    memory = emitted.plan.memory
    return Plan(emitted.name, tuple(steps), tuple(_buffers(steps)), memory.size)


def annotate(emitted: Emitted) -> str:
    """Return the source with the user's line beside each step and above each kernel."""
    out: list[str] = []
    lines = iter(emitted.lines)
    expected = next(lines, None)
    inside = False
    for text in emitted.source.split("\n"):
        if text.startswith("def "):
            name = text[4 : text.index("(")]
            inside = name == emitted.core.name
            if not inside and out and out[-1] == "@device":
                out[-1:] = [*(f"# {line}" for line in emitted.notes.get(name, ())), "@device"]
        elif inside and expected is not None and text == "    " + expected.text:
            text = f"{text}  # {expected.lines[0]}" if expected.lines else text
            expected = next(lines, None)
        out.append(text)
    return "\n".join(out)


def in_bytes(size: float) -> str:
    """
    >>> in_bytes(48), in_bytes(1536), in_bytes(8e6)
    ('48 B', '1.54 kB', '8 MB')
    """
    if is_dynamic(size):
        return f"{size} B"
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"


# -- steps ----------------------------------------------------------------------------------------


def _is_number(value: Value) -> bool:
    return value.shape == () and not isinstance(value, (Matmul, DeviceCall, Nested, Item))


def _number_step(steps: list[CoreStep], emitted: Emitted) -> list[PlanStep]:
    if not steps:
        return []
    count = len(steps)
    lines = dict.fromkeys(line for step in steps for line in step.lines)
    flops = sum(operations(step.statement) for step in steps)
    what = f"scalars, {count} line{'s' * (count != 1)}"
    return [PlanStep(what, emitted.text_of(steps), flops, (), tuple(lines))]


def _step(planned: FusionGroup | Single, steps: list[CoreStep], emitted: Emitted) -> PlanStep:
    memory, flops = emitted.plan.memory, None
    if isinstance(planned, FusionGroup):
        (run,) = steps
        kernel = run.statement.function  # pyright: ignore[reportAttributeAccessIssue]
        domain = " x ".join(map(str, planned.domain)) or "1"
        what = f"{emitted.printer.name_of(kernel)} {domain}"
        flops, uses = _work(kernel), _uses_of_nest(emitted.plan.nests[planned], memory)
    else:
        value = planned.value
        shapes = [" x ".join(map(str, arg.shape)) or "1" for arg in value.args]
        if isinstance(value, Matmul):
            what = "product " + " @ ".join(f"({shape})" for shape in shapes)
            flops = 2 * value.size * value.args[0].shape[-1]
        elif isinstance(value, DeviceCall):
            what, flops = f"{value.function.__name__} {', '.join(shapes)}", value.size
        else:
            what = f"loop {', '.join(shapes)}"
        uses = _uses_of_value(value, memory)
    lines = dict.fromkeys(line for step in steps for line in step.lines)
    return PlanStep(what, emitted.text_of(steps), flops, tuple(uses), tuple(lines))


def _work(kernel: Kernel) -> int:
    """Count the operations of a kernel."""
    return _operations_of(kernel.body)


def _operations_of(body: Iterable[Statement]) -> int:
    total = 0
    for statement in body:
        rounds = statement.stop - statement.start if isinstance(statement, For) else 1
        total += operations(statement) + rounds * sum(map(_operations_of, inner(statement)))
    return total


def operations(statement: object) -> int:
    """Count the arithmetic of a statement: selections, signs of constants and casts are free.

    >>> from nbgrad.ir.statements import Assign
    >>> from nbgrad.ir.scalar import parse
    >>> body = parse("select(x < 0.0, 0.0, exp(x) + 1.0)")
    >>> operations(Assign("v1", body, ("v0",), np.dtype(float), np.dtype(float)))
    3
    """
    if isinstance(statement, Assign):
        calls = [e for e in ordered(statement.body) if isinstance(e, Apply)]
        return sum(e.function.price > 0 and e.function.name != "select" for e in calls)
    return isinstance(statement, Accumulate) or (
        isinstance(statement, Store) and statement.kind is not None
    )


# -- buffers --------------------------------------------------------------------------------------


def _uses_of_nest(nest: Nest, memory: Memory) -> Iterator[BufferUse]:
    groups: dict[tuple[Value, bool], set[Access]] = {}
    for access in nest.accesses:
        groups.setdefault((access.value, access.store), set()).add(access)
    for (value, store), accesses in groups.items():
        if value in memory.dropped:
            continue
        # A value that only later sweeps read has a buffer of one row.
        shape = value.shape[nest.split :] if value in memory.rows else value.shape
        positions = {access.position: access for access in accesses}
        elements = sum(_elements(access, nest) for access in positions.values())
        yield _use(value, memory, shape, min(elements, math.prod(shape)), store)


def _elements(access: Access, nest: Nest) -> int:
    """Return the largest number of elements that an access may visit."""
    axes = access.position.axes()
    if -1 in axes:
        return access.value.size
    if any(isinstance(name, str) for name, _ in access.position.terms):
        return math.prod(nest.domain)
    return math.prod(nest.domain[axis] for axis in axes)


def _uses_of_value(value: Value, memory: Memory) -> Iterator[BufferUse]:
    for arg in dict.fromkeys(value.args):
        source = arg
        while source not in memory.places and isinstance(source, (View, Reshape)):
            source = source.source
        if source in memory.places:
            yield _use(source, memory, source.shape, min(arg.size, source.size), False)
    if value in memory.places:
        yield _use(value, memory, value.shape, value.size, True)


def _use(value: Value, memory: Memory, shape: tuple, touched: int, written: bool) -> BufferUse:
    unit = bytes_of(value)
    size = math.prod(shape) * unit
    return BufferUse(memory.storage(value), f"{value.dtype} {shape}", size, touched * unit, written)


def _buffers(steps: list[PlanStep]) -> Iterator[Buffer]:
    """Return the buffers in the order of their first use."""
    groups: dict[Hashable, list[tuple[int, BufferUse]]] = {}
    for i, step in enumerate(steps):
        for use in step.uses:
            groups.setdefault(use.storage, []).append((i, use))
    count = 0
    for storage, uses in groups.items():
        offset = None
        if isinstance(storage, Scratch):
            name, kind, offset = f"w{count}", "scratch", storage.offset
            count += 1
        elif isinstance(storage, ArgumentBuffer):
            name, kind = f"a{storage.position}", "input"
        else:
            assert isinstance(storage, ResultBuffer)
            name, kind = f"r{storage.position}", "result"
        size = max(use.size for _, use in uses)
        yield Buffer(name, kind, uses[0][1].what, size, uses[0][0], uses[-1][0], offset)
