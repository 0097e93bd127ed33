"""Short plain arguments of exact operations: NumPy computes them, with the bits of the kernel."""

import numpy as np
import pytest

from nbgrad.core.primitive import Aval, Primitive, bind
from nbgrad.eager.emission import rounds_alike
from nbgrad.eager.plans import Plan, plan_for
from nbgrad.rules.families import Elementwise

EXACT = [p for p in Primitive.registry.values() if isinstance(p, Elementwise) and rounds_alike(p)]
SPECIAL = [0.0, -0.0, 1.0, -1.5, 3.0, 0.1, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e308]


def test_arithmetic_is_exact():
    assert {"add", "subtract", "multiply", "divide", "negative"} <= {p.name for p in EXACT}
    assert not {"exp", "power", "tanh"} & {p.name for p in EXACT}


@pytest.mark.parametrize("primitive", EXACT, ids=lambda p: p.name)
def test_bits_are_those_of_the_kernel(primitive):
    grid = np.meshgrid(*[np.array(SPECIAL)] * primitive.arity)
    args = [np.ascontiguousarray(x.ravel()) for x in grid]
    found = bind(primitive, *args)
    kernel = plan_for(
        primitive, (Aval.of(args[0].shape, args[0].dtype).constant,) * len(args), {}
    ).forward(*args)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(kernel))
    known = ~np.isnan(found)
    assert (found.view(np.int64) == kernel.view(np.int64))[known].all()


def test_no_plan_is_made_for_short_constants(monkeypatch):
    def refuse(*_):
        raise AssertionError("a plan was made")

    monkeypatch.setattr(Plan, "__init__", refuse)
    add = Primitive.registry["add"]
    x = np.asfortranarray(np.array([[1e308, 2.0], [3.0, 4.0]]))
    with np.errstate(all="raise"):
        found = bind(add, x, 1e308)
    assert type(found) is np.ndarray and found.flags.c_contiguous
    np.testing.assert_array_equal(found, [[np.inf, 1e308], [1e308, 1e308]])
    with pytest.raises(AssertionError, match="a plan was made"):
        bind(add, np.ones(100_000), 1.0)
