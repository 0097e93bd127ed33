"""From values to the text of one Numba module: kernels, the core that calls them, the entry.

Each loop nest is a kernel on pointers; equal texts are one kernel. The core takes pointers and
scalars by value, lists the steps one line each, and keeps what lies between them in scratch. The
entry takes arrays, checks their shapes and makes the results.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import frame, memory, native
from .affine import Affine
from .cuts import cuts_of
from .frame import Frame
from .fuse import Group, Schedule, Single, Step, schedule
from .ir import Graph
from .kernel import Text, text_of
from .looping import write_loop
from .memory import Memory
from .nest import Kept, Nest
from .pull import Line, Writer, literal
from .rolled import rolled
from .roots import strides_of
from .sums import add_in_place
from .values import BOOL, Value, number_of

# Multiply-adds up to which loops beat a call of BLAS.
_SMALL = 200
_PART = {"float64": "f8", "float32": "f4", "int64": "i8", "bool": "b1", "uint8": "b1"}


@dataclass
class Described:
    """A step with its text, and the lines of the user's that it comes from."""

    step: Step
    text: str
    sources: list[str]


@dataclass
class Emitted:
    """The module of one program, and what `report.py` tells of it."""

    name: str
    source: str
    steps: list[Described]
    memory: Memory
    nests: dict[Group, Nest]
    lines: list[tuple[str, str]]  # of the core, with the user's line
    notes: dict[str, list[str]]  # of kernels: the user's lines
    frame: Frame

    @property
    def core(self) -> str:
        return f"{self.name}_core"


def emit(graph: Graph, outputs: Sequence[Value], name: str) -> Emitted:
    """The module that computes `outputs`. Inputs are the graph's, in order."""
    return _Module(graph, list(outputs), name, *planned(graph, outputs)).emitted()


def planned(
    graph: Graph, outputs: Sequence[Value], olds: dict[Value, Value] | None = None
) -> tuple[Schedule, dict[Group, Nest], Memory]:
    """The steps that compute `outputs`, their loop nests, and where values lie: an output in the
    place of the input that `olds` names for it, where that is possible."""
    wanted = [*outputs, *(ok for ok, _ in graph.checks)]
    add_in_place(graph, wanted)
    apart: set[Value] = set()
    while True:
        plan = schedule(wanted, apart)
        groups = [step for step in plan.steps if isinstance(step, Group)]
        cuts = {group: cuts_of(group, plan.roots) for group in groups}
        more = set().union(*(found.apart for found in cuts.values()))
        if not more:
            break
        apart |= more

    def nests(kept: Kept) -> dict[Group, Nest]:
        return {group: Nest(group, plan.roots, kept, cuts[group].breaks) for group in groups}

    found = memory.plan(plan, nests(Kept()), outputs, olds or {})
    return plan, nests(found.kept), found


class _Core(Writer):
    """Straight lines of scalar code between the steps."""

    def __init__(self, module: "_Module", roots: set[Value]):
        super().__init__(roots)
        self.module = module
        self.names: dict[tuple, str] = {}

    def append(self, line: Line, level: int) -> None:
        text = line.text
        for i, access in enumerate(self.accesses):
            text = text.replace(f"@{{{i}}}", self.module.pointer(access.value))
        for i, position in enumerate(line.positions):
            text = text.replace(f"{{{i}}}", _shown(position))
        self.module.lines.append((text, line.source))

    def fresh(self) -> str:
        return self.module.fresh()

    def known(self, key: tuple) -> str | None:
        return self.names.get(key)

    def remember(self, key: tuple, name: str, level: int) -> None:
        self.names[key] = name

    def scalar(self, value: Value) -> str:
        return self.module.scalars[value]

    def level(self, position: Affine) -> int:
        return 0

    def bounds(self, axis: int) -> tuple[int, int]:
        raise AssertionError("no loops are around scalar code")


def _shown(position: Affine) -> str:
    terms = [str(name) if step == 1 else f"{name} * {step}" for name, step in position.terms]
    if position.const or not terms:
        terms.append(str(position.const))
    return " + ".join(terms)


