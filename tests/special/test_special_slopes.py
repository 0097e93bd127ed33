"""Slopes of special functions against mpmath, where they are small, large, or next to a singular
point, and of higher order."""

import mpmath
import numpy as np
import pytest
from helpers.daily import daily
from helpers.rows import PLAIN_PYTHON
from helpers.special_slopes import CASES, OF_SEVERAL, scaled_i, scaled_k

import nbgrad
from nbgrad import NoRuleError, special

inf, nan = np.inf, np.nan


def slopes(f, x, order=1):
    for _ in range(order):
        f = nbgrad.elementwise_grad(f)
    return f(np.asarray(x, float))


def exact(f, x, order=1):
    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -18
        return [float(mpmath.diff(f, mpmath.mpf(z), order, h=step * max(abs(z), 1e-3))) for z in x]


@pytest.mark.parametrize("name", daily(CASES, len(CASES) // 2))
def test_slopes(name):
    f, x = CASES[name]
    mine = getattr(special, name)
    np.testing.assert_allclose(slopes(mine, x), exact(f, x), 1e-13)


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_slopes_of_functions_of_several(name):
    call, f, x = OF_SEVERAL[name]
    np.testing.assert_allclose(slopes(call, x), exact(f, x), 1e-12)


@pytest.mark.skipif(not PLAIN_PYTHON, reason="many kernels, and the rules are the same")
@pytest.mark.parametrize("name", CASES)
def test_slopes_of_slopes(name):
    f, x = CASES[name]
    if name == "zeta":  # from the second on by the sum
        x = x[3:]
    mine = getattr(special, name)
    np.testing.assert_allclose(slopes(mine, x, 2), exact(f, x, 2), 2e-11, 1e-290)


@pytest.mark.skipif(not PLAIN_PYTHON, reason="many kernels, and the rules are the same")
def test_orders_of_entire_functions_at_zero():
    """Series, not conventions: all orders are right."""
    third = nbgrad.grad(nbgrad.grad(nbgrad.grad(special.i1)))
    assert third(0.0) == pytest.approx(0.375, rel=1e-15)
    assert nbgrad.grad(nbgrad.grad(nbgrad.grad(special.j1)))(0.0) == pytest.approx(-0.375)


def test_scaled_functions_of_large_numbers_of_real_order():
    v, x = np.array([0.3, 2.5, 5.0, 1.5]), np.array([0.7, 40.0, 400.0, 1e6])
    expected = [exact(lambda z, v=v: scaled_k(v, z), [z])[0] for v, z in zip(v, x, strict=True)]
    found = nbgrad.elementwise_grad(lambda z: special.kve(v, z))(x)
    np.testing.assert_allclose(found, expected, 3e-13)
    expected = [exact(lambda z, v=v: scaled_i(v, z), [z])[0] for v, z in zip(v, x, strict=True)]
    found = nbgrad.elementwise_grad(lambda z: special.ive(v, z))(x)
    np.testing.assert_allclose(found, expected, 3e-13)


def test_densities_of_large_parameters():
    """Slopes of the incomplete gamma function."""
    a = np.array([0.3, 1.0, 9.9, 10.1, 300.0, 1e6, 1e6, 1e12])
    x = np.array([0.1, 2.0, 30.0, 8.0, 250.0, 1.001e6, 0.5e6, 1e12 + 1e6])
    with mpmath.workdps(60):
        expected = [
            float(mpmath.exp((p - 1) * mpmath.log(z) - z - mpmath.loggamma(p)))
            for p, z in zip(map(mpmath.mpf, a.tolist()), map(mpmath.mpf, x.tolist()), strict=True)
        ]
    found = nbgrad.elementwise_grad(lambda x: special.gammainc(a, x))(x)
    np.testing.assert_allclose(found, expected, 2e-13, 1e-300)
    found = nbgrad.elementwise_grad(lambda x: special.gammaincc(a, x))(x)
    np.testing.assert_allclose(found, -np.array(expected), 2e-13, 1e-300)
    np.testing.assert_array_equal(
        nbgrad.elementwise_grad(lambda x: special.gammainc(np.array([0.5, 1.0, 2.0, 20.0]), x))(
            np.zeros(4)
        ),
        [inf, 1.0, 0.0, 0.0],
    )


def test_slopes_in_the_degrees_of_freedom():
    df = np.array([0.3, 3.25, 40.5])[:, None]
    t = np.array([-30.0, -0.7, 1e-6, 0.0, 5.0])

    def exact(df, t):
        y = t * t / (df + t * t)
        return mpmath.sign(t) / 2 * mpmath.betainc(0.5, df / 2, 0, y, regularized=True)

    slope = nbgrad.grad(lambda df: special.stdtr(df, t).sum())
    bend = nbgrad.grad(lambda df: slope(df).sum())
    for order, found in ((1, slope(df)), (2, bend(df))):
        with mpmath.workdps(40):
            expected = [
                float(sum(mpmath.diff(lambda p, z=z: exact(p, z), n, order) for z in t.tolist()))
                for n in df.ravel().tolist()
            ]
        np.testing.assert_allclose(found.ravel(), expected, 1e-10)
    assert not nbgrad.elementwise_grad(lambda df: special.stdtr(df, np.inf))(np.ones(2)).any()


def test_beta_densities_of_large_parameters():
    a = np.array([2.0, 30.0, 1e3, 1e6, 0.5, 20.0, 11.0, 1e8])
    b = np.array([3.0, 9.5, 2e3, 20.0, 1e6, 1e6, 10.5, 1e8])
    x = np.array([0.3, 0.9, 0.34, 0.99998, 1e-6, 1e-5, 0.7, 0.50003])
    with mpmath.workdps(60):
        expected = [
            float(p ** (c - 1) * (1 - p) ** (d - 1) / mpmath.beta(c, d))
            for c, d, p in zip(*(map(mpmath.mpf, z.tolist()) for z in (a, b, x)), strict=True)
        ]
    found = nbgrad.elementwise_grad(lambda x: special.betainc(a, b, x))(x)
    np.testing.assert_allclose(found, expected, 2e-12)
    ends = nbgrad.elementwise_grad(lambda x: special.betainc(20.0, 0.5, x))(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(ends, [0.0, inf])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_slopes_of_incomplete_integrals_in_parameters(dtype):
    """Below and above the mean, in both tails, of small and large parameters."""
    grid = {
        "gammainc": [(a, x) for a in (0.01, 0.7, 2.5, 40.25) for x in (0.02, 0.5, 3.5, 38.0, 90.0)],
        "betainc": [(a, b, x) for a in (0.02, 1.5, 30.25) for b in (0.3, 4.75)
                    for x in (0.003, 0.25, 0.75, 0.97)],
    }  # fmt: skip
    exact = {
        "gammainc": lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
        "betainc": lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    }
    for name, points in grid.items():
        args = np.array(points, dtype).T
        count = len(args) - 1
        integral = getattr(special, name)
        slopes = nbgrad.grad(lambda *args, f=integral: f(*args).sum(), argnums=tuple(range(count)))
        bend = nbgrad.grad(lambda *args, g=slopes: g(*args)[0].sum())
        found = [*slopes(*args), bend(*args)]
        unit = np.eye(len(args), dtype=int).tolist()
        orders = [*unit[:count], [2, *unit[0][1:]]]
        for one, order in zip(found, orders, strict=True):
            expected = [
                float(mpmath.diff(exact[name], tuple(float(z) for z in point), tuple(order)))
                for point in args.T
            ]
            rtol = 1e-10 if dtype is np.float64 else 2e-5
            np.testing.assert_allclose(one, expected, rtol, 1e-14 if dtype is np.float64 else 1e-8)
            assert one.dtype == dtype


def test_zeta_of_two_in_both():
    s, q = np.array([1.01, 1.5, 2.0, 9.0]), np.array([0.2, 1.0, 7.0, 0.9])
    in_s = nbgrad.elementwise_grad(lambda s: special.zeta(s, q))(s)
    np.testing.assert_allclose(
        in_s, [float(mpmath.zeta(*z, 1)) for z in zip(s, q, strict=True)], 1e-14
    )
    in_q = nbgrad.elementwise_grad(lambda q: special.zeta(s, q))(q)
    np.testing.assert_allclose(in_q, -s * special.zeta(s + 1, q), 1e-14)
    both = nbgrad.grad(nbgrad.grad(lambda s, q: special.zeta(s, q)), 1)(2.5, 0.7)
    step = 1e-5
    expected = (
        mpmath.zeta(2.5, 0.7 + step, 1) - mpmath.zeta(2.5, 0.7 - step, 1)
    ) / (2 * step)  # fmt: skip
    assert both == pytest.approx(float(expected), rel=1e-8)


@pytest.mark.parametrize("power", [0.0, 1e-12, -1e-3, 0.3, -1.5])
def test_powers_of_box_and_cox(power):
    """In the power, at and next to 0."""

    def grown(x, p):
        return mpmath.log(x) if p == 0 else (x**p - 1) / p

    def back(y, p):
        return mpmath.exp(y) if p == 0 else (1 + p * y) ** (1 / p)

    def in_power(f, x):
        with mpmath.workdps(80):
            h = mpmath.mpf(10) ** -25
            return float((f(mpmath.mpf(x), power + h) - f(mpmath.mpf(x), power - h)) / (2 * h))

    for x in (0.4, 1.0 + 1e-9, 2.0):
        found = nbgrad.grad(lambda p, x=x: special.boxcox(x, p))(power)
        assert found == pytest.approx(in_power(grown, x), rel=2e-14)
        found = nbgrad.grad(lambda p, x=x: special.boxcox1p(x - 1.0, p))(power)
        assert found == pytest.approx(in_power(grown, x), rel=1e-7)
    for y in (-0.5, 1e-9, 0.6):
        found = nbgrad.grad(lambda p, y=y: special.inv_boxcox(y, p))(power)
        assert found == pytest.approx(in_power(back, y), rel=1e-13)


SINGULAR = {
    "gammaln": ([0.0, -1.0, inf], [-inf, nan, inf]),
    "entr": ([0.0, -1.0], [inf, nan]),
    "logit": ([0.0, 1.0], [inf, inf]),
    "erfinv": ([-1.0, 1.0], [inf, inf]),
    "ndtri": ([0.0, 1.0], [inf, inf]),
    "ndtr": ([-inf, inf, nan], [0.0, 0.0, nan]),
    "exp1": ([0.0, -1.0], [-inf, nan]),
    "lambertw": ([-1 / np.e, 0.0, -1.0], [inf, 1.0, nan]),
    "log_expit": ([-inf, inf], [1.0, 0.0]),
    "y0": ([0.0], [inf]),
    "y1": ([0.0], [inf]),
    "k1": ([0.0], [-inf]),
    "i0e": ([0.0], [0.0]),
    "j1": ([0.0], [0.5]),
    "zeta": ([1.0], [-inf]),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_points(name):
    x, expected = SINGULAR[name]
    np.testing.assert_array_equal(slopes(getattr(special, name), x), expected)


def test_second_kind_at_zero():
    found = nbgrad.elementwise_grad(lambda x: special.yv(np.array([0.0, 1.0, 2.5]), x))(np.zeros(3))
    np.testing.assert_array_equal(found, [inf, inf, inf])


def test_zero_cotangents_stay_zero_at_singular_points():
    x = np.array([0.0, 0.5])
    for f in (special.gammaln, special.logit, special.entr, special.k0):
        found = nbgrad.grad(lambda x, f=f: np.sum(np.where(x > 0, f(x), 0.0)))(x)
        assert found[0] == 0.0
        assert np.isfinite(found[1])


# -- what has no derivative -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "ive", "kv", "kve"])
def test_orders_are_refused(name):
    f = getattr(special, name)
    with pytest.raises(NoRuleError, match=f"{name} has no derivative in .*: pass a plain"):
        f(nbgrad.track(1.5), 2.0)
    with pytest.raises(NoRuleError, match=name):
        nbgrad.jvp(lambda v: f(v, 2.0), (1.5,), (1.0,))
    for mode in ("forward", "reverse", "optimal"):
        with pytest.raises(NoRuleError, match=name):
            nbgrad.jacobian(lambda v: f(v, 2.0), mode=mode)(np.array([1.5]))
    with pytest.raises(NoRuleError, match=name):
        nbgrad.compile(nbgrad.grad(lambda v: f(v, 2.0)))(1.5)
    # A constant, and samples of constants, are none.
    nbgrad.grad(lambda x: f(nbgrad.stop_gradient(x), x))(1.5)
    assert nbgrad.vmap(lambda v: f(v, 2.0))(np.array([1.0, 2.0])).shape == (2,)


def test_other_refusals():
    third = nbgrad.grad(nbgrad.grad(nbgrad.grad(lambda a: special.betainc(a, 2.0, 0.3))))
    with pytest.raises(NoRuleError, match="third derivative"):
        third(1.0)
    with pytest.raises(NoRuleError, match="branch 1 is complex"):
        special.lambertw(1.0, 1)
    with pytest.raises(ValueError, match="must be 0 or more"):
        special.polygamma(-1, 2.0)
    with pytest.raises(TypeError, match="whole number"):
        special.polygamma(1.5, 2.0)  # pyright: ignore[reportArgumentType]


def test_log_ndtr_far_above_zero():
    """Where erfcx overflows: the slope is the density, and its slope -x times that."""
    x = np.array([20.0, 37.0, 60.0, 1e150])
    density = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(slopes(special.log_ndtr, x), density, 1e-14)
    twice = nbgrad.elementwise_grad(nbgrad.elementwise_grad(special.log_ndtr))
    np.testing.assert_allclose(twice(x), -x * density, 1e-13)
    along = nbgrad.jvp(nbgrad.elementwise_grad(special.log_ndtr), (x,), (np.ones(4),))[1]
    np.testing.assert_allclose(along, -x * density, 1e-13)
