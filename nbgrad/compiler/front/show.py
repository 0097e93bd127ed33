"""Functions of the kernel IR as text for people."""

from collections.abc import Iterable
from typing import Any

from ...ir.numba_text import indented, operand_text, position_text
from ...ir.scalar import NAMES, text_of
from ...ir.statements import (
    Address,
    Allocate,
    Assign,
    Break,
    Call,
    Continue,
    For,
    Function,
    If,
    Load,
    Pointer,
    PointTo,
    Raise,
    Return,
    Store,
    Variable,
    While,
)

__all__ = ["function_text"]


def function_text(function: Function) -> str:
    """A function, with its statements indented."""
    parameters = [f"{name}: {_type(kind)}" for name, kind in function.parameters]
    results = f" -> {', '.join(map(str, function.results))}" if function.results else ""
    notes = f"  # {', '.join(sorted(function.attributes))}" if function.attributes else ""
    head = f"function {function.name}({', '.join(parameters)}){results}{notes}"
    return "\n".join([head, *indented(_body(function.body))])


def _type(kind: Any) -> str:
    return f"{kind.dtype}*" if isinstance(kind, Pointer) else str(kind)


def _body(body: Iterable[Any]) -> list[str]:
    return [line for statement in body for line in _statement(statement)] or ["pass"]


def _part(x: Any) -> str:
    if not isinstance(x, Address):
        return operand_text(x)
    at = position_text(x.at)
    return x.buffer if at == "0" else f"{x.buffer} + {at}"


def _statement(s: Any) -> list[str]:
    match s:
        case Assign():
            names = dict(zip(NAMES, map(operand_text, s.operands), strict=False))
            return [f"{s.target}: {s.dtype} = {text_of(s.body, names)}"]
        case Variable():
            return [f"variable {s.target}: {s.dtype} = {operand_text(s.start)}"]
        case Load():
            return [f"{s.target}: {s.dtype} = {s.buffer}[{position_text(s.at)}]"]
        case Store():
            return [f"{s.buffer}[{position_text(s.at)}] = {operand_text(s.value)}"]
        case For():
            head = f"for {s.axis} in {s.start}, ..., {s.stop} - 1"
            return [head, *indented(_body(s.body))]
        case While():
            return ["while true", *indented(_body(s.body))]
        case If():
            lines = [f"if {operand_text(s.condition)}", *indented(_body(s.then))]
            return lines + ["else", *indented(_body(s.otherwise))] * bool(s.otherwise)
        case Call():
            name = s.function if isinstance(s.function, str) else s.function.name
            call = f"{name}({', '.join(map(_part, s.arguments))})"
            return [f"{', '.join(s.results)} = {call}" if s.results else call]
        case Allocate():
            return [f"{s.target} = {s.count} x {s.dtype} on the stack"]
        case PointTo():
            return [f"{s.target} = ({s.dtype}*) {_part(s.address)}"]
        case Return():
            return [f"return {', '.join(map(operand_text, s.values))}".rstrip()]
        case Raise():
            return [f"raise {s.error}({s.message!r})"]
        case Break():
            return ["break"]
        case Continue():
            return ["continue"]
    return [str(s)]
