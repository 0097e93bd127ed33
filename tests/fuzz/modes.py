"""The ways to run a program eagerly, each held against the truth or against reverse mode.

A mode is a function of a `Case`; it raises Different where it finds something else. What raises
one of `REFUSALS` is counted as refused, and anything else that is raised is a failure as well.
"""

import contextlib
from collections.abc import Callable
from functools import cached_property, reduce
from typing import Any

import numpy as np

import nbgrad

from .oracle import Truth, epsilon, near, results, truth, values
from .programs import Program

REFUSALS = (nbgrad.NoRuleError, nbgrad.UntrackedError, nbgrad.TraceError, NotImplementedError)
Mode = Callable[["Case"], None]
MODES: dict[str, Mode] = {}


class Different(AssertionError):
    """A mode gives something else."""


class NotHere(Exception):
    """A mode that has nothing to say of a program."""


def mode(f: Mode) -> Mode:
    MODES[f.__name__.strip("_")] = f
    return f


class Case:
    """One program at its point, with what several modes need."""

    def __init__(self, program: Program, point: Truth | None = None):
        self.program = program
        self.rng = np.random.default_rng(program.seed + 1)
        self.point = truth(program, self.rng) if point is None else point
        self.f = program.function()
        self.weights = [
            np.asarray(self.rng.uniform(0.5, 1.5, np.shape(x)), np.asarray(x).dtype)
            if np.asarray(x).dtype.kind == "f" else None
            for x in self.point.values
        ]  # fmt: skip
        inputs = [x.value for x in program.inputs]
        self.rounding = max(
            epsilon(*self.point.values, *inputs), np.finfo("f4").eps * ("float32" in str(program.source))
        )
        self.rtol = 1e4 * self.rounding if self.rounding > 1e-10 else 1e-9

    @cached_property
    def args(self) -> list[Any]:
        return self.program.make()

    @cached_property
    def moving(self) -> tuple[Any, ...]:
        """The float arguments."""
        return tuple(self.args[k] for k in self.program.floats)

    @cached_property
    def directions(self) -> tuple[Any, ...]:
        return tuple(self.point.directions[k] for k in self.program.floats)

    def of_floats(self, *given: Any) -> tuple[Any, ...]:
        """The function of its float arguments alone: the float results in a tuple."""
        found = results(self.f(*self.filled(given)))
        return tuple(x for x, w in zip(found, self.weights, strict=True) if w is not None)

    def filled(self, given: Any) -> list[Any]:
        args = list(self.args)
        for k, x in zip(self.program.floats, given, strict=True):
            args[k] = x
        return args

    def scalar(self, *given: Any) -> Any:
        """One number: the float results against weights."""
        found = self.of_floats(*given)
        return reduce(
            lambda a, b: a + b, [np.sum(x * w) for x, w in zip(found, self.cts, strict=True)]
        )

    @cached_property
    def cts(self) -> tuple[Any, ...]:
        return tuple(w for w in self.weights if w is not None)

    def require_slopes(self) -> None:
        if not self.program.floats or not self.cts:
            raise NotHere

    @cached_property
    def gradients(self) -> tuple[Any, ...]:
        """By the pullback of the scalar: what the other modes are held against."""
        self.require_slopes()
        found = nbgrad.grad(self.scalar, tuple(range(len(self.moving))))(*self.moving)
        return tuple(map(plain, found))

    @cached_property
    def tangents(self) -> tuple[Any, ...]:
        """Along the directions, by forward mode."""
        self.require_slopes()
        return tuple(map(plain, nbgrad.jvp(self.of_floats, self.moving, self.directions)[1]))

    @cached_property
    def along(self) -> float:
        """The gradients along the directions."""
        return dot(self.gradients, self.directions)

    def alike(
        self, what: str, found: Any, expected: Any, rtol: float | None = None, scale: Any = None
    ) -> None:
        """Each found array is near the expected one. Raises Different."""
        found, expected = list(map(plain, found)), list(map(plain, expected))
        if len(found) != len(expected):
            raise Different(f"{what}: {len(found)} results for {len(expected)}")
        top = 1e-3 + max(
            [
                float(np.max(np.abs(x), initial=0.0))
                for x in map(np.asarray, expected)
                if x.dtype.kind == "f"
            ],
            default=0.0,
        )
        for x, y in zip(found, expected, strict=True):
            if not near(x, y, self.rtol if rtol is None else rtol, top if scale is None else scale):
                raise Different(f"{what}: {_shown(x)} for {_shown(y)}")

    def typed(self, what: str, found: Any, like: Any) -> None:
        """Each found array has the shape and dtype of the other."""
        for x, y in zip(found, like, strict=True):
            if kind(x) != kind(y):
                raise Different(f"{what}: {kind(x)} for {kind(y)}")


