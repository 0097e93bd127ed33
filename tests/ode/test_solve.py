"""Initial value problems: values beside closed forms and SciPy's, derivatives in every mode."""

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import nbgrad
from nbgrad import ode

TIGHT: dict = {"rtol": 1e-10, "atol": 1e-10}
Y0 = np.array([1.0, 2.0])


def decay(t, y, rate):
    return -rate * y


def predators(t, y, p):
    hares, lynxes = y
    return [p[0] * hares - p[1] * hares * lynxes, p[2] * hares * lynxes - p[3] * lynxes]


def end_of(rate):
    return ode.solve(decay, (0.0, 1.0), Y0, args=(rate,), t_eval=[0.5, 1.0], **TIGHT).y[0, -1]


def test_derivatives_of_the_decay_are_those_of_the_closed_form():
    exact = np.exp(-2.0)
    assert np.isclose(end_of(2.0), exact, 1e-8)
    assert np.isclose(nbgrad.grad(end_of)(2.0), -exact, 1e-8)
    assert np.isclose(nbgrad.jvp(end_of, (2.0,), (1.0,))[1], -exact, 1e-8)
    rates = np.array([0.5, 2.0])
    assert np.allclose(nbgrad.vmap(end_of)(rates), np.exp(-rates), 1e-8)
    compiled = nbgrad.compile(nbgrad.value_and_grad(end_of))
    assert np.allclose(compiled(2.0), (exact, -exact), 1e-8)


@pytest.mark.full
def test_second_derivatives_and_gradients_of_batches():
    exact = np.exp(-2.0)
    assert np.isclose(nbgrad.grad(nbgrad.grad(end_of))(2.0), exact, 1e-7)
    assert np.isclose(nbgrad.compile(nbgrad.grad(nbgrad.grad(end_of)))(2.0), exact, 1e-7)
    rates = np.array([0.5, 2.0])
    assert np.allclose(nbgrad.vmap(nbgrad.grad(end_of))(rates), -np.exp(-rates), 1e-8)


@pytest.mark.full
def test_ends_and_times_have_derivatives():
    def at(t0, t1, time):
        times = np.stack([time, t1])
        return ode.solve(decay, (t0, t1), Y0, args=(1.0,), t_eval=times, **TIGHT).y[0]

    by_start, by_end, by_time = nbgrad.jacobian(at, (0, 1, 2))(0.0, 1.0, 0.5)
    assert np.allclose(by_start, np.exp([-0.5, -1.0]), 1e-8)
    assert np.allclose(by_end, [0.0, -np.exp(-1.0)], 1e-8)
    assert np.allclose(by_time, [-np.exp(-0.5), 0.0], 1e-8)


@pytest.mark.parametrize(
    "method, more",
    [
        pytest.param("RK45", {}, marks=pytest.mark.full),
        ("Rosenbrock", {}),
        pytest.param("RK4", {"max_step": 0.005}, marks=pytest.mark.full),
    ],
)
def test_values_are_scipys_and_gradients_those_of_both_adjoints(method, more):
    times, p, y0 = np.linspace(0.0, 3.0, 4), np.array([1.0, 0.1, 0.075, 1.5]), np.array([10.0, 5.0])
    more = {"t_eval": times, "method": method, "rtol": 1e-9, "atol": 1e-9, **more}
    right = solve_ivp(predators, (0, 3), y0, args=(p,), t_eval=times, rtol=1e-12, atol=1e-12)
    found = ode.solve(predators, (0, 3), y0, args=(p,), **more)
    assert found.success and found.y.shape == (2, 4)
    assert np.allclose(found.y, right.y, 1e-6)

    def loss(p, gradient):
        return np.sum(ode.solve(predators, (0, 3), y0, args=(p,), gradient=gradient, **more).y)

    slope = nbgrad.grad(loss)(p, "discrete")
    d = 1e-5 * np.eye(4)[0]
    moved = (loss(p + d, "discrete") - loss(p - d, "discrete")) / 2e-5
    assert np.isclose(slope[0], moved, 1e-5)
    if method == "RK45":
        assert np.allclose(nbgrad.grad(loss)(p, "adjoint"), slope, 1e-6)


@pytest.mark.full
def test_the_jacobian_of_a_function_that_is_read_from_its_source():
    def f(t, y, rate):
        return np.array([-rate * y[0] if y[0] > 0.0 else 0.0, -y[1]])

    def end(rate):
        options: dict = {"method": "Rosenbrock", "t_eval": [1.0], **TIGHT}
        return ode.solve(f, (0.0, 1.0), Y0, args=(rate,), **options).y[0, 0]

    assert np.isclose(nbgrad.grad(end)(2.0), -np.exp(-2.0), 1e-8)
    assert np.isclose(nbgrad.jvp(end, (2.0,), (1.0,))[1], -np.exp(-2.0), 1e-8)
    assert np.isclose(nbgrad.grad(nbgrad.grad(end))(2.0), np.exp(-2.0), 1e-7)


