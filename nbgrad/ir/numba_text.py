"""The printer: cores, and the kernels that they call, as the text of a Numba module.

`kernel_text.py` prints the statements of kernels. Each kernel is printed once for a module, however
often it is called. Compiled programs do not use this text: `compiler/llvm.py` writes their code.
"""

from collections.abc import Callable, Hashable, Iterable, Set
from typing import NamedTuple

import numpy as np

from .affine import ZERO, Affine
from .core import Core, CoreStatement, CoreStep, Repeat
from .kernel_text import (
    call_text,
    gemm_text,
    indented,
    kernel_text,
    line_text,
    load_text,
    operand_text,
    position_text,
    store_text,
    variable,
)
from .statements import Address, Call, Gemm, If, Kernel, Load, Store


class Line(NamedTuple):
    """A line of a core, and the user's lines that it comes from."""

    text: str
    lines: tuple[str, ...]


class Module:
    """The functions of a program as text: kernels, the cores of its loops, its core.

    `base(buffer, dtype, at)` is the expression for a pointer to an element of a core's buffer;
    device functions get other names than those that are `taken`.
    """

    def __init__(
        self, base: Callable[[Hashable, np.dtype, Affine], str], taken: Set[str] = frozenset()
    ):
        self._base, self.taken = base, taken
        self.devices: dict[str, Callable] = {}  # by the names that they have here
        self.kernels: dict[str, str] = {}  # names by text
        self.notes: dict[str, list[str]] = {}  # of kernels: the user's lines

    text_of = staticmethod(kernel_text)

    def name_of(self, kernel: Kernel) -> str:
        """The name of a kernel in the module."""
        text = kernel_text(kernel, self.name_of)
        return self.kernels.setdefault(text, f"{kernel.label}{len(self.kernels)}")

    # -- cores ------------------------------------------------------------------------------------

    def step_lines(self, steps: Iterable[CoreStep]) -> list[Line]:
        """The lines of steps of a core."""
        return [line for step in steps for line in self._step(step)]

    def core_text(self, core: Core, parameters: Iterable[str], lines: Iterable[Line]) -> str:
        """The function of a core."""
        body = [line.text for line in lines]
        if core.scratch and not core.takes_scratch:
            body.insert(0, f"w = scratch({core.scratch})")
        results = ", ".join(map(operand_text, core.results))
        body.append(f"return ({results},)" if results else "return ()")
        decorator = "@exact" if core.is_step else "@device"
        head = [decorator, f"def {core.name}({', '.join(parameters)}):"]
        return "\n".join([*head, *indented(body)]) + "\n"

    def _step(self, step: CoreStep) -> list[Line]:
        statement, lines = step.statement, step.lines
        if isinstance(statement, Repeat):
            n = statement.n if statement.count is None else operand_text(statement.count)
            last = n - 1 if isinstance(n, int) else f"{n} - 1"
            steps = f"range({last}, -1, -1)" if statement.reverse else f"range({n})"
            inside = [Line(f"if not {statement.going}:", lines), Line("    break", lines)]
            inside = inside if statement.going else []
            inside += [line for s in statement.body for line in self._step(s)]
            head = Line(f"for {statement.variable} in {steps}:", lines)
            return [head, *_deeper(inside)]
        if isinstance(statement, If):
            out = [Line(f"if {operand_text(statement.condition)}:", lines)]
            out += _deeper(self.step_lines(statement.then) or [Line("pass", ())])
            if statement.otherwise:
                out.append(Line("else:", lines))
                out += _deeper(self.step_lines(statement.otherwise))
            return out
        return [Line(self._statement(statement, lines), lines)]

    def _statement(self, statement: CoreStatement, lines: tuple[str, ...]) -> str:
        if isinstance(statement, Call):
            return self._call(statement, lines)
        if isinstance(statement, Gemm):
            dtype = statement.dtype
            return gemm_text(statement, lambda at: self._base(at[0], dtype, at[1]))
        if isinstance(statement, Load):
            return load_text(statement, self._base(statement.buffer, statement.dtype, ZERO))
        if isinstance(statement, Store):
            return store_text(statement, self._base(statement.buffer, statement.dtype, ZERO))
        assert not isinstance(statement, (Repeat, If))
        return line_text(statement)

    def _call(self, call: Call, lines: tuple[str, ...]) -> str:
        function = call.function
        operands = [
            self._base(x.buffer, x.dtype, x.at) if isinstance(x, Address) else operand_text(x)
            for x in call.arguments
        ]
        if isinstance(function, Core):
            text = call_text(function.name, [*operands, *function.sizes])
            return f"{', '.join(call.results)}, = {text}" if call.results else text
        if isinstance(function, Kernel):
            name, sizes = self.name_of(function), function.sizes
        else:
            function, sizes = function.function, ()
            name = function.__name__
            while name in self.taken or self.devices.get(name, function) != function:
                name += "_device"
            self.devices[name] = function
        self._note(name, lines)
        return call_text(name, [*operands, *sizes], call.results)

    def _note(self, name: str, lines: tuple[str, ...]) -> None:
        noted = self.notes.setdefault(name, [])
        noted += [line for line in lines if line not in noted]

    # -- kernels ----------------------------------------------------------------------------------

    def kernel_texts(self) -> list[str]:
        """The functions of all kernels that were named."""
        return [f"@device\ndef {name}{text}" for text, name in self.kernels.items()]


def _deeper(lines: Iterable[Line]) -> list[Line]:
    return [Line("    " + text, noted) for text, noted in lines]


__all__ = ["Line", "Module", "indented", "operand_text", "position_text", "variable"]
