"""`np.fft` in functions with loops: NumPy's values, derivatives of tracked arrays, other code."""

from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest
from checkers import arithmetic
from checkers.functions import runnable
from helpers.daily import daily

import nbgrad
from nbgrad.adjoints.library import with_calls
from nbgrad.errors import LoopError
from nbgrad.kernels import fourier_plans
from nbgrad.loops.calls import Bound

F = np.fft
RNG = np.random.default_rng(0)
Z = RNG.normal(size=(2, 3, 4)) + 1j * RNG.normal(size=(2, 3, 4))
X = RNG.normal(size=(2, 3, 4))


def size(z, k):
    """A number that depends on all of an array."""
    return np.sum(np.abs(z) ** 2 * (1.0 + k) + z.real)


def along_an_axis(z, n):
    total = size(F.fft(z), 0) + size(F.fft(z, 6, 1, "ortho"), 1) + size(F.ifft(z, n, axis=0), 2)
    total += size(F.irfft(z), 3) + size(F.irfft(z, 5, norm="forward"), 4) + size(F.hfft(z), 5)
    return total + size(F.fft(z[:, ::2, 1], axis=0), 6) + size(F.ifft(z.T, norm="forward"), 7)


def of_real_numbers(x, n):
    total = size(F.fft(x), 0) + size(F.ifft(x, 5), 1) + size(F.rfft(x), 2) + size(F.ihfft(x), 3)
    total += size(F.rfft(x, n, 0, "ortho"), 4) + size(F.irfft(x, axis=1), 5)
    return total + F.fft(x).imag.sum() + F.ifft(x).imag[1, 1, 1]


def along_axes(z, n):
    total = size(F.fft2(z), 0) + size(F.fftn(z, (n, 3), (0, 2)), 1) + size(F.ifftn(z), 2)
    total += size(F.irfft2(z, norm="ortho"), 3) + size(F.irfftn(z, (3, 2, 7), (1, 0, 2)), 4)
    return total + size(F.ifft2(z.real, axes=(0, 1)), 5) + F.fft2(z).real[0, 1, 2]


def halves_along_axes(x, n):
    total = size(F.rfft2(x), 0) + size(F.rfftn(x, norm="forward"), 1)
    return total + size(F.rfft2(x, (n, -1), (2, 0)), 2)


def shifts(z, n):
    total = size(F.fftshift(z) * z, 0) + size(F.ifftshift(z, axes=1) * z, 1)
    total += np.sum(F.fftfreq(n, z.real[0, 0, 0]) ** 2) + F.rfftfreq(2 * n)[n]
    return total + size(F.fftshift(z.real, (0, 2)) * z, 2)


def a_step_in_time(z, n):
    """Split-step propagation: transforms in a loop whose states are read backward."""
    k = F.fftfreq(z.shape[2]) ** 2
    for i in range(n):
        z = F.ifft(np.exp(-1j * k) * F.fft(z * np.exp(0.1j * np.abs(z) ** 2)))
        if i == 1:
            z = z * 0.5
    return size(z, 0)


PROGRAMS = {
    along_an_axis: Z, of_real_numbers: X, along_axes: Z, halves_along_axes: X, shifts: Z,
    a_step_in_time: Z,
}  # fmt: skip


@pytest.mark.parametrize("program", daily(PROGRAMS, 3))
def test_values_and_derivatives(program):
    z, compiled = PROGRAMS[program], nbgrad.njit(program)
    wanted, slope = nbgrad.value_and_grad(program)(z, 3)
    value, found = nbgrad.value_and_grad(compiled)(z, 3)
    assert np.isclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(found, slope, rtol=1e-10, atol=1e-10)
    direction = z[::-1] - 1.0
    _, tangent = nbgrad.jvp(compiled, (z, 3), (direction, None))
    assert np.isclose(tangent, np.sum((np.conj(slope) * direction).real), rtol=1e-10)


@pytest.mark.parametrize("program", daily(PROGRAMS, 1))
def test_numba_compiles_them(program):
    z = PROGRAMS[program]
    assert np.isclose(nbgrad.njit(program)(z, 3), program(z, 3), rtol=1e-12)


@nbgrad.njit
def smooth(z):
    return F.ifft(F.fft(z) * np.exp(-(F.fftfreq(len(z)) ** 2))).real


