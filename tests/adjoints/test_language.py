"""The language of functions with loops: values bit by bit as Numba's, and gradients."""

import numba
import numpy as np
import pytest
from helpers.loops import control, names
from helpers.loops.calls import Exact, Pulled, copied, directions, dotted, kinds, moved

CASES = [*control.CASES, *names.CASES, *names.PLAIN]


def results(out):
    if isinstance(out, tuple):
        return [x for part in out for x in results(part)]
    return [out.item() if isinstance(out, np.generic) else out]


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_value_and_gradient(function, args):
    is_plain = function in [each for each, _ in names.PLAIN]
    theirs = function if is_plain else numba.njit(function)
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
