"""Branches that only raise, in compiled functions: checks of arguments."""

import numpy as np
import pytest

import nbgrad


def price(spot, rate):
    if spot <= 0.0 or rate < 0.0:
        raise ValueError(f"spot {spot}")
    assert spot < 100.0, "too large"
    if not 0.0 <= rate < 1.0:
        text = f"rate {rate}"
        raise ArithmeticError(text)
    return np.log(spot) * np.exp(-rate)


def looped(x):
    def body(i, y):
        if y > 1e3:
            raise OverflowError
        return y * x

    return nbgrad.loop(4, body, x)


WAYS = {
    "value": lambda f: f,
    "grad": nbgrad.grad,
    "hessian": nbgrad.hessian,
    "jvp": lambda f: lambda x, *rest: nbgrad.jvp(lambda x: f(x, *rest), (x,), (1.0,))[1],
}


@pytest.mark.parametrize("way", WAYS)
def test_checks_run_with_the_program(way):
    plain = WAYS[way](price)
    compiled = nbgrad.compile(plain)
    assert compiled(2.0, 0.5) == pytest.approx(plain(2.0, 0.5))
    for spot, rate, error in [
        (-1.0, 0.5, ValueError),
        (2.0, -0.5, ValueError),
        (200.0, 0.5, AssertionError),
        (2.0, 1.5, ArithmeticError),
    ]:
        with pytest.raises(error, match=r"for which the function raises .* \(test_raising.py:"):
            compiled(spot, rate)


def test_checks_hold_for_every_sample():
    spots, rates = np.array([2.0, 3.0]), np.array([0.5, 0.1])
    plain = nbgrad.vmap(nbgrad.grad(price))
    compiled = nbgrad.compile(plain)
    np.testing.assert_allclose(compiled(spots, rates), plain(spots, rates))
    with pytest.raises(ValueError, match="for which the function raises ValueError"):
        compiled(np.array([2.0, -3.0]), rates)


def test_checks_in_loops():
    compiled = nbgrad.compile(nbgrad.grad(looped))
    assert compiled(2.0) == pytest.approx(80.0)
    with pytest.raises(OverflowError, match="for which the function raises"):
        compiled(20.0)


def tried(x):
    try:
        if x < 0.0:
            raise ValueError
    except ValueError:
        return -x
    return x * x


def caller(x):
    try:
        return price(x, 0.1)
    except ValueError:
        return x


def two_ways(x):
    if x < 0.0:
        x = -x
    return x


@pytest.mark.parametrize("f", [tried, caller, two_ways])
def test_branches_that_go_on_are_refused(f):
    with pytest.raises(nbgrad.TraceError, match="the truth of a traced value"):
        nbgrad.compile(f)(2.0)


def test_isclose_and_allclose_are_asked_by_checks():
    def solved(pivot, x):
        if np.isclose(pivot, 0.0, atol=1e-12):
            raise ZeroDivisionError("the matrix is singular")
        assert np.allclose(x, x[0], rtol=0.5, equal_nan=True), "the numbers differ"
        return np.sum(np.where(np.isclose(x, x[::-1], equal_nan=True), x / pivot, x * pivot))

    x = np.array([1.0, 1.2, 1.0, np.nan])
    both = nbgrad.value_and_grad(solved)
    compiled = nbgrad.compile(both)
    for here in (np.array([1.0, 1.2, 1.1]), np.array([1.0, 1.2, 1.0])):
        for found, expected in zip(compiled(2.0, here), both(2.0, here), strict=True):
            np.testing.assert_allclose(found, expected)
    with pytest.raises(ZeroDivisionError, match=r"isclose\(pivot"):
        compiled(0.0, x[:3])
    with pytest.raises(AssertionError):
        compiled(2.0, np.array([1.0, 1.2, 3.0]))

    def close(a, b):
        return np.where(np.isclose(a, b, rtol=0.1, equal_nan=True), 1.0, a), np.isclose(a, b)

    a = np.array([1.0, np.nan, np.inf, -np.inf, np.inf, 3.0, 0.0])
    b = np.array([1.05, np.nan, np.inf, np.inf, 1.0, np.inf, 1e-9])
    for found, expected in zip(nbgrad.compile(close)(a, b), close(a, b), strict=True):
        np.testing.assert_array_equal(found, expected)
    samples = nbgrad.compile(nbgrad.vmap(close))(np.stack([a, b]), np.stack([b, a]))
    np.testing.assert_array_equal(samples[1], [np.isclose(a, b), np.isclose(b, a)])


def test_a_check_that_stands_in_a_program_twice():
    def positive(x):
        if x <= 0.0:
            raise ValueError

    @nbgrad.compile
    def f(x, y):
        positive(x)
        positive(y)
        if y > 9.0:
            raise IndexError
        return x * y

    assert f(2.0, 3.0) == f.njit(2.0, 3.0) == 6.0
    for call in (f, f.njit):
        for error, *args in (
            (ValueError, -1.0, 1.0),
            (ValueError, 1.0, -1.0),
            (IndexError, 1.0, 10.0),
        ):
            with pytest.raises(error):
                call(*args)


def test_a_moved_check_compiles_nothing():
    text = "def f(x):\n    if x < 0.5: raise ValueError\n    return x * 7.25"
    compiled = []
    for above in ("", "\n\n"):
        scope = {}
        exec(compile(above + text, "script.py", "exec"), scope)
        assert nbgrad.compile(scope["f"])(2.0) == 14.5
        compiled.append([nbgrad.stats()[key] for key in ("compiled", "loaded")])
    assert compiled[0] == compiled[1]
