"""The fuzzer tells rounding from what is wrong by a little."""

import numpy as np
import pytest
from fuzz.case import Different
from fuzz.programs import Input, Program
from fuzz.rounding import is_rounding

X = np.array([1.797, 0.037, -0.913])
PROGRAM = Program((Input(X),), (), (0,))


def cancelled(c):
    """Terms of some thousand that cancel."""
    (x,) = c.args
    raise Different("", gap=(x / 7 + 1000.0) - 1000.0 - x / 7)


def wrong_by_a_little(c):
    raise Different("", gap=1e-12 * c.args[0])


def wrong_by_much(c):
    raise Different("", gap=(c.args[0] + 1e17) - 1e17)


def wrong_in_shape(c):
    raise Different("")


@pytest.mark.parametrize(
    ("mode", "rounds"),
    [
        (cancelled, True),
        (wrong_by_a_little, False),
        (wrong_by_much, False),
        (wrong_in_shape, False),
    ],
)
def test_rounding_is_told_from_what_is_wrong(mode, rounds):
    class Called:
        args = (X,)

    with pytest.raises(Different) as caught:
        mode(Called)
    assert is_rounding(PROGRAM, mode, caught.value.gap) is rounds
