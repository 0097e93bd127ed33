"""Long programs: deeper than Python's stack, and compiled in time that grows as they do."""

import sys
from collections.abc import Callable

import numpy as np
import pytest
from fuzz.written import check_written, watched
from helpers.daily import daily

import nbgrad

X, LONG = np.linspace(0.1, 0.6, 10), np.linspace(0.1, 0.6, 50)
STEPS = {
    "sin": lambda y, x, i: np.sin(y),
    "Horner": lambda y, x, i: y * x + 0.001 * i,
    "choice": lambda y, x, i: np.where(x > 0.2, y, 0.0),
    "relu": lambda y, x, i: nbgrad.relu(y - 0.0001),
    "negative": lambda y, x, i: -(y * 0.5) + x,
    "reshape": lambda y, x, i: np.sin(y).reshape((2, 5) if i % 2 == 0 else (10,)),
    "flip": lambda y, x, i: np.sin(y)[::-1] * 0.9,
    "transpose": lambda y, x, i: (np.sin(y)[:, None] * x[:1]).T[0] + 0.1,
    "pad": lambda y, x, i: np.pad(y, 1)[2:] * 0.9 + x,
    "join": lambda y, x, i: np.concatenate([y[1:], y[:1] * 0.5]),
    "fraction": lambda y, x, i: x / (1.0 + y * y),
    "norm": lambda y, x, i: y / np.sqrt(np.sum(y * y)),
    "running": lambda y, x, i: np.cumsum(y) * 0.2,
}


def repeated(step, count):
    def f(x):
        y = x
        for i in range(count):
            y = step(y, x, i)
        return np.sum(y)

    return f


@pytest.mark.parametrize("name", daily(STEPS, 6))
def test_programs_of_200_steps(name):
    f = repeated(STEPS[name], 200)
    check_written(nbgrad.compile(nbgrad.value_and_grad(f)), X)


def test_a_number_of_600_steps():
    f = nbgrad.value_and_grad(repeated(lambda y, x, i: np.sin(y) + x, 600))
    check_written(nbgrad.compile(f), 0.3)


@pytest.mark.parametrize("name", daily(STEPS, 3))
def test_lines_and_planning_grow_with_the_steps(name):
    calls, lines = [], []
    for count in (50, 200):
        f = nbgrad.compile(nbgrad.value_and_grad(repeated(STEPS[name], count)))
        calls.append(calls_of(lambda f=f: f.variant(X)))
        lines.append(f.variant(X).source.count("\n"))
    assert lines[1] < 4.5 * lines[0] + 100
    # With the square it would be 16 times.
    assert calls[1] < 8.0 * calls[0]


def calls_of(work):
    """How many functions of Python's `work` calls."""
    count = 0

    def profile(signature, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_a_loop_nest_has_a_limit():
    """Many ops in a row are a few kernels, and equal ones are one."""
    compiled = nbgrad.compile(repeated(STEPS["sin"], 100))
    assert compiled(X) == pytest.approx(repeated(STEPS["sin"], 100)(X), rel=1e-12)
    text = compiled.source
    assert text.count("def loop") == 2 and text.count("\n") < 150


def shifted(x, w):
    """A convolution, as slices of a padded array."""
    p, total = np.pad(x, 3), 0.0
    for i in range(7):
        for j in range(7):
            total = total + p[i : i + 20, j : j + 24] * w[i, j]
    return np.sum(np.tanh(total))


def test_many_slices_of_a_padded_array_and_their_gradient(rng):
    x, w = rng.normal(size=(20, 24)), rng.normal(size=(7, 7)) / 7
    f = nbgrad.value_and_grad(shifted, (0, 1))
    compiled = nbgrad.compile(f)
    value, (by_x, by_w) = watched(compiled, x, w)
    padded = np.pad(x, 3)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (20, 24))
    total = np.einsum("ijab,ij->ab", windows, w)
    slope = 1.0 - np.tanh(total) ** 2
    np.testing.assert_allclose(value, np.sum(np.tanh(total)))
    np.testing.assert_allclose(by_w, np.einsum("ijab,ab->ij", windows, slope), atol=1e-10)
    back = np.lib.stride_tricks.sliding_window_view(np.pad(slope, 3), (20, 24))
    np.testing.assert_allclose(by_x, np.einsum("ijab,ij->ab", back, w[::-1, ::-1]), atol=1e-10)
    text = compiled.source
    assert text.count("@device") <= 12 and text.count("\n") < 1000


