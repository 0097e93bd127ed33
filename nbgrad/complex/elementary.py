"""Arithmetic, powers, exponentials and comparisons of complex arrays.

Values are NumPy's, branch cuts included: they follow from the signs of zero parts.
"""

from typing import Any

import numpy as np

from ..errors import ComplexError
from ..runtime.kinds import is_a
from .calls import complexly, is_complex
from .pair import ComplexArray, joined, parts_of

LN2, LN10 = 0.6931471805599453, 2.302585092994046


# -- arithmetic -------------------------------------------------------------------------------


@complexly(np.add)
def add(x, y):
    (a, b), (c, d) = parts_of(x), parts_of(y)
    return joined(a + c, b + d)


@complexly(np.subtract)
def subtract(x, y):
    (a, b), (c, d) = parts_of(x), parts_of(y)
    return joined(a - c, b - d)


@complexly(np.multiply)
def multiply(x, y):
    (a, b), (c, d) = parts_of(x), parts_of(y)
    if x is y:
        return square(x)
    if _is_zero(b):
        return joined(a * c, a * d)
    if _is_zero(d):
        return joined(a * c, b * c)
    return joined(a * c - b * d, a * d + b * c)


def _is_zero(imag: Any) -> bool:
    """Whether an operand is real."""
    return type(imag) is float and imag == 0.0


@complexly(np.divide)
def divide(x, y):
    """Smith's quotient, which does not overflow before the result does."""
    (a, b), (c, d) = parts_of(x), parts_of(y)
    if _is_zero(d):
        return joined(a / c, b / c)
    is_wide = np.abs(c) >= np.abs(d)
    large, small = np.where(is_wide, c, d), np.where(is_wide, d, c)
    ratio = small / np.where(large == 0, np.copysign(1.0, large), large)
    scale = large + small * ratio
    first, second = np.where(is_wide, a, b), np.where(is_wide, b, a)
    real = (first + second * ratio) / scale
    imag = (second - first * ratio) / scale
    return joined(real, np.where(is_wide, imag, -imag))


@complexly(np.reciprocal)
def reciprocal(x):
    c, d = parts_of(x)
    is_wide = np.abs(c) >= np.abs(d)
    large, small = np.where(is_wide, c, d), np.where(is_wide, d, c)
    ratio = small / np.where(large == 0, np.copysign(1.0, large), large)
    scale = large + small * ratio
    return joined(np.where(is_wide, 1.0, ratio) / scale, np.where(is_wide, -ratio, -1.0) / scale)


@complexly(np.negative)
def negative(x):
    a, b = parts_of(x)
    return ComplexArray(-a, -b)


@complexly(np.positive)
def positive(x):
    a, b = parts_of(x)
    return joined(+a, +b)


@complexly(np.square)
def square(x):
    a, b = parts_of(x)
    return joined((a - b) * (a + b), 2.0 * (a * b))


@complexly(np.power)
def power(x, n):
    """Integers up to 100 by products, as in NumPy; others by exp(n log(x)), with 0 at x = 0."""
    if is_a(n, (int, float, np.integer, np.floating)) and float(n).is_integer() and abs(n) <= 100:
        return _integer_power(x, int(n))
    if is_a(n, (int, float, np.integer, np.floating)) and n == 0.5:
        return sqrt(x)
    is_null, order = _is_null(x), parts_of(n)[0]
    at_null = np.where(np.greater(order, 0), 0.0, np.where(np.equal(order, 0), 1.0, np.nan))
    return where(is_null, at_null, exp(multiply(n, log(where(is_null, 1.0, x)))))


def _is_null(x: Any) -> Any:
    a, b = parts_of(x)
    return (a == 0) & (b == 0)


def _integer_power(x: Any, n: int) -> Any:
    if n < 0:
        return reciprocal(_integer_power(x, -n))
    if n == 0:
        return joined(parts_of(x)[0] * 0.0 + 1.0, parts_of(x)[1] * 0.0)
    out, factor = None, x
    while n:
        if n & 1:
            out = factor if out is None else multiply(out, factor)
        n >>= 1
        if n:
            factor = square(factor)
    return positive(out) if out is x else out


# -- parts ------------------------------------------------------------------------------------


@complexly(np.real)
def real(val):
    return parts_of(val)[0]


@complexly(np.imag)
def imag(val):
    return parts_of(val)[1]


@complexly(np.conjugate)
def conjugate(x):
    a, b = parts_of(x)
    return ComplexArray(a[...] if a.ndim else +a, -b)


@complexly(np.absolute, np.fabs)
def absolute(x):
    """The modulus, with derivative 0 at 0."""
    a, b = parts_of(x)
    return np.hypot(a, b)


