"""`nbgrad.scipy.interpolate`: SciPy's values and errors, and derivatives in all arguments."""

# The annotations of SciPy know no tracked arrays.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOperatorIssue=false

import numpy as np
import pytest
import scipy.interpolate as scipys
from helpers.smooth import agree
from scipy.sparse.linalg import spsolve

import nbgrad
from nbgrad.scipy import interpolate as ours

RNG = np.random.default_rng(0)
X = np.arange(8.0) * 0.7 + RNG.uniform(0.0, 0.3, 8)
Y = RNG.normal(size=(8, 3))
Q = np.concatenate([RNG.uniform(-0.5, 5.6, 9), X, [np.nan]])
INSIDE = X[:-1][[0, 2, 3, 5]] + np.array([0.1, 0.2, 0.15, 0.3])
V = RNG.normal(size=3)


def same(one, other, rtol=1e-12):
    one, other = np.asarray(one), np.asarray(other)
    assert one.shape == other.shape and one.dtype == other.dtype
    size = np.nanmax(np.abs(other), initial=0.0)
    np.testing.assert_allclose(one, other, rtol=0, atol=rtol * (1.0 + size))


@pytest.mark.parametrize("n", [2, 3, 4, 8])
@pytest.mark.parametrize(
    "bc_type",
    ["not-a-knot", "natural", "clamped", "periodic", ((1, V), (2, -V)), ((2, V), "not-a-knot")],
    ids=str,
)
def test_cubic_splines_are_scipys(n, bc_type):
    y = Y[:n].copy()
    if bc_type == "periodic":
        y[-1] = y[0]
    one, other = (m.CubicSpline(X[:n], y, bc_type=bc_type) for m in (ours, scipys))
    for nu in (0, 1, 2, 4):
        same(one(Q, nu), other(Q, nu), 1e-11)
    same(one(Q[:4].reshape(2, 2), 0, False), other(Q[:4].reshape(2, 2), 0, False))
    same(one.integrate(-0.3, 7.0), other.integrate(-0.3, 7.0))
    same(one.antiderivative(2)(Q), other.antiderivative(2)(Q))
    same(one.derivative()(Q), other.derivative()(Q), 1e-11)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("PchipInterpolator", {}), ("Akima1DInterpolator", {}),
        ("Akima1DInterpolator", {"method": "makima", "extrapolate": True}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [2, 3, 8])
def test_local_cubics_are_scipys(name, options, n):
    one, other = (getattr(m, name) for m in (ours, scipys))
    same(one(X[:n], Y[:n], **options)(Q), other(X[:n], Y[:n], **options)(Q))
    steps = np.round(Y[:n]).T  # with equal values
    same(
        one(X[:n], steps, axis=1, **options)(Q[:, None]),
        other(X[:n], steps, axis=1, **options)(Q[:, None]),
    )


@pytest.mark.parametrize("k", range(6))
def test_b_splines_are_scipys(k):
    conditions = {3: [None, "natural", "clamped", ([(1, V)], "natural")], 5: [None]}
    for bc_type in conditions.get(k, [None]):
        one, other = (m.make_interp_spline(X, Y, k, bc_type=bc_type) for m in (ours, scipys))
        same(one.c, other.c)
        for extrapolate in (True, False, "periodic"):
            same(one(Q, 0, extrapolate), other(Q, 0, extrapolate))
        for nu in range(1, k + 1):
            same(one(Q, nu), other(Q, nu), 1e-10)
            same(one.derivative(nu)(Q[:9]), other.derivative(nu)(Q[:9]), 1e-10)
        if k:
            same(one.antiderivative(2)(Q), other.antiderivative(2)(Q), 1e-11)
            for extrapolate in (True, False, "periodic"):
                same(one.integrate(-1.0, 9.0, extrapolate), other.integrate(-1.0, 9.0, extrapolate))


@pytest.mark.parametrize("k", range(8))
@pytest.mark.parametrize("n", [2, 3, 5, 8, 40])
def test_periodic_splines_are_scipys(k, n):
    x = np.arange(n) * 0.7 + RNG.uniform(0.0, 0.3, n)
    y = RNG.normal(size=(n, 3))
    y[-1] = y[0]
    one, other = (m.make_interp_spline(x, y, k, bc_type="periodic") for m in (ours, scipys))
    same(one.t, other.t)
    same(one.c, other.c)
    same(one(3.0 * Q), other(3.0 * Q))


