"""The front end of kernels: what it compiles means what Python means; anything outside its subset
is compiled by Numba."""

import math

import numpy as np
import pytest
from helpers.children import run

import nbgrad
from nbgrad.compiler.kernel import DISABLED, device, kernel, part
from nbgrad.compiler.pipeline import left_to_numba

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
    before = len(left_to_numba)
    with np.errstate(all="ignore"):
        kernel(function)(x, compiled)
        _python(function)(x, expected)
    assert left_to_numba[before:] == []
    np.testing.assert_array_max_ulp(compiled, expected, 2)


def _python(function):
    """The function with its helpers as they stand."""
    plain = {"both": both.py_func, "clipped": clipped.py_func}
    return type(function)(function.__code__, {**function.__globals__, **plain})


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
    before = len(left_to_numba)
    kernel(turned)(x, out)
    assert left_to_numba[before:] == []
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

    before = len(left_to_numba)
    compiled = kernel(guarded)
    assert compiled(np.array([2.0])) == 2.0
    with pytest.raises(ValueError, match="it lies below zero"):
        compiled(np.array([-2.0]))
    assert left_to_numba[before:] == []


def test_numba_compiles_the_rest():
    def powers(x, *numbers):
        x[1:] = 7.0
        return x[0] ** 3 + numbers[0]

    def two_types(x):
        total = 0
        for i in range(x.size):
            total += x[i]
        return total

    x = np.array([2.0, 1.0])
    before = len(left_to_numba)
    assert kernel(two_types)(x) == 3.0
    assert kernel(powers)(x, 5) == 13.0
    assert x[1] == 7.0
    assert [name.split(".")[-1] for name in left_to_numba[before:]] == ["two_types", "powers"]


def test_numba_is_left_nothing_of_a_program_but_its_entry():
    @nbgrad.compile
    def slope(x):
        return nbgrad.grad(lambda x: np.sum(np.tanh(x) * np.exp(-x) + np.sqrt(x @ x)))(x)

    before = len(left_to_numba)
    slope(np.linspace(0.1, 1.0, 10))
    assert left_to_numba[before:] in (["slope"], [])


def test_conversions_are_those_of_numba():
    def converted(x, whole, out):
        out[0] = float(x[0]) * 16777217.0
        out[1] = int(whole[0]) + int(x[1])
        out[2] = np.float32(x[0]) * np.float32(3.0)
        out[3] = np.uint8(300 + int(whole[0]))
        out[4] = bool(whole[0]) + SHIFT

    x, whole, out = np.array([1.1, -2.7], np.float32), np.array([200], np.uint8), np.zeros(5)
    before = len(left_to_numba)
    kernel(converted)(x, whole, out)
    assert left_to_numba[before:] == []
    product = np.float32(1.1) * np.float32(3.0)
    expected = [np.float64(np.float32(1.1)) * 16777217.0, 198.0, product, 500 % 256, 8.0]
    np.testing.assert_array_equal(out, expected)


def test_a_constant_beyond_a_dtype_is_infinite():
    def bounded(x, out):
        out[0] = min(x[0], x.dtype.type(1e300))

    out = np.zeros(1, np.float32)
    kernel(bounded)(np.array([np.inf], np.float32), out)
    assert out[0] == np.inf


def test_pullbacks_of_products_and_polynomials_are_not_left_to_numba(tmp_path):
    code = """
from nbgrad.compiler.pipeline import left_to_numba
x, y = nbgrad.track(np.arange(1.0, 4.0)), nbgrad.track(np.arange(1.0, 7.0).reshape(3, 2))
np.prod(x).backward()
np.prod(y, axis=0).backward(np.array([1.0, 2.0]))
nbgrad.evalpoly(x, (1.0, 2.0, 3.0)).backward(np.ones(3))
result = left_to_numba, x.grad.tolist(), y.grad.tolist()
"""
    left, line, matrix = run(code, NBGRAD_CACHE_DIR=tmp_path).result
    assert left == []
    assert line == [6.0 + 8.0, 3.0 + 14.0, 2.0 + 20.0]
    assert matrix == [[15.0, 48.0], [5.0, 24.0], [3.0, 16.0]]


def test_no_kernel_of_the_package_is_left_to_numba(tmp_path):
    """Those that are the hardest to compile: the rest of the suite compiles all others, and checks
    the same after each test."""
    code = """
x = np.arange(1, 7).reshape(2, 3)
for dtype in (np.float32, np.float64, np.int8, np.int64, np.bool_):
    for f in (np.cumprod, np.sort, np.median, lambda x: x**x, lambda x: np.prod(x, axis=0)):
        f(nbgrad.track(x.astype(dtype)))
        nbgrad.compile(f)(x.astype(dtype))
y = nbgrad.track(x * 0.5)
inverse = np.linalg.inv(y @ y.T + np.eye(2))
np.sum(np.partition(y, 1) * np.cumsum(y, axis=1) * inverse[0, 0]).backward()
result = nbgrad.stats()["fallbacks"]
"""
    session = run(code, NBGRAD_CACHE_DIR=tmp_path)
    assert (session.result, session.warnings) == (0, [])
    assert session.compiled > 20


def test_a_fall_back_is_counted_and_warned_of_once(tmp_path):
    code = """
from nbgrad.compiler import kernel_call, pipeline
def refuse(*arguments):
    if len(calls) == 1:
        raise pipeline.Foreign("an allocation")
    raise kernel_call.Unsupported("of everything")
calls = [1]
kernel_call.entry_of = refuse
first = [(nbgrad.track(np.ones(2)) * 2.0).data.tolist(), nbgrad.stats()["fallbacks"]]
calls.append(2)
second = [np.sum(nbgrad.track(np.ones(2))).data.tolist(), nbgrad.stats()["fallbacks"] > 0]
np.exp(nbgrad.track(np.ones(2)))
result = [first, second]
"""
    session = run(code, NBGRAD_CACHE_DIR=tmp_path)
    assert session.result == [[[2.0, 2.0], 0], [2.0, True]]
    ((kind, message),) = session.warnings
    assert kind == "CacheWarning"
    assert "kernel sum_all is compiled by Numba's own front end" in message
    assert "of everything" in message
