"""Determinants, QR and Cholesky factors of complex matrices, whose parts are two planes: on
pointers, for compiled programs.

Pivots and reflections are LAPACK's (zgetf2, zlarfg, zung2r), so that phases are the same: a
reflection is I - t v v^H with v[j] = 1 and a complex t.
"""

import numpy as np

from ..compiler.kernel import device
from ..compiler.pointers import shift
from .reflections import norm_below
from .triangles import block_of, subtract_product

__all__ = ["NUMBERS", "complex_choleskied", "complex_determinants", "complex_reflected"]

NUMBERS = 5
"""What there is of a determinant: its parts, those of its phase, and the logarithm of its size."""


@device
def complex_determinants(x, out, count, n):
    """For each matrix the numbers, and behind them two planes as scratch space."""
    for k in range(count):
        numbers = shift(out, k * (5 + 2 * n * n))
        re, given = shift(numbers, 5), shift(x, 2 * k * n * n)
        im = shift(re, n * n)
        for i in range(2 * n * n):
            re[i] = given[i]
        for i in range(5):
            numbers[i] = 0.0
        numbers[0] = 1.0
        numbers[2] = 1.0
        for j in range(n):
            _eliminate(re, im, j, n, numbers)


@device
def _eliminate(re, im, j, n, numbers):
    """Column j, and what its pivot does to the determinant."""
    best = j
    for i in range(j + 1, n):
        new = abs(re[i * n + j]) + abs(im[i * n + j])
        if new > abs(re[best * n + j]) + abs(im[best * n + j]):
            best = i
    if best != j:
        for i in range(4):
            numbers[i] = -numbers[i]
        for c in range(j, n):
            re[j * n + c], re[best * n + c] = re[best * n + c], re[j * n + c]
            im[j * n + c], im[best * n + c] = im[best * n + c], im[j * n + c]
    p, q = re[j * n + j], im[j * n + j]
    size = np.hypot(p, q)
    numbers[4] += np.log(size)
    a, b = numbers[0], numbers[1]
    numbers[0], numbers[1] = a * p - b * q, a * q + b * p
    if size == 0.0:
        numbers[2] = 0.0
        numbers[3] = 0.0
    else:
        u, v = p / size, q / size
        a, b = numbers[2], numbers[3]
        numbers[2], numbers[3] = a * u - b * v, a * v + b * u
        for i in range(j + 1, n):
            a, b = re[i * n + j] / size, im[i * n + j] / size
            s, t = a * u + b * v, b * u - a * v
            for c in range(j + 1, n):
                a, b = re[j * n + c], im[j * n + c]
                re[i * n + c] -= s * a - t * b
                im[i * n + c] -= s * b + t * a


@device
def complex_reflected(x, out, count, m, n):
    """QR factors of matrices of m rows and no more columns: in each plane m rows of Q, and n of R
    below them."""
    for k in range(count):
        re, given = shift(out, 2 * k * (m + n) * n), shift(x, 2 * k * m * n)
        im = shift(re, (m + n) * n)
        for i in range(m * n):
            re[i], im[i] = given[i], given[m * n + i]
        for j in range(n):
            _reflect(re, im, j, m, n)
        for i in range(n):
            for c in range(i):
                re[(m + i) * n + c] = 0.0
                im[(m + i) * n + c] = 0.0
        for j in range(n - 1, -1, -1):
            _unfold(re, im, j, m, n)


@device
def _reflect(re, im, j, m, n):
    """One reflection: row j of R, and in column j the vector, with t on the diagonal."""
    a, b = re[j * n + j], im[j * n + j]
    below = np.hypot(norm_below(re, j, j + 1, m, n), norm_below(im, j, j + 1, m, n))
    beta, s, t = a, a - a, a - a
    if below != 0.0 or b != 0.0:
        length = np.hypot(np.hypot(a, b), below)
        beta = -length if a >= 0.0 else length
        s, t = (beta - a) / beta, -b / beta
        size = np.hypot(a - beta, b)
        p, q = (a - beta) / size, b / size
        for i in range(j + 1, m):
            u, v = re[i * n + j] / size, im[i * n + j] / size
            re[i * n + j], im[i * n + j] = u * p + v * q, v * p - u * q
    to_re, to_im = shift(re, (m + j) * n), shift(im, (m + j) * n)
    for c in range(j + 1, n):
        to_re[c], to_im[c] = re[j * n + c], im[j * n + c]
    _project(re, im, to_re, to_im, j, m, n, s, -t)
    for c in range(j + 1, n):
        to_re[c], to_im[c] = re[j * n + c] - to_re[c], im[j * n + c] - to_im[c]
    to_re[j], to_im[j] = beta, 0.0
    re[j * n + j], im[j * n + j] = s, t


