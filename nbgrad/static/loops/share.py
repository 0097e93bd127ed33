"""Kernels that differ by constants alone become one, which is given the constants.

A polynomial, or a sum of weighted neighbours, makes the same kernel again and again with other
numbers in it: compiled once, it costs a fraction.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...ir.core import CoreStep, RunKernel
from ...ir.statements import PIECE, Assign, Kernel, Literal, Pieces, Statement
from ...ir.walk import with_inner


def share_kernels(steps: Sequence[CoreStep], text_of: Callable[[Kernel], str]) -> list[CoreStep]:
    """The steps, with kernels that are equal but for their constants as one."""
    opened: dict[int, tuple[Kernel, list[Literal], str]] = {}
    texts: dict[str, set[str]] = {}
    for at, step in enumerate(steps):
        if isinstance(step.statement, RunKernel):
            kernel, constants = _opened(step.statement.kernel)
            text = text_of(kernel)
            opened[at] = kernel, constants, text
            texts.setdefault(text, set()).add(text_of(step.statement.kernel))
    kernels: dict[str, Kernel] = {}
    results = []
    for at, step in enumerate(steps):
        run = step.statement
        if isinstance(run, RunKernel) and len(texts[opened[at][2]]) > 1:
            kernel, constants, text = opened[at]
            kernel = kernels.setdefault(text, kernel)
            numbers = (*run.numbers, *constants)
            step = replace(step, statement=replace(run, kernel=kernel, numbers=numbers))
        results.append(step)
    return results


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
                name_of(x) if isinstance(x, Literal) and x.dtype.kind == "f" else x
                for x in statement.operands
            )
            return replace(statement, operands=operands)
        if isinstance(statement, Pieces):
            named.clear()
        statement = with_inner(statement, lambda body: tuple(map(opened, body)))
        if isinstance(statement, Pieces):
            part = statement.part
            numbers = (*part.numbers[:-1], *dict.fromkeys(named), PIECE)
            return replace(statement, part=replace(part, numbers=numbers))
        return statement

    body = tuple(map(opened, kernel.body))
    names = (f"c{i}" for i in range(len(constants)))
    return replace(
        kernel, body=body, numbers=(*kernel.numbers, *names),
        dtypes=(*kernel.dtypes, *(constant.dtype for constant in constants)),
    ), constants  # fmt: skip
