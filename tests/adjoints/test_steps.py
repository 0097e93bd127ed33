"""Loops over `nbgrad.steps`: the same derivatives as without checkpoints, and less memory."""

import numpy as np
import pytest
from helpers.loops.calls import Bent, Pulled, called, copied, directions, is_array, kinds
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
    np.testing.assert_array_equal(x, y, strict=True)


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
