"""Derivatives of functions with loops at kinks are those of the rows, but for ties."""

import math

import numpy as np
import pytest
from helpers.daily import daily

import nbgrad


def kinks(x, y):
    """x is 0 and y is 1."""
    return (
        np.sqrt(x), np.sqrt(x * x), np.sqrt(x**2 + (y - 1.0) ** 2), np.sqrt(np.abs(x)), np.abs(x),
        np.sign(x) * y, np.hypot(x, y - 1.0), np.arctan2(x, y - 1.0), x * np.abs(x),
        np.floor(x) * y, np.cbrt(x), np.cbrt(x * x), np.arccos(1.0 - x * x), (x * x) ** 0.5,
        x**2, x**0, np.where(x > 0.0, np.sqrt(x), 0.0), np.where(x > 0.0, np.log(x), 0.0), x**y,
        np.arcsin(y), np.log(y - x * x), np.sinc(x), np.copysign(x, y), np.logaddexp(x, x),
        np.tanh(x) * np.sqrt(y * y),
    )  # fmt: skip


def test_numbers():
    with np.errstate(all="ignore"):
        found = np.array(nbgrad.jacobian(nbgrad.njit(kinks), (0, 1))(0.0, 1.0))
        wanted = np.array(nbgrad.jacobian(kinks, (0, 1))(0.0, 1.0))
    np.testing.assert_array_equal(found, wanted)


