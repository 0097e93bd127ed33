"""Functions, kernels and cores as text for people: nothing reads it back."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from .affine import Affine
from .core import Core, CoreStep, Device, Repeat
from .kernel_text import buffer_text, indented, operand_text, position_text, variable
from .scalar import NAMES, text_of
from .statements import (
    Accumulate,
    Address,
    Allocate,
    Assign,
    Break,
    Call,
    Chunks,
    Continue,
    For,
    Function,
    Gemm,
    If,
    Kernel,
    Load,
    New,
    Pieces,
    Pointer,
    PointTo,
    Position,
    Raise,
    Return,
    Store,
    Variable,
    While,
)

NameOf = Callable[[Hashable], str]


class Shown:
    """The text of a core, of the cores that it enters and of the kernels that they run, which are
    named as they come. `name_of` names buffers."""

    def __init__(self, core: Core, name_of: NameOf):
        self._name_of = name_of
        self._kernels: dict[str, str] = {}  # names by text
        self._cores: dict[int, str] = {}
        main = self._core(core)
        kernels = [f"kernel {name}{text}" for text, name in self._kernels.items()]
        self.text = "\n\n".join([*kernels, *self._cores.values(), main])

    def _core(self, core: Core) -> str:
        parameters = [p if isinstance(p, str) else self._name_of(p) for p in core.parameters]
        scratch = f" with {core.scratch} bytes of scratch" if core.scratch else ""
        head = f"core {core.name}({', '.join(parameters)}){scratch}"
        results = ", ".join(map(operand_text, core.results))
        return _block(head, [*self._steps(core.steps), *([f"return {results}"] * bool(results))])

    def _steps(self, steps: Iterable[CoreStep]) -> list[str]:
        lines: list[str] = []
        for step in steps:
            first, *rest = self._step(step)
            lines += [f"{first}  # {step.lines[0]}" if step.lines else first, *rest]
        return lines

    def _step(self, step: CoreStep) -> list[str]:
        s = step.statement
        if isinstance(s, Repeat):
            last = s.n - 1 if s.count is None else f"{operand_text(s.count)} - 1"
            steps = f"{last}, ..., 0" if s.reverse else f"0, ..., {last}"
            goes = f", while {s.going}" if s.going else ""
            return [f"for {s.variable} in {steps}{goes}", *indented(self._steps(s.body))]
        if isinstance(s, If):
            lines = [f"if {operand_text(s.condition)}", *indented(self._steps(s.then))]
            return lines + ["else", *indented(self._steps(s.otherwise))] * bool(s.otherwise)
        if isinstance(s, Call):
            operands = [
                _at(self._name_of(x.buffer), x.at) if isinstance(x, Address) else operand_text(x)
                for x in s.arguments
            ]
            return [_call(self._callee(s.function), operands, s.results)]
        return _statement(s, self._name_of)

    def _callee(self, function: Kernel | Core | Device) -> str:
        if isinstance(function, Kernel):
            text = _kernel(function)
            return self._kernels.setdefault(text, f"{function.label}{len(self._kernels)}")
        if isinstance(function, Device):
            return function.function.__name__
        if id(function) not in self._cores:
            self._cores[id(function)] = self._core(function)
        return function.name


def function_text(function: Function) -> str:
    """A function, with its statements indented."""
    parameters = [f"{name}: {_type(kind)}" for name, kind in function.parameters]
    results = f" -> {', '.join(map(str, function.results))}" if function.results else ""
    notes = f"  # {', '.join(sorted(function.attributes))}" if function.attributes else ""
    head = f"function {function.name}({', '.join(parameters)}){results}{notes}"
    return _block(head, _body(function.body))


def _type(kind: Any) -> str:
    return f"{kind.dtype}*" if isinstance(kind, Pointer) else str(kind)


def _kernel(kernel: Kernel) -> str:
    """A kernel without its name."""
    buffers = [f"p{i}: {dtype}" for i, dtype in enumerate(kernel.buffers)]
    results = f" -> {', '.join(kernel.results)}" if kernel.results else ""
    head = f"({', '.join([*buffers, *kernel.numbers])}){results}"
    return _block(head, _body(kernel.body))


def _body(body: Iterable) -> list[str]:
    return [line for statement in body for line in _statement(statement, buffer_text)]


def _statement(s: Any, name_of: NameOf) -> list[str]:
    match s:
        case For(axis=axis, start=start, stop=stop):
            last = f"{stop} - 1" if isinstance(stop, str) else stop - 1
            head = f"for {variable(axis)} in {start}, ..., {last}{_piece(s)}"
            return [head, *indented(_body(s.body))]
        case Chunks(loop=loop):
            axis = variable(loop.axis)
            head, *_ = _statement(loop, name_of)
            inside = [*_body(s.before), f"for {axis} in these", *indented(_body(loop.body)),
                      *_body(s.after)]  # fmt: skip
            return [f"{head} by {s.size}", *indented(inside)]
        case Pieces():
            joins = [line for join in s.joins for line in _statement(join, name_of)]
            return [f"{s.count} pieces, in any order", *indented(_body(s.part.body)), *joins]
        case While():
            return ["while true", *indented(_body(s.body))]
        case If():
            lines = [f"if {operand_text(s.condition)}", *indented(_body(s.then))]
            return lines + ["else", *indented(_body(s.otherwise))] * bool(s.otherwise)
        case Assign():
            names = dict(zip(NAMES, map(operand_text, s.operands), strict=False))
            return [f"{s.target}: {s.dtype} = {text_of(s.body, names)}"]
        case Position():
            return [f"{s.target} = {position_text(s.at)}"]
        case Variable():
            return [f"{s.target} = {operand_text(s.start)}"]
        case Accumulate():
            return [f"{s.target} = {s.kind.name}({s.target}, {operand_text(s.value)})"]
        case Load():
            return [f"{s.target}: {s.dtype} = {name_of(s.buffer)}[{position_text(s.at)}]"]
        case Store():
            place, value = f"{name_of(s.buffer)}[{position_text(s.at)}]", operand_text(s.value)
            return [f"{place} = {value if s.kind is None else f'{s.kind.name}({place}, {value})'}"]
        case Call(function=function):
            name = function if isinstance(function, str) else function.name
            return [_call(name, map(_part, s.arguments), s.results)]
        case Allocate():
            return [f"{s.target} = {s.count} x {s.dtype} on the stack"]
        case New():
            zero = ", cleared" if s.cleared else ""
            return [f"{s.target} = {operand_text(s.count)} x {s.dtype} on the heap{zero}"]
        case PointTo():
            return [f"{s.target} = ({s.dtype}*) {_part(s.address)}"]
        case Return():
            return [f"return {', '.join(map(operand_text, s.values))}".rstrip()]
        case Raise():
            return [f"raise {s.error}({s.message!r})"]
        case Break() | Continue():
            return [type(s).__name__.lower()]
    assert isinstance(s, Gemm), s
    (m, n, k), (ta, tb) = s.sizes, s.turned
    a, b, c = (_at(name_of(buffer), at) for buffer, at in (s.a, s.b, s.c))
    return [f"{c} = {a}{'.T' * ta} @ {b}{'.T' * tb}  ({m} x {k} by {k} x {n})"]


def _part(x: Any) -> str:
    """An argument of a call."""
    if isinstance(x, Function):
        return x.name
    return _at(buffer_text(x.buffer), x.at) if isinstance(x, Address) else operand_text(x)


def _piece(loop: For) -> str:
    return f", {loop.piece} in a piece," if loop.piece else ""


def _at(buffer: str, at: Affine) -> str:
    return f"{buffer} + {position_text(at)}" if not at.is_zero else buffer


def _call(name: str, operands: Iterable[str], results: Iterable[str] = ()) -> str:
    call = f"{name}({', '.join(operands)})"
    return f"{', '.join(results)} = {call}" if results else call


def _block(head: str, lines: Iterable[str]) -> str:
    return "\n".join([head, *indented(lines)])


__all__ = ["Shown", "function_text"]
