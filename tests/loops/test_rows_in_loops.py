"""Rows of the registry in functions with loops: every function of numbers is taken, and its
derivatives are those of the row."""

import enum
import math
from typing import Any

import numba
import numpy as np
import pytest
import scipy.special
from fuzz.frontend import function_of

import nbgrad
from nbgrad import special
from nbgrad.core.primitive import Primitive
from nbgrad.rules.families.scalar import Elementwise, ScalarCode
from nbgrad.rules.nondiff import stopped

EVERY: dict[str, Any] = Primitive.registry
ROWS = {name: row for name, row in EVERY.items() if isinstance(row, ScalarCode)}
# Those of other rows and of operators, which are no functions that a user calls.
INNER = {
    "scale", "sigmoid_slope", "abs2", "integer_power", "half_power", "stop_gradient", "copy",
    "riemann_zeta",
}  # fmt: skip

FORMS = {
    "polygamma": "special.polygamma(1, {})",
    "lambertw": "special.lambertw({}, 0)",
    "zeta": "special.zeta({})",
}


def callee(name, row):
    """The function that a user calls for a row, as text."""
    if getattr(np, name, None) is row.function and row.function is not None:
        return f"np.{name}"
    assert hasattr(special, name) or hasattr(nbgrad, name), name
    return f"special.{name}" if hasattr(special, name) else f"nbgrad.{name}"


def test_every_row_of_numbers():
    """One function calls them all, each with arguments of its own: elements of `a`, or of `b` where
    the row has no derivative. Its derivatives with respect to the weights are the values."""
    random = np.random.default_rng(0)
    a, b, lines, values, slopes = [], [], [], [], []
    for name in sorted(set(ROWS) - INNER):
        row: Any = ROWS[name]
        is_smooth = isinstance(row, Elementwise)
        params = row.samples[0] if is_smooth else {}
        domains = row.domains if is_smooth else [(-2.0, 2.0)] * getattr(row.function, "nin", 1)
        need = [
            is_smooth and i not in row.refusals and i not in row.conditions
            for i in range(len(domains))
        ]
        point = [np.float64(random.uniform(low, high)) for low, high in domains]
        given = []
        for x, is_needed in zip(point, need, strict=True):
            vector = a if is_needed else b
            given.append(f"{'a' if is_needed else 'b'}[{len(vector)}]")
            vector.append(x)
        call = FORMS.get(name, f"{callee(name, row)}({{}})").format(", ".join(given))
        lines.append(f"    total += w[{len(lines)}] * {call}\n")
        values.append(np.float64(row.evaluate(*point, **params)))
        if any(need):
            found = row.pullback(np.float64(1.0), values[-1], point, need, **params)
            slopes += [
                float(x or 0.0) for x, is_needed in zip(found, need, strict=True) if is_needed
            ]
    assert len(lines) > 100
    text = f"def drawn(a, b, w):\n    total = 0.0\n{''.join(lines)}    return total\n"
    function = function_of(text)
    function.__globals__.update(special=special, nbgrad=nbgrad)
    slope = nbgrad.grad(nbgrad.njit(function), (0, 2))
    by_a, by_w = slope(np.array(a), np.array(b), np.ones(len(lines)))
    np.testing.assert_allclose(by_w, values, rtol=1e-12)
    np.testing.assert_allclose(by_a, slopes, rtol=1e-9)


def several(x):
    total = 0.0
    for i in range(x.size):
        total += special.gammaln(x[i]) * special.softplus(x[i] - 0.5) + special.jv(1.5, x[i])
        total += nbgrad.gelu(x[i]) * np.heaviside(x[i] - 1.0, 0.5) + scipy.special.expit(x[i])
    return total + np.sum(nbgrad.stats.norm.logpdf(x, 0.3, x[0])) + np.sum(special.xlogy(x, x))


def test_second_derivatives_and_forward_mode():
    x = np.array([0.5, 1.7])
    f = nbgrad.njit(several)
    np.testing.assert_allclose(nbgrad.hessian(f)(x), nbgrad.hessian(several)(x), rtol=1e-10)
    value, slope = nbgrad.jvp(f, (x,), (np.ones(2),))
    wanted = nbgrad.jvp(several, (x,), (np.ones(2),))
    np.testing.assert_allclose([value, slope], wanted, rtol=1e-10)


def test_refusals_of_rows():
    with pytest.raises(nbgrad.NoRuleError, match="no derivative in its order"):
        nbgrad.grad(nbgrad.njit(lambda x, n: special.jv(n, x)), 1)(1.0, 0.5)
    with pytest.raises(nbgrad.NoRuleError, match="a call of jv of such arguments"):
        nbgrad.grad(nbgrad.njit(lambda x: special.jv(x)))(1.0)  # pyright: ignore[reportCallIssue]


def test_rules_of_users_ops():
    partials: list[Any] = [lambda x, y, out: 7.0 * y, None]
    op = nbgrad.custom_elementwise("x * y", partials=partials)
    twice = nbgrad.njit(lambda x: op(x, 2.0) + op(x, x))
    assert nbgrad.value_and_grad(twice)(3.0) == (15.0, 35.0)


