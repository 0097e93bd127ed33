"""NumPy's Fourier transforms of tracked arrays, real and complex."""

# What is wrong on purpose, and what NumPy's annotations do not know.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false

import numpy as np
import pytest

import nbgrad
import nbgrad.numpy
from nbgrad.errors import ArgumentError, ComplexError, DimensionMismatch, NbgradError

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(4, 6, 5)) + 1j * RNG.normal(size=(4, 6, 5))
X = Z.real.copy()
COMPLEX = ["fft", "ifft", "irfft", "hfft"]
REAL = [*COMPLEX, "rfft", "ihfft"]
F = np.fft


def check(function, x, *args, **options):
    wanted, found = function(x, *args, **options), function(nbgrad.track(x), *args, **options).data
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    rounding = 1e-12 if wanted.dtype in (np.float64, np.complex128) else 1e-5
    assert np.allclose(found, wanted, rounding, rounding * np.max(np.abs(wanted)))


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "complex64"])
def test_values_are_those_of_numpy(dtype, norm):
    x, is_real = (X if dtype[0] == "f" else Z).astype(dtype), dtype[0] == "f"
    for name in REAL if is_real else COMPLEX:
        for axis in (0, 1, -1):
            for n in (None, 3, 8, 1):
                check(getattr(F, name), x, n, axis, norm)
    for s, axes in ((None, (0, 1)), ((3, 8), (0, 2)), ((4, 4), (-2, -1))):
        for name in ("fft", "ifft", "irfft", "rfft")[: 4 if is_real else 3]:
            check(getattr(F, f"{name}2"), x, s, axes, norm)
            check(getattr(F, f"{name}n"), x, s, axes, norm)
            check(getattr(F, f"{name}n"), x, None, None, norm)


def test_integers_and_lists():
    check(F.fft, np.arange(6.0), 8)
    x = nbgrad.track(np.float64(2.0))
    assert np.allclose(nbgrad.numpy.fft.fft([x, x * 1.0]).data, [4.0, 0.0])


@pytest.mark.parametrize(
    "transform",
    [
        lambda z: F.ifft(F.fft(z) ** 2),
        lambda z: F.fft2(z, norm="ortho"),
        lambda z: F.ifftn(z, (3, 7)),
        lambda z: F.irfft(z, 7, axis=0),
        lambda z: F.hfft(z),
        lambda z: F.fftshift(F.irfft2(z)),
        lambda z: F.ihfft(z.real * z.imag),
        lambda z: F.rfft2(z.real),
        lambda z: F.fft(z.real, axis=0) * F.ifft(z.imag, axis=0),
    ],
    ids=range(9),
)
def test_derivatives(transform):
    def loss(re, im):
        return np.sum(np.abs(transform(re + 1j * im)) ** 4)

    parts = X[0], Z[0].imag.copy()
    nbgrad.check_grads(loss, parts, order=2)
    slope = nbgrad.grad(loss, (0, 1))
    found, wanted = nbgrad.compile(slope)(*parts), slope(*parts)
    assert all(np.allclose(x, y, 1e-11, 1e-11) for x, y in zip(found, wanted, strict=True))


def test_transformations_of_complex_arrays():
    transform = np.fft.fft
    assert np.allclose(nbgrad.vmap(transform)(Z[0]), transform(Z[0]))
    assert np.allclose(nbgrad.compile(transform)(Z[0]), transform(Z[0]))
    assert np.allclose(nbgrad.jvp(transform, (Z[0],), (Z[1],))[1], transform(Z[1]))

    def loss(z):
        return np.sum(np.abs(transform(z)) ** 2)

    # Parseval: the sum is n times that of the numbers.
    assert np.allclose(nbgrad.grad(loss)(Z[0]), 2 * 5 * Z[0])
    assert np.allclose(nbgrad.compile(nbgrad.grad(loss))(Z[0]), 2 * 5 * Z[0])


def test_compiled_transforms_of_parts_of_a_spectrum():
    def loss(x):
        z = F.rfft(x)
        parts = (
            np.broadcast_to(z.real[:1], (4, 4)), z.real[::-1], z.imag[:, ::2], z.real[1], z.real.T,
            z.real[1:3], z.imag[None, 2], np.broadcast_to(z.imag, (4, 4, 4)), z.imag[1:2],
        )  # fmt: skip
        return sum(np.sum(np.abs(F.fft(x + (1 + k) * F.ifft(x))) ** 3) for k, x in enumerate(parts))

    x = RNG.normal(size=(4, 6))
    assert np.allclose(nbgrad.compile(loss)(x), loss(x))
    slope = nbgrad.grad(loss)
    assert np.allclose(nbgrad.compile(slope)(x), slope(x))


def test_named_lengths():
    def loss(x):
        return np.sum(np.abs(F.fft(x)) ** 4)

    compiled = nbgrad.compile(nbgrad.grad(loss), dynamic={"x": ("n", None)})
    for n in (3, 5):
        x = RNG.normal(size=(n, 8))
        assert np.allclose(compiled(x), nbgrad.grad(loss)(x))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: F.fft(x, 0), ArgumentError),
        (lambda x: F.fft(x, 2.5), ArgumentError),
        (lambda x: F.fft(x, "a"), ArgumentError),
        (lambda x: F.fftn(x, s=3.5), ArgumentError),
        (lambda x: F.fft(x, norm="other"), ArgumentError),
        (lambda x: F.fft(x, axis=4), np.exceptions.AxisError),
        (lambda x: F.rfft(x * 1j), ComplexError),
        (lambda x: F.ihfft(x * 1j), ComplexError),
        (lambda x: F.fft(x[0, 0, 0]), DimensionMismatch),
        (lambda x: F.irfft(x[..., :1]), ArgumentError),
        (lambda x: F.rfftn(x, axes=()), ArgumentError),
        (lambda x: F.fftn(x, s=(2, 2), axes=(0,)), ArgumentError),
        (lambda x: F.fft(x[..., :0]), ArgumentError),
        (lambda x: F.fft(x, out=np.zeros(x.shape, complex)), NbgradError),
    ],
    ids=range(14),
)
def test_wrong_arguments_are_named(call, error):
    with pytest.raises(error):
        nbgrad.vjp(lambda x: np.abs(call(x)), X)
