"""Views that see later writes, functions of NumPy that write, and lists as indices, in functions
with loops: values as NumPy's, gradients as by differences."""

import linecache
from collections.abc import Callable

import numpy as np
import pytest

import nbgrad

X = np.arange(16.0).reshape(4, 4) / 7 + 0.5
M = np.sin(np.arange(16.0).reshape(4, 4)) > 0.3

VIEWS = """
b = np.broadcast_to(y[0], (3, 4)); y[0] *= 5.0
b = np.broadcast_arrays(y[0], y[:, 1:2])[0]; y[0] *= 5.0
b = np.diagonal(y, 1); y[0, 1] *= 5.0
b = y.reshape(2, 2, 4).diagonal(-1, 1, 2); y[2] *= y[0]
b = np.linalg.diagonal(y[None], offset=-2); y[3, 1] *= 5.0
b = np.lib.stride_tricks.sliding_window_view(y, (2, 3)); y[1] *= y[0]
b = np.lib.stride_tricks.sliding_window_view(y, n - 2, axis=1); y[1] *= y[0]
b = np.einsum('ii->i', y); b[:2] = x[0, :2] ** 2; y[3, 3] *= 2.0
b = np.einsum('ij->ji', y); y[0, 2] *= 5.0
b = np.asarray(y); b[0] *= x[1]
b = np.ascontiguousarray(y); b[0] *= x[1]; b = np.asfortranarray(y[0]); b[1] = x[2, 2] ** 2; b = y
b = np.meshgrid(y[0], y[1, :3], copy=False)[1]; y[1, 2] *= 5.0
b = np.meshgrid(y[0], y[1, :3], indexing='ij')[0]; y[0] *= 5.0
"""
WRITES = """
np.putmask(y, M, 1.5)
np.place(y, M, 1.5)
np.copyto(y, x * x, where=M)
np.copyto(y, 1.5, where=M)
np.put_along_axis(y, np.array([[0], [2], [1], [3]]), 1.5, 1)
np.fill_diagonal(y, x[0])
m = y[:, 0] > 1.5; y[m] = x[0] ** 2
m = y[:, 0] > 1.5; y[m] = x[m, :1]
m = y[:, 0] > 1.5; y[m, 1:] *= 2.0
np.add.at(y, np.array([0, 0, 1]), x[:3] ** 2)
np.subtract.at(y, (np.array([0, 0]), np.array([1, 1])), y[2, 2])
np.multiply.at(y, [0, 0], x[1])
np.maximum.at(y, np.array([0, 2]), x[1] * 3.0)
"""
INDICES = """
b = y[[0, 2]]
b = y[[0, 2], 1]
b = y[[0, 2], [1, 3]]
b = y[:, [0, 2, 2]]
b = y[[True, False, True, False]]
b = y[[n - 1, n - 2]]
b = y[[0, -1]][:, [1]]
b = y[PAIR]
i = [0]; i = i + [2]; b = y[i]
i = [0, 2] if n > 3 else [1, 2]; b = y[:, i]
b = taken(y, [0, 2])
b = taken(y, (0, 2))
y[[0, 1]] = y[[1, 0]]; b = y
y[[0, 1]] += x[0]; b = y
y[[0, 1], [2, 3]] *= x[0, :2]; b = y
y[:, [1]] = x[:, :1] ** 2; b = y
"""
GRIDS = """
i, j = np.mgrid[0:n, 0:4]; b = i * y * y - j
i, j = np.mgrid[0:1:4j, 0:4]; b = i * y * y - j
i, j = np.ogrid[-1:1:4j, 0:n]; b = i * y * y - j
i, j = np.indices((n, 4)); b = i * y * y - j
i, j = np.indices(y.shape, sparse=True); b = i * y * y - j
b = np.r_[0:3, y[1] ** 2, 1.0, [2.0, 3.0]]
b = np.c_[y, y[1] ** 2, np.ones(n)]
"""


