"""Operators of tracked arrays with plain, tracked and unfit operands."""

import operator

import numpy as np
import pytest
from helpers import rows

import nbgrad
from nbgrad import TrackedArray, track

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


@pytest.mark.parametrize("other", ["text", None, {}, np.array([None, "a"])])
def test_operands_that_are_no_numbers_are_refused(other):
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


@pytest.mark.parametrize("compare", [np.array_equal, np.array_equiv])
def test_lists_of_tracked_arrays_are_compared(compare):
    x, number = track(np.array([0.5, 0.25])), track(2.0)
    assert compare([x, x], np.array([[0.5, 0.25]] * 2)) and compare([number, 1.0], [2.0, 1.0])
    assert not compare([x], [[0.5, 0.5]]) and not compare([number], [1.0])
    # NumPy takes an error for "not equal", so what has no numbers answers for its elements.
    for wrong in (nbgrad.compile, nbgrad.vmap):
        with pytest.raises((nbgrad.TraceError, nbgrad.UntrackedError), match="the truth of a"):
            wrong(lambda x: x * compare([x], [np.ones_like(x)]))(np.array([[1.0, 1.0], [1.0, 2.0]]))
    same = nbgrad.vmap(lambda x: x * compare([x], [x]))(np.ones((2, 2)))
    np.testing.assert_array_equal(same, np.ones((2, 2)))
    assert nbgrad.grad(lambda x: x * compare([x], [3.0]))(3.0) == 1.0
