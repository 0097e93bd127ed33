"""`emit`: from a lowered program to its code. It runs the schedule and loops stages.

Each loop nest is a kernel on pointers; equal kernels are one. The core takes pointers and numbers
by value, runs the steps in order, and keeps values between them in scratch memory. Kernels and core
become LLVM assembly. Their text as a Numba module is for people, and runs as plain Python where
NUMBA_DISABLE_JIT is set.
"""

from bisect import bisect
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...compiler import llvm
from ...compiler.forks import with_open_properties
from ...compiler.kernel import DISABLED, module_of
from ...compiler.linked import Linked
from ...compiler.llvm_core import write_core
from ...ir.affine import Affine
from ...ir.core import Core, CoreStep, Device, Scratch, Slot
from ...ir.formulas import at_most
from ...ir.naming import naming
from ...ir.numba_text import Line, Module, position_text
from ...ir.sizes import is_dynamic
from ...ir.statements import Gemm, Kernel, Pieces
from ...ir.walk import all_steps, callee
from ...kernels.gemm import is_spread
from ..loops.build import CoreBuilder
from ..loops.memory import ArgumentBuffer, ResultBuffer
from ..loops.plan import LoopPlan, plan_loops
from ..loops.reroll import Moving, along, reroll
from ..loops.share import share_kernels
from ..lower.graph import Graph
from ..lower.values import Value
from ..schedule.fuse import ScheduledStep
from . import njit_entry
from .library import find
from .signature import Signature, header

# So many operations take about as long as a call from Python. Other threads wait for them: to let
# those run meanwhile would take longer.
BRIEF = 10_000


@dataclass
@with_open_properties
class Emitted:
    """The code of one program, and facts about it."""

    name: str
    plan: LoopPlan
    core: Core  # before runs of like steps are loops
    printed: Core  # with those loops
    inner: list[Core]  # of its loops and choices
    parts: list[tuple[ScheduledStep, list[CoreStep]]]  # what each step of the plan became
    signature: Signature
    module: llvm.Module

    @cached_property
    def in_pieces(self) -> bool:
        """Whether a long loop of it, or a large product, runs in pieces."""
        steps = [step.statement for step in all_steps(self.core)]
        products = [s.sizes for s in steps if isinstance(s, Gemm)]
        return any(
            not any(map(is_dynamic, sizes)) and is_spread(*sizes) for sizes in products
        ) or any(
            isinstance(statement, Pieces)
            for kernel in map(callee, steps) if isinstance(kernel, Kernel)
            for statement in kernel.body
        ) or any(
            getattr(device.function, "in_pieces", False)
            for device in map(callee, steps) if isinstance(device, Device)
        )  # fmt: skip

    @property
    def brief(self) -> int:
        """Up to which named sizes it takes a few microseconds at most; -1 for none."""
        work = self.plan.schedule.work
        return bisect(range(BRIEF), BRIEF, key=lambda n: at_most(work, n)) - 1

    @cached_property
    def linked(self) -> Linked:
        """The core for compiled code."""
        dtypes = iter(self.core.dtypes)
        parameters: list[Any] = []
        if self.signature.packed:
            parameters.append(("ptr", np.dtype(np.int64)))
        values = [*self.signature.inputs, *(self.signature.outputs[i] for i in _written(self.core))]
        for each, value in zip(self.core.parameters, values, strict=True):
            if isinstance(each, str):
                parameters.append(next(dtypes))
            elif not self.signature.packed:
                parameters.append(("ptr", value.dtype))
        if self.core.takes_scratch:
            parameters.append(("ptr", np.dtype(np.uint8)))
        parameters += [np.dtype(np.int64)] * len(self.core.sizes)
        return Linked(self.core.name, self.module, parameters, find)

    @cached_property
    def function(self) -> Any:
        """The core for entries: in plain Python where Numba is disabled."""
        if DISABLED:
            return getattr(module_of(self.source), self.core.name)
        return self.linked

    # -- as text --------------------------------------------------------------------------------

    @cached_property
    def printer(self) -> "_Printer":
        """Prints the core and its kernels."""
        return _Printer(self.signature, taken={self.name, *self.core.sizes})

    @cached_property
    def lines(self) -> list[Line]:
        """The lines of the core."""
        return self.printer.step_lines(self.printed.steps)

    @cached_property
    def source(self) -> str:
        """The text of a Numba module."""
        printer, inner, lines = self.printer, [], self.lines
        for step in self.inner:
            own = _Printer(None, printer)
            inner.append(own.core_text(step, _parameters(step), own.step_lines(step.steps)))
        texts = [*printer.kernel_texts(), *inner]
        texts.append(printer.core_text(self.core, printer.parameters(self.core), lines))
        texts.append(njit_entry.entry(self.signature, self.name).shell)
        text = "\n\n".join(filter(None, texts))
        return header(text, printer.devices) + text

    @property
    def notes(self) -> dict[str, list[str]]:
        """For each kernel the user's lines."""
        return self.printer.notes

    def text_of(self, steps: Sequence[CoreStep]) -> str:
        """Steps of the core as text."""
        return "\n".join(line.text for line in self.printer.step_lines(steps))


