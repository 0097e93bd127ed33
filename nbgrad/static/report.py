"""What a compiled program does, step by step: its work, the bytes that it moves, its buffers.

A `Plan` is made from what was emitted when somebody asks for it, so compiling does not wait for it.
The source is shown with the user's line beside each step; the text that is compiled has no such
lines, so a script that moves does not compile again.
"""

import ast
import math
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from .emit import Described, Emitted
from .fuse import Group
from .memory import Memory
from .nest import Block, Nest
from .pull import Access, Line
from .values import Value

# What is called without arithmetic: choices and changes of dtype.
_FREE = {"select", "float32", "float64", "int64", "uint64"}
_PLACES = re.compile(r"@?\{\d+\}")


class Use(NamedTuple):
    """A buffer that a step reads or writes, and how many bytes of it."""

    storage: Hashable
    what: str  # dtype and shape
    size: int  # of the buffer
    touched: int
    written: bool


@dataclass(frozen=True)
class Step:
    """One step of a program: a loop nest, a product, a call, or lines of scalar code.

    `flops` counts one for every addition, comparison, exponential, ...; None where it is not known.
    `reads` and `writes` are bytes of buffers, each element once however often the step visits it.
    `lines` are the user's.
    """

    what: str
    text: str
    flops: int | None
    uses: tuple[Use, ...]
    lines: tuple[str, ...]

    @property
    def reads(self) -> int:
        return sum(use.touched for use in self.uses if not use.written)

    @property
    def writes(self) -> int:
        return sum(use.touched for use in self.uses if use.written)


@dataclass(frozen=True)
class Buffer:
    """Memory that steps share: an input, a result, or a part of the scratch at `offset`; needed
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
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    scratch: int

    @property
    def flops(self) -> int:
        """Of all steps whose work is known."""
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
        """The cells of the table, step by step, under `HEADER`."""
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
    """What was emitted, step by step; scalar code between other steps is one step."""
    steps: list[Step] = []
    scalar: list[Described] = []
    for described in emitted.steps:
        if _is_scalar(described):
            scalar.append(described)
            continue
        steps += _scalar_step(scalar)
        scalar = []
        steps.append(_step(described, emitted))
    steps += _scalar_step(scalar)
    return Plan(
        emitted.name, tuple(steps), tuple(_buffers(steps, emitted.memory)), emitted.memory.size
    )


def annotated(emitted: Emitted) -> str:
    """The source, with the user's line beside each step and above each kernel."""
    out: list[str] = []
    lines = iter(emitted.lines)
    expected = next(lines, None)
    inside = False
    for text in emitted.source.split("\n"):
        if text.startswith("def "):
            name = text[4 : text.index("(")]
            inside = name == emitted.core
            if not inside and out and out[-1] == "@device":
                out[-1:] = [*(f"# {line}" for line in emitted.notes.get(name, ())), "@device"]
        elif inside and expected is not None and text == "    " + expected[0]:
            text = f"{text}  # {expected[1]}" if expected[1] else text
            expected = next(lines, None)
        out.append(text)
    return "\n".join(out)


