"""Steps that choose and multiply: where, matrices, losses, integers, constants."""

from functools import partial
from typing import Any

import numpy as np

from .draft import Draft, is_array, is_float
from .vocabulary import OPS, broadcasts, op


@op
def where(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    j = d.find(lambda x: np.asarray(x).dtype == bool and broadcasts(x, d.values[i]))
    if j is None or d.chance(0.5):
        j = d.step("less", [i], f"{{0}} < {d.constant()}")
    k = d.find(lambda x: broadcasts(x, d.values[i], d.values[j]))
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


@op
def matmul(d: Draft) -> int:
    i = d.real(1)
    x: Any = np.shape(d.values[i])
    columns = d.number(0, 4)
    way = d.rng.random()
    if way < 0.35:
        return d.step(
            "matmul",
            [i, d.shaped((x[-1],))],
            d.one(["{0} @ {1}", "np.dot({0}, {1})"][: 2 if len(x) < 3 else 1]),
        )
    if way < 0.75:
        text = d.one(
            ["{0} @ {1}", "np.matmul({0}, {1})", "np.dot({0}, {1})"][: 3 if len(x) < 3 else 2]
        )
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
    if any(len({n for m, n in zip(letters, x, strict=True) if m == c}) > 1 for c in letters):
        letters = "ijk"[: len(x)]  # NumPy reads beyond a diagonal of unequal axes, one of them 0
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


def _linalg(d: Draft, name: str) -> int:
    n = d.number(1, 3)
    lead = (2,) if d.chance(0.2) else ()
    i = d.shaped((*lead, n, n), -0.4, 0.4)
    a = f"({{0}} + 2.0 * np.eye({n}))"
    if name == "solve":
        rest = d.one([(n,), (n, 2), (n, 0)]) if not lead else (2, n, 1)
        return d.step("solve", [i, d.shaped(rest)], f"np.linalg.solve({a}, {{1}})")
    if name == "solve_triangular":
        rest = d.one([(n,), (n, 2), (n, 0)]) if not lead else (2, n, 1)
        options = "".join(
            f", {key}" for key in ("trans=1", "lower=True", "unit_diagonal=True") if d.chance(0.4)
        )
        call = f"nbgrad.linalg.solve_triangular({a}, {{1}}{options})"
        return d.step("solve_triangular", [i, d.shaped(rest)], call)
    if name == "solve_banded":
        j = d.shaped((3, 4), 0.1, 0.4)
        rows = "{0} + 2.0 * np.eye(3)[1][:, None]"
        call = f"nbgrad.linalg.solve_banded((1, 1), {rows}, {{1}})"
        return d.step("solve_banded", [j, d.shaped(d.one([(4,), (4, 2)]))], call)
    if name == "expm":
        return d.step("expm", [i], "nbgrad.linalg.expm({0})")
    if name == "logabsdet":
        return d.step("logabsdet", [i], f"np.linalg.slogdet({a})[1]")
    if name == "cholesky":
        return d.step("cholesky", [i], f"np.linalg.cholesky({a} + np.swapaxes({{0}}, -1, -2))")
    return d.step(name, [i], f"np.linalg.{name}({a})")


for _name in (
    "solve", "inv", "det", "logabsdet", "cholesky", "solve_triangular", "solve_banded", "expm",
):  # fmt: skip
    OPS[_name] = partial(_linalg, name=_name)


def _loss(d: Draft, name: str) -> int:
    rows, labels = d.number(1, 3), d.number(1, 4)
    shape = (rows, labels) if d.chance(0.7) else (labels,)
    i = d.shaped(shape)
    if name == "label_cross_entropy":
        wild = 2 if d.chance(0.05) else 0
        j = d.given(np.asarray(d.rng.integers(0, labels + wild, shape[:-1])))
        return d.step(name, [i, j], "nbgrad.logit_cross_entropy({0}, {1})")
    if name == "cross_entropy":
        i = d.step("softmax", [i], "nbgrad.softmax({0}, axis=-1)")
    return d.step(name, [i, d.shaped(shape)], f"nbgrad.{name}({{0}}, {{1}})")


for _name in ("mse", "hinge_loss", "logit_cross_entropy", "label_cross_entropy", "cross_entropy"):
    OPS[_name] = partial(_loss, name=_name)


@op
def evalpoly(d: Draft) -> int:
    i = d.pick(is_float, dtype="float64")
    if d.chance(0.5):
        many = ", ".join(d.constant() for _ in range(d.number(1, 4)))
        return d.step("evalpoly", [i], f"nbgrad.evalpoly({{0}}, ({many},))")
    return d.step("evalpoly", [i, d.shaped((d.number(1, 4),))], "nbgrad.evalpoly({0}, {1})")


@op
def integer_power(d: Draft) -> int:
    i = d.pick()
    x = np.asarray(d.values[i])
    n = d.one([2, 3, 2, 0, 1, 5] if x.dtype.kind in "iub" else [2, 3, -1, -2, 0, 1, 4])
    if n < 0:
        i = d.within(i, 0.3, 2.5)
    return d.step("integer_power", [i], f"{{0}} ** {n}")


@op
def half_power(d: Draft) -> int:
    i = d.within(d.pick(), 0.3, 2.5)
    return d.step("half_power", [i], f"{{0}} ** {d.one([-1.5, -0.5, 0.5, 1.5, 2.5])}")


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
                  "np.abs({0})", "{0} * 0.5", "{0} * 1073741825",
                  "np.sign({0})", "{0} == 1"])  # fmt: skip
    return d.step("integers", [i], text)


@op
def copy(d: Draft) -> int:
    i = d.pick(lambda x: hasattr(x, "copy"))
    return d.step("copy", [i], d.one(["np.copy({0})", "{0}.copy()"]))


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