def emit(graph: Graph, outputs: Sequence[Value], name: str) -> Emitted:
    """The module that computes `outputs`. Inputs are the graph's, in order."""
    plan = plan_loops(graph, outputs)
    messages = [message for _, message in graph.checks]
    here = naming()
    signature = Signature(name, graph.inputs, list(outputs), plan.memory, messages)
    if here is not None:
        signature.conditions, signature.labels = here.conditions, here.labels
    builder = CoreBuilder(name, plan)
    core = builder.built()
    module = llvm.Module()
    core.steps = share_kernels(core.steps, module.text_of)
    parts, first = [], 0
    for planned_step, steps in builder.parts:
        parts.append((planned_step, core.steps[first : first + len(steps)]))
        first += len(steps)
    printed = replace(core, steps=reroll(core.steps, _Addressing(module, signature)))
    inner = builder.cores[::-1]
    for step in inner:
        write_core(module, step)
    write_core(module, printed, _slots(signature, core))
    return Emitted(name, plan, core, printed, inner, parts, signature, module)


def _written(core: Core) -> list[int]:
    """The outputs that the core writes."""
    return [p.position for p in core.parameters if isinstance(p, ResultBuffer)]


def _slots(signature: Signature, core: Core) -> dict[Hashable, int] | None:
    """The places of arrays in a table of addresses, where the core takes one."""
    if not signature.packed:
        return None
    buffers = [p for p in core.parameters if isinstance(p, (ArgumentBuffer, ResultBuffer))]
    return {buffer: signature.slots[signature.name_of(buffer)] for buffer in buffers}


def _parameters(core: Core) -> list[str]:
    """The names of a core's parameters."""
    names = [
        Signature.name_of(p) if isinstance(p, (ArgumentBuffer, ResultBuffer)) else str(p)
        for p in core.parameters
    ]
    return [*names, *(["w"] if core.takes_scratch else []), *core.sizes]


class _Printer(Module):
    """Prints a core whose arrays lie where `signature` says, or, without one, behind its
    parameters; `share_kernels` is the printer whose kernels it shares."""

    def __init__(
        self, signature: Signature | None, share_kernels: "_Printer | None" = None,
        taken: Set[str] = frozenset(),
    ):  # fmt: skip
        super().__init__(self._pointed, taken if share_kernels is None else share_kernels.taken)
        self.signature = signature if signature is not None and signature.packed else None
        if share_kernels is not None:
            self.kernels, self.notes = share_kernels.kernels, share_kernels.notes
            self.devices = share_kernels.devices

    def parameters(self, core: Core) -> list[str]:
        names = _parameters(core)
        if self.signature is None:
            return names
        numbers = [p for p in core.parameters if isinstance(p, str)]
        return ["t", *numbers, *(["w"] if core.takes_scratch else []), *core.sizes]

    def _pointed(self, buffer: Any, dtype: np.dtype, at: Affine) -> str:
        """The expression for a pointer to an element."""
        if isinstance(buffer, Scratch):
            start = at.times(_size(dtype)).shifted(buffer.offset)
            return f"{dtype.str[1:]}(w, {position_text(start)})"
        if isinstance(buffer, Slot):
            base = f"at_{dtype.str[1:]}(t[{position_text(buffer.at)}])"
        elif self.signature is None:
            base = Signature.name_of(buffer)
        else:
            base = self.signature.base(buffer)
        return f"shift({base}, {position_text(at)})" if not at.is_zero else base


class _Addressing:
    """Names of kernels and places of buffers, for `reroll`."""

    def __init__(self, module: llvm.Module, signature: Signature):
        self._table = signature if signature.packed else None
        self.name_of = module.name_of

    def place(self, buffer: Hashable, at: Affine, dtype: np.dtype) -> Moving | None:
        if at.terms:
            return None
        if isinstance(buffer, Scratch):
            return Moving("scratch", (buffer.offset // _size(dtype) + at.const,))
        if self._table is not None and isinstance(buffer, (ArgumentBuffer, ResultBuffer)):
            return Moving("table", (self._table.slots[self._table.name_of(buffer)], at.const))
        return Moving(buffer, (at.const,))

    def moved(
        self, buffer: Any, at: Affine, dtype: np.dtype, steps: Sequence[int]
    ) -> tuple[Hashable, Affine]:
        if isinstance(buffer, Scratch) or self._table is None:
            return buffer, along(at, steps[0])
        slot = Affine(self._table.slots[self._table.name_of(buffer)], ())
        return Slot(along(slot, steps[0])), along(at, steps[1])


def _size(dtype: np.dtype) -> int:
    return 1 if dtype.kind == "b" else dtype.itemsize
