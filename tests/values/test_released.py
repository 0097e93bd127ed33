"""Long values that nothing reads are released, and computed again if they are asked for."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import GraphError, track
from nbgrad.values import released
from nbgrad.values.released import LONG, Released

N = LONG // 8
X = np.linspace(0.1, 1.0, N)


@pytest.fixture(params=[0, 300], ids=["definitions", "C functions"])
def x(request) -> Any:
    """A leaf; after 300 calls the functions that record ops are C functions."""
    made = track(X)
    for _ in range(request.param):
        (track(1.0) * 2.0 + 1.0).backward()
    return made


def is_released(node: Any) -> bool:
    return type(node.value) is Released


def test_a_value_that_nothing_reads_is_gone_with_its_array(x):
    y = x + 1.0
    value, node = weakref.ref(y.node.value), y.node
    z = np.sum(y)
    assert not is_released(node)
    del y
    assert is_released(node) and value() is None
    z.backward()
    np.testing.assert_array_equal(x.grad, np.ones(N))


def test_a_value_that_a_pullback_reads_is_kept(x):
    y = x + 1.0
    z = y * x
    e = np.exp(z)
    kept = [weakref.ref(array.node.value) for array in (y, z, e)]
    loss: Any = np.sum(e)
    del y, z, e
    # The product reads y, exp reads its result; nothing reads z.
    assert [reference() is None for reference in kept] == [False, True, False]
    loss.backward()
    np.testing.assert_allclose(x.grad, np.exp((X + 1) * X) * (2 * X + 1), rtol=1e-12)


def test_a_released_value_is_computed_again(x):
    y = (x + 1.0) * 2.0 - x
    expected = y.data.copy()
    loss: Any = np.sum(y)
    node = y.node
    del y
    assert is_released(node)
    again = loss.parents[0]
    np.testing.assert_array_equal(again.data, expected)
    # Those below it are released again, and so is it.
    assert all(is_released(parent) for parent in node.parents if parent.plan is not None)
    assert "tracked" in repr(again)
    (other,) = loss.parents
    assert other is again
    del again, other
    assert is_released(node)
    loss.backward()
    np.testing.assert_array_equal(x.grad, np.ones(N))


def test_gradients_of_gradients_and_seeds(x):
    def loss(x):
        return np.sum((np.exp(x) + x) ** 2 * 0.5 + 1.0)

    loss(x).backward(create_graph=True)
    first = x.grad
    np.testing.assert_allclose(first.data, (np.exp(X) + X) * (np.exp(X) + 1), rtol=1e-12)
    x.grad = None
    np.sum(first).backward()
    second: Any = x.grad
    expected = (np.exp(X) + 1) ** 2 + (np.exp(X) + X) * np.exp(X)
    np.testing.assert_allclose(second, expected, rtol=1e-12)
    nbgrad.reset(x)
    z: Any = loss(x)
    z.grad = 1.0
    found: Any = nbgrad.accum(x)
    np.testing.assert_allclose(found, (np.exp(X) + X) * (np.exp(X) + 1), rtol=1e-12)


def test_retained_arrays_views_and_writes(x):
    y = x * 2.0
    half = y[: N // 2] + 0.0
    y[0] = 5.0
    z: Any = np.sum(y + 1.0) + np.sum(half)
    z.backward(retain=[y])
    assert y.grad.tolist() == [1.0] * N and x.grad[0] == 2.0 and x.grad[1] == 4.0


def test_a_second_array_keeps_the_value(x):
    y = x + 1.0
    other = y._fresh()
    del y
    np.testing.assert_array_equal((other * 2.0).data, 2 * (X + 1))
    state, _ = nbgrad.scan(lambda s, _: (s + 1.0, None), x * 2.0, length=3)
    np.testing.assert_array_equal(state.data, 2 * X + 1 + 1 + 1)
    slope = nbgrad.vjp(lambda x: np.sum((x * x + x) ** 3), x.data)[1](1.0)[0]
    np.testing.assert_allclose(slope, 3 * (X * X + X) ** 2 * (2 * X + 1), rtol=1e-12)


def test_values_that_cannot_be_computed_again_say_so(x):
    y: Any = np.sum((x + 1.0) + 2.0)
    x.data = 2.0 * X
    with pytest.raises(GraphError, match="keep the array"):
        _ = y.parents[0]
    y.backward()  # which reads no values
    np.testing.assert_array_equal(x.grad, np.ones(N))


def test_modes_see_all_values(x):
    with nbgrad.detect_nan():
        y = x + 1.0
        node = y.node
        z: Any = np.sum(y)
        del y
        assert not is_released(node)
        z.backward()
    with nbgrad.no_tracking():
        assert not (x + 1.0).node.parents


def test_short_values_are_kept():
    x = track(X[: N // 2])
    y = x + 1.0
    node = y.node
    z = np.sum(y)
    del y
    assert not is_released(node) and z.node.saved[0] is node.value
    assert not released.is_long(2.0)


def test_nothing_is_left_to_the_collector(x):
    gc.collect()
    gc.disable()
    try:
        y = x + 1.0
        z = np.sum(y * 2.0)
        gone = weakref.ref(y.node), weakref.ref(z.node)
        del y, z
        assert [reference() for reference in gone] == [None, None]
    finally:
        gc.enable()
