"""Results of compiled programs and arrays that share memory: every pair of an argument, a captured
array and a place of `out=`, and results that are arguments, captured arrays, views, or the same."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from fuzz.defects.loops import DEFECTS

import nbgrad

N = 4
CAPTURED = np.arange(1.0, N + 1)


def shifted(x, y):
    """Each element of the results needs others than that in its place."""
    return x[::-1] * 2.0 + y, np.cumsum(y)[::-1] - CAPTURED * x[0]


def passed_on(x, y):
    return x, y[::-1]


def same(x, y):
    z = x[::-1] * y
    return z, z


def captured(x, y):
    return CAPTURED, x + y + CAPTURED[::-1]


def products(x, y):
    a = np.outer(x, y) + np.diag(y)
    return a @ x, np.linalg.solve(a + 10.0 * np.eye(N), y)


def packed(x, y):
    """Of so many results that they go in a table."""
    rows = [x[::-1] * float(i) + y for i in range(24)]
    return rows[0] + rows[1], sum(rows) + CAPTURED


def large(x, y):
    """With scratch that is not on the stack."""
    z = np.cumsum(np.exp(-np.linspace(0.0, 1.0, 30_000)) * np.repeat(x, 7_500)[::-1])
    return z[:N] * y[::-1], np.cumsum(z)[-N:] + np.sum(y)


PROGRAMS = [shifted, passed_on, same, captured, products, packed, large]


def arrays() -> dict[str, np.ndarray]:
    """Arguments and places in one block of memory."""
    block = np.linspace(0.5, 2.0, 3 * N)
    return {
        "x": block[:N], "y": block[N : 2 * N], "over x": block[1 : N + 1],
        "over both": block[N - 2 : 2 * N - 2], "beside": block[2 * N :], "new": np.full(N, np.nan),
    }  # fmt: skip


def pairs() -> Iterator[tuple[str, str]]:
    names = (*arrays(), "captured")
    return itertools.product(names, names)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_places_that_share_memory(f):
    compiled = nbgrad.compile(f)
    kept = CAPTURED.copy()
    for first, second in pairs():
        for _ in range(2):  # the second time by the way in that is written for these arguments
            known = arrays()
            expected = [np.array(r) for r in f(known["x"].copy(), known["y"].copy())]
            places = known | {"captured": CAPTURED}
            after = {name: array.copy() for name, array in places.items()}
            out = places[first], places[second]
            if np.shares_memory(*out):  # one result would be lost
                with pytest.raises(ValueError, match="two arrays of out= share memory"):
                    compiled(known["x"], known["y"], out=out)
                CAPTURED[...] = kept
                continue
            found = compiled(known["x"], known["y"], out=out)
            assert found[0] is out[0] and found[1] is out[1]
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
            for name, array in places.items():  # nothing else is written
                if not any(np.shares_memory(array, place) for place in out):
                    np.testing.assert_array_equal(array, after[name])
            CAPTURED[...] = kept


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_new_results_share_memory_with_nothing(f):
    compiled = nbgrad.compile(f)
    known = arrays()
    last = None
    for _ in range(3):
        found = compiled(known["x"], known["y"])
        others = [known["x"], known["y"], CAPTURED, *(last or ())]
        assert not any(np.shares_memory(a, b) for a in found for b in others)
        assert not np.shares_memory(*found)
        last = found
    again = compiled(known["x"], known["x"])
    for a, b in zip(again, f(known["x"], known["x"]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS[:4], ids=lambda f: f.__name__)
def test_places_that_share_memory_from_compiled_code(f):
    variant = nbgrad.compile(f).variant(np.ones(N), np.ones(N))
    into = variant.njit_into
    kept = CAPTURED.copy()
    for first, second in pairs():
        known = arrays()
        expected = [np.array(r) for r in f(known["x"].copy(), known["y"].copy())]
        places = known | {"captured": CAPTURED}
        out = places[first], places[second]
        into(known["x"], known["y"], *out)
        CAPTURED[...] = kept
        if "captured" in (first, second):
            continue  # copied when the function was first asked for
        np.testing.assert_allclose(out[1], expected[1], rtol=1e-12)
        if not np.shares_memory(*out):
            np.testing.assert_allclose(out[0], expected[0], rtol=1e-12)


def test_a_state_that_is_written_over_and_returned():
    def f(x, y):
        z = nbgrad.loop(3, lambda i, s: s * 1.5 + y[::-1], x)
        return z, x

    compiled = nbgrad.compile(f)
    for first, second in pairs():
        if "captured" in (first, second):
            continue
        known = arrays()
        expected = [np.array(r) for r in f(known["x"].copy(), known["y"].copy())]
        out = known[first], known[second]
        if np.shares_memory(*out):
            continue
        compiled(known["x"], known["y"], out=out)
        np.testing.assert_allclose(out[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(out[1], expected[1], rtol=1e-12)


def test_a_defect_put_back_is_found():
    def written_over(number):
        x = np.arange(1.0, 101.0)  # far more than vectors hold
        f = nbgrad.compile(lambda x: x[::-1] * 2.0 + number)
        f(x, out=x)
        return x

    right = np.arange(100.0, 0.0, -1.0) * 2.0
    with DEFECTS["out-over-arguments"]():
        assert (written_over(0.25) != right + 0.25).any()
    np.testing.assert_array_equal(written_over(0.5), right + 0.5)
