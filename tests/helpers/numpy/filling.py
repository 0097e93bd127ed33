"""Programs that assign tracked numbers to arrays of `nbgrad.numpy`, functions of three numbers.

They also run on NumPy arrays, so they can be compared with finite differences.
"""

import copy

import nbgrad.numpy as np


def element(x):
    y = np.zeros(4)
    y[1] = x[0] * x[1]
    y[-1] = x[2]
    return np.sum(y * y) + y[1]


def slices(x):
    y = np.ones(6)
    y[::2] = x * x
    y[1:3] *= x[0]
    return np.sum(np.sin(y))


def matrix(x):
    y = np.zeros((3, 3))
    y[0] = x
    y[:, 1] = x[::-1]
    y[2, 2] = x[0] * y[0, 1]
    return np.sum(y @ y)


def mask(x):
    y = np.zeros(3)
    y[np.array([True, False, True])] = x[:2]
    y[y == 0.0] = 2.0
    return np.prod(y)


def fancy(x):
    y = np.zeros(5)
    y[[4, 0]] = x[:2]
    y[np.array([1, 2])] = x[2]
    return np.sum(y * np.arange(5.0))


def out_of_ufunc(x):
    y = np.empty(3)
    np.multiply(x, x, out=y)
    np.add(y, 1.0, out=y)
    np.exp(-y, y)
    return np.sum(y * x)


def out_of_function(x):
    y, z = np.zeros(()), np.empty((3, 3))
    np.sum(x * x, out=y)
    np.matmul(np.outer(x, x), np.eye(3), out=z)
    np.clip(z, 0.5, 3.0, out=z)
    return y * 2.0 + np.sum(z)


def augmented(x):
    y = np.zeros(3)
    y += x
    y *= x
    y -= 1.0
    y /= 2.0
    y **= 2
    return np.sum(y)


def augmented_view(x):
    y = np.ones((2, 3))
    y[0] += x
    row = y[1]
    row *= x
    row -= y[0]
    return np.sum(y**3)


def add_at(x):
    y = np.zeros(4)
    np.add.at(y, [0, 2, 0], x)
    np.multiply.at(y, [2], x[0])
    return np.sum(y * y)


def copyto(x):
    y, z = np.zeros(3), np.zeros(3)
    np.copyto(y, x)
    np.copyto(z, y * y, where=[True, False, True])
    return np.sum(y * z)


def put(x):
    y = np.zeros((2, 2))
    np.put(y, [0, 3], x[:2])
    np.fill_diagonal(y[::-1], x[2])
    np.putmask(y, y > 100.0, 1.0)
    return np.linalg.det(y)


def views_before(x):
    y = np.zeros((2, 3))
    flat, column, back = y.ravel(), y[:, 1], y[::-1, ::-1]
    inner = column[1:]
    y.reshape(3, 2)[0] = x[:2]
    inner[:] = x[2]
    column += inner[0]
    return np.sum(flat * np.arange(6.0)) + np.sum(back[0] ** 2)


def views_after(x):
    y = np.zeros((2, 3))
    y[0, 0] = x[0]
    turned = y.T
    turned[2] = x[1:]
    part = turned[1:]
    part[0, 0] = x[0] * x[1]
    return np.sum(y**2) + y[0, 1]


def transposed(x):
    y = np.zeros((3, 2)).T
    y[0] = x
    y.T[1, 1] = x[0]
    y.swapaxes(0, 1)[2] += x[2]
    return np.sum(y @ y.T)


def flat(x):
    y = np.zeros((2, 2))
    y.flat[1] = x[0]
    y.flat[2:] = x[1:]
    return sum(v * v * i for i, v in enumerate(y.flat))


def filled(x):
    y = np.empty(3)
    y.fill(x[0] * x[1])
    return np.sum(y * x)


def sorted_in_place(x):
    y = np.zeros(3)
    y[:] = x * np.array([1.0, -1.0, 0.5])
    y.sort()
    return np.sum(y * np.array([1.0, 2.0, 4.0]))


def copies(x):
    y = np.zeros(3)
    z, w, v = y.copy(), np.copy(y), copy.deepcopy(y)
    z[0], w[1], v[2] = x[0], x[1], x[2]
    return np.sum((z + w + v) ** 2) + np.sum(copy.copy(z) * 3.0)


def astype(x):
    y = np.zeros(3, int).astype(float)
    y[:] = x
    return np.sum(y.astype(np.float64) ** 2)


def from_integers(x):
    y = np.array([1, 2, 3]).astype(float)
    y[1:] = x[1:] * y[:2]
    return np.sum(y * x)


def loop_over_rows(x):
    y = np.zeros((3, 3))
    for i, row in enumerate(y):
        row[:] = x * (i + 1.0)
    for row in y:
        row *= row
    return np.sum(y)


def swap(x):
    y = np.zeros(3)
    y[:] = x * x
    y[0], y[2] = y[2], y[0]
    return np.sum(y * np.array([1.0, 2.0, 3.0]))


def swap_rows(x):
    y = np.eye(3)
    y[1] = x
    y[[0, 1]] = y[[1, 0]]
    return np.sum(y * np.arange(9.0).reshape(3, 3))


def objects(x):
    y = np.empty(3, dtype=object)
    for i in range(3):
        y[i] = x[i] * x[i]
    return sum(v * (i + 1) for i, v in enumerate(y))


