"""Elementwise rows of arithmetic, powers and choices: function, scalar body, partials, domains.

Conventions at kinks are stated in the row, tested, and printed in the documentation.
"""

import numpy as np

from ..core.array import Array, apply, implements
from ..core.primitive import bind
from ..errors import require_unmasked
from ..kernels import shapes
from . import patterns, simplify
from .families import Elementwise, Interval, elementwise, positive, reals

# -- arithmetic -----------------------------------------------------------------------------------

add = elementwise(
    np.add, "x + y", [lambda x, y, out: 1, lambda x, y, out: 1], domains=[reals, reals],
    operator="+",
)  # fmt: skip
subtract = elementwise(
    np.subtract, "x - y", [lambda x, y, out: 1, lambda x, y, out: -1], domains=[reals, reals],
    operator="-",
)  # fmt: skip
multiply = elementwise(
    np.multiply, "x * y", [lambda x, y, out: y, lambda x, y, out: x], domains=[reals, reals],
    operator="*", simplify=simplify.without_one, pattern=patterns.factors,
)  # fmt: skip
divide = elementwise(
    np.divide, "x / y", [lambda x, y, out: 1 / y, lambda x, y, out: -out * (1 / y)],
    domains=[reals, positive], operator="/",
)  # fmt: skip
# The smallest integer divided by -1 wraps to itself in NumPy, and is 0 in Numba.
_WHOLE_QUOTIENT = "select((x < 0) & (y < 0) & (x // y == 0) & (x % y == 0), x, x // y)"
floor_divide = elementwise(
    np.floor_divide, "floor_divide(x, y)", [lambda x, y, out: 0, lambda x, y, out: 0],
    domains=[reals, positive], whole=_WHOLE_QUOTIENT, operator="//",
    notes="piecewise constant: derivative 0",
)  # fmt: skip
remainder = elementwise(
    np.remainder, "select(np.fmod(x, y) == 0.0, np.copysign(0.0, y), np.remainder(x, y))",
    [lambda x, y, out: 1, lambda x, y, out: -np.floor_divide(x, y)],
    domains=[reals, positive], operator="%", whole="np.remainder(x, y)",
    notes="x - y * floor(x / y): derivative -floor(x / y) in y",
)  # fmt: skip
negative = elementwise(np.negative, "-x", [lambda x, out: -1], domains=[reals], operator="neg")
absolute, fabs = (
    elementwise(
        function, "abs(x)", [lambda x, out: np.where(x > 0, 1.0, np.where(x < 0, -1.0, 0.0))],
        domains=[reals], operator=operator, kinks=[((0.0,), (0.0,))], notes="derivative 0 at 0",
    )
    for function, operator in ((np.absolute, "abs"), (np.fabs, ""))
)  # fmt: skip
square = elementwise(np.square, "x * x", [lambda x, out: 2 * x], domains=[reals])
abs2 = elementwise(
    None, "x * x", [lambda x, out: 2 * x], domains=[reals], name="abs2", plain=np.square
)
fmod = elementwise(
    np.fmod, "np.fmod(x, y)", [lambda x, y, out: 1, lambda x, y, out: -np.trunc(x / y)],
    domains=[reals, positive], notes="x - y * trunc(x / y): derivative -trunc(x / y) in y",
    whole="select((x % y != 0) & ((x < 0) != (y < 0)), x % y - y, x % y)",
)  # fmt: skip
reciprocal = elementwise(
    np.reciprocal, "1.0 / x", [lambda x, out: -out * out], domains=[positive],
    whole="select(abs(x) == 1, x, 0)", requires=("x != 0", "an integer 0 has no reciprocal"),
)  # fmt: skip
copysign = elementwise(
    np.copysign, "np.copysign(x, y)",
    [lambda x, y, out: np.sign(x) * np.copysign(1.0, y), lambda x, y, out: 0],
    domains=[reals, reals], kinks=[((0.0, 1.0), (0.0, 0.0))], notes="derivative 0 at 0, and in y",
)  # fmt: skip


def _step(function, body: str, whole: str = "x"):
    """The row of a piecewise constant function."""
    notes = "piecewise constant: derivative 0, also at the steps"
    return elementwise(
        function, body, [lambda x, out: 0], domains=[reals], notes=notes, whole=whole
    )


rint = _step(np.rint, "np.rint(x)")
floor = _step(np.floor, "np.floor(x)")
ceil = _step(np.ceil, "np.ceil(x)")
trunc = _step(np.trunc, "np.trunc(x)")
sign = _step(
    np.sign,
    "select(x > 0.0, 1.0, select(x < 0.0, -1.0, x + 0.0))",
    "select(x > 0, 1, select(x < 0, -1, 0))",
)
copy = elementwise(None, "x", [lambda x, out: 1], domains=[reals], name="copy", plain=np.copy)

# -- powers and roots -----------------------------------------------------------------------------

