"""Algebra of scalar code: what transformations leave behind, made simpler, rounded as before."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .values import Value, is_finite, number_of

if TYPE_CHECKING:
    from .ir import Graph

_SCALE = "select(x == 0.0, 0.0, x * y)"
_KEPT = "select(x == 0.0, 0.0, y)"
WHERE = "select(x, y, z)"


def simpler(
    graph: "Graph", body: str, args: Sequence[Value], dtype: np.dtype, shape: tuple
) -> Value | None:
    """What is equal to scalar code over these values and cheaper, where that is known."""
    if args and all(arg.op == "full" for arg in args):
        number = _evaluate(body, args, dtype)
        return None if number is None else graph.full(number, shape, dtype)
    if body == "x" and args[0].dtype == dtype:
        return graph.broadcast(args[0], shape)
    if dtype.kind != "f":
        return None
    return _of_floats(graph, body, args, dtype, shape)


def _of_floats(graph, body, args, dtype, shape) -> Value | None:
    if body in (_SCALE, "x * y"):
        x, y = args
        if body == _SCALE:
            if number_of(x) == 0.0:
                return graph.full(0.0, shape, dtype)
            if number_of(x) is not None or is_finite(y):
                return graph.map("x * y", args, dtype, shape)
            if y.op == "map" and y.data == WHERE and number_of(y.args[2]) == 0.0:
                inner = graph.map(_SCALE, (x, y.args[1]), dtype, shape)
                zero = graph.full(0.0, (), dtype)
                return graph.map(WHERE, (y.args[0], inner, zero), dtype, shape)
            return _power_scaled(graph, x, y, dtype, shape)
        for one, other in ((x, y), (y, x)):
            if number_of(one) == 1.0:
                return graph.broadcast(other, shape)
            if number_of(one) == -1.0:
                return graph.map("-x", (other,), dtype, shape)
            if is_finite(one) and other.op == "map" and other.data == "x * y":
                for inner, rest in (other.args, other.args[::-1]):
                    if is_finite(inner):
                        factor = graph.full(number_of(one) * number_of(inner), (), dtype)
                        return graph.map("x * y", (factor, rest), dtype, shape)
            if is_finite(one) and other.op == "map" and other.data == "-x":
                factor = graph.full(-number_of(one), (), dtype)
                return graph.map("x * y", (factor, other.args[0]), dtype, shape)
    if body == "x + y":
        if args[0] is args[1]:
            return graph.map("x * y", (graph.full(2.0, (), dtype), args[0]), dtype, shape)
        for zero, other in (args, args[::-1]):
            if number_of(zero) == 0.0:
                return graph.broadcast(other, shape)
            if zero.op == "map" and zero.data == "-x":
                return graph.map("x - y", (other, zero.args[0]), dtype, shape)
    if body == "x - y":
        if number_of(args[1]) == 0.0:
            return graph.broadcast(args[0], shape)
        if args[1].op == "map" and args[1].data == "-x":
            return graph.map("x + y", (args[0], args[1].args[0]), dtype, shape)
    if body == "x / y" and is_finite(args[1]) and number_of(args[1]):
        inverse = 1.0 / number_of(args[1])
        if math.frexp(number_of(args[1]))[0] in (0.5, -0.5):  # exact
            factor = graph.full(inverse, (), dtype)
            return graph.map("x * y", (factor, args[0]), dtype, shape)
    if body == "-x" and args[0].op == "map" and args[0].data == "-x":
        return graph.broadcast(args[0].args[0], shape)
    if body == "-x" and args[0].op == "map" and args[0].data == "x * y":
        factor, rest = args[0].args
        if is_finite(factor):
            negative = graph.full(-number_of(factor), (), dtype)
            return graph.map("x * y", (negative, rest), dtype, shape)
    return None


def _power_scaled(graph, x: Value, y: Value, dtype, shape) -> Value | None:
    """Of what was scaled by the same factor before, which is 0 where its cotangent is or where
    the factor is, and then finite: one test serves all."""
    if x.op != "map":
        return None
    if x.data == _SCALE and x.args[1] is y:
        first, product = x.args[0], graph.map("x * y", x.args, dtype, shape)
    elif x.data == _KEPT and x.args[1].data == "x * y" and x.args[1].args[1] is y:
        first, product = x.args
    else:
        return None
    return graph.map(_KEPT, (first, graph.map("x * y", (product, y), dtype)), dtype, shape)


_FOLDABLE: dict[str, Callable] = {
    "x": lambda x: x, "x + y": lambda x, y: x + y, "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y, "-x": lambda x: -x, "x * x": lambda x: x * x,
    _SCALE: lambda x, y: x * y if x else 0.0,
    "x / y": lambda x, y: x / y if y else None,
    "sqrt(x)": lambda x: math.sqrt(x) if x >= 0 else None,
}  # fmt: skip


def _evaluate(body: str, args: Sequence[Value], dtype: np.dtype) -> Any:
    fold = _FOLDABLE.get(body)
    if fold is None:
        return None
    numbers = [number_of(arg) for arg in args]
    if not all(math.isfinite(number) for number in numbers):
        return None
    number = fold(*numbers)
    return None if number is None or not math.isfinite(number) else number