def test_sums_of_many_pads_with_other_terms(rng):
    x, y = rng.normal(size=(5, 6)), rng.normal(size=(9, 10))

    def f(x, y):
        pads = [np.pad(x * (i + 1.0), ((i % 4, 4 - i % 4), (i % 5, 4 - i % 5))) for i in range(12)]
        first = sum(pads[:9]) + y * 2.0
        return first * 1.5, sum(pads, start=np.sin(y)), first + pads[0] + y

    check_written(nbgrad.compile(f), x, y)
    total = nbgrad.grad(lambda x, y: sum(np.sum(np.cos(z)) for z in f(x, y)), (0, 1))
    check_written(nbgrad.compile(total), x, y)


@pytest.mark.parametrize("count", [3, 60, 200])
def test_joins_and_rolls_in_many_pieces(count):
    def f(x):
        rolled = sum(np.roll(x, i) * (i + 1.0) for i in range(count))
        joined = np.concatenate([x[i % 40 :] * 1.1 for i in range(count)])
        return np.sum(rolled * rolled) + np.sum(joined**2)

    if count == 200:
        check_written(nbgrad.compile(f), LONG)
    else:
        check_written(nbgrad.compile(nbgrad.value_and_grad(f)), LONG)


ROLLED: dict[str, Callable] = {
    "scaled": lambda x: sum(np.roll(x, i) * i for i in range(1, 41)),
    "products": lambda x: sum(np.roll(x, i) * np.roll(x, -i) for i in range(12)),
    "of scalar code": lambda x: sum(np.roll(x * i + 1.0, i) for i in range(12)),
    "of rolls": lambda x: sum(np.roll(np.sin(np.roll(x, 3)) * x, -i) for i in range(12)),
    "rows": lambda x: sum(np.roll(x.reshape(10, 5), i, 0) * i for i in range(-4, 9)),
    "columns": lambda x: sum(np.roll(x.reshape(5, 10), i, 1) * i for i in range(9)),
    "both axes": lambda x: sum(
        np.roll(x.reshape(5, 10), (i % 5, i), (0, 1)) * i for i in range(10)
    ),
    "twice round": lambda x: sum(np.roll(x[:9], i) * i for i in range(-18, 18)),
    "ends of numbers": lambda x: np.stack([x[0], x[1]]) + sum(np.roll(x[:2], i) for i in range(9)),
    "slices": lambda x: sum(np.roll(x, i)[i : i + 20] * i for i in range(12)),
}


@pytest.mark.full
@pytest.mark.parametrize("name", ROLLED)
def test_many_rolls_of_one_array(name):
    rolled = ROLLED[name]
    forward = nbgrad.compile(rolled)
    np.testing.assert_allclose(forward(LONG), rolled(LONG), rtol=1e-12)
    compiled = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(rolled(x) ** 2)))
    value, slope = compiled(LONG)
    total = rolled(LONG)
    np.testing.assert_allclose(value, np.sum(total**2))
    step = np.cos(np.arange(50.0))
    ahead, behind = (np.sum(rolled(LONG + h * step) ** 2) for h in (1e-5, -1e-5))
    np.testing.assert_allclose(slope @ step, (ahead - behind) / 2e-5, rtol=1e-6)
    check_written(compiled, LONG)


def test_lines_grow_with_the_number_of_rolls():
    """Each roll would cut the loops of all the others once more."""
    for name in ("scaled", "products"):
        f = nbgrad.value_and_grad(lambda x, name=name: np.sum(ROLLED[name](x) ** 2))
        assert nbgrad.compile(f).variant(LONG).source.count("\n") < 450


def test_what_is_written_out_for_each_piece_has_a_limit():
    """Each join cuts the loop once more: the text would grow as the square of their number."""

    def joined(x, i):
        return np.concatenate([x[i:] * 2.0, x[:i]]) * i

    f = nbgrad.value_and_grad(lambda x: np.sum(sum(joined(x, i) for i in range(1, 41)) ** 2))
    compiled = nbgrad.compile(f)
    assert compiled.variant(LONG).source.count("\n") < 60 * 40
    check_written(compiled, LONG)
