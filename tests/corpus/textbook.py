"""Algorithms of textbooks: factorisations, interpolation, dynamic programmes."""

from functools import reduce

import numpy as np

from corpus import BRANCH, case, definite, near, normal, uniform


@case(definite(3))
def cholesky_banachiewicz(A):
    n = A.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = sum(L[i, k] * L[j, k] for k in range(j))
            if i == j:
                L[i, j] = np.sqrt(A[i, i] - s)
            else:
                L[i, j] = (A[i, j] - s) / L[j, j]
    return L


@case(definite(3, 2.0), normal(3))
def lu_doolittle(A, b):
    """And the solution by substitution."""
    n = len(A)
    L, U = np.eye(n), A.copy()
    for k in range(n - 1):
        for i in range(k + 1, n):
            L[i, k] = U[i, k] / U[k, k]
            U[i, k:] -= L[i, k] * U[k, k:]
    y = np.zeros(n)
    for i in range(n):
        y[i] = b[i] - L[i, :i] @ y[:i]
    x = np.zeros_like(y)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - np.dot(U[i, i + 1 :], x[i + 1 :])) / U[i, i]
    return np.tril(L), x


@case(normal(3, 3), normal(3), refused=BRANCH)
def gauss_with_pivots(A, b):
    """Rows are swapped in place."""
    M = np.hstack([A, b.reshape(-1, 1)])
    n = len(M)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(M[i, k]) > abs(M[pivot, k]):
                pivot = i
        if pivot != k:
            M[[k, pivot]] = M[[pivot, k]]
        M[k] = M[k] / M[k, k]
        for i in range(n):
            if i != k:
                M[i] -= M[i, k] * M[k]
    return M[:, -1]


@case(normal(4, 3))
def gram_schmidt(A):
    m, n = A.shape
    Q, R = np.zeros((m, n)), np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = Q[:, i] @ A[:, j]
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.linalg.norm(v)
        Q[:, j] = v / R[j, j]
    return Q, R


@case(normal(3, 3))
def householder(A):
    R = np.array(A, copy=True)
    Q = np.identity(len(A))
    for k in range(len(A) - 1):
        x = R[k:, k]
        e = np.zeros_like(x)
        e[0] = np.copysign(np.linalg.norm(x), -A[0, 0])
        u = x - e
        v = u / np.linalg.norm(u)
        H = np.eye(len(A))
        H[k:, k:] -= 2.0 * np.outer(v, v)
        R = H @ R
        Q = Q @ H.T
    return Q, np.triu(R)


@case(definite(2))
def jacobi_rotation(A):
    """The eigenvalues of a matrix of two rows."""
    theta = 0.5 * np.arctan2(2 * A[0, 1], A[1, 1] - A[0, 0])
    c, s = np.cos(theta), np.sin(theta)
    J = np.asarray([[c, s], [-s, c]])
    D = J.T @ A @ J
    return np.diag(D), J


@case(normal(4))
def natural_spline(y):
    """Its second derivatives, and a value in each interval."""
    n = len(y)
    A, rhs = np.eye(n), np.zeros(n)
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = 1, 4, 1
        rhs[i] = 6 * (y[i + 1] - 2 * y[i] + y[i - 1])
    M = np.linalg.solve(A, rhs)

    def value(t):
        i = min(int(t), n - 2)
        a, b = i + 1 - t, t - i
        cubic = (a**3 - a) * M[i] + (b**3 - b) * M[i + 1]
        return a * y[i] + b * y[i + 1] + cubic / 6

    return M, np.array([value(t) for t in (0.5, 1.25, 2.9)])


def b_spline(i, k, t, x):
    """Cox and de Boor, recursively."""
    if k == 0:
        return np.where((t[i] <= x) & (x < t[i + 1]), 1.0, 0.0)
    left = (x - t[i]) / (t[i + k] - t[i]) * b_spline(i, k - 1, t, x)
    right = (t[i + k + 1] - x) / (t[i + k + 1] - t[i + 1]) * b_spline(i + 1, k - 1, t, x)
    return left + right


@case(normal(4), uniform(3.1, 3.9, 2))
def spline_curve(coefficients, x, degree=2):
    knots = np.arange(len(coefficients) + degree + 1) * 1.0
    return sum(c * b_spline(i, degree, knots, x) for i, c in enumerate(coefficients))


