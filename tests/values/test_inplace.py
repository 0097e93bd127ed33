"""Writing at an index: `x.at[i]`, item assignment, tracked constants."""

import numpy as np
import pytest

import nbgrad
from nbgrad import DimensionMismatch, GraphError, track


def test_set_add_and_multiply_leave_the_array_as_it_is():
    x = track([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.at[0].set(9.0).data, [9, 2, 3])
    np.testing.assert_array_equal(x.at[1:].add([10.0, 20.0]).data, [1, 12, 23])
    np.testing.assert_array_equal(x.at[[0, 2]].multiply(2.0).data, [2, 2, 6])
    np.testing.assert_array_equal(x.at[x.data > 1].set(0.0).data, [1, 0, 0])
    np.testing.assert_array_equal(x.data, [1, 2, 3])


def test_gradients_at_repeated_positions():
    index = np.array([0, 2, 0])
    x, v = track([1.0, 2.0, 3.0]), track([5.0, 6.0, 7.0])
    x.at[index].set(v).backward(np.array([1.0, 10.0, 100.0]))
    np.testing.assert_array_equal(x.grad, [0, 10, 0])
    np.testing.assert_array_equal(v.grad, [0, 100, 1])  # the last write counts
    nbgrad.reset(x, v)
    x.at[index].add(v).backward(np.array([1.0, 10.0, 100.0]))
    np.testing.assert_array_equal(x.grad, [1, 10, 100])
    np.testing.assert_array_equal(v.grad, [1, 100, 1])
    with pytest.raises(NotImplementedError, match="repeats a position"):
        x.at[index].multiply(2.0)


@pytest.mark.parametrize("index", [1, (slice(None), 0), (..., slice(1, 3)), np.array([1, 0])])
def test_derivatives_agree_with_differences(index, rng):
    x, shape = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))[index].shape
    v = rng.normal(size=shape)
    modes = ("reverse", "forward")
    nbgrad.check_grads(lambda x, v: x.at[index].set(v * v), (x, v), modes, order=2)
    nbgrad.check_grads(lambda x, v: x.at[index].add(v * v) * x, (x, v), modes, order=2)
    nbgrad.check_grads(lambda x, v: x.at[index].multiply(v), (x, v), modes, order=2)


def test_assignment_gives_a_new_value_and_earlier_uses_keep_theirs():
    x = track([1.0, 2.0, 3.0])
    y = x * 2.0
    before = y * y
    y[0] = 10.0 * x[1]
    y[1:] += x[0]
    np.testing.assert_array_equal(y.data, [20, 5, 7])
    np.testing.assert_array_equal(before.data, [4, 16, 36])
    (before.sum() + y.sum()).backward()
    np.testing.assert_array_equal(x.grad, [8 + 2, 16 + 2 + 10, 24 + 2])


def test_old_values_are_still_children_of_what_they_came_from():
    x = track([1.0, 2.0])
    y = x * 2.0
    z = y + 1.0
    y[0] = 0.0
    first, second = x.children, y.parents
    assert [child.name for child in first] == ["multiply"]
    assert first and next(iter(first)) is not y
    assert second[0] is next(iter(first))
    assert z.parents[0] is second[0]


def test_constants_take_assignment():
    x = track(np.array([1.0, 2.0, 3.0], np.float32))
    y = np.zeros_like(x)
    for i in range(3):
        y[i] = x[2 - i] ** 2
    assert y.dtype == np.float32
    y.backward(np.array([1.0, 10.0, 100.0], np.float32))  # pyright: ignore
    np.testing.assert_array_equal(x.grad, [200, 40, 6])
    for constant, value in ((np.empty_like(x), 0), (np.ones_like(x), 1), (np.full_like(x, 7), 7)):
        np.testing.assert_array_equal(constant.data, np.full(3, value))


def test_assignment_under_transformations():
    def f(t):
        y = np.zeros_like(t * np.ones(3))
        y[0] = t**3
        y[1] = y[0] * t
        return np.sum(y)

    np.testing.assert_allclose(nbgrad.grad(f)(2.0), 3 * 4 + 4 * 8)
    np.testing.assert_allclose(nbgrad.grad(nbgrad.grad(f))(2.0), 6 * 2 + 12 * 4)
    np.testing.assert_allclose(nbgrad.jvp(nbgrad.grad(f), (2.0,), (1.0,))[1], 6 * 2 + 12 * 4)


def test_what_cannot_be_written_is_said():
    x = track([1.0, 2.0, 3.0], "x")
    y = x * 1.0
    with pytest.raises(IndexError, match="out of bounds"):
        y[5] = 1.0
    with pytest.raises(DimensionMismatch, match=r"\(3,\) does not fill the shape \(2,\)"):
        y[:2] = np.ones(3)
    with pytest.raises(GraphError, match="cannot take values of an inner transformation"):
        nbgrad.jvp(lambda t: y.__setitem__(0, t) or t, (1.0,), (1.0,))
    np.testing.assert_array_equal(y.data, [1, 2, 3])


def place(y):
    """Where the values of an array lie in memory."""
    return y.data.__array_interface__["data"][0]


