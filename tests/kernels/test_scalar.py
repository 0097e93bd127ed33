"""Scalar functions of kernels: digits against mpmath, special values, and vector instructions."""

import re
from typing import Any

import mpmath
import numba
import numpy as np
import pytest
from helpers.rows import F32, F64, PLAIN_PYTHON
from llvmlite import binding
from scipy import special

import nbgrad
from nbgrad.compiler.kernel import Kernel
from nbgrad.ir.scalar import NAMES, parse
from nbgrad.ir.statements import Assign
from nbgrad.kernels.loops import KernelOperand, Loops

REFERENCES = {
    "arccos": mpmath.acos,
    "arccosh": mpmath.acosh,
    "arcsin": mpmath.asin,
    "arcsinh": mpmath.asinh,
    "arctan": mpmath.atan,
    "arctanh": mpmath.atanh,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "cos": mpmath.cos,
    "cosh": mpmath.cosh,
    "bessel_i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "bessel_i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
    "digamma": mpmath.digamma,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "expm1": mpmath.expm1,
    "lgamma": mpmath.loggamma,
    "log": mpmath.log,
    "log10": mpmath.log10,
    "log1p": mpmath.log1p,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log_ndtr": lambda x: (
        mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)
        if x < 0
        else mpmath.log1p(-mpmath.erfc(x / mpmath.sqrt(2)) / 2)
    ),
    "ndtr": lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "sin": mpmath.sin,
    "sinh": mpmath.sinh,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
}
OF_SCIPY: dict[str, Any] = {
    "sigmoid": special.expit,
    "lgamma": special.gammaln,
    "bessel_i0e": special.i0e,
    "bessel_i1e": lambda x: np.copysign(special.i1e(x), x),
    **{name: getattr(special, name) for name in ("erf", "erfc", "erfcx", "ndtr", "log_ndtr")},
    "digamma": special.digamma,
}
RANGED = ("sin", "cos", "tan")
# The largest and the smallest power of ten, and where exp overflows and vanishes.
ENDS = {F64: (307, -323, 709.7, -745.0), F32: (38, -44, 88.7, -103.0)}
# Beyond these, erfc overflows or vanishes.
GAUSSIAN = {F64: 27.2, F32: 10.0}

each = pytest.mark.parametrize("name", list(REFERENCES))
both = pytest.mark.parametrize("dtype", [F64, F32], ids=["f64", "f32"])


def kernel(name: str, arity: int = 1) -> Kernel:
    names = NAMES[:arity]
    step = Assign("v", parse(f"{name}({', '.join(names)})"), names, F64, F64)
    reads = tuple(KernelOperand(x, "full") for x in names)
    return Loops(f"{name}_alone", (step,), reads, (KernelOperand("out", "full"),), ("v",)).kernel()


