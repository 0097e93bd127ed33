"""Reverse mode of kernels with loops, beside dual numbers: exact up to rounding."""

import inspect

import numpy as np
import pytest
from fuzz.derivatives.checking import check
from fuzz.derivatives.drawing import Drawn
from fuzz.derivatives.machine import check_machine
from helpers.loops.kernels import kernels

EVERY = kernels()


def program(function, places, arguments):
    """A kernel as a program of the fuzzer's."""
    name, text = function.__name__, inspect.getsource(function)
    names = list(inspect.signature(function).parameters)
    given = dict(zip(names, arguments, strict=True))
    return Drawn(3, text.replace(f"def {name}(", "def drawn("), given,
                 tuple(names[i] for i in places))  # fmt: skip


each = pytest.mark.parametrize(
    ("function", "places", "arguments"), EVERY, ids=[f.__name__ for f, _, _ in EVERY]
)


@each
def test_kernel(function, places, arguments):
    check(program(function, places, arguments))


@each
def test_kernel_as_machine_code(function, places, arguments):
    check_machine(program(function, places, arguments))


# The residual of Newton's method becomes exactly 0, where abs has no derivative.
@pytest.mark.parametrize("name", [f.__name__ for f, _, _ in EVERY if f.__name__ != "newton"])
def test_kernel_of_float32(name):
    ((function, places, arguments),) = [case for case in EVERY if case[0].__name__ == name]
    single = tuple(x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in arguments)
    check(program(function, places, single))
