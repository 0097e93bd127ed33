"""Tracked arrays as arrays: NumPy's protocols, methods, leaves, copies."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from helpers import rows

import nbgrad
from nbgrad import TrackedArray, track

# -- NumPy's protocols ----------------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda x: np.add(2, x),
    lambda x: np.multiply(np.ones((3, 2)), x),
    lambda x: np.power(x, 3),
    lambda x: np.power(2.0, x),
    lambda x: np.sin(x),
    lambda x: np.positive(x),
    lambda x: np.sum(x),
    lambda x: np.sum(x, 0, keepdims=True),
    lambda x: np.mean(x, axis=(0, 1)),
    lambda x: np.max(x, axis=-1),
    lambda x: np.where(x > 1, x, 0.0),
    lambda x: np.maximum(x, 1.5),
    lambda x: np.reshape(x, (2, 3)),
    lambda x: np.reshape(x, -1),
    lambda x: np.ravel(x),
    lambda x: np.transpose(x),
    lambda x: np.broadcast_to(x, (2, 3, 2)),
    lambda x: np.concatenate([x, np.ones((1, 2))]),
    lambda x: np.concatenate([x, x], axis=None),
    lambda x: np.stack([x, x], axis=-1),
    lambda x: np.matmul(x, np.ones(2)),
    lambda x: np.dot(np.ones((1, 3)), x),
    lambda x: np.copy(x),
    lambda x: np.round(x, 1),
    lambda x: np.divmod(x, 0.4)[1],
])  # fmt: skip
def test_numpy_functions_take_tracked_arrays(call):
    data = np.array([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]])
    found = call(track(data))
    assert isinstance(found, TrackedArray)
    rows.assert_close(found.data, call(data), 1e-14, rows.F64)


def test_numpy_on_the_left_leaves_it_to_us():
    """NumPy would otherwise make an array of objects, or loop over the elements."""
    x = track([1.0, 2.0])
    for left in (np.float64(3.0), np.array([3.0, 4.0]), np.array(3.0)):
        out = left * x
        assert type(out) is TrackedArray
        np.testing.assert_array_equal(out.data, left * x.data)


# -- methods --------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda x: x.sum(),
    lambda x: x.sum(0),
    lambda x: x.sum(0, keepdims=True),
    lambda x: x.sum(axis=(0, 1)),
    lambda x: x.mean(),
    lambda x: x.mean(1, keepdims=True),
    lambda x: x.max(),
    lambda x: x.max(axis=0),
    lambda x: x.T,
    lambda x: x.transpose(),
    lambda x: x.transpose(1, 0),
    lambda x: x.transpose((1, 0)),
    lambda x: x.reshape(1, 4),
    lambda x: x.reshape((4,)),
    lambda x: x.reshape(2, 2),
    lambda x: x.reshape((2, 2)),
    lambda x: x.reshape(-1),
    lambda x: x.flatten(),
    lambda x: x.ravel(),
    lambda x: x.dot(np.array([1.0, 2.0])),
    lambda x: x.copy(),
    lambda x: x.astype(np.float64),
    lambda x: x.astype("float32"),
    lambda x: x[0],
    lambda x: x[-1, 1],
    lambda x: x[:, ::-1],
    lambda x: x[..., None],
    lambda x: x[[0, 0, 1]],
    lambda x: x[np.array([[True, False], [True, True]])],
])  # fmt: skip
def test_methods_are_those_of_arrays(call):
    data = np.array([[1.0, 4.0], [3.0, 2.0]])
    x = track(data)
    found, expected = call(x), np.asarray(call(data))
    assert isinstance(found, TrackedArray)
    rows.assert_close(found.data, expected, 1e-15, expected.dtype)
    found.backward(np.ones(found.shape))
    assert x.grad.shape == data.shape
    assert x.grad.dtype == np.float64


def test_shape_dtype_and_size():
    x = track(np.ones((2, 3), np.float32))
    assert (x.shape, x.ndim, x.size, len(x)) == ((2, 3), 2, 6, 2)
    assert x.dtype == np.float32


def test_plain_values_come_out_by_name():
    x = track([[1.0, 2.0], [3.0, 4.0]])
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.item(3) == x.item(1, 1) == 4.0
    assert type(np.sum(x).item()) is float
    assert track(2.5).tolist() == 2.5
    with pytest.raises(ValueError):
        x.item()


def test_a_copy_is_part_of_the_graph():
    x = track([1.0, 2.0])
    np.sum(x.copy() * 3.0).backward()
    np.testing.assert_array_equal(x.grad, [3.0, 3.0])


def test_elements_come_by_iteration_and_unpacking():
    x = track([2.0, 3.0])
    a, b = x
    (a * b).backward(keep_graph=True)
    np.testing.assert_array_equal(x.grad, [3.0, 2.0])
    assert [row.shape for row in track(np.ones((2, 3)))] == [(3,), (3,)]
    total = sum(x)
    assert isinstance(total, TrackedArray) and total.item() == 5.0


@pytest.mark.parametrize("call", [len, iter, list])
def test_a_scalar_has_no_elements(call):
    with pytest.raises(TypeError):
        call(track(1.0))


def test_text():
    loss = track(0.123456, "loss")
    assert f"{loss:.3f}" == "0.123"
    assert repr(loss) == "0.123456 (tracked loss)"
    assert f"{loss}" == str(loss) == repr(loss)
    assert "[1. 2.]" in repr(track([1.0, 2.0]))
    assert repr(loss * 2.0) == "0.246912 (tracked *)"
    assert repr(np.sin(track(0.0))) == "0.0 (tracked sin)"
    assert repr(track(1.0, "add")) == "1.0 (tracked add)", "a name is a name"


# -- what would lose the derivative ---------------------------------------------------------------


@pytest.mark.parametrize("index", [0, slice(None)])
def test_assigning_to_an_element_of_a_plain_array_is_refused(index):
    plain = np.zeros(2)
    with pytest.raises((nbgrad.UntrackedError, ValueError)) as caught:
        plain[index] = track(1.5)
    assert isinstance(caught.value, nbgrad.UntrackedError) or isinstance(
        caught.value.__cause__, nbgrad.UntrackedError
    )


def test_nbgrad_array_joins_tracked_and_plain_numbers():
    x, y = track(2.0), track(3.0)
    matrix = nbgrad.array([[x, 1.0], [0.0, x * y]])
    assert isinstance(matrix, TrackedArray)
    np.testing.assert_array_equal(matrix.data, [[2.0, 1.0], [0.0, 6.0]])
    np.sum(matrix).backward()
    assert (x.grad, y.grad) == (4.0, 2.0)


# -- leaves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "dtype"), [
    (1, np.float64),
    (True, np.float64),
    ([1, 2], np.float64),
    (np.arange(3, dtype=np.int8), np.float64),
    (np.array([True, False]), np.float64),
    (1.5, np.float64),
    (np.float32(1.5), np.float32),
    (np.ones(2, np.float32), np.float32),
    (np.ones(2, ">f8"), np.float64),
    (np.ones(2, ">f4"), np.float32),
])  # fmt: skip
def test_dtypes_of_leaves(given, dtype):
    x = track(given)
    assert x.dtype == x.data.dtype == dtype
    np.testing.assert_array_equal(x.data, given)


def test_float32_is_kept_where_numpy_keeps_it():
    plain = np.ones(2, np.float32)
    x = track(plain)
    functions: list[Callable] = [
        lambda v: v * 2.0,
        lambda v: 2 / v,
        lambda v: np.exp(v),
        lambda v: v * np.float32(2),
        lambda v: v * np.float64(2),
        lambda v: v + np.ones(2),
        lambda v: v**2,
        lambda v: v.mean(),
    ]
    for f in functions:
        assert f(x).dtype == np.asarray(f(plain)).dtype
    np.sum(x * np.ones(2)).backward()
    assert x.grad.dtype == np.float32


def test_track_copies_unless_told_otherwise():
    data = np.ones(2)
    assert not np.shares_memory(track(data).data, data)
    assert np.shares_memory(track(data, copy=False).data, data)
    x = track(data)
    assert track(x) is x


def test_the_data_of_a_leaf_is_fixed_in_shape_and_dtype():
    w = track(np.ones(2, np.float32), "w")
    w.data = np.array([3, 4])
    assert w.data.dtype == np.float32
    np.testing.assert_array_equal(w.data, [3.0, 4.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_gradient_of_a_scalar_is_a_numpy_scalar(dtype):
    x, v = track(dtype(3.0)), track(np.ones(2, dtype))
    assert x.grad is None
    np.sum(x * x * v).backward()
    assert type(x.grad) is dtype
    assert x.grad == 12.0
    assert type(v.grad) is np.ndarray and v.grad.dtype == dtype
    np.testing.assert_array_equal(v.grad, [9.0, 9.0])


def test_gradients_accumulate_and_own_their_memory():
    x, y = track([1.0, 2.0]), track([3.0, 4.0])
    np.sum(x + y).backward()
    assert not np.shares_memory(x.grad, y.grad)
    np.sum(x + y).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])


def test_a_cotangent_is_kept_from_the_caller():
    x, y, ct = track([1.0, 2.0]), track([[1.0], [2.0]]), np.ones(2)
    (x + 0.0 + np.reshape(y, 2)).backward(ct, keep_grads=True)
    ct[:] = 7.0
    np.testing.assert_array_equal(x.grad, [1.0, 1.0])
    np.testing.assert_array_equal(y.grad, [[1.0], [1.0]])


@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_retains_the_gradients_of_what_is_named(create_graph):
    x = track([1.0, 2.0])
    square = x * x
    sine = np.sin(square)
    total = np.sum(sine * 3.0)
    total.backward(retain=[sine, x], create_graph=create_graph)
    for found, right in ((sine.grad, [3.0, 3.0]), (x.grad, 6.0 * x.data * np.cos(square.data))):
        np.testing.assert_allclose(found.data if create_graph else found, right)
    assert square.grad is None and total.grad is None


# -- copies ---------------------------------------------------------------------------------------


def _pickled(x):
    return pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_the_derivative_passes_through_a_copy(duplicate):
    point = np.array([1.0, 2.0])
    f = lambda p: np.sum(duplicate(p) ** 2) + np.sum(duplicate({"p": p})["p"])  # noqa: E731
    slope = 2 * point + 1
    for found in (
        nbgrad.grad(f)(point),
        nbgrad.compile(nbgrad.grad(f))(point),
        nbgrad.jacobian(f, mode="forward")(point),
        nbgrad.vmap(nbgrad.grad(f))(point[None])[0],
        nbgrad.linearize(f, point)[1].transpose(1.0)[0],
    ):
        np.testing.assert_allclose(found, slope, rtol=1e-14)
    x = track(point, "x")
    made = duplicate(x)
    assert made.parents == (x,) and not np.shares_memory(made.data, x.data)


@pytest.mark.parametrize("data", [1.5, np.ones((2, 3), np.float32)], ids=["scalar", "float32"])
def test_pickles_are_new_leaves_with_the_value(data):
    x = track(data, "x")
    np.sum(x * x).backward()
    for original in (x, x * 2.0):
        made = _pickled(original)
        assert type(made) is TrackedArray and made is not original
        assert made.dtype == original.dtype
        assert made.grad is None and made.parents == () and not len(made.children)
        np.testing.assert_array_equal(made.data, original.data)
        assert not np.shares_memory(made.data, original.data)
        made.data -= 1.0
        np.testing.assert_array_equal(x.data, data)
    assert _pickled(x).name == "x"
