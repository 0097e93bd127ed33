"""The cores of programs as LLVM assembly: kernel calls and other steps, in order.

The function of a core takes pointers and numbers in the order of its parameters, or, of a program
of many arrays, a table of their addresses in place of the pointers.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from ..ir.affine import Affine
from ..ir.core import Core, CoreStep, Device, Repeat, Scratch, Slot
from ..ir.statements import Address, Call, Kernel, Operand
from .llvm import FunctionWriter, Module, ascii_name
from .llvm_ops import BOOL, INT, Value, cast, llvm_type, truth

__all__ = ["write_core"]


def write_core(module: Module, core: Core, slots: Mapping[Hashable, int] | None = None) -> None:
    """Add the function of a core to a module. With `slots` it takes a table of addresses, in which
    buffers have these places."""
    writer = _CoreWriter(module, "" if core.is_step else "contract ", slots)
    parameters = ["ptr noalias %t"] if slots is not None else []
    dtypes = iter(core.dtypes)
    for place, each in enumerate(core.parameters):
        if isinstance(each, str):
            parameters.append(writer.number(each, next(dtypes)))
        elif slots is None:
            writer.pointers[each] = writer.parameter(f"b{place}")
            parameters.append(f"ptr noalias {writer.pointers[each]}")
    if core.takes_scratch:
        parameters.append("ptr noalias %w")
    elif core.scratch:
        writer.scratch = writer.allocate("i8", core.scratch, 64)
    parameters += [writer.number(name, INT) for name in core.sizes]
    writer.body(core.steps)
    results = list(map(writer.operand, core.results))
    writer.returned(results)
    inline = " alwaysinline" if core.is_step and results else ""
    text = writer.text(parameters, [x.dtype for x in results], f"{inline}{module.attributes}")
    name = module.functions.setdefault(text, ascii_name(core.name))
    module.cores[core.name] = name
    module.results[name] = [x.dtype for x in results]


class _CoreWriter(FunctionWriter):
    """Writes the function of a core. Names that are assigned in branches and loops are kept in
    memory, since they may be read after these."""

    scratch = "%w"

    def __init__(self, module: Module, flags: str, slots: Mapping[Hashable, int] | None):
        super().__init__(module, flags)
        self._places = slots
        self._depth = -1

    def body(self, statements: Iterable[Any]) -> None:
        self._depth += 1
        super().body(statements)
        self._depth -= 1

    def _step(self, step: CoreStep) -> None:
        self._written[type(step.statement)](self, step.statement)

    def define(self, name: str, value: Value) -> None:
        if self._depth:
            self.slot(name, value.dtype)
        super().define(name, value)

    # -- buffers --------------------------------------------------------------------------------

    def address(self, buffer: Any, at: Affine, dtype: np.dtype) -> str:
        """The address of an element of a buffer."""
        if isinstance(buffer, Scratch):
            size = 1 if dtype == BOOL else dtype.itemsize
            byte = at.times(size).shifted(buffer.offset)
            return self.place(self.scratch, byte, np.dtype(np.int8))
        if isinstance(buffer, Slot):
            pointer = self._of_table(buffer.at)
        elif self._places is not None:
            pointer = self._of_table(Affine(self._places[buffer], ()))
        else:
            pointer = self.pointers[buffer]
        return self.place(pointer, at, dtype)

    def _of_table(self, at: Affine) -> str:
        return self.emit(f"load ptr, ptr {self.place('%t', at, INT)}")

    # -- calls ----------------------------------------------------------------------------------

    def _call(self, call: Call) -> None:
        """Call a function and name its results."""
        function, module, pointers = call.function, self.module, len(call.pointers)
        if isinstance(function, Device):
            given = list(map(self._given, call.arguments))
            kinds = [f"ptr {pointer.dtype.str[1:]}" for pointer in call.pointers]
            self._outside(function.function, given, [*kinds, *(x for x, _ in given[pointers:])])
            return
        wanted: list[Any] = [None] * len(call.arguments)
        if isinstance(function, Kernel):
            name, wanted[pointers:] = module.name_of(function), function.dtypes
        else:
            name = module.cores[function.name]
        given = list(map(self._given, call.arguments, wanted))
        given += [("i64", self.operand(size).text) for size in function.sizes]
        found = self.results_of(name, given, module.results[name])
        for result, value in zip(call.results, found, strict=True):
            self.define(result, value)

    def _given(self, argument: Address | Operand, dtype: np.dtype | None = None) -> tuple[str, str]:
        if isinstance(argument, Address):
            return "ptr", self.address(argument.buffer, argument.at, argument.dtype)
        value = self.operand(argument)
        value = cast(self, value, dtype) if dtype is not None else value
        return llvm_type(value.dtype), value.text

    # -- structure ------------------------------------------------------------------------------

    def _repeat(self, repeat: Repeat) -> None:
        count = self.size(repeat.n) if repeat.count is None else self.operand(repeat.count)

        def round_of() -> None:
            if repeat.going:
                go_on = self.label("go")
                going = truth(self, self.operand(repeat.going)).text
                self.branch_if(going, go_on, self._loops[-1][1])
                self.begin(go_on)
            self.body(repeat.body)

        if repeat.reverse:
            last = self.emit(f"sub i64 {count.text}, 1")
            self.loop(repeat.variable, last, "-1", round_of, -1)
        else:
            self.loop(repeat.variable, "0", count.text, round_of)

    _written: ClassVar[dict[type, Callable[[Any, Any], None]]] = {
        **FunctionWriter._written, Call: _call, Repeat: _repeat, CoreStep: _step,
    }  # fmt: skip
