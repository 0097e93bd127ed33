"""Dtypes: of every row, for arrays of every dtype, what NumPy gives: in eager calls of plain
arrays, over samples, and compiled.

The cases are read from the registry, so a new row is among them. Where NumPy refuses a dtype, so
do all modes. What NumPy would compute in half floats is float64 here, and so are rows that NumPy
has no function for.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import rows
from helpers.children import environment
from helpers.daily import daily
from helpers.rows import PLAIN_PYTHON, Case

import nbgrad
from nbgrad.core.primitive import Aval, Primitive, bind
from nbgrad.rules.families import Elementwise

DTYPES = [np.dtype(name) for name in (
    "bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float32")]  # fmt: skip
REFUSALS = (TypeError, ValueError, OverflowError, np.linalg.LinAlgError)
MODES: dict[str, Callable] = {
    "eager": lambda f, args: f(*args),
    "vmap": lambda f, args: nbgrad.vmap(f)(*(np.stack([x, x]) for x in args))[1],
    "compiled": lambda f, args: nbgrad.compile(f)(*args),
}


def first_case(row: Primitive) -> Case:
    """One call of the row on arrays."""
    return rows.cases_of(row)[0]


def taken(case: Case, args: tuple) -> tuple[Callable, tuple]:
    """The case as a function of the arguments that are drawn: the others are positions."""
    drawn = [i for i, given in enumerate(case.given) if not given]

    def f(*xs):
        every = list(args)
        for i, x in zip(drawn, xs, strict=True):
            every[i] = x
        return bind(case.row, *every, **case.params)

    return f, tuple(args[i] for i in drawn)


def arguments(case: Case, dtype: np.dtype) -> tuple:
    """Whole numbers in the domain of the row, some of them at the ends of the dtype's range."""
    args = []
    for x, given in zip(case.draw().args, case.given, strict=True):
        if not given and x.dtype.kind == "f":
            whole = np.rint(3 * x)
            if dtype.kind == "b" and whole.ndim > 1:  # columns of ones alone are dependent
                whole = np.where(np.arange(whole.size).reshape(whole.shape) % 3 == 1, 0.0, whole)
            x = (abs(whole) if dtype.kind == "u" else whole).astype(dtype)
        args.append(x)
    if case.row.name == "cholesky" and dtype.kind == "b":
        args = [np.broadcast_to(np.eye(x.shape[-1], dtype=bool), x.shape) for x in args]
    return tuple(args)


def expected(case: Case, args: tuple) -> np.ndarray:
    """What NumPy gives; for floats, where the row has no NumPy function and says that it gives
    floats, or where NumPy computes in half floats."""
    row, reference = case.row, rows.reference(case.row)
    function = row.plain if isinstance(row, Elementwise) else row.function
    wide = tuple(x if x.dtype.kind == "f" or given else x.astype(np.float64)
                 for x, given in zip(args, case.given, strict=True))  # fmt: skip
    avals = [x if given else Aval.of(x.shape, x.dtype)
             for x, given in zip(args, case.given, strict=True)]  # fmt: skip
    if function is None and row.infer(*avals, **case.params).dtype.kind == "f":
        args = wide
    found = np.asarray(reference(*args, **case.params))
    return np.asarray(reference(*wide, **case.params)) if found.dtype == np.float16 else found


def assert_same(found: Any, wanted: np.ndarray) -> None:
    found = np.asarray(found)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    if wanted.dtype.kind == "f":
        tolerance = 1e-12 if wanted.dtype == np.float64 else 1e-5
        zero = np.finfo(wanted.dtype).eps * np.max(np.abs(wanted), initial=1e-300)
        np.testing.assert_allclose(found, wanted, tolerance, zero if np.isfinite(zero) else 0.0)
    else:
        np.testing.assert_array_equal(found, wanted)


def check(row: Primitive, dtype: np.dtype, mode: str) -> None:
    case = first_case(row)
    args = arguments(case, dtype)
    f, given = taken(case, args)
    with np.errstate(all="ignore"):
        try:
            wanted = expected(case, args)
        except REFUSALS:
            with pytest.raises(REFUSALS):
                MODES[mode](f, given)
            return
        assert_same(MODES[mode](f, given), wanted)


