"""What the compiler does with numbers gives the bits of the eager tier, at all sizes."""

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import nbgrad

VALUES = [
    0.0, -0.0, 1.0, -3.0, 0.3, 1e-30, 1e30, -1e38, 1e-44, -1.7e308, 1e154, 1e-300, 5e-324,
    np.inf, -np.inf, np.nan,
]  # fmt: skip
NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, 1e20, 1e-30, 1e200, -1e-200, 2.0**-1074, 2.0**1023,
    2.0**-140,
]  # fmt: skip
SUMS = {"x + c": operator.add, "x - c": operator.sub, "c - x": lambda x, c: c - x}
PRODUCTS = {"x * c": operator.mul, "x / c": operator.truediv, "c / x": lambda x, c: c / x}


def same(found: Any, expected: Any) -> bool:
    """Whether both have the same dtype and bits; one nan is like another."""
    found, expected = np.asarray(found), np.asarray(expected)
    none = np.isnan(found) & np.isnan(expected)
    signs = np.signbit(found) == np.signbit(expected)
    return found.dtype == expected.dtype and bool(
        np.all(none | ((found == expected) & signs)) and found.shape == expected.shape
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "first,second", [*product(SUMS.items(), repeat=2), *product(PRODUCTS.items(), repeat=2)]
)
def test_two_numbers_after_each_other(first, second, dtype):
    """A sum of a product may be one fused instruction, so these two are not mixed."""
    with np.errstate(all="ignore"):
        x = np.array(VALUES, dtype)
        pairs = [(c, d) for i, c in enumerate(NUMBERS) for d in NUMBERS[i % 3 :: 3]]

        def results(x):
            return tuple(second[1](first[1](x, c), d) for c, d in pairs)

        expected, found = results(x), nbgrad.compile(results)(x)
    wrong = [pair for pair, *both in zip(pairs, found, expected, strict=True) if not same(*both)]
    assert not wrong, f"{first[0]}, then {second[0]}"


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x[::-1] + x) + x[::-1],
        lambda x: (x[::-1] - x) + x[::-1],
        lambda x: (0.5 * x) * x[::-1],
        lambda x: -(0 - x),
        lambda x: -(x - x[::-1]),
        lambda x: -x - x[::-1],
        lambda x: -x + x[::-1],
        lambda x: (x + 0.0) - 0.0,
        lambda x: x + x,
        lambda x: np.sum(np.array([1.0, 2.0, 3.0])[:, None] * (x * 1e-200), 1),
        lambda x: np.sum(-(x[:2]), keepdims=True),
        lambda x: np.full((2, 1), 1e-200) @ x[None, 4:],
    ],
)
def test_terms_and_factors_stay_where_they_are(f: Callable):
    with np.errstate(all="ignore"):
        for dtype in (np.float64, np.float32):
            x = np.array(VALUES, dtype)
            assert same(nbgrad.compile(f)(x), f(x))


def test_a_factor_stays_inside_of_a_sum():
    x = np.array([1e308, 1e308])
    assert nbgrad.compile(lambda x: np.sum(x * 1e-200))(x) == np.sum(x * 1e-200)
    x32 = np.full(3, 1e20, np.float32)
    expected = x32 * 1e-30 * 1e-30
    assert expected.all() and same(nbgrad.compile(lambda x: x * 1e-30 * 1e-30)(x32), expected)


def test_large_integers_beside_floats_are_floats():
    x = np.array([1.0, -2.0])
    assert same(nbgrad.compile(lambda x: x * 10**30 + 10**20)(x), x * 10**30 + 10**20)
    assert same(nbgrad.compile(lambda x: x < 10**30)(x), x < 10**30)


def test_results_that_would_share_memory_are_refused():
    f, z = nbgrad.compile(lambda x: (x + 1, x * 2)), np.zeros(6)
    for out in ((z[:3], z[:3]), (z[:3], z[2:5])):
        with pytest.raises(ValueError, match="two arrays of out= share memory"):
            f(np.ones(3), out=out)
    f(z[:3], out=(z[3:], z[:3]))  # an argument may be written over
    assert z.tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]


def test_functions_may_have_the_name_of_a_builtin():
    assert same(nbgrad.compile(abs)(np.array([1.0, -2.0])), np.array([1.0, 2.0]))