def taken(x, i):
    return x[i]


def function_of(lines: str) -> Callable:
    """All statements of a table, in one function: sums of what they give."""
    body = ["def f(x):", "    n = x.shape[0]", "    total = 0.0", "    for t in range(2):"]
    for k, line in enumerate(lines.strip().splitlines()):
        body += [f"        {x}" for x in ("y = x * 1.25", "b = y", *line.split("; "))]
        body.append(f"        total += {k + 1} * np.sum(b * b) + np.sum(np.sin(y))")
    source = "\n".join([*body, "    return total", ""])
    name = f"<{hash(lines)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np, "M": M, "PAIR": (0, 2), "taken": taken}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


OTHERS = """
b = np.repeat(y, n, axis=1)
b = np.repeat(y[:, ::2], 2)
b = np.tile(y[0], (n, 2))
b = np.kron(y[:2, :2], x)
b = np.maximum.accumulate(y, axis=1)
b = np.minimum.accumulate(y[0]) * np.multiply.accumulate(y)
b = np.median(y[:, :3], axis=1)
b = np.percentile(y, 30, axis=-2) * np.quantile(y[0], 0.2)
b = np.array([[y[0], y[1]], [x[0], x[1] ** 2]])
b = y.T.reshape(-1)
b = y[:, 1].reshape(2, 2); b[0] *= 3.0; b = y
z, d = np.linspace(y[0, 0], 3.0, 5, retstep=True); b = z * d
b = y[np.unravel_index(np.argmax(y), y.shape)] * y.item(2) * y
b = y.T; y.sort(axis=0)
z = np.linalg.inv(y + 1j * x + 3 * np.eye(n)); b = z.real * z.imag
z = np.repeat(np.tile(y + 1j * x, 2), 2, axis=0); b = z.real * z.imag
"""
TABLES = {"views": VIEWS, "writes": WRITES, "indices": INDICES, "grids": GRIDS, "others": OTHERS}


@pytest.mark.parametrize("name", TABLES)
def test_as_in_numpy(name):
    plain = function_of(TABLES[name])
    function = nbgrad.njit(plain)
    assert nbgrad.value_and_grad(function)(X)[0] == pytest.approx(plain(X), rel=1e-12)
    nbgrad.check_grads(function, (X,))


def branches(x):
    total = x[2]
    if x[0] > 0.0:
        if x[1] > 0.0:
            r = x * x
        else:
            r = np.zeros(0)
        total += np.sum(r)
    return total


@pytest.mark.parametrize("start", [(1.0, 2.0, 3.0), (1.0, -2.0, 3.0), (-1.0, 2.0, 3.0)])
def test_arrays_of_several_lengths_in_branches_of_branches(start):
    """The number of elements is a variable: no bound on where stores and loads are."""
    x = np.array(start)
    value, slope = nbgrad.value_and_grad(nbgrad.njit(branches))(x)
    wanted, expected = nbgrad.value_and_grad(branches)(x)
    assert value == pytest.approx(wanted, rel=1e-14)
    np.testing.assert_allclose(slope, expected, rtol=1e-13)


@pytest.mark.parametrize("count", [2, 9])
def test_values_for_a_mask_are_counted(count):
    @nbgrad.njit
    def given(x, values):
        x = x.copy()
        x[x > 1.0] = values
        return x.sum()

    x = np.arange(6.0) + 0.5
    with pytest.raises(ValueError, match="as many rows of values"):
        nbgrad.grad(given)(x, np.ones(count))
    np.testing.assert_array_equal(nbgrad.grad(given, 1)(x, np.ones(5)), np.ones(5))


def test_read_only_views_refuse_writes():
    @nbgrad.njit
    def through_broadcast(x):
        np.broadcast_to(x[0], (2, 4))[0, 0] = 1.0
        return x.sum()

    with pytest.raises(nbgrad.errors.LoopError, match="read-only"):
        nbgrad.grad(through_broadcast)(X)