@complexly(np.angle)
def angle(z, deg=False):
    a, b = parts_of(z)
    out = np.arctan2(b, a)
    return out * (180 / np.pi) if deg else out


@complexly(np.sign)
def sign(x):
    """z / |z|, and 0 at 0."""
    a, b = parts_of(x)
    size = np.hypot(a, b)
    size = np.where(size == 0, 1.0, size)
    return joined(a / size, b / size)


@complexly(np.real_if_close)
def real_if_close(a, tol=100):
    return a


# -- roots, exponentials and logarithms -------------------------------------------------------


@complexly(np.sqrt)
def sqrt(x):
    """The root with a real part of at least 0; on the cut, below 0, the imaginary part has the
    sign of that of x."""
    a, b = parts_of(x)
    size = np.hypot(a, b)
    is_zero = size == 0
    half = np.sqrt(np.where(is_zero, 1.0, 0.5 * (np.abs(a) + size)))
    other = np.abs(b) / (2.0 * half)
    is_right = a >= 0
    real = np.where(is_zero, 0.0, np.where(is_right, half, other))
    imag = np.where(is_zero, b, np.copysign(np.where(is_right, other, half), b))
    return joined(real, imag)


@complexly(np.exp)
def exp(x):
    a, b = parts_of(x)
    size = np.exp(a)
    return joined(size * np.cos(b), size * np.sin(b))


@complexly(np.exp2)
def exp2(x):
    return exp(multiply(x, LN2))


@complexly(np.expm1)
def expm1(x):
    a, b = parts_of(x)
    half = np.sin(0.5 * b)
    return joined(np.expm1(a) * np.cos(b) - 2.0 * half * half, np.exp(a) * np.sin(b))


@complexly(np.log)
def log(x):
    a, b = parts_of(x)
    return joined(log_abs(a, b), np.arctan2(b, a))


def log_abs(a: Any, b: Any) -> Any:
    """log(|a + i b|), to full precision near the unit circle."""
    size = np.hypot(a, b)
    large, small = np.maximum(np.abs(a), np.abs(b)), np.minimum(np.abs(a), np.abs(b))
    is_near = (size > 0.5) & (size < 2.0)
    large, small = np.where(is_near, large, 1.0), np.where(is_near, small, 0.0)
    near = 0.5 * np.log1p((large - 1.0) * (large + 1.0) + small * small)
    return np.where(is_near, near, np.log(np.where(is_near, 1.0, size)))


@complexly(np.log2)
def log2(x):
    return multiply(log(x), 1 / LN2)


@complexly(np.log10)
def log10(x):
    return multiply(log(x), 1 / LN10)


@complexly(np.log1p)
def log1p(x):
    a, b = parts_of(x)
    is_near = np.hypot(a, b) < 0.5
    inner = np.where(is_near, a * (2.0 + a) + b * b, 0.0)
    far = log_abs(1.0 + a, b)
    return joined(np.where(is_near, 0.5 * np.log1p(inner), far), np.arctan2(b, 1.0 + a))


# -- choices and comparisons ------------------------------------------------------------------


@complexly(np.where)
def where(condition, x, y):
    (a, b), (c, d) = parts_of(x), parts_of(y)
    if is_complex(condition):
        condition = not_equal(condition, 0.0)
    return joined(np.where(condition, a, c), np.where(condition, b, d))


@complexly(np.equal)
def equal(x, y):
    (a, b), (c, d) = parts_of(x), parts_of(y)
    return (a == c) & (b == d)


@complexly(np.not_equal)
def not_equal(x, y):
    (a, b), (c, d) = parts_of(x), parts_of(y)
    return (a != c) | (b != d)


@complexly(np.isnan)
def isnan(x):
    a, b = parts_of(x)
    return np.isnan(a) | np.isnan(b)


@complexly(np.isinf)
def isinf(x):
    a, b = parts_of(x)
    return np.isinf(a) | np.isinf(b)


@complexly(np.isfinite)
def isfinite(x):
    a, b = parts_of(x)
    return np.isfinite(a) & np.isfinite(b)


@complexly(np.less, np.less_equal, np.greater, np.greater_equal, np.maximum, np.minimum)
def ordered(x, y):
    raise ComplexError("complex numbers have no order: compare np.abs(z), z.real or z.imag")


for _choice in (np.max, np.min, np.argmax, np.argmin, np.sort, np.argsort, np.clip, np.median):
    complexly(_choice)(lambda *args, **options: ordered(None, None))


@complexly(np.iscomplexobj)
def iscomplexobj(x):
    return True


@complexly(np.isrealobj)
def isrealobj(x):
    return False


@complexly(np.isreal)
def isreal(x):
    return parts_of(x)[1] == 0


@complexly(np.iscomplex)
def iscomplex(x):
    return parts_of(x)[1] != 0