def scaled(x, places, n=2):
    total = 0.0
    for i in range(x.size):
        total += special.gammaln(x[i]) * n
    total += x.std(axis=0)
    if total > 100.0:
        raise ValueError("too large")
    x[0] = 5.0
    places[1] = places.size
    return total, x * 2, n


def test_calls_of_functions_that_numba_refuses():
    """They write to their arguments and raise errors as Python does."""
    f = nbgrad.njit(scaled)
    for n in (2, 3):
        x, places = np.arange(1.0, 9.0)[::2], np.zeros(2, np.int64)
        own, marked = x.copy(), places.copy()
        total, double, count = f(x, places, n)
        wanted, _, _ = scaled(own, marked, n)
        assert total == pytest.approx(wanted, rel=1e-14) and count == n and type(total) is float
        assert np.array_equal(x, own) and np.array_equal(double, 2 * own)
        assert places.tolist() == marked.tolist() == [0, 2]
    with pytest.raises(ValueError, match="too large"):
        f(np.full(9, 30.0), np.zeros(2, np.int64))
    with pytest.raises(numba.TypingError):
        nbgrad.njit(lambda x: sorted({1: x.std(axis=0)}))(np.ones(2))


@nbgrad.custom_rule(pullback=lambda ct, out, x: ct * 7.0 * x)
def floored(x):
    return math.floor(x) * 1.0


@numba.njit
def by_branch(ct, out, x, y, n):
    if x > 0.0:
        return ct * y * n, ct * x * n, None
    return ct * 5.0, ct * 0.0, None


@nbgrad.custom_rule(pullback=by_branch)
@numba.njit
def product(x, y, n):
    return x * y * n


squares = nbgrad.compile(lambda x: np.sum(x * x))


def ruled(x, y):
    total = 0.0
    for i in range(2):
        total += floored(x[i]) * x[i] + product(x[i], y, 2)
    return total + squares(x)


def test_rules_of_users():
    f = nbgrad.njit(ruled)
    x = np.array([2.5, -1.5])
    wanted = 5.0 + 10.0 + 3.0 - 6.0 + 8.5
    value, (by_x, by_y) = nbgrad.value_and_grad(f, (0, 1))(x, 2.0)
    assert value == f(x, 2.0) == wanted
    np.testing.assert_allclose(by_x, np.floor(x) + 7.0 * x * x + [4.0, 5.0] + 2 * x)
    assert by_y == 5.0
    assert nbgrad.jvp(f, (x, 2.0), (np.ones(2), 0.0))[1] == pytest.approx(by_x.sum())
    second = nbgrad.grad(nbgrad.grad(nbgrad.njit(lambda x: floored(x) * x)))
    assert second(2.5) == pytest.approx(21.0 * 2.5)
    with pytest.raises(nbgrad.NoRuleError, match=r"an array as a number .*in floored"):
        nbgrad.grad(nbgrad.njit(lambda x: np.sum(floored(x))))(x)


def drawing(x, state, n):
    total = 0.0
    for i in range(n):
        state, u = nbgrad.random.uniform(state, (), 0.0, x)
        state, v = nbgrad.random.normal(state, (2, 2), mean=x, std=2.0)
        total += u * v[1, 0] * (i + 1)
    state, w = nbgrad.random.normal(state)
    state, order = nbgrad.random.permutation(state, 5)
    state, picked = nbgrad.random.choice(state, 7, (3,))
    state, k = nbgrad.random.choice(state, 7)
    return total + w * order[0] * x + picked[2] + k


def test_random_numbers_are_those_of_plain_calls():
    state = nbgrad.random.key(3)
    value, slope = nbgrad.value_and_grad(nbgrad.njit(drawing))(1.3, state, 3)
    assert value == pytest.approx(drawing(1.3, state, 3), rel=1e-14)
    assert slope == pytest.approx(nbgrad.grad(drawing)(1.3, state, 3), rel=1e-12)
    assert state.tolist() == nbgrad.random.key(3).tolist()


def whole(x):
    first = special.logsumexp(x * x)
    return first * np.sum(special.softmax(x) * x) + special.log_softmax(x)[1]


def test_functions_of_whole_arrays():
    x = np.array([0.3, -0.2, 1.1])
    np.testing.assert_allclose(
        nbgrad.grad(nbgrad.njit(whole))(x), nbgrad.grad(whole)(x), rtol=1e-12
    )


class Kind(enum.Enum):
    SQUARE = 1
    CUBE = 2


def test_members_of_enumerations_as_arguments():
    f = nbgrad.njit(lambda x, kind: x * x if kind == Kind.SQUARE else x * x * x)
    assert f(3.0, Kind.CUBE) == 27.0
    assert nbgrad.grad(f)(3.0, Kind.SQUARE) == 6.0
    assert nbgrad.grad(f)(3.0, Kind.CUBE) == 27.0


def test_constants_in_loops_are_constants_in_compiled_programs():
    def f(x):
        total = 0.0
        for i in range(x.size):
            total += x[i] * stopped(x[i])
        return total

    slope = nbgrad.grad(nbgrad.njit(f))
    x = np.array([1.0, 2.0])
    assert np.array_equal(slope(x), x)
    assert np.array_equal(nbgrad.compile(slope)(x), x)
