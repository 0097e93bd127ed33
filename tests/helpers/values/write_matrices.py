"""More of the table of programs that write: matrices, images, positions and masks."""

import numpy as np
from helpers.values.write_functions import case


@case((4, 4))
def lu(A):
    A = A + 4 * np.eye(4)
    for k in range(3):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A


@case((4, 4))
def cholesky(A):
    A = A @ A.T + 2 * np.eye(4)
    for k in range(4):
        A[k, k] = np.sqrt(A[k, k])
        A[k + 1 :, k] /= A[k, k]
        for j in range(k + 1, 4):
            A[j:, j] -= A[j:, k] * A[j, k]
    return np.tril(A)


@case((4, 3))
def gram_schmidt(A):
    Q = A + np.eye(4, 3)
    for j in range(3):
        q = Q[:, j]
        for i in range(j):
            q -= np.dot(Q[:, i], q) * Q[:, i]
        q /= np.sqrt(np.dot(q, q))
    return Q


@case((4, 4), (4,))
def substitution(L, b):
    y = b.copy()
    for i in range(4):
        y[i] -= np.dot(L[i, :i], y[:i])
        y[i] /= 2.0 + L[i, i]
    return y


@case((4, 4))
def floyd_warshall(A):
    D = A * 1.0
    np.fill_diagonal(D, 0)
    for k in range(4):
        np.minimum(D, D[:, k, None] + D[k], out=D)
    return D


@case((3,), (3, 3), (2,))
def kalman(x, P, z):
    x, P, H = x.copy(), P @ P.T + np.eye(3), np.eye(2, 3)
    for _ in range(2):
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + np.eye(2))
        x += K @ (z - H @ x)
        P -= K @ H @ P
        P += 0.1 * np.eye(3)
    return x + P[0]


@case((4, 4))
def heat(u):
    u = u.copy()
    for _ in range(2):
        inner = u[1:-1, 1:-1]
        inner += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner)
    return u


@case((4, 4))
def alternating_directions(u):
    u = u.copy()
    for _ in range(2):
        for view in (u, u.T):
            for i in range(1, 4):
                view[i] += 0.3 * view[i - 1] * view[i]
            for i in range(2, -1, -1):
                view[i] -= 0.2 * view[i + 1]
    return u


@case((5, 5))
def blur(image):
    out, work = np.zeros_like(image), np.empty_like(image)
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            np.multiply(np.roll(image, (dx, dy), axis=(0, 1)), 1.0 / (2 + abs(dx + dy)), out=work)
            np.add(out, work, out=out)
    return out * image


@case((4, 4))
def life(u):
    u = u.copy()
    for _ in range(2):
        near = np.zeros_like(u)
        for axis in (0, 1):
            for shift in (1, -1):
                near += np.roll(u, shift, axis)
        u[...] = np.where(near > 2.5, u * 0.5, u + 0.1 * near)
    return u


@case((3, 3))
def rows_swapped_through_views(A):
    """Rows are views: one of them is lost, as in NumPy."""
    B = A * 1.0
    B[0], B[1] = B[1], B[0]
    return B


@case((3, 3))
def rows_swapped(A):
    B = A * 1.0
    B[[0, 2]] = B[[2, 0]]
    B[:, [0, 1]] = B[:, [1, 0]] * 2.0
    return B


@case((3, 2))
def rows_rotated(A):
    """The first row is a view, and is gone when it is written."""
    B = A.copy()
    first = B[0]
    B[:-1] = B[1:]
    B[-1] = first
    return B


@case((3, 4))
def rows_of_length_one(A):
    B = A * 1.0
    for row in B:
        row /= np.sqrt(np.sum(row * row))
    return B


@case((3, 4))
def columns_centred(A):
    B = A * A
    for column in B.T:
        column -= np.mean(column)
    return B


@case((3, 3))
def a_diagonal_by_a_flat_view(A):
    B = A.copy()
    B.reshape(-1)[::4] += 2.0
    B.ravel()[1] *= B[0, 0]
    return B


