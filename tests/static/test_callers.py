"""Arguments by name, and generated callers of a compiled function that take turns."""

import functools
import threading
from typing import Any, cast

import numpy as np
import pytest

import nbgrad
from nbgrad.static.entry import python_entry


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Let the second call generate a caller."""
    monkeypatch.setattr(python_entry, "AFTER", 0)


def spring(x, y, /, k, length=1.0, *, factor=1.0):
    return factor * np.sum(k * (x - y - length) ** 2)


def test_arguments_by_name_are_those_at_positions():
    """They share programs, and calls with them are answered by the generated caller."""
    f, x, y = cast(Any, nbgrad.compile(spring)), np.arange(3.0), np.ones(3)
    expected = spring(x, y, 2.0, 0.5)
    for _ in range(3):
        assert f(x, y, 2.0, 0.5) == f(x, y, length=0.5, k=2.0) == f(x, y, 2.0, length=0.5)
        assert f(x, y, 2.0, 0.5) == pytest.approx(expected)
    assert len(f._variants) == 1
    assert f.variant(x, y, k=2.0, length=0.5) is f.variant(x, y, 2.0, 0.5)
    assert f(x, y, k=2.0, factor=3.0) == pytest.approx(3 * spring(x, y, 2.0))
    assert f(x, y, 2.0, factor=3.0, length=0.5) == pytest.approx(3 * expected)
    slope: Any = nbgrad.compile(nbgrad.value_and_grad(spring, 2))
    out = slope(x, y, k=2.0, length=0.5)
    assert out == slope(x, y, 2.0, 0.5)
    assert out[1] == pytest.approx(expected / 2.0)


def test_named_arguments_stay_named_for_functions_that_tell_them_apart():
    @functools.wraps(spring)
    def scaled(*args, **options):
        return spring(*args, **options) * (2.0 if "k" in options else 1.0)

    f, x, y = nbgrad.compile(scaled), np.arange(3.0), np.ones(3)
    for _ in range(3):
        assert f(x, y, k=2.0) == 2 * f(x, y, 2.0)
    of_rows = nbgrad.compile(nbgrad.vmap(lambda x, k: x * k, (0, None)))
    np.testing.assert_array_equal(of_rows(x, np.float64(2.0)), 2 * x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": 1.0, "k": 2.0}, "positional-only"),
        ({"length": 2.0}, "missing 1 required positional argument: 'k'"),
        ({"k": 2.0, "widths": 1.0}, "unexpected keyword argument 'widths'"),
    ],
)
def test_named_arguments_that_do_not_fit_are_pythons_errors(options, message):
    f, x, y = cast(Any, nbgrad.compile(spring)), np.arange(3.0), np.ones(3)
    f(x, y, 2.0)
    for call in (f, spring):
        with pytest.raises(TypeError, match=message):
            call(x, y, **options)
    with pytest.raises(TypeError, match="multiple values for argument 'k'"):
        f(x, y, 2.0, k=2.0)


def test_callers_take_turns():
    """Of calls with other kinds of arguments each is answered by its generated caller."""
    factor = [2.0]
    f = nbgrad.compile(lambda x, n: factor[0] * np.sum(np.sin(x)) * n)
    x = np.arange(12.0)
    calls = [(x, 2.0), (x[:5], 2.0), (x[::2], 2.0), (x.astype(np.float32), 2.0), (x, 2)]
    for value in (2.0, 3.0, 5.0):
        factor[0] = value
        for _ in range(4):
            for a, n in calls:
                assert f(a, n) == pytest.approx(value * np.sum(np.sin(a)) * n, rel=1e-6)
    made = dict(f._fronts)
    assert len(made) >= 4
    for a, n in calls:
        f(a, n)
    assert f._fronts == made


def test_threads_call_with_different_shapes():
    f, wrong = nbgrad.compile(lambda x: np.sum(np.sin(x))), []

    def calls(n):
        for k in range(400):
            x = np.arange(float(n + k % 3))
            if f(x) != pytest.approx(np.sum(np.sin(x))):
                wrong.append(x)

    threads = [threading.Thread(target=calls, args=(n,)) for n in (3, 4, 5, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
