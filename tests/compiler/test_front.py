"""The front end of kernels: what it compiles means what Python means; anything outside its subset
is an error."""

import math
from typing import Any

import numpy as np
import pytest
from numba import TypingError

import nbgrad
from nbgrad.compiler.kernel import DISABLED, device, kernel, part
from nbgrad.kernels.relu import relu

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")

TABLE = (0.5, -1.5, 4.0)
SCALE = 3
SHIFT = np.uint64(7)


@part
def both(x, y):
    """Two results of an inlined function."""
    total = x + y
    return total, x - y


@device
def clipped(x, low=0.0, high=1.0):
    """Early results, and arguments that may be left out."""
    if x < low:
        return low
    if x > high:
        return high
    return x * 1.0


def straight(x, out):
    a, b = both(x[0], x[1])
    out[0], out[1] = b, a
    out[2] = -a * b / 4.0 + SCALE * math.sqrt(abs(b))
    a = x.size  # another type, in straight code
    out[-1] = a


def branches(x, out):
    for i in range(x.size):
        if x[i] < 0.0 or (x[i] > 2.0 and not x[i] == 3.0):
            sign = -1.0
        elif 0.0 < x[i] <= 1.0:
            sign = 0.5
        else:
            sign = 1.0
        out[i] = sign * clipped(x[i]) + clipped(x[i], -9.0) + (10.0 if i % 2 else 20.0)


def loops(x, out):
    n, k = x.size, 0
    for i in range(n - 1, -1, -2):
        out[k] = x[i]
        k += 1
    while True:
        k += 1
        if k % 3 == 0:
            continue
        if k > 20:
            break
    out[n - 1] = k
    while k > 5 and x[0] < 1e9:
        k //= 2
    out[n - 2] = k
    step = 2 if n > 3 else 1
    for i in range(0, n, step):
        out[0] += TABLE[i % 3] * i


def grid(x, out):
    rows, columns = 2, x.size // 2
    for i in range(rows):
        for j in range(columns):
            out[i * columns + j] = x[i * columns + (columns - 1 - j)] - x[-1]
            out[i * columns + j] += i - j * 0.5


def extremes(x, out):
    for i in range(x.size):
        out[i] = max(x[i], 0.25, out[i]) + min(i, 2) + min(x[i], -0.25)


