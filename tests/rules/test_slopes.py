"""Second derivatives of rows with kernels for them: against the rules of the rows, closed forms and
other orders of the two modes."""

import numpy as np
import pytest

import nbgrad
from nbgrad.core.primitive import Primitive
from nbgrad.rules.families import Custom
from nbgrad.values.dual import Slope

ROWS = [row for row in Primitive.registry.values() if isinstance(row, Custom) and row.slopes]
SHAPES = [
    ((7,), (0,)),
    ((6,), (0,)),
    ((1,), (0,)),
    ((), ()),
    ((3, 4), (0,)),
    ((3, 4), (1,)),
    ((2, 3, 4), (1,)),
    ((2, 3, 4), (0, 2)),
    ((2, 1, 3), (0, 2)),
    ((5001,), (0,)),
    ((2, 3000), (1,)),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_kernels_mean_what_the_rules_of_the_row_mean(row, dtype, rng):
    slope = Slope(row)
    rtol, atol = (1e-9, 1e-12) if dtype == "float64" else (3e-4, 3e-5)
    for shape, axes in SHAPES:
        for keepdims in (False, True):
            params = {"axes": axes, "keepdims": keepdims}
            x = 1 + rng.normal(size=shape) / max(np.sqrt(np.prod(shape)), 1.0)
            x, x_dot = np.asarray(x, dtype), np.asarray(rng.normal(size=shape), dtype)
            if x.size > 2:
                x[(1,) * x.ndim if x.ndim and min(shape) > 1 else (0,) * x.ndim] = 0.0
            out = row.evaluate(x, **params)
            ct = np.asarray(rng.normal(size=out.shape), dtype)
            value = slope.evaluate(x, out, x_dot, **params)
            assert value.shape == out.shape and value.dtype == dtype
            by_rule = row.pushforward([x_dot], out, [x], **params)
            np.testing.assert_allclose(value, by_rule, rtol, atol)
            call = (ct, value, (x, out, x_dot), (True, False, True))
            fused, plain = slope.fused_pullback(*call, **params), slope.pullback(*call, **params)
            for found, expected in zip(fused, plain, strict=True):
                found, expected = (0.0 if c is None else c for c in (found, expected))
                np.testing.assert_allclose(found, expected * np.ones(shape), rtol, atol)


def _others(x, left_out):
    return np.prod(np.delete(x, left_out))


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_the_hessian_of_a_product_where_elements_are_zero(zeros, rng):
    x = rng.normal(size=5)
    x[:zeros] = 0.0
    expected = [[0.0 if i == k else _others(x, [i, k]) for k in range(5)] for i in range(5)]
    expected = np.array(expected)
    np.testing.assert_allclose(nbgrad.hessian(np.prod)(x), expected)
    v = rng.normal(size=5)
    np.testing.assert_allclose(nbgrad.hvp(np.prod)(x, v), expected @ v)
    bent = nbgrad.grad(lambda x: v @ nbgrad.hvp(np.prod)(x, v))(x)
    third = [
        sum(v[i] * v[k] * _others(x, [i, k, m]) for i in range(5) for k in range(5)
            if len({i, k, m}) == 3)
        for m in range(5)
    ]  # fmt: skip
    np.testing.assert_allclose(bent, third, atol=1e-12)


def test_the_hessian_of_a_norm(rng):
    x, v = rng.normal(size=6), rng.normal(size=6)
    norm = np.linalg.norm(x)
    expected = (np.eye(6) - np.outer(x, x) / norm**2) / norm
    np.testing.assert_allclose(nbgrad.hvp(np.linalg.norm)(x, v), expected @ v, rtol=1e-12)
    along = nbgrad.jvp(nbgrad.grad(np.linalg.norm), (x,), (v,))[1]
    np.testing.assert_allclose(along, expected @ v, rtol=1e-12)
    third = nbgrad.grad(lambda x: v @ nbgrad.hvp(np.linalg.norm)(x, v))(x)
    part = x @ v / norm
    by_hand = -(2 * v * part + x * (v @ v) / norm - 3 * x * part**2 / norm) / norm**2
    np.testing.assert_allclose(third, by_hand, rtol=1e-11)
    assert not nbgrad.hvp(np.linalg.norm)(np.zeros(6), v).any()


def test_a_norm_of_large_numbers_along_large_ones():
    x, v = np.full(2, 1e30, np.float32), np.array([1e30, 0.0], np.float32)
    x /= np.float32(1e15)
    assert np.isclose(nbgrad.jvp(np.linalg.norm, (x,), (v,))[1], 1e30 / np.sqrt(2))


def test_tied_maxima_have_no_curvature(rng):
    x, v = np.array([[2.0, 1.0, 2.0], [0.0, 3.0, 3.0]]), rng.normal(size=(2, 3))
    row_maxima = lambda x: np.max(x, axis=1)  # noqa: E731
    means = [(v[0, 0] + v[0, 2]) / 2, (v[1, 1] + v[1, 2]) / 2]
    np.testing.assert_allclose(nbgrad.jvp(row_maxima, (x,), (v,))[1], means)
    loss = lambda x: np.sum(row_maxima(x) ** 3)  # noqa: E731
    expected = [
        [6 * m * r / 2 * (a == m) for a in row] for m, r, row in zip((2, 3), means, x, strict=True)
    ]
    np.testing.assert_allclose(nbgrad.hvp(loss)(x, v), expected)


@pytest.mark.parametrize("function", [np.prod, np.max, np.linalg.norm], ids=lambda f: f.__name__)
def test_products_with_the_hessian_in_samples_and_over_read_only_arrays(function, rng):
    x, v = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    product = nbgrad.hvp(lambda x: function(x) ** 2)
    x.setflags(write=False)
    np.testing.assert_allclose(
        nbgrad.vmap(product)(x, v), [product(*pair) for pair in zip(x, v, strict=True)]
    )
    np.testing.assert_allclose(
        nbgrad.vmap(product)(x, v), nbgrad.vmap(nbgrad.compile(product))(x, v), rtol=1e-9
    )


def test_what_does_not_move_takes_no_part_in_an_infinite_product():
    still, moving = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    assert nbgrad.jvp(np.prod, (np.array([np.inf, 2.0]),), (still,))[1] == np.inf
    assert nbgrad.jvp(np.prod, (np.array([[np.inf, 2.0]]).T,), (still[:, None],))[1] == np.inf
    assert nbgrad.hvp(np.prod)(np.array([np.inf, 2.0]), moving).tolist() == [1.0, 1.0]