def test_a_stiff_equation_takes_few_steps():
    def oscillator(t, y, mu):
        return np.stack([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])

    found = ode.solve(
        oscillator, (0.0, 2000.0), [2.0, 0.0], args=(1000.0,), method="Rosenbrock", rtol=1e-6
    )
    assert found.t.size < 1500
    assert np.isclose(found.y[0, -1], 1.706167, 1e-5)  # SciPy's Radau with rtol=1e-10


def test_steps_and_dense_output_are_scipys():
    found = ode.solve(decay, (1.0, 0.0), Y0, args=(2.0,), dense_output=True, rtol=1e-6)
    right = solve_ivp(decay, (1.0, 0.0), Y0, args=(2.0,), rtol=1e-6)
    assert np.allclose(found.t, right.t) and np.allclose(found.y, right.y)
    assert found.sol is not None
    assert np.allclose(found.sol(found.t), found.y)
    assert found.sol(0.5).shape == (2,)


def test_event_times_have_derivatives():
    def ball(t, y, g):
        return np.stack([y[1], -g])

    def ground(t, y, g):
        return y[0]

    def top(t, y, g):
        return y[1]

    vars(ground).update(terminal=True, direction=-1.0)

    def landing(g, y0):
        found = ode.solve(ball, (0.0, 100.0), y0, args=(g,), events=[ground, top], **TIGHT)
        assert found.status == 1 and found.t_events is not None
        return found.t_events[0][0]

    def exact(g, y0):
        return (y0[1] + np.sqrt(y0[1] ** 2 + 2.0 * g * y0[0])) / g

    y0 = np.array([10.0, 3.0])
    found = ode.solve(ball, (0.0, 100.0), y0, args=(9.81,), events=[ground, top], **TIGHT)
    assert found.t_events is not None and found.y_events is not None
    assert np.isclose(found.t_events[1][0], 3.0 / 9.81) and found.y_events[0].shape == (1, 2)
    assert np.isclose(found.t[-1], exact(9.81, y0)) and abs(found.y[0, -1]) < 1e-8
    by_g, by_y0 = nbgrad.grad(landing, (0, 1))(9.81, y0)
    right = nbgrad.grad(exact, (0, 1))(9.81, y0)
    assert np.isclose(by_g, right[0], 1e-8) and np.allclose(by_y0, right[1], 1e-8)


@pytest.mark.full
def test_states_and_arguments_may_be_nested_and_functions_may_close_over_tracked_values():
    def coupled(t, y, p):
        return {"a": -p["k"] * y["a"], "b": np.sum(y["a"]) - y["b"]}

    y0 = {"a": np.ones(2), "b": np.zeros((2, 1))}

    def total(p, scale):
        found = ode.solve(
            lambda t, y: {k: scale * v for k, v in coupled(t, y, p).items()},
            (0.0, 1.0), y0, t_eval=[1.0], **TIGHT,
        )  # fmt: skip
        assert found.y["b"].shape == (2, 1, 1)
        return np.sum(found.y["a"])

    by_p, by_scale = nbgrad.grad(total, (0, 1))({"k": 2.0}, 1.0)
    assert np.isclose(by_p["k"], -2.0 * np.exp(-2.0), 1e-7)
    assert np.isclose(by_scale, -4.0 * np.exp(-2.0), 1e-7)


@pytest.mark.full
def test_functions_with_branches_and_numba_functions_are_read():
    @numba.njit
    def piecewise(t, y, rate):
        out = np.zeros(2)
        for i in range(2):
            out[i] = -rate * y[i] if y[i] > 0.0 else 0.0
        return out

    def end(rate, f):
        return ode.solve(f, (0.0, 1.0), Y0, args=(rate,), t_eval=[1.0], **TIGHT).y[0, 0]

    assert np.isclose(nbgrad.grad(end)(2.0, piecewise), -np.exp(-2.0), 1e-8)
    assert np.isclose(end(2.0, piecewise.py_func), np.exp(-2.0), 1e-8)


def test_values_that_a_function_captures_may_change():
    rates = np.array([1.0, 2.0])

    def f(t, y):
        return -rates * y

    def end():
        return ode.solve(f, (0.0, 1.0), np.ones(2), t_eval=[1.0], **TIGHT).y[:, 0]

    assert np.allclose(end(), np.exp([-1.0, -2.0]))
    rates[0] = 3.0
    assert np.allclose(end(), np.exp([-3.0, -2.0]))