def kind(x: Any) -> str:
    x = np.asarray(plain(x))
    return f"{x.dtype}{list(x.shape)}"


def _shown(x: Any) -> str:
    return np.array2string(np.asarray(x), threshold=20, precision=6).replace("\n", "")


def dot(x: Any, y: Any) -> float:
    return float(
        sum(np.sum(np.asarray(a, float) * np.asarray(b, float)) for a, b in zip(x, y, strict=True))
    )


def plain(x: Any) -> Any:
    return x.data if isinstance(x, nbgrad.TrackedArray) else x


def tracked(x: Any) -> Any:
    return nbgrad.track(x)


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
                f"grad against differences: {c.along} for {expected}; gradients {[*map(_shown, c.gradients)]}"
            )
    pushed = dot(c.tangents, c.cts)
    terms += sum(
        float(np.sum(np.abs(np.asarray(t, float) * w)))
        for t, w in zip(c.tangents, c.cts, strict=True)
    )
    if not abs(c.along - pushed) <= c.rtol * (1e-3 + terms):
        raise Different(
            f"grad against jvp: {c.along} for {pushed}; gradients {[*map(_shown, c.gradients)]}"
        )


def _leaves(c: Case) -> tuple[list[Any], Any]:
    c.require_slopes()
    leaves = [tracked(x) for x in c.moving]
    total = c.scalar(*leaves)
    if not isinstance(total, nbgrad.TrackedArray):
        raise NotHere
    return leaves, total


@mode
def backward(c: Case) -> None:
    leaves, total = _leaves(c)
    total.backward()
    c.alike("backward", [_or_zero(x.grad, x) for x in leaves], c.gradients)


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
    c.alike("backward of each", [_or_zero(x.grad, x) for x in leaves], c.gradients)


@mode
def accum(c: Case) -> None:
    leaves, total = _leaves(c)
    total.grad = np.ones((), total.dtype)
    c.alike("accum", [_or_zero(nbgrad.accum(x), x) for x in leaves], c.gradients)


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
    for x, w in seeded:
        x.grad = w
    if c.program.feeds:
        raise NotHere
    c.alike("accum of seeds", [_or_zero(nbgrad.accum(x), x) for x in leaves], c.gradients)


def _or_zero(g: Any, x: Any) -> Any:
    return np.zeros(x.shape, x.dtype) if g is None else g


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
    outside = [tracked(x) if i % 2 else x for i, x in enumerate(c.moving)]
    for k in range(len(c.moving)):

        def one(x, k=k):
            return c.scalar(*[x if i == k else y for i, y in enumerate(outside)])

        given = nbgrad.grad(one)(c.moving[k])
        if isinstance(given, nbgrad.TrackedArray):
            raise Different(f"grad of argument {k}, others tracked outside: a tracked array")
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
        [_or_zero(g, np.asarray(x)) for g, x in zip(back(c.cts)[1:], c.moving, strict=True)],
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


class Model:
    """What holds parameters, as users write it."""

    def __init__(self, run: Callable, held: Any):
        self.run = run
        self.count = len(held)
        for i, x in enumerate(held):
            setattr(self, f"p{i}", x)

    def __call__(self, x):
        return self.run(x, *(getattr(self, f"p{i}") for i in range(self.count)))


@mode
def model(c: Case) -> None:
    """The first argument goes into a model; the others are what it holds."""
    c.require_slopes()
    if len(c.moving) < 2 or not all(isinstance(x, np.ndarray) for x in c.moving):
        raise NotHere
    held = Model(c.scalar, c.moving[1:])
    _, back = nbgrad.pullback(lambda m, x: m(x), held, c.moving[0])
    _, slopes, first = back(np.ones((), c.scalar(*c.moving).dtype))
    if slopes is None:
        raise Different("pullback of a model: None for what it holds")
    found = [getattr(slopes, f"p{i}") for i in range(held.count)]
    given = [_or_zero(g, x) for g, x in zip((first, *found), c.moving, strict=True)]
    c.alike("pullback of a model", given, c.gradients)


# -- higher derivatives ---------------------------------------------------------------------------


def _smooth(c: Case) -> None:
    c.require_slopes()
    if c.rounding > 1e-10:
        raise NotHere  # float32: differences of differences say little


def _along(c: Case, f: Callable, *given: Any) -> Any:
    return nbgrad.jvp(f, given, c.directions)[1]


def _second(c: Case) -> tuple[Any, ...]:
    """The Hessian times the directions: forward over reverse."""
    _smooth(c)
    every = tuple(range(len(c.moving)))
    return tuple(nbgrad.jvp(lambda *x: nbgrad.grad(c.scalar, every)(*x), c.moving, c.directions)[1])


