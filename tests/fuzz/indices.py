"""Steps that read and write at indices: slices, positions, masks, integers of the program."""

from typing import Any

import numpy as np

from .draft import Draft, is_array, is_float
from .oracle import Unusable
from .vocabulary import axis_of, op


def basic(d: Draft, shape: tuple[int, ...]) -> str:
    """Slices, integers, new axes and an ellipsis, as text."""
    parts = []
    for n in shape[: d.number(0, len(shape))]:
        way = d.rng.random()
        if way < 0.3 and n:
            parts.append(str(d.number(-n, n - 1)))
        elif way < 0.9:
            parts.append(_slice(d, n))
        else:
            parts += ["None", _slice(d, n)]
    if d.chance(0.03):
        parts.insert(0, "True")
    if d.chance(0.15) or not parts:
        parts.insert(d.number(0, len(parts)) if len(parts) < len(shape) else len(parts), "...")
    return ", ".join(parts)


def _slice(d: Draft, n: int) -> str:
    ends = ["", "", "1", "-1", str(d.number(0, n)), "2"]
    step = d.one(["", "", "", ":2", ":-1", ":-2", ":3"])
    return f"{d.one(ends)}:{d.one(ends)}{step}"


def fancy(d: Draft, shape: tuple[int, ...]) -> str:
    """An index with lists of positions, or with a mask, as text; its size is fixed."""
    if not shape:
        raise Unusable("no axis to index")
    places = [":" if d.chance(0.7) else _slice(d, n) for n in shape[: d.number(1, len(shape))]]
    at = d.number(0, len(places) - 1)
    n = shape[at]
    count = d.number(0, 4) if n else 0
    picked = d.rng.integers(-n, n, count).tolist() if n else []
    way = d.rng.random()
    if way < 0.15:
        places[at] = f"np.array({(d.rng.random(n) < 0.5).tolist()}, bool)"
    elif way < 0.25 and count:
        places[at] = str(picked)
    elif way < 0.4 and count in (2, 4):
        places[at] = f"np.array({np.reshape(picked, (2, -1)).tolist()})"
    else:
        dtype = "" if count and d.chance(0.8) else ", np.int32" if count else ", np.int64"
        places[at] = f"np.array({picked}{dtype})"
        if d.chance(0.3) and len(shape) > len(places) and shape[len(places)] and count:
            other = d.rng.integers(0, shape[len(places)], count).tolist()
            places.append(f"np.array({other})")
    return ", ".join(places)


@op
def index(d: Draft) -> int:
    i = d.pick(is_array)
    return d.step("index", [i], f"{{0}}[{basic(d, np.shape(d.values[i]))}]")


@op
def fancy_index(d: Draft) -> int:
    i = d.pick(is_array)
    return d.step("index", [i], f"{{0}}[{fancy(d, np.shape(d.values[i]))}]")


def _integers(d: Draft, n: int, wild: bool) -> int:
    """Positions in an axis of n, values of the program; `wild` ones may lie outside."""
    if not n:
        raise Unusable("nothing to pick")

    def fits(x: Any) -> bool:
        x = np.asarray(x)
        inside = x.size == 0 or (x.min() >= -n and x.max() < n)
        return x.dtype.kind in "iu" and x.ndim < 3 and bool(inside)

    i = d.find(fits)
    if i is not None and d.chance(0.5) and not wild:
        return i
    dtype = np.dtype(d.one(["int64", "int64", "int32", "uint8"]))
    top = 3 * n + 2 if wild else n
    low = 0 if dtype.kind == "u" else -top
    return d.given(
        np.asarray(d.rng.integers(low, top, d.one([(), (2,), (3,), (2, 2), (1,)])), dtype)
    )


