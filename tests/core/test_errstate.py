"""NumPy's floating-point error state and filters of warnings hold for eager ops as for NumPy's."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.children import run

import nbgrad
from nbgrad.values.tracked import TrackedArray

BIG, MOST, TINY = 1e200, 1.7e308, 1e-200
OPS: dict[str, tuple[Callable, list[float]]] = {
    "one over x": (lambda x: 1.0 / x, [0.0, 2.0]),
    "x over zero": (lambda x: x / 0.0, [1.0]),
    "zero over zero": (lambda x: x / x, [0.0]),
    "a number over zero": (lambda x: np.sum(x) / 0.0, [1.0, 2.0]),
    "floor_divide": (lambda x: x // 0.0, [1.0]),
    "remainder": (lambda x: 1.0 % x, [0.0]),
    "fmod": (lambda x: np.fmod(1.0, x), [0.0]),
    "reciprocal": (np.reciprocal, [0.0]),
    "log": (np.log, [0.0, 1.0]),
    "log of negative": (np.log, [-1.0, 0.0]),
    "log2": (np.log2, [0.0]),
    "log10": (np.log10, [0.0]),
    "log1p": (np.log1p, [-1.0, -2.0]),
    "sqrt": (np.sqrt, [-1.0, 4.0]),
    "exp": (np.exp, [1e4]),
    "exp2 below": (np.exp2, [-1e4]),
    "expm1": (np.expm1, [1e4]),
    "sinh": (np.sinh, [1e4]),
    "sin": (np.sin, [np.inf]),
    "arcsin": (np.arcsin, [2.0]),
    "arccosh": (np.arccosh, [0.5]),
    "arctanh": (np.arctanh, [1.0, 2.0]),
    "hypot": (lambda x: np.hypot(x, x), [MOST]),
    "square": (np.square, [BIG]),
    "x ** 2": (lambda x: x**2, [BIG]),
    "x ** 3": (lambda x: x**3, [BIG]),
    "x ** -1": (lambda x: x**-1, [0.0]),
    "x ** -1.5": (lambda x: x**-1.5, [0.0]),
    "x ** 0.5": (lambda x: x**0.5, [-1.0]),
    "x ** y": (lambda x: x ** (x - 0.5), [-1.0]),
    "2 ** x": (lambda x: 2.0**x, [2000.0]),
    "multiply": (lambda x: x * x, [BIG, 1.0]),
    "multiply below": (lambda x: x * TINY, [TINY]),
    "add": (lambda x: x + x, [MOST]),
    "subtract": (lambda x: x - np.inf, [np.inf]),
    "sum": (np.sum, [MOST, MOST]),
    "sum, a method": (lambda x: x.sum(), [MOST, MOST]),
    "prod": (np.prod, [BIG, BIG]),
    "cumsum": (np.cumsum, [MOST, MOST]),
    "cumprod": (np.cumprod, [BIG, BIG]),
    "mean of nothing": (lambda x: np.mean(x[:0]), [1.0]),
    "mean, a method": (lambda x: x.mean(), [MOST, MOST]),
    "var": (np.var, [BIG, -BIG]),
    "var of too few": (lambda x: np.var(x, ddof=1), [1.0]),
    "dot": (lambda x: np.dot(x, x), [BIG, 1.0]),
    "matmul": (lambda x: x @ x, [BIG, 1.0]),
    "norm": (np.linalg.norm, [BIG]),
    "corrcoef": (lambda x: np.corrcoef(x, 2.0 * x), [1.0, 1.0]),
    "where= that masks": (
        lambda x: np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.0),
        [0.0, 2.0],
    ),
    "nothing to report": (lambda x: np.exp(np.sin(x) * x) / (1.0 + x), [0.5, 2.0]),
}
SINGLE = {BIG: 1e30, -BIG: -1e30, TINY: 1e-30, MOST: 3e38}
STATES = "raise", "warn", "print", "log", "call", "ignore", "default"


class Handler:
    """Takes what NumPy calls and logs."""

    def __init__(self):
        self.seen: list[Any] = []

    def __call__(self, kind, flag):
        self.seen.append((kind, flag))

    def write(self, message):
        self.seen.append(message)


def outcome(f: Callable, state: str, capfd: Any) -> tuple:
    """How a call ends, what it warns of, what it calls and what it prints."""
    handler, end = Handler(), ""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            if state == "default":
                f()
            else:
                with np.errstate(all=state, call=handler):  # pyright: ignore[reportArgumentType]
                    f()
        except FloatingPointError as error:
            end = str(error)
    texts = [str(x.message) for x in seen if x.category is not nbgrad.ConstantWarning]
    return end, texts, handler.seen, capfd.readouterr().err


def modes(op: Callable, x: np.ndarray) -> dict[str, Callable]:
    return {
        "tracked": lambda: op(nbgrad.track(x)),
        "vjp": lambda: nbgrad.vjp(op, x),
        "jvp": lambda: nbgrad.jvp(op, (x,), (np.ones_like(x),)),
        "vmap": lambda: nbgrad.vmap(op)(x[None]),
        "vmap of vjp": lambda: nbgrad.vmap(lambda x: nbgrad.vjp(op, x)[0])(x[None]),
        "jvp of jvp": lambda: nbgrad.jvp(
            lambda y: nbgrad.jvp(op, (y,), (np.ones_like(x),))[1], (x,), (np.ones_like(x),)
        ),
    }


@pytest.mark.parametrize("name", OPS)
def test_ops_report_as_numpy_does(name, filters_count, capfd):
    op, numbers = OPS[name]
    for dtype in (np.float64, np.float32):
        x = np.array([SINGLE.get(n, n) if dtype is np.float32 else n for n in numbers], dtype)
        for state in STATES:
            expected = outcome(lambda: op(x), state, capfd)  # noqa: B023
            for mode, call in modes(op, x).items():
                assert outcome(call, state, capfd) == expected, (dtype, state, mode)


def test_samples_that_report_the_same_report_it_once(filters_count):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        nbgrad.vmap(lambda x: (np.log(x), 1.0 / x))(np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 1.0]]))
    texts = [str(x.message).removesuffix(" encountered in log") for x in seen]
    assert texts == ["divide by zero", "invalid value", "divide by zero encountered in divide"]
    assert {x.filename for x in seen} == {__file__}


def test_warnings_name_the_line_that_calls(filters_count):
    x = nbgrad.track(np.zeros(2))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for f in (np.log, lambda x: 1.0 / x, lambda x: np.cov(x) / np.var(x)):
            nbgrad.grad(lambda x: np.sum(f(x)))(np.zeros(2))  # noqa: B023
            f(x)
    assert {x.filename for x in seen} == {__file__}
    assert len({x.lineno for x in seen}) == 3


def test_states_of_one_kind():
    x = nbgrad.track(np.array([0.0, -1.0]))
    with np.errstate(divide="raise"):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
            np.sqrt(x)
        with pytest.raises(FloatingPointError, match=r"^divide by zero encountered in log$"):
            np.log(x)
        with np.errstate(divide="ignore"):
            np.log(x)
    before = np.seterr(invalid="raise", divide="ignore")
    try:
        with pytest.raises(FloatingPointError, match=r"^invalid value encountered in log$"):
            np.log(x)
    finally:
        np.seterr(**before)
    np.log(x)


@pytest.mark.parametrize("mode", ["call", "log"])
def test_a_state_without_its_handler_raises_what_numpy_raises(mode):
    messages = []
    for x in (np.zeros(2), nbgrad.track(np.zeros(2))):
        with np.errstate(divide=mode), pytest.raises(NameError) as error:
            np.log(x)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_what_a_handler_raises_is_raised():
    def handler(kind, flag):
        raise KeyError(kind)

    with np.errstate(over="call", call=handler), pytest.raises(KeyError, match="overflow"):
        np.exp(nbgrad.track(1e4))


def test_pullbacks_and_pushforwards_report_nothing():
    def f(x):
        return np.sum(np.sqrt(x) + np.abs(x) ** 0.5 + np.linalg.norm(x) + np.prod(x) + np.std(x))

    x = np.zeros(3)
    with np.errstate(all="raise"):
        nbgrad.grad(f)(x)
        nbgrad.jvp(f, (x,), (x + 1.0,))
        nbgrad.hessian(f)(x)
        w = nbgrad.track(x)
        f(w).backward(create_graph=True)
        w.grad = None
        y: Any = np.sqrt(w)
        y.grad = x + 1.0
        nbgrad.accum(w)


def test_functions_of_nbgrad_that_mask_their_formulas_report_nothing():
    p, q = nbgrad.track([[1.0, 0.0], [0.25, 0.75]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        loss: Any = nbgrad.cross_entropy(p, q)
        loss.backward()
        nbgrad.softplus(nbgrad.track([-1e4, 1e4]))
        nbgrad.special.xlogy(nbgrad.track(0.0), 0.0)


def test_functions_of_the_user_are_checked_wherever_they_run():
    def inverse(x):
        return 1.0 / x

    rule = nbgrad.custom_rule(inverse, pullback=lambda ct, out, x: -ct * out * out)
    checkpointed = nbgrad.checkpoint(inverse)
    runs = {
        "custom rule": lambda x: rule(x),
        "checkpoint": lambda x: checkpointed(x),
        "loop": lambda x: nbgrad.loop(2, lambda i, y: inverse(y) - 1.0, x),
        "cond": lambda x: nbgrad.cond(True, inverse, np.sin, x),
        "along an axis": lambda x: np.apply_along_axis(inverse, 0, np.stack([x, x])),
    }
    for name, f in runs.items():
        for derivative in (nbgrad.vjp, lambda f, x: nbgrad.jvp(f, (x,), (x,))):
            with np.errstate(all="raise"), pytest.raises(FloatingPointError):
                derivative(f, np.array(0.0))
                pytest.fail(name)


def test_what_ran_before_does_not_matter():
    x, y = nbgrad.track(np.array([0.0, 1.0])), nbgrad.track(np.array([1.0, 2.0]))
    calls = [lambda x: np.log(x), lambda x: y / x, lambda x: 1.0 / x]
    for _ in range(90):
        for f in calls:
            f(y)
            np.sum(f(x) * 0.0)
    assert "built-in" in repr(TrackedArray.bind1)
    for f in calls:
        for _ in range(3):
            with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
                f(x)
            f(x)
            with np.errstate(all="ignore"):
                f(x)


FILTERS = """
import warnings
import numpy as np
import nbgrad

