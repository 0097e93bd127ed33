"""Logical operators of masks, and other parts of NumPy's face, in every mode."""

from collections.abc import Callable

import numpy as np
import pytest

import nbgrad

X = np.array([1.0, -2.0, 3.0, 0.5])
OTHER = np.array([True, True, False, True])


def augmented(x):
    mask = x > 0
    alias = mask
    mask &= x < 2
    mask |= x < -1.5
    mask ^= OTHER
    return np.where(alias, x * x, x)


MASKS: dict[str, Callable] = {
    "and": lambda x: np.where((x > 0) & (x < 2), x * x, 0.0),
    "or": lambda x: np.where((x > 2) | (x < 0), x * x, 0.0),
    "xor": lambda x: np.where((x > 0) ^ (x < 2), x * x, x),
    "not": lambda x: np.where(~(x > 0), x * x, x),
    "array beside": lambda x: np.where((x > 0) & OTHER, x * x, x),
    "array before": lambda x: np.where(OTHER & (x > 0), x * x, x),
    "bool beside": lambda x: np.where((x > 0) | False, x * x, x),
    "bool before": lambda x: np.where(True ^ (x > 0), x * x, x),
    "augmented": augmented,
    "bitwise": lambda x: np.where(np.bitwise_and(np.invert(x > 2), x > 0), x * x, x),
    "logical": lambda x: np.where(np.logical_or(x > 2, np.logical_not(x < 1.1)), x * x, x),
}
WINDOW = np.lib.stride_tricks.sliding_window_view
FACE: dict[str, Callable] = {
    "mT": lambda x: np.reshape(x * x, (2, 2)).mT @ x[:2],
    "windows": lambda x: WINDOW(x, 2) ** 2,
    "windows along": lambda x: WINDOW(np.reshape(x, (2, 2)), 2, axis=1) ** 2,
    "windows of two": lambda x: WINDOW(np.reshape(x, (2, 2)), (2, 1)) ** 2,
    "windows twice": lambda x: WINDOW(x, (2, 2), axis=(0, 0)) ** 2,
    "at max": lambda x: nbgrad.at(x)[1:3].max(x[:2]) * x,
    "at min": lambda x: nbgrad.at(x)[np.array([2, 0])].min(0.7) * x,
    "at subtract": lambda x: nbgrad.at(x)[np.array([2, 2])].subtract(x[:2]) * x,
    "at divide": lambda x: nbgrad.at(x)[0].divide(2.0 + x[1] * x[1]) * x,
}
PLAIN: dict[str, Callable] = {
    "at max": lambda x: _written(x, slice(1, 3), np.maximum(x[1:3], x[:2])) * x,
    "at min": lambda x: _written(x, [2, 0], np.minimum(x[[2, 0]], 0.7)) * x,
    "at subtract": lambda x: _written(x, 2, x[2] - x[0] - x[1]) * x,
    "at divide": lambda x: _written(x, 0, x[0] / (2.0 + x[1] * x[1])) * x,
}


def _written(x, index, value):
    x = x.copy()
    x[index] = value
    return x


@pytest.mark.parametrize("name", [*MASKS, *FACE])
def test_as_numpy_in_every_mode(name):
    f = (MASKS | FACE)[name]
    plain = PLAIN.get(name, f)
    total = lambda x: np.sum(f(x))  # noqa: E731
    value, rows = plain(X), np.stack([X, X * X])
    np.testing.assert_allclose(nbgrad.compile(f)(X), value)
    np.testing.assert_allclose(nbgrad.vmap(f)(rows), [plain(x) for x in rows])
    np.testing.assert_allclose(nbgrad.compile(nbgrad.vmap(f))(rows), [plain(x) for x in rows])
    slope = [(np.sum(plain(X + e)) - np.sum(plain(X - e))) / 2e-6 for e in 1e-6 * np.eye(len(X))]
    for g in (
        nbgrad.grad(total),
        nbgrad.compile(nbgrad.grad(total)),
        lambda x: nbgrad.vmap(nbgrad.grad(total))(x[None])[0],
        lambda x: [nbgrad.jvp(total, (x,), (e,))[1] for e in np.eye(len(x))],
        nbgrad.grad(lambda x: total(x) + 0.0 * nbgrad.hvp(total)(x, x)[0]),
    ):
        np.testing.assert_allclose(g(X), slope, rtol=1e-6, atol=1e-8)


def test_operators_of_masks_refuse_floats():
    for f in (lambda x: x & (x > 0), lambda x: ~x, lambda x: (x > 0) | x):
        for run in (nbgrad.compile(f), nbgrad.vmap(f), lambda x, f=f: f(nbgrad.track(x))):
            with pytest.raises(TypeError):
                run(X)


def test_an_index_of_floats_is_named():
    for f in (lambda x: x[x], lambda x: x[x[0]]):
        for run in (nbgrad.grad(f), nbgrad.compile(f), lambda x, f=f: f(nbgrad.track(x))):
            with pytest.raises(IndexError, match="an index of floats"):
                run(X)


AXES = {
    "dict": (lambda p: p["a"] * p["b"], ({"a": 0, "b": None},), 0, ({"a": X, "b": 2.0},), 2.0 * X),
    "one for all": (lambda p: p["a"] * 2, {"a": 0}, 0, ({"a": X},), 2 * X),
    "second": (np.sum, 1, 0, (np.stack([X, X], 1),), [np.sum(X)] * 2),
    "last": (lambda x: x * 2, 0, -1, (np.stack([X, 2 * X]),), np.stack([2 * X, 4 * X], -1)),
}


@pytest.mark.parametrize("name", AXES)
def test_axes_of_vmap(name):
    f, in_axes, out_axes, args, expected = AXES[name]
    run = nbgrad.vmap(f, in_axes if name != "one for all" else (in_axes,), out_axes)
    np.testing.assert_allclose(run(*args), expected)
    np.testing.assert_allclose(nbgrad.compile(run)(*args), expected)


def test_axes_of_nested_results():
    rows = np.stack([X, 2 * X])
    found = nbgrad.vmap(lambda x: {"a": x, "b": (np.sum(x), 3.0)}, 0, {"a": 1, "b": (0, None)})(
        rows
    )
    np.testing.assert_array_equal(found["a"], rows.T)
    np.testing.assert_array_equal(found["b"][0], rows.sum(1))
    assert found["b"][1] == 3.0
    slope = nbgrad.grad(lambda x: np.sum(nbgrad.vmap(lambda r: r * r, 0, 1)(x)[0]))(rows)
    np.testing.assert_array_equal(slope, np.stack([2 * rows[:, 0], *[0 * rows[:, 0]] * 3], 1))
    with pytest.raises(ValueError, match="out_axes is None"):
        nbgrad.vmap(np.sum, 0, None)(rows)
    with pytest.raises(ValueError, match="does not nest"):
        nbgrad.vmap(lambda p: p["a"], ({"b": 0},))({"a": rows})
    with pytest.raises(ValueError, match="in_axes"):
        nbgrad.vmap(np.sum, 0.5)(rows)
