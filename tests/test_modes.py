"""`no_tracking` and `detect_nan`."""

import threading

import numpy as np
import pytest

import nbgrad
from nbgrad import GraphError, NanError, track


def test_no_tracking_makes_no_graph():
    x = track([1.0, 2.0])
    with nbgrad.no_tracking():
        y = np.tanh(x) * x
        assert isinstance(y, nbgrad.TrackedArray)
        assert y.parents == () and len(x.children) == 0
    np.testing.assert_array_equal(y.data, np.tanh(x.data) * x.data)
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
