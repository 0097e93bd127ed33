"""Fourier transforms by the kernels, beside NumPy's."""

# What is wrong on purpose, and what NumPy's annotations do not know.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false

import numpy as np
import pytest

from nbgrad.kernels.fourier import fourier
from nbgrad.kernels.twiddles import DFT, HALF_TO_REAL, REAL_TO_HALF, plan_of

# Powers of two, mixed radices, primes of Bluestein's algorithm, one that is done in blocks.
LENGTHS = [*range(1, 18), 22, 35, 49, 64, 97, 128, 210, 512, 1009, 3 << 14]


def close(found, wanted, dtype):
    size = np.max(np.abs(wanted)) if wanted.size else 0.0
    return np.max(np.abs(found - wanted), initial=0.0) <= 30 * np.finfo(dtype).eps * size


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows, inner", [(1, 1), (3, 1), (2, 5)])
def test_lengths_and_axes(dtype, rows, inner):
    rng = np.random.default_rng(0)
    for n in LENGTHS[: None if rows == inner == 1 else -1]:
        re, im = rng.normal(size=(2, rows, n, inner)).astype(dtype)
        z, half = re.astype(float) + 1j * im, n // 2 + 1
        for inverse in (False, True):
            out = fourier(DFT, re, im, n, 1, inverse)
            wanted = n * np.fft.ifft(z, axis=1) if inverse else np.fft.fft(z, axis=1)
            assert out.dtype == dtype
            assert close(out[0] + 1j * out[1], wanted, dtype)
        out = fourier(REAL_TO_HALF, re, re, n, 1, False)
        assert close(out[0] + 1j * out[1], np.fft.rfft(z.real, axis=1), dtype)
        halves = [np.ascontiguousarray(x[:, :half]) for x in (re, im)]
        out = fourier(HALF_TO_REAL, *halves, n, 1, False, 2)
        assert close(out, n * np.fft.irfft(z[:, :half], n, axis=1), dtype)


def test_columns_in_chunks():
    rng = np.random.default_rng(1)
    re, im = rng.normal(size=(2, 1200, 37))
    assert plan_of(DFT, 1200, 37, re.dtype).chunk < 37
    out = fourier(DFT, re, im, 1200, 0, False)
    assert close(out[0] + 1j * out[1], np.fft.fft(re + 1j * im, axis=0), float)
    out = fourier(REAL_TO_HALF, re, re, 1200, 0, False)
    assert close(out[0] + 1j * out[1], np.fft.rfft(re, axis=0), float)
    out = fourier(HALF_TO_REAL, re[:601].copy(), im[:601].copy(), 1200, 0, False, 2)
    assert close(out, 1200 * np.fft.irfft(re[:601] + 1j * im[:601], 1200, axis=0), float)


def test_factors_are_exact_to_rounding():
    j = np.arange(1 << 12)
    out = fourier(DFT, (j == 1).astype(float), 0.0 * j, 1 << 12, 0, False)
    angle = (
        np.longdouble(2) * np.longdouble("3.14159265358979323846264338327950288") * j / (1 << 12)
    )
    assert np.max(np.abs(out[0] - np.cos(angle))) < 4e-16
    assert np.max(np.abs(out[1] + np.sin(angle))) < 4e-16
