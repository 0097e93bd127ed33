"""Eager modes: derivatives of derivatives, and samples."""

from functools import reduce
from typing import Any

import numpy as np

import nbgrad

from .case import (
    Case,
    NotHere,
    along,
    dot,
    dot_of,
    mode,
    or_zero,
    plain,
    second,
    smooth,
    steepness,
    tracked,
)
from .oracle import near, results, values


@mode
def hvp(c: Case) -> None:
    smooth(c)
    found = nbgrad.hvp(lambda x: c.scalar(*x))(tuple(c.moving), tuple(c.directions))
    expected = second(c)
    c.alike("hvp", found, expected, scale=steepness(c))
    if c.point.tangents is None or "stop_gradient" in c.program.source:
        return
    step = 1e-4
    every = tuple(range(len(c.moving)))
    there = [
        list(
            map(
                plain,
                nbgrad.grad(c.scalar, every)(
                    *[x + s * step * u for x, u in zip(c.moving, c.directions, strict=True)]
                ),
            )
        )
        for s in (1, -1, 0.5, -0.5)
    ]
    wide = [(a - b) / (2 * step) for a, b in zip(there[0], there[1], strict=True)]
    fine = [(a - b) / step for a, b in zip(there[2], there[3], strict=True)]
    top = 1.0 + max([float(np.max(np.abs(x), initial=0.0)) for x in (*wide, *c.gradients)])
    if all(near(a, b, 1e-5, top) for a, b in zip(wide, fine, strict=True)):
        c.alike("hvp against differences of gradients", found, fine, 1e-4, top)


@mode
def grad_of_grad(c: Case) -> None:
    smooth(c)
    every = tuple(range(len(c.moving)))

    def slope(*x):
        pairs = zip(nbgrad.grad(c.scalar, every)(*x), c.directions, strict=True)
        return reduce(lambda a, b: a + b, [np.sum(g * u) for g, u in pairs])

    found = nbgrad.grad(slope, every)(*c.moving)
    c.alike("grad of grad", found, second(c), scale=steepness(c))


@mode
def backward_twice(c: Case) -> None:
    """A graph of a graph: backward of what vjp gives on tracked arrays."""
    smooth(c)
    leaves = [tracked(x) for x in c.moving]
    slopes = nbgrad.vjp(c.scalar, *leaves)[1](np.ones(()))
    total = reduce(
        lambda a, b: a + b, [np.sum(g * u) for g, u in zip(slopes, c.directions, strict=True)]
    )
    if not isinstance(total, nbgrad.TrackedArray):
        raise NotHere
    total.backward()
    found = [or_zero(x.grad, x) for x in leaves]
    c.alike("backward of vjp", found, second(c), scale=steepness(c))


@mode
def third_order(c: Case) -> None:
    """Forward thrice, and reverse over forward over forward."""
    smooth(c)
    if c.program.length > 6:
        raise NotHere
    once = lambda *x: along(c, c.scalar, *x)  # noqa: E731
    twice = lambda *x: along(c, once, *x)  # noqa: E731
    thrice = plain(along(c, twice, *c.moving))
    slopes = tuple(map(plain, nbgrad.grad(twice, tuple(range(len(c.moving))))(*c.moving)))
    size = 1.0 + sum(float(np.sum(np.abs(g))) for g in slopes)
    c.alike("third order", [dot(slopes, c.directions)], [thrice], 1e-7, size)
    curved = lambda *x: dot_of(nbgrad.grad(once, tuple(range(len(c.moving))))(*x), c.directions)  # noqa: E731
    c.alike(
        "grad of grad of jvp",
        nbgrad.grad(curved, tuple(range(len(c.moving))))(*c.moving),
        slopes,
        1e-7,
        size,
    )


@mode
def hessian(c: Case) -> None:
    smooth(c)
    if np.size(c.moving[0]) > 9:
        raise NotHere
    u = c.directions[0]
    one = lambda x: c.scalar(x, *c.moving[1:])  # noqa: E731
    h = nbgrad.hessian(one)(c.moving[0])
    c.alike("hessian", [np.tensordot(plain(h), u, np.ndim(u))], [nbgrad.hvp(one)(c.moving[0], u)])


# -- samples --------------------------------------------------------------------------------------


