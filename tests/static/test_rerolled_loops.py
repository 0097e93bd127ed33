"""Python loops of many steps in compiled functions become loops again."""

import numpy as np
import pytest
from helpers.daily import daily

import nbgrad
from nbgrad.static.jit import residuals
from nbgrad.static.trace import record, rerolled

RNG = np.random.default_rng(4)
X, ROWS = np.linspace(0.1, 0.6, 6), RNG.normal(size=(60, 6))
A = 0.3 * RNG.normal(size=(6, 6))


@pytest.fixture(autouse=True)
def short_programs_too(monkeypatch):
    monkeypatch.setattr(rerolled, "_MOST", 60)


def carried(step, count=30):
    def f(x, rows):
        y = x
        for k in range(count):
            y = step(y, x, rows, k)
        return np.sum(y**2)

    return f


def alternating(x, rows):
    u = v = x
    for _ in range(25):
        u = x / (1.0 + np.abs(A @ v))
        v = np.tanh(A.T @ u)
    return np.sum(u * v)


def likelihood(x, rows):
    """A recurrence over data with a sum beside it."""
    s, total = x[0], 0.0
    for k in range(40):
        s = x[1] + x[2] * s + x[3] * rows[k, 0] ** 2
        total = total + np.log(s * s + 1.0) + rows[k, 1] / (s * s + 1.0)
    return total


def listed(x, rows):
    """All states, joined after the loop."""
    y, states = x, []
    for k in range(30):
        y = np.sin(y) + 0.1 * rows[k]
        states.append(y)
    return np.sum(np.stack(states) * rows[:30])


def filled(x, rows):
    """Rows of an array that the loop fills."""
    out = np.zeros((40, 6), like=x)
    out[0] = x
    for k in range(39):
        out[k + 1] = np.tanh(out[k] + rows[k])
    return np.sum(out**2)


def two_loops(x, rows):
    y = x
    for k in range(30):
        y = np.sin(y) + rows[k]
    z = y
    for k in range(30):
        z = z * 0.9 + np.cos(y) * rows[59 - k]
    return np.sum(z)


def some_states(x, rows):
    y, states = x, []
    for _ in range(40):
        y = np.tanh(A @ y) + 0.1
        states.append(y)
    return np.sum(states[3] * states[17]) + np.sum(states[-1]) + states[20][2]


def longer_memory(x, rows):
    """Each step reads the two before."""
    a, b = x, 0.5 * x
    for _ in range(40):
        a, b = b, np.sin(a) + 0.3 * b
    return np.sum(a * b)


def irregular(x, rows):
    y = x
    for k in range(40):
        y = y * 0.9 + rows[(7 * k * k) % 60]
    return np.sum(y * y)


PROGRAMS = {
    "nonlinear": carried(lambda y, x, rows, k: np.sin(y) + 0.1 * x),
    "the same back": carried(lambda y, x, rows, k: y * x * 1.5, 40),
    "rows": carried(lambda y, x, rows, k: y * 0.9 + rows[2 * k]),
    "rows from the end": carried(lambda y, x, rows, k: y * 0.9 + rows[59 - k]),
    "elements": carried(lambda y, x, rows, k: y * np.cos(rows[k, 1]) + rows[k + 1, 2] * x),
    "a product": carried(lambda y, x, rows, k: np.tanh(A @ y + rows[k])),
    "a choice": carried(lambda y, x, rows, k: np.where(y > 0.2, 0.5 * y, x)),
    "slices": carried(lambda y, x, rows, k: np.concatenate([y[1:], np.sin(y[:1])])),
    "numbers that change": carried(lambda y, x, rows, k: np.sin(y) + 0.01 * k),
    "norm": carried(lambda y, x, rows, k: y / np.sqrt(np.sum(y * y)) + rows[k]),
    "parts": carried(
        lambda y, x, rows, k: np.stack([y[0] * y[1], y[1] - 0.1 * y[2], y[2], *(x[3:] * y[3])])
    ),
} | {
    f.__name__: f
    for f in (
        alternating, likelihood, listed, filled, two_loops, some_states, longer_memory, irregular,
    )
}  # fmt: skip
by_program = pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)