class _Module:
    def __init__(self, graph: Graph, outputs, name: str, plan: Schedule, nests, found: Memory):
        self.graph, self.outputs, self.name = graph, outputs, name
        self.plan, self.nests, self.memory = plan, nests, found
        messages = [message for _, message in graph.checks]
        self.frame = Frame(name, graph.inputs, self.outputs, found, messages)
        self.lines: list[tuple[str, str]] = []
        self.scalars: dict[Value, str] = {}
        self.kernels: dict[str, str] = {}
        self.bodies: list[str] = []  # cores of loops
        self.steps: list[Described] = []
        self.notes: dict[str, list[str]] = {}
        self._count = 0
        for i, value in enumerate(graph.inputs):
            if value.shape == ():
                self.scalars[value] = f"x{i}"

    def fresh(self) -> str:
        self._count += 1
        return f"t{self._count - 1}"

    def _write(self) -> None:
        core = _Core(self, self.plan.roots)
        for step in self.plan.steps:
            if isinstance(step, Group):
                self._group(step)
            elif step.value.op == "matmul":
                self._matmul(step)
            elif step.value.op == "call":
                self._call(step)
            elif step.value.op == "loop":
                first = len(self.lines)
                write_loop(self, step)
                self._describe(step, self.lines[first][0], [step.value.line])
            else:
                core.accesses = []
                first = len(self.lines)
                name = core.element(step.value, (), inner=True)
                self.scalars[step.value] = name
                for text, line in self.lines[first:]:
                    self._describe(step, text, [line] if line else [])
        self.lines = rolled(self.lines)

    def body(self, graph: Graph, outputs: list[Value], plan: tuple) -> "_Module":
        """The core of a loop's step, which shares the kernels of this module."""
        inner = _Module(graph, outputs, f"{self.name}_step{len(self.bodies)}", *plan)
        inner.frame.apart = False
        inner.kernels, inner.bodies, inner.notes = self.kernels, self.bodies, self.notes
        self.bodies.append("")
        at = len(self.bodies) - 1
        inner._write()
        self.bodies[at] = inner._core()
        return inner

    def emitted(self) -> Emitted:
        self._write()
        text = "\n\n".join(self._functions())
        source = frame.header(text) + text
        return Emitted(
            self.name,
            source,
            self.steps,
            self.memory,
            self.nests,
            self.lines,
            self.notes,
            self.frame,
        )

    # -- steps ----------------------------------------------------------------------------------

    def pointer(self, value: Value, start: int = 0) -> str:
        """The expression for a pointer to an element of a value's buffer."""
        kind, place = self.memory.storage(value)
        if kind == "scratch":
            size = 1 if value.dtype == BOOL else value.dtype.itemsize
            at = self.memory.offsets[place] + start * size
            return f"{_PART[value.dtype.name]}(w, {at})"
        base = self.frame.base(kind, place)
        return base if not start else f"shift({base}, {start})"

    def kernel(self, lines: list[str], label: str) -> str:
        body = "\n".join(lines)
        name = self.kernels.get(body)
        if name is None:
            name = self.kernels[body] = f"{label}{len(self.kernels)}"
        return name

    def _group(self, group: Group) -> None:
        nest = self.nests[group]
        text: Text = text_of(nest, self.memory.storage)
        name = self.kernel(text.lines, "loop")
        given = [self.pointer(a.value, a.start) for a in text.arguments]
        given += [self.scalars[value] for value in text.scalars]
        results = [self.fresh() for _ in text.results]
        self.scalars.update(zip(text.results, results, strict=True))
        call = f"{name}({', '.join(given)})"
        source = text.sources[0] if text.sources else ""
        self.lines.append((f"{', '.join(results)} = {call}" if results else call, source))
        self._describe(group, call, text.sources)

    def _describe(self, step: Step, text: str, sources: list[str]) -> None:
        self.steps.append(Described(step, text, sources))
        name = text.split(" = ")[-1].split("(")[0]
        noted = self.notes.setdefault(name, [])
        noted += [line for line in sources if line not in noted]

    def _matmul(self, step: Single) -> None:
        value = step.value
        (a, pa), (b, pb) = (_operand(arg, self.plan.roots) for arg in value.args)
        m, n = value.shape[-2:]
        k = value.args[0].shape[-1]
        ta, lda = _orientation(pa[1], value.args[0].shape)
        tb, ldb = _orientation(pb[1], value.args[1].shape)
        count = math.prod(value.shape[:-2])
        given = [self.pointer(a, pa[0]), self.pointer(b, pb[0]), self.pointer(value)]
        small = m * n * k <= _SMALL
        if count == 1 and not small:
            call = f"gemm_at({', '.join(given)}, {m}, {n}, {k}, {ta}, {tb}, {lda}, {ldb}, {n})"
        else:
            lines = _product_lines(value, pa[1], pb[1], small, (m, n, k, ta, tb, lda, ldb))
            call = f"{self.kernel(lines, 'product')}({', '.join(given)})"
        self.lines.append((call, value.line))
        self._describe(step, call, [value.line] if value.line else [])

    def _call(self, step: Single) -> None:
        value = step.value
        name, sizes = value.data
        given = [*(self.pointer(arg) for arg in value.args), self.pointer(value)]
        call = f"{name}({', '.join([*given, *map(str, sizes)])})"
        self.lines.append((call, value.line))
        self._describe(step, call, [value.line] if value.line else [])

    # -- functions --------------------------------------------------------------------------------

    def _functions(self) -> list[str]:
        texts = []
        for body, name in self.kernels.items():
            first, rest = body.split("\n", 1)
            texts.append(f"@device\ndef {name}{first}\n    tuned()\n    alone()\n{rest}\n")
        texts += [*self.bodies[::-1], self._core()]
        texts.append(native.entry(self.frame))
        return texts

    def core_arguments(self) -> list[str]:
        if self.frame.packed:
            names = ["t", *(name for name in self.frame.arguments() if name[0] == "x")]
        else:
            names = [*self.frame.arguments(), *(f"r{i}" for i in self.memory.results)]
        return [*names, "w"] if self.frame.large else names

    def _core(self) -> str:
        head = []
        if self.memory.size and not self.frame.large:
            head.append(f"w = scratch({self.memory.size})")
        lines = ["tuned()", *head, *(text for text, _ in self.lines)]
        scalars = self._returned_scalars()
        lines.append(f"return ({', '.join(scalars)},)" if scalars else "return ()")
        name = f"def {self.name}_core({', '.join(self.core_arguments())}):"
        return "\n".join(["@device", name, *("    " + line for line in lines)]) + "\n"

    def _returned_scalars(self) -> list[str]:
        values = [v for v in self.outputs if v.shape == ()] + [ok for ok, _ in self.graph.checks]
        return [
            literal(number_of(v), v.dtype) if v.op == "full" else self.scalars[v] for v in values
        ]


