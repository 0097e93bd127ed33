"""Calls of compiled programs with complex arguments and results, also by generated callers."""

from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad.static.entry import python_entry

Z = np.array([1.0 + 2.0j, -0.5j, 3.0])


@pytest.fixture
def soon(monkeypatch):
    """Let the second call make the caller."""
    monkeypatch.setattr(python_entry, "AFTER", 0)


@pytest.mark.parametrize(
    ("a", "dtype"),
    [
        (1.0 + 2.0j, np.complex64), (np.complex128(1.0 + 2.0j), np.complex128),
        (np.complex64(1.0 + 2.0j), np.complex64), (np.array(1.0 + 2.0j), np.complex128),
    ],
    ids=lambda a: type(a).__name__,
)  # fmt: skip
def test_callers_take_complex_numbers_and_arrays(soon, a, dtype):
    b: Any = Z.astype(dtype)
    f = nbgrad.compile(lambda a, b: {"product": a * b, "parts": (b.real, [b])})
    first = f(a, b)
    f(a, b)
    assert f.func.__name__ == "call"
    for result in (first, f(a, b), f(a, np.repeat(b, 2)[::2])):
        np.testing.assert_allclose(result["product"], a * b, rtol=1e-6)
        assert result["product"].dtype == first["product"].dtype
        np.testing.assert_array_equal(result["parts"][0], b.real)
        np.testing.assert_array_equal(result["parts"][1][0], b)
    # Other arguments go another way.
    np.testing.assert_array_equal(f(a, b.real)["parts"][1][0], b.real)
    np.testing.assert_array_equal(f(a, b[:2])["parts"][1][0], b[:2])


def test_results_in_given_arrays(soon):
    f = nbgrad.compile(lambda z: (2.0 * z[::-1], np.abs(z), {"z": z * 1j}))
    room = np.empty((3, 2), complex)
    out = np.empty(3, complex), np.empty(3), {"z": room[:, 1]}
    for _ in range(3):
        result = f(Z, out=out)
        assert result[0] is out[0] and result[1] is out[1] and result[2]["z"] is out[2]["z"]
        np.testing.assert_array_equal(out[0], 2.0 * Z[::-1])
        np.testing.assert_array_equal(out[1], np.abs(Z))
        np.testing.assert_array_equal(room[:, 1], Z * 1j)
        for x in (out[0], out[1], room):
            x[...] = 0.0


def test_a_result_over_its_argument():
    z = Z.copy()
    assert nbgrad.compile(lambda z: z[::-1] * 2.0)(z, out=z) is z
    np.testing.assert_array_equal(z, 2.0 * Z[::-1])


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty(4, complex), r"shape \(3,\) and dtype float64"),
        (np.empty(3, np.complex64), "it is float32"),
        (np.empty(3), "complex numbers stand for complex arrays"),
    ],
)
def test_wrong_places_are_named(out, message):
    with pytest.raises(ValueError, match=message):
        nbgrad.compile(lambda z: z * 2.0)(Z, out=out)


def test_places_that_share_memory_are_refused():
    x = np.empty(3, complex)
    with pytest.raises(ValueError, match="share memory"):
        nbgrad.compile(lambda z: (z * 2.0, z))(Z, out=(x, x))


@pytest.mark.parametrize("start", [Z, Z.astype(np.complex64), 1.0 - 1.0j])
def test_plain_complex_states(start):
    kind = np.result_type(start)
    turn = kind.type(0.6 + 0.8j)

    def step(z, x):
        return z * turn, z + x

    xs = np.arange(3.0, dtype=kind.type(0).real.dtype)
    last, rows = nbgrad.scan(step, start, xs)
    np.testing.assert_allclose(last, start * turn**3, rtol=1e-5)
    np.testing.assert_allclose(rows[2], start * turn**2 + 2.0, rtol=1e-5)
    np.testing.assert_allclose(
        nbgrad.loop(3, lambda i, z: z * turn, start), start * turn**3, rtol=1e-5
    )
