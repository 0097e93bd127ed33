"""The gradient of every row, first and second order, against differences of values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from helpers import rows
from helpers.rows import F32, F64

import nbgrad
from nbgrad.core.primitive import bind
from nbgrad.rules.families import Elementwise


@rows.table()
def test_gradient_is_the_slope_of_the_value(case):
    point = case.draw()
    found = rows.gradients(case, point, case.positions)
    terms = np.asarray(case(*point.args)) * point.ct
    for i, u in point.directions.items():
        assert (found[i].shape, found[i].dtype) == (u.shape, F64)

        def projected(t, i=i):
            return rows.dot(case(*point.moved(i, t)), point.ct)

        rows.assert_slope(found[i], u, projected, terms)


@rows.table([F32])
def test_float32_gradient_is_the_float64_one(case):
    point = case.draw()
    narrow = rows.gradients(case, point, case.positions)
    wide = rows.gradients(case._replace(dtype=F64), point.cast(F64), case.positions)
    for i in case.positions:
        rows.assert_close(narrow[i], wide[i], 3e-6, F32)


@rows.parametrize([
    case._replace(compiled=case.compiled and case.row.name in ("multiply", "matmul"))
    for row in rows.rows(True) for case in rows.cases_of(row) if len(case.positions) > 1
])  # fmt: skip
def test_mixed_dtypes_give_each_argument_its_own(case):
    """The value has the wider dtype, each gradient that of its argument."""
    point = case.draw()
    expected = rows.gradients(case, point, case.positions)
    for narrow in case.positions:
        mixed = [a.astype(F32) if i == narrow else a for i, a in enumerate(point.args)]
        for create_graph in (False, True):
            args = rows.track(mixed, case.positions)
            out = case(*args)
            assert out.dtype == F64
            out.backward(point.ct, create_graph=create_graph)
            for i in case.positions:
                found = nbgrad.track(args[i].grad).data
                rows.assert_close(found, expected[i], 1e-6, args[i].dtype)


@rows.table()
def test_second_order_is_the_slope_of_the_gradient(case):
    point = case.draw()
    args = rows.track(point.args, case.positions)
    case(*args).backward(point.ct, create_graph=True)
    first = {i: args[i].grad for i in case.positions}
    weights = {i: np.flip(u) for i, u in point.directions.items()}
    for i in case.positions:
        args[i].grad = None
    total = nbgrad.track(0.0)
    for i in case.positions:
        total = total + np.sum(first[i] * weights[i])
    total.backward()
    terms = [np.sum(abs(first[i].data * weights[i])) for i in case.positions]
    for i, u in point.directions.items():
        second = args[i].grad
        second = np.zeros(u.shape) if second is None else second
        assert second.shape == u.shape

        def projected(t, i=i):
            moved = point._replace(args=point.moved(i, t))
            slopes = rows.gradients(case, moved, case.positions)
            return sum(rows.dot(slopes[j], weights[j]) for j in slopes)

        rows.assert_slope(second, u, projected, terms)


def _kinks():
    for row in rows.rows(True):
        kinks: Sequence[tuple] = getattr(row, "kinks", ())
        for k, (args, expected) in enumerate(kinks):
            for dtype, name in ((F64, "f64"), (F32, "f32")):
                marks = rows.marks(dtype == F64 or row.name in rows.COMPILED_F32)
                yield pytest.param(
                    row, args, expected, dtype, id=f"{row.name}-{k}-{name}", marks=marks
                )


def _params(row) -> Any:
    """The parameters of a row's first sample."""
    return row.samples[0] if isinstance(row, Elementwise) else row.samples[0].params


@pytest.mark.parametrize("create_graph", [False, True], ids=["emitted", "traced"])
@pytest.mark.parametrize(("row", "args", "expected", "dtype"), list(_kinks()))
def test_conventions_at_kinks(row, args, expected, dtype, create_graph):
    args = [nbgrad.track(np.asarray(a, dtype)) for a in args]
    out = bind(row, *args, **_params(row))
    out.backward(np.ones(out.shape, dtype), create_graph=create_graph)
    for x, gradient in zip(args, expected, strict=True):
        rows.assert_close(nbgrad.track(x.grad).data, np.asarray(gradient), 0.0, dtype)
