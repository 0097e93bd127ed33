"""Derivatives of the functions of scalar code: each function that a program can call has a row, and
values and derivatives agree with Numba's values and their differences."""

import math
from functools import cache, partial
from typing import Any

import numba
import numpy as np
import pytest
from fuzz.frontend import function_of
from helpers.loops.calls import Exact, Pulled

import nbgrad
from nbgrad.adjoints.partials import _TEXTS, called_name, only_computes, pullbacks
from nbgrad.compiler.front import dtypes
from nbgrad.compiler.front.functions import entry_of
from nbgrad.compiler.front.scalars import SCALARS
from nbgrad.ir.functions import FUNCTIONS
from nbgrad.ir.scalar import Apply, parse
from nbgrad.ir.statements import Assign, Call
from nbgrad.ir.walk import walk

# Functions of integers and bools, which have no derivatives.
WITHOUT = {"left_shift", "right_shift", "invert"}
# Expressions of x and y, for each set of points.
SMALL, LARGE = ((0.3,), (-0.6,)), ((1.3,), (2.4,))
PAIRS = (0.7, 1.9), (-1.4, 0.8), (2.3, -0.6)
TABLE: dict[tuple, tuple[str, ...]] = {
    SMALL: (
        "-x", "+x", "abs(x)", "x * x", "math.fabs(x)", "np.abs(x)", "np.sign(x) * x",
         "np.floor(x) * x", "np.ceil(x) * x", "np.trunc(x) * x", "np.rint(x) * x", "math.sin(x)",
         "np.sin(x)", "math.cos(x)", "np.cos(x)", "math.tan(x)", "np.tan(x)", "math.asin(x)",
         "np.arcsin(x)", "math.acos(x)", "np.arccos(x)", "math.atan(x)", "np.arctan(x)",
         "math.sinh(x)", "np.sinh(x)", "math.cosh(x)", "np.cosh(x)", "math.tanh(x)", "np.tanh(x)",
         "math.asinh(x)", "np.arcsinh(x)", "math.atanh(x)", "np.arctanh(x)", "math.exp(x)",
         "np.exp(x)", "math.exp2(x)", "np.exp2(x)", "math.expm1(x)", "np.expm1(x)", "math.log1p(x)",
         "np.log1p(x)", "math.erf(x)", "math.erfc(x)", "np.cbrt(x)", "np.sinc(x)", "np.square(x)",
         "np.reciprocal(x)", "np.negative(x)", "np.positive(x)", "math.radians(x)",
         "math.degrees(x)", "np.radians(x)", "np.degrees(x)", "np.deg2rad(x)", "np.rad2deg(x)",
         "math.gamma(x)", "math.lgamma(x)", "x if np.isfinite(x) else 0.0",
         "x * x if np.signbit(x) else x", "round(x, 1) * x", "round(x) * x", "math.floor(x) * x",
         "np.round(x, 2) * x", "x if not np.isnan(x) else 0.0", "x * (x > 0.1)", "x**3", "x**-2",
         "x**0", "x ** int(3 * abs(x) + 2)", "int(x) * x",
    ),
    LARGE: (
        "math.sqrt(x)", "np.sqrt(x)", "math.log(x)", "np.log(x)", "math.log2(x)", "np.log2(x)",
         "math.log10(x)", "np.log10(x)", "math.acosh(x)", "np.arccosh(x)", "math.gamma(x)",
         "math.lgamma(x)", "np.sinc(x)", "x**1.7", "x**0.5", "2.5**x", "x**60",
    ),
    PAIRS: (
        "x + y", "x - y", "x * y", "x / y", "x % y", "x // y + x", "np.add(x, y)",
         "np.subtract(x, y)", "np.multiply(x, y)", "np.divide(x, y)", "np.remainder(x, y)",
         "np.mod(x, y)", "np.fmod(x, y)", "np.floor_divide(x, y) * x",
         "divmod(x, y)[1] * divmod(x, y)[0]", "np.maximum(x, y)", "np.minimum(x, y)",
         "np.fmax(x, y)", "np.fmin(x, y)", "max(x, y)", "min(x, y)", "math.atan2(x, y)",
         "np.arctan2(x, y)", "math.hypot(x, y)", "np.hypot(x, y)", "math.copysign(x, y)",
         "np.copysign(x, y)", "np.logaddexp(x, y)", "np.logaddexp2(x, y)", "abs(x) ** y",
         "math.pow(abs(x), y)", "np.power(abs(x), y)", "np.float_power(abs(x), y)",
         "x if x < y else y * y", "x if not (x == y or x != y and x >= y) else x * y",
         "np.logical_and(x > 0, y > 0) * x",
    ),
}  # fmt: skip
TEXTS = [text for texts in TABLE.values() for text in texts]
# Derivatives where a function has none, or where its formula is singular.
KINKS = [
    ("abs(x)", (0.0,), (0.0,)), ("np.sign(x)", (0.0,), (0.0,)), 
    ("math.sqrt(x) * 0.0", (0.0,), (0.0,)),
    ("np.hypot(x, y)", (0.0, 0.0), (0.0, 0.0)), ("np.sinc(x)", (0.0,), (0.0,)),
    ("x**2", (0.0,), (0.0,)), ("x**1", (0.0,), (1.0,)), ("x**0", (0.0,), (0.0,)),
    ("x**y", (0.0, 2.0), (0.0, 0.0)), ("x**y", (0.0, 1.0), (1.0, 0.0)),
    ("x**y", (0.0, 0.0), (0.0, 0.0)), ("x ** int(y)", (0.0, 0.0), (0.0, 0.0)),
    ("x ** int(y)", (0.0, 1.0), (1.0, 0.0)), ("x ** int(y)", (-2.0, 3.0), (12.0, 0.0)),
    ("max(x, y)", (1.0, 1.0), (1.0, 0.0)), ("np.maximum(x, y)", (1.0, 1.0), (1.0, 0.0)),
    ("min(x, y)", (1.0, 1.0), (1.0, 0.0)), ("np.logaddexp(x, y)", (2.0, 2.0), (0.5, 0.5)),
    ("np.logaddexp(x, y)", (-math.inf, -math.inf), (0.5, 0.5)),
    ("np.logaddexp(x, y)", (800.0, -800.0), (1.0, 0.0)), ("np.sinc(x)", (1e-4,), (-3.289868e-4,)),
    ("np.cbrt(x) * 0.0", (0.0,), (0.0,)), ("x % y", (6.0, 3.0), (1.0, -2.0)),
    ("x // y", (6.0, 3.0), (0.0, 0.0)), ("np.copysign(x, y)", (2.0, -0.0), (-1.0, 0.0)),
    ("x if x > y else y", (1.0, 1.0), (0.0, 1.0)),
]  # fmt: skip