@pytest.mark.parametrize(("row", "dtype"), [
    pytest.param(row, dtype, id=f"{row.name}-{dtype}", marks=rows.marks((i + k) % 4 == 0))
    for i, row in enumerate(rows.rows()) for k, dtype in enumerate(DTYPES)
])  # fmt: skip
@pytest.mark.parametrize("mode", ["eager", "vmap"])
def test_row(row, dtype, mode):
    """With compiled kernels two dtypes of each row run each time."""
    check(row, dtype, mode)


@pytest.mark.skipif(not PLAIN_PYTHON, reason="in a process of its own")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("row", [r for r in rows.rows() if r.form], ids=lambda row: row.name)
def test_compiled(row, dtype):
    check(row, dtype, "compiled")


@pytest.mark.full
@pytest.mark.skipif(PLAIN_PYTHON, reason="starts itself")
@pytest.mark.parametrize("part", daily(range(6), 1))
def test_compiled_in_plain_python(part):
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider",
         "-k", "test_compiled", "--part", f"{part}/6", __file__],
        env=environment({"NUMBA_DISABLE_JIT": 1}), capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout[-3000:]
    assert "passed" in answer.stdout


@pytest.mark.skipif(PLAIN_PYTHON, reason="in plain Python each is compiled alone")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_in_one_program(dtype):
    """Elementwise rows that give no floats, which Numba has rules of its own for."""
    functions, arrays, wanted = [], [], []
    for row in (row for row in rows.rows() if hasattr(row, "body")):
        case = first_case(row)
        args = arguments(case, dtype)
        with np.errstate(all="ignore"):
            try:
                value = expected(case, args)
            except REFUSALS:
                continue
        if value.dtype.kind != "f" or dtype.kind == "f":
            f, given = taken(case, args)
            functions.append(f)
            arrays.append(given)
            wanted.append(value)
    program = nbgrad.compile(
        lambda every: [f(*given) for f, given in zip(functions, every, strict=True)]
    )
    for found, value in zip(program(arrays), wanted, strict=True):
        assert_same(found, value)


WHOLE = {
    "integers of floats": (np.array([1.5, -2.5]), np.int32),
    "integers of bools": (np.array([True, False]), np.int64),
    "bools": (np.array([2, 0, -1]), bool),
    "bytes": (np.array([2.5, 200.0]), np.uint8),
    "floats": (np.array([2, 0]), np.float32),
    "another byte order": (np.array([2.5, 0.0]), ">f8"),
}


@pytest.mark.parametrize(("x", "dtype"), WHOLE.values(), ids=WHOLE)
def test_astype_of_samples_and_in_compiled_code(x, dtype):
    expected = x.astype(dtype)
    for found in (
        nbgrad.vmap(lambda k: k.astype(dtype))(x),
        nbgrad.compile(lambda k: k.astype(dtype))(x),
    ):
        assert found.dtype == expected.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found, expected)


