"""Scalar expressions: what happens to one element, as data.

A row states its scalar body as text, such as `"select(x > 0.0, x, 0.0)"`; `parse` reads it once.
Equal expressions are one object, so they are compared with `is`, and `"x*y"` is `"x * y"`. The
arguments are called x, y, z, u, v, w, p, q in order.
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from ..errors import ArgumentError
from .functions import FUNCTIONS, Constant, Function, NumPyNumber, called

NAMES: tuple[str, ...] = ("x", "y", "z", "u", "v", "w", "p", "q")
"""The names of the arguments of bodies."""
Evaluator: TypeAlias = Callable[[Mapping[str, NumPyNumber]], NumPyNumber]
"""From arguments by name to the value of an expression."""
_known: WeakValueDictionary[tuple, "Expr"] = WeakValueDictionary()


class Expr:
    """An argument, a number, or a function of expressions.

    `size` counts its nodes as if nothing were shared, `depth` how deeply they nest, `price` the
    arithmetic operations.
    """

    __slots__ = ("__weakref__", "depth", "price", "size")
    size: int
    depth: int
    price: int

    def __repr__(self) -> str:
        return text_of(self)


class Arg(Expr):
    """The argument `name`."""

    __slots__ = ("name",)
    name: str


class Number(Expr):
    """A constant: a float, an int or a bool."""

    __slots__ = ("value",)
    value: Constant


class Apply(Expr):
    """`function` of `args`."""

    __slots__ = ("args", "function")
    function: Function
    args: tuple[Expr, ...]


@lru_cache
def arg(name: str) -> Expr:
    """The argument of this name."""
    return _interned(Arg, (name,), ())


def number(value: Constant) -> Expr:
    """A constant."""
    return _interned(Number, (value,), (), 0, (type(value), repr(value)))


def apply(function: Function, args: Sequence[Expr]) -> Expr:
    """The expression `function(*args)`."""
    return _interned(Apply, (function, tuple(args)), args, function.price)


def _interned(
    kind: type, fields: tuple, args: Sequence[Expr], price: int = 0, label: Any = None
) -> Any:
    key = (kind, fields if label is None else label)
    known = _known.get(key)
    if known is None:
        known = kind()
        known.size, known.depth = 1, 1
        for a in args:
            known.size += a.size
            known.depth = max(known.depth, 1 + a.depth)
            price += a.price
        known.price = price
        for name, value in zip(_FIELDS[kind], fields, strict=True):
            setattr(known, name, value)
        _known[key] = known
    return known


_FIELDS = {Arg: ("name",), Number: ("value",), Apply: ("function", "args")}


# -- reading --------------------------------------------------------------------------------------

_OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.FloorDiv: "floor_quotient", ast.Mod: "modulo", ast.Pow: "power_of", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor", ast.USub: "negative", ast.Invert: "invert", ast.Lt: "less",
    ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal",
    ast.NotEq: "not_equal",
}  # fmt: skip


@lru_cache(maxsize=4096)
def parse(text: str) -> Expr:
    """The expression that `text` states. Raises ValueError for anything else.

    >>> parse("x*(y + 1.0)")
    x * (y + 1.0)
    >>> parse("x*y") is parse("x * y")
    True
    """
    try:
        return _read(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as wrong:
        raise ArgumentError(
            f"the body {text!r} is no expression: {wrong.msg}", code="NB-CUSTOM"
        ) from None


def _read(node: ast.AST) -> Expr:
    match node:
        case ast.Name(id="inf" | "nan" as name):
            return number(math.inf if name == "inf" else math.nan)
        case ast.Name(id=name):
            return arg(name)
        case ast.Constant(value=bool() | int() | float() as value):
            return number(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if _is_constant(operand):
            constant = _read(operand)
            assert isinstance(constant, Number)
            return number(-constant.value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return apply(FUNCTIONS["equal"], [_read(operand), number(False)])
        case ast.UnaryOp(op=op, operand=operand):
            return _applied(_OPERATORS.get(type(op)), [operand])
        case ast.BinOp(left=left, op=op, right=right):
            return _applied(_OPERATORS.get(type(op)), [left, right])
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _read(operand)
        case ast.Compare(left=left, ops=ops, comparators=rest):
            pairs = zip([left, *rest], rest, ops, strict=False)
            return _joined(
                "and", [_applied(_OPERATORS.get(type(op)), [x, y]) for x, y, op in pairs]
            )
        case ast.BoolOp(op=op, values=values):
            return _joined("and" if isinstance(op, ast.And) else "or", [_read(v) for v in values])
        case ast.IfExp(test=test, body=body, orelse=other):
            return _applied("select", [test, body, other])
        case ast.Call(func=function, args=args, keywords=[]):
            return _applied(ast.unparse(function), args)
        case _:
            raise ArgumentError(
                f"{ast.unparse(node)!r} has no place in scalar code", code="NB-CUSTOM"
            )


def _joined(name: str, conditions: Sequence[Expr]) -> Expr:
    """Conditions that must hold together, or one of them."""
    joint = conditions[0]
    for condition in conditions[1:]:
        joint = apply(FUNCTIONS[name], [joint, condition])
    return joint


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Name) and node.id in ("inf", "nan")
    )


def _applied(name: str | None, args: Sequence[ast.AST]) -> Expr:
    function = FUNCTIONS.get(name or "")
    if function is None:
        raise ArgumentError(
            f"{name!r} is no function of scalar code: it knows {', '.join(called())}",
            code="NB-CUSTOM",
        )
    return apply(function, list(map(_read, args)))


# -- using ----------------------------------------------------------------------------------------


def arguments(expr: Expr) -> set[str]:
    """The names of the arguments that are read."""
    return {e.name for e in ordered(expr) if isinstance(e, Arg)}


def ordered(expr: Expr) -> list[Expr]:
    """The nodes, each once and after its arguments."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack = [(expr, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if isinstance(node, Apply):
                stack += [(a, False) for a in reversed(node.args)]
    return order


