"""Exponentials of matrices, on pointers, for compiled programs."""

import math

from ..compiler.kernel import device
from ..compiler.pointers import shift
from .blas import gemm_at

__all__ = ["exponentials"]

_DEGREE, _STEP = 16, 4
# The sum up to that degree is exact to rounding where no row adds up to more.
_LARGEST = 0.75
_COEFFICIENTS = tuple(1.0 / math.factorial(k) for k in range(_DEGREE + 1))


@device
def exponentials(x, out, count, n):
    """The exponentials of matrices of n rows, each followed by the room of five more."""
    for k in range(count):
        exponential(shift(x, k * n * n), shift(out, 6 * k * n * n), n)


@device
def exponential(x, room, n):
    """Taylor's sum of x / 2**k, squared k times, by the powers up to the fourth (Paterson and
    Stockmeyer 1973): six products and k squares."""
    size = n * n
    out, spare, powers = room, shift(room, size), shift(room, 2 * size)
    scale, squares = scaling(x, n)
    for i in range(size):
        powers[i] = x[i] * scale
    for k in range(1, _STEP):
        times(shift(powers, (k // 2) * size), shift(powers, ((k - 1) // 2) * size),
              shift(powers, k * size), n)  # fmt: skip
    for i in range(size):
        out[i] = _COEFFICIENTS[_DEGREE] * powers[(_STEP - 1) * size + i]
    add_terms(out, powers, _DEGREE - _STEP, n)
    for k in range(_DEGREE - 2 * _STEP, -1, -_STEP):
        times(shift(powers, (_STEP - 1) * size), out, spare, n)
        for i in range(size):
            out[i] = spare[i]
        add_terms(out, powers, k, n)
    for _ in range(squares):
        times(out, out, spare, n)
        for i in range(size):
            out[i] = spare[i]


@device
def scaling(x, n):
    """The power of 2 by which x becomes small, and how often it halves."""
    norm = 0.0
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += abs(x[i * n + j])
        norm = max(norm, total)
    scale, squares = 1.0, 0
    while norm * scale > _LARGEST and squares < 1100:
        scale, squares = 0.5 * scale, squares + 1
    return scale, squares


@device
def times(a, b, out, n):
    """out = a @ b, of n rows each."""
    gemm_at(a, b, out, n, n, n, False, False, n, n, n, 1)


@device
def add_terms(out, powers, first, n):
    """Add the terms of the powers 0 ... 3 of x, with the coefficients from `first` on."""
    size = n * n
    for i in range(size):
        total = out[i]
        for k in range(1, _STEP):
            total += _COEFFICIENTS[first + k] * powers[(k - 1) * size + i]
        out[i] = total
    for i in range(n):
        out[i * n + i] += _COEFFICIENTS[first]