@device
def _unfold(re, im, j, m, n):
    """Column j of Q from the reflections j, j + 1, ..."""
    s, t = re[j * n + j], im[j * n + j]
    to_re, to_im = shift(re, j * n), shift(im, j * n)
    for c in range(j + 1, n):
        to_re[c], to_im[c] = 0.0, 0.0
    _project(re, im, to_re, to_im, j, m, n, s, t)
    for c in range(j + 1, n):
        to_re[c], to_im[c] = -to_re[c], -to_im[c]
    for i in range(j + 1, m):
        a, b = re[i * n + j], im[i * n + j]
        re[i * n + j], im[i * n + j] = t * b - s * a, -(s * b + t * a)
    re[j * n + j], im[j * n + j] = 1.0 - s, -t
    for i in range(j):
        re[i * n + j], im[i * n + j] = 0.0, 0.0


@device
def _project(re, im, to_re, to_im, j, m, n, s, t):
    """Subtract (s + i t) v v^H from the rows below row j, of the columns behind column j. `to` has
    row j, and is given what is to be subtracted from it."""
    for i in range(j + 1, m):
        a, b = re[i * n + j], im[i * n + j]
        for c in range(j + 1, n):
            u, v = re[i * n + c], im[i * n + c]
            to_re[c] += a * u + b * v
            to_im[c] += a * v - b * u
    for c in range(j + 1, n):
        a, b = to_re[c], to_im[c]
        to_re[c], to_im[c] = s * a - t * b, s * b + t * a
    for i in range(j + 1, m):
        a, b = re[i * n + j], im[i * n + j]
        for c in range(j + 1, n):
            u, v = to_re[c], to_im[c]
            re[i * n + c] -= a * u - b * v
            im[i * n + c] -= a * v + b * u


@device
def complex_choleskied(x, out, count, n):
    """Lower factors of Hermitian matrices; nan where one is not positive definite. The upper
    factors are computed, block by block, as for real matrices, and transposed.

    Rows of the upper factor U that are done lie below the diagonal, too, as columns of the lower
    one: the factors of the products U.T @ V with a change of sign.
    """
    block = block_of(n, n)
    for k in range(count):
        re, given = shift(out, 2 * k * n * n), shift(x, 2 * k * n * n)
        im = shift(re, n * n)
        for i in range(2 * n * n):
            re[i] = given[i]
        for first in range(0, n, block):
            last = min(first + block, n)
            for j in range(first, last):
                _factor_row(re, im, j, last, n)
            for row in range(last, n, block):
                rows, depth = min(block, n - row), last - first
                at, to = first * n + row, row * n + row
                u, v, minus_v = shift(re, at), shift(im, at), shift(im, row * n + first)
                p, q = shift(re, to), shift(im, to)
                subtract_product(p, u, u, rows, n - row, depth, n, 1, n, n)
                subtract_product(p, v, v, rows, n - row, depth, n, 1, n, n)
                subtract_product(q, u, v, rows, n - row, depth, n, 1, n, n)
                subtract_product(q, minus_v, u, rows, n - row, depth, n, n, 1, n)
        for i in range(n):
            for j in range(i):
                re[i * n + j], re[j * n + i] = re[j * n + i], 0.0
                im[j * n + i] = 0.0


@device
def _factor_row(re, im, j, last, n):
    """Row j of the upper factor, subtracted from those before the last."""
    pivot = re[j * n + j]
    root = np.sqrt(pivot) if pivot > 0.0 else np.nan
    im[j * n + j] = 0.0
    for c in range(j, n):
        re[j * n + c] /= root
        im[j * n + c] /= root
        im[c * n + j] = -im[j * n + c]
    p, q = shift(re, j * n), shift(im, j * n)
    for i in range(j + 1, last):
        u, v = p[i], q[i]
        a, b = shift(re, i * n), shift(im, i * n)
        for c in range(i, n):
            a[c] -= u * p[c] + v * q[c]
            b[c] -= u * q[c] - v * p[c]
