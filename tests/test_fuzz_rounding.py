"""The fuzzer tells rounding from what is wrong by a little."""

import numpy as np
import pytest
from fuzz.case import Different
from fuzz.oracle import values
from fuzz.programs import Input, Program, Step
from fuzz.rounding import (
    is_number_by_rounding,
    is_rounding,
    is_within_noise,
    left_open,
    shape_is_open,
)

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


def program(value, *steps):
    return Program((Input(value),), tuple(Step(*step) for step in steps), (len(steps),))


EQUAL = program(np.full(3, 1.799), ("corrcoef", (0, 0), "np.corrcoef({0}, {1})"))
END = program(np.ones(2), ("arccos", (0,), "np.arccos({0})"))


def test_what_is_a_number_by_rounding():
    assert np.all(values(EQUAL)[0] == 1.0)  # a mean that is not quite that of equal numbers
    assert is_number_by_rounding(EQUAL)
    assert not is_number_by_rounding(END)


def test_shapes_that_rounding_decides():
    x = np.array([0.968, -0.131, -1.437], np.float32)
    rest = program(x, ("polydiv", (0,), "np.polydiv(np.ones(3), {0})[1]"))
    assert shape_is_open(rest)
    assert not shape_is_open(END)


@pytest.mark.parametrize(("dtype", "is_open"), [(np.float32, True), (np.float64, False)])
def test_values_that_need_more_digits_than_there_are(dtype, is_open):
    steps = ("exp", (0,), "np.exp({0})"), ("sin", (1,), "np.sin(3e4 * {0})")
    assert left_open(program(np.ones(2, dtype), *steps)) is is_open


def test_a_difference_within_the_noise_of_each_step():
    turned = ("degrees", (0,), "np.degrees({0})"), ("sin", (1,), "np.sin({0})")
    sines = program(np.full(2, 1.926, np.float32), *turned)
    assert is_within_noise(sines, np.array([2e-5, 0.0]))
    assert not is_within_noise(sines, np.array([1e-3, 0.0]))
    assert not is_within_noise(sines, np.array([np.nan, 0.0]))
