"""Decisions on lengths that have names: each is right for every length, or refused by name."""

import numpy as np
import pytest
from helpers.children import run
from helpers.daily import daily
from helpers.static import lengths

import nbgrad
from nbgrad.errors import TraceError


@pytest.mark.parametrize("mode", daily(lengths.MODES, 1))
def test_a_program_for_named_sizes_decides_as_the_function_does(mode):
    code = f"from helpers.static import lengths; result = lengths.faults({mode!r})"
    assert run(code, NUMBA_DISABLE_JIT="1").result == {}


@pytest.mark.parametrize("name", ["np.minimum (x.shape)", "n > np.int64 (x.shape)", "x[:K]"])
def test_machine_code_decides_so_too(name):
    assert lengths.fault(lengths.MODES["grad"], lengths.functions()[name]) == ""


def test_a_shape_of_other_integers_does_not_spoil_another_program():
    f = nbgrad.compile(lambda x: np.sin(x) * np.ones((np.int64(2), np.int64(31))))
    g = nbgrad.compile(lambda x: np.cos(x), dynamic={"x": (None, "n")})
    x = np.ones((2, 31))
    np.testing.assert_allclose(f(x), np.sin(x))
    np.testing.assert_allclose(g(x), np.cos(x))
    assert "np.int" not in g.source


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.array])
def test_positions_of_every_kind_are_conditions(kind):
    f = nbgrad.compile(lambda x: x[kind(5)] * x[0], dynamic={"x": ("n",)})
    assert f(np.arange(1.0, 9.0)) == 6.0
    assert "n >= 6" in f.only_variant("source").signature.conditions
    with pytest.raises((IndexError, TraceError)):
        f(np.ones(5))