def test_integers_of_tracked_values_are_constants():
    def interpolated(x):
        i = np.floor(x).astype(int)
        return np.sum(x[i] * (x - i) + (x > 1.0).astype(np.int32) * x + x.astype(bool) * x)

    x = np.array([0.5, 1.25, 2.75])
    for f in (nbgrad.grad(interpolated), nbgrad.compile(nbgrad.grad(interpolated))):
        np.testing.assert_allclose(f(x), [2.0, 3.5, 5.5])
    np.testing.assert_allclose(nbgrad.vmap(nbgrad.grad(interpolated))(x[None]), [[2.0, 3.5, 5.5]])
    assert nbgrad.jvp(lambda x: x.astype(int) * x, (x,), (np.ones(3),))[1].tolist() == [0, 1, 2]
    whole = nbgrad.track(x).astype(np.int16)
    assert type(whole) is np.ndarray and whole.dtype == np.int16


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int16])
def test_float_power_is_float64(dtype):
    x = np.array([1, 2], dtype)
    expected = np.float_power(x, 2)
    ways = [
        nbgrad.compile(lambda x: np.float_power(x, 2)),
        nbgrad.vmap(lambda x: np.float_power(x, 2)),
    ]
    tracked: Any = np.float_power(nbgrad.track(x), 2)
    for found in (*(way(x) for way in ways), np.asarray(tracked.data)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_a_running_sum_keeps_what_is_infinite():
    x = np.array([1.0, np.inf, 2.0])
    np.testing.assert_array_equal(nbgrad.compile(np.cumsum)(x), [1.0, np.inf, np.inf])
    found = nbgrad.compile(np.cumsum)(x[::-1].copy())
    np.testing.assert_array_equal(found, [2.0, np.inf, np.inf])
    first = np.array([np.inf, 1.0])
    np.testing.assert_array_equal(nbgrad.compile(np.cumsum)(first), [np.inf, np.inf])
    rows = np.array([[np.inf, 1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(
        nbgrad.compile(lambda x: np.cumsum(x, axis=1))(rows), np.cumsum(rows, axis=1)
    )


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_powers_of_bools(n):
    x = np.array([True, False])
    for f in (lambda x: np.power(x, n), lambda x: x**n):  # NumPy's x ** 2 is in int8
        for found in (nbgrad.compile(f)(x), nbgrad.vmap(f)(x[:, None])[:, 0]):
            assert found.dtype == f(x).dtype
            np.testing.assert_array_equal(found, f(x))


@pytest.mark.parametrize("initial", [1.5, np.float64(1.5), np.array(1.5), 2])
@pytest.mark.parametrize("f", [np.sum, np.prod, np.max, np.min])
def test_what_a_reduction_begins_with_has_its_dtype(f, initial):
    for x in (np.array([3.0, 2.0], np.float32), np.array([3, 2]), np.array([0, 7], np.uint8)):
        expected = np.asarray(f(x, initial=initial))
        found = np.asarray(nbgrad.compile(lambda x: f(x, initial=initial)[None])(x)[0])
        assert (found.dtype, found) == (expected.dtype, expected)


def test_numbers_that_ediff1d_cannot_put_beside_integers():
    for f in (nbgrad.compile, nbgrad.vmap):
        with pytest.raises(TypeError, match="to_end of dtype float64 is not that of int64"):
            f(lambda x: np.ediff1d(x, to_end=0.5))(np.array([[1, 2]]))


REDUCED = [
    np.sum, np.mean, np.prod, np.cumsum, np.nansum, np.add.reduce, np.multiply.reduce,
    np.maximum.reduce, np.subtract.reduce, np.add.accumulate, np.maximum.accumulate,
]  # fmt: skip


@pytest.mark.parametrize("f", REDUCED, ids=lambda f: getattr(f, "__qualname__", f.__name__))
@pytest.mark.parametrize("dtype", [int, np.int32, bool])
@pytest.mark.parametrize("where", [True, np.array([True, False, True])])
def test_reductions_to_integers_are_numpys(f, dtype, where):
    one_by_one = f in (np.cumsum, np.subtract.reduce) or "accumulate" in f.__name__
    options = {} if where is True or one_by_one else {"where": where}
    if options and f == np.maximum.reduce:
        options["initial"] = -9
    if f == np.subtract.reduce and dtype is bool:
        return  # NumPy subtracts no bools
    x = np.array([1.5, 2.0, -3.0])
    expected = np.asarray(f(x, axis=0, dtype=dtype, **options))
    for way in (lambda g, x: g(nbgrad.track(x)), lambda g, x: nbgrad.compile(g)(x)):
        found = way(lambda x: f(x, axis=0, dtype=dtype, **options), x)
        assert not isinstance(found, nbgrad.TrackedArray)
        np.testing.assert_array_equal(found, expected)
        assert np.asarray(found).dtype == expected.dtype


@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd, np.nanmean])
@pytest.mark.parametrize("dtype", [int, bool, complex])
def test_moments_in_integers_are_refused(f, dtype):
    x = np.array([1.5, 2.0, -3.0])
    for way in (lambda g, x: g(nbgrad.track(x)), lambda g, x: nbgrad.compile(g)(x)):
        with pytest.raises(TypeError, match=f"{f.__name__}: dtype=.* is not a real float"):
            way(lambda x: f(x, dtype=dtype), x)
