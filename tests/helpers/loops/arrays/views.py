"""Programs with new arrays, slices, views, and indexing by arrays."""

import numpy as np

from helpers.loops.arrays.table import program, vector

PROGRAMS = []
PLAIN = []
"""Programs that Numba does not take, or not soon."""


@program(PROGRAMS, vector(7))
def squares_in_a_new_array(a):
    b = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        b[i] = a[i] * a[i]
    return b.sum()


@program(PROGRAMS, vector(9), 4)
def heat_by_slices(u, n):
    for _t in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
    return np.sum(u**2)


@program(PROGRAMS, vector(6, 7), 3)
def jacobi_with_two_grids(a, n):
    b = np.zeros_like(a)
    for _t in range(n):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a[1:-1, 1:-1] = b[1:-1, 1:-1] * a[1:-1, 1:-1]
    return np.sum(a * a)


@program(PROGRAMS, vector(8))
def shift_in_place(a):
    a[1:] = a[:-1] * 2.0
    a[:-1] = a[1:]
    return np.sum(a * a * a)


@program(PROGRAMS, vector(8))
def reversed_in_place(a):
    a[:] = a[::-1] * a
    return a[0] * 3.0 + a[2] * a[5]


@program(PROGRAMS, vector(4, 6))
def rows_and_columns(a):
    r = a[1]
    c = a[:, 2]
    a[2] = r * 2.0
    a[:, 0] = c
    return np.sum(a[2] * a[2]) + np.sum(c * r[:4]) + a[-1, -1] * a[0, -2]


@program(PROGRAMS, vector(5, 6))
def every_other_element(a):
    b = a[::2, 1::2]
    b *= 3.0
    return np.sum(a * a) + b[1, 1] + np.sum(a[::-1, ::-2] * a[:, ::2])


@program(PROGRAMS, vector(4, 5))
def transposed_views(a):
    b = a.T
    b[0, 1] = b[2, 2] * 2.0
    return np.sum(a.T @ a) + np.sum(b[1:3] * b[1:3])


@program(PROGRAMS, vector(12))
def reshaped_views(a):
    b = a.reshape(3, 4)
    b[1] *= b[0]
    c = a.reshape((2, -1))
    return np.sum(c[0] * c[1]) + b.ravel()[5] * b.flatten()[6]


@program(PROGRAMS, vector(3, 4))
def ravel_shares_memory(a):
    s = 0.0
    flat = a.ravel()
    for k in range(flat.shape[0]):
        s += flat[k] * flat[k] * a[0, 0]
        flat[k] = s
        a[1, 2] = a[1, 2] * 0.5
    return s + np.sum(a)


@program(PROGRAMS, vector(5), vector(4))
def new_axes(a, b):
    c = a[:, None] * b[None, :] + b
    return np.sum(c * c)


@program(PROGRAMS, vector(2, 3, 4))
def ellipsis_of_three_axes(a):
    b = a[..., 1] * a[0, ..., 2]
    return np.sum(b * b) + np.sum(a[1, 1:, :2] ** 2)


@program(PROGRAMS, vector(6), 4)
def dynamic_bounds(a, k):
    s = 0.0
    for i in range(k):
        s += np.sum(a[i : i + 3] * a[i]) + np.sum(a[-i:]) * a[1]
    return s + np.sum(a[k:] ** 2) + np.sum(a[: k - 1] ** 3)


@program(PROGRAMS, vector(5))
def clipped_bounds(a):
    return np.sum(a[-9:2] ** 2) + np.sum(a[3:99]) * a[0] + np.sum(a[4:1]) + np.sum(a[7:0:-2] ** 3)


@program(PROGRAMS, vector(8), np.array([1, 3, 3, 0]))
def gather_and_scatter(a, places):
    g = a[places]
    a[places[:2]] = g[2:] * g[:2]
    return np.sum(a * a) + g.sum()


@program(PROGRAMS, vector(5, 3), np.array([4, -1, 0, 2]))
def gathered_rows(a, rows):
    b = a[rows]
    c = a[:, np.array([0, 2])]
    return np.sum(b * b * b) + np.sum(c * c)


@program(PROGRAMS, vector(6), np.array([0, 2, 2, 1]))
def augmented_scatter(a, places):
    a[places] += a[1:5] * 2.0
    return np.sum(a * a)


@program(PROGRAMS, vector(8))
def masks(a):
    m = a > 0
    b = a[m]
    a[a < 0] = 2.0
    a[m] *= b
    return np.sum(a) + np.sum(b * b)


@program(PLAIN, vector(4, 5))
def masked_elements_of_a_matrix(a):
    big = a[np.abs(a) > 0.5]
    a[a > 1.0] = 1.0
    return np.sum(big * big) + np.sum(a * a)


@program(PROGRAMS, vector(4), 2.5)
def arrays_of_numbers(a, s):
    b = np.array([a[0] * s, a[1], s * s])
    m = np.array([[a[0], a[1]], [s, a[3]]])
    return np.sum(b * b) + np.sum(m @ m)


@program(PROGRAMS, vector(5), 1.5)
def filled_arrays(a, s):
    b = np.full(5, s) + np.full_like(a, 2.0) * a + np.ones_like(a) * a[0]
    c = np.empty((2, 3))
    c[:] = s
    c[1, :] = a[:3]
    b.fill(s * a[1])
    return np.sum(b * a) + np.sum(c * c)


