"""Printable stages of a compiled program: `Lowered`, `Scheduled`, `Loops`.

They are made on demand. Values have the same names in the first two: in0, in1, ... for inputs, v0,
v1, ... for others. Buffers are a0, ... (arguments), r0, ... (results), and w with an offset in
bytes (scratch memory).
"""

from collections.abc import Hashable, Iterator
from functools import cached_property

from ...compiler.forks import with_open_properties
from ...ir import affine
from ...ir.affine import Axis
from ...ir.core import Core, Scratch, Slot
from ...ir.numba_text import indented, position_text
from ...ir.scalar import NAMES, text_of
from ...ir.show import Shown
from ...ir.sizes import is_dynamic
from ..entry.module import Emitted
from ..entry.signature import Signature
from ..loops.plan import LoopPlan
from ..lower.buffered import Choice, DeviceCall, Item, Nested, Reduce, Scan, Scatter
from ..lower.values import (
    Concat,
    Extent,
    Full,
    Input,
    Iota,
    Map,
    Pad,
    Take,
    Value,
    View,
    topological,
)
from ..schedule.fuse import FusionGroup, Schedule, Single, reads_of


@with_open_properties
class _Stage:
    """Base class of the stages; `str` returns the text."""

    def __init__(self, emitted: Emitted):
        self.name = emitted.name
        self._emitted = emitted

    @cached_property
    def _text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


class Lowered(_Stage):
    """The lowered program; `print` shows one value per line.

    >>> f = nbgrad.compile(lambda x: np.sum(np.exp(x) * x))
    >>> y = f(np.ones(3))
    >>> f.lowered  # doctest: +ELLIPSIS
    compiled: 4 values
        in0: float64[3]
        v0: float64[3] = exp(in0)  # ...
        v1: float64[3] = v0 * in0  # ...
        v2: float64[] = sum over 0 of v1  # ...
        return v2
    """

    @property
    def outputs(self) -> list[Value]:
        """The values that the program returns."""
        return self._emitted.plan.outputs

    def _lines(self) -> Iterator[str]:
        names = _Names(self._emitted.plan)
        yield f"{self.name}: {len(names.order)} value{'s' * (len(names.order) != 1)}"
        yield from indented(names.lines())


class Scheduled(_Stage):
    """The schedule of a program: loop nests with their values, and single steps, in order.

    >>> f = nbgrad.compile(lambda x: np.sum(np.exp(x) * x))
    >>> y = f(np.ones(3))
    >>> f.schedule
    compiled: 1 step
        0: loop nest over 3
            v2: float64[] from in0
    """

    @property
    def steps(self) -> list[FusionGroup | Single]:
        """The loop nests and single steps, in order."""
        return self._emitted.plan.schedule.steps

    def _lines(self) -> Iterator[str]:
        yield f"{self.name}: {len(self.steps)} step{'s' * (len(self.steps) != 1)}"
        yield from indented(_scheduled(self._emitted.plan, _Names(self._emitted.plan)))


class Loops(_Stage):
    """The kernels and the core of a program, as statements over buffers.

    >>> f = nbgrad.compile(lambda x: np.sum(np.exp(x) * x))
    >>> y = f(np.ones(3))
    >>> f.loops  # doctest: +ELLIPSIS
    kernel loop0(p0: float64) -> total0
        total0 = 0.0
        total0_part = 0.0
        for i in 0, ..., 2
            v0: float64 = p0[i]
            v1: float64 = exp(v0)
            v2: float64 = v1 * v0
            total0_part = sum(total0_part, v2)
        total0 = sum(total0, total0_part)
    <BLANKLINE>
    core compiled_core(a0)
        t0 = loop0(a0)  # ...
        return t0
    """

    @property
    def core(self) -> Core:
        """The program."""
        return self._emitted.printed

    def _lines(self) -> Iterator[str]:
        yield Shown(self.core, _buffer_name).text


def _buffer_name(buffer: Hashable) -> str:
    if isinstance(buffer, Scratch):
        return f"w[{buffer.offset}]" if is_dynamic(buffer.offset) else f"w{buffer.offset}"
    if isinstance(buffer, Slot):
        return f"array[{position_text(buffer.at)}]"
    return Signature.name_of(buffer)  # pyright: ignore[reportArgumentType]


# -- values ---------------------------------------------------------------------------------------