def test_a_write_copies_only_what_somebody_else_reads():
    x = track(np.arange(1000.0))
    y = x + 1.0
    here = place(y)
    part = y[10:20]
    for i in range(1, 20):
        y[i] = y[i - 1] * 0.5
    part[2] = 7.0
    y[y.data > 900.0] = 0.0
    assert place(y) == here and y.data[12] == 7.0
    square = y * y  # its pullback reads y
    y[0] = 3.0
    assert place(y) != here
    there = place(y)
    y[1] = 4.0
    assert place(y) == there
    np.sum(square).backward()
    assert x.grad[500] == 2.0 * 501.0


def test_values_that_were_overwritten_are_said_to_be(capsys):
    x = track([1.0, 2.0], "x")
    y = x * 2.0
    y[0] = 5.0
    z = np.sum(y)
    (old,) = x.children
    assert repr(old) == "overwritten (tracked *)" and old.shape == (2,)
    for use in (lambda: old.data, lambda: old * 2.0, old.item, lambda: float(old[0].data)):
        with pytest.raises(GraphError, match=r"take y\.copy\(\) before the write"):
            use()
    nbgrad.print_tree(x)
    assert "data: overwritten" in capsys.readouterr().out
    assert "assign" in str(nbgrad.draw(z))
    z.backward(create_graph=True)
    np.testing.assert_array_equal(x.grad.data, [0.0, 2.0])


def lists(x):
    y = x * 1.0
    y[:2] = [x[0] * 2.0, 1.0]
    y[1:] = (x[1] * x[2], x[0])
    np.put(y, [0], [x[1] * x[2]])
    np.place(y, [False, False, True], [x[1]])
    np.putmask(y, [False, True, False], [x[0], x[1] * x[1], x[2]])
    m = np.outer(y, x)
    np.fill_diagonal(m, [x[2], x[0] * x[0], 1.0])
    np.copyto(m[0], [x[0], x[1], 3.0])
    return np.sum(m * m)


def without_tracking(x):
    y = x * 2.0
    rest = y[1:]
    with nbgrad.no_tracking():
        y[0] = x[1] * 5.0
        rest[1] = 7.0
    return np.sum(y * y)


MODES = {
    "grad": lambda f, x: nbgrad.grad(f)(x),
    "forward": lambda f, x: nbgrad.jacobian(f, mode="forward")(x),
    "compile": lambda f, x: nbgrad.compile(nbgrad.grad(f))(x),
    "compiled forward": lambda f, x: nbgrad.compile(nbgrad.jacobian(f, mode="forward"))(x),
    "vmap": lambda f, x: nbgrad.vmap(nbgrad.grad(f))(x[None])[0],
    "jvp of grad": lambda f, x: nbgrad.jvp(nbgrad.grad(f), (x,), (x,))[0],
}


@pytest.mark.parametrize("mode", MODES)
def test_lists_of_tracked_numbers_are_written(mode):
    x = np.array([1.0, 2.0, 3.0])
    y = np.array([x[1] * x[2], x[1] * x[1], x[1]])
    expected = np.outer(y, x)
    np.fill_diagonal(expected, [x[2], x[0] ** 2, 1.0])
    expected[0] = x[0], x[1], 3.0
    assert lists(x) == np.sum(expected**2)
    ends = [(lists(x + u), lists(x - u)) for u in 1e-6 * np.eye(3)]
    slope = [(high - low) / 2e-6 for high, low in ends]
    np.testing.assert_allclose(MODES[mode](lists, x), slope, rtol=1e-7)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_written_inside_of_no_tracking_is_a_constant_and_the_rest_is_not(mode):
    found = MODES[mode](without_tracking, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(found, [0.0, 16.0, 0.0])


@pytest.mark.parametrize("mode", MODES)
def test_masks_of_values_are_not_dropped(mode):
    def f(x):
        y = x * 1.0
        y[:2] = np.ma.array([1.0, 2.0], mask=[True, False])
        return np.sum(y)

    with pytest.raises(TypeError, match="whose mask would be lost"):
        MODES[mode](f, np.ones(3))


def test_numbers_that_are_arguments_get_other_values():
    """As a Python float: the name in the function stands for a new number."""

    def f(a, x):
        a /= 2.0
        a += x[0]
        for v in x:
            v *= 3.0
            a += v
        return a**2

    x = np.array([0.5, 0.2])
    expected = 2 * (0.75 + 0.5 + 2.1) * np.array([0.5, 4.0, 3.0])
    both = nbgrad.grad(f, argnums=(0, 1))
    for slopes in (both(1.5, x), nbgrad.compile(both)(1.5, x)):
        np.testing.assert_allclose([slopes[0], *slopes[1]], expected)
    many = nbgrad.vmap(both)(np.array([1.5, 1.5]), np.stack([x, x]))
    np.testing.assert_allclose([many[0][1], *many[1][1]], expected)
    _, pushed = nbgrad.jvp(f, (1.5, x), (1.0, np.zeros(2)))
    assert np.isclose(pushed, expected[0])
    assert np.isclose(nbgrad.hessian(f)(1.5, x), 0.5)
    with pytest.raises(nbgrad.GraphError, match=r"would write to a leaf"):
        leaf = nbgrad.track(1.5)
        leaf += 1.0