@case(near([0.0, 1.0, 2.5, 3.0]), normal(4), uniform(0.5, 2.0))
def lagrange(xs, ys, x):
    total = 0
    for i in range(len(xs)):
        others = [(x - xs[j]) / (xs[i] - xs[j]) for j in range(len(xs)) if j != i]
        total += ys[i] * reduce(lambda a, b: a * b, others)
    return total


@case(near([0.5, 1.0, 2.5, 3.0]), normal(4))
def divided_differences(x, y):
    n = len(y)
    coef = np.zeros([n, n])
    coef[:, 0] = y
    for j in range(1, n):
        for i in range(n - j):
            coef[i][j] = (coef[i + 1][j - 1] - coef[i][j - 1]) / (x[i + j] - x[i])
    p = coef[0, n - 1]
    for k in range(n - 2, -1, -1):
        p = p * (1.7 - x[k]) + coef[0, k]
    return coef[0], p


@case(normal(4), normal(3))
def dynamic_time_warping(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = abs(a[i - 1] - b[j - 1])
            D[i, j] = cost + np.min([D[i - 1, j], D[i, j - 1], D[i - 1, j - 1]])
    return D[n, m]


@case(uniform(0.0, 1.0, 3, 4))
def soft_edit_distance(scores, gamma=0.3):
    def soft_min(*values):
        v = np.array(values)
        return -gamma * np.log(np.sum(np.exp(-v / gamma)))

    n, m = scores.shape
    d = np.zeros((n + 1, m + 1))
    d[:, 0] = np.arange(n + 1)
    d[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d[i, j] = soft_min(
                d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + scores[i - 1, j - 1]
            )
    return d[n, m]


@case(uniform(0.5, 3.0, 4, 4))
def floyd_warshall(weights):
    dist = weights.copy()
    np.fill_diagonal(dist, 0.0)
    n = len(dist)
    for k in range(n):
        dist = np.minimum(dist, dist[:, k, None] + dist[None, k, :])
    return dist


@case(uniform(0.2, 2.0, 4), refused=BRANCH)
def knapsack(values, weights=(1, 2, 3, 2), capacity=5):
    """With the choice traced back."""
    n = len(values)
    K = np.zeros((n + 1, capacity + 1))
    for i in range(1, n + 1):
        for w in range(capacity + 1):
            K[i, w] = K[i - 1, w]
            if weights[i - 1] <= w and K[i - 1, w - weights[i - 1]] + values[i - 1] > K[i, w]:
                K[i, w] = K[i - 1, w - weights[i - 1]] + values[i - 1]
    chosen = 0.0
    w = capacity
    for i in range(n, 0, -1):
        if K[i, w] != K[i - 1, w]:
            chosen = chosen + np.square(values[i - 1])
            w -= weights[i - 1]
    return K[n, capacity], chosen


@case(normal(5), refused=BRANCH)
def bubble_sort(x):
    x = np.array(x)
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


@case(normal(5), refused=BRANCH)
def maximum_subarray(x):
    best, here = x[0], x[0]
    for v in x[1:]:
        here = max(v, here + v)
        best = max(best, here)
    return best


@case(uniform(0.2, 1.0, 4, 4))
def pagerank(links, damping=0.85, steps=5):
    n = links.shape[0]
    M = links / links.sum(axis=0)
    rank = np.ones(n) / n
    for _ in range(steps):
        rank = (1 - damping) / n + damping * M.dot(rank)
    return rank


@case(normal(4), uniform(-1.0, 1.0))
def horner_and_chebyshev(coefficients, x):
    value = 0.0
    for c in coefficients[::-1]:
        value = value * x + c
    T = [1.0, x]
    while len(T) < len(coefficients):
        T.append(2 * x * T[-1] - T[-2])
    return value, np.dot(coefficients, np.array(T)), np.polyval(coefficients, x)


def matrix_power(A, n):
    if n == 0:
        return np.eye(len(A))
    half = matrix_power(A, n // 2)
    return half @ half @ A if n % 2 else half @ half


@case(normal(2, 2))
def fibonacci_like(A):
    return matrix_power(A, 5)[0, 1], np.linalg.matrix_power(A, 3)