def lengths(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    far = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            d = x[i] - x[j]
            far += np.sqrt(d * d)
    return (np.sqrt(total), np.sqrt(np.sum(x * x)), np.sqrt(x @ x), np.linalg.norm(x), far)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_lengths_of_zero(mode):
    for found in nbgrad.jacobian(nbgrad.njit(lengths), mode=mode)(np.zeros(3)):
        assert np.array_equal(found, np.zeros(3))


def curved(x, n):
    return np.sqrt(0.5 + x * x) + np.sqrt(0.5 + x**n)


def test_second_derivatives_where_a_partial_derivative_under_a_root_is_0():
    second = nbgrad.grad(nbgrad.grad(nbgrad.njit(curved)))
    assert second(0.0, 2) == pytest.approx(2.0 / np.sqrt(0.5), rel=1e-14)
    assert second(0.0, 3) == pytest.approx(1.0 / np.sqrt(0.5), rel=1e-14)


def chosen(x, y):
    return (np.maximum(x, y), np.minimum(x, y), max(x, y), x if x >= y else y)


def test_ties_have_the_derivative_of_the_branch_that_ran():
    by_x = nbgrad.jacobian(nbgrad.njit(chosen))(1.0, 1.0)
    by_y = nbgrad.jacobian(nbgrad.njit(chosen), 1)(1.0, 1.0)
    assert by_x == (1.0, 1.0, 1.0, 1.0) and by_y == (0.0, 0.0, 0.0, 0.0)


@nbgrad.njit
def rooted(v):
    return np.sum(np.where(v > 0.0, np.sqrt(v), v))


@nbgrad.njit
def bounded(v):
    total = 0.0
    for x in v:
        total += x * max(0.1, np.sqrt(x))
    return total


def test_roots_of_negative_numbers_that_are_not_chosen_count_as_zero():
    v = np.array([-1.0, 4.0])
    assert np.array_equal(nbgrad.grad(rooted)(v), [1.0, 0.25])
    assert np.array_equal(nbgrad.grad(bounded)(v), [0.1, 3.0])
    assert np.allclose(nbgrad.hessian(bounded)(v), np.diag([0.0, 0.375]))


@nbgrad.njit
def inverted(v):
    return np.sum(np.where(v > 0.0, 1.0 / v, v))


@nbgrad.njit
def divided(v):
    shares = np.sum(v) / v
    for i in range(v.size):
        v[i] = shares[i] if v[i] > 0.0 else v[i]
    return np.sum(v)


@nbgrad.njit
def least(v):
    return np.sum(np.minimum(2.0 / v, v + 3.0) * v)


@pytest.mark.parametrize(
    ("f", "slope"),
    [(inverted, [1.0, -0.25, 1.0]), (divided, [1.5, 0.25, 1.5]), (least, [3.0, 0.0, 0.0])],
)
def test_quotients_by_zero_that_are_not_chosen_count_as_zero(f, slope):
    v = np.array([0.0, 2.0, -1.0])
    with np.errstate(all="ignore"):
        assert np.array_equal(nbgrad.grad(f)(v), slope)
        assert np.isfinite(nbgrad.hessian(f)(v)).all()


def test_what_nothing_chooses_has_the_plain_derivative():
    sources = [f.source for f in (inverted, divided, least)]
    assert all("strong" in source for source in sources)

    @nbgrad.njit
    def plain(v):
        return np.sum(np.exp(1.0 / v) * v)

    nbgrad.grad(plain)(np.ones(2))
    assert "strong" not in plain.source


def where(v):
    return np.sum(np.where(v < 100.0, np.exp(v) * v, np.sin(v)))


def several(v):
    a = np.exp(v)
    b = np.sinh(a) * np.tan(v) + a**2.5
    return np.sum(np.where(v < 100.0, b / (1.0 + a * a), np.sin(v)))


def powers(v):
    return np.sum(np.where(v < 100.0, (1.0 + np.abs(v)) ** (v * v), np.sin(v)))


def clipped(v):
    return np.sum(np.clip(np.exp(v) * v, -5.0, 5.0) * v)


def least_of_two(v):
    total = 0.0
    for x in v:
        total += x * min(math.exp(x) * x, x)
    return total


def conditional(v):
    total = 0.0
    for x in v:
        y = np.exp(x) * x
        total += y * y if x < 100.0 else np.sin(x)
    return total


def branch(v):
    total = 0.0
    for i in range(v.size):
        y = np.exp(v[i]) * v[i]
        if v[i] < 100.0:
            total += np.sin(y) + y * y * np.cos(y)
        else:
            total += np.sin(v[i])
    return total


def assigned(v):
    total = 0.0
    for x in v:
        z = np.log(x + 10.0) * math.exp(x) * x
        if x > 100.0:
            z = np.sin(x)
        total += z * z
    return total


def stored(v):
    w = np.exp(v) * v
    for i in range(v.size):
        if v[i] > 100.0:
            w[i] = np.sin(v[i])
    return np.sum(w * w)


def masked(v):
    w = np.exp(v) * v
    w[v > 100.0] = 2.0
    return np.sum(w * w * np.minimum(v, 1.0))


def recurrence(v):
    total = 0.0
    for x in v:
        p = 1.0
        for _ in range(5):
            p = p * np.exp(x) * x + np.cos(p)
        if x < 100.0:
            total += p
    return total + np.sin(v[2])


def best(v):
    w = np.exp(v) * v
    return np.min(w) * v[1] + w[np.argmin(w)]


UNCHOSEN = [where, several, powers, clipped, least_of_two, conditional, branch, assigned, stored,
            masked, recurrence, best]  # fmt: skip


@pytest.mark.parametrize("f", daily(UNCHOSEN, 6))
def test_what_overflows_and_is_not_chosen_counts_as_zero(f):
    """Element 2 overflows where it is not chosen."""
    v = np.array([-2.0, 0.5, 800.0, 0.25])
    g = nbgrad.njit(f)
    with np.errstate(all="ignore"):
        slope = nbgrad.grad(g)(v)
        wanted = [(g(v + d) - g(v - d)) / 2e-6 for d in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1e-4)
        forward = nbgrad.jacobian(g, mode="forward")(v)
        np.testing.assert_allclose(slope, forward, rtol=1e-12, atol=1e-12)
        second = nbgrad.hessian(g)(v)
        wanted = [(nbgrad.grad(g)(v + d) - nbgrad.grad(g)(v - d)) / 2e-6 for d in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(second, wanted, rtol=1e-4, atol=1e-4)


def flat(v):
    return np.sum(np.where(v < 100.0, np.exp(v) * v, 0.0) ** 2)


def test_second_derivatives_where_the_cotangent_of_what_is_chosen_is_0():
    v = np.array([0.0, 800.0])
    second = nbgrad.hessian(nbgrad.njit(flat))(v)
    assert np.array_equal(second, np.diag([2.0, 0.0]))
    assert np.array_equal(nbgrad.hvp(nbgrad.njit(flat))(v, np.array([3.0, 1.0])), [6.0, 0.0])


def powers_of(x, n):
    total = 0.0
    for i in range(x.size):
        total += x[i] ** n
    return total


power_sum = nbgrad.njit(powers_of)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 40])
@pytest.mark.parametrize("x", [(0.0, 1.5, -0.7), (1e-200, 1e-160, 1e200), (-1e160, 3.0, np.inf)])
def test_powers_of_whole_numbers(x, n):
    """Also where x**n vanishes or overflows, and its derivative does not."""
    x = np.array(x)
    with np.errstate(all="ignore"):
        slope = nbgrad.grad(power_sum)(x, n)
        wanted = n * x ** (n - 1.0) if n else np.zeros(3)
    np.testing.assert_allclose(slope, wanted, rtol=1e-13)
