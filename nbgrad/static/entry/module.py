"""From a lowered program to the text of one Numba module: kernels, the core, the entry.

Each loop nest is a kernel on pointers; equal ones are one. The core takes pointers and numbers by
value, lists the steps one line each, and keeps what lies between them in scratch. The entry takes
arrays, checks their shapes and makes the results.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...ir.affine import Affine
from ...ir.core import Core, CoreStep, RunKernel, Scratch, Slot, all_steps
from ...ir.naming import naming
from ...ir.numba_text import Line, Module, position_text
from ...ir.sizes import is_dynamic
from ...ir.statements import Gemm, Pieces
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
from .signature import Signature, header

# So many operations take about as long as a call from Python. Other threads wait for them: to let
# those run meanwhile would take longer.
BRIEF = 10_000


@dataclass
class Emitted:
    """The module of one program, and what can be told of it."""

    name: str
    source: str
    plan: LoopPlan
    core: Core  # before runs of like steps are loops
    printed: Core  # with those loops
    parts: list[tuple[ScheduledStep, list[CoreStep]]]  # what each step of the plan became
    lines: list[Line]  # of the core
    signature: Signature
    printer: "_Printer"

    @property
    def in_pieces(self) -> bool:
        """Whether a long loop of it, or a large product, runs in pieces."""
        steps = [step.statement for step in all_steps(self.core)]
        products = [s.sizes for s in steps if isinstance(s, Gemm)]
        return any(
            not any(map(is_dynamic, sizes)) and is_spread(*sizes) for sizes in products
        ) or any(
            isinstance(statement, Pieces)
            for run in steps if isinstance(run, RunKernel)
            for statement in run.kernel.body
        )  # fmt: skip

    @property
    def is_brief(self) -> bool:
        """Whether it takes a few microseconds at most."""
        return self.plan.schedule.work <= BRIEF

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
    printer = _Printer(signature)
    core.steps = share_kernels(core.steps, printer.text_of)
    parts, first = [], 0
    for planned_step, steps in builder.parts:
        parts.append((planned_step, core.steps[first : first + len(steps)]))
        first += len(steps)
    printed = replace(core, steps=reroll(core.steps, printer))
    lines = printer.step_lines(printed.steps)
    inner = []
    for step in builder.cores[::-1]:
        own = _Printer(None, printer)
        inner.append(own.core_text(step, _parameters(step), own.step_lines(step.steps)))
    texts = [*printer.kernel_texts(), *inner]
    texts.append(printer.core_text(core, printer.parameters(core), lines))
    texts.append(njit_entry.entry(signature))
    text = "\n\n".join(texts)
    source = header(text) + text
    return Emitted(name, source, plan, core, printed, parts, lines, signature, printer)


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

    def __init__(self, signature: Signature | None, share_kernels: "_Printer | None" = None):
        super().__init__(self._pointed)
        self.signature = signature if signature is not None and signature.packed else None
        if share_kernels is not None:
            self.kernels, self.notes = share_kernels.kernels, share_kernels.notes

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
        return f"shift({base}, {position_text(at)})" if at != Affine(0, ()) else base

    # -- what `reroll` asks for -------------------------------------------------------------------

    def place(self, buffer: Hashable, at: Affine, dtype: np.dtype) -> Moving | None:
        if at.terms:
            return None
        if isinstance(buffer, Scratch):
            return Moving("scratch", (buffer.offset // _size(dtype) + at.const,))
        if self.signature is not None and isinstance(buffer, (ArgumentBuffer, ResultBuffer)):
            return Moving("table", (self.signature.slots[self.signature.name_of(buffer)], at.const))
        return Moving(buffer, (at.const,))

    def moved(
        self, buffer: Any, at: Affine, dtype: np.dtype, steps: Sequence[int]
    ) -> tuple[Hashable, Affine]:
        if isinstance(buffer, Scratch) or self.signature is None:
            return buffer, along(at, steps[0])
        slot = Affine(self.signature.slots[self.signature.name_of(buffer)], ())
        return Slot(along(slot, steps[0])), along(at, steps[1])


def _size(dtype: np.dtype) -> int:
    return 1 if dtype.kind == "b" else dtype.itemsize
