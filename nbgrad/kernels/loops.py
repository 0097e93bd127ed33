"""The loop of an elementwise op on arrays of any length: the kernels of the eager tier.

The steps of an op are scalar code of the kernel IR. `Loops` puts them into the loop nest that the
patterns of the operands require. Equal requests are one kernel, compiled for float64 and float32.

The text of `x * y`, for arrays of one shape::

    def multiply_forward(xs, ys, outs):
        outs_n0 = outs.size
        for k in range(outs_n0):
            x = xs[k]
            y = ys[k]
            out = x * y
            outs[k] = out
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compiler.front.functions import ArrayType, Entry
from ..compiler.front.syntax import Unsupported
from ..compiler.kernel import Kernel, kernel_from_ir, module_of
from ..ir.affine import ZERO, Affine
from ..ir.kernel_text import python_text
from ..ir.reductions import CHUNK, SUM, Reduction
from ..ir.scalar import Apply, ordered, parse
from ..ir.statements import (
    Accumulate,
    Assign,
    Chunks,
    For,
    Function,
    Literal,
    Load,
    Operand,
    Pointer,
    Position,
    Return,
    Statement,
    Store,
    Type,
    Variable,
)
from . import scalar
from .shapes import Pattern

__all__ = ["DOUBLE", "KernelOperand", "Loops"]

DOUBLE, _INT = np.dtype(np.float64), np.dtype(np.int64)
_ARRAY = ArrayType(DOUBLE, 1)
_INDEX = {"full": "k", "row": "j", "column": "i"}
_SAME = parse("x")


@dataclass(frozen=True)
class KernelOperand:
    """An argument of a kernel. `name` is its element's; the array is called `<name>s`.

    A written operand whose pattern is not `full` receives the sum over what it lacks.
    """

    name: str
    pattern: Pattern

    @property
    def array(self) -> str:
        return f"{self.name}s"


@dataclass(frozen=True)
class Loops:
    """A kernel `name(reads..., writes..., rows, columns)`.

    Arrays are 1-D and of one dtype (conditions are bool); numbers come as Python floats. `rows` and
    `columns` are arguments only if some operand is a row or a column. `steps` are for float64;
    `values` are what `writes` receive: names of targets and of operands, or numbers. If all
    operands are numbers there is no loop, and the kernel returns what it would write.
    """

    name: str
    steps: tuple[Assign, ...]
    reads: tuple[KernelOperand, ...]
    writes: tuple[KernelOperand, ...]
    values: tuple[Operand, ...]

    def kernel(self) -> Kernel:
        """The compiled kernel."""
        return kernel_from_ir(self)

    def plain(self) -> Callable:
        """The function in plain Python."""
        text = python_text(self.entry(self.types.values()).function)
        head = "from numpy import float64\nfrom nbgrad.kernels.scalar import *\n"
        module = module_of(f"import numpy as np\n{head}\n\ndef {self.name}{text}")
        return getattr(module, self.name)

    def entry(self, kinds: Iterable[Any]) -> Entry:
        """The function of the kernel IR for types of the arguments."""
        types = dict(zip(self.types, kinds, strict=True))
        if not (self.returns or all(types[out.array].mutable for out in self.writes)):
            raise Unsupported("a result that is a read-only array")
        parameters = tuple(part for each in types.items() for part in _parameters(*each))
        results = (DOUBLE,) * len(self.writes) if self.returns else ()
        body = tuple(_Body(self, types).statements())
        attributes = {"noalias"} if self._is_light else {"noalias", "wide"}
        if not self.returns:
            attributes |= {"repeatable"}
        function = Function(self.name, parameters, body, results, frozenset(attributes))
        result = (results[0] if len(results) == 1 else results) if results else None
        return Entry(function, result, lambda name: getattr(scalar, name))

    @property
    def patterns(self) -> list[Pattern]:
        """Those of all operands."""
        return [operand.pattern for operand in (*self.reads, *self.writes)]

    @property
    def returns(self) -> bool:
        """Whether all operands are numbers."""
        return {*self.patterns} == {"number"}

    @property
    def is_nest(self) -> bool:
        """Whether it is a loop over rows and columns."""
        return not {"row", "column"}.isdisjoint(self.patterns)

    @property
    def _is_light(self) -> bool:
        """Whether it is one loop of operators, without a sum: 512-bit vectors make it no faster."""
        parts = (part for step in self.steps for part in ordered(step.body))
        called = any(isinstance(x, Apply) and hasattr(scalar, x.function.spelling) for x in parts)
        sums = any(out.pattern == "number" for out in self.writes)
        return not (called or sums or self.is_nest)

    @property
    def types(self) -> dict[str, Any]:
        """The types of the arguments by name, for arrays of float64."""
        kinds: list[tuple[str, Any]] = [
            (x.name, DOUBLE) if x.pattern == "number" else (x.array, _ARRAY) for x in self.reads
        ]
        kinds += [] if self.returns else [(out.array, _ARRAY) for out in self.writes]
        return dict(kinds + [("rows", _INT), ("columns", _INT)] * self.is_nest)


def _parameters(name: str, kind: Any) -> list[tuple[str, Type]]:
    """The parameters of an argument of a type: those of an array are its parts. A number is cast to
    the dtype of the kernel under its own name."""
    if not isinstance(kind, ArrayType):
        return [(name if kind == _INT else f"{name}_in", kind)]
    if kind.ndim != 1:
        raise Unsupported(f"an array of {kind.ndim} axes")
    parts: list[tuple[str, Type]] = [(name, Pointer(kind.dtype)), (f"{name}_n0", _INT)]
    return parts if kind.contiguous else [*parts, (f"{name}_s0", _INT)]


class _Body:
    """The statements of a kernel for arguments of some types, which computes with one dtype."""

    def __init__(self, loops: Loops, types: dict[str, Any]):
        dtypes = [kind.dtype for kind in types.values() if isinstance(kind, ArrayType)]
        self._dtype = next((dtype for dtype in dtypes if dtype.kind == "f"), DOUBLE)
        self._loops, self._types, self._zero = loops, types, Literal(0.0, self._dtype)
        self._steps = [self._step(step) for step in loops.steps]
        self._values = dict(zip(loops.writes, map(self._typed, loops.values), strict=True))

    def statements(self) -> list[Statement]:
        """The body of the kernel."""
        loops, dtype = self._loops, self._dtype
        numbers = [read.name for read in loops.reads if read.pattern == "number"]
        casts = [Assign(x, _SAME, (f"{x}_in",), dtype, dtype) for x in numbers]
        if loops.returns:
            return [*casts, *self._steps, Return(tuple(self._values.values()))]
        return [*casts, *(self._nest() if loops.is_nest else self._line())]

    def _step(self, step: Assign) -> Assign:
        dtype = self._dtype if step.dtype.kind == "f" else step.dtype
        operands = tuple(map(self._typed, step.operands))
        return replace(step, operands=operands, dtype=dtype, inner=self._dtype)

    def _typed(self, operand: Operand) -> Operand:
        return operand if isinstance(operand, str) else replace(operand, dtype=self._dtype)

    # -- loops ------------------------------------------------------------------------------------

    def _line(self) -> list[Statement]:
        """One loop over all elements; sums into numbers go chunk by chunk."""
        operands = (*self._loops.writes, *self._loops.reads)
        length = next(f"{x.array}_n0" for x in operands if x.pattern == "full")
        stores = self._stores(self._written("full"))
        body = (*self._loads("full"), *self._steps, *stores, *self._parts("number"))
        loop = For("k", 0, length, body)
        if not self._written("number"):
            return [loop]
        chunks = Chunks(loop, CHUNK, tuple(self._begin("part", "number")), tuple(self._totals()))
        return [*self._begin("total", "number"), chunks, *self._results()]

    def _nest(self) -> list[Statement]:
        """Rows outside, columns inside; a sum over a row stays in a register."""
        zeros = self._stores(dict.fromkeys(self._written("row"), self._zero))
        columns: Any = "columns"
        place = Affine(0, (("i", columns), ("j", 1)))
        body = (
            *[Position("k", place)] * ("full" in self._loops.patterns),
            *self._loads("full", "row"), *self._steps, *self._stores(self._written("full")),
            *self._stores(self._written("row"), SUM), *self._parts("column", "number"),
        )  # fmt: skip
        sums = {out: f"{out.name}_part" for out in self._written("column")}
        rows = (
            *self._loads("column"), *self._begin("part", "column", "number"),
            For("j", 0, columns, body), *self._stores(sums), *self._totals(),
        )  # fmt: skip
        return [
            *[For("j", 0, columns, tuple(zeros))] * bool(zeros),
            *self._begin("total", "number"), For("i", 0, "rows", rows), *self._results(),
        ]  # fmt: skip

    # -- elements and sums ------------------------------------------------------------------------

    def _at(self, x: KernelOperand) -> Affine:
        """The position of its element."""
        step: Any = 1 if self._types[x.array].contiguous else f"{x.array}_s0"
        return Affine(0, ((_INDEX[x.pattern], step),)) if x.pattern in _INDEX else ZERO

    def _loads(self, *patterns: Pattern) -> list[Statement]:
        return [
            Load(x.name, x.array, self._at(x), self._types[x.array].dtype)
            for x in self._loops.reads
            if x.pattern in patterns
        ]

    def _stores(
        self, values: Mapping[KernelOperand, Operand], kind: Reduction | None = None
    ) -> list[Statement]:
        return [
            Store(x.array, self._at(x), value, self._types[x.array].dtype, kind)
            for x, value in values.items()
        ]

    def _written(self, *patterns: Pattern) -> dict[KernelOperand, Operand]:
        return {out: value for out, value in self._values.items() if out.pattern in patterns}

    def _begin(self, label: str, *patterns: Pattern) -> list[Statement]:
        return [Variable(f"{out.name}_{label}", self._zero) for out in self._written(*patterns)]

    def _parts(self, *patterns: Pattern) -> list[Statement]:
        """Sums of elements, in any order."""
        return [
            Accumulate(f"{out.name}_part", SUM, value, self._dtype, loose=True)
            for out, value in self._written(*patterns).items()
        ]

    def _totals(self) -> list[Statement]:
        """Sums of parts."""
        return [
            Accumulate(f"{out.name}_total", SUM, f"{out.name}_part", self._dtype)
            for out in self._written("number")
        ]

    def _results(self) -> list[Statement]:
        return self._stores({out: f"{out.name}_total" for out in self._written("number")})