class _Names:
    """The names of the values of a plan's graph."""

    def __init__(self, plan: LoopPlan):
        self.plan = plan
        self.checks = [ok for ok, _ in plan.graph.checks]
        self.of = {value: f"in{i}" for i, value in enumerate(plan.graph.inputs)}
        every = topological([*plan.outputs, *self.checks])
        shown = [v for v in every if not isinstance(v, Input) and not _is_number(v)]
        self.of |= {value: f"v{i}" for i, value in enumerate(shown)}
        self.of |= {v: str(v.number) for v in every if isinstance(v, Full) and _is_number(v)}
        self.order = [*plan.graph.inputs, *shown]
        self.steps = {s.value: s.inner for s in plan.schedule.steps if isinstance(s, Single)}

    def told(self, value: Value) -> str:
        """Return a value with its dtype and shape; loops and choices have none."""
        if isinstance(value, Nested):
            return self.of[value]
        return f"{self.of[value]}: {value.dtype}{list(value.shape)}"

    def lines(self) -> Iterator[str]:
        """Return one line for each value."""
        for value in self.order:
            if isinstance(value, Input):
                yield self.told(value)
                continue
            line = f"  # {value.line}" if value.line else ""
            yield f"{self.told(value)} = {self._formula(value)}{line}"
            for inner in self.steps[value] if isinstance(value, Nested) else ():
                yield from indented(_Names(inner).lines())
        for ok in self.checks:
            yield f"require {self.of[ok]}"
        yield f"return {', '.join(self.of[value] for value in self.plan.outputs)}"

    def _formula(self, value: Value) -> str:
        args = [self.of[arg] for arg in value.args]
        index = affine.identity(value.shape)
        if isinstance(value, Map):
            return text_of(value.body, dict(zip(NAMES, args, strict=False)))
        if isinstance(value, Extent):
            return str(value.number)
        if isinstance(value, Full):
            return f"full of {value.number}"
        if isinstance(value, View):
            return (
                f"{args[0]}[{', '.join(map(position_text, affine.view_index(value.axes, index)))}]"
            )
        if isinstance(value, Reduce):
            axes = ", ".join(map(str, value.axes))
            return f"{value.kind.name} over {axes} of {args[0]}"
        kind = type(value).__name__.lower()
        if isinstance(value, DeviceCall):
            return f"{value.function.__name__}({', '.join(args)})"
        if isinstance(value, Scan):
            return f"loop of {value.step.n} steps from {', '.join(args)}"
        if isinstance(value, Choice):
            return f"one side of {args[0]}, from {', '.join(args[1:])}"
        if isinstance(value, Item):
            return f"{' '.join(map(str, value.key))} of {args[0]}"
        return f"{kind}({', '.join([*args, *_facts(value)])})"


def _is_number(value: Value) -> bool:
    return isinstance(value, Full) and value.shape == ()


def _facts(value: Value) -> Iterator[str]:
    """Return the fields of a value, apart from its arguments, as text."""
    if isinstance(value, Pad):
        yield f"starts={value.starts}"
    elif isinstance(value, (Concat, Iota)):
        yield f"axis={value.axis}"
    elif isinstance(value, (Take, Scatter)):
        # For each axis of the source: an array of positions, or an axis of the result.
        axes = [
            f"positions {axis}" if isinstance(axis, int) else _axis_text(axis)
            for axis in value.axes
        ]
        yield f"at [{', '.join(axes)}]"


def _axis_text(axis: Axis) -> str:
    terms = () if axis.out is None else ((axis.out, axis.step),)
    return position_text(affine.Affine(axis.start, terms))


# -- steps ----------------------------------------------------------------------------------------


def _scheduled(plan: LoopPlan, names: _Names) -> Iterator[str]:
    schedule = plan.schedule
    for i, step in enumerate(schedule.steps):
        if isinstance(step, FusionGroup):
            yield f"{i}: loop nest over {' x '.join(map(str, step.domain)) or '1'}"
            yield from indented(_members(step, schedule, names))
        else:
            value = step.value
            what = "number" if value.shape == () and not isinstance(value, Nested) else ""
            what = what or type(value).__name__.lower()
            values = [item for item in step.items if item in names.of] or [value]
            yield f"{i}: {what} {', '.join(map(names.told, values))}"
            for inner in step.inner:
                yield from indented(_scheduled(inner, _Names(inner)))


def _members(group: FusionGroup, schedule: Schedule, names: _Names) -> Iterator[str]:
    for value in group.members:
        reads = {names.of[read]: None for read, _ in reads_of(value, schedule.policy)}
        sweep = f"sweep {group.sweeps[value]}: " if max(group.sweeps.values()) else ""
        yield f"{sweep}{names.told(value)} from {', '.join(reads) or 'nothing'}"


__all__ = ["Loops", "Lowered", "Scheduled"]