def kinds(x, out):
    one = x.dtype.type(1.0)
    for i in range(x.size):
        whole = int(x[i])
        out[i] = (x[i] * one + whole % 3 + (whole // 2) * 0.5) * (x[i] != 0.0)
        out[i] += np.floor(x[i]) + float(i & 3) - (i << 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "function", [straight, branches, loops, grid, extremes, kinds], ids=lambda f: f.__name__
)
def test_what_is_compiled_means_what_python_means(function, dtype):
    x = np.array([1.25, -2.5, 3.0, 0.75, np.nan, 2.5, -0.0, 1.0], dtype)
    if function in (straight, kinds):
        x = np.nan_to_num(x)
    compiled, expected = np.zeros_like(x), np.zeros_like(x)
    with np.errstate(all="ignore"):
        kernel(function)(x, compiled)
        function(x, expected)
    np.testing.assert_array_max_ulp(compiled, expected, 2)


def test_arrays_of_more_axes_are_seen_in_parts():
    def turned(x, out):
        for i in range(x.shape[0]):
            row = x[i]
            for j in range(len(row)):
                out[j, i] = row[j] + x[-1, j]
        flat = x.ravel()
        for k in range(flat.size):
            out[k % out.shape[0], 0] -= flat[k]

    x, out = np.arange(6.0).reshape(2, 3), np.zeros((3, 2))
    expected = np.zeros((3, 2))
    turned(x, expected)
    kernel(turned)(x, out)
    np.testing.assert_array_equal(out, expected)


def test_a_strided_array_has_its_strides():
    def doubled(x, out):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = 2.0 * x[i, j]

    x = np.arange(24.0).reshape(4, 6)
    for view in (x[::2, ::-1], x.T, np.asfortranarray(x)):
        out = np.empty(view.shape)
        kernel(doubled)(view, out)
        np.testing.assert_array_equal(out, 2.0 * view)


def test_an_error_is_raised():
    def guarded(x):
        if x[0] < 0.0:
            raise ValueError("it lies below zero")
        return x[0]

    compiled = kernel(guarded)
    assert compiled(np.array([2.0])) == 2.0
    with pytest.raises(ValueError, match="it lies below zero"):
        compiled(np.array([-2.0]))


def test_what_is_not_read_is_refused_by_name_and_line():
    def powers(x):
        y = x[0] ** 2
        x[:: x[0]] = 7.0
        return y

    @device
    def strided(x):
        total = 0
        for i in range(x.size):
            total += x[:: x[i]][0]
        return total

    def called(x):
        return strided(x)

    line = powers.__code__.co_firstlineno + 2
    with pytest.raises(TypingError, match=rf"test_front.py:{line}, in powers\)"):
        kernel(powers)(np.array([2.0, 1.0]))
    line = strided.__code__.co_firstlineno + 4
    for _ in range(2):
        with pytest.raises(TypingError, match=rf"test_front.py:{line}, in strided\)"):
            kernel(called)(np.array([2.0, 1.0]))


def test_conversions_are_those_of_numba():
    def converted(x, whole, out):
        out[0] = float(x[0]) * 16777217.0
        out[1] = int(whole[0]) + int(x[1])
        out[2] = np.float32(x[0]) * np.float32(3.0)
        out[3] = np.uint8(300 + int(whole[0]))
        out[4] = bool(whole[0]) + SHIFT

    x, whole, out = np.array([1.1, -2.7], np.float32), np.array([200], np.uint8), np.zeros(5)
    kernel(converted)(x, whole, out)
    product = np.float32(1.1) * np.float32(3.0)
    expected = [np.float64(np.float32(1.1)) * 16777217.0, 198.0, product, 500 % 256, 8.0]
    np.testing.assert_array_equal(out, expected)


def test_a_constant_beyond_a_dtype_is_infinite():
    def bounded(x, out):
        out[0] = min(x[0], x.dtype.type(1e300))

    out = np.zeros(1, np.float32)
    kernel(bounded)(np.array([np.inf], np.float32), out)
    assert out[0] == np.inf


def test_kernels_that_are_the_hardest_to_compile():
    x = np.arange(1, 7).reshape(2, 3)
    for dtype in (np.float32, np.float64, np.int8, np.int64, np.bool_):
        for f in (np.cumprod, np.sort, np.median, lambda x: x**x, lambda x: np.prod(x, axis=0)):
            given = x.astype(dtype)
            eager: Any = f(nbgrad.track(given))
            compiled = nbgrad.compile(f)(given)
            if given.dtype.kind == "f":
                np.testing.assert_allclose(eager.data, f(given), rtol=1e-6)
                np.testing.assert_allclose(compiled, f(given), rtol=1e-6)


REFUSED = [
    np.zeros(2, complex), np.zeros(2, np.complex64), np.zeros(2, np.float16), np.zeros(2, object),
    np.zeros(2, np.longdouble), np.zeros(2, ">f8"), np.zeros(2, "M8[s]"), np.zeros(2, "S3"),
    np.zeros(2, [("a", "f8")]), None, 3.0, 1j, [1.0, 2.0], "text", (np.zeros(2), np.zeros(2)),
]  # fmt: skip


@pytest.mark.parametrize("x", REFUSED, ids=lambda x: str(getattr(x, "dtype", type(x).__name__)))
def test_arguments_of_other_types_are_refused(x):
    with pytest.raises(TypingError, match="relu: an "):
        relu(x, np.zeros(2))
