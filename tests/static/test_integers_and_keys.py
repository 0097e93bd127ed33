"""Integers, numbers of Python's and of NumPy's, and keys that are equal for Python, in compiled
functions: against NumPy on plain arrays."""

import subprocess
import sys

import numba
import numpy as np
import pytest
from helpers.children import environment
from helpers.rows import PLAIN_PYTHON

import nbgrad

LEAST = -(2**63)
whole = pytest.mark.parametrize("name", ["int64", "int32", "uint8", "uint64"])


def assert_same(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(found, wanted)


@whole
def test_division_and_powers_of_integers_at_the_ends(name):
    kind = np.iinfo(name)
    x = np.array([kind.min, kind.min, kind.max, kind.max, 7, 5, 0, 1], name)
    y = np.array([kind.max, 3, 3, 2, 3, 0, 5, kind.max], name)
    if kind.min:
        x, y = np.append(x, [kind.min, -7, 7, -7]), np.append(y, [-1, 3, -3, -3])
        x, y = x.astype(name), y.astype(name)

    def f(x, y):
        return [x // y, x % y, np.fmod(x, y), x**2, x**5, x @ y, x - y, -x, x < y, np.max(x),
                np.min(x), np.sum(x), np.cumsum(y), np.diff(x), np.floor(x), abs(x)]  # fmt: skip

    with np.errstate(all="ignore"):
        for found, wanted in zip(nbgrad.compile(f)(x, y), f(x, y), strict=True):
            assert_same(found, wanted)


NUMBERS = [
    (lambda n: n * 1.0, 3),
    (lambda n: np.square(n * 1.0), 2**32),
    (lambda n: n * 1, np.uint64(2**64 - 1)),
    (lambda n: n + 1, np.int32(3)),
    (lambda n: n + 1, np.float32(3)),
    (lambda n: n + True, np.uint8(255)),
    (lambda n: n < 300, np.array([4], np.uint8)),
    (lambda n: (n == 3) + np.where(n == 2, 0.0, n), 3),
    (lambda n: n > -1, np.array([4], np.uint8)),
    (lambda n: n + np.array([-1]), np.array([2**63], np.uint64)),
    (lambda n: n < np.array([-1]), np.array([2**63], np.uint64)),
    (lambda n: np.sum(n > 1), np.arange(4)),
    (lambda n: n**2, np.array([2**30 + 1])),
    (lambda n: np.einsum("i,i", n, n), np.array([2**30 + 1, 1], np.int32)),
    (lambda n: np.tril(np.diag(np.pad(n, 1))), np.array([2**60 + 1])),
]


@pytest.mark.parametrize("case", NUMBERS, ids=range(len(NUMBERS)))
def test_numbers_keep_their_kind(case):
    f, n = case

    with np.errstate(all="ignore"):
        assert_same(nbgrad.compile(f)(n), f(n))


@pytest.mark.parametrize(
    ("f", "args", "error"),
    [
        (lambda n: n + 300, (np.array([4], np.uint8),), OverflowError),
        (lambda n, k: n + k, (np.array([4], np.uint8), 300), OverflowError),
        (lambda n: n + 2**70, (np.array([4]),), OverflowError),
        (lambda n: n**-1, (np.array([4]),), ValueError),
        (lambda n, k: n**k, (np.array([4]), np.array([-1])), ValueError),
        (lambda n: -n, (np.array([True]),), TypeError),
        (lambda n: n - n, (np.array([True]),), TypeError),
    ],
)
def test_what_numpy_refuses_of_integers_is_refused(f, args, error):
    with pytest.raises(error):
        f(*args)
    with pytest.raises(error):
        nbgrad.compile(f)(*args)


def test_integers_and_samples_of_them_are_indices():
    f = nbgrad.compile(lambda x, i: (x[i**2], x[i // 2], x[i % 3]))
    assert f(np.arange(30.0), 5) == (25.0, 2.0, 2.0)
    x = np.arange(10.0).reshape(2, 5)
    read = nbgrad.vmap(lambda r, i: r[i + 1])
    for f in (read, nbgrad.compile(read)):
        np.testing.assert_array_equal(f(x, np.array([0, 2])), [1.0, 8.0])


# -- keys that Python takes for equal -------------------------------------------------------------


def test_equal_numbers_of_other_kinds_are_other_programs():
    x = np.arange(3.0)
    for f in (lambda x: (x[1], x[True]), lambda x: (x[True], x[1], x[..., False])):
        for found, wanted in zip(nbgrad.compile(f)(x), f(x), strict=True):
            assert_same(found, wanted)
    by_kind = nbgrad.compile(lambda x, s: np.copysign(x, s) if type(s) is float else x + 10.0,
                             static_argnames="s")  # fmt: skip
    inside = nbgrad.compile(
        lambda x, s: np.copysign(x, s[0]) if type(s[0]) is float else x + 10.0, static_argnames="s"
    )
    for s, wanted in [(0.0, 1.0), (-0.0, -1.0), (0, 11.0), (False, 11.0), (0.0, 1.0)]:
        for _ in range(2):
            assert by_kind(1.0, s) == inside(1.0, (s,)) == wanted


def test_the_order_of_a_dict_is_part_of_the_program():
    def fold(p):
        first, second = p["inner"].values()
        return first - second

    for f in (fold, nbgrad.compile(fold)):
        for _ in range(2):
            assert f({"inner": {"a": 1.0, "b": 3.0}}) == -2.0
            assert f({"inner": {"b": 3.0, "a": 1.0}}) == 2.0
    slopes = nbgrad.compile(nbgrad.grad(fold))
    for _ in range(2):
        assert list(slopes({"inner": {"b": 3.0, "a": 1.0}})["inner"].items()) == [
            ("b", 1.0), ("a", -1.0)]  # fmt: skip
        assert slopes({"inner": {"a": 3.0, "b": 1.0}})["inner"] == {"a": 1.0, "b": -1.0}


# -- for @njit code -------------------------------------------------------------------------------


@pytest.mark.skipif(PLAIN_PYTHON, reason="without Numba numbers are what they are")
def test_numbers_from_njit_code_are_converted():
    f = nbgrad.compile(nbgrad.value_and_grad(lambda x: -x * x))
    f(2.0)
    step = f.njit

    @numba.njit
    def run(x):
        return step(x)

    for x in (1, np.uint8(200), 4_000_000_000, True, 1.5, np.float32(1.5)):
        for call in (run, step):
            assert call(x) == (-(float(x) ** 2), -2 * float(x))
    g = nbgrad.compile(lambda n: n + 1)
    g(np.uint8(3))
    assert g.njit(254) == 255
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        g.njit(300)
    with pytest.raises(numba.TypingError, match="takes a number of dtype uint8, not float64"):
        g.njit(1.5)


def test_errors_name_what_the_user_gave():
    f = nbgrad.compile(nbgrad.value_and_grad(lambda x: -x * x))
    with pytest.raises(TypeError, match=r"argument 0 holds no float .* \(a value of int64\)"):
        f(1)
    with pytest.raises(TypeError, match=r"a Table is no argument .* np.asarray of it"):
        f(Table())
    with pytest.raises(nbgrad.DimensionMismatch, match="40 axes; nbgrad takes up to 32"):
        f(np.ones((1,) * 40))
    with pytest.raises(nbgrad.DimensionMismatch, match="40 axes; nbgrad takes up to 32"):
        nbgrad.grad(np.sum)(np.ones((1,) * 40))
    for at in (lambda x, i: x.at[i].set(x[:2]), lambda x, i: x.at[0, i].multiply(2.0)):
        with pytest.raises(nbgrad.TraceError, match=r"np.where\(np.arange\(n\) == i"):
            nbgrad.compile(at)(np.ones((3, 3)), np.array([1, 1]))


class Table:
    """An operand like those of data frames: NumPy can make an array of it."""

    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


def test_an_operand_that_numpy_makes_an_array_of():
    found = nbgrad.compile(lambda x: np.add(x, Table()) * [1, 2, 3])(np.ones(3))
    np.testing.assert_array_equal(found, [1.0, 4.0, 9.0])


USER = """
import sys
import numba, numpy as np, nbgrad
factor, weights = float(sys.argv[1]), np.full(3, float(sys.argv[2]))
scaled = nbgrad.compile(lambda x: x * factor)
summed = nbgrad.compile(lambda x: np.sum(x * weights))
scaled(1.0), summed(1.0)
inner, closed = scaled.njit, summed.njit
@numba.njit(cache=True)
def run(x):
    return inner(x) + closed(x)
print(run(2.0), sum(run.stats.cache_hits.values()))
"""


@pytest.mark.full
@pytest.mark.skipif(PLAIN_PYTHON, reason="there is no cache without Numba")
def test_a_users_cached_function_calls_the_program_of_its_own_process(tmp_path):
    """What it called may be another program, or close over other numbers, in the next process."""
    (tmp_path / "user.py").write_text(USER)
    for factor, weight, hits in [(3, 1, 0), (3, 1, 1), (4, 1, 0), (4, 2, 0), (4, 2, 1)]:
        answer = subprocess.run(
            [sys.executable, "user.py", str(factor), str(weight)], cwd=tmp_path, text=True,
            env=environment({"NUMBA_CACHE_DIR": str(tmp_path / "cache")}), capture_output=True,
            timeout=200,
        )  # fmt: skip
        assert answer.stdout.split() == [str(2.0 * factor + 6.0 * weight), str(hits)], answer.stderr