@cache
def program(*texts):
    """A function of x, and of y where it is used."""
    whole = ", ".join(f"({text})" for text in texts)
    arguments = "x, y" if "y" in whole.replace("copy", "") else "x"
    head = "import math\nimport numpy as np\n\n\n"
    return function_of(f"{head}def drawn({arguments}):\n    return {whole}\n")


def maker(texts, dtype):
    function = program(*texts)
    count = function.__code__.co_argcount
    return Exact(function, (np.dtype(dtype),) * count, tuple(range(count)))


def derivatives(made, point, dtype, seeds):
    args = tuple(map(dtype, point))
    seeds = [x.type(seed) for x, seed in zip(made.primal[0].results, seeds, strict=True)]
    pulled = Pulled(made, args, seeds)
    return pulled.results, [float(x) for x in pulled.gradient.values()]


# Numba takes tuples of up to 30 members.
PARTS = [
    (points, texts[i : i + 25]) for points, texts in TABLE.items() for i in range(0, len(texts), 25)
]


@pytest.mark.parametrize(("points", "texts"), PARTS, ids=[texts[0] for _, texts in PARTS])
def test_derivatives(points, texts):
    theirs: Any = numba.njit(program(*texts))
    double, single = maker(texts, float), maker(texts, np.float32)
    for point in points:
        narrow = tuple(map(np.float32, point))
        shifted = [
            [theirs(*(x + step * (i == j) for j, x in enumerate(point))) for step in (1e-6, -1e-6)]
            for i in range(len(point))
        ]
        for k, text in enumerate(texts):
            seeds = [float(i == k) for i in range(len(texts))]
            values, found = derivatives(double, point, float, seeds)
            assert repr(float(values[k])) == repr(float(theirs(*point)[k])), (text, point)
            slopes = [(up[k] - down[k]) / 2e-6 for up, down in shifted]
            assert found == pytest.approx(slopes, rel=2e-7, abs=2e-8), (text, point)
            values, rough = derivatives(single, narrow, np.float32, seeds)
            assert repr(float(values[k])) == repr(float(theirs(*narrow)[k])), (text, narrow)
            assert rough == pytest.approx(found, rel=2e-5, abs=2e-6), (text, narrow)