def computed(name: str, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    kernel(name)(x, out)
    return out


def points(name: str, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Some 2,000 numbers over the whole domain, most of them where people compute."""
    high, low, top, bottom = ENDS[dtype]
    tiny = 10.0 ** np.concatenate([rng.uniform(low, 0, 300), rng.uniform(-20, 0, 300)])
    tiny *= rng.choice([-1, 1], 600)
    usual = rng.uniform(-5, 5, 800)
    if name in ("log", "log2", "log10", "rsqrt"):
        near_one = 1 + tiny[abs(tiny) < 0.1]
        drawn = [abs(usual), near_one, 10.0 ** rng.uniform(low, high, 600)]
    elif name == "arccosh":
        drawn = [1 + abs(usual), 1 + abs(tiny[abs(tiny) < 0.1]), 10.0 ** rng.uniform(0, high, 300)]
    elif name in ("arcsin", "arccos", "arctanh"):
        drawn = [usual / 5, tiny, np.sign(tiny) * (1 - abs(tiny))]
        drawn = [part[abs(part) < 1] for part in drawn]
    elif name in ("arcsinh", "arctan", "cbrt"):
        drawn = [usual, tiny, 10.0 ** rng.uniform(0, high, 300), -(10.0 ** rng.uniform(0, 3, 300))]
    elif name == "log1p":
        drawn = [usual, tiny, 10.0 ** rng.uniform(0, high, 300)]
        drawn = [part[part > -1] for part in drawn]
    elif name in ("erf", "erfc", "erfcx", "log_ndtr", "ndtr"):
        end = GAUSSIAN[dtype] * {"erfcx": 0.92, "ndtr": 1.41, "log_ndtr": 1.41}.get(name, 1.0)
        far = 10.0 ** rng.uniform(0, 6, 300) * {"erfcx": 1, "log_ndtr": -1}.get(name, 0)
        drawn = [usual, tiny, rng.uniform(-end, end, 600), rng.uniform(-1, 1, 600), far]
    elif name in ("bessel_i0e", "bessel_i1e"):
        drawn = [usual, tiny, rng.uniform(-20, 20, 300), rng.uniform(-1e3, 1e3, 100)]
    elif name in ("digamma", "lgamma"):
        drawn = [abs(usual), abs(tiny), 10.0 ** rng.uniform(0, high - 3, 300)]
        drawn += [10.0 ** rng.uniform(-5, -1, 200) + n for n in (1.0, 1.4616321, 2.0)]
    elif name in RANGED:
        multiples = rng.integers(-63000, 63000, 300) * (np.pi / 2)
        far = 10.0 ** rng.uniform(5, high, 100)
        drawn = [usual, tiny, rng.uniform(-1e5, 1e5, 300), multiples, far]
    else:
        bounds = (-top, top) if name in ("sinh", "cosh", "tanh") else (bottom, top)
        drawn = [usual, tiny, rng.uniform(*bounds, 600)]
    x = np.concatenate(drawn).astype(dtype)
    return x[x != 0]


@each
@both
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.full)])
def test_at_most_four_units_in_the_last_place(name, dtype, every, rng):
    x = points(name, dtype, rng)[::every]
    found = computed(name, x)
    worst = 0.0
    with mpmath.workdps(100), np.errstate(over="ignore"):
        for argument, value in zip(x, found, strict=True):
            exact = REFERENCES[name](mpmath.mpf(float(argument)))
            rounded = abs(dtype.type(float(exact)))
            if np.isfinite(rounded):
                error = abs(mpmath.mpf(float(value)) - exact)
                worst = max(worst, float(error / mpmath.mpf(float(np.spacing(rounded)))))
    assert worst <= (1 if name == "rsqrt" else 4)  # as accurate as a power


@each
@both
def test_zeros_infinities_and_nan(name, dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, -2.0, 1e4, -1e4], dtype)
    with np.errstate(all="ignore"):
        expected = x**-0.5 if name == "rsqrt" else (OF_SCIPY.get(name) or getattr(np, name))(x)
    found = computed(name, x)
    np.testing.assert_allclose(found, expected, 1e-6)
    numbers = ~np.isnan(x) & ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("order", [0, 1])
@both
def test_bessel_functions(order, dtype, rng):
    """At most 4 units of the wave's size; near zeros below 8 there are all digits."""
    ends = [8.0, 7.999, 8.001, 1e5, -1e5, 1e-300, 9e4]
    x = np.concatenate([rng.uniform(-9, 9, 300), rng.uniform(-1e3, 1e3, 200), ends]).astype(dtype)
    zeros = [float(mpmath.besseljzero(order, k)) for k in (1, 2)]
    close = np.add.outer(zeros, rng.normal(size=40) * 10.0 ** rng.uniform(-15, -2, 40)).ravel()
    for points, is_close in ((x, False), (close.astype(dtype), True)):
        found = computed(f"bessel_j{order}", points)
        for argument, value in zip(points, found, strict=True):
            with mpmath.workdps(40):
                exact = mpmath.besselj(order, mpmath.mpf(float(argument)))
                error = float(abs(mpmath.mpf(float(value)) - exact))
            size = np.sqrt(2 / np.pi / max(abs(float(argument)), 1.5))
            assert error <= 4 * np.finfo(dtype).eps * (2 * float(abs(exact)) if is_close else size)


@both
def test_angles_of_points(dtype, rng):
    """arctan2 in every quadrant, on all scales and on the axes, as NumPy has it."""
    high, low = ENDS[dtype][:2]
    sides = rng.choice([-1, 1], (2, 3000)) * 10.0 ** rng.uniform(-3, 3, (2, 3000))
    sides[:, ::3] *= 10.0 ** rng.uniform(low + 4, high - 4, 1000)
    sides[1, ::4] *= 10.0 ** rng.uniform(-3, 3, 750)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 10.0**low, 10.0**high])
    x, y = np.append(sides, np.stack(np.meshgrid(ends, ends)).reshape(2, -1), 1).astype(dtype)
    found = np.empty_like(x)
    kernel("arctan2", 2)(x, y, found)
    expected = np.arctan2(x, y)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    exact = np.arctan2(x.astype(np.longdouble), y.astype(np.longdouble))
    error = abs(found - exact) / np.spacing(abs(expected))
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    assert np.nanmax(error.astype(float)) <= 4