def batch(c: Case, size: int) -> tuple[list[Any], tuple[Any, ...]]:
    """Samples of every second argument, the rest shared; integers have samples too."""
    batched, axes = [], []
    for k, x in enumerate(c.args):
        if k % 2 and k != 0:
            batched.append(x)
            axes.append(None)
            continue
        x = np.asarray(x)
        scale = 0.01 * np.arange(size).reshape(-1, *[1] * x.ndim) * (x.dtype.kind == "f")
        batched.append(
            np.asarray((x + scale), x.dtype)
            if x.dtype.kind == "f"
            else np.array([x] * size, x.dtype).reshape(size, *x.shape)
        )
        axes.append(0)
    return batched, tuple(axes)


def rows_of(batched: Any, axes: Any, i: int) -> list[Any]:
    return [x if a is None else x[i] for x, a in zip(batched, axes, strict=True)]


def at_sample(c: Case, args: list[Any]) -> tuple[Any, ...]:
    """NumPy's values there. Raises NotHere where NumPy refuses the numbers of a sample."""
    try:
        return values(c.program.at(args))
    except Exception as error:
        raise NotHere from error


@mode
def vmap(c: Case) -> None:
    """Against a loop on NumPy."""
    for size in (3, 1):
        batched, axes = batch(c, size)
        for i in range(size):
            at_sample(c, rows_of(batched, axes, i))
        found = results(nbgrad.vmap(c.f, axes)(*batched))
        rows = []
        for i in range(size):
            rows.append(at_sample(c, rows_of(batched, axes, i)))
        expected = [np.stack([np.asarray(r[n]) for r in rows]) for n in range(len(found))]
        if not all(np.all(np.isfinite(x)) for x in expected):
            raise NotHere
        c.typed("vmap", found, expected)
        c.alike("vmap", found, expected)


@mode
def vmap_of_grad(c: Case) -> None:
    """Gradients of samples, and the gradient of a sum over samples, against a loop."""
    c.require_slopes()
    size = 3
    moving = [
        np.stack([np.asarray(x) + 0.01 * i for i in range(size)]).astype(np.asarray(x).dtype)
        for x in c.moving
    ]
    every = tuple(range(len(moving)))
    for i in range(size):
        at_sample(c, c.filled([x[i] for x in moving]))
    rows = [
        list(map(plain, nbgrad.grad(c.scalar, every)(*[x[i] for x in moving]))) for i in range(size)
    ]
    expected = [np.stack([np.asarray(r[k]) for r in rows]) for k in every]
    if not all(np.all(np.isfinite(x)) for x in expected):
        raise NotHere
    c.alike("vmap of grad", nbgrad.vmap(nbgrad.grad(c.scalar, every))(*moving), expected)
    total = lambda *x: np.sum(nbgrad.vmap(c.scalar)(*x))  # noqa: E731
    c.alike("grad of vmap", nbgrad.grad(total, every)(*moving), expected)
    pushed = nbgrad.jvp(total, tuple(moving), tuple(np.ones_like(x) for x in moving))[1]
    c.alike(
        "jvp of vmap",
        [pushed],
        [sum(float(np.sum(x)) for x in expected)],
        scale=1.0 + sum(float(np.sum(np.abs(x))) for x in expected),
    )


@mode
def vmap_of_vmap(c: Case) -> None:
    c.require_slopes()
    moving = [np.stack([np.stack([np.asarray(x)] * 2)] * 2) for x in c.moving]
    found = nbgrad.vmap(nbgrad.vmap(c.of_floats))(*moving)
    once = c.of_floats(*c.moving)
    c.alike("vmap of vmap", [x[1][0] for x in found], [plain(x) for x in once])


@mode
def vmap_of_hvp(c: Case) -> None:
    smooth(c)
    if c.program.length > 6:
        raise NotHere
    second = lambda x, u: nbgrad.hvp(lambda x: c.scalar(*x))(x, u)  # noqa: E731
    twice = [
        tuple(np.stack([np.asarray(x)] * 2) for x in many) for many in (c.moving, c.directions)
    ]
    found = nbgrad.vmap(second)(*twice)
    c.alike("vmap of hvp", [x[1] for x in found], second(tuple(c.moving), tuple(c.directions)))
