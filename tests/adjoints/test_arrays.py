"""Reverse mode of functions that make arrays, take parts of arrays and combine whole arrays: values
against NumPy and Numba, gradients against differences."""

# pyright: reportPossiblyUnboundVariable=false

import warnings
from typing import Any

import numba
import numpy as np
import pytest
from helpers.daily import daily, every_other
from helpers.loops.arrays import algebra, names_again, views
from helpers.loops.calls import Pulled, copied, directions, dotted, is_array, kinds, moved

import nbgrad
from nbgrad.compiler.front.functions import entry_of
from nbgrad.compiler.front.syntax import Unsupported
from nbgrad.loops.maker import Reverse

PROGRAMS = [*views.PROGRAMS, *algebra.PROGRAMS, *names_again.PROGRAMS]
PLAIN = [*views.PLAIN, *algebra.PLAIN, *names_again.PLAIN]


def is_single(args):
    return any(is_array(x) and x.dtype == np.float32 for x in args)


SINGLE = [program for program in PROGRAMS if is_single(program[1])]
DOUBLE = [program for program in PROGRAMS + PLAIN if not is_single(program[1])]


def of_floats(args):
    return tuple(
        i
        for i, x in enumerate(args)
        if isinstance(x, float) or (is_array(x) and x.dtype.kind == "f")
    )


def names(programs):
    return [f"{function.__name__}{i}" for i, (function, _) in enumerate(programs)]


def with_numba(function, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.NumbaPerformanceWarning)
        compiled: Any = numba.njit(function)
        return compiled(*copied(args))


def check(function, args, value):
    """Compare with a value, and the gradient with differences."""
    wrt = of_floats(args)
    pulled = Pulled(Reverse(function, kinds(args), wrt), args)
    assert pulled.results == pytest.approx([value], rel=1e-12)
    by = directions(args, wrt)
    eps, rtol = (1e-3, 1e-4) if is_single(args) else (1e-6, 1e-6)
    slope = (function(*moved(args, by, eps)) - function(*moved(args, by, -eps))) / (2 * eps)
    assert dotted(pulled.gradient, by) == pytest.approx(slope, rel=rtol)


@pytest.mark.parametrize(("function", "args"), every_other(DOUBLE), ids=names(DOUBLE))
def test_gradients_agree_with_differences_and_values_with_numpy(function, args):
    check(function, args, function(*copied(args)))


@pytest.mark.parametrize("program", [*SINGLE, *daily(PROGRAMS, 6)], ids=names(SINGLE + PROGRAMS))
def test_values_are_those_of_numba(program):
    """It takes seconds to compile one, and adds numbers to float32 in double precision."""
    function, args = program
    check(function, args, with_numba(function, args))


def sums_in_place(a):
    a[1:] += a[:-1]
    a *= a[::-1]
    a[1:] += a[:-1] * 1.0
    return np.sum(a * a)


def test_augmented_assignments_read_views_while_elements_are_assigned_as_in_numba():
    a = np.linspace(0.5, 1.5, 6)
    plain = numba.njit(sums_in_place)
    pulled = Pulled(Reverse(sums_in_place, kinds([a]), (0,)), [a])
    assert pulled.results == pytest.approx([plain(a.copy())], rel=1e-12)
    for i, step in enumerate(np.eye(6) * 1e-6):
        slope = (plain(a + step) - plain(a - step)) / 2e-6
        assert pulled.gradient[0][i] == pytest.approx(slope, rel=1e-6)


# -- arrays as results ----------------------------------------------------------------------------


def squares_and_a_view(a):
    b = np.empty_like(a)
    for i in range(a.shape[0]):
        b[i] = a[i] * a[i]
    return b, np.sum(b), a[::2]


def one_of_two(a):
    if a[0] > 0.0:
        return a * a
    return a * 3.0


def test_results_that_are_arrays_have_cotangents():
    a = np.arange(1.0, 6.0)
    maker = Reverse(squares_and_a_view, kinds([a]), (0,))
    results = [np.zeros(5), np.zeros(3)]
    pulled = Pulled(maker, [a, *results], [0.5], {1: np.ones(5), 2: np.array([10.0, 20.0, 30.0])})
    np.testing.assert_array_equal(pulled.results, [55.0])
    np.testing.assert_array_equal(pulled.gradient[0], 3.0 * a + [10.0, 0.0, 20.0, 0.0, 30.0])


@pytest.mark.parametrize("first", [2.0, -2.0])
def test_results_may_be_returned_from_several_places(first):
    a = np.array([first, 3.0])
    maker = Reverse(one_of_two, kinds([a]), (0,))
    pulled = Pulled(maker, [a, np.zeros(2)], [], {1: np.array([1.0, 10.0])})
    expected = [2.0 * first, 60.0] if first > 0.0 else [3.0, 30.0]
    np.testing.assert_array_equal(pulled.gradient[0], expected)


