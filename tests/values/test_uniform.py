"""Cotangents that are one number everywhere, as those of long sums: they are not written out."""

import numpy as np
import pytest

import nbgrad
from nbgrad.core.primitive import Primitive
from nbgrad.eager import plans
from nbgrad.eager.sums import SumPlan
from nbgrad.threads import pieces

COLUMNS = 23
PROGRAMS = {
    "a leaf": lambda x, y, w: np.sum(x) * y[0],
    "a product": lambda x, y, w: np.sum(x * w) + np.sum(y),
    "of two that are tracked": lambda x, y, w: np.sum(x * np.exp(x)),
    "with itself": lambda x, y, w: np.sum(x * x),
    "of another shape": lambda x, y, w: np.sum(x * y) + np.sum(x * x[:1]),
    "of another dtype": lambda x, y, w: np.sum(x * y.astype(np.float32)),
    "of a row of an array": lambda x, y, w: np.sum(np.reshape(x, (1, -1)) * np.ravel(x)),
    "a mean": lambda x, y, w: np.mean(np.tanh(x) / (1.0 + x * x)),
    "through sums": lambda x, y, w: np.sum(np.sin(x) + np.exp(x) - x * y),
    "to what is no map": lambda x, y, w: np.sum(nbgrad.softmax(x) + np.cumsum(x, 0) + x.T.T),
    "to a number": lambda x, y, w: np.sum(x + y[0]) + np.mean(np.tanh(y[1] + x)),
    "by two ways": lambda x, y, w: np.sum(x) * np.sum(np.sin(x) + x) + np.mean(x),
    "of slices": lambda x, y, w: np.sum((x + w)[:, :]) + np.sum(np.maximum(x, 0.0)),
    "an axis kept": lambda x, y, w: np.reshape(np.sum(x * x, keepdims=True), ()),
}


@pytest.fixture(params=[17, 19])
def rows(monkeypatch, request):
    """What is long, so that arrays are small; of one length, in pieces too."""
    monkeypatch.setattr(plans, "UNIFORM", 300)
    if request.param == 19:
        monkeypatch.setattr(pieces, "LONG", 300)
        monkeypatch.setattr(pieces, "LONG_PIECE", 100)
    return request.param


def drawn(rows, dtype=np.float64):
    rng = np.random.default_rng(5)
    shapes = (rows, COLUMNS), COLUMNS, (rows, COLUMNS)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def gradients(f, arrays):
    x, y = map(nbgrad.track, arrays[:2])
    f(x, y, arrays[2]).backward()
    return [x.grad, y.grad]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits_as_written_out(monkeypatch, rows, name, dtype):
    pulls = []
    whole = SumPlan.pull_uniform
    monkeypatch.setattr(SumPlan, "pull_uniform", lambda *a: pulls.append(1) or whole(*a))
    found = gradients(PROGRAMS[name], drawn(rows, dtype))
    assert pulls
    for primitive in Primitive.registry.values():
        for plan in getattr(primitive.plans, "values", list)():
            if isinstance(plan, SumPlan):
                monkeypatch.setattr(plan, "gives_uniform", False)
    pulls.clear()
    expected = gradients(PROGRAMS[name], drawn(rows, dtype))
    assert not pulls
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
            assert one.flags.owndata and one.flags.writeable and one.flags.c_contiguous


def test_one_times_the_other_factor_is_that_factor(rows):
    x, _, w = drawn(rows)
    x = nbgrad.track(x)
    node = (x * w).node
    for number, shared in ((1.0, True), (2.0, False)):
        ct = plans.uniform(np.float64(number), x.shape)
        slope, none = node.plan.pull_all(ct, node.value, node.saved)
        assert none is None and np.shares_memory(slope, node.saved[1]) == shared
        np.testing.assert_array_equal(slope, number * w)
    np.sum(x * w).backward()
    assert not np.shares_memory(x.grad, w)
