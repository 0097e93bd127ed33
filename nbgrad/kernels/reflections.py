"""QR factorisations by Householder's reflections: on pointers, for compiled programs.

A reflection is I - v v.T / h, where h is half of the squared length of v, and inf in place of it
where there is nothing to reflect. A product of them is I - V S**-1 V.T, where S is the upper
triangle of V.T V with the numbers h on its diagonal (Puglisi 1992,
Modification of the Householder method based on the compact WY representation). So the reflections
of a panel of columns change the columns behind it by products of matrices.
"""

import numpy as np

from ..compiler.kernel import device
from ..compiler.pointers import shift
from .added import added
from .blas import gemm_at
from .scalar import like
from .triangles import solve_triangle

__all__ = ["reflected", "room_of"]

_ONE_PANEL = 32
"""Columns that are reflected one by one."""


def room_of(n: int) -> int:
    """The number of rows of scratch space before the factors of matrices of n columns, which is the
    number of columns of a panel (measured); 0 where there is one panel."""
    return 0 if n <= _ONE_PANEL else 16 if n < 500 else 32


@device
def reflected(x, out, count, m, n, room):
    """QR factors of matrices of m rows and no more columns, with the signs of LAPACK: m rows of Q,
    and n of R below them, all behind the room."""
    panel = room if room > 0 else _ONE_PANEL
    for k in range(count):
        q = shift(out, (room + k * (m + n)) * n)
        r, matrix = shift(q, m * n), shift(x, k * m * n)
        for i in range(m * n):
            q[i] = matrix[i]
        for first in range(0, n, panel):
            last = min(first + panel, n)
            for j in range(first, last):
                reflect(q, r, j, last, m, n)
            if last < n:
                turn(q, out, first, last, m, n, True)
                for i in range(first, last):
                    for c in range(last, n):
                        r[i * n + c] = q[i * n + c]
        for i in range(n):
            for j in range(i):
                r[i * n + j] = 0.0
        for first in range((n - 1) // panel * panel, -1, -panel):
            last = min(first + panel, n)
            if last < n:
                turn(q, out, first, last, m, n, False)
            for j in range(last - 1, first - 1, -1):
                unfold(q, j, last, m, n)


@device
def norm_below(q, j, first, m, n):
    """The length of column j from a row on, without overflow."""
    large = abs(q[j]) - abs(q[j])
    for i in range(first, m):
        large = max(large, abs(q[i * n + j]))
    if large == 0.0:
        return large
    total = large - large
    for i in range(first, m):
        total += (q[i * n + j] / large) * (q[i * n + j] / large)
    return large * np.sqrt(total)


@device
def _reflect_rows(q, totals, scale, j, last, m, n):
    """Reflect the rows below row j by column j, from column j + 1 to the last. `totals` has row j,
    and is given the products of the columns with column j."""
    for i in range(j + 1, m):
        row, factor = shift(q, i * n), q[i * n + j]
        for c in range(j + 1, last):
            totals[c] += factor * row[c]
    for i in range(j + 1, m):
        row, factor = shift(q, i * n), scale * q[i * n + j]
        for c in range(j + 1, last):
            row[c] -= factor * totals[c]


@device
def reflect(q, r, j, last, m, n):
    """One reflection, of the columns before the last: row j of R, and in column j of q the vector
    with 1 on the diagonal, where h is."""
    alpha = q[j * n + j]
    below = norm_below(q, j, j + 1, m, n)
    half, scale = like(alpha, np.inf), alpha - alpha
    if below != 0.0:
        length = np.hypot(alpha, below)
        beta = -length if alpha >= 0.0 else length
        half, scale = beta / (beta - alpha), (beta - alpha) / beta
        for i in range(j + 1, m):
            q[i * n + j] /= alpha - beta
        q[j * n + j] = beta
    totals = shift(r, j * n)  # of the columns; by rows, as they lie in memory
    for c in range(j + 1, last):
        totals[c] = q[j * n + c]
    _reflect_rows(q, totals, scale, j, last, m, n)
    for c in range(j + 1, last):
        q[j * n + c] -= scale * totals[c]
    for c in range(j, last):
        totals[c] = q[j * n + c]
    q[j * n + j] = half


@device
def unfold(q, j, last, m, n):
    """Column j of Q from the reflections j, j + 1, ..., which the columns before the last hold
    done."""
    scale = like(q[0], 1.0) / q[j * n + j]
    totals = shift(q, j * n)
    for c in range(j + 1, last):
        totals[c] = scale - scale
    _reflect_rows(q, totals, scale, j, last, m, n)
    for c in range(j + 1, last):
        totals[c] *= -scale
    for i in range(j + 1, m):
        q[i * n + j] *= -scale
    q[j * n + j] = 1.0 - scale
    for i in range(j):
        q[i * n + j] = 0.0


@device
def turn(q, room, first, last, m, n, backward):
    """The columns behind a panel, reflected as its columns say, the other way round if
    `backward`."""
    k, width, rows = last - first, n - last, m - first
    v, a = shift(q, first * n + first), shift(q, first * n + last)
    minus_s, w = room, shift(room, k * k)
    for i in range(k):
        w[i], v[i * n + i] = v[i * n + i], 1.0
        for j in range(i + 1, k):
            v[i * n + j] = 0.0
    gemm_at(v, v, minus_s, k, k, rows, True, False, n, n, k, 1)
    for i in range(k * k):
        minus_s[i] = -minus_s[i]
    for i in range(k):
        minus_s[i * k + i] = -w[i]
    gemm_at(v, a, w, k, width, rows, True, False, n, n, width, 1)
    solve_triangle(minus_s, w, k, width, backward, False, backward)
    added(a, v, w, rows, width, k, n, 1, n, 1, width, 1)
    for i in range(k):
        v[i * n + i] = -minus_s[i * k + i]