def substitute(expr: Expr, replacements: Mapping[str, Expr]) -> Expr:
    """The expression with other ones in place of arguments."""
    return replaced(expr, {arg(name): other for name, other in replacements.items()})


def replaced(expr: Expr, replacements: Mapping[Expr, Expr]) -> Expr:
    """The expression with other ones in place of arguments and numbers."""
    memo: dict[Expr, Expr] = {}
    for node in ordered(expr):
        if isinstance(node, Apply):
            memo[node] = apply(node.function, [memo[a] for a in node.args])
        else:
            memo[node] = replacements.get(node, node)
    return memo[expr]


def evaluate(
    expr: Expr, values: Mapping[str, NumPyNumber], dtype: np.dtype | None = None
) -> NumPyNumber:
    """The value for numbers of NumPy's; constants are of `dtype` where there is one."""
    with np.errstate(all="ignore"):
        return evaluator(expr, dtype)(values)


def evaluator(expr: Expr, dtype: np.dtype | None = None) -> Evaluator:
    """The function that gives the value for arguments by name, for expressions that are evaluated
    many times."""
    order = ordered(expr)
    places = {node: i for i, node in enumerate(order)}
    names: list[tuple[int, str]] = []
    calls: list[tuple[int, Callable, list[int]]] = []
    start: list[NumPyNumber] = [0] * len(order)
    for i, node in enumerate(order):
        if isinstance(node, Arg):
            names.append((i, node.name))
        elif isinstance(node, Apply):
            calls.append((i, node.function.numpy, [places[a] for a in node.args]))
        elif isinstance(node, Number):
            start[i] = node.value
            if dtype is not None and dtype.kind == "f" and not isinstance(node.value, bool):
                start[i] = dtype.type(node.value)

    def value_for(arguments: Mapping[str, NumPyNumber]) -> NumPyNumber:
        values = start.copy()
        for i, name in names:
            values[i] = arguments[name]
        for i, function, args in calls:
            values[i] = function(*[values[a] for a in args])
        return values[-1]

    return value_for


def is_exact(expr: Expr) -> bool:
    """Whether every implementation gives the same value."""
    return all(not isinstance(e, Apply) or e.function.exact for e in ordered(expr))


def text_of(
    expr: Expr,
    names: Mapping[str, str] | None = None,
    literal: Callable[[Constant], str] | None = None,
) -> str:
    """The text: `names` for arguments, `literal(number)` for constants."""
    literal = literal or plain_literal

    def shown(node: Expr, binding: int) -> str:
        if isinstance(node, Arg):
            return node.name if names is None else names.get(node.name, node.name)
        if isinstance(node, Number):
            return literal(node.value)
        assert isinstance(node, Apply)
        function, args = node.function, node.args
        if not function.binding:
            return f"{function.spelling}({', '.join(shown(a, 0) for a in args)})"
        own = function.binding
        if len(args) == 1:
            text = f"{function.spelling}{shown(args[0], own)}"
        else:
            # Comparisons do not chain, and the right side of a difference needs its own.
            left = shown(args[0], own + (own == 1))
            text = f"{left} {function.spelling} {shown(args[1], own + 1)}"
        return f"({text})" if own < binding else text

    return shown(expr, 0)


def near_arguments(expr: Expr) -> list[tuple[str, str]]:
    """The arguments that branch-free forms of functions do not take everywhere, and the functions
    that tell where."""
    names = [
        (e.args[0].name, e.function.far)
        for e in ordered(expr)
        if isinstance(e, Apply) and e.function.near and isinstance(e.args[0], Arg)
    ]
    return list(dict.fromkeys(names))


def plain_literal(value: Constant) -> str:
    """A constant as Python has it; inf and nan by NumPy's names."""
    if isinstance(value, (bool, int)):
        return str(value) if value >= 0 else f"({value})"
    text = repr(abs(value)) if math.isfinite(value) else f"np.{abs(value)!r}"
    return f"(-{text})" if math.copysign(1.0, value) < 0 else text


def typed_literal(dtype: np.dtype) -> Callable[[Constant], str]:
    """The writer of constants among numbers of `dtype`: one float64 would widen a float32 loop."""
    if dtype.kind != "f":
        return plain_literal

    def literal(value: Constant) -> str:
        if isinstance(value, bool):
            return str(value)
        text = plain_literal(abs(float(value)))
        text = f"float32({text})" if dtype == np.float32 else text
        return f"(-{text})" if math.copysign(1.0, value) < 0 else text

    return literal


SCALED = parse("select((x == 0.0) | (y == 0.0), 0.0, x * y)")
"""A cotangent times a partial: a zero of either gives zero, whatever the other."""

__all__ = [
    "NAMES", "SCALED", "Apply", "Arg", "Expr", "Number", "apply", "arg", "arguments", "evaluate",
    "evaluator", "is_exact", "near_arguments", "number", "ordered", "parse", "plain_literal",
    "substitute", "text_of", "typed_literal",
]  # fmt: skip
