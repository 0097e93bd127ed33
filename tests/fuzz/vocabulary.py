"""What steps may be, beyond what the registry says by itself: ops whose arguments need thought.

An op is a function of the draft that adds its step and gives the number of its value. It draws
parameters that fit the shapes, and raises Unusable where nothing fits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .draft import Draft, is_array, is_float
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


@op
def softmax(d: Draft) -> int:
    name = d.one(["softmax", "logsoftmax", "logsumexp"])
    i = d.real(1)
    return d.step(name, [i], f"nbgrad.{name}({{0}}, axis={axis_of(d, d.values[i])})")


# -- indices --------------------------------------------------------------------------------------


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
def take_fancy(d: Draft) -> int:
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
    shape = d.one([(), (2,), (3,), (2, 2), (1,)])
    j = d.new(shape, d.one(["int64", "int64", "int32", "uint8"]))
    value = d.values[j]
    top = 3 * n + 2 if wild else n
    low = 0 if np.asarray(value).dtype.kind == "u" else -top
    drawn = d.rng.integers(low, top, shape)
    item = d.inputs[-1]
    made = int(drawn) if isinstance(item.value, int) else np.asarray(drawn, value.dtype)
    d.inputs[-1] = item._replace(value=made, layout="C")
    d.values[j] = d.inputs[-1].make()
    return j


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
    if d.chance(0.4):
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


@op
def at(d: Draft) -> int:
    i = d.pick(lambda x: is_array(x) and is_float(x), shape=(3,), dtype="float64")
    place = _place(d, i)
    args, value = _value_for(d, i, place)
    way = d.one(["set", "set", "add", "multiply"])
    return d.step("assign", [i, *args], f"nbgrad.at({{0}})[{place}].{way}({value})")


@op
def assign(d: Draft) -> int:
    i = d.pick(lambda x: is_array(x) and is_float(x), shape=(3,), dtype="float64")
    place = _place(d, i)
    args, value = _value_for(d, i, place)
    way = d.one(["=", "=", "+=", "*="])
    start = d.one(["{0} * 1.0", "np.copy({0})", "np.sin({0})"])
    return d.step("assign", [i, *args], f"{{out}} = {start}\n{{out}}[{place}] {way} {value}")


# -- layout ---------------------------------------------------------------------------------------


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
        f"np.roll({{0}}, {d.number(-3, 3)}, axis={a})", f"np.repeat({{0}}, {d.number(0, 3)}, axis={a})",
        f"np.tile({{0}}, {d.number(1, 2)})", f"np.tile({{0}}, (2, {d.number(0, 2)}))",
        f"np.roll({{0}}, {d.number(-3, 3)})", f"np.flip({{0}})", f"np.repeat({{0}}, 2)",
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


# -- choices and products -------------------------------------------------------------------------


@op
def where(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    j = d.find(lambda x: np.asarray(x).dtype == bool and _broadcasts(x, d.values[i]))
    if j is None or d.chance(0.5):
        j = d.step("less", [i], f"{{0}} < {d.constant()}")
    k = d.find(lambda x: _broadcasts(x, d.values[i], d.values[j]))
    if k is None or d.chance(0.3):
        other = d.constant() if d.chance(0.7) else "np.sqrt({0})"
        return d.step(
            "where", [j, i], f"np.where({{0}}, {{1}}, {other.replace('{0}', 'np.abs({1}) + 1.0')})"
        )
    return d.step("where", [j, i, k], d.one(["np.where({0}, {1}, {2})", "np.where({0}, {2}, {1})"]))


@op
def clip(d: Draft) -> int:
    low = d.number(-2, 0)
    return d.step(
        "clip",
        [d.pick()],
        d.one([f"np.clip({{0}}, {low}, {low + 2})", f"np.clip({{0}}, {low}, None)"]),
    )


def _broadcasts(*arrays: Any) -> bool:
    try:
        return int(np.prod(np.broadcast_shapes(*map(np.shape, arrays)))) <= 400
    except ValueError:
        return False


@op
def matmul(d: Draft) -> int:
    i = d.real(1)
    x = np.shape(d.values[i])
    columns = d.number(0, 4)
    way = d.rng.random()
    if way < 0.35:
        return d.step("matmul", [i, d.shaped((x[-1],))], d.one(["{0} @ {1}", "np.dot({0}, {1})"][: 2 if len(x) < 3 else 1]))
    if way < 0.75:
        text = d.one(["{0} @ {1}", "np.matmul({0}, {1})", "np.dot({0}, {1})"][: 3 if len(x) < 3 else 2])
        return d.step("matmul", [i, d.shaped((x[-1], columns))], text)
    if len(x) > 1:
        text = d.one(["{0} @ {1}", "np.dot({0}, {1})"][: 2 if len(x) < 3 else 1])
        return d.step("matmul", [d.shaped((x[-2],)), i], text)
    return d.step(
        "matmul", [i, i], d.one(["{0} @ {1}", "np.inner({0}, {1})", "np.outer({0}, {1})"])
    )


@op
def integer_matmul(d: Draft) -> int:
    i = d.pick(
        lambda x: np.ndim(x) == 2 and np.asarray(x).dtype.kind in "iub", shape=(2, 2), dtype="int64"
    )
    return d.step("matmul", [i], "{0} @ {0}.T")


@op
def einsum(d: Draft) -> int:
    i = d.pick(lambda x: is_array(x) and np.ndim(x) <= 3, shape=(2, 3))
    x = np.shape(d.values[i])
    letters = "".join(d.one("ijk"[: len(x)]) if d.chance(0.2) else "ijk"[a] for a in range(len(x)))
    result = "".join(c for c in dict.fromkeys(letters) if d.chance(0.5))
    if d.chance(0.4):
        return d.step("einsum", [i], f"np.einsum('{letters}->{result}', {{0}})")
    sizes = dict(zip(letters, x, strict=True))
    other = "".join(d.rng.permutation(list(dict.fromkeys(letters + "l")))[: d.number(0, 3)])
    sizes["l"] = d.number(0, 3)
    j = d.shaped(tuple(sizes[c] for c in other))
    kept = "".join(c for c in dict.fromkeys(letters + other) if d.chance(0.5))
    return d.step("einsum", [i, j], f"np.einsum('{letters},{other}->{kept}', {{0}}, {{1}})")


@op
def tensordot(d: Draft) -> int:
    i = d.real(1)
    x = np.shape(d.values[i])
    n = d.number(0, min(2, len(x)))
    j = d.shaped((*x[len(x) - n :], d.number(1, 2)))
    return d.step("tensordot", [i, j], f"np.tensordot({{0}}, {{1}}, {n})")


@op
def linalg(d: Draft) -> int:
    n = d.number(1, 3)
    lead = (2,) if d.chance(0.2) else ()
    i = d.shaped((*lead, n, n), -0.4, 0.4)
    a = f"({{0}} + 2.0 * np.eye({n}))"
    name = d.one(["solve", "inv", "det", "slogdet", "cholesky"])
    if name == "solve":
        rest = d.one([(n,), (n, 2), (n, 0)]) if not lead else (2, n, 1)
        return d.step("solve", [i, d.shaped(rest)], f"np.linalg.solve({a}, {{1}})")
    if name == "slogdet":
        return d.step("logabsdet", [i], f"np.linalg.slogdet({a})[1]")
    if name == "cholesky":
        return d.step("cholesky", [i], f"np.linalg.cholesky({a} + np.swapaxes({{0}}, -1, -2))")
    return d.step(name, [i], f"np.linalg.{name}({a})")


@op
def losses(d: Draft) -> int:
    rows, labels = d.number(1, 3), d.number(1, 4)
    shape = (rows, labels) if d.chance(0.7) else (labels,)
    way = d.one(["mse", "hinge_loss", "logit_cross_entropy", "labels", "cross_entropy"])
    i = d.shaped(shape)
    if way == "labels":
        j = d.new(shape[:-1], "int64")
        wild = 2 if d.chance(0.05) else 0
        value = d.rng.integers(0, labels + wild, shape[:-1])
        d.inputs[-1] = d.inputs[-1]._replace(
            value=value if shape[:-1] else np.asarray(value), layout="C"
        )
        d.values[j] = d.inputs[-1].make()
        return d.step("label_cross_entropy", [i, j], "nbgrad.logit_cross_entropy({0}, {1})")
    if way == "cross_entropy":
        i = d.step("softmax", [i], "nbgrad.softmax({0}, axis=-1)")
    return d.step(way, [i, d.shaped(shape)], f"nbgrad.{way}({{0}}, {{1}})")


@op
def evalpoly(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    if d.chance(0.5):
        many = ", ".join(d.constant() for _ in range(d.number(1, 4)))
        return d.step("evalpoly", [i], f"nbgrad.evalpoly({{0}}, ({many},))")
    return d.step("evalpoly", [i, d.shaped((d.number(1, 4),))], "nbgrad.evalpoly({0}, {1})")


@op
def power(d: Draft) -> int:
    i = d.pick()
    x = np.asarray(d.values[i])
    n = d.one([2, 3, 2, 0, 1, 5] if x.dtype.kind in "iub" else [2, 3, -1, -2, 0, 1, 4])
    if n < 0:
        i = d.within(i, 0.3, 2.5)
    return d.step("integer_power", [i], f"{{0}} ** {n}")


@op
def integers(d: Draft) -> int:
    """Arithmetic of integers and bools, with numbers of Python too."""
    i = d.pick(
        lambda x: np.asarray(x).dtype.kind in "iub",
        dtype=d.one(["int64", "int64", "int32", "uint8", "bool"]),
    )
    n = d.one([2, 3, 4, 5, -3])
    text = d.one([f"{{0}} // {n}", f"{{0}} % {n}", f"{{0}} * {n}", f"{{0}} + {n}", f"{{0}} / {n}",
                  f"np.maximum({{0}}, {n})", f"np.fmax({{0}}, {n})", f"np.fmod({{0}}, {n})",
                  "{0} * {0}", "np.sum({0})", "np.mean({0})", "np.floor({0})", "np.square({0})",
                  "np.abs({0})", "{0} * 0.5", "{0} * 1073741825", "np.sign({0})", "{0} == 1"])  # fmt: skip
    return d.step("integers", [i], text)


@op
def constant(d: Draft) -> int:
    shape = tuple(d.number(0, 3) for _ in range(d.number(1, 2)))
    text = d.one([f"np.ones({shape})", f"np.zeros({shape})", f"np.full({shape}, {d.constant()})",
                  f"np.arange({shape[0]})", f"np.eye({shape[0]})"])  # fmt: skip
    return d.step("constant", [], text)


@op
def alike(d: Draft) -> int:
    text = d.one(
        ["np.zeros_like({0})", "np.ones_like({0})", f"np.full_like({{0}}, {d.number(0, 2)})"]
    )
    return d.step("alike", [d.pick()], text)


@op
def track(d: Draft) -> int:
    text = d.one(
        [f"nbgrad.track({float(d.number(-2, 2))})", "nbgrad.track(np.array([0.5, -1.0, 2.0]))"]
    )
    return d.step("track", [], text)
