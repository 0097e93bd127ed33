"""Exponentials of matrices and their derivatives, on pointers, for compiled programs.

The derivative d at x along e is a block of the exponential of a larger matrix:

    exp([[x, e], [0, x]]) = [[exp(x), d], [0, exp(x)]]

Only its first n rows are computed, since the others repeat them: a product of two such matrices
takes three products of n rows. Al-Mohy and Higham (2009, Computing the Frechet derivative of the
matrix exponential) differentiate the steps of an algorithm in the same way.

Of small matrices, eight are computed together: their elements (i, j) are neighbours in memory, one
in each lane of a vector, so that no matrix is too small for vectors. An element of m columns and w
lanes is at (i * m + j) * w.
"""

import math

import numpy as np

from ..compiler.attributes import noalias, noinline, wide_vectors
from ..compiler.kernel import device
from ..compiler.pointers import f8, scratch, shift
from .added import added
from .blas import gemm_at
from .scalar.bits import by_dtype, like

__all__ = ["exponentials", "exponentials_along", "lanes_for", "room_for"]

_LANES = 8
_STEPS = 4
_COEFFICIENTS = tuple((k, 1.0 / math.factorial(k)) for k in range(_STEPS**2 + 1))


def _largest(step: int, dtype: type) -> float:
    """The norm up to which the sum of degree step**2 and its derivative are exact to rounding."""
    degree = step**2
    return float(np.finfo(dtype).eps / 2 * math.factorial(degree)) ** (1.0 / degree)


_L2, _S2 = _largest(2, np.float64), _largest(2, np.float32)
_L3, _S3 = _largest(3, np.float64), _largest(3, np.float32)
_L4, _S4 = _largest(4, np.float64), _largest(4, np.float32)


def lanes_for(count: int, n: int) -> int:
    """The number of matrices of n rows to compute together."""
    return _LANES if n <= 5 or (n <= 8 and count >= 4) else 1


@device
def room_for(n, w):
    """The number of rows of scratch space before the results of matrices of n rows in w lanes."""
    return (_STEPS + 3) * n * w


@device
def exponentials(x, out, count, n, w):
    """The exponentials of matrices of n rows, behind scratch space."""
    _all(x, x, out, count, n, n, w)


@device
def exponentials_along(x, e, out, count, n, w):
    """The exponentials and their derivatives along e, side by side, behind scratch space."""
    _all(x, e, out, count, n, 2 * n, w)


