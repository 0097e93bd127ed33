"""Filters and convolutions by Fourier transforms, beside SciPy's."""

# The annotations of SciPy know no tracked arrays.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOperatorIssue=false

import numpy as np
import pytest
import scipy.fft
import scipy.signal

import nbgrad
from nbgrad.errors import ArgumentError, ComplexError, DimensionMismatch, NoRuleError, StaticError
from nbgrad.rules.surface import filters
from nbgrad.scipy import fft, signal

RNG = np.random.default_rng(0)
B, A = RNG.normal(size=4), np.array([2.0, 0.3, -0.2])
X = RNG.normal(size=(2, 30))
SOS = scipy.signal.butter(3, 0.3, output="sos")


def same_in_all_modes(function, *args, orders=2):
    """Derivatives against differences, and compiled ones against those."""

    def loss(*args):
        return np.sum(function(*args) ** 3)

    nbgrad.check_grads(loss, args, order=orders)
    slope = nbgrad.grad(loss, tuple(range(len(args))))
    for found, wanted in zip(nbgrad.compile(slope)(*args), slope(*args), strict=True):
        assert np.allclose(found, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "b, a", [(B, A), (B[:1], A[:2]), (B, A[:1]), scipy.signal.butter(3, 0.3)], ids=range(4)
)
def test_lfilter_is_that_of_scipy(b, a):
    x = np.moveaxis(np.stack([X, -X]), 2, 1)
    assert np.allclose(filters.lfilter(b, a, x, 1), scipy.signal.lfilter(b, a, x, axis=1))
    order = max(len(a), len(b)) - 1
    zi = RNG.normal(size=(2, order, 2))
    for n in (30, 2, 1):
        found = filters.lfilter(b, a, x[:, :n], 1, zi)
        for y, wanted in zip(found, scipy.signal.lfilter(b, a, x[:, :n], 1, zi), strict=True):
            assert np.allclose(y, wanted)
    assert np.allclose(filters.lfilter_zi(b, a), scipy.signal.lfilter_zi(b, a))
    for pad in ("odd", "even", "constant", None):
        wanted = scipy.signal.filtfilt(b, a, x, 1, pad)
        assert np.allclose(filters.filtfilt(b, a, x, 1, pad), wanted)


def test_long_filters_go_by_fourier_transforms():
    x, b = RNG.normal(size=300), RNG.normal(size=100)
    assert np.allclose(filters.lfilter(b, [1.0], x), scipy.signal.lfilter(b, [1.0], x))


def test_sections():
    assert np.allclose(filters.sosfilt(SOS, X), scipy.signal.sosfilt(SOS, X))
    zi = scipy.signal.sosfilt_zi(SOS)
    assert np.allclose(filters.sosfilt_zi(SOS), zi)
    found = filters.sosfilt(SOS, X[0], zi=zi)
    for y, wanted in zip(found, scipy.signal.sosfilt(SOS, X[0], zi=zi), strict=True):
        assert np.allclose(y, wanted)
    assert np.allclose(filters.sosfiltfilt(SOS, X), scipy.signal.sosfiltfilt(SOS, X))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(
    "shapes", [((7,), (3,)), ((5, 6), (2, 3)), ((3, 4), (5, 6)), ((4, 1, 6), (2, 5, 3))]
)
def test_fftconvolve_is_that_of_scipy(mode, shapes):
    x, y = (RNG.normal(size=shape) for shape in shapes)
    wanted = scipy.signal.fftconvolve(x, y, mode)
    assert np.allclose(filters.fftconvolve(x, y, mode), wanted)
    assert np.allclose(filters.oaconvolve(x, y, mode), wanted)


def test_derivatives():
    x = X[:, :9]
    same_in_all_modes(signal.lfilter, B, A, x)
    same_in_all_modes(lambda b, a, x: signal.filtfilt(b, a, x, padlen=4), B, A, x)
    same_in_all_modes(lambda x, y: signal.fftconvolve(x, y, "same"), X[:, :5], B.reshape(2, 2))
    same_in_all_modes(signal.sosfilt, SOS, x, orders=1)


def test_samples():
    each = [signal.lfilter(B, a, X[0]) for a in (A, 2 * A)]
    assert np.allclose(
        nbgrad.vmap(lambda a: signal.lfilter(B, a, X[0]))(np.stack([A, 2 * A])), each
    )
    assert np.allclose(nbgrad.vmap(lambda x: signal.lfilter(B, A, x))(X), signal.lfilter(B, A, X))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: signal.lfilter(np.ones((2, 2)), [1.0], x), DimensionMismatch),
        (lambda x: signal.lfilter([], [1.0], x), DimensionMismatch),
        (lambda x: signal.lfilter([1.0], [0.0, 1.0], x), ArgumentError),
        (lambda x: signal.lfilter([1.0, 2.0], [1.0], x, zi=np.ones((2, 3))), DimensionMismatch),
        (lambda x: signal.sosfilt(x, x), DimensionMismatch),
        (lambda x: signal.filtfilt(np.ones(20), [1.0], x), ArgumentError),
        (lambda x: signal.filtfilt(B, A, x, method="gust"), NoRuleError),
        (lambda x: signal.filtfilt(B, A, x, padtype="wrap"), ArgumentError),
        (lambda x: signal.fftconvolve(x, np.ones(2)), DimensionMismatch),
        (lambda x: signal.fftconvolve(x, x, "all"), ArgumentError),
        (lambda x: signal.fftconvolve(x, x, "same", ()), ArgumentError),
    ],
    ids=range(11),
)  # fmt: skip
def test_wrong_arguments_are_named(call, error):
    with pytest.raises(error):
        nbgrad.vjp(call, X)


def test_a_default_that_depends_on_values_is_not_compiled():
    with pytest.raises(StaticError, match="padlen"):
        nbgrad.compile(lambda sos: np.sum(signal.sosfiltfilt(sos, X)))(SOS)


def test_complex_signals():
    z, b, a = nbgrad.track(X + 1j * X[::-1]), B, A
    for call, wanted in (
        (signal.lfilter(b, a, z), scipy.signal.lfilter(b, a, z.data)),
        (signal.sosfiltfilt(SOS, z), scipy.signal.sosfiltfilt(SOS, z.data)),
        (signal.fftconvolve(z, z * 1j), scipy.signal.fftconvolve(z.data, 1j * z.data)),
        (signal.fftconvolve(z, X, "same"), scipy.signal.fftconvolve(z.data, X, "same")),
        (fft.dct(z), scipy.fft.dct(z.data)),
    ):
        assert np.allclose(call.data, wanted)
    y, left = signal.lfilter(b, a, z, zi=np.ones((2, 3)))
    wanted = scipy.signal.lfilter(b, a, z.data, zi=np.ones((2, 3), complex))
    assert np.allclose(y.data, wanted[0]) and np.allclose(left.data, wanted[1])
    with pytest.raises(ComplexError, match="a is complex"):
        signal.lfilter(b, a * 1j, z)
