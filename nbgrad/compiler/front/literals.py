"""Operators by their syntax, and numbers that are written out."""

import ast
import operator
from collections.abc import Callable

from .folding import is_int64
from .syntax import Unsupported

__all__ = ["OPERATORS", "literal_of"]

OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Invert: operator.invert, ast.Not: operator.not_, ast.MatMult: operator.matmul,
}  # fmt: skip


def literal_of(node: ast.expr) -> bool | int | float | None:
    """The number that an expression of numbers in the text is, which Python computes before Numba
    sees it; None for others. Raises Unsupported where it has more than 64 bits."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.UnaryOp(op=op, operand=operand):
            operands = [operand]
        case ast.BinOp(left=left, op=op, right=right):
            operands = [right, left]
        case _:
            return None
    numbers = []
    for operand in operands:
        number = literal_of(operand)
        if number is None:
            return None
        numbers.insert(0, number)
    integers = [x for x in numbers if isinstance(x, int)]
    if isinstance(op, (ast.Pow, ast.LShift)) and len(integers) == 2 and integers[1] > 64:
        raise Unsupported("a constant of more than 64 bits")
    result = OPERATORS[type(op)](*numbers)
    if isinstance(result, int) and not is_int64(result):
        raise Unsupported("a constant of more than 64 bits")
    return result
