"""Test cases from the registry: calls, points, and reference functions.

A `Case` is one row with shapes, parameters and a dtype. `draw` makes a `Point` of it: arguments
that lie away from kinks and steps, a direction for each differentiable argument, and a cotangent.
What a row means in NumPy, and which calls to make, the row says itself.
"""

import inspect
import itertools
import os
import pkgutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbgrad
from nbgrad.core.primitive import Primitive, bind
from nbgrad.rules.families import Dominant, Elementwise, Interval, Sample

PLAIN_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether kernels run as plain Python, so that all cases are cheap. Otherwise most of them run only
with `-m full`, because each one compiles kernels."""

F64, F32 = np.dtype(np.float64), np.dtype(np.float32)
COMPILED_F32 = set("add exp index log matmul maximum multiply softmax sum tanh where".split())
COMPILED_BROADCASTS = {"multiply"}
KIN = set(
    "loggamma betaln beta gamma rgamma stdtr gammainc gammaincc riemann_zeta erfcx erfcinv ndtr "
    "ndtri j0 y0 y1 "
    "yv i0e i1e iv ive k0 k1 k0e k1e kv exp1 expi boxcox1p inv_boxcox inv_boxcox1p xlog1py entr "
    "rel_entr huber pseudo_huber log_expit".split()
)
"""Rows of the same form as another that is compiled. Their kernels are compiled in tests/special,
against SciPy and mpmath; the rest of their tests with `-m full`."""

EXEMPT = {
    "cond", "full", "labels", "loop", "one_hot", "random_integers", "random_normal",
    "random_permutation", "random_uniform",
}  # fmt: skip
"""Rows with tests of their own, or that no call of a user reaches on a tracked array: `full` is a
constant inside of static programs, `labels` and `one_hot` take labels, a `loop` has a recorded
body, a `cond` two, and draws take states."""

SHAPES = ((), (3,), (2, 3), (0, 3), (1,), (1, 1))
# Pairs that broadcast; `float` is a Python number, and the last does not collapse to two axes.
PAIRS = (
    ((2, 1), (1, 3)),
    ((2, 1), (2, 3)),
    ((3,), (2, 3)),
    ((2, 3), (3,)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((1, 1), (3,)),
    ((0, 3), (1, 3)),
    (float, (3,)),
    ((3,), float),
    ((2, 1, 3), (4, 1)),
)


def reference(row: Primitive) -> Callable:
    """Return the reference function of a row, by default its own function."""
    if isinstance(row.reference, str):
        return pkgutil.resolve_name(row.reference)
    if row.reference is not None:
        return row.reference
    if row.function is None:
        raise ValueError(
            f"the row {row.name} names no NumPy function: say what it means with reference=..."
        )
    return row.function if isinstance(row, Elementwise) else _spelled(row.function)


def _spelled(function: Callable) -> Callable:
    """A NumPy function that takes the arguments of a row: `axes`, and arrays one by one."""
    if isinstance(function, np.ufunc):
        return function
    names = inspect.signature(function).parameters

    def call(*args, **params):
        if "axes" in params and "axes" not in names:
            params["axis"] = params.pop("axes")
        return function(args, **params) if "arrays" in names else function(*args, **params)

    return call


# -- points ---------------------------------------------------------------------------------------


class Point(NamedTuple):
    """A point of a case: arguments, directions of differentiable arguments, and a cotangent."""

    args: tuple[Any, ...]
    directions: dict[int, np.ndarray]
    ct: np.ndarray

    def moved(self, position: int, t: float) -> tuple[Any, ...]:
        """Return the arguments, with one of them moved by t along its direction."""
        args = list(self.args)
        args[position] = args[position] + t * self.directions[position]
        return tuple(args)

    def cast(self, dtype: np.dtype) -> "Point":
        """Return the same point in another dtype; numbers, conditions and labels do not change."""
        return Point(
            tuple(a.astype(dtype) if is_float_array(a) else a for a in self.args),
            {i: u.astype(dtype) for i, u in self.directions.items()},
            self.ct.astype(dtype),
        )


class Case(NamedTuple):
    """A call of a row. An element of `args` is a shape to draw, `float` for a Python number, or the
    argument itself, if `given` is true."""

    row: Primitive
    args: tuple[Any, ...]
    params: dict[str, Any]
    domains: tuple[Interval, ...]
    given: tuple[bool, ...]
    dtype: np.dtype
    compiled: bool

    @property
    def name(self) -> str:
        specs = [_spec(arg, given) for arg, given in zip(self.args, self.given, strict=True)]
        params = [f"{key}={_text(value)}" for key, value in self.params.items()]
        dtype = {F64: "f64", F32: "f32"}[self.dtype]
        return "-".join([self.row.name, "x".join(specs), *params, dtype])

    @property
    def positions(self) -> tuple[int, ...]:
        """The array arguments that have a derivative."""
        row = self.row
        partials = row.partials if isinstance(row, Elementwise) else self.args
        return tuple(
            i
            for i, (arg, given) in enumerate(zip(self.args, self.given, strict=True))
            if arg is not float and not given and row.differentiable and partials[i] is not None
        )

    def __call__(self, *args):
        """The row on any kind of arguments."""
        return bind(self.row, *args, **self.params)

    def draw(self) -> Point:
        """A point of the case's dtype, the same at every call and in both dtypes."""
        name = self.name.rsplit("-", 1)[0]
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        for _ in range(2000):
            args = tuple(self._argument(rng, i) for i in range(len(self.args)))
            directions = {i: _direction(rng, args[i].shape) for i in self.positions}
            out = np.asarray(self(*args))
            ct = _direction(rng, out.shape)
            point = Point(args, directions, ct)
            if all(self._smooth(point, i) for i in self.positions):
                return point.cast(self.dtype)
        raise AssertionError(f"{self.name}: no point away from kinks: are the domains right?")

    def _argument(self, rng: np.random.Generator, position: int) -> Any:
        spec = self.args[position]
        if self.given[position]:
            return spec
        domain = self.domains[position]
        low, high = domain
        # Numbers that float32 holds exactly, so that both dtypes compute at one point.
        drawn = rng.uniform(low, high, () if spec is float else spec).astype(F32)
        if isinstance(domain, Dominant) and drawn.shape[-1:] == drawn.shape[-2:-1]:
            drawn += 2 * np.eye(drawn.shape[-1], dtype=F32)
        if position in getattr(self.row, "conditions", ()):
            return np.asarray(drawn > (low + high) / 2)
        return float(drawn) if spec is float else np.asarray(drawn, F64)

    def _smooth(self, point: Point, position: int, step: float = 0.005) -> bool:
        """Whether the slopes to the left and to the right agree, well beyond where differences
        are taken: false near kinks, ties and steps."""
        values = {k: np.asarray(self(*point.moved(position, k * step))) for k in range(-3, 4)}
        right, left = (
            -11 * values[0] + 18 * values[k] - 9 * values[2 * k] + 2 * values[3 * k]
            for k in (1, -1)
        )
        return bool(np.all(abs(right + left) <= 0.03 * (abs(right) + abs(left)) + 1e-9))


