"""Functions of complex numbers as functions of their parts, read like any other function.

Values are NumPy's, branch cuts included: they follow from the signs of zero parts.
"""

import math

__all__ = [
    "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1",
    "is_finite", "is_inf", "is_nan", "log", "log1p", "log2", "log10", "modulus", "power",
    "quotient", "reciprocal", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "whole_power",
]  # fmt: skip


# -- arithmetic -----------------------------------------------------------------------------------


def quotient(a, b, c, d):
    """Smith's quotient, which does not overflow before the result does."""
    if abs(c) >= abs(d):
        ratio = d / c
        scale = c + d * ratio
        return (a + b * ratio) / scale, (b - a * ratio) / scale
    ratio = c / d
    scale = d + c * ratio
    return (a * ratio + b) / scale, (b * ratio - a) / scale


def reciprocal(a, b):
    return quotient(1.0, 0.0, a, b)


def whole_power(a, b, n):
    """(a + i b) ** n for an integer n, by products."""
    x, y = 1.0, 0.0
    rest = abs(n)
    while rest != 0:
        if rest & 1:
            x, y = x * a - y * b, x * b + y * a
        rest >>= 1
        if rest != 0:
            a, b = a * a - b * b, 2.0 * a * b
    if n < 0:
        return quotient(1.0, 0.0, x, y)
    return x, y


def power(a, b, c, d):
    """(a + i b) ** (c + i d) by the logarithm; 0 of the base 0, and 1 for the exponent 0."""
    if c == 0.0 and d == 0.0:
        return 1.0, 0.0
    if a == 0.0 and b == 0.0:
        return 0.0, 0.0
    x, y = log(a, b)
    return exp(c * x - d * y, c * y + d * x)


def modulus(a, b):
    return math.hypot(a, b)


def angle(a, b):
    return math.atan2(b, a)


def sign(a, b):
    """z / |z|, and 0 at 0."""
    size = math.hypot(a, b)
    if size == 0.0:
        return 0.0, 0.0
    return a / size, b / size


def is_nan(a, b):
    return math.isnan(a) or math.isnan(b)


def is_inf(a, b):
    return math.isinf(a) or math.isinf(b)


def is_finite(a, b):
    return math.isfinite(a) and math.isfinite(b)


# -- roots, exponentials, logarithms --------------------------------------------------------------


def sqrt(a, b):
    """The root with a real part of at least 0; on the cut the imaginary part has the sign of b."""
    if a == 0.0 and b == 0.0:
        return 0.0, b
    half = math.sqrt(0.5 * (abs(a) + math.hypot(a, b)))
    other = abs(b) / (2.0 * half)
    if a >= 0.0:
        return half, math.copysign(other, b)
    return other, math.copysign(half, b)


def exp(a, b):
    size = math.exp(a)
    return size * math.cos(b), size * math.sin(b)


def expm1(a, b):
    half = math.sin(0.5 * b)
    return math.expm1(a) * math.cos(b) - 2.0 * half * half, math.exp(a) * math.sin(b)


def log_modulus(a, b):
    """log(|a + i b|), to full precision near the unit circle."""
    size = math.hypot(a, b)
    if size > 0.5 and size < 2.0:
        x, y = abs(a), abs(b)
        large = x if x >= y else y
        small = y if x >= y else x
        return 0.5 * math.log1p((large - 1.0) * (large + 1.0) + small * small)
    return math.log(size)


def log(a, b):
    return log_modulus(a, b), math.atan2(b, a)


def log1p(a, b):
    if math.hypot(a, b) < 0.5:
        return 0.5 * math.log1p(a * (2.0 + a) + b * b), math.atan2(b, 1.0 + a)
    return log(1.0 + a, b)


def log2(a, b):
    x, y = log(a, b)
    return x / 0.6931471805599453, y / 0.6931471805599453


def log10(a, b):
    x, y = log(a, b)
    return x / 2.302585092994046, y / 2.302585092994046


# -- trigonometric and hyperbolic functions -------------------------------------------------------


def sin(a, b):
    return math.sin(a) * math.cosh(b), math.cos(a) * math.sinh(b)


def cos(a, b):
    return math.cos(a) * math.cosh(b), -(math.sin(a) * math.sinh(b))


def sinh(a, b):
    return math.sinh(a) * math.cos(b), math.cosh(a) * math.sin(b)


def cosh(a, b):
    return math.cosh(a) * math.cos(b), math.sinh(a) * math.sin(b)


def tanh(a, b):
    if abs(a) > 20.0:
        far = math.exp(-2.0 * abs(a))
        return math.copysign(1.0, a), 4.0 * math.sin(b) * math.cos(b) * far
    x, y, slope = math.tanh(a), math.tan(b), 1.0 / math.cosh(a)
    scale = 1.0 + x * x * y * y
    return x * (1.0 + y * y) / scale, y / scale * slope * slope


def tan(a, b):
    x, y = tanh(-b, a)
    return y, -x


def asinh(a, b):
    """Kahan's formula, as the next ones."""
    p, q = sqrt(1.0 + b, -a)
    r, s = sqrt(1.0 - b, a)
    return math.asinh(p * s - r * q), math.atan2(b, p * r - q * s)


def asin(a, b):
    x, y = asinh(-b, a)
    return y, -x


def acos(a, b):
    p, q = sqrt(1.0 - a, -b)
    r, s = sqrt(1.0 + a, b)
    return 2.0 * math.atan2(p, r), math.asinh(r * q - s * p)


def acosh(a, b):
    p, q = sqrt(a - 1.0, b)
    r, s = sqrt(a + 1.0, b)
    return math.asinh(p * r + q * s), 2.0 * math.atan2(q, r)


def atanh(a, b):
    flip = math.copysign(1.0, a)
    x, y = flip * a, flip * b
    apart = (1.0 - x) * (1.0 - x) + y * y
    real = 0.25 * math.log1p(4.0 * x / apart)
    imag = 0.5 * math.atan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y)
    return flip * real, flip * imag


def atan(a, b):
    x, y = atanh(-b, a)
    return y, -x
