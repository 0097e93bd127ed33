"""Calls of NumPy and SciPy with constants, in functions with loops."""

# SciPy's stubs know less than SciPy.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportAssignmentType=false, reportOperatorIssue=false, reportOptionalSubscript=false
# pyright: reportGeneralTypeIssues=false

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.signal

import nbgrad
from nbgrad import njit


def short_time_spectrum(x):
    window = np.hanning(8)
    total = 0.0
    for k in range(0, x.size - 8, 4):
        spectrum = scipy.fft.rfft(x[k : k + 8] * window)
        total += np.sum(np.log(1e-3 + np.abs(spectrum) ** 2))
    return total


def filtered(x):
    b, a = scipy.signal.butter(2, 0.3)
    return (scipy.signal.lfilter(b, a, x) ** 2).sum()


def quadrature(x):
    nodes, weights = np.polynomial.legendre.leggauss(5)
    total = 0.0
    for i in range(5):
        total += weights[i] * np.exp(-x[0] * nodes[i] ** 2) * x[1]
    return total


def derivative_by_fourier(x):
    k = scipy.fft.fftfreq(x.size) * 2 * np.pi
    return (scipy.fft.ifft(scipy.fft.fft(x) * 1j * k).real ** 2).sum()


def of_a_matrix(x):
    return ((scipy.linalg.hilbert(8) @ x[:8]) ** 2).sum()


def written(x):
    total = 0.0
    for _ in range(3):
        window = scipy.signal.windows.hann(8)
        window[0] += 0.5
        total += (window * x[:8]).sum() ** 2
    return total


PROGRAMS = (
    short_time_spectrum, filtered, quadrature, derivative_by_fourier, of_a_matrix, written,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_derivatives(program):
    rng = np.random.default_rng(0)
    x, way, step = rng.normal(size=33), rng.normal(size=33), 1e-6
    value, slope = nbgrad.value_and_grad(njit(program))(x)
    assert np.isclose(value, program(x))
    difference = (program(x + step * way) - program(x - step * way)) / (2 * step)
    assert np.isclose(slope @ way, difference, rtol=1e-5)


def test_what_such_a_call_raises_is_told():
    @njit
    def loss(x):
        return (scipy.signal.butter(2, 3.0)[0] * x[0]).sum()

    with pytest.raises(nbgrad.NoRuleError, match="a call of butter: ValueError: Digital filter"):
        nbgrad.grad(loss)(np.ones(3))