def loops_of(f, *args):
    equations = nbgrad.compile(f).variant(*args).program.equations
    return len(equations), sum("body" in e.params for e in equations)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@by_program
def test_values_and_gradients(f):
    both = nbgrad.value_and_grad(f, (0, 1))
    value, slopes = nbgrad.compile(both)(X, ROWS)
    expected, others = both(X, ROWS)
    close(value, expected)
    for slope, other in zip(slopes, others, strict=True):
        close(slope, other)
    close(nbgrad.compile(f)(X, ROWS), expected)


@pytest.mark.parametrize("name", daily(PROGRAMS, 9))
def test_other_derivatives(name):
    f = PROGRAMS[name]
    dots = RNG.normal(size=X.shape), RNG.normal(size=ROWS.shape)
    _, dot = nbgrad.compile(lambda *args: nbgrad.jvp(f, args, dots))(X, ROWS)
    slopes = nbgrad.grad(f, (0, 1))(X, ROWS)
    close(dot, sum(np.sum(d * g) for d, g in zip(dots, slopes, strict=True)))
    close(nbgrad.grad(nbgrad.compile(f))(X, ROWS), slopes[0])
    many = nbgrad.compile(nbgrad.vmap(f, in_axes=(0, None)))(np.stack([X, 0.5 * X]), ROWS)
    close(many, [f(X, ROWS), f(0.5 * X, ROWS)])


@pytest.mark.parametrize(
    "name",
    [
        "nonlinear",
        "the same back",
        "rows",
        "elements",
        "a product",
        "alternating",
        "likelihood",
        "two_loops",
    ],
)  # fmt: skip
def test_programs_do_not_grow_with_the_steps(name):
    both = nbgrad.value_and_grad(PROGRAMS[name], (0, 1))
    count, loops = loops_of(both, X, ROWS)
    assert loops >= 2
    assert count < 150


def test_gradients_of_compiled_functions_have_loops_too(monkeypatch):
    seen = []
    monkeypatch.setattr(
        residuals, "rerolled", lambda p: seen.append(rerolled.rerolled(p)) or seen[-1]
    )
    f = PROGRAMS["likelihood"]
    close(nbgrad.grad(nbgrad.compile(f))(X, ROWS), nbgrad.grad(f)(X, ROWS))
    assert seen
    assert all(len(program.equations) < 150 for program in seen)


def test_equations_grow_with_no_step():
    counts = []
    for steps in (60, 240):
        f = carried(lambda y, x, rows, k: np.sin(y) * x + 0.1, steps)
        counts.append(loops_of(nbgrad.grad(f), X, ROWS))
    assert counts[0] == counts[1]


def test_positions_beyond_the_end_still_raise():
    f = nbgrad.compile(carried(lambda y, x, rows, k: y + rows[k], 61))
    with pytest.raises(IndexError):
        f(X, ROWS)


def test_checks_of_results_that_nothing_uses():
    def f(x, places):
        y, place = x, places[0]
        for _ in range(40):
            place = place + places[1]
            nbgrad.at(x)[place].get()
            y = np.sin(y)
        return y

    run = nbgrad.compile(f)
    close(run(X, np.array([0, 0])), f(X, np.array([0, 0])))
    with pytest.raises(IndexError):
        run(X, np.array([0, 1]))


def test_numbers_and_float32():
    def f(x):
        y = x
        for _ in range(70):
            y = np.sin(y) * 0.5 + x
        return y

    assert nbgrad.compile(nbgrad.value_and_grad(f))(0.3) == pytest.approx(
        nbgrad.value_and_grad(f)(0.3)
    )
    narrow = nbgrad.compile(f)(X.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, f(X.astype(np.float32)), rtol=1e-6)


def test_a_long_recording_names_the_line_and_the_ways_round(monkeypatch):
    monkeypatch.setattr(record, "_LONG", 100)
    with pytest.warns(UserWarning, match=r"nbgrad\.scan .*nbgrad\.njit .*np\.sin\(y\)") as found:
        nbgrad.compile(nbgrad.grad(carried(lambda y, x, rows, k: np.sin(y), 80))).variant(X, ROWS)
    assert len(found) == 1 and found[0].filename == __file__
