"""The value of every row: what NumPy says, in its dtype, for any memory layout."""

import numpy as np
import pytest
from helpers import rows
from helpers.rows import F32, F64

import nbgrad
from nbgrad.rules.families import Elementwise

RTOL = {F64: 1e-13, F32: 2e-6}

LAYOUTS = {
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "fortran": np.asfortranarray,
    "read-only": lambda x: _read_only(x.copy()),
    "negative": lambda x: x[..., ::-1].copy()[..., ::-1],
}


def _read_only(x):
    x.flags.writeable = False
    return x


def _expected(case, point):
    with np.errstate(all="ignore"):
        return np.asarray(rows.reference(case.row)(*point.args, **case.params))


@rows.table([F64, F32])
def test_value_is_numpys(case):
    point = case.draw()
    expected = _expected(case, point)
    plain = np.asarray(case(*point.args))
    rows.assert_close(plain, expected, RTOL[case.dtype], expected.dtype)
    for positions in rows.subsets(case.positions):
        tracked = case(*rows.track(point.args, positions))
        assert isinstance(tracked, nbgrad.TrackedArray)
        assert (tracked.shape, tracked.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(tracked.data, plain)


@rows.table(choose=lambda case: case.row.function is not None)
def test_numpys_function_takes_tracked_arrays(case):
    point = case.draw()
    function = rows.reference(case.row)
    tracked = function(*rows.track(point.args, case.positions), **case.params)
    assert isinstance(tracked, nbgrad.TrackedArray)
    rows.assert_close(tracked.data, _expected(case, point), RTOL[F64], F64)


@rows.parametrize([case for row in rows.rows(False) for case in rows.cases_of(row)])
def test_without_derivative_the_value_is_plain(case):
    point = case.draw()
    tracked = case(*rows.track(point.args, range(len(point.args))))
    assert not isinstance(tracked, nbgrad.TrackedArray)
    np.testing.assert_array_equal(tracked, _expected(case, point), strict=True)


@rows.table(choose=lambda case: not isinstance(case.row, Elementwise))
def test_inferred_shape_and_dtype_are_those_of_the_value(case):
    args = case.draw().args
    avals = [nbgrad.track(a).aval if rows.is_float_array(a) else a for a in args]
    found = case.row.infer(*avals, **case.params)
    value = np.asarray(case(*args))
    assert (found.shape, found.dtype) == (value.shape, value.dtype)


@rows.table(choose=lambda case: any(isinstance(spec, tuple) and spec for spec in case.args))
def test_any_memory_layout_gives_the_same(case):
    """As tracked data and as plain operands; elementwise rows compile nothing more for it."""
    point = case.draw()
    choices = [(), *rows.subsets(case.positions)]
    expected = [_run(case, point, positions) for positions in choices]
    compiled = nbgrad.stats()["compiled"]
    for name, layout in LAYOUTS.items():
        args = tuple(layout(a) if rows.is_float_array(a) and a.ndim else a for a in point.args)
        found = [_run(case, point._replace(args=args), positions) for positions in choices]
        for mine, theirs in zip(found, expected, strict=True):
            for x, y in zip(mine, theirs, strict=True):
                rows.assert_close(x, y, 1e-15)
        if isinstance(case.row, Elementwise):
            assert nbgrad.stats()["compiled"] == compiled, f"{name} arrays compiled a variant"


def _run(case, point, positions):
    """Value and gradients, where tracked arguments share the memory that they are given."""
    args = [nbgrad.track(a, copy=False) if i in positions else a for i, a in enumerate(point.args)]
    out = case(*args)
    if not positions:
        return [np.asarray(out)]
    out.backward(point.ct)
    return [out.data, *(args[i].grad for i in positions)]


@rows.parametrize([case._replace(compiled=case.row.name == "tanh") for case in rows.vectors(F64)])
def test_elementwise_rows_take_python_numbers(case):
    """They mean what arrays without axes mean, and give float64."""
    conditions = case.row.conditions
    middle = [0.5 * (low + high) for low, high in case.domains]
    args = [x > 0 if i in conditions else x for i, x in enumerate(middle)]
    expected = np.asarray(case(*map(np.asarray, args)))
    rows.assert_close(np.asarray(case(*args)), expected, 1e-15, F64)


EDGES = {
    F64: [0.0, -0.0, 0.5, -1.0, 3.0, 1e-310, 1e-30, -20.0, 40.0, 700.0, -745.0, 710.0, 1e300],
    F32: [0.0, -0.0, 0.5, -1.0, 3.0, 1e-40, 1e-30, -10.0, 20.0, 88.0, -103.0, 89.0, 3e38],
}


@rows.parametrize(rows.vectors(F64, F32))
def test_value_at_the_edges_is_numpys(case):
    """Zeros, subnormal, very large and infinite numbers, and nan, in all combinations."""
    row, dtype = case.row, case.dtype
    edges = np.array([*EDGES[dtype], np.inf, -np.inf, np.nan], dtype)
    grid = [axis.ravel() for axis in np.meshgrid(*[edges] * row.arity)]
    args = [x > 0 if i in row.conditions else x for i, x in enumerate(grid)]
    with np.errstate(all="ignore"):
        expected = rows.reference(row)(*args, **case.params)
    smallest = np.finfo(dtype).tiny
    np.testing.assert_allclose(np.asarray(case(*args)), expected, 4 * RTOL[dtype], smallest)


def _is_repeatable(case):
    return isinstance(case.row, Elementwise) and set(case.args) <= {(3,), float}


@rows.table([F64, F32], choose=_is_repeatable)
def test_long_arrays_are_short_ones_repeated(case):
    """Compiled loops go in vectors, with a tail, and long sums in chunks."""
    point, length = case.draw(), 9001
    args = [np.resize(a, length) if np.ndim(a) else a for a in point.args]
    weights = np.resize(point.ct, length)
    tracked = rows.track(args, case.positions)
    out = case(*tracked)
    rows.assert_close(out.data, np.resize(case(*point.args), length), RTOL[case.dtype], case.dtype)
    out.backward(weights)
    short = rows.gradients(case, point, case.positions)
    for i in case.positions:
        expected = np.resize(short[i], length)
        rows.assert_close(tracked[i].grad, expected, RTOL[case.dtype], case.dtype)


@pytest.mark.parametrize("dtype", [F64, F32], ids=["f64", "f32"])
@pytest.mark.parametrize("shape", [(), (1, 70), (150, 1)])
def test_long_sums_lose_no_digits(shape, dtype, rng):
    """The cotangent of what was broadcast is a sum of many terms."""
    x, ct = rng.uniform(0.5, 1.0, (2, 150, 70)).astype(dtype)
    y = nbgrad.track(np.ones(shape, dtype))
    (x * y).backward(ct)
    axes = tuple(i for i in (0, 1) if not shape or shape[i] == 1)
    exact = np.sum(x.astype(F64) * ct, axis=axes, keepdims=bool(shape))
    rows.assert_close(np.asarray(y.grad), exact, RTOL[dtype], dtype)
