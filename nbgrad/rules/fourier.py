"""Discrete Fourier transforms, of pairs of real arrays: the planes of real and imaginary parts.

The rows are not normalised, and work along one axis. The result of a complex one is one array of
both planes, stacked, so that there is one pullback. The transpose of a transform is the inverse
one; those from real numbers to half of the spectrum and back are the transposes of each other,
where the numbers of the half that stand for two of the spectrum have the same weight in both.
"""

import numpy as np

from ..core.primitive import Aval, bind
from ..kernels import fourier as kernels
from ..kernels.twiddles import DFT, HALF_TO_REAL, REAL_TO_HALF
from . import batching
from .dtypes import float_type
from .families import Linear, sample
from .forms import fourier as forms

__all__ = ["dft", "half_to_real", "real_to_half"]


def _of_samples(primitive, size, args, batched, *, axis, **params):
    """The planes stay in front of the samples."""
    out = bind(primitive, *batching.spread(size, args, batched), axis=axis + 1, **params)
    return out if primitive is half_to_real_row else np.moveaxis(out, 1, 0)


def _floats(*arrays):
    dtype = float_type(*(x.dtype for x in arrays))
    return [np.ascontiguousarray(x, dtype) for x in arrays]


def _dft(re, im, *, axis, inverse):
    re, im = _floats(re, im)
    return kernels.fourier(DFT, re, im, re.shape[axis], axis, inverse)


def _dft_transposed(ct, args, *, axis, inverse):
    out = bind(dft_row, ct[0], ct[1], axis=axis, inverse=not inverse)
    return [out[0], out[1]]


def _dft_reference(re, im, *, axis, inverse):
    z = re + 1j * im
    out = np.fft.ifft(z, axis=axis) * z.shape[axis] if inverse else np.fft.fft(z, axis=axis)
    return np.stack([out.real, out.imag])


dft_row = Linear(
    "dft", _dft, lambda re, im, *, axis, inverse: Aval.of((2, *re.shape), float_type(re, im)),
    _dft_transposed, batch=_of_samples, form=forms.dft, reference=_dft_reference,
    samples=[
        sample((4,), (4,), axis=0, inverse=False), sample((3, 5), (3, 5), axis=1, inverse=True),
        sample((6, 2), (6, 2), axis=0, inverse=False),
        sample((2, 11), (2, 11), axis=1, inverse=True),
        sample((0, 3), (0, 3), axis=1, inverse=False),
    ],
    notes="both planes of the discrete Fourier transform of re + i im, or of the inverse one, "
    "without a factor",
)  # fmt: skip


# -- real numbers ---------------------------------------------------------------------------------


def _with_length(shape, axis, n):
    return (*shape[:axis], n, *shape[axis + 1 :])


def _real_to_half(x, *, axis, weight):
    (x,) = _floats(x)
    return kernels.fourier(REAL_TO_HALF, x, x, x.shape[axis], axis, False, weight)


def _real_to_half_infer(x, *, axis, weight):
    shape = _with_length(x.shape, axis, x.shape[axis] // 2 + 1)
    return Aval.of((2, *shape), float_type(x))


def _weights(n, axis, ndim, weight):
    """`weight` for the numbers of half a spectrum that stand for two, 1 for others."""
    k = np.arange(n // 2 + 1)
    weights = np.where((k == 0) | (2 * k == n), 1, weight)
    return weights.reshape(-1, *(1,) * (ndim - 1 - axis))


def _real_to_half_reference(x, *, axis, weight):
    weights = _weights(x.shape[axis], axis, x.ndim, weight).astype(float_type(x.dtype))
    out = np.fft.rfft(x, axis=axis) * weights
    return np.stack([out.real, out.imag])


real_to_half_row = Linear(
    "real_to_half", _real_to_half, _real_to_half_infer,
    lambda ct, args, *, axis, weight: [
        bind(half_to_real_row, ct[0], ct[1], n=args[0].shape[axis], axis=axis, weight=weight)
    ],
    batch=_of_samples, form=forms.real_to_half, reference=_real_to_half_reference,
    samples=[
        sample((4,), axis=0, weight=1), sample((2, 5), axis=1, weight=2),
        sample((6, 3), axis=0, weight=2), sample((0, 3), axis=1, weight=1),
        sample((1,), axis=0, weight=1), sample((2, 22), axis=1, weight=1),
    ],
    notes="both planes of the first n // 2 + 1 numbers of the spectrum of real numbers; those that "
    "stand for two numbers of the spectrum times `weight`",
)  # fmt: skip


def _half_to_real(re, im, *, n, axis, weight):
    re, im = _floats(re, im)
    return kernels.fourier(HALF_TO_REAL, re, im, n, axis, False, weight)


def _half_to_real_reference(re, im, *, n, axis, weight):
    weights = _weights(n, axis, re.ndim, weight / 2).astype(float_type(re.dtype, im.dtype))
    return np.fft.irfft((re + 1j * im) * weights, n, axis) * n


def _half_to_real_transposed(ct, args, *, n, axis, weight):
    out = bind(real_to_half_row, ct, axis=axis, weight=weight)
    return [out[0], out[1]]


half_to_real_row = Linear(
    "half_to_real", _half_to_real,
    lambda re, im, *, n, axis, weight: Aval.of(
        _with_length(re.shape, axis, n), float_type(re, im)
    ),
    _half_to_real_transposed, batch=_of_samples, form=forms.half_to_real,
    reference=_half_to_real_reference,
    samples=[
        sample((4,), (4,), n=6, axis=0, weight=2), sample((2, 3), (2, 3), n=5, axis=1, weight=1),
        sample((5, 3), (5, 3), n=8, axis=0, weight=2), sample((1,), (1,), n=1, axis=0, weight=2),
        sample((0, 2), (0, 2), n=3, axis=1, weight=2),
    ],
    notes="the real numbers whose spectrum begins with re + i im, without a factor: the numbers "
    "that stand for two count `weight` times",
)  # fmt: skip


# -- functions ------------------------------------------------------------------------------------


def dft(re, im, axis: int, inverse: bool = False):
    """The planes of the discrete Fourier transform of re + i im along an axis, not normalised."""
    return tuple(bind(dft_row, re, im, axis=axis % len(re.shape), inverse=inverse))


def real_to_half(x, axis: int):
    """The planes of the first n // 2 + 1 numbers of the transform of real numbers."""
    return tuple(bind(real_to_half_row, x, axis=axis % len(x.shape), weight=1))


def half_to_real(re, im, n: int, axis: int):
    """The n real numbers whose transform begins with re + i im, times n."""
    return bind(half_to_real_row, re, im, n=n, axis=axis % len(re.shape), weight=2)
