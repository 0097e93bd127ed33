"""Named sizes: what entries from Python do for short arrays, and for long ones."""

import numpy as np
import pytest

import nbgrad
from nbgrad.compiler.kernel import DISABLED
from nbgrad.compiler.program import Arena
from nbgrad.ir.formulas import value_of
from nbgrad.runtime.layout import IS_KNOWN
from nbgrad.static.entry import run
from nbgrad.static.loops.plan import STACK


@pytest.mark.parametrize(
    ("f", "spec", "brief"),
    [
        (lambda x: np.sum(x), ("n",), range(4000, 10_000)),
        (lambda x: np.sum(x[:, None] * x), ("n",), range(40, 100)),
        (lambda x: np.sum(x[:, 1:]), ("n", "m"), range(60, 101)),
        (lambda x: np.sum(x[::3]), ("n",), range(9999, 10_000)),
    ],
)
def test_programs_are_brief_up_to_a_length(f, spec, brief):
    named = nbgrad.compile(f, dynamic={"x": spec})
    assert named.variant(np.ones((5,) * len(spec)))._emitted.brief in brief


def paths(x):
    return np.cumsum(nbgrad.softmax(x) ** 2)


def slope(x):
    return nbgrad.grad(lambda x: np.sum(paths(x) * np.cos(paths(x))))(x)


@pytest.mark.skipif(DISABLED or not IS_KNOWN, reason="no C functions")
def test_scratch_is_on_the_stack_where_it_fits_there(rng, monkeypatch):
    asked = []

    class Counted(Arena):
        @property
        def block(self):
            asked.append(1)
            return np.empty(10**7, np.uint8)

    monkeypatch.setattr(run, "arena", Counted())
    named = nbgrad.compile(slope, dynamic={"x": ("n",)})
    size, kinds = named.variant(np.ones(5)).plan.scratch, set()
    for n in (100_000, 1, 2, 3, 100, 900, 2000, 2001, 4000, 4097, 50_000, 7):
        x = rng.normal(size=n)
        asked.clear()
        for _ in range(3):
            np.testing.assert_allclose(named(x), slope(x), rtol=1e-10, atol=1e-14)
        needed = value_of(size, {"n": n})
        assert len(asked) == (0 if needed <= STACK else 3)
        kinds.add(needed <= STACK)
    assert kinds == {False, True}


@pytest.mark.parametrize("n", [4, 3000])
def test_errors_of_programs_with_scratch(n):
    def f(x, i):
        return np.sum(np.cumsum(np.cumsum(x) ** 2)[i] ** 2)

    named = nbgrad.compile(f, dynamic={"x": ("n",)})
    x = np.ones(n)
    assert named(x, 1) == f(x, 1)
    for _ in range(3):
        with pytest.raises(IndexError, match="out of bounds"):
            named(x, n)
    assert named(x, n - 1) == f(x, n - 1)
