"""Python's // and % of floats and ** of integers, read like any other function."""

import math

import numpy as np

__all__ = ["floor_quotient", "modulo", "unsigned_power", "whole_power"]


def modulo(x, y):
    """x % y: it has the sign of y."""
    rest = math.fmod(x, y)
    if rest == 0.0:
        return math.copysign(rest, y)
    if (y < 0.0) != (rest < 0.0):
        return rest + y
    return rest


def floor_quotient(x, y):
    """x // y, also where x / y rounds up to the next integer; x / y where y is 0."""
    if y == 0.0:
        return x / y
    rest = math.fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0.0 and (y < 0.0) != (rest < 0.0):
        quotient = quotient - np.float32(1.0)
    if quotient == 0.0:
        return math.copysign(quotient, x / y)
    whole = np.floor(quotient)
    if quotient - whole > np.float32(0.5):
        whole = whole + np.float32(1.0)
    return whole


def whole_power(x, y):
    """x ** y of integers, modulo 2**64; of a negative exponent 0, but 1 or -1 where x is one of
    these, and the least integer where x is 0."""
    if y < 0:
        if x == 0:
            return -9223372036854775807 - 1
        if x == 1:
            return 1
        if x == -1:
            return -1 if y & 1 else 1
        return 0
    result = 1
    while y != 0:
        if y & 1:
            result *= x
        y >>= 1
        x *= x
    return result


def unsigned_power(x, y):
    """x ** y of integers without a sign, modulo 2**64."""
    result = np.uint64(1)
    while y != 0:
        if y & np.uint64(1):
            result *= x
        y >>= np.uint64(1)
        x *= x
    return result


for _each in (modulo, floor_quotient):  # which have derivatives of their own
    _each.attributes = frozenset([f"rule {_each.__name__}", "exact"])  # pyright: ignore