@pytest.mark.parametrize(
    "kind",
    ["linear", "nearest", "nearest-up", "previous", "next", "slinear", "quadratic", "cubic", 5],
)
def test_interp1d_is_scipys(kind):
    order = RNG.permutation(8)
    for fill in (np.nan, "extrapolate", (1.0, 2.0), (-np.ones(3), 2.0)):
        options = {"kind": kind, "axis": 0, "fill_value": fill}
        if not isinstance(fill, str):
            options["bounds_error"] = False
        one, other = (m.interp1d(X[order], Y[order], **options) for m in (ours, scipys))
        same(one(Q[:-1].reshape(1, -1)), other(Q[:-1].reshape(1, -1)))


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic", "pchip"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_grids_are_scipys(method, axes):
    points = [np.sort(RNG.uniform(0, 1, 5) + np.arange(5)) for _ in range(axes)]
    points[0] = points[0][::-1]
    values, at = RNG.normal(size=(*(5,) * axes, 2)), RNG.uniform(-0.5, 6, (4, 3, axes))
    solver = {"solver": spsolve} if method == "cubic" else {}  # SciPy's default is iterative
    for fill in (None, np.nan):
        one = ours.RegularGridInterpolator(points, values, method, False, fill)
        other = scipys.RegularGridInterpolator(points, values, method, False, fill, **solver)
        same(one(at), other(at))
    if axes > 1:
        same(one(tuple(np.moveaxis(at, -1, 0))), other(tuple(np.moveaxis(at, -1, 0))))


def test_derivatives_of_splines():
    agree(lambda x, y, q: ours.CubicSpline(x, y)(q), X, Y, INSIDE)
    agree(lambda x, y: ours.CubicSpline(x, y, bc_type=((1, y[0]), "natural"))(INSIDE, 1), X, Y)


@pytest.mark.full
def test_derivatives_of_other_curves():
    agree(lambda x, y, q: ours.PchipInterpolator(x, y)(q), X, Y, INSIDE, twice=False)
    agree(lambda x, y, q: ours.Akima1DInterpolator(x, y)(q), X, Y, INSIDE, twice=False)
    agree(lambda x, y, q: ours.make_interp_spline(x, y, 2)(q), X, Y, INSIDE)
    agree(
        lambda x, y, q: ours.make_interp_spline(x, y[[*range(7), 0]], 3, bc_type="periodic")(q),
        X, Y[:7], INSIDE,
    )  # fmt: skip
    agree(lambda t, c, q: ours.BSpline(t, c, 2)(q), X, V[[0, 1, 2, 1, 0]], INSIDE + 0.4)
    agree(lambda x, y, q: ours.interp1d(x, y, axis=0)(q), X, Y, INSIDE)


@pytest.mark.parametrize(
    "method",
    ["linear", *(pytest.param(m, marks=pytest.mark.full)
                 for m in ("slinear", "cubic", "quintic", "pchip"))],
)  # fmt: skip
def test_derivatives_of_grids(method):
    points = X[:6], np.array([0.0, 2.0, 3.0, 5.0, 5.5, 6.0])
    at = np.array([[0.4, 1.2], [2.9, 4.5]])
    values = np.add.outer(Y[:6, 0], Y[:6, 1]) * Y[2:, 2]
    agree(lambda p, v, q: ours.interpn((p, points[1]), v, q, method), points[0], values, at)


def test_at_a_point_the_piece_on_the_right_counts():
    line = ours.interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    assert [nbgrad.grad(line)(q) for q in (0.0, 1.0, 2.0)] == [1.0, 3.0, 3.0]
    spline = ours.BSpline(np.arange(5.0), [0.0, 1.0, 4.0], 1)
    assert [nbgrad.grad(spline)(q) for q in (1.0, 2.0, 3.0)] == [1.0, 3.0, 3.0]


def test_interpolators_are_trees_and_closures():
    spline = ours.CubicSpline(X, Y)
    slope = nbgrad.grad(lambda s: np.sum(s(INSIDE)))(spline)
    assert type(slope) is ours.CubicSpline and slope.c.shape == spline.c.shape
    same(nbgrad.compile(lambda s, q: s(q))(spline, INSIDE), spline(INSIDE))
    same(nbgrad.compile(lambda q: spline(q))(INSIDE), spline(INSIDE))


BAD = {
    "decreasing": lambda x: ours.CubicSpline(x[::-1], Y),
    "shapes": lambda x: ours.CubicSpline(x[:3], Y),
    "condition": lambda x: ours.CubicSpline(x, Y, bc_type="straight"),
    "value": lambda x: ours.CubicSpline(x, Y, bc_type=((1, 2.0), (1, 2.0))),
    "outside": lambda x: ours.interp1d(x, Y, axis=0)(x - 1.0),
    "off the grid": lambda x: ours.interpn((x,), Y, x[:, None] + 1.0),
    "knots": lambda x: ours.BSpline(x, Y, 4),
    "open": lambda x: ours.make_interp_spline(x, Y, bc_type="periodic"),
    "too many": lambda x: ours.make_interp_spline(x, Y, bc_type=([(1, V)] * 3, None)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(name):
    def loss(x):
        out = BAD[name](x)
        return np.sum(out) if hasattr(out, "dtype") else np.sum(out(INSIDE))

    for call in (BAD[name], nbgrad.grad(loss), nbgrad.compile(nbgrad.grad(loss))):
        with pytest.raises(ValueError, match=r"CubicSpline|interp|Grid|BSpline"):
            call(X)


def test_refusals_name_the_way():
    with pytest.raises(nbgrad.NoRuleError, match="BSpline"):
        ours.make_interp_spline(X, Y[[*range(7), 0]], t=X, bc_type="periodic")
