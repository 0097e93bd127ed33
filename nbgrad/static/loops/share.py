"""Kernels that differ by constants alone become one, which takes the constants as arguments.

A polynomial, or a sum of weighted neighbours, makes many kernels that differ by constants;
compiling one takes a fraction of the time.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...ir.core import CoreStep
from ...ir.statements import PIECE, Assign, Call, Kernel, Literal, Operand, Pieces, Statement
from ...ir.walk import callee, walk, with_inner


def share_kernels(steps: Sequence[CoreStep], text_of: Callable[[Kernel], str]) -> list[CoreStep]:
    """The steps, with kernels that are equal but for their constants as one."""
    opened: dict[int, tuple[Kernel, list[Literal], str]] = {}
    texts: dict[str, set[str]] = {}
    for at, step in enumerate(steps):
        function = callee(step.statement)
        if isinstance(function, Kernel) and _has_constants(function):
            kernel, constants = _opened(function)
            text = text_of(kernel)
            opened[at] = kernel, constants, text
            texts.setdefault(text, set()).add(text_of(function))
    kernels: dict[str, Kernel] = {}
    results = []
    for at, step in enumerate(steps):
        call = step.statement
        if isinstance(call, Call) and at in opened and len(texts[opened[at][2]]) > 1:
            kernel, constants, text = opened[at]
            kernel = kernels.setdefault(text, kernel)
            arguments = (*call.arguments, *constants)
            step = replace(step, statement=replace(call, function=kernel, arguments=arguments))
        results.append(step)
    return results


def _has_constants(kernel: Kernel) -> bool:
    assigned = (s for s in walk(kernel.body) if isinstance(s, Assign))
    return any(map(_is_constant, (x for let in assigned for x in let.operands)))


def _is_constant(operand: Operand) -> bool:
    return isinstance(operand, Literal) and operand.dtype.kind == "f"


def _opened(kernel: Kernel) -> tuple[Kernel, list[Literal]]:
    """The kernel with its constants as numbers that it is given, and those."""
    constants: list[Literal] = []
    named: list[str] = []  # since the last part began

    def name_of(constant: Literal) -> str:
        if constant not in constants:
            constants.append(constant)
        named.append(f"c{constants.index(constant)}")
        return named[-1]

    def opened(statement: Statement) -> Statement:
        if isinstance(statement, Assign):
            operands = tuple(
                name_of(x) if _is_constant(x) else x  # pyright: ignore[reportArgumentType]
                for x in statement.operands
            )
            return replace(statement, operands=operands)
        if isinstance(statement, Pieces):
            named.clear()
            part = replace(statement.part, body=tuple(map(opened, statement.part.body)))
            numbers = (*part.numbers[:-1], *dict.fromkeys(named), PIECE)
            return replace(statement, part=replace(part, numbers=numbers))
        return with_inner(statement, lambda body: tuple(map(opened, body)))

    body = tuple(map(opened, kernel.body))
    names = (f"c{i}" for i in range(len(constants)))
    return replace(
        kernel, body=body, numbers=(*kernel.numbers, *names),
        dtypes=(*kernel.dtypes, *(constant.dtype for constant in constants)),
    ), constants  # fmt: skip
