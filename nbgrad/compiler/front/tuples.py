"""Comparisons of values, of tuples too."""

import ast
import operator
from collections.abc import Callable

from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import BOOL, Complex, Known, Number, Value, members

__all__ = ["compared", "is_tuple"]

_COMPARISONS: dict[type, Callable] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


def is_tuple(value: Value) -> bool:
    """Whether a value is a tuple, which complex numbers are not."""
    if isinstance(value, tuple):
        return not isinstance(value, Complex)
    return isinstance(value, Known) and isinstance(value.value, tuple)


def compared(emit: FunctionBuilder, op: ast.cmpop, left: Value, right: Value) -> Value:
    """left op right"""
    if isinstance(op, (ast.In, ast.NotIn)):
        found = _contained(emit, left, right)
        return found if isinstance(op, ast.In) else emit.operation(operator.not_, found)
    if type(op) not in _COMPARISONS:
        raise Unsupported("`is` in a chain of comparisons")
    function = _COMPARISONS[type(op)]
    if isinstance(left, Known) and isinstance(right, Known):
        numbers = [x.is_number or x.is_complex for x in (left, right)]
        if not (any(numbers) or is_tuple(left) or is_tuple(right)):
            return Known(bool(function(left.value, right.value)))
    if not (is_tuple(left) or is_tuple(right)):
        return emit.operation(function, left, right)
    if not (is_tuple(left) and is_tuple(right)):
        raise Unsupported("a comparison of a tuple and a number")
    equal = _equal(emit, members(left), members(right))
    if function is operator.eq:
        return equal
    if function is operator.ne:
        return emit.operation(operator.not_, equal)
    return _ordered(emit, op, members(left), members(right))


def _contained(emit: FunctionBuilder, x: Value, values: Value) -> Value:
    """x in values"""
    if not is_tuple(values):
        raise Unsupported("`in` for a value that is not a tuple")
    return _any(emit, [compared(emit, ast.Eq(), x, each) for each in members(values)])


def _any(emit: FunctionBuilder, tests: list[Value]) -> Value:
    found: Value = Known(False)
    for test in tests:
        if isinstance(test, Known):
            if test.value:
                return Known(True)
        elif isinstance(found, Known):
            found = test
        else:
            found = emit.applied("or", [emit.truth(found), emit.truth(test)], BOOL)
    return found


def _equal(emit: FunctionBuilder, left: tuple[Value, ...], right: tuple[Value, ...]) -> Value:
    if len(left) != len(right):
        return Known(False)
    other = [compared(emit, ast.NotEq(), *each) for each in zip(left, right, strict=True)]
    return emit.operation(operator.not_, _any(emit, other))


def _ordered(
    emit: FunctionBuilder, op: ast.cmpop, left: tuple[Value, ...], right: tuple[Value, ...]
) -> Value:
    """The order of two tuples: that of their first members that differ."""
    if not left or not right:
        return Known(_COMPARISONS[type(op)](len(left), len(right)))
    (x, *rest), (y, *others) = left, right
    first = emit.truth(compared(emit, op, x, y))
    further = emit.truth(_ordered(emit, op, tuple(rest), tuple(others)))
    same = emit.truth(compared(emit, ast.Eq(), x, y))
    found: Number = emit.applied("select", [same, further, first], BOOL)
    return found