@case((4, 4), (2,))
def blocks(A, v):
    B = A * 1.0
    upper, lower = np.vsplit(B, 2)
    upper[:, :2] @= np.sin(lower[:, 2:])
    lower[:, :2] -= np.outer(v, v)
    return B


@case((3, 3), (3,))
def diagonals(A, v):
    B = A * 2.0
    np.fill_diagonal(B, v)
    B += np.diagonal(B)
    return B


@case((6,), (2,))
def puts(x, v):
    y = x * 1.0
    np.put(y, [4, 1], v)
    y[[0, 2, 0]] = 3.0 * x[:3]
    return y * y


@case((5,), (2,))
def places(x, v):
    y = np.sin(x)
    np.place(y, np.array([True, False, True, True, False]), v)
    return y * x


@case((2, 3))
def masks(x):
    y = x - 0.7
    np.putmask(y, y > 0, x * x)
    np.copyto(y, np.exp(x), where=y < 0)
    return y


@case((3, 4))
def along_an_axis(x):
    y = x * 1.0
    np.put_along_axis(y, np.argmax(x, axis=1, keepdims=True), 0.0, axis=1)
    return y * x


@case((6,))
def histogram(x):
    total = np.zeros_like(x[:3])
    np.add.at(total, [0, 2, 0, 1, 1, 2], x * x)
    np.subtract.at(total, [0, 0], x[:2])
    return total * total


@case((3, 4))
def batch_norm(x):
    y = x.copy()
    y -= np.mean(y, axis=0)
    y /= np.sqrt(np.mean(y * y, axis=0) + 0.1)
    return y


@case((4,), (5,))
def time_warping(a, b):
    D = np.full_like(np.outer(a, b), 9.0)
    D[0] = np.cumsum((a[0] - b) ** 2)
    D[:, 0] = np.cumsum((a - b[0]) ** 2)
    for i in range(1, len(a)):
        for j in range(1, len(b)):
            best = np.minimum(np.minimum(D[i - 1, j], D[i, j - 1]), D[i - 1, j - 1])
            D[i, j] = (a[i] - b[j]) ** 2 + best
    return D[-1, -1] + D[1, 1]


@case((4, 3))
def forward_algorithm(A):
    alpha = np.zeros_like(A)
    alpha[0] = A[0]
    for t in range(1, 4):
        alpha[t] = (alpha[t - 1] @ np.outer(A[t], A[0])) * A[t]
        alpha[t] /= np.sum(alpha[t])
    return alpha


@case((3, 4), (3,))
def elimination(A, b):
    M = np.hstack([A[:, :3] + 3 * np.eye(3), b[:, None]])
    for k in range(3):
        M[k] /= M[k, k]
        for i in range(3):
            if i != k:
                M[i] -= M[i, k] * M[k]
    return M[:, -1]


@case((2, 3), (3,))
def triangle(x, v):
    """Views of views of a view."""
    y = np.stack([x, x * x])
    top = y[::-1][0].T
    top[1:][::-1][0] += v[:2]
    y.swapaxes(0, 2)[0, ..., None][1:, :, 0] *= v[0]
    return y * np.sum(top)


@case((3, 3))
def givens(A):
    R = A.copy()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        r = np.sqrt(R[i, i] ** 2 + R[j, i] ** 2)
        c, s = R[i, i] / r, R[j, i] / r
        upper, lower = R[i].copy(), R[j].copy()
        R[i], R[j] = c * upper + s * lower, c * lower - s * upper
    return np.triu(R)


@case((4,), (4, 4))
def power_iteration(x, A):
    v = x.copy()
    for _ in range(4):
        v[...] = A @ v
        v /= np.linalg.norm(v)
    return v


@case((3,), (3, 3))
def recurrent(x, W):
    h, out = np.zeros_like(x), np.zeros_like(W)
    for t in range(3):
        np.tanh(W @ h + x[t], out=h)
        out[t] = h
    return out
