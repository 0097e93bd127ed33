"""Every row in forward mode and to the third order, however the modes are nested."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import rows
from helpers.rows import Case, Point

from nbgrad import NoRuleError, grad, hvp, jvp, vjp
from nbgrad.compiler.kernel import stats

RTOL = 1e-12


def moving(case: Case, point: Point) -> tuple[Callable, tuple, tuple]:
    """The case as a function of its differentiable arguments, these, and a direction."""
    positions = case.positions

    def value(*given):
        args = list(point.args)
        for i, x in zip(positions, given, strict=True):
            args[i] = x
        return case(*args)

    points = tuple(point.args[i] for i in positions)
    return value, points, tuple(point.directions[i] for i in positions)


def dot(x: Any, y: Any) -> Any:
    """The product of two tuples of arrays, of any kind."""
    return sum(np.sum(a * b) for a, b in zip(x, y, strict=True))


def terms(x: Any, y: Any) -> float:
    return float(sum(np.sum(np.abs(a * b)) for a, b in zip(x, y, strict=True)))


def choices(directions: tuple) -> list[tuple]:
    """Directions that move each argument alone, and all together."""
    alone = [
        tuple(u if k == i else np.zeros(u.shape) for k, u in enumerate(directions))
        for i in range(len(directions))
    ]
    return [directions, *alone] if len(alone) > 1 else alone


@rows.table()
def test_pushforward_is_the_slope_of_the_value(case):
    point = case.draw()
    f, args, directions = moving(case, point)
    out = np.asarray(f(*args))
    for u in choices(directions):
        value, tangent = jvp(f, args, u)
        rows.assert_close(value, out, RTOL, rows.F64)
        assert (tangent.shape, tangent.dtype) == (out.shape, rows.F64)

        def projected(t, u=u):
            moved = [x + t * x_dot for x, x_dot in zip(args, u, strict=True)]
            return rows.dot(f(*moved), point.ct)

        rows.assert_slope(tangent, point.ct, projected, out * point.ct)


@rows.table()
def test_pushforward_and_pullback_are_adjoint(case):
    point = case.draw()
    f, args, directions = moving(case, point)
    _, pullback = vjp(f, *args)
    pulled = pullback(point.ct)
    for u in choices(directions):
        pushed = jvp(f, args, u)[1]
        scale = terms(pulled, u) + terms([pushed], [point.ct])
        assert abs(dot(pulled, u) - dot([pushed], [point.ct])) <= RTOL * scale


def along(f: Callable, u: tuple) -> Callable:
    """The derivative along u: forward mode."""
    return lambda x: jvp(f, (x,), (u,))[1]


def against(f: Callable, u: tuple) -> Callable:
    """The gradient times u: reverse mode."""
    return lambda x: dot(grad(f)(x), u)


def projected(case: Case) -> tuple[Callable, Point, tuple, tuple, tuple]:
    """One number, curved in its output too, with a point and two directions."""
    point = case.draw()
    f, args, u = moving(case, point)

    def scalar(x):
        out = f(*x)
        return np.sum(out * point.ct + 0.1 * out * out * out)

    return scalar, point, args, u, tuple(np.flip(x) * 0.7 for x in u)


def assert_agree(found: tuple, expected: tuple, sizes: float) -> None:
    """Equal up to what rounds in terms as large as `sizes`."""
    for x, y in zip(found, expected, strict=True):
        assert np.shape(x) == np.shape(y)
        scale = max(sizes, float(np.max(np.abs(y), initial=0.0)))
        np.testing.assert_allclose(x, y, rtol=0, atol=RTOL * scale)


FIRST = [rows.cases_of(row)[0].name for row in rows.rows(True)]


def first_of(of: int):
    """The first case of one of every `of` rows each time, and the others with the long tests."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=case.name, marks=rows.marks(case.name in FIRST[::of]))
            for row in rows.rows(True)
            for case in rows.cases_of(row)
        ],
    )


@first_of(1)
def test_second_order_three_ways(case):
    f, point, x, u, _ = projected(case)
    first = grad(f)(x)
    size = max(float(np.max(np.abs(g), initial=0.0)) for g in first)
    expected = along(grad(f), u)(x)
    assert_agree(grad(along(f, u))(x), expected, size)
    assert_agree(grad(against(f, u))(x), expected, size)
    direction = point.directions[case.positions[0]]

    def slope(t):
        return rows.dot(grad(f)((x[0] + t * direction, *x[1:]))[0], np.flip(direction))

    only_first = (direction, *(np.zeros(v.shape) for v in u[1:]))
    second = along(grad(f), only_first)(x)[0]
    rows.assert_slope(second, np.flip(direction), slope, first[0])


@first_of(4)
def test_third_order_four_ways(case):
    f, _, x, u, v = projected(case)
    if case.row.orders < 3 and case.positions[0] < len(case.args) - 1:  # in a parameter
        with pytest.raises(NoRuleError):
            along(along(grad(f), u), v)(x)
        return
    size = max(float(np.max(np.abs(g), initial=0.0)) for g in along(grad(f), u)(x))
    expected = along(along(grad(f), u), v)(x)
    assert_agree(grad(along(along(f, u), v))(x), expected, size)
    assert_agree(grad(along(against(f, u), v))(x), expected, size)
    assert_agree(grad(against(against(f, u), v))(x), expected, size)


def test_a_tangent_is_one_op_and_has_one_pullback():
    """However many steps the rule has."""
    x, v = np.linspace(0.1, 2.0, 1013), np.ones(1013)  # a length whose ops are not launched yet

    def calls(f, *args):
        f(*args)
        before = stats()["called"]
        f(*args)
        return stats()["called"] - before

    for f in (np.tanh, np.log1p, np.arctan):
        assert calls(jvp, f, (x,), (v,)) == 2
    assert calls(jvp, lambda x: x * x, (x,), (v,)) == 1  # NumPy computes short products
    # The value, its sum and the tangent, and a pullback of each of two ops.
    assert calls(hvp(lambda x: np.sum(np.arctan(x))), x, v) == 5
