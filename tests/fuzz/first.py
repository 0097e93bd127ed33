"""Eager modes: values, and first derivatives in each way, held against the oracle."""

import contextlib
from typing import Any

import numpy as np

import nbgrad

from .case import Case, Different, NotHere, dot, mode, or_zero, plain, shown, tracked
from .oracle import complex_tangents, results
from .reference import Reference

# -- values ---------------------------------------------------------------------------------------


@mode
def value(c: Case) -> None:
    """On tracked arrays: NumPy's values, shapes and dtypes; arguments stay as they were."""
    args = [tracked(x) if k in c.program.floats else x for k, x in enumerate(c.args)]
    found = [plain(x) for x in results(c.f(*args))]
    c.typed("values", found, c.point.values)
    c.alike("values", found, c.point.values)
    for x, before in zip(c.args, c.program.make(), strict=True):
        if not np.array_equal(x, before):
            raise Different("an argument was written to")


@mode
def plain_value(c: Case) -> None:
    """On plain arrays."""
    found = [plain(x) for x in results(c.f(*c.args))]
    c.typed("plain values", found, c.point.values)
    c.alike("plain values", found, c.point.values)


@mode
def masked(c: Case) -> None:
    """A masked array that the function closes over is refused, or keeps its mask as in NumPy."""
    inputs = c.program.inputs if c.program.length and hasattr(c.program, "steps") else ()
    closed = {i for i, x in enumerate(inputs) if x.role == "captured" and np.size(x.value)}
    if not closed:
        raise NotHere
    held = [hidden(x.make()) if i in closed else x.make() for i, x in enumerate(inputs)]
    try:
        expected = results(c.program.function(Reference(), held)(*c.args))
    except Exception:
        raise NotHere from None
    args = [tracked(x) if k in c.program.floats else x for k, x in enumerate(c.args)]
    try:
        found = results(c.program.function(None, held)(*args))
    except (TypeError, ValueError, IndexError, NotImplementedError):
        return
    for x, y in zip(found, expected, strict=True):
        if np.ma.is_masked(y) and not np.ma.is_masked(plain(x)):
            raise Different(f"a mask is dropped: {shown(plain(x))} for {shown(y)}")


def hidden(x: Any) -> Any:
    """The array with its first element masked."""
    mask = np.zeros(np.shape(x), bool)
    mask.flat[0] = True
    return np.ma.MaskedArray(x, mask)


# -- first derivatives ----------------------------------------------------------------------------


@mode
def differences(c: Case) -> None:
    """Forward mode against differences."""
    if c.point.tangents is None:
        raise NotHere
    expected = [t for t in c.point.tangents if t is not None]
    top = max([1e-2, *(float(np.max(np.abs(x), initial=0.0)) for x in c.point.values)])
    c.alike("jvp against differences", c.tangents, expected, 3e-6, top)


@mode
def complex_step(c: Case) -> None:
    """One op, to the last digits, far out too: small tails of slopes are not zero."""
    if (
        any(np.size(x) != 1 for x in c.moving)
        or c.program.length != 1
        or c.rounding > 1e-10
        or not c.program.floats
        # Slopes that are nothing but rounding: of a remainder, and of a loss that is 0.
        or c.program.ops() & {"polydiv", "logit_cross_entropy", "cross_entropy"}
        # Terms of one number cancel, as in x / x: a complex step rounds them, too.
        or any(len(set(s.args)) < len(s.args) for s in getattr(c.program, "steps", ()))
    ):
        raise NotHere
    expected = complex_tangents(c.program, c.point)
    if expected is None:
        raise NotHere
    pairs = [("jvp", x, y) for x, y in zip(c.tangents, expected, strict=True)]
    if all(np.size(x) == 1 for x in c.moving):
        pairs.append(("grad", np.asarray(c.along), np.asarray(dot(expected, c.cts))))
    for what, x, y in pairs:
        with np.errstate(all="ignore"):
            wrong = np.abs(x - y) > 1e-9 * np.abs(y) + 1e-290
        if np.any(wrong & np.isfinite(y)):
            raise Different(f"{what} against a complex step: {shown(x)} for {shown(y)}")


