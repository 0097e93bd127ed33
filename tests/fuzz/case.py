"""A program at its point, and what modes need of it.

A mode is a function of a `Case`; it raises Different where it finds something else than the oracle.
"""

from collections.abc import Callable
from functools import cached_property, reduce
from typing import Any

import numpy as np

import nbgrad

from .oracle import Truth, epsilon, near, results, truth
from .programs import Program

REFUSALS = (
    nbgrad.NoRuleError, nbgrad.UntrackedError, nbgrad.TraceError, nbgrad.GraphError,
    NotImplementedError,
)  # fmt: skip
Mode = Callable[["Case"], None]
MODES: dict[str, Mode] = {}


class Different(AssertionError):
    """A mode gives something else, by `gap` where that is known, from numbers of this size;
    `finite` where it is numbers and so is what was expected."""

    def __init__(
        self, message: str, finite: bool = True, gap: np.ndarray | None = None, size: float = 1.0
    ):
        super().__init__(message)
        self.finite, self.gap, self.size = finite, gap, size


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
        narrow = float(np.finfo(np.float32).eps) if "float32" in str(program) else 0.0
        self.rounding = max(epsilon(*self.point.values, *inputs), narrow)
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

    def require_own(self) -> None:
        """Nothing is written to that is made of arguments alone that stay plain: an op keeps plain
        arrays as they are given to it, and so does its pullback."""
        if len(self.moving) > 1 and any(step.writes for step in self.program.steps):
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
                alike = np.shape(x) == np.shape(y)
                apart = np.asarray(x, float) - np.asarray(y, float) if alike else None
                finite = bool(np.all(np.isfinite(x)) and np.all(np.isfinite(y)))
                raise Different(f"{what}: {shown(x)} for {shown(y)}", finite, apart, top)

    def typed(self, what: str, found: Any, like: Any) -> None:
        """Each found array has the shape and dtype of the other."""
        for x, y in zip(found, like, strict=True):
            if kind(x) != kind(y):
                raise Different(f"{what}: {kind(x)} for {kind(y)}")


def kind(x: Any) -> str:
    x = np.asarray(plain(x))
    return f"{x.dtype.newbyteorder('=')}{list(x.shape)}"


def shown(x: Any) -> str:
    return np.array2string(np.asarray(x), threshold=20, precision=6).replace("\n", "")


def dot(x: Any, y: Any) -> float:
    return float(
        sum(np.sum(np.asarray(a, float) * np.asarray(b, float)) for a, b in zip(x, y, strict=True))
    )


def plain(x: Any) -> Any:
    return x.data if isinstance(x, nbgrad.TrackedArray) else x


def tracked(x: Any) -> Any:
    return nbgrad.track(x)


def or_zero(g: Any, x: Any) -> Any:
    return np.zeros(x.shape, x.dtype) if g is None else g


def dot_of(x: Any, y: Any) -> Any:
    return reduce(lambda a, b: a + b, [np.sum(a * b) for a, b in zip(x, y, strict=True)])


def smooth(c: Case) -> None:
    c.require_slopes()
    if c.rounding > 1e-10:
        raise NotHere  # float32: differences of differences say little
    if c.point.tangents is None:
        raise NotHere  # a kink, or nothing to differ: slopes of slopes may be anything


def along(c: Case, f: Callable, *given: Any) -> Any:
    return nbgrad.jvp(f, given, c.directions)[1]


def second(c: Case) -> tuple[Any, ...]:
    """The Hessian times the directions: forward over reverse."""
    smooth(c)
    every = tuple(range(len(c.moving)))
    return tuple(nbgrad.jvp(lambda *x: nbgrad.grad(c.scalar, every)(*x), c.moving, c.directions)[1])


def steepness(c: Case) -> float:
    """How large first derivatives are: the rounding of the second is relative to them, too."""
    return 1e-3 + max(float(np.max(np.abs(g), initial=0.0)) for g in c.gradients)
