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