def without_axes(x):
    y = np.array(1.0)
    y[...] = x[0] * x[1]
    y += x[2]
    return y * y


def accumulate(x):
    total = np.zeros(2)
    for i in range(3):
        total += x[i] * np.array([1.0, i])
        total[0] *= x[0]
    return np.sum(total * total)


def overwritten(x):
    y = np.zeros(3)
    y[:] = x
    z = y * 2.0
    y[0] = 5.0
    y[:] = y + z
    y[...] = 3.0
    y[1] = x[1] ** 2
    return np.sum(y * z)


def changed_constant(x):
    scale, total = np.zeros(3), 0.0
    for i in range(3):
        scale[i] = i + 1.0
        total = total + np.sum(x * x * scale)
    return total


def like(x):
    y = np.zeros_like(np.array([1.0, 2.0, 3.0]))
    z = np.empty_like(y)
    y[1:] = x[:2]
    z[:] = y + x
    return np.sum(np.full_like(z, x[0]) * z)


def helpers(x):
    def kernel(out, a):
        for i in range(len(out)):
            out[i] = a[i] if i == 0 else out[i - 1] * 0.5 + a[i]

    y = np.zeros(3)
    kernel(y, x * x)
    return y[-1] + np.mean(y)


def comparisons(x):
    y = np.zeros(3)
    y[:] = x * x
    z = np.where(y > 2.0, y, -y)
    return np.sum(z) + (y.max() if len(y) == 3 and y.shape == (3,) and y.ndim == 1 else 0.0)


def in_lists(x):
    y, z = np.zeros(2), np.ones(3)
    y[0], z[1] = x[0], x[1]
    return np.sum(np.concatenate([y, z, x]) ** 2) + np.sum(np.vstack([z, x]) * z)


def nested_list(x):
    y = np.zeros(2)
    y[1] = x[2]
    return np.linalg.det(np.array([y, [x[0], y[1] * x[1]]])) + np.sum(np.asarray([y[0], y[1]]))


def triangle(x):
    y = np.zeros((3, 3))
    y[np.triu_indices(3, 1)] = x
    y = y + y.T
    y[np.diag_indices(3)] = 10.0
    return np.sum(np.linalg.inv(y) * 100.0)


def choleskys(x):
    a = np.eye(3) * 4.0
    a[0, 1] = a[1, 0] = x[0]
    factor = np.zeros((3, 3))
    for i in range(3):
        for j in range(i + 1):
            rest = a[i, j] - np.dot(factor[i, :j], factor[j, :j])
            factor[i, j] = np.sqrt(rest) if i == j else rest / factor[j, j]
    return np.sum(factor * np.outer(x, x))


def image(x):
    out, k = np.zeros((4, 4)), np.outer(x, x)
    padded = np.pad(np.arange(16.0).reshape(4, 4), 1)
    for i in range(4):
        for j in range(4):
            out[i, j] = np.sum(padded[i : i + 3, j : j + 3] * k)
    return np.sum(np.tanh(out * 0.01))


def kalman(x):
    F, H = np.array([[1.0, x[0]], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    Q, R = np.eye(2), np.array([[x[2]]])
    Q[0, 1] = x[1]
    m, P = np.zeros((2, 1)), np.eye(2) * x[1]
    for z in [1.0, 2.0, 1.5]:
        m, P = F @ m, F @ P @ F.T + Q
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        m, P = m + K @ (z - H @ m), (np.eye(2) - K @ H) @ P
    return np.sum(m) + np.trace(P)


def strided(x):
    y = np.zeros(8)
    windows = np.lib.stride_tricks.sliding_window_view(y + 1.0, 3)
    y[2::3] = x[:2]
    y.reshape(2, 4).T[3] = x[2]
    return np.sum(y * windows[0, 0] * np.arange(8.0))


def matmul_in_place(x):
    y = np.eye(3)
    y @= np.outer(x, x)
    y[...] = y @ y
    return np.sum(y)


def new_axis(x):
    y = np.zeros((2, 3))
    y[:, None, :][0, 0] = x
    y[1, ..., None][:, 0] = x * x
    return np.sum(y[0] * y[1])


def random(x):
    np.random.seed(0)
    weights = np.random.randn(3)
    weights[0] = x[0]
    draws = np.random.uniform(size=3)
    draws[1:] = x[1:]
    return np.sum(weights * draws * x)


def broadcasts(x):
    y = np.zeros((3, 3))
    y[:] = x
    y[1:, :2] = x[2]
    y += x[:, None]
    return np.sum(y * y * np.arange(9.0).reshape(3, 3))


def iterates(x):
    y = np.zeros(3)
    for i, v in enumerate(x):
        y[i] = v * v
    a, b, c = y
    return a * b + max(float(i) for i in range(3)) * c + sum(list(y))


def reduces(x):
    y = np.zeros((2, 3))
    y[0], y[1] = x, x * x
    return y.sum(axis=0).max() + y.mean() + y[1].std() + y.argmax() + y.cumsum()[-1] + y.dot(x)[0]


def linspaces(x):
    y = np.linspace(0.0, 1.0, 3)
    z = np.arange(3.0)
    y[1] = x[0]
    z[2] += x[1] * y[1]
    return np.sum(y * z) + np.interp(0.7, np.array([0.0, 1.0, 2.0]), y + z)


PROGRAMS = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", None) == __name__
}