@op
def gather(d: Draft) -> int:
    i = d.pick(is_array)
    shape = np.shape(d.values[i])
    wild = d.chance(0.06)
    axis = d.number(0, len(shape) - 1)
    j = _integers(d, shape[axis], wild)
    if d.chance(0.25):
        return d.step("gather", [i, j], f"np.take({{0}}, {{1}}, axis={axis})")
    if is_array(d.values[j]) and axis + 1 < len(shape) and d.chance(0.2) and shape[axis + 1]:
        return d.step("gather", [i, j], f"{{0}}[{':, ' * axis}{{1}}, {shape[axis + 1] - 1}]")
    return d.step("gather", [i, j], f"{{0}}[{':, ' * axis}{{1}}]")


@op
def take_along_axis(d: Draft) -> int:
    i = d.pick(is_array)
    axis = axis_of(d, d.values[i])
    j = d.step("argsort", [i], f"np.argsort({{0}}, axis={axis})")
    return d.step("take_along_axis", [i, j], f"np.take_along_axis({{0}}, {{1}}, axis={axis})")


def _value_for(d: Draft, i: int, index: str) -> tuple[list[int], str]:
    """What may be written there: a number, or an array that broadcasts."""
    if d.prefers_number(0.4):
        return [], d.constant(np.asarray(d.values[i]).dtype)
    place = eval(f"x[{index}]", {"np": np, "x": d.values[i]})
    shape = np.shape(place)
    if shape and d.chance(0.3):
        shape = shape[1:]
    return [d.shaped(shape)], "{1}"


def _place(d: Draft, i: int) -> str:
    shape = np.shape(d.values[i])
    try:
        return basic(d, shape) if d.chance(0.6) else fancy(d, shape)
    except IndexError:
        raise Unusable("no place") from None


def _written_to(d: Draft) -> int:
    dtype = "float32" if d.chance(0.3) and "float32" in d.dtypes else "float64"
    return d.pick(lambda x: is_array(x) and is_float(x), shape=(3,), dtype=dtype)


@op
def at(d: Draft) -> int:
    i = _written_to(d)
    place = _place(d, i)
    args, value = _value_for(d, i, place)
    way = d.one(["set", "set", "add", "multiply"])
    return d.step("assign", [i, *args], f"nbgrad.at({{0}})[{place}].{way}({value})")


@op
def assign(d: Draft) -> int:
    i = _written_to(d)
    place = _place(d, i)
    args, value = _value_for(d, i, place)
    way = d.one(["=", "=", "+=", "*="])
    start = d.one(["{0} * 1.0", "np.copy({0})", "np.sin({0})"])
    return d.step("assign", [i, *args], f"{{out}} = {start}\n{{out}}[{place}] {way} {value}")


@op
def equal_to_python(d: Draft) -> int:
    """One array at two indices that are equal numbers in Python, and mean other elements."""
    i = d.pick(lambda x: np.ndim(x) > 0 and np.shape(x)[0] > 1 and is_float(x), shape=(2, 3))
    one, other = d.one([("1", "True"), ("0", "False"), ("True", "1")])
    j = d.step("equal_to_python", [i], f"{{0}}[{one}]")
    k = d.step("equal_to_python", [i], f"{{0}}[{other}]")
    return d.step("equal_to_python", [j, k], "np.sum({0}) * 2.0 + np.sum({1})")


@op
def shared(d: Draft) -> int:
    """One array read twice: turned round, and at positions that repeat. The cotangents of both come
    together in one buffer, whose order in memory the first decides."""
    i = d.pick(lambda x: is_float(x) and np.ndim(x) > 1 and np.size(x) > 0, shape=(2, 3))
    shape = np.shape(d.values[i])
    turned = d.step("shared", [i], "{0}.T * {0}.T")
    picked = [0, 0, shape[0] - 1]
    ways = f"{{0}}[np.array({picked})]", f"np.take({{0}}, {picked}, axis=0)", "np.sort({0})"
    chosen = d.step("shared", [i], d.one(ways))
    return d.step("shared", [turned, chosen], "np.sum({0}) + np.sum({1} * {1})")
