"""The loop IR and the core IR: the checker finds what is unsound, the interpreter runs the rest."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkers.interpret import interpret
from checkers.kernels import check_core

from nbgrad.errors import TraceError
from nbgrad.ir.affine import Affine
from nbgrad.ir.core import Core, CoreStep, Scratch
from nbgrad.ir.scalar import parse
from nbgrad.ir.statements import Address, Assign, Call, For, Kernel, Literal, Load, Store

FLOAT, INT = np.dtype(float), np.dtype(np.int64)


def at(const, *terms):
    return Affine(const, terms)


def doubled(*body: Any, stop: int = 4, stored: str = "w") -> Core:
    """A core that doubles 4 numbers."""
    inside = body or (
        Load("v", 0, at(0, (0, 1)), FLOAT),
        Assign("w", parse("x * 2.0"), ("v",), FLOAT, FLOAT),
        Store(1, at(0, (0, 1)), stored, FLOAT),
    )
    kernel = Kernel("loop", (FLOAT, FLOAT), (), (For(0, 0, stop, inside),))
    run = Call(kernel, (Address(0, at(0), FLOAT), Address(1, at(0), FLOAT)))
    return Core("core", (0, 1), [CoreStep(run)], (), 0, False)


SIZES: dict[Hashable, int] = {0: 32, 1: 32}


def test_a_kernel_is_interpreted():
    result = np.zeros(4)
    assert interpret(doubled(), [np.arange(4.0), result]) == []
    np.testing.assert_array_equal(result, [0.0, 2.0, 4.0, 6.0])
    check_core(doubled(), SIZES, {})


def test_the_interpreter_stays_within_buffers():
    for core in (doubled(stop=5), doubled(Store(1, at(-1), Literal(1.0, FLOAT), FLOAT))):
        with pytest.raises(IndexError, match="lies beyond"):
            interpret(core, [np.arange(4.0), np.zeros(4)])
    with pytest.raises(ValueError, match="contiguous"):
        interpret(doubled(), [np.arange(8.0)[::2], np.zeros(4)])


LOAD = Load("v", 0, at(0, (0, 1)), FLOAT)
UNSOUND = {
    "loop": (doubled(stop=5), "lie outside"),
    "before": (doubled(Load("v", 0, at(-1), FLOAT)), "lie outside"),
    "name": (doubled(stored="z"), "z is used before it is defined"),
    "axis": (doubled(Load("v", 0, at(0, (1, 1)), FLOAT)), "1 is used before"),
    "after its loop": (
        doubled(For(1, 0, 2, (LOAD,)), Store(1, at(0), "v", FLOAT)), "v is used before",
    ),
    "dtype of a load": (doubled(Load("v", 0, at(0), INT)), "the buffer holds float64"),
    "dtype of a store": (doubled(Store(1, at(0), Literal(1, INT), FLOAT)), "is int64, not float64"),
    "dtype of code": (
        doubled(LOAD, Assign("w", parse("x < 1.0"), ("v",), FLOAT, FLOAT)), "gives 'b'",
    ),
    "width of code": (
        doubled(LOAD, Assign("w", parse("x * 2.0"), ("v",), FLOAT, np.dtype(np.float32))),
        "constants",
    ),
    "arguments of code": (
        doubled(LOAD, Assign("w", parse("x * y"), ("v",), FLOAT, FLOAT)), "reads y",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSOUND)
def test_a_kernel_that_is_not_sound_is_found(name):
    core, told = UNSOUND[name]
    with pytest.raises(TraceError, match=told):
        check_core(core, SIZES, {})


def test_a_core_that_is_not_sound_is_found():
    core = doubled()
    run: Any = core.steps[0].statement
    (a, r) = run.pointers
    for pointers, told in (
        ((replace(a, at=at(1)), r), "lie outside"),
        ((replace(a, dtype=INT), r), "in place of"),
        ((replace(a, buffer=7), r), "no buffer"),
        ((r, r), "is written and lies where"),
        ((replace(a, buffer=Scratch(64, 0)), r), "beyond the scratch"),
    ):
        wrong = CoreStep(replace(run, arguments=pointers))
        with pytest.raises(TraceError, match=told):
            check_core(Core("core", core.parameters, [wrong], (), 32, False), SIZES, {})
