"""Steps that give another name, a view or a copy of an array."""

from collections.abc import Callable

import numpy as np

from ..draft import is_array
from ..indices import basic, fancy
from ..oracle import Unusable
from .draft import MemoryDraft

Op = Callable[[MemoryDraft], int]
VIEWS: dict[str, Op] = {}


def view(f: Op) -> Op:
    VIEWS[f.__name__.strip("_")] = f
    return f


def _viewed(d: MemoryDraft, rank: int = 1) -> int:
    """Mostly what can be written to, so that views are views of something that changes."""
    fits = lambda x: is_array(x) and np.ndim(x) >= rank  # noqa: E731
    if d.chance(0.94):
        return d.memory(fits)
    return d.pick(fits)


@view
def owned(d: MemoryDraft) -> int:
    """An array of the program's own: what may be written to."""
    moving = [i for i, x in enumerate(d.values) if d.tracked[i] and is_array(x)]
    if not moving:
        raise Unusable("no tracked array")
    i = d.one(moving)
    form = d.one([
        "{0} * 1.0", "{0} + 0.5", "{0}.copy()", "np.copy({0})", "np.sin({0})", "np.zeros_like({0})",
        "np.ones_like({0})", "np.full_like({0}, 0.25)", "{0} * {0}", "np.tanh({0})",
        "np.stack([{0}, {0} * 2.0])", "np.concatenate([{0}, {0}])", "np.outer({0}, {0})",
    ])  # fmt: skip
    return d.step("owned", [i], form)


@view
def alias(d: MemoryDraft) -> int:
    i = d.find(lambda x: True) if d.chance(0.2) else _viewed(d)
    if i is None:
        raise Unusable("nothing to name")
    form = d.one(["{0}", "{0}", "{0}", "[{0}][0]", '{{"a": {0}}}["a"]', "(lambda a: a)({0})"])
    return d.step("alias", [i], form)


@view
def sliced(d: MemoryDraft) -> int:
    i = _viewed(d)
    part = d.one(["1:", ":-1", "::2", "::-1", ":2", "...", ":", "..., None", "None", "0", "-1",
                  "..., 0", "..., 1:", "..., ::-1", "..., :1"])  # fmt: skip
    if d.chance(0.4):
        part = basic(d, np.shape(d.values[i]))
    return d.step("sliced", [i], f"{{0}}[{part}]")


@view
def turned(d: MemoryDraft) -> int:
    i = _viewed(d, 2)
    rank = np.ndim(d.values[i])
    a, b = (d.number(-rank, rank - 1) for _ in range(2))
    axes = tuple(int(k) for k in d.rng.permutation(rank))
    form = d.one([
        "{0}.T", "{0}.T", f"np.transpose({{0}}, {axes})", f"{{0}}.transpose({axes})",
        f"np.swapaxes({{0}}, {a}, {b})", f"{{0}}.swapaxes({a}, {b})",
        f"np.moveaxis({{0}}, {a}, {b})", "np.transpose({0})", "np.rot90({0})",
        "np.rot90({0}, 2)", "np.fliplr({0})", "np.flipud({0})", f"np.rollaxis({{0}}, {a})",
    ])  # fmt: skip
    return d.step("turned", [i], form)


@view
def reshaped(d: MemoryDraft) -> int:
    i = _viewed(d)
    n = np.size(d.values[i])
    if not n:
        raise Unusable("nothing to put in shape")
    shapes = [(n,), (-1,), (1, n), (n, 1), *((a, n // a) for a in range(2, n) if n % a == 0)]
    shape = d.one(shapes)
    source = d.one(["{0}", "{0}", "{0}.T", "{0}[::-1]", "{0}[None]", "np.flip({0}, -1)"])
    forms = [f"{source}.reshape({shape})", f"np.reshape({source}, {shape})", f"{source}.ravel()"]
    form = d.one([*forms, f"np.ravel({source})"])
    return d.step("reshaped", [i], form)


@view
def axes(d: MemoryDraft) -> int:
    i = _viewed(d)
    rank = np.ndim(d.values[i])
    form = d.one([
        "np.squeeze({0})", "{0}.squeeze()", f"np.expand_dims({{0}}, {d.number(-rank - 1, rank)})",
        "np.atleast_1d({0})", "np.atleast_2d({0})", "np.atleast_3d({0})", "np.flip({0})",
        f"np.flip({{0}}, {d.number(-rank, rank - 1)})",
    ])  # fmt: skip
    return d.step("axes", [i], form)


@view
def split(d: MemoryDraft) -> int:
    i = _viewed(d)
    rank = np.ndim(d.values[i])
    axis = d.number(0, rank - 1)
    n = np.shape(d.values[i])[axis]
    cut = d.number(0, n)
    form = d.one([
        f"np.split({{0}}, [{cut}], axis={axis})[{d.number(0, 1)}]",
        f"np.array_split({{0}}, 2, axis={axis})[{d.number(0, 1)}]",
        f"np.hsplit({{0}}, [{cut}])[1]", f"np.vsplit({{0}}, [{cut}])[0]",
    ])  # fmt: skip
    return d.step("split", [i], form)


@view
def rows(d: MemoryDraft) -> int:
    """What iteration gives."""
    i = _viewed(d)
    n = len(d.values[i])
    if not n:
        raise Unusable("no rows")
    form = d.one([
        f"list({{0}})[{d.number(-n, n - 1)}]", "next(iter({0}))", "[row for row in {0}][-1]",
        "{out}, *_ = {0}", "*_, {out} = {0}", "for {out} in {0}:\n    pass",
        "for _, {out} in enumerate({0}):\n    pass",
        "for {out}, _ in zip({0}, {0}):\n    break",
    ])  # fmt: skip
    return d.step("rows", [i], form)


@view
def shown(d: MemoryDraft) -> int:
    """Views that cannot be written to."""
    i = _viewed(d)
    shape = np.shape(d.values[i])
    form = d.one([f"np.broadcast_to({{0}}, {(2, *shape)})", "np.diagonal({0})", "np.diag({0})",
                  "{0}.diagonal()"])  # fmt: skip
    return d.step("shown", [i], form)


@view
def copied(d: MemoryDraft) -> int:
    """Where NumPy copies."""
    i = _viewed(d)
    forms = [
        "{0}.copy()", "np.copy({0})", "{0}.flatten()", "{0} + 0.0", "np.where(True, {0}, 0.0)",
        "np.concatenate([{0}])", "np.roll({0}, 0)", "np.repeat({0}, 1)", "np.positive({0})",
        "np.tril(np.atleast_2d({0}))", "np.sort({0})", "np.clip({0}, -1.0, 1.0)",
        "np.stack([{0}])", "np.tile({0}, 1)", "{0}.astype(np.float64)", "np.pad({0}, 0)",
        "np.take({0}, [0])", "np.array({0})", "np.maximum({0}, {0})", "np.compress([True], {0})",
    ]  # fmt: skip
    form = f"{{0}}[{fancy(d, np.shape(d.values[i]))}]" if d.chance(0.4) else d.one(forms)
    return d.step("copied", [i], form)


@view
def saved(d: MemoryDraft) -> int:
    """What a pullback reads later: it is not what is written to the array since."""
    i = _viewed(d)
    form = d.one(["{0} * {0}", "np.sin({0})", "np.exp(-{0})", "{0} ** 2", "np.sum({0} * {0})",
                  "np.max({0})", "np.tanh({0})", "1.0 / (2.0 + np.cos({0}))", "np.cumprod({0})",
                  "np.linalg.norm({0} + 3.0)", "{0} @ {0}"])  # fmt: skip
    return d.step("saved", [i], form)
