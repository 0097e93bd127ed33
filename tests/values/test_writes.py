"""Programs that write, in each mode: values against NumPy, slopes against differences."""

import zlib

import numpy as np
import pytest
from fuzz.written import watched
from helpers import rows
from helpers.values import write_matrices, write_states
from helpers.values.write_functions import TABLE

import nbgrad

PARTS = (write_matrices, write_states)
"""Modules that add to the table."""

STEP = 1e-5
OFTEN = {"accumulates_a_product", "lu", "heat", "prefix_sums", "momentum"}
"""Those that become machine code without `-m full`."""

OF_VALUES = {"leaks"}
"""Those that write where numbers say, which samples and compiled programs do not know."""


def known(name, marks=()):
    """A program that asks for no numbers; where it writes may depend on them."""
    refused = pytest.mark.xfail(raises=nbgrad.NbgradError, reason="positions that depend on values")
    return pytest.param(name, marks=(refused,) if name in OF_VALUES else marks)


every = pytest.mark.parametrize("name", TABLE)
names = [name for name, case in TABLE.items() if not case.branches]
static = pytest.mark.parametrize("name", [known(name) for name in names])
native = pytest.mark.parametrize(
    "name", [known(name, rows.marks(name in OFTEN)) for name in names if name not in OF_VALUES]
)


def points(name):
    """The function, arguments, directions, and weights of its result."""
    f, shapes, _ = TABLE[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    args = tuple(rng.uniform(0.3, 1.3, shape) for shape in shapes)
    directions = tuple(rng.uniform(-1.0, 1.0, shape) for shape in shapes)
    weights = rng.uniform(0.5, 1.5, np.shape(f(*args)))
    return f, args, directions, weights


def scalar(f, weights):
    return lambda *args: np.sum(f(*args) * weights)


def along(f, args, directions, step=STEP):
    """The derivative of f by central differences."""
    up, down = (
        f(*(x + side * step * u for x, u in zip(args, directions, strict=True))) for side in (1, -1)
    )
    return (np.asarray(up) - np.asarray(down)) / (2 * step)


def numbers(args):
    return tuple(range(len(args)))


def dot(xs, ys):
    return sum(np.sum(x * y) for x, y in zip(xs, ys, strict=True))


def close(found, expected, rtol):
    scale = 1.0 + float(np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * scale)


@every
def test_values(name):
    f, args, _, _ = points(name)
    before = [x.copy() for x in args]
    expected = f(*args)
    found = f(*map(nbgrad.track, args))
    close(found.data, expected, 1e-13)
    for x, old in zip(args, before, strict=True):
        np.testing.assert_array_equal(x, old)


@every
def test_gradients(name):
    f, args, directions, weights = points(name)
    loss = scalar(f, weights)
    slopes = nbgrad.grad(loss, numbers(args))(*args)
    close(dot(slopes, directions), along(loss, args, directions), 1e-7)


@every
def test_backward(name):
    f, args, directions, weights = points(name)
    leaves = [nbgrad.track(x) for x in args]
    np.sum(f(*leaves) * weights).backward()
    slopes = [np.zeros(x.shape) if x.grad is None else x.grad for x in leaves]
    close(dot(slopes, directions), along(scalar(f, weights), args, directions), 1e-7)


@every
def test_jvp(name):
    f, args, directions, _ = points(name)
    value, tangent = nbgrad.jvp(f, args, directions)
    close(value, f(*args), 1e-13)
    close(tangent, along(f, args, directions), 1e-7)


@every
def test_checkpoint(name):
    f, args, directions, weights = points(name)
    loss = scalar(f, weights)
    slopes = nbgrad.grad(nbgrad.checkpoint(loss), numbers(args))(*args)
    close(dot(slopes, directions), along(loss, args, directions), 1e-7)


@every
def test_hessian_vector_products(name):
    f, args, directions, weights = points(name)
    loss = scalar(f, weights)

    def slope(*args):
        return dot(nbgrad.grad(loss, numbers(args))(*args), directions)

    expected = along(slope, args, directions)
    found = nbgrad.hvp(lambda args: loss(*args))(args, directions)
    close(dot(found, directions), expected, 1e-6)
    twice = nbgrad.grad(slope, numbers(args))(*args)
    close(dot(twice, directions), expected, 1e-6)


@static
def test_vmap(name):
    f, args, directions, _ = points(name)
    batched = [
        np.stack([x + 0.01 * k * u for k in range(3)])
        for x, u in zip(args, directions, strict=True)
    ]
    found = nbgrad.vmap(f)(*batched)
    close(found, np.stack([f(*(x[k] for x in batched)) for k in range(3)]), 1e-12)


@static
def test_loop_programs(name):
    """The compiled program and its gradient, interpreted: nothing is read before it is written."""
    f, args, _, weights = points(name)
    close(watched(nbgrad.compile(f), *args), f(*args), 1e-12)
    loss = scalar(f, weights)
    slopes = nbgrad.grad(loss, numbers(args))
    for found, expected in zip(watched(nbgrad.compile(slopes), *args), slopes(*args), strict=True):
        close(found, expected, 1e-12)


@native
def test_compiled(name):
    f, args, _, weights = points(name)
    before = [x.copy() for x in args]
    close(nbgrad.compile(f)(*args), f(*args), 1e-12)
    loss = scalar(f, weights)
    value, slopes = nbgrad.compile(nbgrad.value_and_grad(loss, numbers(args)))(*args)
    close(value, loss(*args), 1e-12)
    for found, expected in zip(slopes, nbgrad.grad(loss, numbers(args))(*args), strict=True):
        close(found, expected, 1e-12)
    for x, old in zip(args, before, strict=True):
        np.testing.assert_array_equal(x, old)