def _operand(value: Value, roots: set[Value]) -> tuple[Value, tuple[int, list[int]]]:
    """The buffer that BLAS reads, where it begins there, and the strides."""
    seen = value.op == "view" and value not in roots
    if seen and (found := strides_of(value)) is not None:
        return _buffer(value.args[0], roots), found
    steps = [1]
    for n in value.shape[:0:-1]:
        steps.insert(0, steps[0] * n)
    return _buffer(value, roots), (0, steps)


def _buffer(value: Value, roots: set[Value]) -> Value:
    while value.op == "reshape" and value not in roots:
        value = value.args[0]
    return value


def _orientation(strides: list[int], shape: tuple) -> tuple[bool, int]:
    """Whether BLAS is to read a matrix as transposed, and the distance of its rows."""
    m, n = strides[-2:]
    columns = shape[-1]
    if (n == 1 or columns == 1) and m >= columns:
        return False, max(m, 1)
    return True, max(n, 1)


def _product_lines(value: Value, sa, sb, small: bool, sizes) -> list[str]:
    m, n, k, ta, tb, lda, ldb = sizes
    lead = value.shape[:-2]
    lines, indent = ["(p0, p1, p2):"], "    "
    at: list[list[str]] = [[], [], []]
    steps = [1]
    for length in value.shape[:0:-1]:
        steps.insert(0, steps[0] * length)
    for axis, length in enumerate(lead):
        lines.append(f"{indent}for b{axis} in range({length}):")
        indent += "    "
        for place, strides in zip(at, (sa, sb, steps), strict=True):
            if strides[axis]:
                place.append(f"b{axis} * {strides[axis]}")
    offsets = [" + ".join(place) or "0" for place in at]
    if not small:
        shown = [
            p if o == "0" else f"shift({p}, {o})"
            for p, o in zip(("p0", "p1", "p2"), offsets, strict=True)
        ]
        lines.append(
            f"{indent}gemm_at({', '.join(shown)}, {m}, {n}, {k}, {ta}, {tb}, {lda}, {ldb}, {n})"
        )
        return lines
    a = f"p0[{offsets[0]} + i * {sa[-2]} + l * {sa[-1]}]"
    b = f"p1[{offsets[1]} + l * {sb[-2]} + j * {sb[-1]}]"
    zero = "float32(0.0)" if value.dtype == np.float32 else "0.0"
    lines += [
        f"{indent}for i in range({m}):",
        f"{indent}    for j in range({n}):",
        f"{indent}        total = {zero}",
        f"{indent}        for l in range({k}):",
        f"{indent}            total += {a} * {b}",
        f"{indent}        p2[{offsets[2]} + i * {n} + j] = total",
    ]
    return lines


__all__ = ["Described", "Emitted", "emit"]
