"""Events and dense output in compiled programs and under `vmap`."""

import numpy as np
import pytest

import nbgrad
from nbgrad import ode
from nbgrad.errors import ArgumentError, StaticError

TIGHT: dict = {"rtol": 1e-10, "atol": 1e-10}
Y0 = np.array([10.0, 3.0])


def ball(t, y, g):
    return np.stack([y[1], -g])


def ground(t, y, g):
    return y[0]


vars(ground).update(terminal=True, direction=-1.0)


def fallen(g, **options):
    return ode.solve(ball, (0.0, 100.0), Y0, args=(g,), events=ground, **options, **TIGHT)


def landing(g):
    return fallen(g).t_events[0][0]


def exact(g):
    return (Y0[1] + np.sqrt(Y0[1] ** 2 + 2.0 * g * Y0[0])) / g


def test_times_of_events_have_derivatives_in_compiled_programs():
    value, slope = nbgrad.compile(nbgrad.value_and_grad(landing))(9.81)
    assert np.isclose(value, exact(9.81), 1e-12)
    assert np.isclose(slope, nbgrad.grad(exact)(9.81), 1e-9)
    assert np.isclose(nbgrad.grad(landing)(9.81), slope, 1e-12)


@pytest.mark.full
def test_other_modes():
    rates = np.array([9.81, 1.62])
    assert np.allclose(nbgrad.vmap(landing)(rates), exact(rates), 1e-12)
    slopes = [nbgrad.grad(exact)(g) for g in rates]
    assert np.allclose(nbgrad.vmap(nbgrad.grad(landing))(rates), slopes, 1e-9)
    twice = nbgrad.grad(nbgrad.grad(exact))(9.81)
    for bent in (nbgrad.grad(nbgrad.grad(landing)), nbgrad.compile(nbgrad.hessian(landing))):
        assert np.isclose(bent(9.81), twice, 1e-8)


def test_states_behind_a_terminal_event_are_nan():
    def found(g):
        fall = fallen(g, t_eval=[1.0, 1.5, 2.0])
        assert fall.y_events is not None and fall.success
        return fall.t, fall.y, fall.status, fall.y_events[0]

    t, y, status, there = nbgrad.compile(found)(9.81)
    assert status == 1 and there.shape == (1, 2) and abs(there[0, 0]) < 1e-9
    assert np.array_equal(t, [1.0, 1.5, np.nan], equal_nan=True)
    assert np.allclose(y[:, :2], found(9.81)[1]) and np.isnan(y[:, 2]).all()


@pytest.mark.full
def test_rows_of_several_roots_and_values_that_events_close_over():
    def times(g, level):
        events = [lambda t, y, g: y[0] - level, lambda t, y, g: y[1], ground]
        return ode.solve(
            ball, (0.0, 9.0), Y0, args=(g,), events=events, max_events=3, **TIGHT
        ).t_events

    through, top, end = nbgrad.compile(times)(9.81, 10.2)
    right = times(9.81, 10.2)
    assert right is not None
    for row, root in zip((through, top, end), right, strict=True):
        assert row.shape == (3,) and np.isnan(row[len(root) :]).all()
        assert np.allclose(row[: len(root)], root, 1e-12)
    by_level = nbgrad.jacobian(lambda level: times(9.81, level)[0])
    slopes = nbgrad.compile(by_level)(10.2)
    assert np.allclose(slopes[:2], by_level(10.2), 1e-9) and slopes[2] == 0.0


def test_dense_output():
    times = np.array([0.7, 0.2, 0.9])

    def states(g):
        found = ode.solve(ball, (0.0, 1.0), Y0, args=(g,), dense_output=True, **TIGHT)
        assert found.sol is not None
        return found.sol(times)[0]

    value, slope = nbgrad.compile(lambda g: nbgrad.jvp(states, (g,), (1.0,)))(9.81)
    assert np.allclose(value, states(9.81), 1e-12)
    assert np.allclose(slope, -0.5 * times**2, 1e-9)


def test_errors_name_the_remedy():
    def top(t, y, g):
        return y[1]

    def wave(t, y, g):
        return np.stack([y[1], -g * y[0]])

    def solved(g, **options):
        return ode.solve(ball, (0.0, 1.0), Y0, args=(g,), **options)

    with pytest.raises(StaticError, match=r"event 0 is not terminal.*pass max_events"):
        nbgrad.compile(lambda g: solved(g, events=top).t_events)(9.81)
    with pytest.raises(StaticError, match="pass t_eval, or read t_events"):
        nbgrad.compile(lambda g: solved(g, events=top, max_events=1).y)(9.81)

    def waves(g):
        return ode.solve(wave, (0.0, 9.0), Y0, args=(g,), events=top, max_events=2).t_events

    with pytest.raises(ArgumentError, match="more roots than max_events"):
        nbgrad.compile(waves)(9.81)
