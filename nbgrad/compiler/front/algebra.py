"""Linear algebra, sorting and searching as loops."""

import math

import numpy as np

__all__ = [
    "cholesky", "covariance", "determinant", "exchanged", "exponential", "inverse", "orthogonal",
    "places_in_order", "places_left", "places_right", "solve_matrix", "solve_vector",
]  # fmt: skip


def exchanged(factors, k):
    """The row of the pivot of column k, whose elements from k on are exchanged with those of row
    k."""
    pivot = k
    for i in range(k + 1, factors.shape[0]):
        if abs(factors[i, k]) > abs(factors[pivot, k]):
            pivot = i
    if pivot != k:
        for j in range(k, factors.shape[1]):
            kept = factors[k, j]
            factors[k, j] = factors[pivot, j]
            factors[pivot, j] = kept
    return pivot


def solve_vector(a, b):
    """The solution of a linear system."""
    n = a.shape[0]
    factors = a.copy()
    x = b.copy()
    for k in range(n):
        pivot = exchanged(factors, k)
        if factors[k, k] == 0.0:
            raise np.linalg.LinAlgError("Matrix is singular to machine precision.")
        if pivot != k:
            held = x[k]
            x[k] = x[pivot]
            x[pivot] = held
        for i in range(k + 1, n):
            ratio = factors[i, k] / factors[k, k]
            for j in range(k + 1, n):
                factors[i, j] -= ratio * factors[k, j]
            x[i] -= ratio * x[k]
    for m in range(n):
        row = n - 1 - m
        rest = x[row]
        for j in range(row + 1, n):
            rest -= factors[row, j] * x[j]
        x[row] = rest / factors[row, row]
    return x


def solve_matrix(a, b):
    """The solutions of linear systems, in columns."""
    n = a.shape[0]
    factors = a.copy()
    x = b.copy()
    for k in range(n):
        pivot = exchanged(factors, k)
        if factors[k, k] == 0.0:
            raise np.linalg.LinAlgError("Matrix is singular to machine precision.")
        if pivot != k:
            for c in range(x.shape[1]):
                held = x[k, c]
                x[k, c] = x[pivot, c]
                x[pivot, c] = held
        for i in range(k + 1, n):
            ratio = factors[i, k] / factors[k, k]
            for j in range(k + 1, n):
                factors[i, j] -= ratio * factors[k, j]
            for c in range(x.shape[1]):
                x[i, c] -= ratio * x[k, c]
    for m in range(n):
        row = n - 1 - m
        for c in range(x.shape[1]):
            rest = x[row, c]
            for j in range(row + 1, n):
                rest -= factors[row, j] * x[j, c]
            x[row, c] = rest / factors[row, row]
    return x


def inverse(a):
    """The inverse of a matrix."""
    return np.linalg.solve(a, np.eye(a.shape[0]))


def determinant(a):
    """The determinant, a product of pivots."""
    n = a.shape[0]
    factors = a.copy()
    product = 1.0
    for k in range(n):
        pivot = exchanged(factors, k)
        if pivot != k:
            product = -product
        product *= factors[k, k]
        if factors[k, k] != 0.0:
            for i in range(k + 1, n):
                ratio = factors[i, k] / factors[k, k]
                for j in range(k + 1, n):
                    factors[i, j] -= ratio * factors[k, j]
    return product


def exponential(a):
    """The exponential of a matrix: squares of the [13/13] Pade approximant of a / 2**s.

    Higham 2005, The scaling and squaring method for the matrix exponential revisited."""
    n = a.shape[0]
    most = 0.0
    for j in range(n):
        total = 0.0
        for i in range(n):
            total += abs(a[i, j])
        most = max(most, total)
    squarings, share = 0, 1.0
    while most * share > 5.371920351148152 and squarings < 1100:
        share *= 0.5
        squarings += 1
    unit, x = np.eye(n), a * share
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x6 @ (x6 + 16380.0 * x4 + 40840800.0 * x2)
    odd += 33522128640.0 * x6 + 10559470521600.0 * x4 + 1187353796428800.0 * x2
    odd = x @ (odd + 32382376266240000.0 * unit)
    even = x6 @ (182.0 * x6 + 960960.0 * x4 + 1323241920.0 * x2)
    even += 670442572800.0 * x6 + 129060195264000.0 * x4 + 7771770303897600.0 * x2
    even = even + 64764752532480000.0 * unit
    power = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        power = power @ power
    return power


