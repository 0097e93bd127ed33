"""Functions of `math` and NumPy that Numba writes in Python, read like any other function."""

import math

import numpy as np

__all__ = [
    "largest", "logaddexp", "logaddexp2", "power_of_whole", "rounded", "sinc", "smallest", "total",
]  # fmt: skip


def like(x, value):
    """A constant in the dtype of x: the instruction of this name."""
    raise NotImplementedError


like.row = ("like",)  # pyright: ignore[reportFunctionMemberAccess]


def power_of_whole(x, y):
    """x ** y of a float and an integer."""
    result = like(x, 1.0)
    exponent = y
    if y < 0:
        exponent = -y
    if exponent > 0x10000:
        return math.pow(x, float(y))
    while exponent != 0:
        if exponent & 1:
            result *= x
        exponent >>= 1
        x *= x
    if y < 0:
        return like(x, 1.0) / result
    return result


def rounded(x, digits):
    """round(x, digits)"""
    if math.isinf(x) or math.isnan(x):
        return x
    if digits >= 0:
        if digits > 22:
            scale = 10.0 ** (digits - 22)
            more = 1e22
        else:
            scale = 10.0**digits
            more = 1.0
        y = (x * scale) * more
        if math.isinf(y):
            return x
        return (np.rint(y) / more) / scale
    scale = 10.0 ** (-digits)
    return np.rint(x / scale) * scale


def sinc(x):
    if x == 0.0:
        x = 1e-20
    x *= np.pi
    return np.sin(x) / x


def logaddexp(x, y):
    if x == y:
        return x + like(x, 0.693147180559945309417232121458176568)
    rest = x - y
    if rest > 0:
        return x + np.log1p(np.exp(-rest))
    if rest <= 0:
        return y + np.log1p(np.exp(rest))
    return rest


def logaddexp2(x, y):
    if x == y:
        return x + like(x, 1.0)
    rest = x - y
    if rest > 0:
        return x + binary_log1p(np.exp2(-rest))
    if rest <= 0:
        return y + binary_log1p(np.exp2(rest))
    return rest


def binary_log1p(x):
    return like(x, 1.442695040888963407359924681001892137) * np.log1p(x)


for _each in (power_of_whole, sinc, logaddexp, logaddexp2):  # which have derivatives of their own
    _each.attributes = frozenset([f"rule {_each.__name__}", "exact"])  # pyright: ignore


def total(values, start):
    """sum(values, start) of an array"""
    result = start
    for value in values:
        result = result + value
    return result


def smallest(values):
    """min(values) of an array"""
    if len(values) == 0:
        raise ValueError("min() iterable argument is empty")
    best = values[0]
    for value in values:
        if value < best:
            best = value
    return best


def largest(values):
    """max(values) of an array"""
    if len(values) == 0:
        raise ValueError("max() iterable argument is empty")
    best = values[0]
    for value in values:
        if value > best:
            best = value
    return best