def _direction(rng: np.random.Generator, shape) -> np.ndarray:
    """Random numbers, none of them small."""
    drawn = rng.uniform(0.5, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
    return np.asarray(drawn.astype(F32), F64)


def is_float_array(x) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


# -- cases ----------------------------------------------------------------------------------------


def cases_of(row: Primitive, dtype: np.dtype = F64) -> list[Case]:
    """All calls of a row that are tested. Raises ValueError for a row that does not say any."""
    if not row.samples:
        raise ValueError(f"the row {row.name} has no samples, so nothing would test it")
    if isinstance(row, Elementwise):
        if len(row.domains) != row.arity:
            raise ValueError(f"the row {row.name} has no domain for each of its arguments")
        calls = [
            Sample(specs, params) for params in row.samples for specs in _specs(row, row.arity)
        ]
    else:
        calls = list(row.samples)
    cases = []
    for i, call in enumerate(calls):
        given = tuple(not _is_drawn(arg) for arg in call.args)
        domains = row.domains if isinstance(row, Elementwise) else (call.domain,) * len(given)
        compiled = _is_compiled(row, call, i, dtype)
        cases.append(Case(row, call.args, call.params, domains, given, dtype, compiled))
    return cases


def _specs(row: Elementwise, arity: int) -> list[tuple]:
    """Specs of the arguments of an elementwise row, equal ones first."""
    equal = [(shape,) * arity for shape in ((3,), (2, 3), *SHAPES)]
    if arity == 1:
        mixed = []
    elif arity == 2:
        mixed = list(PAIRS)
    else:
        mixed = [specs for a, b in PAIRS for specs in ((a, b, a), (b, a, a), (a, a, b))]
    return list(dict.fromkeys(equal + [specs for specs in mixed if _is_usable(row, specs)]))


def _is_usable(row: Elementwise, specs: tuple) -> bool:
    """A condition is an array, since a number is no choice; so is some argument with a
    derivative."""
    numbers = {i for i, spec in enumerate(specs) if spec is float}
    conditions = set(row.conditions)
    plain = numbers | conditions | set(row.refusals)
    return not numbers & conditions and plain != set(range(row.arity))


def _is_drawn(arg) -> bool:
    return arg is float or (isinstance(arg, tuple) and all(isinstance(n, int) for n in arg))


def _is_compiled(row: Primitive, call: Sample, number: int, dtype: np.dtype) -> bool:
    """Whether the default run compiles this case; `-m full` compiles the others."""
    if row.name in KIN or (dtype == F32 and row.name not in COMPILED_F32):
        return False
    if row.name in COMPILED_BROADCASTS:
        return dtype == F64 or number < 2
    return number < 2 and (not isinstance(row, Elementwise) or call.params == row.samples[0])


def rows(differentiable: bool | None = None) -> list[Primitive]:
    """The rows of the registry, or those with or without a derivative."""
    every = [row for row in Primitive.registry.values() if row.name not in EXEMPT]
    return [row for row in every if differentiable in (None, row.differentiable)]


def table(dtypes: Sequence[np.dtype] = (F64,), choose: Callable[[Case], bool] | None = None):
    """Decorator: the test gets `case`, for every call of every differentiable row."""
    cases = [c for row in rows(True) for dtype in dtypes for c in cases_of(row, dtype)]
    return parametrize([case for case in cases if choose is None or choose(case)])


def parametrize(cases: Sequence[Case]):
    """Decorator: the test gets `case`; what the default run does not compile is marked `full`."""
    named = [pytest.param(case, id=case.name, marks=marks(case.compiled)) for case in cases]
    return pytest.mark.parametrize("case", named)


def marks(compiled: bool) -> tuple:
    """The marks of a test that the default run makes with compiled kernels, or does not."""
    return () if PLAIN_PYTHON or compiled else (pytest.mark.full,)


def vectors(*dtypes: np.dtype) -> list[Case]:
    """One case for each elementwise row and each of its parameters, of 1-D arrays."""
    return [
        case
        for row in rows(True)
        if isinstance(row, Elementwise)
        for dtype in dtypes
        for case in cases_of(row, dtype)
        if set(case.args) == {(3,)}
    ]


def _spec(arg, given: bool) -> str:
    if arg is float:
        return "float"
    return _text(arg)


def _text(value) -> str:
    text = str(value.tolist()) if isinstance(value, np.ndarray) else str(value)
    return text.replace(" ", "")


# -- what is computed -----------------------------------------------------------------------------


def subsets(positions: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every choice of at least one position."""
    for count in range(1, len(positions) + 1):
        yield from itertools.combinations(positions, count)


def track(args: Sequence, positions: Sequence[int]) -> list[Any]:
    """The arguments, those at `positions` as leaves."""
    return [nbgrad.track(a) if i in positions else a for i, a in enumerate(args)]


def gradients(case: Case, point: Point, positions: Sequence[int], **options) -> dict[int, Any]:
    """Gradients of `ct . value` for the arguments at `positions`, by backward."""
    args = track(point.args, positions)
    case(*args).backward(point.ct, **options)
    return {i: args[i].grad for i in positions}


def difference(f: Callable[[float], Any], step: float = 1e-3) -> Any:
    """The derivative of f at 0 by central differences of order 4."""
    return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step)


def dot(x, y) -> float:
    return float(np.sum(np.asarray(x, F64) * np.asarray(y, F64)))


def assert_slope(found, direction, f: Callable[[float], float], terms, rtol: float = 1e-7):
    """`found . direction` is the derivative of f at 0.

    The tolerance is relative to the terms of the product; differences also round the `terms` that
    f adds up.
    """
    expected = difference(f)
    scale = dot(abs(np.asarray(found)), abs(direction))
    rounding = 1e-12 * float(np.sum(abs(np.asarray(terms, F64))))
    error = abs(dot(found, direction) - expected)
    assert error <= rtol * scale + rounding, f"{dot(found, direction)} but {expected}"


def assert_close(found, expected, rtol: float, dtype: np.dtype | None = None):
    """Equal up to `rtol` of the largest element, with the same shape, and dtype if given."""
    assert np.shape(found) == np.shape(expected)
    if dtype is not None:
        assert found.dtype == dtype
    found, expected = np.asarray(found, F64), np.asarray(expected, F64)
    finite = expected[np.isfinite(expected)]
    scale = float(np.max(abs(finite), initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * scale)
