"""Cosine and sine transforms, beside SciPy's."""

# The annotations of SciPy know no tracked arrays.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOperatorIssue=false

import warnings

import numpy as np
import pytest
import scipy.fft

import nbgrad
from nbgrad.errors import ArgumentError, DimensionMismatch
from nbgrad.rules.surface import cosines
from nbgrad.scipy import fft

X = np.random.default_rng(0).normal(size=(2, 12, 3))
KINDS = ["dct", "idct", "dst", "idst"]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("type", [1, 2, 3, 4])
def test_transforms_are_those_of_scipy(name, type):
    ours, theirs = getattr(cosines, name), getattr(scipy.fft, name)
    for n in range(2 if type == 1 else 1, 12):
        for norm in (None, "ortho", "forward"):
            for orthogonalize in (None, True, False):
                options = {"norm": norm, "orthogonalize": orthogonalize}
                wanted = theirs(X, type, n, 1, **options)
                assert np.allclose(ours(X, type, n, 1, **options), wanted, 1e-12, 1e-12)
    ours, theirs = getattr(cosines, f"{name}n"), getattr(scipy.fft, f"{name}n")
    assert np.allclose(ours(X, type, (6, 4), norm="ortho"), theirs(X, type, (6, 4), norm="ortho"))
    assert ours(X.astype(np.float32), type).dtype == np.float32


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [4, 5])
def test_derivatives(type, n):
    x = X[:, :n, 0]

    def loss(x):
        return np.sum(fft.dctn(x, type) ** 3) + np.sum(fft.idst(x, type, axis=0) ** 3)

    nbgrad.check_grads(loss, (x,), order=2)
    slope = nbgrad.grad(loss)
    assert np.allclose(nbgrad.compile(slope)(x), slope(x), 1e-11, 1e-11)
    assert np.allclose(nbgrad.vmap(lambda x: fft.dct(x, type))(x), fft.dct(x, type))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: fft.dct(x, type=5), ArgumentError),
        (lambda x: fft.dct(x, n=0), ArgumentError),
        (lambda x: fft.dct(x, norm="other"), ArgumentError),
        (lambda x: fft.dct(x, axis=3), np.exceptions.AxisError),
        (lambda x: fft.dctn(x, s=(3,) * 4), ArgumentError),
        (lambda x: fft.dctn(x, axes=(1, 1)), ArgumentError),
        (lambda x: fft.dctn(x, s=(3, 3), axes=(1,)), ArgumentError),
        (lambda x: fft.dct(x[:, :1], type=1, axis=1), ArgumentError),
        (lambda x: fft.dct(x[0, 0, 0]), DimensionMismatch),
    ],
    ids=range(9),
)
def test_wrong_arguments_are_named(call, error):
    with pytest.raises(error):
        nbgrad.vjp(call, X)


def test_fourier_transforms_are_those_of_scipy():
    x, z = X[..., 0], X[..., 0] + 1j * X[..., 1]
    for name in ("fft", "ifft", "irfft", "hfft", "fft2", "ifft2", "irfft2", "fftn", "ifftn"):
        for each in (x, z):
            found = getattr(fft, name)(x=nbgrad.track(each), norm="ortho", workers=1)
            assert np.allclose(found.data, getattr(scipy.fft, name)(each, norm="ortho"))
    for name in ("rfft", "ihfft", "rfft2", "rfftn", "fftshift"):
        assert np.allclose(getattr(fft, name)(nbgrad.track(x)).data, getattr(scipy.fft, name)(x))
    for name in ("hfft2", "hfftn", "ihfft2", "ihfftn"):
        for norm in (None, "ortho", "forward"):
            found = getattr(fft, name)(nbgrad.track(x), norm=norm, workers=1)
            assert np.allclose(found.data, getattr(scipy.fft, name)(x, norm=norm))
    assert np.allclose(fft.fft(nbgrad.track(z), 6, 0, None, True, 1).data, scipy.fft.fft(z, 6, 0))
    assert np.array_equal(fft.fft(z), scipy.fft.fft(z))


@pytest.mark.parametrize(
    "transform", [fft.fft, fft.dct, fft.idct, fft.dst], ids=lambda f: f.__name__
)
def test_named_lengths_take_one_compilation(transform):
    def loss(x):
        return np.sum(np.abs(transform(x)) ** 3)

    compiled = nbgrad.compile(nbgrad.grad(loss), dynamic={"x": ("n",)})
    with warnings.catch_warnings(action="error"):
        for n in (6, 9, 16):
            x = np.random.default_rng(n).normal(size=n)
            np.testing.assert_allclose(compiled(x), nbgrad.grad(loss)(x), rtol=1e-9)
