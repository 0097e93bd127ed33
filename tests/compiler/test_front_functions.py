"""What a kernel of our own front end calls, and how Python calls it."""

import ast
import math
import sys
import threading

import numba
import numpy as np
import pytest

from nbgrad.compiler.front.syntax import Names
from nbgrad.compiler.kernel import DISABLED, device, jitted, kernel
from nbgrad.compiler.pipeline import Outside
from nbgrad.runtime.layout import IS_KNOWN

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


@device
def cos(x):
    """Named as what it calls."""
    return math.cos(x) + 1.0


@device
def checked(x, i):
    if i >= x.size:
        raise IndexError("beyond the end")
    return x[i]


@device
def twice_checked(x, i):
    return checked(x, i) + checked(x, i - 1)


@device
def both_ways(x):
    return x + 1.0, x > 0.0


@device
def filled(x, value):
    for i in range(x.size):
        x[i] = value


@device
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


def test_functions_call_functions():
    def called(x, out):
        filled(out, 0.5)
        out[0] = cos(x[0])
        more, above = both_ways(x[1])
        out[1] = more + above
        out[2] = twice_checked(x, 2)

    x, out = np.array([0.3, -1.0, 4.0]), np.zeros(4)
    kernel(called)(x, out)
    np.testing.assert_allclose(out, [math.cos(0.3) + 1, 0.0, 3.0, 0.5], rtol=1e-15)


def test_what_an_inner_function_raises_comes_out():
    def summed(x, count):
        total = 0.0
        for i in range(1, count):
            total += twice_checked(x, i)
        return total

    compiled, x = kernel(summed), np.arange(4.0)
    assert compiled(x, 4) == 9.0
    with pytest.raises(IndexError, match="beyond the end"):
        compiled(x, 6)
    assert compiled(x, 4) == 9.0


def test_a_function_that_calls_itself_is_refused():
    def product(n):
        return factorial(n)

    with pytest.raises(numba.TypingError, match="factorial, which calls itself"):
        kernel(product)(5)


TEXT = """
def function(a, b, n):
    n = n + 1
    x = a
    for i in range(n):
        t = x + i
        if t > 0:
            within = t
            b[i] = within
        last = t
    once = last
    again = 1
    again += 2
    while again < n:
        copied = again
        again = copied + old
        old = copied
    return once + missing
"""


def test_variables_that_keep_their_value():
    (tree,) = ast.parse(TEXT).body
    assert isinstance(tree, ast.FunctionDef)
    expected = {"a", "b", "i", "once", "t", "within", "x", "copied"}
    assert Names(tree).steady == expected


@pytest.mark.parametrize("layout", ["whole", "strided", "turned", "reversed", "empty", "none"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, np.bool_])
def test_arrays_arrive_as_they_lie(layout, dtype):
    def seen(x, out):
        out[0], out[1], out[2] = x.size, x.ndim, x.itemsize
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[3] += x[i, j] * (i + 10 * j)

    def strides(x, out):
        out[4], out[5] = x.strides

    x = (np.arange(24).reshape(4, 6) % 7).astype(dtype)
    x = {
        "whole": x, "strided": x[::2, 1::3], "turned": x.T, "reversed": x[::-1, ::-1],
        "empty": x[:0], "none": x[:, 2:2],
    }[layout]  # fmt: skip
    out = np.zeros(6)
    kernel(seen)(x, out)
    if x.flags.c_contiguous:  # the strides of an empty array may be any
        out[4:] = x.strides
    else:
        kernel(strides)(x, out)
    weights = np.arange(x.shape[0])[:, None] + 10.0 * np.arange(x.shape[1])
    expected = [x.size, 2, x.itemsize, np.sum(x * weights), *x.strides]
    np.testing.assert_array_equal(out, expected)


def test_numbers_arrive_as_they_are():
    def numbers(a, b, c, d):
        return a + 0.5, b * 2, not c, d + 1.0

    found = kernel(numbers)(1.25, 2**40, False, np.float32(3.0))
    assert found == (1.75, 2**41, True, 4.0)
    assert [type(x) for x in found] == [float, int, bool, float]


def test_an_array_without_axes_arrives():
    def doubled(x, out):
        out[()] = 2.0 * x[()]

    out = np.zeros(())
    kernel(doubled)(np.array(3.5), out)
    assert out == 7.0


def test_an_entry_holds_nothing():
    def first(x, out):
        out[0] = x[0]

    compiled, x, out = kernel(first), np.ones(1000), np.zeros(1)
    compiled(x, out)
    counts = sys.getrefcount(x), sys.getrefcount(out)
    for _ in range(100):
        compiled(x, out)
    assert (sys.getrefcount(x), sys.getrefcount(out)) == counts


def test_other_arguments_are_errors():
    def first(x):
        return x[0]

    compiled = kernel(first)
    assert compiled(np.ones(3)) == 1.0
    with pytest.raises(TypeError, match="takes 1 arguments"):
        compiled(np.ones(3), 2.0)
    with pytest.raises(TypeError):
        compiled(**{"x": np.ones(3)})
    with pytest.raises(numba.TypingError, match="first: an argument of str"):
        compiled("text")


def test_views_of_other_classes_are_written():
    def double(x):
        for i in range(len(x)):
            x[i] *= 2

    x = np.ones(3)
    compiled = kernel(double)
    for _ in range(2):
        compiled(x.view(np.recarray))
    assert x.tolist() == [4.0, 4.0, 4.0]


@pytest.mark.skipif(not IS_KNOWN, reason="Numba has an entry")
def test_a_dispatcher_without_an_entry_is_not_called():
    """Compiled code calls it; from Python there is nothing to call."""

    def twice(x):
        return x + x

    dispatcher = jitted(twice, Outside)
    dispatcher.compile((numba.float64,))
    with pytest.raises(AttributeError, match="__call__"):
        dispatcher(1.0)
    assert numba.njit(lambda x: dispatcher(x))(1.5) == 3.0


def test_other_threads_run_meanwhile():
    def settled(x, rounds):
        for _ in range(rounds):
            x[0] = x[0] * 0.5 + 1.0

    compiled, x = kernel(settled), np.zeros(1)
    compiled(x, 1)
    thread = threading.Thread(target=compiled, args=(x, 50_000_000))
    thread.start()
    counted = 0
    while thread.is_alive():
        counted += 1
    assert counted > 1000
    assert x[0] == 2.0