@pytest.mark.parametrize(("points", "texts"), PARTS, ids=[texts[0] for _, texts in PARTS])
def test_second_derivatives_where_cotangents_are_0(points, texts):
    """The second derivative of (f(x) - z)**2 / 2 where z is f(x) is the square of the slope."""
    parts = [f"0.5 * ((({text}) - z[{k}]) / w[{k}]) ** 2" for k, text in enumerate(texts)]
    head = "import math\nimport numpy as np\n\n\n"
    for point in points:
        given = "x, y, z, w" if len(point) == 2 else "x, z, w"
        loss = function_of(f"{head}def drawn({given}):\n    return {' + '.join(parts)}\n")
        values = np.array(numba.njit(program(*texts))(*point), float)
        made = maker(texts, float)
        slopes = np.array(
            [derivatives(made, point, float, seeds)[1] for seeds in np.eye(len(texts))]
        )
        for i, own in enumerate(slopes.T):
            second = nbgrad.grad(nbgrad.grad(nbgrad.njit(loss), i), i)
            weights = np.where(own == 0.0, 1.0, own)
            assert second(*point, values, weights) == pytest.approx(np.sum(own != 0.0), rel=1e-12)


@pytest.mark.parametrize(("text", "point", "wanted"), KINKS)
def test_kinks(text, point, wanted):
    for dtype in (float, np.float32):
        _, found = derivatives(maker((text,), dtype), point, dtype, (1.0,))
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def emitted(text):
    """The names of the functions that a program calls."""
    function = program(text)
    kinds = (np.dtype(float),) * function.__code__.co_argcount
    return set(names_in(entry_of(function, kinds).function))


def names_in(function):
    for each in walk(function.body):
        if isinstance(each, Call):
            if isinstance(each.function, str) or only_computes(each.function):
                yield called_name(each.function)
            else:
                yield from names_in(each.function)
        if isinstance(each, Assign) and isinstance(each.body, Apply):
            yield each.body.function.name


def from_tables():
    """The names of functions that the tables of the front end hold."""
    rows: list[Any] = list(SCALARS.values())
    for row in rows:
        name = row.args[0] if isinstance(row, partial) and row.args else ""
        if isinstance(name, str) and name:
            library = row.func.__name__ == "library"
            yield f"libm {name}" if library else name


def in_rules():
    """The functions that derivatives call, which second derivatives differentiate."""

    def inside(body):
        if isinstance(body, Apply):
            yield body.function.name
            for each in body.args:
                yield from inside(each)

    for texts in _TEXTS.values():
        for text in filter(None, texts):
            yield from inside(parse(text))


def test_every_function_has_a_row():
    names = {*from_tables(), *dtypes.NAMES.values(), *in_rules()} - {"maximum", "minimum", "and"}
    names |= {name for text in TEXTS for name in emitted(text)}
    assert len(names) > 60
    assert {name for name in names if pullbacks(name) is None} <= WITHOUT


def test_every_function_is_tried():
    tried = {name for text in TEXTS for name in emitted(text)}
    compared = {"maximum", "minimum", "fmax", "fmin"}  # which are written as comparisons
    assert set(from_tables()) - tried <= WITHOUT | compared | {"or", "xor"}


def test_rows_have_a_text_for_each_argument():
    for name, texts in _TEXTS.items():
        for text in filter(None, texts):
            assert parse(text), name
    assert all(name in FUNCTIONS or pullbacks(name) for name in _TEXTS)
