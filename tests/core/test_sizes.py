"""Sizes by formula: arithmetic is that of integers, and what is proven holds."""

import itertools

import numpy as np
import pytest

from nbgrad.errors import TraceError
from nbgrad.ir.naming import Naming, power_of, tagged
from nbgrad.ir.sizes import Size, aligned, at_least, highest, require_least, stand_in, value_of


@pytest.fixture
def naming():
    return Naming(lambda: "here")


@pytest.fixture
def n(naming):
    return stand_in("n", 1009, naming)


@pytest.fixture
def m(naming):
    return stand_in("m", 2040, naming)


FORMULAS = [
    lambda n, m: n + 1,
    lambda n, m: 3 * n - m * 2 + 4,
    lambda n, m: (n + m) * (n - 1),
    lambda n, m: (n * m * 6) // (n * 2),
    lambda n, m: (n * 8 + 63) // 64 * 64,
    lambda n, m: n**2 - n % 5,
    lambda n, m: -(n * 3) + 10 * n * m,
    lambda n, m: (n & 1) + divmod(n, 3)[1],
]


@pytest.mark.parametrize("f", FORMULAS)
def test_a_formula_is_right_for_all_sizes(f, n, m):
    size = f(n, m)
    assert isinstance(size, Size)
    assert int(size) == f(1009, 2040)
    for a, b in itertools.product((1, 2, 3, 17, 64), (1, 5, 100)):
        assert value_of(size, {"n": a, "m": b}) == f(a, b)


def test_what_cancels_is_a_plain_integer(n):
    for x in (n - n + 3, (n * 4) // n, n // n, (n + 1) - n):
        assert type(x) is int
    assert str(n * 2 - 1) == "(n * 2 - 1)"
    assert f"{n * 3}" == "n * 3"


def test_what_is_proven_holds(n, m):
    sizes = [f(n, m) for f in FORMULAS] + [n, m, n * 64, n * 8 + 128, 5, 200]
    for a, b in itertools.product(sizes, sizes):
        largest = highest(abs(a) if type(a) is int else n * 2, n)
        assert at_least(largest, n)
        if at_least(a, b):
            for x, y in itertools.product((0, 1, 2, 9, 1000), (0, 1, 7, 500)):
                known = {"n": x, "m": y}
                if all("//" not in str(s) for s in (a, b)):
                    assert value_of(a, known) >= value_of(b, known)
    for k in (0, 1, 63, 64, 65):
        assert value_of(aligned(n * 8, 64), {"n": k}) == -(-k * 8 // 64) * 64


def test_comparisons_become_conditions(naming, n, m):
    with naming:
        assert n > 10
        assert not n == m
        assert n >= 0
        assert n + 1 > 0
        require_least(n - 1, 1)
        with pytest.raises(TraceError, match="needs 3 >= n"):
            require_least(3, n)
    assert list(naming.conditions) == ["n > 10", "n != m", "n >= 2"]


def test_numbers_are_known_again(naming, n):
    with naming:
        assert str(tagged((1009, 3, 1008))) == "(n, 3, (n - 1))"
        for number, expected in (
            (1 / 1009, (1.0, n, -1.0)),
            (0.5 * 1009, (0.5, n, 1.0)),
            (np.sqrt(1009), (1.0, n, 0.5)),
        ):
            assert power_of(float(number)) == expected
        for number in (0.0, 1.0, 0.1, 1e-3, 0.5**10, np.pi, np.inf):
            assert power_of(number) is None
    assert tagged(1009) == 1009
    assert type(tagged(1009)) is int
