"""From the plan of a program to its core: a list of kernel calls, other calls and scalar code."""

from collections.abc import Sequence

import numpy as np

from ...ir.affine import Affine
from ...ir.core import Core, CoreStep, Device
from ...ir.naming import naming
from ...ir.statements import Address, Call, Gemm, Literal, Load, Operand, Statement
from ...runtime.kinds import is_a
from ..lower.buffered import Choice, DeviceCall, Matmul, Scan
from ..lower.values import INT, Full, Value
from ..schedule.fuse import FusionGroup, ScheduledStep, Single
from . import products
from .contract import with_fused_products
from .elements import Elements
from .kernel import kernel_call
from .memory import ArgumentBuffer, ResultBuffer
from .nested import write_choice
from .plan import LoopPlan
from .repeat import write_loop

_DOUBLE = np.dtype(np.float64)


class CoreBuilder(Elements):
    """Writes the steps of one core; numbers between them are lines of it."""

    def __init__(self, name: str, plan: LoopPlan):
        super().__init__(plan.schedule.policy)
        self.name, self.plan = name, plan
        self.steps: list[CoreStep] = []
        self.parts: list[tuple[ScheduledStep, list[CoreStep]]] = []  # what each planned step became
        self.known: dict[Value, Operand] = {}
        self.cores: list[Core] = []  # of the steps of loops, each before those inside of it
        self._memo: dict = {}
        self._count = 0
        self._line: tuple[str, ...] = ()
        for i, value in enumerate(plan.graph.inputs):
            if value.shape == ():
                self.known[value] = f"x{i}"

    def built(self) -> Core:
        """The core, with all of its steps."""
        for step in self.plan.schedule.steps:
            first = len(self.steps)
            if isinstance(step, FusionGroup):
                self._group(step)
            elif isinstance(step.value, Matmul):
                self._matmul(step.value)
            elif isinstance(step.value, DeviceCall):
                self._call(step.value)
            elif isinstance(step.value, Scan):
                write_loop(self, step)
            elif isinstance(step.value, Choice):
                write_choice(self, step)
            else:
                self._number(step)
            self.parts.append((step, self.steps[first:]))
        plan, here = self.plan, naming()
        values = [v for v in plan.outputs if v.shape == ()]
        values += [ok for ok, _ in plan.graph.checks]
        results = tuple(map(self.operand, values))
        steps = with_fused_products(self.steps, results) if plan.is_step else self.steps
        return Core(
            f"{self.name}_core", self._parameters(), steps, results,
            plan.memory.size, plan.is_large, plan.is_step,
            tuple(here.sizes) if here is not None else (),
            tuple(value.dtype for value in plan.graph.inputs if value.shape == ()),
        )  # fmt: skip

    def inner(self, plan: LoopPlan) -> Core:
        """The core of a loop's step or a choice's side."""
        place = len(self.cores)
        builder = CoreBuilder(f"{self.name}_step{place}", plan)
        builder.cores = self.cores
        core = builder.built()
        self.cores.insert(place, core)
        return core

    def _parameters(self) -> tuple:
        inputs = [
            ArgumentBuffer(i) if value.shape else f"x{i}"
            for i, value in enumerate(self.plan.graph.inputs)
        ]
        return (*inputs, *(ResultBuffer(i) for i in self.plan.memory.written))

    # -- what steps are called with -------------------------------------------------------------

    def operand(self, value: Value) -> Operand:
        """A number: its name, or the constant."""
        return Literal(value.number, value.dtype) if isinstance(value, Full) else self.known[value]

    def pointer(self, value: Value, start: int | Affine = 0) -> Address:
        """A pointer to an element of a value's buffer."""
        at = start if isinstance(start, Affine) else Affine(start, ())
        return Address(self.plan.memory.storage(value), at, value.dtype)

    def add(self, statement, lines: Sequence[str] = ()) -> None:
        self.steps.append(CoreStep(statement, tuple(line for line in lines if line)))

    # -- steps ----------------------------------------------------------------------------------

    def _group(self, group: FusionGroup) -> None:
        use = kernel_call(self.plan.nests[group], self.plan.memory)
        pointers = tuple(self.pointer(a.value, a.start) for a in use.arguments)
        results = tuple(self.fresh() for _ in use.results)
        numbers = tuple(self.operand(value) for value in use.numbers)
        self.known.update(zip(use.results, results, strict=True))
        self.add(Call(use.kernel, (*pointers, *numbers), results), use.lines)

    def _matmul(self, value: Matmul) -> None:
        policy = self.plan.schedule.policy
        (left, layout_a), (right, layout_b) = (products.operand(arg, policy) for arg in value.args)
        pointers = (
            self.pointer(left, layout_a.start),
            self.pointer(right, layout_b.start),
            self.pointer(value),
        )
        product = products.product(value, layout_a, layout_b)
        if isinstance(product, Gemm):
            a, b, c = ((p.buffer, p.at) for p in pointers)
            self.add(product._replace(a=a, b=b, c=c), [value.line])
        else:
            self.add(Call(product, pointers), [value.line])

    def _call(self, value: DeviceCall) -> None:
        arrays = (*value.args, value)
        device = Device(value.function, tuple(array.size for array in arrays))
        numbers = (Literal(n, _DOUBLE if is_a(n, float) else INT) for n in value.sizes)
        self.add(Call(device, (*map(self.pointer, arrays), *numbers)), [value.line])

    def _number(self, step: Single) -> None:
        self._line = (step.value.line,)
        self.known[step.value] = self.element(step.value, (), inner=True)

    # -- what Elements asks for -------------------------------------------------------------------

    def fresh(self) -> str:
        self._count += 1
        return f"t{self._count - 1}"

    def append(self, statement: Statement, level: int) -> None:
        if isinstance(statement, Load):
            buffer, at = self.plan.memory.storage(statement.buffer), statement.at  # pyright: ignore
            statement = Load(statement.target, buffer, at, statement.dtype)
        self.add(statement, self._line)

    def memo(self, position: Sequence[Affine]) -> dict:
        return self._memo

    def number(self, value: Value) -> Operand:
        return self.known[value]

    def level(self, position: Affine) -> int:
        return 0

    def bounds(self, axis: int) -> tuple[int, int]:
        raise AssertionError("no loops are around numbers")
