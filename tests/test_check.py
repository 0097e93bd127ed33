"""`check_grads` passes what is right and names what is wrong."""

import numpy as np
import pytest

import nbgrad
from nbgrad.core.primitive import Primitive, bind
from nbgrad.rules.families import elementwise


def network(params, x):
    hidden = np.tanh(x @ params["w"] + params["b"])
    return {"hidden": hidden, "total": [np.sum(hidden**2)]}


def test_trees_in_both_modes_and_orders(rng):
    params = {"w": rng.normal(size=(3, 2)), "b": rng.normal(size=2), "n": 3}
    nbgrad.check_grads(network, (params, rng.normal(size=(4, 3))), ("reverse", "forward"), order=2)


def test_float32_is_checked_in_float64(rng):
    nbgrad.check_grads(np.exp, (rng.normal(size=3).astype(np.float32),))


@pytest.fixture
def wrong(monkeypatch):
    monkeypatch.setattr(Primitive, "registry", dict(Primitive.registry))
    return elementwise(
        None, "x * x * x", [lambda x, out: 3 * x * x + np.where(x > 1, 0.01, 0.0)],
        domains=[(0, 1)], name="wrong",
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_the_worst_element_is_named_with_both_values(wrong, mode):
    x = np.array([0.5, 1.5, 0.25])

    def f(x):
        return bind(wrong, x)

    with pytest.raises(AssertionError, match=r"index \(1,\)|element \(1,\)") as caught:
        nbgrad.check_grads(f, (x,), (mode,))
    assert "differences give" in str(caught.value)
    nbgrad.check_grads(f, (np.array([0.5]),), (mode,))


def test_wrong_use():
    with pytest.raises(ValueError, match="sideways"):
        nbgrad.check_grads(np.sin, (1.0,), ("sideways",))
    with pytest.raises(TypeError, match="no float"):
        nbgrad.check_grads(np.sin, (1,))
