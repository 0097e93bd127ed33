"""`newton` and `fixed_point`: roots and their derivatives, in every mode and tier."""

import numba
import numpy as np
import pytest

import nbgrad
from nbgrad import compile, fixed_point, grad, jvp, newton, value_and_grad, vmap

BOTH = ("reverse", "forward")
M = np.linspace(0.1, 3.0, 5)


def kepler(E, M, e):
    return E - e * np.sin(E) - M


def anomaly(M, e):
    return newton(kepler, M, (M, e))


def slopes_of_kepler(M, e):
    """The derivatives in closed form."""
    E = anomaly(M, e)
    return 1.0 / (1.0 - e * np.cos(E)), np.sin(E) / (1.0 - e * np.cos(E))


def balance(x, p):
    return {"sum": x["a"] + x["b"][0] - p["total"], "mass": x["a"] ** 2 - p["k"] * x["b"]}


def dissociated(v):
    start = {"a": 1.0, "b": np.ones(1)}
    return newton(balance, start, ({"k": v[0], "total": v[1]},))["a"]


V = np.array([2.0, 3.0])
W = np.array([[0.3, -0.2, 0.1], [0.2, 0.4, -0.3], [-0.1, 0.2, 0.2]])


def layer(x, w, b):
    return np.tanh(w @ x + b)


def equilibrium(w, b):
    return np.sum(fixed_point(layer, np.zeros(3), (w, b)) ** 2)


def test_kepler_by_closed_forms():
    for f in (value_and_grad(anomaly, (0, 1)), compile(value_and_grad(anomaly, (0, 1)))):
        value, slopes = f(1.0, 0.3)
        assert value - 0.3 * np.sin(value) == pytest.approx(1.0, abs=1e-15)
        np.testing.assert_allclose(slopes, slopes_of_kepler(1.0, 0.3), rtol=1e-14)
    bent = -0.3 * np.sin(value) / (1.0 - 0.3 * np.cos(value)) ** 3
    assert grad(grad(anomaly))(1.0, 0.3) == pytest.approx(bent, rel=1e-13)
    assert compile(grad(grad(anomaly)))(1.0, 0.3) == pytest.approx(bent, rel=1e-13)
    forward = jvp(anomaly, (1.0, 0.3), (1.0, 0.0))[1]
    assert forward == pytest.approx(slopes[0], rel=1e-14)
    nbgrad.check_grads(anomaly, (1.0, 0.3), BOTH, order=2)


@pytest.mark.parametrize("tier", [lambda f: f, compile], ids=["eager", "compiled"])
def test_samples_take_their_own_number_of_steps(tier):
    values, slopes = tier(vmap(value_and_grad(anomaly), (0, None)))(M, 0.3)
    np.testing.assert_allclose(values, [anomaly(m, 0.3) for m in M], rtol=1e-14)
    np.testing.assert_allclose(slopes, [slopes_of_kepler(m, 0.3)[0] for m in M], rtol=1e-14)
    total = tier(grad(lambda M: np.sum(vmap(anomaly, (0, None))(M, 0.3))))
    np.testing.assert_allclose(total(M), slopes, rtol=1e-14)


def test_systems_of_nested_values():
    eager = grad(dissociated)(V)
    nbgrad.check_grads(dissociated, (V,), BOTH, order=2)
    np.testing.assert_allclose(compile(grad(dissociated))(V), eager, rtol=1e-13)
    bent = nbgrad.hessian(dissociated)
    np.testing.assert_allclose(compile(bent)(V), bent(V), rtol=1e-12)


def test_the_equilibrium_of_a_network():
    b = np.ones(3)
    nbgrad.check_grads(equilibrium, (W, b), BOTH, order=2)
    slopes = grad(equilibrium, (0, 1))(W, b)
    for found, slope in zip(compile(grad(equilibrium, (0, 1)))(W, b), slopes, strict=True):
        np.testing.assert_allclose(found, slope, atol=1e-14)
    x = fixed_point(layer, np.zeros(3), (W, b))
    inner = (1.0 - x**2)[:, None] * W
    lam = np.linalg.solve(np.eye(3) - inner.T, 2.0 * x)
    np.testing.assert_allclose(slopes[1], lam * (1.0 - x**2), rtol=1e-11)


def implicit_euler(a):
    """A stiff equation y' = -50 (y - cos(t)) - a y^3, by implicit steps."""

    def step(y, t):
        new = newton(lambda z: z - y + 0.1 * (50.0 * (z - np.cos(t)) + a * z**3), y)
        return new, new

    return np.sum(nbgrad.scan(step, 1.0, np.linspace(0.1, 1.0, 10))[1])


