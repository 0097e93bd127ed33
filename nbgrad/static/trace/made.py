"""Arrays made from sizes while a function is recorded, such as `np.arange(x.shape[0])`.

If sizes are named, these arrays have the lengths of stand-ins, and need a formula: that of a
constant array, of evenly spaced numbers, or of the identity matrix.
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


class _Made(Primitive):
    """Base class of primitives without arguments."""

    registered = False
    differentiable = False

    def infer(self, *avals, **params) -> Aval:
        return Aval.of(params["shape"], np.dtype(params["dtype"]))

    def pullback(self, ct, out, args, need, **params):
        return []


class _Even(_Made):
    """`start + step * i` along the only axis, as np.arange and np.linspace return."""

    def form(self, graph, symbol):
        place = graph.cast(graph.iota(symbol.shape, 0), symbol.dtype)
        step, start = (graph.full(symbol.params[k], (), symbol.dtype) for k in ("step", "start"))
        product = graph.map("x * y", (place, step), symbol.dtype)
        return graph.map("x + y", (product, start), symbol.dtype)

    def evaluate(self, *args, **params):
        return _even(**params)


class _Identity(_Made):
    """The identity matrix."""

    def form(self, graph, symbol):
        places = [graph.iota(symbol.shape, axis) for axis in (0, 1)]
        same = graph.map("x == y", places, bool)
        return graph.cast(same, symbol.dtype)

    def evaluate(self, *args, **params):
        return np.eye(*params["shape"], dtype=params["dtype"])


def _even(shape: tuple[int], dtype: str, start: Any, step: Any) -> np.ndarray:
    return (np.arange(shape[0]).astype(dtype) * step + start).astype(dtype)


even, identity = _Even("even"), _Identity("identity")


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
    if array.ndim == 1 and array.dtype.kind in "fiu":
        start, step = array[0].item(), (array[1] - array[0]).item()
        other = _even(array.shape, array.dtype.name, start, step)
        if np.allclose(other, array, rtol=_ROUNDING, atol=0):
            return apply(even, (), {**params, "start": start, "step": step})
    if array.ndim == 2 and np.array_equal(array, np.eye(*array.shape, dtype=array.dtype)):
        return apply(identity, (), params)
    return None


def formula_of(number: float) -> str:
    """Return the formula of a number computed from named sizes; "" for other numbers."""
    found = power_of(number)
    if found is None:
        return ""
    c, size, power = found
    root = f"sqrt({size})" if abs(power) == 0.5 else str(size)
    return f"{c:g} / {root}" if power < 0 else f"{c:g} * {root}"


__all__ = ["formula_of", "made_of_sizes"]