def cholesky(a):
    """The lower triangle L of L @ L.T, of which only the lower triangle is read."""
    n = a.shape[0]
    factor = np.zeros((n, n))
    for j in range(n):
        rest = a[j, j]
        for k in range(j):
            rest -= factor[j, k] * factor[j, k]
        if not rest > 0.0:
            raise np.linalg.LinAlgError("Matrix is not positive definite.")
        root = math.sqrt(rest)
        factor[j, j] = root
        for i in range(j + 1, n):
            part = a[i, j]
            for k in range(j):
                part -= factor[i, k] * factor[j, k]
            factor[i, j] = part / root
    return factor


def orthogonal(a):
    """Factors Q and R of a matrix, by Householder's reflections with the signs of LAPACK."""
    m, n = a.shape
    count = min(m, n)
    r = a.copy()
    normals = np.zeros((count, m))
    scales = np.zeros(count)
    for j in range(count):
        below = 0.0
        for i in range(j + 1, m):
            below += r[i, j] * r[i, j]
        if below > 0.0:
            beta = math.sqrt(r[j, j] * r[j, j] + below)
            if r[j, j] >= 0.0:
                beta = -beta
            scales[j] = (beta - r[j, j]) / beta
            normals[j, j] = 1.0
            for i in range(j + 1, m):
                normals[j, i] = r[i, j] / (r[j, j] - beta)
            reflect(r, normals, j, scales[j])
    q = np.zeros((m, count))
    for j in range(count - 1, -1, -1):
        q[j, j] = 1.0
        reflect(q, normals, j, scales[j])
    return q, np.triu(r[:count])


def reflect(x, normals, j, scale):
    """The columns of x from j on, reflected."""
    for c in range(j, x.shape[1]):
        total = 0.0
        for i in range(j, x.shape[0]):
            total += normals[j, i] * x[i, c]
        for i in range(j, x.shape[0]):
            x[i, c] -= scale * total * normals[j, i]


def covariance(m):
    """The covariances of variables, of which each row holds the observations."""
    apart = m - m.mean(axis=1)[:, None]
    return apart @ apart.T / (m.shape[1] - 1.0)


def places_in_order(a):
    """The positions of the elements in increasing order, by merging; equal ones keep theirs, and
    nan comes last."""
    n = a.shape[0]
    order = np.arange(n)
    merged = np.arange(n)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            i = start
            j = middle
            for k in range(start, end):
                left = i < middle
                if left and j < end:
                    x = a[order[i]]
                    y = a[order[j]]
                    left = not (y < x or (x != x and y == y))
                if left:
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        for k in range(n):
            order[k] = merged[k]
        width *= 2
    return order


def places_left(a, v):
    """For each number the first position that keeps an array in order."""
    found = np.empty(v.shape[0], np.int64)
    for i in range(v.shape[0]):
        low = 0
        high = a.shape[0]
        while low < high:
            middle = (low + high) // 2
            if a[middle] < v[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low
    return found


def places_right(a, v):
    """For each number the last position that keeps an array in order."""
    found = np.empty(v.shape[0], np.int64)
    for i in range(v.shape[0]):
        low = 0
        high = a.shape[0]
        while low < high:
            middle = (low + high) // 2
            if v[i] < a[middle]:
                high = middle
            else:
                low = middle + 1
        found[i] = low
    return found
