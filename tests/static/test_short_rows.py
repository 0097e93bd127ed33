"""Loops over short rows, which are written out, give what loops over long rows give."""

import numpy as np
import pytest
from helpers.daily import every_other

import nbgrad

RNG = np.random.default_rng(11)


def softmax(z, y):
    z = z - np.max(z, axis=-1, keepdims=True)
    return -np.sum(y * (z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))))


def shifted(z, y):
    return np.sum(np.tanh((z - y[0]) * y[1]) * z, axis=0)


def shifted_total(z, y):
    return np.sum(shifted(z, y))


def total(z, y):
    return np.sum((z * y[0] - y) ** 2)


def bordered(z, y):
    return np.sum(np.diff(np.pad(z, ((1, 2), (1, 0))), axis=1) * y[0] ** 2)


def pairs(z, y):
    apart = z[:, None, :] - y[:5]
    return np.sum(np.exp(-np.sum(apart**2, axis=2)) * np.sum(y[:5], axis=1))


FUNCTIONS = (softmax, shifted, total, bordered, pairs)


WIDTHS = [
    (1, "d"), (2, "d"), (3, "f"), (3, "d"), (8, "d"), (5, "f"), (9, "f"), (9, "d"), (16, "d"),
    (8, "f"), (17, "f"), (16, "f"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "dtype"), every_other(WIDTHS))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_and_gradients(function, columns, dtype):
    for rows in (15, 19):
        z = RNG.normal(size=(rows, columns)).astype(dtype)
        y = RNG.normal(size=(rows, columns)).astype(dtype)

        def value(z, y):
            return np.sum(function(z, y))

        found = nbgrad.compile(nbgrad.value_and_grad(value, (0, 1)))(z, y)
        wanted = nbgrad.value_and_grad(value, (0, 1))(z, y)
        tolerance = 1e-11 if dtype == "d" else 2e-4
        for one, other in zip((found[0], *found[1]), (wanted[0], *wanted[1]), strict=True):
            scale = np.max(np.abs(other), initial=1.0)
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)
            assert np.asarray(one).dtype == np.asarray(other).dtype


def test_sums_of_many_rows_are_added_up_in_parts():
    z = np.full((1 << 20, 3), 0.1, np.float32)
    compiled = nbgrad.compile(lambda z, y: np.sum((z * y - y) ** 2))
    found = compiled(z, np.ones(3, np.float32))
    exact = z.size * (np.float64(np.float32(0.1)) - 1.0) ** 2
    np.testing.assert_allclose(found, exact, rtol=3e-6)


def test_vectors_run_along_the_long_axis():
    """A row of a few elements has no loop of its own, unless all elements lie one after another."""
    z = RNG.normal(size=(40, 3))
    compiled = nbgrad.compile(nbgrad.grad(shifted_total, (0, 1)))
    compiled(z, z)
    kernel = compiled.source[: compiled.source.index("range(40)")]
    assert "for j" not in kernel[kernel.rindex("def ") :]
    joined = nbgrad.compile(lambda z: np.sum(np.sin(z)))
    joined(z)
    assert "range(120)" in joined.source
