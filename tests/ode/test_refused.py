"""Wrong input of `ode.solve` raises errors that name it."""

import numpy as np
import pytest

import nbgrad
from nbgrad import ode
from nbgrad.errors import (
    ArgumentError,
    ArgumentTypeError,
    ComplexError,
    DimensionMismatch,
    StaticError,
    StepsError,
)


def decay(t, y):
    return -y


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"method": "BDF"}, ArgumentError, "use one of"),
        ({"method": "RK4"}, ArgumentError, "needs max_step"),
        ({"gradient": "none"}, ArgumentError, "adjoint"),
        ({"rtol": -1.0}, ArgumentError, "rtol"),
        ({"atol": -1.0}, ArgumentError, "atol"),
        ({"atol": np.ones(3)}, DimensionMismatch, "atol"),
        ({"max_step": 0.0}, ArgumentError, "max_step"),
        ({"first_step": 2.0}, ArgumentError, "longer"),
        ({"t_eval": [0.5, 0.2]}, ArgumentError, "order"),
        ({"t_eval": [0.5, 1.2]}, ArgumentError, "outside"),
        ({"t_eval": [[0.5]]}, DimensionMismatch, "vector"),
        ({"t_span": (0.0, np.inf)}, ArgumentError, "infinite"),
        ({"t_span": 1.0}, ArgumentTypeError, "t_span"),
        ({"method": ["RK45"]}, ArgumentError, "use one of"),
        ({"rtol": "low"}, ArgumentTypeError, "rtol"),
        ({"rtol": [1e-3, 1e-4]}, ArgumentTypeError, "rtol"),
        ({"atol": None}, ArgumentTypeError, "atol"),
        ({"max_step": "small"}, ArgumentTypeError, "max_step"),
        ({"events": 3}, ArgumentTypeError, "function"),
        ({"t_eval": [np.nan]}, ArgumentError, "t_eval holds nan"),
        ({"f": lambda t, y: y * np.nan}, StepsError, "nan"),
        ({"max_events": 0}, ArgumentError, "max_events"),
        ({"t_span": (0.0, np.nan)}, ArgumentError, "nan"),
        ({"t_span": (0.0, 1.0, 2.0)}, ArgumentError, "t_span"),
        ({"y0": np.ones(2) * 1j}, ComplexError, "complex"),
        ({"y0": np.ones(0)}, ArgumentError, "no elements"),
        ({"f": 3}, ArgumentTypeError, "function"),
        ({"f": lambda t, y: np.ones(3)}, DimensionMismatch, "returned shape"),
        ({"f": lambda t, y: y[0]}, DimensionMismatch, "returned shape"),
        ({"f": lambda t, y: 1j * y}, ComplexError, "complex"),
        ({"f": lambda t, y: None}, ArgumentTypeError, "dtype object"),
    ],
)
def test_wrong_arguments(options, error, text):
    given = {"f": decay, "t_span": (0.0, 1.0), "y0": np.ones(2), **options}
    with pytest.raises(error, match=text):
        ode.solve(**given)


def test_solutions_that_do_not_exist():
    with pytest.raises(StepsError, match="too small"):
        ode.solve(lambda t, y: y * y, (0.0, 2.0), np.ones(2), t_eval=[1.9])
    with pytest.raises(StepsError, match=r"too small at t = 0\.99"):
        ode.solve(lambda t, y: y * y, (0.0, 2.0), np.ones(2))


@pytest.mark.full
def test_adjoints_of_stiff_equations():
    def forced(t, y, k):
        return -k * (y - np.cos(t)) * y**2

    def end(k):
        options = {"method": "Rosenbrock", "gradient": "adjoint", "t_eval": [10.0]}
        return ode.solve(forced, (0.0, 10.0), [1.0], args=(k,), **options).y[0, 0]

    with pytest.raises(StepsError, match="stiff: use gradient"):
        nbgrad.grad(end)(1e4)


def test_compiled_functions_need_times():
    with pytest.raises(StaticError, match="t_eval"):
        nbgrad.compile(lambda y: ode.solve(decay, (0.0, 1.0), y).y)(np.ones(2))
    with pytest.raises(StaticError, match="t_eval"):
        nbgrad.vmap(lambda y: ode.solve(decay, (0.0, 1.0), y).y)(np.ones((3, 2)))
    late = nbgrad.compile(lambda t: ode.solve(decay, (0.0, 1.0), np.ones(2), t_eval=t).y)
    for times in ([0.5, 0.2], [0.5, 1.2]):
        with pytest.raises(ArgumentError, match="in order and within"):
            late(np.array(times))


def test_events_return_numbers():
    with pytest.raises(DimensionMismatch, match="event 0"):
        ode.solve(decay, (0.0, 1.0), np.ones(2), events=lambda t, y: y)
    never = ode.solve(decay, (0.0, 1.0), np.ones(2), events=lambda t, y: y[0] + 1.0)
    assert never.status == 0 and never.t_events is not None and never.t_events[0].shape == (0,)
