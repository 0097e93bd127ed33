"""Idioms of programs in NumPy that a derivative goes through in every mode."""

import numpy as np
import pytest

import nbgrad

LINE = np.cos(np.arange(12.0)).reshape(3, 4)


def write_at_row_and_column(x):
    best = np.argmax(x, axis=1)
    y = np.zeros_like(x)
    y[np.arange(3), best] = x[:, 0] * x[:, 1]
    z = x * 1.0
    z[np.arange(3), best] *= x[:, 2]
    return np.sum(y * LINE) + np.sum(z**3)


def list_before_operator(x):
    return np.sum([x[0, 0], 2.0, 1.0, x[1, 1]] - x[0] * x[1])


def list_after_operator(x):
    return np.sum(x[0] * (x[1, 0], 3.0, x[2, 2], 1.0)) + np.sum(x[2] ** [2.0, 1.0, x[0, 0], 3.0])


def list_in_ufunc(x):
    return np.sum(np.hypot([x[0, 0], 0.3, 0.2, x[0, 1]], x[1]))


def list_in_product(x):
    return np.sum(x @ [x[0, 0], 1.0, x[0, 2], 2.0])


def methods(x):
    y = x[0] + 1.0
    y.cumprod(axis=0, out=y)
    return np.sum(y.real * LINE[1]) + np.sum(x.compress([True, False, True], axis=0) ** 2)


IDIOMS = [
    methods,
    write_at_row_and_column,
    list_before_operator,
    list_after_operator,
    list_in_ufunc,
    list_in_product,
]


@pytest.mark.parametrize("f", IDIOMS, ids=lambda f: f.__name__)
def test_idiom_is_right_in_every_mode(f):
    x = np.random.default_rng(3).uniform(0.2, 1.4, (3, 4))
    step = 1e-6
    slope = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        there, back = x.copy(), x.copy()
        there[index] += step
        back[index] -= step
        slope[index] = (f(there) - f(back)) / (2 * step)
    gradient = nbgrad.grad(f)
    np.testing.assert_allclose(gradient(x), slope, rtol=1e-6, atol=1e-7)
    batch = np.stack([x, x])
    np.testing.assert_allclose(nbgrad.vmap(gradient)(batch)[1], slope, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(nbgrad.compile(gradient)(x), slope, rtol=1e-6, atol=1e-7)
    value, rise = nbgrad.jvp(f, (x,), (LINE,))
    np.testing.assert_allclose(value, f(x))
    np.testing.assert_allclose(rise, np.sum(slope * LINE), rtol=1e-6, atol=1e-7)


def test_write_where_known_positions_repeat_is_refused():
    def f(x):
        y = np.zeros_like(x)
        y[np.array([0, 0, 1]), np.argmax(x, axis=1)] = x[:, 0]
        return np.sum(y)

    with pytest.raises(nbgrad.TraceError, match="which of its positions are equal"):
        nbgrad.compile(f)(LINE)


def branch(x):
    total = np.sum(x**2)
    while total > 1.0:
        total = 0.5 * total
    return total if x[0] else np.sum(x)


@pytest.mark.parametrize("f", [branch, nbgrad.grad(branch)], ids=["value", "gradient"])
def test_samples_of_one_batch_take_a_branch_together(f):
    batch = np.array([[1.0, 2.0], [2.0, 1.0]])
    np.testing.assert_allclose(nbgrad.vmap(f)(batch), [f(x) for x in batch])
    with pytest.raises(nbgrad.UntrackedError, match="differs from sample to sample"):
        nbgrad.vmap(f)(np.array([[1.0, 2.0], [0.0, 0.1]]))
