"""Steps that move elements: shapes, axes, joins and cuts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .draft import Draft, is_array, is_float
from .vocabulary import axis_of, op


@op
def reshape(d: Draft) -> int:
    i = d.pick(lambda x: np.size(x) > 0)
    n = np.size(d.values[i])
    shapes = [[n], [-1], [1, n], [n, 1]]
    shapes += [[a, n // a] for a in range(2, n) if n % a == 0]
    shapes += [[a, -1, 1] for a in range(2, n) if n % a == 0]
    shapes += [[]] if n == 1 else []
    shape = tuple(d.one(shapes))
    if is_array(d.values[i]) and d.chance(0.5):
        return d.step("reshape", [i], f"{{0}}.reshape({shape})")
    return d.step("reshape", [i], f"np.reshape({{0}}, {shape})")


@op
def ravel(d: Draft) -> int:
    i = d.pick(is_array)
    return d.step("reshape", [i], d.one(["{0}.ravel()", "np.ravel({0})", "{0}.flatten()"]))


@op
def transpose(d: Draft) -> int:
    i = d.pick(lambda x: np.ndim(x) > 1, shape=(2, 3))
    rank = np.ndim(d.values[i])
    if d.chance(0.5):
        return d.step("transpose", [i], "{0}.T")
    axes = tuple(int(a) for a in d.rng.permutation(rank))
    return d.step("transpose", [i], f"np.transpose({{0}}, {axes})")


@op
def axes(d: Draft) -> int:
    i = d.pick(is_array)
    a, b = (axis_of(d, d.values[i]) for _ in range(2))
    rank = np.ndim(d.values[i])
    text = d.one([
        f"np.swapaxes({{0}}, {a}, {b})", f"np.moveaxis({{0}}, {a}, {b})",
        f"np.expand_dims({{0}}, {d.number(-rank - 1, rank)})", "np.squeeze({0})",
        f"np.roll({{0}}, {d.number(-3, 3)}, axis={a})",
        f"np.repeat({{0}}, {d.number(0, 3)}, axis={a})",
        f"np.tile({{0}}, {d.number(1, 2)})", f"np.tile({{0}}, (2, {d.number(0, 2)}))",
        f"np.roll({{0}}, {d.number(-3, 3)})", "np.flip({0})", "np.repeat({0}, 2)",
    ])  # fmt: skip
    return d.step(text[3 : text.index("(")], [i], text)


@op
def broadcast_to(d: Draft) -> int:
    i = d.pick()
    x = np.shape(d.values[i])
    shape = (
        *(d.number(0, 3) for _ in range(d.number(0, 2))),
        *(3 if n == 1 and d.chance(0.6) else n for n in x),
    )
    return d.step("broadcast_to", [i], f"np.broadcast_to({{0}}, {shape})")


def _several(d: Draft, fits: Callable[[Any], bool], shape: Any) -> list[int]:
    first = d.pick(fits, shape=shape)
    wanted = np.shape(d.values[first])
    found = [first]
    for _ in range(d.number(0, 2)):
        other = d.find(lambda x: np.shape(x) == wanted)
        found.append(first if other is None else other)
    return found


@op
def concatenate(d: Draft) -> int:
    many = _several(d, is_array, (3,))
    names = ", ".join(f"{{{k}}}" for k in range(len(many)))
    axis = axis_of(d, d.values[many[0]])
    if d.chance(0.2):
        zeros = f"np.zeros({np.shape(d.values[many[0]])})"
        names = f"{names}, {zeros}" if d.chance(0.5) else f"{zeros}, {names}"
    text = f"np.concatenate([{names}], axis={axis})"
    if d.chance(0.3):
        text = f"np.{d.one(['hstack', 'vstack', 'dstack', 'column_stack'])}([{names}])"
    return d.step("concatenate", many, text)


@op
def stack(d: Draft) -> int:
    many = _several(d, lambda x: not isinstance(x, (int, float)), None)
    names = ", ".join(f"{{{k}}}" for k in range(len(many)))
    rank = np.ndim(d.values[many[0]])
    return d.step("stack", many, f"np.stack([{names}], axis={d.number(-rank - 1, rank)})")


@op
def array(d: Draft) -> int:
    i = d.pick(lambda x: is_array(x) and len(x) > 1 and is_float(x), shape=(3,), dtype="float64")
    text = d.one(["nbgrad.array([{0}[0], {0}[1], {0}[0]])", "nbgrad.array([[{0}[1]], [{0}[0]]])"])
    return d.step("array", [i], text)


@op
def split(d: Draft) -> int:
    i = d.pick(is_array)
    axis = axis_of(d, d.values[i])
    n = np.shape(d.values[i])[axis]
    cut = d.number(0, n)
    return d.step("split", [i], f"np.split({{0}}, [{cut}], axis={axis})[{d.number(0, 1)}]")


@op
def pad(d: Draft) -> int:
    i = d.pick(is_array)
    rank = np.ndim(d.values[i])
    widths = [(d.number(0, 2), d.number(0, 3)) for _ in range(rank)]
    value = (
        f", constant_values={d.constant(np.asarray(d.values[i]).dtype)}" if d.chance(0.3) else ""
    )
    return d.step("pad", [i], f"np.pad({{0}}, {widths}{value})")


@op
def triangles(d: Draft) -> int:
    i = d.pick(lambda x: np.ndim(x) >= 2, shape=(3, 3))
    k = d.number(-1, 1)
    text = d.one([f"np.tril({{0}}, {k})", f"np.triu({{0}}, {k})", f"np.diagonal({{0}}, {k})",
                  "np.trace({0})", f"np.diag({{0}}, {k})", "np.rot90({0})"])  # fmt: skip
    return d.step(text[3 : text.index("(")], [i], text)


@op
def diag(d: Draft) -> int:
    return d.step("diag", [d.pick(lambda x: np.ndim(x) == 1)], f"np.diag({{0}}, {d.number(-1, 1)})")


@op
def astype(d: Draft) -> int:
    i = d.pick(lambda x: hasattr(x, "astype"))
    to = d.one(["np.float64", "np.float64", "np.float32"])
    if not is_float(d.values[i]):
        to = d.one(["np.float64", "np.int64", "np.int32", "bool"])
    return d.step("astype", [i], f"{{0}}.astype({to})")
