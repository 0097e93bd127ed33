"""Python's // and % of floats, read like any other function."""

import math

import numpy as np

__all__ = ["floor_quotient", "modulo"]


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
