"""Trigonometric and hyperbolic functions of complex arrays, and their inverses.

The inverse functions are those of W. Kahan, "Branch cuts for complex elementary functions" (1987).
"""

import numpy as np

from .calls import complexly
from .elementary import divide, multiply, sqrt, where
from .pair import joined, parts_of


def _turned(x):
    """i x"""
    a, b = parts_of(x)
    return joined(-b, a)


def _turned_back(x):
    """-i x"""
    a, b = parts_of(x)
    return joined(b, -a)


@complexly(np.sin)
def sin(x):
    a, b = parts_of(x)
    return joined(np.sin(a) * np.cosh(b), np.cos(a) * np.sinh(b))


@complexly(np.cos)
def cos(x):
    a, b = parts_of(x)
    return joined(np.cos(a) * np.cosh(b), -np.sin(a) * np.sinh(b))


@complexly(np.sinh)
def sinh(x):
    a, b = parts_of(x)
    return joined(np.sinh(a) * np.cos(b), np.cosh(a) * np.sin(b))


@complexly(np.cosh)
def cosh(x):
    a, b = parts_of(x)
    return joined(np.cosh(a) * np.cos(b), np.sinh(a) * np.sin(b))


@complexly(np.tanh)
def tanh(x):
    """By exp(-2 |a|), which does not overflow."""
    a, b = parts_of(x)
    small = np.exp(-2.0 * np.abs(a))
    squared = small * small
    below = 1.0 + squared + 2.0 * small * np.cos(2.0 * b)
    # 1 - squared, without the loss of digits near 0
    real = np.copysign(-np.expm1(-4.0 * np.abs(a)), a) / below
    return joined(real, 2.0 * small * np.sin(2.0 * b) / below)


@complexly(np.tan)
def tan(x):
    return _turned_back(tanh(_turned(x)))


@complexly(np.arcsin)
def arcsin(x):
    a, b = parts_of(x)
    left, right = sqrt(joined(1.0 - a, -b)), sqrt(joined(1.0 + a, b))
    (p, q), (r, s) = parts_of(left), parts_of(right)
    return joined(np.arctan2(a, p * r - q * s), np.arcsinh(p * s - q * r))


@complexly(np.arccos)
def arccos(x):
    a, b = parts_of(x)
    left, right = sqrt(joined(1.0 - a, -b)), sqrt(joined(1.0 + a, b))
    (p, q), (r, s) = parts_of(left), parts_of(right)
    return joined(2.0 * np.arctan2(p, r), np.arcsinh(r * q - s * p))


@complexly(np.arcsinh)
def arcsinh(x):
    return _turned_back(arcsin(_turned(x)))


@complexly(np.arccosh)
def arccosh(x):
    a, b = parts_of(x)
    left, right = sqrt(joined(a - 1.0, b)), sqrt(joined(a + 1.0, b))
    (p, q), (r, s) = parts_of(left), parts_of(right)
    return joined(np.arcsinh(p * r + q * s), 2.0 * np.arctan2(q, r))


@complexly(np.arctanh)
def arctanh(x):
    a, b = parts_of(x)
    distance = (1.0 - a) ** 2 + b * b
    real = 0.25 * np.log1p(4.0 * a / distance)
    return joined(real, 0.5 * np.arctan2(2.0 * b, (1.0 - a) * (1.0 + a) - b * b))


@complexly(np.arctan)
def arctan(x):
    return _turned_back(arctanh(_turned(x)))


@complexly(np.sinc)
def sinc(x):
    """sin(pi x) / (pi x), and 1 at 0."""
    angle = multiply(x, np.pi)
    a, b = parts_of(angle)
    is_zero = (a == 0) & (b == 0)
    return where(is_zero, 1.0, divide(sin(angle), where(is_zero, 1.0, angle)))
