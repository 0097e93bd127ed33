"""nbgrad's functions, and functions that call them, in code that plain Numba compiles."""

import subprocess
import sys
from typing import Any

import numba
import numpy as np
import pytest

import nbgrad
from nbgrad import random, special, stats
from nbgrad.check import check_grads

X = np.random.default_rng(0).uniform(0.2, 0.8, (3, 4))
Y = np.random.default_rng(1).uniform(0.2, 0.8, 4)


@nbgrad.njit
def evidence(x, scale):
    total = 0.0
    for i in range(x.size):
        total += stats.norm.logpdf(x[i], scale=scale) + special.gammaln(1.0 + x[i] ** 2)
    return total


@numba.njit
def twice(x, scale):
    return 2.0 * evidence(x, scale)


def test_plain_numba_code_calls_functions_with_functions_of_ours():
    assert twice(Y, 0.7) == 2.0 * evidence(Y, 0.7)
    check_grads(evidence, (Y, 0.7))
    check_grads(twice, (Y, 0.7))


CALLS: dict[str, Any] = {
    "a number": lambda x, y: special.gammaln(x[0, 0]),
    "elements": lambda x, y: special.gammaln(x),
    "a view": lambda x, y: special.erf(x.T[::-1]),
    "an order": lambda x, y: special.polygamma(2, x[0, 0]),
    "a method": lambda x, y: stats.norm.logpdf(x, scale=y),
    "an array": lambda x, y: special.softmax(y),
    "a sum": lambda x, y: special.logsumexp(x),
    "an activation": lambda x, y: nbgrad.gelu(y[0]),
}


def compiled_by_numba(f: Any) -> Any:
    return numba.njit(f)


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_ours_have_the_values_of_python(name):
    f, compiled = CALLS[name], compiled_by_numba(CALLS[name])
    np.testing.assert_allclose(compiled(X, Y), f(X, Y), rtol=1e-15)


def test_single_precision_stays():
    f = CALLS["elements"]
    got = compiled_by_numba(f)(X.astype(np.float32), Y)
    assert got.dtype == np.float32
    assert np.array_equal(got, f(X.astype(np.float32), Y))


DRAWS: dict[str, Any] = {
    "a number": lambda s: random.uniform(s),
    "normal": lambda s: random.normal(s, 5, std=2.0),
    "order": lambda s: random.permutation(s, 7),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_have_the_same_bits(name):
    state = random.key(4)
    drawn = compiled_by_numba(DRAWS[name])(state)
    for got, want in zip(drawn, DRAWS[name](state), strict=True):
        assert np.array_equal(got, want)


@nbgrad.custom_rule(pullback=lambda ct, out, x: 3.0 * ct * x * x)
def cube(x):
    return x * x * x


@nbgrad.custom_elementwise(partials=[lambda x, y, out: 2.0 * x * y, lambda x, y, out: x * x])
def weighed(x, y):
    return x * x * y


squares = nbgrad.compile(lambda x: np.sum(x * x))


def test_functions_of_users_are_called():
    @numba.njit
    def whole(x, y):
        return np.sum(cube(y)) + weighed(x[0, 0], y[0]) + squares(y)

    assert np.isclose(whole(X, Y), np.sum(Y**3) + X[0, 0] ** 2 * Y[0] + np.sum(Y * Y))


def test_functions_along_axes_are_compiled():
    found = numba.njit(lambda x: special.softmax(x, axis=1))(X)
    np.testing.assert_allclose(found, special.softmax(X, axis=1), rtol=1e-14)


def test_what_is_not_compiled_is_refused_with_the_way_round():
    with pytest.raises(numba.TypingError, match=r"softmax in @njit code: .* in a loop, or outside"):
        numba.njit(lambda x, k: special.softmax(x, axis=k))(X, 1)


def test_a_compiled_gradient_is_refused_with_the_way_round():
    slope = nbgrad.compile(nbgrad.grad(lambda x: x * x))
    with pytest.raises(numba.TypingError, match=r"inner = f\.variant\(\*example\)\.njit"):
        numba.njit(lambda x: slope(x))(1.0)


def test_nothing_is_made_before_numba_asks():
    code = (
        "import nbgrad, nbgrad.special\n"
        "from nbgrad.compiler import definitions\n"
        "assert definitions.overloaded.cache_info().currsize == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
