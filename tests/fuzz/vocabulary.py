"""What steps may be, beyond what the registry says by itself: ops whose arguments need thought.

An op is a function of the draft that adds its step and gives the number of its value. It draws
parameters that fit the shapes, and raises Unusable where nothing fits.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .draft import Draft, is_array
from .oracle import Unusable

Op = Callable[[Draft], int]
OPS: dict[str, Op] = {}


def op(f: Op) -> Op:
    """Decorator: an op of the vocabulary, by its name."""
    OPS[f.__name__.strip("_")] = f
    return f


def axis_of(d: Draft, x: Any) -> int:
    rank = np.ndim(x)
    if not rank:
        raise Unusable("no axis")
    return d.number(-rank, rank - 1)


def axes_of(d: Draft, x: Any) -> Any:
    """None, an axis, or a tuple of axes."""
    rank = np.ndim(x)
    way = d.rng.random()
    if way < 0.25 or not rank:
        return None
    if way < 0.75:
        return axis_of(d, x)
    chosen = [int(a) for a in d.rng.permutation(rank)[: d.number(0, rank)]]
    return tuple(a - rank if d.chance(0.3) else a for a in chosen)


def broadcasts(*arrays: Any) -> bool:
    try:
        return int(np.prod(np.broadcast_shapes(*map(np.shape, arrays)))) <= 400
    except ValueError:
        return False


# -- reductions -----------------------------------------------------------------------------------


def reduction(d: Draft, name: str, keeps: bool = True, fits=lambda x: True, more: str = "") -> int:
    i = d.pick(fits, shape=None) if not more else d.real()
    axes = axes_of(d, d.values[i])
    keep = ", keepdims=True" if keeps and d.chance(0.3) else ""
    given = "" if axes is None and d.chance(0.7) else f", axis={axes}"
    method = "." not in name and is_array(d.values[i]) and d.chance(0.25)
    if method and name in ("sum", "mean", "max", "min", "prod", "var", "std"):
        rest = ", ".join(part for part in (given, keep, more) if part).replace(", , ", ", ")
        return d.step(name, [i], f"{{0}}.{name}({rest.strip(', ')})")
    return d.step(name, [i], f"np.{name}({{0}}{given}{keep}{more})")


def _reductions() -> None:
    for name in ("sum", "mean", "max", "min", "prod", "all", "any"):
        OPS[name] = lambda d, name=name: reduction(d, name)
    for name in ("var", "std"):
        OPS[name] = lambda d, name=name: reduction(
            d, name, more=", ddof=1" if d.chance(0.2) else ""
        )
    for name in ("argmax", "argmin"):
        OPS[name] = lambda d, name=name: _along(d, name)
    for name in ("cumsum", "sort", "argsort", "diff", "flip"):
        OPS[name] = lambda d, name=name: _along(d, name)
    OPS["median"] = lambda d: reduction(d, "median", fits=is_array)


@op
def accumulate(d: Draft) -> int:
    name = d.one(["maximum", "minimum", "fmax", "fmin", "add", "multiply"])
    i = d.pick(is_array)
    axis = f", axis={axis_of(d, d.values[i])}"
    return d.step("accumulate", [i], f"np.{name}.accumulate({{0}}{axis})")


def _along(d: Draft, name: str) -> int:
    i = d.pick(is_array)
    return d.step(name, [i], f"np.{name}({{0}}, axis={axis_of(d, d.values[i])})")


_reductions()


@op
def norm(d: Draft) -> int:
    i = d.real()
    axis = axes_of(d, d.values[i])
    if isinstance(axis, tuple) and len(axis) not in (1, 2):
        axis = None
    if axis is not None and not isinstance(axis, tuple) and d.chance(0.3):
        order = d.one(["2", "1", "np.inf"])
        return d.step("norm", [i], f"np.linalg.norm({{0}}, {order}, axis={axis})")
    return d.step("norm", [i], f"np.linalg.norm({{0}}, axis={axis})")


def _softmax(d: Draft, name: str) -> int:
    i = d.real(1)
    return d.step(name, [i], f"nbgrad.{name}({{0}}, axis={axis_of(d, d.values[i])})")


for _name in ("softmax", "logsoftmax", "logsumexp"):
    OPS[_name] = partial(_softmax, name=_name)