@mode
def hvp(c: Case) -> None:
    _smooth(c)
    found = nbgrad.hvp(lambda x: c.scalar(*x))(tuple(c.moving), tuple(c.directions))
    expected = _second(c)
    c.alike("hvp", found, expected)
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
    _smooth(c)
    every = tuple(range(len(c.moving)))

    def slope(*x):
        pairs = zip(nbgrad.grad(c.scalar, every)(*x), c.directions, strict=True)
        return reduce(lambda a, b: a + b, [np.sum(g * u) for g, u in pairs])

    c.alike("grad of grad", nbgrad.grad(slope, every)(*c.moving), _second(c))


@mode
def backward_twice(c: Case) -> None:
    """A graph of a graph: backward of what vjp gives on tracked arrays."""
    _smooth(c)
    leaves = [tracked(x) for x in c.moving]
    slopes = nbgrad.vjp(c.scalar, *leaves)[1](np.ones(()))
    total = reduce(
        lambda a, b: a + b, [np.sum(g * u) for g, u in zip(slopes, c.directions, strict=True)]
    )
    if not isinstance(total, nbgrad.TrackedArray):
        raise NotHere
    total.backward()
    c.alike("backward of vjp", [_or_zero(x.grad, x) for x in leaves], _second(c))


@mode
def third_order(c: Case) -> None:
    """Forward thrice, and reverse over forward over forward."""
    _smooth(c)
    if c.program.length > 6:
        raise NotHere
    once = lambda *x: _along(c, c.scalar, *x)  # noqa: E731
    twice = lambda *x: _along(c, once, *x)  # noqa: E731
    thrice = plain(_along(c, twice, *c.moving))
    slopes = tuple(map(plain, nbgrad.grad(twice, tuple(range(len(c.moving))))(*c.moving)))
    size = 1.0 + sum(float(np.sum(np.abs(g))) for g in slopes)
    c.alike("third order", [dot(slopes, c.directions)], [thrice], 1e-7, size)
    curved = lambda *x: dot_of(nbgrad.grad(once, tuple(range(len(c.moving))))(*x), c.directions)  # noqa: E731
    c.alike(
        "grad of grad of jvp",
        nbgrad.grad(curved, tuple(range(len(c.moving))))(*c.moving),
        slopes,
        1e-7,
    )


def dot_of(x: Any, y: Any) -> Any:
    return reduce(lambda a, b: a + b, [np.sum(a * b) for a, b in zip(x, y, strict=True)])


@mode
def hessian(c: Case) -> None:
    _smooth(c)
    if np.size(c.moving[0]) > 9:
        raise NotHere
    u = c.directions[0]
    one = lambda x: c.scalar(x, *c.moving[1:])  # noqa: E731
    h = nbgrad.hessian(one)(c.moving[0])
    c.alike("hessian", [np.tensordot(plain(h), u, np.ndim(u))], [nbgrad.hvp(one)(c.moving[0], u)])


# -- samples --------------------------------------------------------------------------------------


def _batch(c: Case, size: int) -> tuple[list[Any], tuple[Any, ...]]:
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


def _rows(batched: Any, axes: Any, i: int) -> list[Any]:
    return [x if a is None else x[i] for x, a in zip(batched, axes, strict=True)]


@mode
def vmap(c: Case) -> None:
    """Against a loop on NumPy."""
    for size in (3, 1):
        batched, axes = _batch(c, size)
        found = results(nbgrad.vmap(c.f, axes)(*batched))
        rows = []
        for i in range(size):
            here = c.program.at(_rows(batched, axes, i))
            rows.append(values(here))
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
    _smooth(c)
    if c.program.length > 6:
        raise NotHere
    second = lambda x, u: nbgrad.hvp(lambda x: c.scalar(*x))(x, u)  # noqa: E731
    twice = [
        tuple(np.stack([np.asarray(x)] * 2) for x in many) for many in (c.moving, c.directions)
    ]
    found = nbgrad.vmap(second)(*twice)
    c.alike("vmap of hvp", [x[1] for x in found], second(tuple(c.moving), tuple(c.directions)))


# -- refusals -------------------------------------------------------------------------------------


def refuses(program: Program, run: Callable) -> None:
    """What NumPy refuses for its numbers, `run` must refuse with IndexError."""
    try:
        found = run()
    except IndexError:
        return
    raise Different(f"an index out of range is taken: {found}")


def refusing(program: Program) -> dict[str, Callable]:
    """The ways to run a program that must be refused."""
    f, args = program.function(), program.make()
    given = [tracked(x) if k in program.floats else x for k, x in enumerate(args)]
    twice = [np.stack([np.asarray(x)] * 2) for x in args]
    return {
        "value": lambda: f(*given),
        "vmap": lambda: nbgrad.vmap(f)(*twice),
        "grad": lambda: nbgrad.grad(lambda x: np.sum(f(*[x if k == program.floats[0] else y for k, y in enumerate(args)])))(
            args[program.floats[0]]
        ) if program.floats else f(*given),
    }  # fmt: skip
