"""Loops over `nbgrad.steps`: the same derivatives as without checkpoints, and less memory."""

import numpy as np
import pytest
from helpers.loops.calls import Bent, Pulled, directions, is_array, kinds
from helpers.loops.checkpointed import checkpointed

from nbgrad.loops.maker import Forward, Reverse

PLAIN = checkpointed(None, False)
SCHEDULES = {
    "sqrt": checkpointed("sqrt", False),
    "binomial": checkpointed("binomial", False),
    "equal": checkpointed(None, True),
}
NAMES = [f.__name__ for f, _, _ in PLAIN]
LENGTHS = (0, 1, 2, 3, 10, 131, 300)
each = pytest.mark.parametrize("i", range(len(PLAIN)), ids=NAMES)
each_schedule = pytest.mark.parametrize("schedule", SCHEDULES)


def reverse(case, count):
    function, wrt, args = case
    return Reverse(function, kinds([*args, 1, 1]), wrt), [*args, count, 1]


def same(x, y):
    """Cotangents of elements that do not change in a loop are summed from segment to segment."""
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-13 * np.max(np.abs(y), initial=1.0))


def differentiated(case, n, k):
    maker, args = reverse(case, n)
    args[-1] = k
    return Pulled(maker, args)


@each_schedule
@each
def test_gradients_are_those_without_checkpoints(i, schedule):
    for n in LENGTHS:
        expected = differentiated(PLAIN[i], n, 1)
        for k in (1, 2, 3, 7, 50, 1000) if schedule == "equal" else (1,):
            found = differentiated(SCHEDULES[schedule][i], n, k)
            assert found.results == expected.results
            for place in expected.gradient:
                same(found.gradient[place], expected.gradient[place])
            assert all(np.all(np.isfinite(x)) for x in expected.gradient.values())


@each_schedule
@each
def test_second_derivatives(i, schedule):
    """Forward over reverse, and reverse over forward, which has the tangents in its states."""
    n = 11
    _, wrt, _ = PLAIN[i]
    u = None
    found = []
    for case in (PLAIN[i], SCHEDULES[schedule][i]):
        maker, args = reverse(case, n)
        args[-1] = 3
        u = u or directions(args, wrt)
        bent = Bent(Forward(maker, (), wrt), args, u)
        forward = Forward(case[0], maker.kinds, wrt)
        dots = [u.get(place, np.zeros_like(args[place])) for place in forward.shadows]
        numbers = [u[place] for place in sorted(wrt) if not is_array(args[place])]
        back = Pulled(Reverse(forward, (), wrt), [*args, *dots, *numbers], (0.0, 1.0))
        found.append((bent, back))
    (bent, back), (own_bent, own_back) = found
    for place in wrt:
        same(own_bent.gradient[place], bent.gradient[place])
        same(own_bent.product[place], bent.product[place])
        same(own_back.gradient[place], back.gradient[place])