def in_bytes(size: float) -> str:
    """
    >>> in_bytes(48), in_bytes(1536), in_bytes(8e6)
    ('48 B', '1.54 kB', '8 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"


# -- steps ----------------------------------------------------------------------------------------


def _is_scalar(described: Described) -> bool:
    step = described.step
    return not isinstance(step, Group) and step.value.shape == () and not _is_own(step.value)


def _is_own(value: Value) -> bool:
    return value.op in ("matmul", "call", "loop", "item")


def _scalar_step(described: list[Described]) -> list[Step]:
    if not described:
        return []
    count = len(described)
    lines = dict.fromkeys(line for one in described for line in one.sources)
    return [
        Step(
            f"scalars, {count} line{'s' * (count != 1)}",
            "\n".join(one.text for one in described),
            sum(operations(one.text) for one in described),
            (),
            tuple(lines),
        )
    ]


def _step(described: Described, emitted: Emitted) -> Step:
    step, memory = described.step, emitted.memory
    if isinstance(step, Group):
        nest = emitted.nests[step]
        name = described.text.split(" = ")[-1].split("(")[0]
        what = f"{name} {' x '.join(map(str, step.domain)) or '1'}"
        flops, uses = _work(nest.items, 1), _uses_of_nest(nest, memory)
    else:
        value = step.value
        shapes = [" x ".join(map(str, arg.shape)) or "1" for arg in value.args]
        what = {"matmul": "product " + " @ ".join(f"({shape})" for shape in shapes)}.get(
            value.op, f"{value.data[0] if value.op == 'call' else value.op} {', '.join(shapes)}"
        )
        flops, uses = _flops_of(value), _uses_of_value(value, memory)
    return Step(what, described.text, flops, tuple(uses), tuple(described.sources))


def _flops_of(value: Value) -> int | None:
    if value.op == "matmul":
        return 2 * value.size * value.args[0].shape[-1]
    return value.size if value.op == "call" else None


def _work(items: Iterable[Any], times: int) -> int:
    """The operations of a tree of lines, done so many times."""
    total = 0
    for item in items:
        if isinstance(item, Line):
            total += times * operations(_PLACES.sub("0", item.text))
            continue
        assert isinstance(item, Block)
        inside = times
        for depth, (before, after) in enumerate(zip(item.pre, item.post, strict=True)):
            if depth:
                _, start, stop = item.loops[depth - 1]
                inside *= stop - start
            total += _work(before, inside) + _work(after, inside)
    return total


@lru_cache(4096)
def operations(line: str) -> int:
    """The arithmetic in a line of scalar code.

    >>> operations("v3 = select(v2 < 0.0, 0.0, exp(v2) + 1.0)")
    3
    """
    total = 0
    for node in ast.walk(ast.parse(line)):
        if isinstance(node, (ast.BinOp, ast.Compare, ast.AugAssign)):
            total += 1
        elif isinstance(node, ast.UnaryOp):
            total += not isinstance(node.operand, (ast.Constant, ast.Attribute))
        elif isinstance(node, ast.Call):
            total += not (isinstance(node.func, ast.Name) and node.func.id in _FREE)
    return total


# -- buffers --------------------------------------------------------------------------------------


def _uses_of_nest(nest: Nest, memory: Memory) -> Iterator[Use]:
    found: dict[tuple[Value, bool], set[Access]] = {}
    for access in nest.accesses:
        found.setdefault((access.value, access.store), set()).add(access)
    for (value, store), accesses in found.items():
        # Of what only later sweeps read, one row is kept.
        shape = value.shape[nest.split :] if value in memory.kept.rows else value.shape
        positions = {access.position: access for access in accesses}
        elements = sum(_elements(access, nest) for access in positions.values())
        yield _use(value, memory, shape, min(elements, math.prod(shape)), store)


def _elements(access: Access, nest: Nest) -> int:
    """How many elements an access visits, at most."""
    axes = access.position.axes()
    if -1 in axes:
        return access.value.size
    if any(isinstance(name, str) for name, _ in access.position.terms):
        return math.prod(nest.domain)
    return math.prod(nest.domain[axis] for axis in axes)


def _uses_of_value(value: Value, memory: Memory) -> Iterator[Use]:
    for arg in dict.fromkeys(value.args):
        source = arg
        while source not in memory.places and source.op in ("view", "reshape"):
            source = source.args[0]
        if source in memory.places:
            yield _use(source, memory, source.shape, min(arg.size, source.size), False)
    if value in memory.places:
        yield _use(value, memory, value.shape, value.size, True)


def _use(value: Value, memory: Memory, shape: tuple, touched: int, written: bool) -> Use:
    unit = value.dtype.itemsize
    size = math.prod(shape) * unit
    return Use(memory.storage(value), f"{value.dtype} {shape}", size, touched * unit, written)


def _buffers(steps: list[Step], memory: Memory) -> Iterator[Buffer]:
    """The buffers in the order of their first use."""
    found: dict[Hashable, list[tuple[int, Use]]] = {}
    for i, step in enumerate(steps):
        for use in step.uses:
            found.setdefault(use.storage, []).append((i, use))
    count = 0
    for storage, uses in found.items():
        assert isinstance(storage, tuple)
        kind, place = storage
        name = {"input": f"a{place}", "result": f"r{place}"}.get(kind, f"w{count}")
        count += kind == "scratch"
        size = max(use.size for _, use in uses)
        offset = memory.offsets.get(place) if kind == "scratch" else None
        yield Buffer(name, kind, uses[0][1].what, size, uses[0][0], uses[-1][0], offset)
