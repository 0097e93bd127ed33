"""Functions of SciPy on arrays in functions with loops, under SciPy's names and ours."""

# SciPy's stubs know less than SciPy.
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.signal

import nbgrad
from nbgrad import njit
from nbgrad.scipy import fft, linalg, signal

KERNEL = np.array([0.2, 0.5, 0.1])


def squared(f):
    return lambda x: (np.abs(f(x)) ** 2).sum() + (f(x).real ** 3).sum()


TRANSFORMS = {
    "dct": lambda home: lambda x: home.dct(x),
    "dct 1": lambda home: lambda x: home.dct(x, type=1),
    "idct ortho": lambda home: lambda x: home.idct(x, norm="ortho"),
    "dct 4": lambda home: lambda x: home.dct(x, 4, norm="forward"),
    "dst": lambda home: lambda x: home.dst(x, norm="ortho"),
    "dst 3": lambda home: lambda x: home.dst(x, type=3),
    "fft": lambda home: lambda x: home.fft(x, norm="ortho"),
    "hfft": lambda home: lambda x: home.hfft(x, 10),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_any_length(name):
    plain, ours = (TRANSFORMS[name](home) for home in (scipy.fft, fft))
    compiled = njit(squared(plain))
    for n in (6, 9):  # one program for both
        x = np.random.default_rng(n).normal(size=n)
        value, slope = nbgrad.value_and_grad(compiled)(x)
        assert np.isclose(value, squared(plain)(x))
        np.testing.assert_allclose(slope, nbgrad.grad(squared(ours))(x), atol=1e-9)


TWO_AXES = {
    "dctn": lambda home: lambda x: home.dctn(x, norm="ortho"),
    "dst, first axis": lambda home: lambda x: home.dst(x, axis=0),
    "hfft2": lambda home: lambda x: home.hfft2(x),
    "ihfftn": lambda home: lambda x: home.ihfftn(x, norm="ortho"),
    "rfft2": lambda home: lambda x: home.rfft2(x),
}


@pytest.mark.parametrize("name", TWO_AXES)
def test_transforms_along_several_axes(name):
    plain, ours = (TWO_AXES[name](home) for home in (scipy.fft, fft))
    compiled = njit(squared(plain))
    for shape in ((4, 6), (5, 3)):
        x = np.random.default_rng(0).normal(size=shape)
        value, slope = nbgrad.value_and_grad(compiled)(x)
        assert np.isclose(value, squared(plain)(x))
        np.testing.assert_allclose(slope, nbgrad.grad(squared(ours))(x), atol=1e-9)


SOS = scipy.signal.butter(4, 0.3, output="sos")
OF_VECTORS = {
    "fftconvolve": lambda s, _: lambda x: s.fftconvolve(x, KERNEL),
    "fftconvolve same": lambda s, _: lambda x: s.fftconvolve(x, KERNEL, mode="same"),
    "oaconvolve": lambda s, _: lambda x: s.oaconvolve(x, x[1:], mode="valid"),
    "lfilter": lambda s, _: lambda x: s.lfilter([0.3], [1.0, -0.7], x),
    "sosfilt": lambda s, _: lambda x: s.sosfilt(SOS, x),
}


@pytest.mark.parametrize("name", OF_VECTORS)
def test_signals(name):
    plain, ours = (
        OF_VECTORS[name](*homes) for homes in ((scipy.signal, scipy.linalg), (signal, linalg))
    )
    compiled = njit(squared(plain))
    for n in (8, 13):
        x = np.random.default_rng(n).normal(size=n)
        value, slope = nbgrad.value_and_grad(compiled)(x)
        assert np.isclose(value, squared(plain)(x))
        np.testing.assert_allclose(slope, nbgrad.grad(squared(ours))(x), atol=1e-9)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_two_lengths(mode):
    @njit
    def loss(x, h):
        return (scipy.signal.fftconvolve(x, h, mode) ** 2).sum()

    x, h = np.random.default_rng(0).normal(size=9), np.random.default_rng(1).normal(size=4)
    for a, b in ((x, h), (h, x), (x, x)):
        value, slopes = nbgrad.value_and_grad(loss, (0, 1))(a, b)
        assert np.isclose(value, (scipy.signal.fftconvolve(a, b, mode) ** 2).sum())
        ours = nbgrad.grad(lambda a, b: (signal.fftconvolve(a, b, mode) ** 2).sum(), (0, 1))
        for found, expected in zip(slopes, ours(a, b), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)


RIGHT = np.arange(1.0, 5.0)
OF_MATRICES = {
    "solve": lambda home: lambda a: home.solve(a, RIGHT, assume_a="pos"),
    "inv": lambda home: lambda a: home.inv(a, check_finite=False),
    "det": lambda home: lambda a: home.det(a),
    "cho_solve": lambda home: lambda a: home.cho_solve(home.cho_factor(a, lower=True), RIGHT),
    "solve_triangular": lambda home: lambda a: home.solve_triangular(a, RIGHT, lower=True),
    "lstsq": lambda home: lambda a: home.lstsq(a, RIGHT)[0],
    "expm": lambda home: lambda a: home.expm(0.1 * a),
}


@pytest.mark.parametrize("name", OF_MATRICES)
def test_linear_algebra(name):
    plain, ours = (OF_MATRICES[name](home) for home in (scipy.linalg, linalg))
    a = np.random.default_rng(0).normal(size=(4, 4))
    a = a @ a.T + 3.0 * np.eye(4)

    def loss(f):
        return lambda a: np.sum(f(a) ** 2)

    value, slope = nbgrad.value_and_grad(njit(loss(plain)))(a)
    assert np.isclose(value, loss(plain)(a))
    np.testing.assert_allclose(slope, nbgrad.grad(loss(ours))(a), rtol=1e-8, atol=1e-12)


def test_a_spectral_time_step():
    """A heat equation by cosine transforms, in a loop: the derivative with respect to its rate."""

    @njit
    def last(u, rate):
        k = np.arange(u.size) * (np.pi / u.size)
        for _ in range(5):
            u = scipy.fft.idct(scipy.fft.dct(u) * np.exp(-rate * k**2))
        return (u**2).sum()

    u = np.random.default_rng(0).normal(size=7)
    c = scipy.fft.dct(u, norm="ortho")
    k = np.arange(7) * (np.pi / 7)
    value, slope = nbgrad.value_and_grad(last, 1)(u, 0.1)
    assert np.isclose(value, (c**2 * np.exp(-k * k)).sum())
    assert np.isclose(slope, -(10 * k * k * c**2 * np.exp(-k * k)).sum())


def test_why_a_function_is_refused():
    with pytest.raises(nbgrad.NoRuleError, match="sqrtm is eager only: it needs Schur factors"):
        nbgrad.grad(njit(lambda a: scipy.linalg.sqrtm(a).sum()))(np.eye(3))
