"""Functions of arrays with a `custom_rule`, and C functions of arrays, in functions with loops."""

import ctypes
from typing import Any

import numba
import numpy as np
import pytest
from numba import types
from optree import tree_leaves

import nbgrad
from nbgrad import njit, ode
from nbgrad.errors import LoopError


def close(f, g, *args, argnums: int | tuple[int, ...] = 0):
    """Require the same value, gradient and Hessian-vector product of two functions."""
    rng = np.random.default_rng(1)
    ways = tuple(rng.normal(size=np.shape(x)) for x in args)
    of: list[Any] = [(h(*args), nbgrad.jvp(nbgrad.grad(h, argnums), args, ways)) for h in (f, g)]
    for x, y in zip(*map(tree_leaves, of), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9)


# The derivative of a rule is told apart from that of its function by the factor 3.


@nbgrad.custom_rule(pullback=lambda ct, out, x: 3.0 * ct * out)
def grown(x):
    return np.exp(x)


@njit
def steps(x):
    total = 0.0
    for _ in range(3):
        x = 0.3 * grown(x)
        total += (x * x).sum()
    return total


def test_a_rule_in_a_loop_is_used_at_each_step():
    x = np.array([0.1, 0.2, -0.3])
    found = nbgrad.grad(steps)(x)
    a = 0.3 * np.exp(x)
    b = 0.3 * np.exp(a)
    c = 0.3 * np.exp(b)
    expected = 2 * a * 3 * a + 2 * b * 9 * a * b + 2 * c * 27 * a * b * c
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def _pull(ct, out, parts, scale):
    a, b = parts
    return (ct[0] * scale * b + ct[1], ct[0] * scale * a), (ct[0] * a * b).sum()


def _push(tangents, out, parts, scale):
    (a, b), ((a_dot, b_dot), scale_dot) = parts, tangents
    return scale_dot * a * b + scale * (a_dot * b + a * b_dot), a_dot


def _both(parts, scale):
    return scale * parts[0] * parts[1], parts[0] + 1.0


@pytest.mark.parametrize("push", [None, _push], ids=["transposed", "pushforward"])
def test_tuples_and_numbers(push):
    rule = nbgrad.custom_rule(_both, pullback=_pull, pushforward=push)

    @njit
    def loss(a, b, scale):
        u, v = rule((a, b), scale)
        return (u * u).sum() + (v * v * v).sum()

    @njit
    def plain(a, b, scale):
        u = scale * a * b
        return (u * u).sum() + ((a + 1.0) ** 3).sum()

    a, b = np.array([1.0, 2.0, 0.5]), np.array([0.3, -1.0, 2.0])
    close(loss, plain, a, b, 1.3, argnums=(0, 1, 2))
    found, expected = (nbgrad.jvp(f, (a, b, 1.3), (b, a, 0.5)) for f in (loss, plain))
    np.testing.assert_allclose(found, expected)


@nbgrad.custom_rule(pullback=lambda ct, out, x: ct * x / out)
def norm(x):
    return np.sqrt((x * x).sum())


@njit
def rows(a):
    total = 0.0
    for i in range(a.shape[0]):
        total += norm(a.T) * norm(a[i])
        a[i] = a[i] * total
    return total


@njit
def plain_rows(a):
    total = 0.0
    for i in range(a.shape[0]):
        total += np.sqrt((a * a).sum()) * np.sqrt((a[i] * a[i]).sum())
        a[i] = a[i] * total
    return total


def test_arguments_that_are_overwritten_later():
    a = np.random.default_rng(0).normal(size=(3, 4))
    mine, plain = (lambda x, f=f: f(x.copy()) for f in (rows, plain_rows))
    close(mine, plain, a)
    assert nbgrad.grad(mine)(a.astype(np.float32)).dtype == np.float32


@njit
def squared_norm(x):
    return norm(x * x) + x.sum()


def test_samples_and_compiled_programs():
    x = np.random.default_rng(0).normal(size=(5, 4))
    slope = 2 * x**3 / np.sqrt((x**4).sum(1))[:, None] + 1.0
    np.testing.assert_allclose(nbgrad.vmap(nbgrad.grad(squared_norm))(x), slope)
    compiled = nbgrad.compile(nbgrad.value_and_grad(lambda x: 2.0 * squared_norm(x)))
    np.testing.assert_allclose(compiled(x[0])[1], 2.0 * slope[0])


def test_third_derivatives():
    @nbgrad.custom_rule(pullback=lambda ct, out, x: 2.0 * ct * x * out)
    def bell(x):
        return np.exp(x * x)

    @njit
    def loss(x):
        return bell(x).sum()

    third = nbgrad.grad(nbgrad.grad(nbgrad.grad(lambda t: loss(t * np.ones(1)))))
    t = 0.4
    assert np.isclose(third(t), (12 * t + 8 * t**3) * np.exp(t * t))


@pytest.mark.parametrize(
    ("pullback", "text"),
    [
        (lambda ct, out, x: (ct, ct), "gives 2 cotangents for 1 argument: return a tuple"),
        (lambda ct, out, x: ct.sum(), "a cotangent of square that is not an array with 1 axis"),
    ],
    ids=["count", "rank"],
)
def test_other_cotangents_are_refused_by_name(pullback, text):
    def square(x):
        return x * x

    rule = nbgrad.custom_rule(square, pullback=pullback)

    @njit
    def loss(x):
        return rule(x).sum()

    with pytest.raises(LoopError, match=text):
        nbgrad.grad(loss)(np.ones(3))