@mode
def grad(c: Case) -> None:
    """Reverse mode against differences along a direction, or against forward mode."""
    c.typed("gradients", c.gradients, c.moving)
    terms = sum(
        float(np.sum(np.abs(np.asarray(g, float) * u)))
        for g, u in zip(c.gradients, c.directions, strict=True)
    )
    top = max(
        [1e-2, *(float(np.max(np.abs(x), initial=0.0)) for x in c.point.values if np.size(x))]
    )
    if c.point.tangents is not None:
        expected = dot([t for t in c.point.tangents if t is not None], c.cts)
        if abs(c.along - expected) > 3e-6 * (terms + top * max(1, sum(map(np.size, c.cts)))):
            raise Different(
                f"grad against differences: {c.along} for {expected}; "
                f"gradients {[*map(shown, c.gradients)]}"
            )
    pushed = dot(c.tangents, c.cts)
    terms += sum(
        float(np.sum(np.abs(np.asarray(t, float) * w)))
        for t, w in zip(c.tangents, c.cts, strict=True)
    )
    if not abs(c.along - pushed) <= c.rtol * (1e-3 + terms):
        raise Different(
            f"grad against jvp: {c.along} for {pushed}; gradients {[*map(shown, c.gradients)]}",
            bool(np.isfinite(c.along) and np.isfinite(pushed)),
        )


def leaves_and_total(c: Case) -> tuple[list[Any], Any]:
    c.require_slopes()
    leaves = [tracked(x) for x in c.moving]
    total = c.scalar(*leaves)
    if not isinstance(total, nbgrad.TrackedArray):
        raise NotHere
    return leaves, total


@mode
def backward(c: Case) -> None:
    leaves, total = leaves_and_total(c)
    total.backward()
    c.alike("backward", [or_zero(x.grad, x) for x in leaves], c.gradients)


@mode
def backward_each(c: Case) -> None:
    """Each result's own backward, which add up."""
    c.require_slopes()
    leaves = [tracked(x) for x in c.moving]
    found = c.of_floats(*leaves)
    for x, w in zip(found, c.cts, strict=True):
        if isinstance(x, nbgrad.TrackedArray):
            with contextlib.suppress(nbgrad.GraphError):  # a constant
                x.backward(w, keep_graph=True)
    c.alike("backward of each", [or_zero(x.grad, x) for x in leaves], c.gradients)


@mode
def accum(c: Case) -> None:
    leaves, total = leaves_and_total(c)
    total.grad = np.ones((), total.dtype)
    c.alike("accum", [or_zero(nbgrad.accum(x), x) for x in leaves], c.gradients)


def _before(node: Any) -> list[Any]:
    """The nodes that a node was computed from."""
    found, rest = [], list(node.parents)
    while rest:
        parent = rest.pop()
        if parent is not None and parent not in found:
            found.append(parent)
            rest += parent.parents
    return found


@mode
def accum_seeds(c: Case) -> None:
    """Several seeds at once."""
    c.require_slopes()
    leaves = [tracked(x) for x in c.moving]
    found = c.of_floats(*leaves)
    seeded = [
        (x, w) for x, w in zip(found, c.cts, strict=True) if isinstance(x, nbgrad.TrackedArray)
    ]
    if len({id(x.node) for x, _ in seeded}) < len(seeded) or any(
        x.node is y.node for x, _ in seeded for y in leaves
    ):
        raise NotHere
    if any(x.node in _before(y.node) for x, _ in seeded for y, _ in seeded):
        raise NotHere  # a seed stands for all of a gradient
    for x, w in seeded:
        x.grad = w
    c.alike("accum of seeds", [or_zero(nbgrad.accum(x), x) for x in leaves], c.gradients)


@mode
def value_and_grad(c: Case) -> None:
    c.require_slopes()
    found, slopes = nbgrad.value_and_grad(c.scalar, tuple(range(len(c.moving))))(*c.moving)
    c.alike("value", [found], [c.scalar(*c.moving)])
    c.alike("value_and_grad", slopes, c.gradients)


@mode
def grad_of_one(c: Case) -> None:
    """Of one argument; the others are plain, or leaves outside."""
    c.require_slopes()
    c.require_own()
    outside = [tracked(x) if i % 2 else x for i, x in enumerate(c.moving)]
    for k in range(len(c.moving)):

        def one(x, k=k):
            return c.scalar(*[x if i == k else y for i, y in enumerate(outside)])

        given = nbgrad.grad(one)(c.moving[k])
        if isinstance(given, nbgrad.TrackedArray):  # it depends on the leaves
            given = given.data
        c.alike(f"grad of argument {k}", [given], [c.gradients[k]])