warnings.resetwarnings()
warnings.simplefilter("ignore", DeprecationWarning)
x = nbgrad.track(np.zeros(2))
def raises():
    found = []
    for f in (np.log, lambda x: 1.0 / x):
        try:
            f(x)
            found.append(False)
        except RuntimeWarning:
            found.append(True)
    assert found[0] == found[1]
    return found[0]

for _ in range(300):
    assert not raises()
for _ in range(3):
    with warnings.catch_warnings():
        assert not raises()
        warnings.simplefilter("error")
        assert raises()
        warnings.simplefilter("ignore", RuntimeWarning)
        assert not raises()
    assert not raises()
    before = list(warnings.filters)
    warnings.simplefilter("error")
    assert raises()
    with np.errstate(divide="ignore"):
        assert not raises()
    assert raises()
    warnings.filters[:] = before
    warnings.resetwarnings()
    assert not raises()
    warnings.filterwarnings("error", category=RuntimeWarning)
    assert raises()
    warnings.filters[:] = before
    warnings._filters_mutated()
    assert not raises()
"""


def test_filters_that_make_errors_of_warnings_hold_from_when_they_are_set():
    run(FILTERS)


def test_arrays_made_of_numbers_report_nothing(filters_count):
    def f(x):
        return np.sum(np.array([[x[0], 1.0], [x[1], x[0]]], like=x) * np.full((2, 2), x[1], like=x))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(nbgrad.grad(f)(np.ones(2)), [2.0, 5.0])
