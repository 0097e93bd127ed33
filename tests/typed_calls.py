"""Types of the public functions, as a type checker sees them: checked by pyright in strict mode.

`tests/strict_types.py` runs it; nothing here is executed.
"""

from collections.abc import Callable
from typing import Any, TypedDict, assert_type

import numpy as np
from numpy.typing import NDArray

import nbgrad
from nbgrad.static import StaticFunction

Vector = NDArray[np.float64]


class Line(TypedDict):
    slope: Vector
    floor: float


def loss(params: Line, x: Vector, power: float = 2.0) -> float:
    return float(np.sum(params["slope"] * x) ** power + params["floor"])


def rates(t: float, y: Vector) -> Vector:
    return -t * y


def with_aux(x: Vector) -> tuple[float, dict[str, int]]:
    return float(x.sum()), {"n": len(x)}


line: Line = {"slope": np.ones(3), "floor": 1.0}
ones: Vector = np.ones(3)

# Transformed functions have the parameters of the function.
assert_type(nbgrad.grad(loss)(line, ones, power=3.0), Any)
nbgrad.grad(loss)(line)  # pyright: ignore[reportCallIssue]
nbgrad.grad(loss)(line, ones, powr=3.0)  # pyright: ignore[reportCallIssue]
nbgrad.grad(loss)(line, "ones")  # pyright: ignore[reportArgumentType]
assert_type(nbgrad.value_and_grad(loss)(line, ones), tuple[float, Any])
assert_type(nbgrad.value_and_grad(loss, argnums=(0, 1)), Callable[..., Any])  # pyright: ignore
assert_type(nbgrad.value_and_grad(with_aux, has_aux=True)(ones)[0], tuple[float, dict[str, int]])
assert_type(nbgrad.grad(nbgrad.grad(rates))(1.0, ones), Any)
assert_type(nbgrad.grad(nbgrad.grad(np.tanh))(0.5), Any)
nbgrad.jacobian(rates, argnums=1)(1.0, "y")  # pyright: ignore[reportArgumentType]
nbgrad.hessian(loss, argnums=1)(line, ones)
nbgrad.elementwise_grad(rates, 1)(1.0, ones)
assert_type(nbgrad.checkpoint(rates)(1.0, ones), Vector)
assert_type(nbgrad.stop_gradient(line), Line)

# Values keep their types, and so do compiled functions.
assert_type(nbgrad.vjp(rates, 1.0, ones)[0], Vector)
assert_type(nbgrad.vjp(with_aux, ones, has_aux=True)[2], dict[str, int])
assert_type(nbgrad.jvp(rates, (1.0, ones), (0.0, ones)), tuple[Vector, Vector])
assert_type(nbgrad.linearize(rates, 1.0, ones)[0], Vector)
assert_type(nbgrad.pullback(rates, 1.0, ones)[0], Vector)
assert_type(nbgrad.cond(True, rates, rates, 1.0, ones), Vector)
fast = nbgrad.compile(nbgrad.value_and_grad(loss))
assert_type(fast(line, ones), tuple[float, Any])
fast(line, ones, out=(0.0, line))
fast(line)  # pyright: ignore[reportCallIssue]
assert_type(nbgrad.grad(nbgrad.compile(loss))(line, ones), Any)


@nbgrad.compile(static_argnames="power")
def compiled(x: Vector, power: int) -> Vector:
    return x**power


assert_type(compiled(ones, 2), Vector)
kept: StaticFunction[..., Vector] = compiled
assert_type(kept.fallbacks, tuple[str, ...])


@nbgrad.njit
def total(x: Vector, n: int) -> float:
    out = 0.0
    for i in range(n):
        out += x[i]
    return out


@nbgrad.njit(fastmath=True)
def half(x: float) -> float:
    return 0.5 * x


assert_type(total(ones, 3), float)
assert_type(half(1.0), float)
assert_type(total.source, str)
assert_type(nbgrad.value_and_grad(total)(ones, 3), tuple[float, Any])


def pull(ct: Vector, out: Vector, x: Vector) -> Vector:
    return ct * out


@nbgrad.custom_rule(pullback=pull)
def growth(x: Vector) -> Vector:
    return np.exp(x)


assert_type(growth(ones), Vector)
assert_type(nbgrad.vmap(rates, in_axes=(None, 0))(1.0, np.ones((4, 3))), Any)
