"""NumPy programs with Python loops: values against NumPy, gradients against differences."""

import numpy as np
import pytest

import nbgrad

RANDOM = np.random.default_rng(3)


def normal(*shape):
    return RANDOM.normal(size=shape)


def copied(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def check(function, args, compiled=None):
    """Compare the value with NumPy, and the gradient with respect to all arrays of floats with
    differences along one direction."""
    wrt = tuple(i for i, x in enumerate(args) if getattr(x, "dtype", None) == np.float64)
    compiled = compiled or nbgrad.njit(function)
    value, slopes = nbgrad.value_and_grad(compiled, wrt)(*copied(args))
    assert value == pytest.approx(function(*copied(args)), rel=1e-12)
    along = {i: normal(*args[i].shape) for i in wrt}

    def at(step):
        return function(*(x + step * along[i] if i in along else x for i, x in enumerate(args)))

    expected = (at(1e-6) - at(-1e-6)) / 2e-6
    found = sum(np.sum(slope * along[i]) for i, slope in zip(wrt, slopes, strict=True))
    assert found == pytest.approx(expected, rel=2e-6, abs=1e-7)
    return compiled


# -- products -------------------------------------------------------------------------------------


def products(a, b, x, stack):
    c = (a @ b).T @ a[::-1] @ b[:, ::2]
    y = (2.0 * a + b) @ (x @ a)
    return np.sum(np.tanh(c)) + np.dot(x, y) + np.sum(np.sin(stack @ a)) + np.sum(stack @ stack)


def recurrence(w, u, x):
    h = np.zeros((w.shape[0], u.shape[0]))
    total = 0.0
    for t in range(x.shape[0]):
        z = w @ h + u.T * x[t]
        h[:] = np.tanh(z)
        total += np.sum(h * z)
        if t % 2 == 0:
            w = 0.5 * w @ w
    return total


def arguments(n):
    return [normal(n, n) / n, normal(n, n) / n, normal(n), normal(3, n, n)]


def test_products_of_all_layouts_and_sizes():
    found = check(products, arguments(4))
    assert "product(" in found.source
    for n in (1, 23, 70):  # by loops, by BLAS, by our own kernels
        check(products, arguments(n), found)


def test_products_in_loops_keep_what_the_derivative_reads():
    found = nbgrad.njit(recurrence)
    for n in (3, 20):
        args = [normal(n, n) / n, normal(n, n), normal(5)]
        found = check(recurrence, args, found)
    slope = nbgrad.grad(found)
    along = normal(n, n)
    second = nbgrad.hvp(lambda w: found(w, *args[1:]))(args[0], along)
    step = 1e-6 * along
    expected = (slope(args[0] + step, *args[1:]) - slope(args[0] - step, *args[1:])) / 2e-6
    assert second == pytest.approx(expected, rel=1e-5, abs=1e-6)
    moved = nbgrad.jvp(lambda w: found(w, *args[1:]), (args[0],), (along,))[1]
    assert moved == pytest.approx(np.sum(slope(*args) * along), rel=1e-10)


def test_products_of_single_precision_and_of_nothing():
    @nbgrad.njit
    def squares(a, b):
        return np.sum((a @ b) ** 2)

    for n in (2, 40):
        a, b = normal(n, 3).astype(np.float32), normal(3, n).astype(np.float32)
        slope = nbgrad.grad(squares)(a, b)
        assert slope.dtype == np.float32
        assert slope == pytest.approx(2 * (a @ b) @ b.T, rel=1e-4, abs=1e-4)
    a, b = np.ones((3, 0)), np.ones((0, 4))
    value, slopes = nbgrad.value_and_grad(squares, (0, 1))(a, b)
    assert value == 0.0
    assert [x.shape for x in slopes] == [(3, 0), (0, 4)]
    with pytest.raises(ValueError, match="different lengths"):
        nbgrad.grad(squares)(np.ones((2, 3)), np.ones((4, 2)))


# -- temporaries ----------------------------------------------------------------------------------


def temporaries(a, b):
    t = a * b + 1.0
    r = np.exp(-t) * t
    a[:] = np.sqrt(r * r + 1.0)
    s = a + b[::-1]
    a[1:] = s[:-1] * 2.0
    m = np.maximum(a, 0.5)
    c = np.empty_like(a)
    c[:] = 0.0
    c[2:] = m[2:]
    c[0] = a[1] * c[3]
    c[1:] = c[1:] * a[1:]
    for i in range(1, c.shape[0]):
        c[i] += c[i - 1] * m[i]
    return np.sum(c * c) + m[1]


def test_temporary_arrays():
    found = check(temporaries, [normal(6), normal(6)])
    assert "r_bar" not in found.source


# -- reductions, masks, axes of length 1 ----------------------------------------------------------


def rings(data, radius, count):
    most = radius.max()
    found = np.zeros(count)
    for i in range(count):
        low, high = most * i / count, most * (i + 1) / count
        inside = np.logical_and(low <= radius, radius < high)
        values = data[inside]
        found[i] = values.mean() + values.shape[0]
    return np.sum(found**2)


def rows_and_columns(x):
    most = np.max(x, axis=-1, keepdims=True)
    e = np.exp(x - most)
    p = e / np.sum(e, axis=-1, keepdims=True)
    q = x - np.mean(x, axis=0)
    spread = np.std(q, axis=0)
    total = 0.0
    for _ in range(3):
        s = np.sum(x * p, axis=0)
        x = np.sin(x) + s * s
        total += np.min(s) * np.max(x)
    return total + np.sum(p[:, 0] * spread[1]) + np.sum(np.cov(q) * np.cov(x, rowvar=False)[0, 1])


def bodies(mass, place, speed, rounds):
    force = np.ndarray(place.shape)
    for _ in range(rounds):
        x = place[:, 1:2]
        d = x.T - x
        near = d * d + 0.1
        near[near > 0.2] = near[near > 0.2] ** (-1.5)
        force[:, 0:1] = (d * near) @ mass
        force[:, 1:3] = mass * x
        speed += force / mass * 0.1
        place += speed * 0.1
    return np.sum(mass * place**2) + np.sum(speed)


def filtered(image, weights, bias):
    n, size = image.shape[0], weights.shape[0]
    high, wide = image.shape[1] - size + 1, image.shape[2] - size + 1
    out = np.empty((n, high, wide, weights.shape[3]))
    for i in range(high):
        for j in range(wide):
            part = image[:, i : i + size, j : j + size, :, np.newaxis]
            out[:, i, j, :] = np.sum(part * weights[np.newaxis, :, :, :], axis=(1, 2, 3))
    pooled = np.empty((n, high // 2, wide // 2, weights.shape[3]))
    for i in range(high // 2):
        for j in range(wide // 2):
            part = out[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :]
            pooled[:, i, j, :] = np.max(part, axis=(1, 2))
    return np.sum(np.maximum(pooled + bias, 0.0) ** 2)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (rings, [normal(60), np.abs(normal(60)), 4]),
        (rows_and_columns, [normal(4, 5)]),
        (bodies, [np.abs(normal(4, 1)) + 1.0, normal(4, 3), normal(4, 3), 2]),
        (filtered, [normal(2, 6, 7, 2), normal(3, 3, 2, 3), normal(3)]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_reductions_masks_and_axes_of_length_1(function, args):
    check(function, args)


def test_extremes_take_the_first_of_equals_and_nan():
    @nbgrad.njit
    def most(x):
        return np.max(x) + np.min(x, axis=1)[0]

    x = np.array([[1.0, 3.0, 1.0], [3.0, 2.0, 0.0]])
    assert np.array_equal(nbgrad.grad(most)(x), [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    x[1, 1] = np.nan
    value, slope = nbgrad.value_and_grad(most)(x)
    assert np.isnan(value)
    assert np.array_equal(slope, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