def test_every_transformation():
    z = Z[0, 0] * (1 + X[1, 1])

    def loss(s, z=z):
        return np.sum(smooth(z * s) ** 4)

    plain = lambda s: np.sum(smooth.py_func(z * s) ** 4)  # noqa: E731
    assert np.isclose(nbgrad.hessian(loss)(1.3), nbgrad.hessian(plain)(1.3))
    rows = np.stack([z, 2j * z, z**2])
    assert np.allclose(nbgrad.vmap(smooth)(rows), [smooth(row) for row in rows])
    slope = nbgrad.grad(lambda z: np.sum(smooth(z) ** 4))
    assert np.allclose(nbgrad.compile(slope)(z), slope(z))
    wanted = nbgrad.grad(lambda z: np.sum(smooth.py_func(z) ** 4))(z)
    assert np.allclose(slope(z), wanted)


@pytest.mark.full
def test_other_code_of_numba_calls_them():
    @numba.njit
    def used(z, x):
        return smooth(z).sum(), F.rfft(x, axis=1), F.fftshift(z)

    z = Z[0, 0].astype(np.complex64)
    total, half, shifted = used(z, X)
    assert np.isclose(total, smooth.py_func(z).sum(), rtol=1e-5)
    assert np.allclose(half, F.rfft(X, axis=1))
    assert np.array_equal(shifted, F.fftshift(z))
    assert nbgrad.njit(lambda z: F.fft(z))(z).dtype == np.complex64
    whole = nbgrad.compile(lambda z: F.fft(z)).variant(Z).njit
    real, imag = numba.njit(lambda z: whole(z.real, z.imag))(Z)
    assert np.allclose(real + 1j * imag, F.fft(Z))


@pytest.mark.parametrize("n", daily([1, 2, 11, 22, 60, 1 << 16], 3))
def test_lengths_of_every_kind(n):
    z = RNG.normal(size=n) + 1j * RNG.normal(size=n)
    found = lengths(z)
    for got, want in zip(found, lengths.py_func(z), strict=True):
        assert np.allclose(got, want, rtol=1e-12, atol=1e-12 * n)


@nbgrad.njit
def lengths(z):
    return F.fft(z), F.rfft(z.real), F.irfft(z, len(z))


def test_plans_above_the_bound_are_lent(monkeypatch):
    monkeypatch.setattr(fourier_plans, "_MOST", 0)
    z = RNG.normal(size=37) + 0j
    assert np.allclose(lengths(z)[0], F.fft(z))
    assert not fourier_plans._lent


NORM: Any = "none"
REFUSED: dict[str, Any] = {
    "axis that is not a constant: write it out": lambda z, k: F.fft(z, axis=k),
    "axes that is not a constant": lambda z, k: F.fftn(z, axes=(0, k)),
    "axis 3 of an array of 3 axes": lambda z, k: F.fft(z, axis=3),
    "norm='none' must be": lambda z, k: F.fft(z, norm=NORM),
    "rfft of a complex array: take its real part": lambda z, k: F.rfft(z),
    "axis -1 of an array of 0 axes": lambda z, k: F.fft(z[0, 0, 0]),
}


@pytest.mark.parametrize("why", REFUSED)
def test_refusals(why):
    f, numbas = REFUSED[why], numba.njit(REFUSED[why])
    with pytest.raises(LoopError, match=why):
        nbgrad.grad(nbgrad.njit(lambda z, k: np.abs(f(z, k)).sum()))(Z, 1)
    with pytest.raises(numba.TypingError, match=why):
        numbas(Z, 1)  # pyright: ignore[reportCallIssue]


def test_lengths_that_are_refused():
    f = nbgrad.njit(lambda z, n: F.fft(z, n).real.sum())
    for call in (f, nbgrad.grad(f)):
        with pytest.raises(ValueError, match="needs 1 number or more"):
            call(Z, 0)


def spectra(x, z):
    half = F.rfft(x, axis=0) * 2.0
    return F.irfft(half, 5, axis=0)[:, 0] + F.ifft(F.fft(z)).imag[1]


def test_the_loops_do_what_the_calls_do():
    """The loops that are analysed, and the calls that are run, in an interpreter."""
    x, z = X[:, 0, :2].copy(), Z[0, 0]
    compiled: Any = nbgrad.njit(spectra)
    signature = Bound(compiled, (x, z), {}).signature
    calls = replace(signature.primal, body=with_calls(signature.primal.body))
    for function in (signature.primal, calls):
        result = {}
        given = {i: v for i, v in enumerate(x.ravel())}
        parts = [dict(enumerate(p)) for p in (z.real, z.imag)]
        passed = [given, *x.shape, parts[0], len(z), parts[1], len(z), result, 5]
        arithmetic.begin(10**6)
        runnable(function)(*passed)
        assert np.allclose([result[i] for i in range(5)], spectra(x, z))