def test_a_cotangent_of_another_length_is_refused_when_it_runs():
    @nbgrad.custom_rule(pullback=lambda ct, out, x: (ct * x)[1:])
    def square(x):
        return x * x

    @njit
    def loss(x):
        return square(x).sum()

    with pytest.raises(nbgrad.DimensionMismatch, match="a cotangent of square has another shape"):
        nbgrad.grad(loss)(np.ones(3))


def test_functions_with_rules_do_not_write_into_their_arguments():
    @nbgrad.custom_rule(pullback=lambda ct, out, x: ct)
    def first(x):
        x[0] = 5.0
        return x

    @njit
    def loss(x):
        return first(x).sum()

    with pytest.raises(LoopError, match="an array that is read-only"):
        nbgrad.grad(loss)(np.ones(3))


# -- C functions ----------------------------------------------------------------------------------

_floats = types.CPointer(types.float64)


@numba.cfunc(types.void(types.float64, _floats, _floats, _floats))
def swings_in_c(t, y, k, out):
    out[0] = y[1] * k[0]
    out[1] = -np.sin(y[0]) * k[1] - 0.1 * t * y[1]


@numba.cfunc(types.void(types.float64, _floats, _floats, _floats, _floats, _floats))
def swings_back_in_c(t, y, k, ct, y_bar, k_bar):
    y_bar[0] = -ct[1] * np.cos(y[0]) * k[1]
    y_bar[1] = ct[0] * k[0] - 0.1 * t * ct[1]
    k_bar[0] = ct[0] * y[1]
    k_bar[1] = -ct[1] * np.sin(y[0])


swings_of_c, swings_back = swings_in_c.ctypes, swings_back_in_c.ctypes


def swings_pullback(ct, out, t, y, k):
    y_bar, k_bar = np.zeros(2), np.zeros(2)
    swings_back(t, y.ctypes, k.ctypes, ct.ctypes, y_bar.ctypes, k_bar.ctypes)
    return None, y_bar, k_bar


@nbgrad.custom_rule(pullback=swings_pullback)
def swings(t, y, k):
    out = np.zeros(2)
    swings_of_c(t, y.ctypes, k.ctypes, out.ctypes)
    return out


def plain_swings(t, y, k):
    return np.array([y[1] * k[0], -np.sin(y[0]) * k[1] - 0.1 * t * y[1]])


def test_a_right_hand_side_in_c():
    def energy(f):
        def last(y0, k):
            found = ode.solve(f, (0.0, 2.0), y0, args=(k,), rtol=1e-9, atol=1e-9)
            return (found.y[:, -1] ** 2).sum()

        return nbgrad.value_and_grad(last, (0, 1))

    y0, k = np.array([1.0, 0.2]), np.array([1.1, 0.7])
    (value, slopes), (other, others) = (energy(f)(y0, k) for f in (swings, plain_swings))
    assert np.isclose(value, other, rtol=1e-12)
    np.testing.assert_allclose(slopes, others, rtol=1e-10)


@numba.cfunc(types.float64(_floats, types.int64))
def total_in_c(x, n):
    total = 0.0
    for i in range(n):
        total += x[i]
        x[i] *= 0.9
    return total


total_of_c = total_in_c.ctypes


@njit
def shrinking(x):
    y, total = np.zeros(3), 0.0
    for t in range(4):
        y += 0.5 * t
        total += total_of_c(y.ctypes, 3) * (y * x).sum()
    return total


def test_arrays_that_a_c_function_writes_are_restored_for_the_way_back():
    y, weights = np.zeros(3), np.zeros(3)
    for t in range(4):
        y += 0.5 * t
        total = y.sum()
        y *= 0.9
        weights += total * y
    x = np.array([1.0, 2.0, 3.0])
    assert np.isclose(shrinking(x), weights @ x)
    np.testing.assert_allclose(nbgrad.grad(shrinking)(x), weights)


@njit
def total_of_copy(x):
    y = x.copy()
    return total_of_c(y.ctypes, y.size)


@njit
def total_of_every_second(x):
    return total_of_c(x[::2].ctypes, 2)


def test_c_functions_without_a_rule():
    assert total_of_copy(np.arange(3.0)) == 3.0
    with pytest.raises(LoopError, match="a C function has no derivative: give it one"):
        nbgrad.grad(total_of_copy)(np.ones(3))
    with pytest.raises(LoopError, match="not contiguous"):
        nbgrad.grad(total_of_every_second)(np.ones(3))


def test_a_rule_in_c_needs_a_pushforward_for_forward_mode():
    @njit
    def loss(y):
        return swings(0.5, y, y).sum()

    with pytest.raises(nbgrad.NoRuleError, match=r"swings: forward mode needs a pushforward"):
        nbgrad.jvp(loss, (np.ones(2),), (np.ones(2),))


def test_pointers_of_ctypes_have_types():
    modf = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.POINTER(ctypes.c_double))
    whole = modf(lambda x, place: place.__setitem__(0, x // 1.0) or x % 1.0)

    @njit
    def parts(x):
        place = np.zeros(1)
        return whole(x[0], place.ctypes) + 10.0 * place[0]

    assert nbgrad.vmap(parts)(np.array([[2.25], [3.5]])).tolist() == [20.25, 30.5]
