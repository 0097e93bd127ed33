"""Arrays made from sizes while a function is recorded, such as `np.arange(x.shape[0])`.

If sizes are named, these arrays have the lengths of stand-ins, and need a formula: that of a
constant array, of evenly spaced numbers, or of a matrix that is constant on both sides of a
diagonal, such as np.eye and np.tri.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.primitive import Aval, Primitive
from ...core.symbols import Builder, Symbol
from ...ir.naming import naming, power_of, tagged
from ...ir.sizes import is_dynamic

# Evenly spaced numbers are exact up to rounding: np.linspace sets the last one.
_ROUNDING = 1e-15


class Made(Primitive):
    """Base class of primitives without arguments."""

    registered = False
    differentiable = False

    def infer(self, *avals, **params) -> Aval:
        return Aval.of(params["shape"], np.dtype(params["dtype"]))

    def pullback(self, ct, out, args, need, **params):
        return []


class _Even(Made):
    """`start + steps[0] * i + ...` at each index: np.arange, np.linspace and sums of them."""

    def form(self, graph, symbol):
        params, dtype = symbol.params, symbol.dtype
        total = graph.full(params["start"], (), dtype)
        for axis, step in enumerate(params["steps"]):
            place = graph.cast(graph.iota(symbol.shape, axis), dtype)
            product = graph.map("x * y", (place, graph.full(step, (), dtype)), dtype)
            total = graph.map("x + y", (product, total), dtype)
        return total

    def evaluate(self, *args, **params):
        return _even(**params)


class _Sides(Made):
    """A matrix with one number below the diagonal `k`, one on it and one above."""

    def form(self, graph, symbol):
        row, column = (graph.iota(symbol.shape, axis) for axis in (0, 1))
        offset = graph.map("y - x", (row, column), row.dtype)
        params = symbol.params
        place = graph.full(params["k"], (), row.dtype)
        below, at, above = (graph.full(n, (), symbol.dtype) for n in params["numbers"])
        upper = graph.map("select(x == y, z, u)", (offset, place, at, above), symbol.dtype)
        return graph.map("select(x < y, z, u)", (offset, place, below, upper), symbol.dtype)

    def evaluate(self, *args, **params):
        return _sides(**params)


def _even(shape: tuple[int, ...], dtype: str, start: Any, steps: tuple) -> np.ndarray:
    total: Any = start
    for places, step in zip(np.indices(shape, sparse=True), steps, strict=True):
        total = places.astype(dtype) * step + total
    return np.broadcast_to(total, shape).astype(dtype)


def _sides(shape: tuple[int, int], dtype: str, k: int, numbers: tuple) -> np.ndarray:
    offset = np.arange(shape[1]) - np.arange(shape[0])[:, None]
    return np.select([offset < k, offset == k], numbers[:2], numbers[2]).astype(dtype)


even, sides = _Even("even"), _Sides("sides")


def made_of_sizes(apply: Callable, builder: Builder, array: np.ndarray) -> Symbol | None:
    """Return the symbol of an array with named sizes if it has a formula, else None."""
    if naming() is None or not array.size:
        return None
    shape, first = tagged(array.shape), array.flat[0].item()
    aval = Aval.of(shape, array.dtype)
    is_one = (array == first).all()
    here = naming()
    if not any(map(is_dynamic, shape)) and not (here is not None and here.checks):
        of_sizes = is_one and (is_dynamic(tagged(first)) or power_of(float(first)) is not None)
        return builder.full(first, aval) if of_sizes else None
    params: dict[str, Any] = {"shape": shape, "dtype": array.dtype.name}
    if is_one:
        return builder.full(first, aval)
    if array.ndim and array.dtype.kind in "fiu":
        steps = [
            (array[(0,) * axis + (1,) + (0,) * (array.ndim - axis - 1)] - first).item()
            if n > 1 else 0
            for axis, n in enumerate(array.shape)
        ]  # fmt: skip
        other = _even(array.shape, array.dtype.name, first, tuple(steps))
        if np.allclose(other, array, rtol=_ROUNDING, atol=0):
            return apply(even, (), {**params, "start": first, "steps": tagged(tuple(steps))})
    if array.ndim == 2 and (found := _diagonal(array)) is not None:
        k, numbers = found
        return apply(sides, (), {**params, "k": tagged(k), "numbers": numbers})
    return None


def _diagonal(array: np.ndarray) -> tuple[int, tuple] | None:
    """Return the diagonal of a matrix that is constant below and above, and the three numbers."""
    if (array[1:, 1:] != array[:-1, :-1]).any():
        return None
    along = np.concatenate([array[:0:-1, 0], array[0]])  # an element of each diagonal
    changes = np.flatnonzero(along[1:] != along[:-1])
    if len(changes) not in (1, 2) or changes[-1] - changes[0] > 1:
        return None
    at = int(changes[-1])
    numbers = along[0].item(), along[at].item(), along[-1].item()
    return at + 1 - array.shape[0], numbers


def formula_of(number: float) -> str:
    """Return the formula of a number computed from named sizes; "" for other numbers."""
    found = power_of(number)
    if found is None:
        return ""
    c, size, power = found
    root = f"sqrt({size})" if abs(power) == 0.5 else str(size)
    return f"{c:g} / {root}" if power < 0 else f"{c:g} * {root}"


__all__ = ["Made", "formula_of", "made_of_sizes"]