sqrt = elementwise(
    np.sqrt, "sqrt(x)", [lambda x, out: 0.5 / out], domains=[positive],
    notes="derivative inf at 0; a zero cotangent still gives zero",
)  # fmt: skip
cbrt = elementwise(
    np.cbrt, "cbrt(x)", [lambda x, out: 1 / 3 * integer_power_of(out, -2)], domains=[positive],
    kinks=[((0.0,), (np.inf,))], notes="derivative inf at 0; a zero cotangent still gives zero",
)  # fmt: skip


def _log_of_base(x, y, out):
    # 0 ** y is constant for y > 0, and a negative base has no real derivative.
    return np.where(out == 0, 0.0, np.log(np.where(x > 0, x, np.where(x < 0, np.nan, 1.0))) * out)


power = elementwise(
    np.power, "power(x, y)",
    [lambda x, y, out: np.where(y == 0, 0.0, y * x ** (y - 1)), _log_of_base],
    domains=[positive, reals], kinks=[((0.0, 2.0), (0.0, 0.0)), ((0.0, 0.0), (0.0, 0.0))],
    operator="**", whole="x ** y", requires=("y >= 0", "integers have no negative integer powers"),
    notes="0 ** y has derivative 0 in y; a base below 0 has derivative nan in y",
    slow="the pullback in both takes another power and a logarithm",
)  # fmt: skip


def _integer_power_body(*, n: int) -> str:
    """Repeated squaring: `x ** 5` is `x * ((x * x) * (x * x))`."""
    product = "1.0"
    factor = "x"
    rest = abs(n)
    while rest:
        if rest & 1:
            product = factor if product == "1.0" else f"{product} * {factor}"
        rest >>= 1
        factor = f"({factor} * {factor})"
    return f"1.0 / ({product})" if n < 0 else product


integer_power = elementwise(
    None, _integer_power_body,
    [lambda x, out, n: n * integer_power_of(x, n - 1) if n else 0],
    domains=[positive], name="integer_power", operator="**",
    params=[{"n": n} for n in (-2, -1, 0, 1, 2, 3, 5)],
    notes="x ** n for a Python int n up to 8: repeated multiplication",
    plain=lambda x, *, n: np.asarray(x) ** n, reference=lambda x, *, n: x**n,
    whole=lambda *, n: _integer_power_body(n=n) if n else "1",
)  # fmt: skip


