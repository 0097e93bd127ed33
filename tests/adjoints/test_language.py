"""The language of functions with loops: values bit by bit as Numba's, and gradients."""

# pyright: reportPossiblyUnboundVariable=false

from typing import Any

import numba
import numpy as np
import pytest
from helpers.daily import every_other
from helpers.loops import called, control, names
from helpers.loops.calls import Exact, Pulled, copied, directions, dotted, kinds, moved

import nbgrad

PLAIN = [*names.PLAIN, *called.PLAIN]
CASES = [*control.CASES, *names.CASES, *called.CASES, *PLAIN]


def results(out):
    if isinstance(out, tuple):
        return [x for part in out for x in results(part)]
    return [out.item() if isinstance(out, np.generic) else out]


@pytest.mark.parametrize(
    ("function", "args"), every_other(CASES), ids=[f.__name__ for f, _ in CASES]
)
def test_value_and_gradient(function, args):
    is_plain = function in [each for each, _ in PLAIN]
    theirs: Any = function if is_plain else numba.njit(function)
    wanted = results(theirs(*copied(args)))
    floats = tuple(i for i, x in enumerate(args) if np.asarray(x).dtype == float)
    maker = Exact(function, kinds(args), floats)
    seeds = [1.0 for x in wanted if isinstance(x, float)]
    pulled = Pulled(maker, args, seeds)
    assert [*map(repr, pulled.results)] == [*map(repr, wanted)]
    along = directions(args, floats)
    eps = 1e-6
    up, down = (sum(results(theirs(*moved(args, along, step)))) for step in (eps, -eps))
    slope = (up - down) / (2 * eps)
    found = dotted(pulled.gradient, along)
    assert found == pytest.approx(slope, rel=1e-6, abs=1e-7 * max(1.0, abs(wanted[0])))


def maybe(x, n):
    for i in range(n):
        v = x * i
    return v * x


def test_a_variable_without_a_value():
    """Numba returns any number."""
    maker = Exact(maybe, kinds((1.5, 3)), (0,))
    assert Pulled(maker, (1.5, 3)).gradient[0] == pytest.approx(6.0)
    with pytest.raises(UnboundLocalError, match="variable 'v'"):
        Pulled(maker, (1.5, 0))


def test_raises_in_the_derivative():
    maker = Exact(control.guarded_by_raise, kinds((0.4,)), (0,))
    with pytest.raises(ValueError, match=r"negative: \{x\}"):
        Pulled(maker, (-1.0,))
    with pytest.raises(ArithmeticError):
        Pulled(maker, (3.0,))


def test_named_tuples_and_keywords_as_arguments():
    def volume(box, *, scale=2.0, shift=None):
        edge = box.x * box.y
        return edge * scale if shift is None else edge * scale + shift

    plain = nbgrad.njit(volume)
    box = called.Point(1.5, 2.0)
    value, slope = nbgrad.value_and_grad(plain)(box, scale=3.0)
    assert value == 9.0
    assert [float(x) for x in slope] == [6.0, 4.5]