def test_a_result_of_another_shape_raises():
    a = np.ones(5)
    maker = Reverse(squares_and_a_view, kinds([a]), (0,))
    with pytest.raises(ValueError, match="another shape"):
        Pulled(maker, [a, np.zeros(4), np.zeros(3)], [0.5])


# -- refusals -------------------------------------------------------------------------------------


def alias_across_rounds(u, n):
    before = u.copy()
    u = u.copy()
    s = 0.0
    for _t in range(n):
        s += before[0]
        before = u
        u[0] *= 1.5
    return s


def argument_written_and_assigned_again(a, n):
    for _t in range(n):
        a[0] += 1.0
        a = a * 2.0
    return a.sum()


def argument_under_two_names(a, n):
    u = a
    for _t in range(n):
        u[0] += 1.0
        u = u * 2.0
    return u.sum() + a[0]


def alias_of_a_branch(a, n):
    x = a * 1.0
    if n > 2:
        y = x
    else:
        y = a * 3.0
    y[0] = 5.0
    return x.sum() + y.sum()


def view_of_an_array_that_is_assigned_again(a, n):
    x = a * 1.0
    row = x[1:]
    for _t in range(n):
        x = x * 2.0
    row[0] = 3.0
    return x.sum() + row.sum()


def alias_of_an_inner_branch(a, n):
    s = 0.0
    x = a * 1.0
    b = a * 2.0
    for i in range(n):
        s += x[0]
        b[0] += 1.0
        if i > 1:
            x = b
        else:
            x = a * 3.0
    return s


ALIASES = [
    alias_across_rounds, argument_written_and_assigned_again, argument_under_two_names,
    alias_of_a_branch, view_of_an_array_that_is_assigned_again, alias_of_an_inner_branch,
]  # fmt: skip


@pytest.mark.parametrize("function", ALIASES, ids=lambda function: function.__name__)
def test_arrays_under_two_names_that_are_written_and_assigned_again_are_refused(function):
    with pytest.raises(Unsupported, match=r"is assigned again in a loop or a branch.*\.copy\(\)"):
        entry_of(function, kinds([np.ones(5), 4]))


def _square(x, i):
    return x[i] ** 2


def _distance(x, y):
    total = 0.0
    for i in range(y.size):
        total += abs(_square(x, i) - y[i])
    return total


def longer_one_first(a, b):
    if a.size < b.size:
        a, b = b, a
    return _distance(a, b)


def test_an_argument_that_is_assigned_again_goes_to_functions_that_read_it():
    a, b = np.array([0.1, 0.9, 2.1]), np.array([0.4, 1.5, 2.5, 3.0])
    slopes = nbgrad.grad(nbgrad.njit(longer_one_first), (0, 1))(a, b)
    signs = np.sign(b[:3] ** 2 - a)
    np.testing.assert_allclose(slopes[0], -signs)
    np.testing.assert_allclose(slopes[1], [*2 * b[:3] * signs, 0.0])


def step_of_a_float(a):
    return np.sum(a[:: a[0]])


def strided_reshape(a):
    return np.sum(a[:, None][::2].reshape(1, -1))


def truth_of_an_array(a):
    if a > 0.0:
        return 1.0
    return np.sum(a)


def an_array_or_a_number(a):
    if a[0] > 0.0:
        b = a * 2.0
    else:
        b = a[0]
    return np.sum(b)


def float_index_arrays(a):
    i = np.arange(2)
    return np.sum(a.reshape(2, 2)[i, i * 0.5])


REFUSED = [
    (step_of_a_float, "a slice whose step is float64"),
    (strided_reshape, "reshape of an array that is not contiguous: copy it first"),
    (truth_of_an_array, "an array as a number"),
    (an_array_or_a_number, "b, which has values of several types"),
    (float_index_arrays, "an array of float64 among several indices: use a loop"),
]


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_refusals_name_the_reason_and_the_line(function, text):
    with pytest.raises(Unsupported, match=rf"{text}.*test_arrays.py:\d+, in {function.__name__}\)"):
        entry_of(function, kinds([np.ones(4)]))


def different_lengths(a, b):
    return np.sum(a * b)


def without_a_step(a, n):
    return np.sum(a[::n])


def unmade(n):
    return np.sum(np.zeros(n))


def test_errors_at_run_time_are_those_of_numpy():
    with pytest.raises(ValueError, match="operands of different lengths"):
        Pulled(Reverse(different_lengths, kinds([np.ones(3)] * 2), (0,)), [np.ones(3), np.ones(4)])
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        Pulled(Reverse(without_a_step, kinds([np.ones(3), 1]), (0,)), [np.ones(3), 0])
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        Pulled(Reverse(unmade, kinds([3]), ()), [-3])