def test_steps_of_a_scan():
    eager = value_and_grad(implicit_euler)(2.0)
    nbgrad.check_grads(implicit_euler, (2.0,), BOTH)
    assert compile(value_and_grad(implicit_euler))(2.0) == pytest.approx(eager, rel=1e-13)


@pytest.mark.full
def test_steps_of_a_scan_for_samples_and_twice():
    bent = grad(grad(implicit_euler))
    assert compile(bent)(2.0) == pytest.approx(bent(2.0), rel=1e-11)
    slopes = compile(vmap(grad(implicit_euler)))(np.array([1.0, 2.0]))
    assert slopes[1] == pytest.approx(grad(implicit_euler)(2.0), rel=1e-13)


def test_numba_calls_the_compiled_gradient():
    fast = compile(value_and_grad(anomaly, (0, 1)))
    fast(1.0, 0.3)
    native = fast.njit

    @numba.njit
    def total(n):
        out = 0.0
        for i in range(n):
            _, by_mean, _ = native(0.1 * i, 0.3)
            out += by_mean
        return out

    expected = sum(slopes_of_kepler(0.1 * i, 0.3)[0] for i in range(3))
    assert total(3) == pytest.approx(expected, rel=1e-14)


def test_own_linear_solvers():
    def jacobi(product, b):
        """A few rounds for matrices with a large diagonal."""
        x = b
        for _ in range(60):
            x = x + (b - product(x))
        return x

    b = np.ones(3)
    free = grad(lambda w: np.sum(fixed_point(layer, np.zeros(3), (w, b), solve=jacobi) ** 2))
    dense = grad(equilibrium)(W, b)
    np.testing.assert_allclose(free(W), dense, atol=1e-12)
    np.testing.assert_allclose(compile(free)(W), dense, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes(dtype):
    x = newton(lambda x, a: x**2 - a, dtype(1.0), (dtype(2.0),))
    assert x.dtype == dtype and abs(x - np.sqrt(2.0)) < 4 * np.finfo(dtype).eps
    slope = grad(lambda a: newton(lambda x, a: x**2 - a, dtype(1.0), a))(dtype(2.0))
    assert slope.dtype == dtype and slope == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-6)
    assert newton(lambda x: x**2 - 4.0, 1) == pytest.approx(2.0)


def test_steps_are_halved_where_the_residual_grows():
    """Undamped, Newton's method for arctan diverges from 3."""
    assert newton(np.arctan, 3.0) == pytest.approx(0.0, abs=1e-15)
    assert compile(lambda x: newton(np.arctan, x))(3.0) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.filterwarnings("ignore:(overflow|invalid):RuntimeWarning")
@pytest.mark.parametrize("solver", [newton, fixed_point])
def test_no_convergence_is_an_error(solver):
    f = lambda a: solver(lambda x, a: x**2 + a, 1.0, a, maxiter=20)  # noqa: E731
    for run in (f, grad(f)):
        with pytest.raises(
            RuntimeError, match=rf"{solver.__name__}: f: no .* maxiter=20 .*last st"
        ):
            run(2.0)
    for run in (compile(f), compile(value_and_grad(f)), lambda a: vmap(f)(np.array([a, -1.0]))):
        with pytest.raises(RuntimeError, match=r"no convergence in maxiter=20 steps"):
            run(2.0)


def test_wrong_input_is_named():
    x, two = np.ones(2), lambda x: np.stack([x, x])
    for call, kind, text in (
        (lambda: newton(3.0, x), TypeError, "newton: not a function"),  # pyright: ignore
        (lambda: newton(two, 1.0), ValueError, "newton: two returned 2 numbers for 1 unknowns"),
        (lambda: newton(lambda x: None, x), TypeError, "gave NoneType, not an array"),
        (lambda: newton(np.sin, "x"), TypeError, "holds no float"),
        (lambda: newton(np.sin, np.zeros(0)), ValueError, "x0 has no elements"),
        (lambda: newton(np.sin, x, tol=0.0), ValueError, "tol=0.0: pass a positive"),
        (lambda: newton(np.sin, x, maxiter=0), ValueError, "maxiter=0: pass a positive integer"),
        (lambda: fixed_point(lambda x: [x], 1.0), ValueError, "value of the structure of x"),
        (lambda: newton(lambda x: x[:1] * np.ones(2), x), np.linalg.LinAlgError, "singular"),
    ):
        two.__name__ = "two"
        with pytest.raises(kind, match=text):
            call()
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        compile(lambda x: newton(lambda x: x[:1] * np.ones(2), x))(x)
