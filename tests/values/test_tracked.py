"""TrackedArray as people meet it: operators, NumPy's protocols, methods, and what it refuses."""

import copy
import operator
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import rows

import nbgrad
from nbgrad import TrackedArray, track

# -- operators ------------------------------------------------------------------------------------

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
COMPILED_OPERATORS = "*", "**"
VALUES = np.array([0.7, 1.3, 2.3])
OTHERS = {
    "int": 2,
    "float": 1.75,
    "bool": True,
    "float64": np.float64(1.75),
    "int64": np.int64(2),
    "0-d": np.array(1.75),
    "array": np.array([1.6, 0.9, 1.1]),
    "column": np.array([[1.6], [0.9]]),
    "ints": np.array([1, 2, 3]),
    "list": [1.6, 0.9, 1.1],
}


def _operations():
    for symbol, operate in OPERATORS.items():
        for name, other in OTHERS.items():
            marks = rows.marks(symbol in COMPILED_OPERATORS)
            yield pytest.param(operate, other, id=f"{symbol}-{name}", marks=marks)


@pytest.mark.parametrize("reflected", [False, True], ids=["left", "right"])
@pytest.mark.parametrize(("operate", "other"), list(_operations()))
def test_operators_with_plain_operands(operate, other, reflected):
    def f(x):
        return operate(other, x) if reflected else operate(x, other)

    x = track(VALUES)
    out = f(x)
    assert isinstance(out, TrackedArray)
    rows.assert_close(out.data, f(VALUES), 1e-14, rows.F64)
    out.backward(np.ones(out.shape))
    u = np.array([1.0, -0.5, 0.75])
    terms = np.asarray(f(VALUES))
    rows.assert_slope(x.grad, u, lambda t: float(np.sum(f(VALUES + t * u))), terms)


@pytest.mark.parametrize("reflected", [False, True], ids=["left", "right"])
@pytest.mark.parametrize("other", [2, 2.5, np.array([2.0, 0.5])], ids=["int", "float", "array"])
def test_divmod_is_the_quotient_and_the_rest(other, reflected):
    x = np.array([1.3, 3.1])
    found = divmod(other, track(x)) if reflected else divmod(track(x), other)
    expected = divmod(other, x) if reflected else divmod(x, other)
    for mine, theirs in zip(found, expected, strict=True):
        assert isinstance(mine, TrackedArray)
        rows.assert_close(mine.data, theirs, 1e-14)


def test_matmul_on_both_sides():
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0])
    for left, right in ((track(a), b), (a, track(b)), (a.tolist(), track(b))):
        out = left @ right
        assert isinstance(out, TrackedArray)
        np.testing.assert_array_equal(out.data, a @ b)


def test_signs_and_rounding():
    x = track([-1.26, 2.5])
    np.testing.assert_array_equal((-x).data, [1.26, -2.5])
    np.testing.assert_array_equal((+x).data, x.data)
    np.testing.assert_array_equal(abs(x).data, [1.26, 2.5])
    np.testing.assert_array_equal(round(x).data, [-1.0, 2.0])
    np.testing.assert_allclose(round(x, 1).data, [-1.3, 2.5])


@pytest.mark.parametrize("other", ["text", None, {}, 1j, np.array(1j), np.array([None, "a"])])
def test_operands_that_are_no_real_numbers_are_refused(other):
    for operate in (operator.add, operator.mul):
        with pytest.raises(TypeError):
            operate(track([1.0, 2.0]), other)
        with pytest.raises(TypeError):
            operate(other, track([1.0, 2.0]))


@pytest.mark.parametrize("compare", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("other", [2.0, 2, np.array([1.0, 2.0, 3.0]), track([1.0, 2.0, 3.0])])
def test_comparisons_are_plain(compare, other):
    compare = getattr(operator, compare)
    data = np.array([3.0, 2.0, 1.0])
    plain = other.data if isinstance(other, TrackedArray) else other
    for found, expected in (
        (compare(track(data), other), compare(data, plain)),
        (compare(other, track(data)), compare(plain, data)),
    ):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected, strict=True)


def test_comparisons_decide_in_python():
    x, y = track(2.0), track(-1.0)
    assert x > 0 and not y > 0
    assert (x if x > y else y) is x
    assert max([y, x]) is x and min([y, x]) is y
    assert sorted([x, y]) == [y, x]
    assert bool(x) and not track(0.0)
    assert 2.0 in track([1.0, 2.0]) and 3.0 not in track([1.0, 2.0])


def test_equality_is_elementwise_and_the_hash_is_identity():
    x, same = track([1.0, 2.0]), track([1.0, 2.0])
    np.testing.assert_array_equal(x == same, [True, True])
    assert hash(x) != hash(same)
    assert len({x, same}) == 2
    assert {x: "x"}[x] == "x"


@pytest.mark.parametrize("operate", [
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.imatmul,
    operator.ipow, operator.ifloordiv, operator.imod,
])  # fmt: skip
def test_a_leaf_refuses_to_become_computed_in_place(operate):
    w = track(np.eye(2), "w")
    with pytest.raises(nbgrad.GraphError, match=r"w\.data .*="):
        operate(w, np.eye(2))


def test_a_computed_array_takes_augmented_assignment():
    x = track([1.0, 2.0])
    total = x * 1.0
    total += x
    total *= 2.0
    total -= 1.0
    total /= 2.0
    np.sum(total).backward()
    np.testing.assert_array_equal(total.data, 2 * x.data - 0.5)
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])


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