def powers(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    kernel("power", 2)(x, y, out)
    return out


@both
def test_powers(dtype, rng):
    """Usual numbers, results over the whole range, and bases so near 1 that exponents are huge."""
    high = ENDS[dtype][0]
    near = 1 + rng.normal(size=600) * 10.0 ** rng.uniform(-6, -1, 600)
    x = np.concatenate([rng.uniform(0, 3, 600), 10.0 ** rng.uniform(-high, high, 600), near])
    y = rng.uniform(-1.1, 1.1, 1800) * high / np.log10(x)
    y[:600] = rng.uniform(-5, 5, 600)
    x, y = x.astype(dtype), y.astype(dtype)
    found, worst = powers(x, y), 0.0
    with mpmath.workdps(50):
        for base, exponent, value in zip(x, y, found, strict=True):
            exact = mpmath.mpf(float(base)) ** mpmath.mpf(float(exponent))
            rounded = dtype.type(float(exact)) if exact < float(np.finfo(dtype).max) else np.inf
            if np.isfinite(rounded):
                error = abs(mpmath.mpf(float(value)) - exact)
                worst = max(worst, float(error / mpmath.mpf(float(np.spacing(rounded)))))
    assert worst <= 1


@both
def test_powers_at_the_ends(dtype):
    ends = [0.0, 1.0, 2.0, 3.0, 0.5, 2.5, 1e-40, 1e30, 2.0**53, 2.0**24 + 2, np.inf]
    x, y = np.stack(np.meshgrid([*ends, *np.negative(ends), np.nan], [*ends, -3.0, -0.5, np.nan]))
    x, y = x.ravel().astype(dtype), y.ravel().astype(dtype)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    found = powers(x, y)
    np.testing.assert_allclose(found, expected, 4 * np.finfo(dtype).eps)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@both
def test_exact_powers_are_exact(dtype):
    x = np.arange(1, 100).astype(dtype)
    for n in (0.0, 1.0, 2.0, 3.0):
        np.testing.assert_array_equal(powers(x, np.full_like(x, n)), x**n)
    np.testing.assert_array_equal(powers(x * x, np.full_like(x, 0.5)), x)


def test_exact_where_the_result_is_a_whole_number():
    k = np.arange(-1074, 1024)
    powers = np.ldexp(1.0, k)
    np.testing.assert_array_equal(computed("exp2", k.astype(F64)), powers)
    np.testing.assert_array_equal(computed("log2", powers), k)
    for name, value in (("exp", 1), ("cos", 1), ("cosh", 1), ("sigmoid", 0.5)):
        assert computed(name, np.zeros(1)) == value


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
@each
@both
def test_loops_are_vectors(name, dtype):
    """The loop's arithmetic is on vectors; what the branch for far arguments does is not."""
    dispatcher: Any = kernel(name).dispatcher
    array = numba.types.Array(numba.from_dtype(dtype), 1, "C")
    dispatcher.compile((array, array))
    compiled = dispatcher.overloads[array, array]
    code = str(binding.parse_bitcode(compiled.library.bitcode))
    kind = {F64: "double", F32: "float"}[dtype]
    assert len(re.findall(rf"f(?:mul|add|sub)(?: contract)? <\d+ x {kind}>", code)) > 5


FAR = np.array([0.5, 1e5, -3.0, 1e6, -1e22, 1e300, 2.0])


@pytest.mark.parametrize("function", [np.sin, np.cos, np.tan, np.sinc], ids=lambda f: f.__name__)
def test_far_arguments_among_near_ones(function):
    """Forward, in a nest of loops, in sums and in static programs."""
    expected = function(FAR)
    x = nbgrad.track(FAR)
    np.testing.assert_allclose(function(x).data, expected, 1e-14)
    np.testing.assert_allclose(function(x + np.zeros((2, 1))).data[1], expected, 1e-14)
    total = nbgrad.compile(lambda x: np.sum(function(x)))
    np.testing.assert_allclose(total(FAR), np.sum(expected), 1e-13)


def test_far_arguments_in_pullbacks():
    x, scale = nbgrad.track(FAR), nbgrad.track(2.0)
    np.sum(scale * np.sin(x)).backward()
    np.testing.assert_allclose(x.grad, 2 * np.cos(FAR), 1e-14)
    np.testing.assert_allclose(scale.grad, np.sum(np.sin(FAR)), 1e-14)