@program(PROGRAMS, vector(6))
def ranges(a):
    x = np.arange(6) * a
    y = np.arange(1.0, 4.0, 0.5) * a
    z = np.linspace(0.0, 1.0, 6) * a
    return np.sum(x * y) + np.sum(z * z)


@program(PROGRAMS, vector(3, 3))
def identity_and_triangles(a):
    return np.sum((a + np.eye(3) * a[0, 0]) ** 2) + np.sum(np.tril(a) * np.triu(a, 1).T)


@program(PROGRAMS, vector(6), 3)
def rows_made_in_a_loop(a, n):
    s = 0.0
    for i in range(n):
        row = np.empty(a.shape[0] - i)
        for j in range(a.shape[0] - i):
            row[j] = a[j] * a[i + j]
        s += np.sum(row * row)
    return s


@program(PROGRAMS, vector(4, 4), 3)
def loop_over_rows(a, n):
    s = 0.0
    for _t in range(n):
        for row in a:
            row[0] = row[1] * row[2]
            s += np.sum(row) * row[3]
    return s


@program(PROGRAMS, vector(6))
def copies_are_apart(a):
    b = a.copy()
    b[0] = 5.0
    c = np.copy(a)
    c *= b
    return np.sum(a * b) + np.sum(c)


@program(PROGRAMS, vector(7))
def moving_average(a):
    w = 3
    out = np.zeros(a.shape[0] - w + 1)
    for i in range(out.shape[0]):
        out[i] = np.mean(a[i : i + w])
    return np.sum(out * out)


@program(PROGRAMS, vector(3, 4, 5))
def three_axes(a):
    b = np.zeros((5, 3))
    for i in range(3):
        for k in range(5):
            b[k, i] = np.sum(a[i, :, k] ** 2)
    return np.sum(b[1:] * b[:-1])


@program(PROGRAMS, vector(3, 4) * 0.3)
def flat_reads_and_row_writes(a):
    s = 0.0
    f = a.reshape(a.shape[0] * a.shape[1])
    for k in range(f.shape[0]):
        s += f[k] * f[k]
        for i in range(1, a.shape[0]):
            a[i, 1] = 0.5 * s
    return s


@program(PROGRAMS, vector(3, 4) * 0.3)
def flat_reads_in_a_loop_over_rows(a):
    s = 0.0
    f = a.ravel()
    for i in range(1, a.shape[0]):
        for k in range(f.shape[0]):
            s += f[k] ** 2
        a[i, 0] = s * 0.1
    return s


PLACES, OTHERS = np.array([0, 1, -1]), np.array([2, 0, 3])


@program(PLAIN, vector(2, 3, 4), PLACES, OTHERS, vector(4, 5))
def several_index_arrays(a, i, j, w):
    b = a.copy()
    b[i, :, j] = a[0, :, 0] * 2
    c = a[0].copy()
    c[i, j] += a[1, 0, 0] * 5
    c[i, j] *= c[j % 2, i]
    total = np.sum(a[1, :, j] * w[:3, :3]) + np.sum(a[:, i, j] * w[:2, :3]) + np.sum(b * b)
    total += np.sum(a[i[:, None], j[None, :] % 3]) * w[0, 0] + np.sum(a[i, 1, j] * w[:3, 0])
    return (
        total + np.sum(a[..., j] * w[0, :3]) + np.sum(a[0][:, w[:, 0] > 0.0] ** 2) + np.sum(c * c)
    )


@program(PROGRAMS, vector(9), 2)
def steps_at_run_time(x, k):
    b, c, d, e = x[::k], x[::-k], x[4:1:-k], x[-2:0:-k]
    f = x[1:-1:k] * e[0]
    x[1::k] = x[1::k] * 3.0
    x[::-k] += 1.0
    return np.sum(b**2) + np.sum(c**3) + d[0] * d[1] + e[1] * e.size + np.sum(f) * x[1:3:-k].size


@program(PLAIN, vector(6), vector(4), np.array([1, 3, 3, 2, 0, 0]))  # Numba takes half a minute
def functions_that_numba_defines(x, y, places):
    reach = np.sort(y)
    total = np.interp(0.3, reach, y) + np.sum(np.cross(x[:3], y[1:]) ** 2) + np.ptp(y)
    total += np.sum(np.bincount(places, x, 7) ** 2) + np.sum(np.repeat(x, 2) ** 2)
    total += np.sum(np.take(x, places) ** 2) + np.sum(np.unique(x) ** 3 * np.arange(6))
    total += np.sum(x[np.where(x > 0.1)]) * x.flat[1] + np.finfo(np.float64).eps * x[0]
    return total + np.linalg.norm(x, 3) + np.linalg.norm(y, 1)


@program(PROGRAMS, vector(7), 2)
def lengths_of_a_part_that_a_loop_cuts(x, n):
    total = 0.0
    for k in range(1, n + 1):
        part = x[::-k]
        count = len(part)
        if count > 2:
            rest = part[1:] * 2.0
        else:
            raise ValueError("too short")
        total += np.sum(rest * rest) * count
    return total


@program(PLAIN, vector(4, 4), 2)
def matrices_that_are_turned(a, n):
    total = np.linalg.slogdet(a + 3.0 * np.eye(4))[1] if isinstance(n, int) else 0.0
    return total + np.sum(np.rot90(a) * a) + np.sum(np.swapaxes(a, 0, 1) * np.real(a) * a)