@device
def _all(x, e, out, count, n, m, w):
    results = shift(out, room_for(n, w) * m)
    if w == 1:
        for k in range(count):
            _group(x, e, results, out, k, 1, n, m, 1)
    else:
        for group in range((count + _LANES - 1) // _LANES):
            first = group * _LANES
            _group(x, e, results, out, first, min(_LANES, count - first), n, m, _LANES)


@device
def _group(x, e, out, room, first, count, n, m, w):
    """Some matrices, in the first of w lanes."""
    for k in range(n * m * w):
        room[k] = 0.0
    for lane in range(count):
        for i in range(n):
            row = ((first + lane) * n + i) * n
            for j in range(n):
                room[(i * m + j) * w + lane] = x[row + j]
            for j in range(m - n):
                room[(i * m + n + j) * w + lane] = e[row + j]
    if n > 0:
        _exponential(room, n, m, w)
    for lane in range(count):
        for i in range(n):
            row = ((first + lane) * n + i) * m
            for j in range(m):
                out[row + j] = room[(i * m + j) * w + lane]


@device
def _exponential(x, n, m, w):
    """Put the exponential in the place of x, by Taylor's sum of x / 2**k, squared k times: of
    degree step**2, by powers up to that step (Paterson and Stockmeyer 1973)."""
    noinline()
    wide_vectors()
    size = n * m * w
    out, squares, powers = shift(x, size), shift(x, 2 * size), shift(x, 3 * size)
    norm, most = _scaled(x, squares, out, n, m, w)
    step = 2 if norm <= by_dtype(norm, _L2, _S2) else 3 if norm <= by_dtype(norm, _L3, _S3) else 4
    for i in range(size):
        powers[i] = x[i]
    for k in range(1, step):
        _times(shift(powers, (k // 2) * size), shift(powers, ((k - 1) // 2) * size),
               shift(powers, k * size), n, m, w)  # fmt: skip
    coefficients = f8(scratch(136), 0)
    for k, number in _COEFFICIENTS:
        coefficients[k] = number
    top = step * step
    factor = like(x[0], coefficients[top])
    for i in range(size):
        out[i] = factor * powers[(step - 1) * size + i]
    _add_terms(out, powers, shift(coefficients, top - step), step, n, m, w)
    for k in range(step - 2, -1, -1):
        _times(shift(powers, (step - 1) * size), out, x, n, m, w)
        for i in range(size):
            out[i] = x[i]
        _add_terms(out, powers, shift(coefficients, k * step), step, n, m, w)
    for k in range(most):
        _times(out, out, x, n, m, w)
        for i in range(n * m):
            for lane in range(w):
                if squares[lane] > k:
                    out[i * w + lane] = x[i * w + lane]
    for i in range(size):
        x[i] = out[i]


@device
def _scaled(x, squares, scales, n, m, w):
    """Halve each matrix until the sum is exact for it, and put into `squares` how often. Returns
    the largest norm that is left, and the largest number of squares."""
    for lane in range(w):
        squares[lane] = 0.0
    for i in range(n):
        for lane in range(w):
            scales[lane] = 0.0
        for k in range(i * m, i * m + n):
            for lane in range(w):
                scales[lane] += abs(x[k * w + lane])
        for lane in range(w):
            if scales[lane] > squares[lane]:
                squares[lane] = scales[lane]
    largest, most = like(x[0], 0.0), 0
    for lane in range(w):
        norm, scale, halves = squares[lane], like(x[0], 1.0), 0
        while norm * scale > by_dtype(norm, _L4, _S4) and halves < 1100:
            scale, halves = like(norm, 0.5) * scale, halves + 1
        if norm * scale > largest:
            largest = norm * scale
        squares[lane], scales[lane], most = halves, scale, max(most, halves)
    for i in range(n * m):
        for lane in range(w):
            x[i * w + lane] *= scales[lane]
    return largest, most


@device
def _times(a, b, out, n, m, w):
    """out = a @ b, of matrices of n rows or of the first n rows of larger ones."""
    if w > 1:
        _times_in_lanes(a, b, out, n, m)
        return
    gemm_at(a, b, out, n, m, n, False, False, m, m, m, 1)
    if m > n:
        added(shift(out, n), shift(a, n), b, n, n, n, m, 1, m, 1, m, 1)


@device
def _times_in_lanes(a, b, out, n, m):
    noinline()
    noalias()
    wide_vectors()
    for i in range(n):
        for j in range(m):
            at, x, y = (i * m + j) * _LANES, i * m * _LANES, j * _LANES
            for lane in range(_LANES):
                out[at + lane] = a[x + lane] * b[y + lane]
            for k in range(1, n):
                x, y = (i * m + k) * _LANES, (k * m + j) * _LANES
                for lane in range(_LANES):
                    out[at + lane] += a[x + lane] * b[y + lane]
            if j >= n:
                for k in range(n):
                    x, y = (i * m + n + k) * _LANES, (k * m + j - n) * _LANES
                    for lane in range(_LANES):
                        out[at + lane] += a[x + lane] * b[y + lane]


@device
def _add_terms(out, powers, coefficients, step, n, m, w):
    """Add the terms of the powers 0 ... step-1 of x, with the coefficients from the first on."""
    wide_vectors()
    size = n * m * w
    for k in range(1, step):
        factor, power = like(out[0], coefficients[k]), shift(powers, (k - 1) * size)
        for i in range(size):
            out[i] += factor * power[i]
    for i in range(n):
        for lane in range(w):
            out[(i * m + i) * w + lane] += like(out[0], coefficients[0])
