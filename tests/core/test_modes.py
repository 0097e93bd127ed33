"""`no_tracking` and `detect_nan`: for a block, in its thread and its task."""

import asyncio
import contextlib
import contextvars
import threading

import numpy as np
import pytest

import nbgrad
from nbgrad import GraphError, NanError, track
from nbgrad.core import modes


def test_no_tracking_makes_no_graph():
    x = track([1.0, 2.0])
    with nbgrad.no_tracking():
        y = np.tanh(x) * x
        assert isinstance(y, nbgrad.TrackedArray)
        assert y.parents == () and len(x.children) == 0
    np.testing.assert_allclose(y.tolist(), np.tanh(x.tolist()) * x.tolist(), rtol=1e-15)
    with pytest.raises(GraphError, match="no_tracking"):
        y.backward(np.ones(2))
    (y * x).sum().backward()  # y is a constant here
    np.testing.assert_array_equal(x.grad, y.data)


def test_modes_nest_and_end_with_an_error():
    x = track(2.0)
    with nbgrad.no_tracking():
        with nbgrad.no_tracking():
            pass
        assert (x * x).parents == ()
    with pytest.raises(ZeroDivisionError), nbgrad.no_tracking():
        raise ZeroDivisionError
    assert len((x * x).parents) == 2


def test_modes_belong_to_their_thread():
    x, found = track(2.0), []
    with nbgrad.no_tracking():
        thread = threading.Thread(target=lambda: found.append((x * x).parents))
        thread.start()
        thread.join()
    assert len(found[0]) == 2


def test_nan_is_named_in_the_forward_pass():
    x = track([[1.0, 4.0], [9.0, -1.0]])
    with nbgrad.detect_nan():
        with pytest.raises(NanError) as caught:
            np.log(x * 2.0)
        with pytest.raises(NanError, match="an argument was nan already"):
            np.multiply(track([np.nan]), 2.0)
    text = str(caught.value)
    assert "log gave nan in the forward pass, first at index (1, 1) of shape (2, 2)" in text
    assert "test_modes.py:" in text
    assert np.isnan(np.log(x).data[1, 1])  # off again


def test_nan_is_named_in_the_backward_pass():
    x = track([0.0, 1.0])
    with nbgrad.detect_nan():
        y = x / (x + 0.0).at[0].set(1.0)
        z = y * 2.0
        with pytest.raises(NanError, match=r"multiply gave nan in the backward pass.*test_modes"):
            z.backward(np.array([np.nan, 1.0]))
    assert x.grad is None


def test_infinite_cotangents_that_cancel_are_named():
    x = track([1.0, 0.0])
    with nbgrad.detect_nan():
        z = np.sum(np.sqrt(x) - np.cbrt(x))
        with pytest.raises(NanError, match=r"argument 0.*added to.*index \(1,\).*test_modes"):
            z.backward()


@pytest.mark.parametrize(
    ("f", "x", "text"),
    [
        (np.log, np.array([1.0, -1.0]), r"log gave nan in forward mode.*\(1,\) of shape \(2,\)"),
        (lambda x: np.sqrt(x) - np.cbrt(x), 0.0, "subtract gave a tangent that is nan in forward"),
    ],
)
def test_nan_is_named_in_forward_mode(f, x, text):
    with nbgrad.detect_nan(), pytest.raises(NanError, match=text + ".*test_modes"):
        nbgrad.jvp(f, (x,), (np.ones_like(x),))


def test_modes_belong_to_their_task():
    async def quiet():
        with nbgrad.no_tracking():
            await asyncio.sleep(0)
            assert modes.untracked()

    async def slope():
        x = track(2.0)
        y = x * x
        await asyncio.sleep(0)
        assert not modes.untracked()
        (y * x).backward()
        return float(x.grad)

    async def both():
        return await asyncio.gather(quiet(), slope(), quiet())

    assert asyncio.run(both())[1] == 12.0
    assert not modes.active


def test_levels_belong_to_their_task():
    async def slope(power):
        await asyncio.sleep(0)
        return nbgrad.grad(nbgrad.grad(lambda x: track(1.0) * x**power))(2.0)

    async def both():
        return await asyncio.gather(*(slope(n) for n in (2, 3, 4)))

    assert asyncio.run(both()) == [2.0, 12.0, 48.0]


def test_generators_may_close_their_blocks_in_any_order():
    x = track(2.0)

    def quiet():
        with nbgrad.no_tracking():
            yield

    first, second = quiet(), quiet()
    next(first)
    next(second)
    first.close()
    assert modes.untracked()
    second.close()
    assert len((x * x).parents) == 2 and not modes.active
    third = quiet()
    next(third)
    contextvars.copy_context().run(third.close)  # in a context of its own
    assert len((x * x).parents) == 2 and not modes.active


def test_a_mode_may_be_kept_and_used_again():
    x, quiet = track(2.0), nbgrad.no_tracking()
    for _ in range(2):
        with quiet, quiet:
            assert (x * x).parents == ()
        assert len((x * x).parents) == 2

    @contextlib.contextmanager
    def wrapped():
        with nbgrad.no_tracking():
            yield

    with wrapped(), contextlib.ExitStack() as stack:
        stack.enter_context(nbgrad.no_tracking())
        assert (x * x).parents == ()
    assert not modes.active


def by_half(x):
    with nbgrad.no_tracking():
        y = x * x
    return np.sum(y * x)


def test_no_tracking_makes_constants_in_every_mode():
    x, one = np.array([2.0]), np.ones(1)
    assert nbgrad.grad(by_half)(x) == 4.0
    assert nbgrad.grad(lambda x: np.sum(nbgrad.grad(by_half)(x)))(x) == 0.0
    assert nbgrad.hvp(by_half)(x, one) == 0.0
    assert nbgrad.jvp(by_half, (x,), (one,))[1] == 4.0
    assert nbgrad.linearize(by_half, x)[1](one) == 4.0
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(nbgrad.jacobian(by_half, mode=mode)(x), [4.0])
    batch = np.array([[2.0], [3.0]])
    np.testing.assert_array_equal(nbgrad.vmap(nbgrad.grad(by_half))(batch), [[4.0], [9.0]])
    np.testing.assert_array_equal(nbgrad.compile(nbgrad.grad(by_half))(x), [4.0])
    assert nbgrad.compile(by_half)(x) == 8.0


def test_transformations_inside_of_no_tracking_give_derivatives():
    def cube(x):
        return x * x * x

    def both(x):
        with nbgrad.no_tracking():
            slope, push = nbgrad.grad(cube)(x), nbgrad.jvp(cube, (x,), (1.0,))[1]
            curve = nbgrad.grad(nbgrad.grad(cube))(x)
        return slope, push, curve

    assert both(2.0) == (12.0, 12.0, 12.0)
    assert nbgrad.grad(lambda x: x * both(x)[0])(2.0) == 12.0
    assert nbgrad.jvp(lambda x: x * both(x)[0], (2.0,), (1.0,))[1] == 12.0