def _half_power_body(*, n: int) -> str:
    """x ** (n / 2) by the square root or its inverse, with NumPy's values at -0.0 and -inf."""
    if n == -1:
        return "rsqrt(x)"
    whole, at_end = _integer_power_body(n=abs(n) // 2), "0.0" if n < 0 else "inf"
    # The root is that of the slope, so that both share it; a zero has no sign.
    power = f"rsqrt(x) / ({whole} + 0.0)" if n < 0 else f"{whole} * sqrt(x) + 0.0"
    return f"select(x == -inf, {at_end}, {power})"


def _half_power_slope(x, out, *, n: int):
    power = out * (out * out) if n == -1 else half_power_of(x, n - 2)
    return n / 2 * power


half_power = elementwise(
    None, _half_power_body, [_half_power_slope],
    domains=[positive], name="half_power", operator="**",
    params=[{"n": n} for n in (-3, -1, 3, 5)],
    notes="x ** (n / 2) for an odd n from -3 to 5: products with a root, or divided by it",
    plain=lambda x, *, n: np.asarray(x) ** (n / 2), reference=lambda x, *, n: x ** (n / 2),
)  # fmt: skip


def half_power_of(x, n: int):
    if not isinstance(x, Array):
        return np.power(x, n / 2)
    return np.sqrt(x) if n == 1 else bind(half_power, x, n=n)


def integer_power_of(x, n: int):
    return bind(integer_power, x, n=n) if isinstance(x, Array) else np.power(x, float(n))


_HALVES = (-3, -1, 3, 5)  # sqrt is another row


@implements(np.power)
def power_of(x, y):
    """`x ** y`: repeated multiplication for small integer exponents, and with a square root for
    small half-integer ones."""
    if isinstance(x, Array) and type(y) in (int, float) and -8 <= y <= 8 and y == int(y):
        # Not for bools, whose powers are products only with the operator, in int8 for n = 2.
        if x.dtype.kind == "f" or (type(y) is int and x.dtype.kind != "b"):
            return bind(integer_power, x, n=int(y))
    if isinstance(x, Array) and x.dtype.kind == "f" and type(y) is float and 2 * y in _HALVES:
        return half_power_of(x, int(2 * y))
    return bind(power, x, y)


@implements(np.float_power)
def float_power_of(x, y):
    """`x ** y` in float64, whatever the dtypes."""
    x, y = (z.astype(np.float64) if hasattr(z, "astype") else z for z in (x, y))
    return power_of(x, y)


# -- choices --------------------------------------------------------------------------------------


def _share(mine, other):
    """1 where `mine` is larger, and 0.5 where both are equal."""
    return np.where(mine > other, 1.0, np.where(mine == other, 0.5, 0.0))


def _share_of_number(mine, other):
    """`_share`, with the whole share for a number beside nan."""
    return np.where(other != other, np.where(mine == mine, 1.0, 0.0), _share(mine, other))


def _extreme(function, share, notes: str = "", kinks=()):
    """The row of a maximum or minimum, in which equal arguments share."""
    return elementwise(
        function, f"{function.__name__}(x, y)",
        [lambda x, y, out: share(x, y), lambda x, y, out: share(y, x)],
        domains=[reals, reals], kinks=[((1.0, 1.0), (0.5, 0.5)), *kinks],
        notes=f"ties share the derivative evenly{notes}",
    )  # fmt: skip


_BESIDE_NAN = {"notes": "; nan takes no share", "kinks": [((1.0, np.nan), (1.0, 0.0))]}
maximum = _extreme(np.maximum, _share)
minimum = _extreme(np.minimum, lambda mine, other: _share(other, mine))
fmax = _extreme(np.fmax, _share_of_number, **_BESIDE_NAN)
fmin = _extreme(np.fmin, lambda mine, other: _share_of_number(-mine, -other), **_BESIDE_NAN)


def _clipped(x, low, high):
    # In np.clip, two Python numbers take the dtype of the third argument.
    numbers = type(x) is float and type(low) is float
    return np.minimum(max(x, low) if numbers else np.maximum(x, low), high)


clip = elementwise(
    np.clip, "minimum(z, maximum(y, x))",
    [lambda x, y, z, out: _share(x, y) * _share(z, np.maximum(x, y)),
     lambda x, y, z, out: _share(y, x) * _share(z, np.maximum(x, y)),
     lambda x, y, z, out: _share(np.maximum(x, y), z)],
    domains=[reals, Interval(-1.5, 0.0), Interval(0.5, 2.0)], plain=np.clip, reference=_clipped,
    kinks=[((1.0, 1.0, 2.0), (0.5, 0.5, 0.0)), ((2.0, 1.0, 2.0), (0.5, 0.0, 0.5))],
    notes="minimum(maximum(x, low), high): on a bound, x and the bound share the derivative evenly",
)  # fmt: skip


class _Where(Elementwise):
    """`np.where`, whose derivatives are calls of `np.where` too."""

    def pullback(self, ct, out, args, need, **params):
        c = args[0]
        return [
            None,
            np.where(c, ct, 0.0) if need[1] else None,
            np.where(c, 0.0, ct) if need[2] else None,
        ]

    def pushforward(self, tangents, out, args, **params):
        x_dot, y_dot = (0.0 if t is None else t for t in tangents[1:])
        return np.where(args[0], x_dot, y_dot)


where = _Where(
    np.where, "select(x, y, z)",
    [None, lambda c, x, y, out: np.where(c, 1.0, 0.0), lambda c, x, y, out: np.where(c, 0.0, 1.0)],
    domains=[reals, reals, reals], conditions=[0], name="where", plain=np.where,
    pattern=patterns.chosen,
    notes="the side that is not chosen gets a zero cotangent",
)  # fmt: skip


@implements(np.where)
def where_of(condition, x, y):
    """`np.where(condition, x, y)`; the condition has no derivative."""
    if not isinstance(condition, Array):
        require_unmasked(condition, "where: the condition")
    if not isinstance(condition, (Array, np.ndarray)):
        condition = np.asarray(condition, bool)
    return bind(where, condition, x, y)


@implements(np.clip)
def clip_of(a, a_min=None, a_max=None, *, min=None, max=None):
    """`np.clip` with any of its two bounds; bounds have derivatives too."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if (type(low) is int or type(high) is int) and np.dtype(getattr(a, "dtype", None)).kind in "iu":
        limits = np.iinfo(a.dtype)  # a bound may lie outside of the range of the dtype
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    if low is not None and high is not None:
        return bind(clip, a, low, high)
    if low is not None:
        return np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


# -- functions ------------------------------------------------------------------------------------


def abs2_of(x):
    """x * x, elementwise.

    >>> nbgrad.abs2(np.array([-2.0, 3.0]))
    array([4., 9.])
    """
    return apply(abs2, x)


@implements(np.copy)
def copy_of(a, order="K", subok=False):
    """A tracked copy, in C order; the derivative passes through."""
    return bind(copy, a)


@implements(np.positive)
def positive_of(x):
    """The array itself."""
    return x


@implements(np.divmod)
def divmod_of(x, y):
    """`np.floor_divide(x, y)` and `np.remainder(x, y)`."""
    return np.floor_divide(x, y), np.remainder(x, y)


@implements(np.round, np.around)
def round_of(a, decimals: int = 0):
    """`np.round`: to the nearest, ties to even; derivative 0. Integers stay integers."""
    decimals = shapes.whole(decimals, "round: decimals")
    if a.dtype.kind in "iu":
        return a if decimals >= 0 else _rounded(a, decimals).astype(a.dtype)
    return np.rint(a) if decimals == 0 else _rounded(a, decimals)


def _rounded(x, decimals: int):
    return np.rint(x * 10.0**decimals) / 10.0**decimals