@mode
def vjp(c: Case) -> None:
    c.require_slopes()
    found, pull = nbgrad.vjp(c.of_floats, *c.moving)
    c.alike(
        "vjp's value",
        found,
        [v for v, w in zip(c.point.values, c.weights, strict=True) if w is not None],
    )
    for _ in range(2):
        c.alike("vjp", pull(c.cts), c.gradients)


@mode
def pullback(c: Case) -> None:
    c.require_slopes()
    _, back = nbgrad.pullback(c.of_floats, *c.moving)
    c.alike(
        "pullback",
        [or_zero(g, np.asarray(x)) for g, x in zip(back(c.cts)[1:], c.moving, strict=True)],
        c.gradients,
    )


@mode
def jvp(c: Case) -> None:
    c.typed("tangents", c.tangents, c.cts)
    found = nbgrad.jvp(c.scalar, c.moving, c.directions)[1]
    c.alike("jvp of the scalar", [found], [dot(c.tangents, c.cts)], scale=1.0 + abs(c.along))


@mode
def linearize(c: Case) -> None:
    c.require_slopes()
    _, push = nbgrad.linearize(c.of_floats, *c.moving)
    c.alike("linearize", push(*c.directions), c.tangents)
    c.alike("linearize.transpose", push.transpose(c.cts), c.gradients)


@mode
def linear_transpose(c: Case) -> None:
    c.require_slopes()
    moved = lambda *t: nbgrad.jvp(c.of_floats, c.moving, t)[1]  # noqa: E731
    back = nbgrad.linear_transpose(moved, *c.moving)
    c.alike("linear_transpose", back(c.cts), c.gradients)


def _jacobian(c: Case, how: str) -> None:
    c.require_slopes()
    c.require_own()
    for k, x in enumerate(c.moving):
        rows = sum(map(np.size, c.cts))
        if np.size(x) * rows > 900:
            raise NotHere

        def one(x, k=k):
            return c.of_floats(*[x if i == k else y for i, y in enumerate(c.moving)])

        if how == "optimal":
            found = [
                nbgrad.jacobian(lambda x, n=n: one(x)[n], mode=how)(x) for n in range(len(c.cts))
            ]
        else:
            found = nbgrad.jacobian(one, mode=how)(x)
        pulled = sum(
            np.tensordot(w, plain(j), np.ndim(w)) for j, w in zip(found, c.cts, strict=True)
        )
        c.alike(f"jacobian, {how}, of argument {k}", [pulled], [c.gradients[k]])


@mode
def jacobian_forward(c: Case) -> None:
    _jacobian(c, "forward")


@mode
def jacobian_reverse(c: Case) -> None:
    _jacobian(c, "reverse")


@mode
def jacobian_optimal(c: Case) -> None:
    _jacobian(c, "optimal")


@mode
def checkpoint(c: Case) -> None:
    c.require_slopes()
    if "nbgrad.track" in str(c.program) or "nbgrad.at" in c.program.source:
        raise NotHere  # a leaf among globals, which checkpoint refuses
    again = nbgrad.checkpoint(c.scalar)
    c.alike("checkpoint", nbgrad.grad(again, tuple(range(len(c.moving))))(*c.moving), c.gradients)
    c.alike(
        "jvp of checkpoint",
        [nbgrad.jvp(again, c.moving, c.directions)[1]],
        [dot(c.tangents, c.cts)],
        scale=1.0 + abs(c.along),
    )


@mode
def custom_rule(c: Case) -> None:
    """The function with its own pullback as a custom rule."""
    c.require_slopes()
    rule = nbgrad.custom_rule(
        c.scalar, pullback=lambda ct, out, *x: nbgrad.vjp(c.scalar, *x)[1](ct)
    )
    c.alike("custom_rule", nbgrad.grad(rule, tuple(range(len(c.moving))))(*c.moving), c.gradients)


@mode
def trees(c: Case) -> None:
    """All arguments in one nested argument."""
    c.require_slopes()
    tree = {"b": list(c.moving), "a": (c.moving[0],)}
    slopes = nbgrad.grad(lambda p: c.scalar(*p["b"]))(tree)
    c.alike("grad of a tree", slopes["b"], c.gradients)
