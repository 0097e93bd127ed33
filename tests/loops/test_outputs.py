"""Arrays for results, parts of arrays and polynomials, in functions with loops."""

# Some calls are wrong on purpose.
# pyright: reportCallIssue=false, reportArgumentType=false

import linecache

import numpy as np
import pytest

import nbgrad
from nbgrad import njit
from nbgrad.errors import LoopError

polynomials = np.polynomial.polynomial


def by_position(x):
    y = np.empty_like(x)
    np.multiply(x, x, y)
    np.exp(y, y)
    return y.sum()


def products(x):
    a = x.reshape(3, 4)
    c = np.empty((3, 3))
    np.dot(a, a.T, out=c)
    np.matmul(c, c, out=c)
    return (c**2).sum()


def along_axes(x):
    y = np.zeros((2, 3))
    np.sum(x.reshape(3, 4), axis=1, out=y[0])
    np.cumsum(x[:3], out=y[1])
    z = np.clip(y, -1.0, 1.0, out=y)
    z *= 2.0
    return (y**2).sum() + np.add(x, x, out=None).sum()


def of_an_argument(x):
    y = x + 0.0
    np.sqrt(np.abs(y), out=y)
    return y.sum()


def complex_output(x):
    y = np.zeros(x.size, np.complex128)
    np.multiply(x, 1j * x, out=y)
    return np.abs(y + 1.0).sum()


def equal_parts(x):
    a, b, c = np.split(x, 3)
    return (a * b * c).sum()


def unequal_parts(x):
    total = 0.0
    for part in np.array_split(x, 5):
        total += part.sum() ** 2 * len(part)
    return total


def parts_of_matrices(x):
    a = x.reshape(2, 6)
    left, right = np.hsplit(a, 2)
    top, bottom = np.vsplit(a, 2)
    middle = np.split(a, [1, 4], axis=1)[1]
    return (left * right).sum() + (top * bottom**2).sum() + middle.sum() ** 2


def written_parts(x):
    y = x + 0.0
    for i in range(3):
        a, b = np.split(y, 2)
        a[:] = a * b + i
    return y.sum()


def complex_parts(x):
    a, b = np.split(x + 1j * x**2, 2)
    return np.abs(a * b).sum()


def values_of_polynomials(x):
    found = np.polyval(x[:4], 0.3) + np.polyval(x, x[3:5]).sum() + np.polyval((1.0, 2.0), x[0])
    return found + polynomials.polyval(x[2], x[:4]) + np.polyval([x[1], 2.0], 2)


PROGRAMS = (
    by_position, products, along_axes, of_an_argument, complex_output, equal_parts,
    unequal_parts, parts_of_matrices, written_parts, complex_parts, values_of_polynomials,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_derivatives(program):
    rng = np.random.default_rng(0)
    x, way, step = rng.normal(size=12), rng.normal(size=12), 1e-6
    value, slope = nbgrad.value_and_grad(njit(program))(x)
    assert np.isclose(value, program(x))
    difference = (program(x + step * way) - program(x - step * way)) / (2 * step)
    assert np.isclose(slope @ way, difference, rtol=1e-5)


def shifted(x):
    y = x + 0.0
    np.add(y[1:], y[:-1], y[1:])
    return y.sum()


def of_integers(x):
    y = np.zeros(x.size, np.int64)
    np.exp(x, out=y)
    return y.sum() * x[0]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (shifted, "np.add, whose output overlaps an argument"),
        (of_integers, "an output of np.exp of int64, to which float64 are not cast"),
        (lambda x: np.modf(x, x, x)[0].sum(), "np.modf with several outputs"),
        (lambda x: np.exp(x, out=1.0).sum(), "an output of np.exp that is not an array"),
        (lambda x: np.array_split(x, 0)[0].sum(), "a number of parts below 1"),
    ],
)
def test_why_a_function_is_refused(program, message):
    with pytest.raises(LoopError, match=message):
        nbgrad.grad(njit(program))(np.ones(6))


def test_parts_that_are_not_equal():
    with pytest.raises(ValueError, match="array split does not result in an equal division"):
        nbgrad.grad(njit(equal_parts))(np.ones(7))


def listed(x):
    total = 0.0
    for k in range(3):
        d = [v * v for v in x if v > 0.1 * k]
        for i, v in enumerate(d):
            total += v * i
        total += np.max(d) + sum(d)
    e = [x[m] * m for m in range(4)]
    held = np.array(e)
    e[1] += x[0]
    return total + (held**2).sum() + e[1] * len(e)


def test_a_list_that_does_not_grow_is_an_array():
    x, way, step = np.linspace(-0.4, 1.1, 12), np.linspace(0.3, -0.8, 12), 1e-6
    value, slope = nbgrad.value_and_grad(njit(listed))(x)
    assert np.isclose(value, listed(x))
    difference = (listed(x + step * way) - listed(x - step * way)) / (2 * step)
    assert np.isclose(slope @ way, difference, rtol=1e-5)


@pytest.mark.parametrize("line", ["d + d", "d * 2", "d[1:]", "[d, d]"])
def test_lists_that_are_no_arrays(line):
    text, space = f"def f(x):\n    d = [v for v in x]\n    return ({line})[0]\n", {}
    linecache.cache["<listed>"] = len(text), None, text.splitlines(True), "<listed>"
    exec(compile(text, "<listed>", "exec"), space)
    with pytest.raises(LoopError, match=r"a list: np\.array"):
        nbgrad.grad(njit(space["f"]))(np.ones(3))
