"""Simplification of scalar code.

Every rewrite gives the same bits, zeros with their signs and infinities included: numbers are
multiplied before the array only where `_one_factor` proves that it is exact. One exception: a
cotangent that is added to a product with it, which is a product with a sum.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...ir.functions import Constant
from ...ir.reductions import SUM
from ...ir.scalar import NAMES, SCALED, Expr, evaluate, is_exact, parse
from .buffered import Reduce
from .values import Full, Map, Reshape, Value, View, is_finite, is_map, number_of

if TYPE_CHECKING:
    from .graph import Graph

SAME, PLUS, MINUS, TIMES = parse("x"), parse("x + y"), parse("x - y"), parse("x * y")
OVER, NEGATIVE, CHOICE = parse("x / y"), parse("-x"), parse("select(x, y, z)")
_KEPT = parse("select(x == 0.0, 0.0, y)")


@cache
def _kept(count: int) -> Expr | None:
    """A product, 0 where one of so many factors is; None for too many factors."""
    if not 0 < count < len(NAMES):
        return None
    zeros = " | ".join([f"({name} == 0.0)" for name in NAMES[:count]])
    return parse(f"select({zeros}, 0.0, {NAMES[count]})")


def simpler(
    graph: "Graph", body: Expr, args: Sequence[Value], dtype: np.dtype, shape: tuple
) -> Value | None:
    """A value that equals scalar code over these values and is cheaper, where one is known."""
    if args and all(isinstance(arg, Full) for arg in args):
        number = _folded(body, args, dtype)
        return None if number is None else graph.full(number, shape, dtype)
    if body is SAME and args[0].dtype == dtype:
        return graph.broadcast(args[0], shape)
    if body is SAME and is_map(args[0], CHOICE):
        condition, *sides = args[0].args
        narrow = [known for side in sides if (known := _narrow(graph, side, dtype)) is not None]
        if len(narrow) == len(sides):
            return graph.map(CHOICE, (condition, *narrow), dtype, shape)
    rule = _RULES.get(body) if dtype.kind == "f" else None
    return rule(graph, args, dtype, shape) if rule else None


def _narrow(graph, value: Value, dtype: np.dtype) -> Value | None:
    """A value in a dtype that it has been before, or that has its number: a choice between 1.0 and
    0.0, as in the slope of relu, makes no float64 of a float32."""
    if is_map(value, SAME) and value.args[0].dtype == dtype:
        return graph.broadcast(value.args[0], value.shape)
    if is_finite(value) and dtype.kind == "f" and dtype.type(value.number) == value.number:
        return graph.full(value.number, value.shape, dtype)
    return None


def _scaled(graph, args, dtype, shape) -> Value | None:
    x, y = args
    if 0.0 in (number_of(x), number_of(y)):
        return graph.full(0.0, shape, dtype)
    if is_finite(x) or is_finite(y) or x is y:
        return graph.map(TIMES, args, dtype, shape)
    if _carries(x, y):
        return graph.map(_KEPT, (y, graph.map(TIMES, args, dtype, shape)), dtype, shape)
    if is_map(x, _KEPT) and x.args[0] is y:
        product = graph.map(TIMES, (x.args[1], y), dtype, shape)
        return graph.map(_KEPT, (y, product), dtype, shape)
    if is_map(y, CHOICE) and number_of(y.args[2]) == 0.0:
        inner = graph.map(SCALED, (x, y.args[1]), dtype, shape)
        return graph.map(CHOICE, (y.args[0], inner, graph.full(0.0, (), dtype)), dtype, shape)
    return _scaled_again(graph, args, dtype, shape)


# What is inf or nan where one of these arguments is.
_CARRIED = {
    PLUS: (0, 1), MINUS: (0, 1), TIMES: (0, 1), OVER: (0,), NEGATIVE: (0,),
    **{parse(body): (0,) for body in ("x * x", "sqrt(x)", "log(x)", "sin(x)", "cos(x)")},
}  # fmt: skip
_SEARCHED = 64


def _carries(x: Value, y: Value) -> bool:
    """Whether x is inf or nan wherever y is, since it is computed from it: where x is 0, y is
    finite then, and their product 0."""
    stack, seen = [x], {x}
    while stack and len(seen) < _SEARCHED:
        value = stack.pop()
        if value is y:
            return True
        if isinstance(value, Map):
            args = [value.args[i] for i in _CARRIED.get(value.body, ())]
            stack += [arg for arg in args if arg not in seen]
            seen.update(args)
    return False


def _scaled_again(graph, args, dtype, shape) -> Value | None:
    """Of what was scaled before: each factor is tested once, and no product between."""
    parts = [_factors(graph, arg) for arg in args]
    tested = list(dict.fromkeys(_unsigned(factor) for factors, _ in parts for factor in factors))
    body = _kept(len(tested))
    if body is None or all(len(factors) == 1 for factors, _ in parts):
        return None
    product = graph.map(TIMES, [product for _, product in parts], dtype, shape)
    return graph.map(body, (*tested, product), dtype, shape)


def _unsigned(value: Value) -> Value:
    """What is 0 where a factor is, without its sign."""
    return value.args[0] if is_map(value, NEGATIVE) else value


def _factors(graph, value: Value) -> tuple[Sequence[Value], Value]:
    """The factors of a scaled product, and the product without their tests."""
    if is_map(value, SCALED):
        return value.args, graph.map(TIMES, value.args, value.dtype, value.shape)
    if isinstance(value, Map) and value.body is _kept(max(len(value.args) - 1, 2)):
        return value.args[:-1], value.args[-1]
    return (value,), value


def priced(value: Value) -> tuple[int, tuple[Value, ...]]:
    """The price of a value, and the arguments whose prices are added to it. A product costs the
    same however many of its factors are tested, and needs no other values for that."""
    if is_map(value, SCALED):
        return 3, value.args
    if isinstance(value, Map) and value.body is _kept(len(value.args) - 1):
        return 2, value.args[-1:]
    return value.price, value.args


def _product(graph, args, dtype, shape) -> Value | None:
    for one, other in (args, args[::-1]):
        if number_of(one) == 1.0:
            return graph.broadcast(other, shape)
        if number_of(one) == -1.0:
            return graph.map(NEGATIVE, (other,), dtype, shape)
        if not is_finite(one):
            continue
        if is_map(other, TIMES):
            for inner, rest in (other.args, other.args[::-1]):
                if is_finite(inner) and _one_factor(inner.number, one.number, dtype):
                    factor = graph.full(one.number * inner.number, (), dtype)
                    return graph.map(TIMES, (factor, rest), dtype, shape)
        if is_map(other, NEGATIVE):
            factor = graph.full(-one.number, (), dtype)
            return graph.map(TIMES, (factor, other.args[0]), dtype, shape)
    return None


def _one_factor(first: float, second: float, dtype: np.dtype) -> bool:
    """Whether `first * x * second` is `(first * second) * x` for every x of a dtype: the first
    product is exact, and too large only where both are."""
    return (
        abs(second) >= 1.0 <= abs(first)
        and is_power_of_two(first)
        and (abs(first * second) <= np.finfo(dtype).max)
    )


def is_power_of_two(number: float) -> bool:
    """Whether a product with the number is exact, where it is neither too large nor too small."""
    return abs(math.frexp(number)[0]) == 0.5


def _sum(graph, args, dtype, shape) -> Value | None:
    if args[0] is args[1]:
        return graph.map(TIMES, (graph.full(2.0, (), dtype), args[0]), dtype, shape)
    for one, other in (args, args[::-1]):
        if number_of(one) == 0.0 and (is_negative_zero(one.number) or _never_negative_zero(other)):
            return graph.broadcast(other, shape)
        if is_map(one, NEGATIVE):
            return graph.map(MINUS, (other, one.args[0]), dtype, shape)
        if is_map(one, TIMES) and is_finite(first := one.args[0]) and first.number < 0:
            # 2 * x is x + x, which -2 * x is not.
            factors = graph.full(-first.number, (), dtype), one.args[1]
            product = graph.map(TIMES, factors, dtype, one.shape)
            return graph.map(MINUS, (other, product), dtype, shape)
        known = _added_again(graph, one, other, dtype, shape)
        if known is not None:
            return known
    return None


def is_negative_zero(number: Constant) -> bool:
    """Whether a number is -0.0, which added to any other changes nothing; 0.0 changes -0.0."""
    return number == 0.0 and math.copysign(1.0, number) < 0


_POSITIVE = {parse(text) for text in ("x * x", "abs(x)", "exp(x)", "sigmoid(x)")}


def _never_negative_zero(value: Value) -> bool:
    """Whether no element is -0.0. A sum is where both of its terms are."""
    for _ in range(_SEARCHED):
        if isinstance(value, Full):
            return not is_negative_zero(value.number)
        if isinstance(value, Reduce):
            return value.kind is SUM
        if isinstance(value, (View, Reshape)):
            value = value.args[0]
        elif is_map(value, MINUS):
            value = value.args[0]
        elif is_map(value, PLUS):
            number = next((arg for arg in value.args if isinstance(arg, Full)), None)
            value = number or value.args[0]
        else:
            return isinstance(value, Map) and value.body in _POSITIVE
    return False


def _added_again(graph, one: Value, other: Value, dtype, shape) -> Value | None:
    """Of `one + other`, where `one` has been made of `other` already."""
    if is_map(one, SCALED) and one.args[0] is other:
        # A step that repeats passes its cotangent on as ct + ct * p: with the factor made beside
        # it, a product is all that the next step waits for.
        factor = graph.map(PLUS, (graph.full(1.0, (), dtype), one.args[1]), dtype)
        return graph.map(SCALED, (other, factor), dtype, shape)
    return None


def _difference(graph, args, dtype, shape) -> Value | None:
    x, y = args
    if number_of(y) == 0.0 and not (is_negative_zero(y.number) and not _never_negative_zero(x)):
        return graph.broadcast(x, shape)
    return graph.map(PLUS, (x, y.args[0]), dtype, shape) if is_map(y, NEGATIVE) else None


def _quotient(graph, args, dtype, shape) -> Value | None:
    x, y = args
    if is_finite(y) and is_power_of_two(y.number):
        share = 1.0 / y.number
        if abs(share) <= np.finfo(dtype).max:  # the quotient is the product
            return graph.map(TIMES, (graph.full(share, (), dtype), x), dtype, shape)
    return None


def _negative(graph, args, dtype, shape) -> Value | None:
    (x,) = args
    if is_map(x, NEGATIVE):
        return graph.broadcast(x.args[0], shape)
    if is_map(x, TIMES) and is_finite(first := x.args[0]):
        factor = graph.full(-first.number, (), dtype)
        return graph.map(TIMES, (factor, x.args[1]), dtype, shape)
    return None


_RULES = {
    SCALED: _scaled, TIMES: _product, PLUS: _sum, MINUS: _difference, OVER: _quotient,
    NEGATIVE: _negative,
}  # fmt: skip


def _folded(body: Expr, args: Sequence[Value], dtype: np.dtype) -> Constant | None:
    """The number that scalar code over numbers gives, where that is finite and sure."""
    constants = [arg for arg in args if is_finite(arg)]
    if not is_exact(body) or len(constants) < len(args):
        return None
    typed = [arg.dtype.type(arg.number) for arg in constants]
    number = evaluate(body, dict(zip(NAMES, typed, strict=False)), args[0].dtype)
    return dtype.type(number).item() if np.isfinite(number) else None
