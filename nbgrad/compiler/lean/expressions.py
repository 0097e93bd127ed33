"""The expressions of a function, each emitted as it is met."""

import ast
import builtins
import operator
from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Any, NoReturn

from llvmlite import ir
from numba.core import types

from ..numba_api import Dispatcher
from .calls import call
from .elements import attribute, element, flat, parts
from .emit import Emitter
from .syntax import Unsupported, outer_names
from .values import Known, Typed, Value, is_int64
from .variables import Variables

OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip


class Expressions:
    """Emits the expressions of one activation of a function, which has `variables`. Functions that
    Numba is told to inline are walked where they are called, by `inline`."""

    def __init__(
        self,
        emit: Emitter,
        function: Callable,
        inline: Callable[[Callable, list[Value]], Value],
        steady: Container[str],
    ):
        self.variables = Variables(emit, steady)
        self._emit = emit
        self._globals = function.__globals__
        self._outer = outer_names(function)
        self._local = frozenset(function.__code__.co_varnames + function.__code__.co_cellvars)
        self._inline = inline

    def value(self, node: ast.expr) -> Value:
        """The value of an expression."""
        emit = self._emit
        match node:
            case ast.Constant(value=value):
                return Known(value)
            case ast.Name(id=name):
                return self.named(name)
            case ast.Tuple(elts=parts):
                return tuple(map(self.value, parts))
            case ast.Attribute(value=holder, attr=name):
                return attribute(emit, self.value(holder), name)
            case ast.Subscript(value=holder, slice=at):
                return element(emit, self.value(holder), self.value(at))
            case ast.UnaryOp() | ast.BinOp() if (number := _literal(node)) is not None:
                return Known(number)
            case ast.UnaryOp(op=op, operand=operand):
                return emit.operation(OPERATORS[type(op)], self.value(operand))
            case ast.BinOp(left=left, op=op, right=right):
                operands = self.value(left), self.value(right)
                return emit.operation(OPERATORS[type(op)], *operands)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[right]):
                same = self._same(self.value(left), self.value(right))
                return Known(same if isinstance(op, ast.Is) else not same)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                return self._compared(self.value(left), list(zip(ops, rights, strict=True)))
            case ast.BoolOp(op=op, values=values):
                each = [partial(self.value, value) for value in values]
                return self._joined(isinstance(op, ast.And), each, are_bools=True)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._choice(self.test(test), body, other)
            case ast.Call(func=ast.Attribute(value=holder, attr="ravel"), args=[], keywords=[]):
                return flat(emit, self.value(holder))
            case ast.Call(func=called, args=args, keywords=[]):
                return self._call(self.value(called), args)
            case _:
                refuse(node)

    def _same(self, x: Value, y: Value) -> bool:
        if isinstance(x, Known) and isinstance(y, Known) and not (x.is_number and y.is_number):
            return x.value is y.value
        if None in (getattr(x, "value", 0), getattr(y, "value", 0)):
            return False
        raise Unsupported("the identity of values")

    def condition(self, node: ast.expr) -> Value:
        """An expression of which only the truth matters."""
        if isinstance(node, ast.BoolOp):
            each = [partial(self.condition, value) for value in node.values]
            return self._joined(isinstance(node.op, ast.And), each, are_bools=False)
        return self.value(node)

    def test(self, node: ast.expr) -> Value:
        """The condition of a branch. It is known where Numba drops the other branch before it
        infers types; else both branches are compiled."""
        value = self.condition(node)
        if isinstance(value, Known) and value.is_number and not self._is_plain(node):
            return Typed(types.boolean, ir.Constant(ir.IntType(1), int(bool(value.value))))
        return value

    def _is_plain(self, node: ast.expr) -> bool:
        """Whether Numba decides a condition that is known without inferring types: what has a name
        outside of the function, constants, comparisons of two of them, and those with None."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._is_plain(operand)
            case ast.BoolOp(values=values):
                return all(map(self._is_plain, values))
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return True
            case ast.Compare(left=left, comparators=[right]):
                return self._is_plain(left) and self._is_plain(right)
            case ast.Attribute(value=holder, attr=name):
                return name == "ndim" or self._is_plain(holder)
            case ast.Name(id=name):
                return name not in self._local
            case _:
                return _literal(node) is not None

    def _compared(self, left: Value, rest: list[tuple[ast.cmpop, ast.expr]]) -> Value:
        """A comparison, or a chain of them."""
        (op, node), *further = rest
        if type(op) not in OPERATORS:
            refuse(op)
        right = self.value(node)
        first = self._emit.operation(OPERATORS[type(op)], left, right)
        if not further:
            return first
        each = [lambda: first, partial(self._compared, right, further)]
        return self._joined(True, each, are_bools=True)

    def _joined(
        self, is_and: bool, values: Sequence[Callable[[], Value]], are_bools: bool
    ) -> Value:
        """`and` or `or` of conditions, of which the later ones are looked at where they matter."""
        (first, *rest), emit = values, self._emit
        value = first()
        if not rest:
            return value
        if isinstance(value, Known):
            decided = bool(value.value) != is_and
            if decided and are_bools:  # the result has the type of all of them
                raise Unsupported("a condition that is known, as a value")
            last = value if decided else self._joined(is_and, rest, are_bools)
            if are_bools and {emit.typed(x).kind for x in (value, last)} != {types.boolean}:
                raise Unsupported("a condition that is no bool")
            return last
        builder, slot = emit.builder, emit.variable(types.boolean)
        bit = self._bit(value, are_bools)
        builder.store(bit, slot.pointer)
        further, after = self._emit.blocks("further", "joined")
        builder.cbranch(bit, *((further, after) if is_and else (after, further)))
        builder.position_at_end(further)
        last = self._bit(self._joined(is_and, rest, are_bools), are_bools)
        builder.store(last, slot.pointer)
        builder.branch(after)
        builder.position_at_end(after)
        return self._emit.load(slot)

    def _bit(self, value: Value, is_bool: bool) -> Any:
        """A condition as LLVM's bit. As a value, `x and y` is a bool only where x and y are."""
        if is_bool and self._emit.typed(value).kind != types.boolean:
            raise Unsupported("a condition that is no bool")
        return self._emit.truth(value)

    def _choice(self, test: Value, body: ast.expr, other: ast.expr) -> Value:
        """`body if test else other`"""
        if isinstance(test, Known):
            return self.value(body if test.value else other)
        emit, builder = self._emit, self._emit.builder
        blocks = self._emit.blocks("then", "else", "after")
        builder.cbranch(emit.truth(test), *blocks[:2])
        ends, values = [], []
        for block, node in zip(blocks, (body, other), strict=False):
            builder.position_at_end(block)
            values.append(self.value(node))
            ends.append(builder.block)
        numbers = all(
            isinstance(v, Typed) or (isinstance(v, Known) and v.is_number) for v in values
        )
        builder.position_at_end(ends[0])
        kind = emit.common(values) if numbers else None
        chosen = emit.variable(kind) if numbers else self.variables.new(values[0])
        for end, value in zip(ends, values, strict=True):
            builder.position_at_end(end)
            self.variables.write(chosen, emit.cast(value, kind) if numbers else value)
            builder.branch(blocks[2])
        builder.position_at_end(blocks[2])
        return self.variables.read(chosen)

    def _call(self, called: Value, args: Sequence[ast.expr]) -> Value:
        if not isinstance(called, Known):
            raise Unsupported("a call of a value")
        operands: list[Value] = []
        for each in args:
            if isinstance(each, ast.Starred):
                operands += parts(self._emit, self.value(each.value))
            else:
                operands.append(self.value(each))
        function = called.value
        if isinstance(function, Dispatcher) and _is_inlined(function):
            return self._inline(function.py_func, operands)
        return call(self._emit, function, operands)

    def named(self, name: str) -> Value:
        """What a name means: a variable, or what Python finds outside of the function."""
        if name in self._local:
            return self.variables[name]
        for names in (self._outer, self._globals, vars(builtins)):
            if name in names:
                return Known(names[name])
        raise Unsupported(f"{name}, which is not defined,")


def _literal(node: ast.expr) -> bool | int | float | None:
    """The number that an expression of numbers in the text is, which Python computes before Numba
    sees it; None for others. Raises Unsupported where it has more than 64 bits."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.UnaryOp(op=op, operand=operand):
            numbers = [_literal(operand)]
        case ast.BinOp(left=left, op=op, right=right):
            numbers = [_literal(left), _literal(right)]
        case _:
            return None
    if None in numbers:
        return None
    integers = [x for x in numbers if isinstance(x, int)]
    if isinstance(op, (ast.Pow, ast.LShift)) and len(integers) == 2 and integers[1] > 64:
        raise Unsupported("a constant of more than 64 bits")
    result = OPERATORS[type(op)](*numbers)
    if isinstance(result, int) and not is_int64(result):
        raise Unsupported("a constant of more than 64 bits")
    return result


def refuse(node: ast.AST) -> NoReturn:
    """Leave a function to Numba for a piece of syntax."""
    raise Unsupported(f"{type(node).__name__} in line {getattr(node, 'lineno', 0)}")


def _is_inlined(function: Any) -> bool:
    return function.targetoptions.get("inline") == "always"
