"""Toeplitz matrices and products with them; public in `nbgrad.linalg`."""

import importlib
from typing import Any

import numpy as np

from ...core.primitive import Aval, bind, shape_of
from ...errors import DimensionMismatch
from ...kernels.shapes import broadcast
from .. import batching
from ..dtypes import float_type
from ..families import Bilinear, sample
from ..forms import reductions as forms
from ..layout import given
from ..select import take
from .widened import takes_complex

__all__ = ["matmul_toeplitz", "toeplitz"]

# Multiply-adds up to which direct sums are faster than Fourier transforms.
_FEW = 1 << 14
# Lengths of x or of the result up to which direct sums are faster for any length of the other.
_SHORT = 64


def _windows(v, x):
    return np.lib.stride_tricks.sliding_window_view(v, x.shape[-1], -1)


def _slide(v, x):
    """The products of x with all windows of v; by Fourier transforms for long vectors."""
    dtype = float_type(v.dtype, x.dtype)
    v, x = np.asarray(v, dtype), np.asarray(x, dtype)
    length, n = v.shape[-1], x.shape[-1]
    if v.ndim == x.ndim == 1 and 0 < min(n, length - n + 1) <= _SHORT:
        return np.correlate(v, x, "valid")
    if length * n <= _FEW:
        return (_windows(v, x) @ x[..., None])[..., 0]
    fft = importlib.import_module("scipy.fft")
    size = fft.next_fast_len(length, real=True)
    product = fft.rfft(v, size) * np.conj(fft.rfft(x, size))
    return np.ascontiguousarray(fft.irfft(product, size)[..., : length - n + 1])


def _slide_infer(v, x):
    lead = broadcast("matmul_toeplitz", v.shape[:-1], x.shape[:-1])
    return Aval.of((*lead, v.shape[-1] - x.shape[-1] + 1), float_type(v, x))


def _back_to_windows(ct, v, x):
    """The transpose in v: zero-padded ct times the reversed x."""
    n = shape_of(x)[-1]
    sides = ((0, 0),) * (len(shape_of(ct)) - 1)
    return bind(sliding, np.pad(ct, (*sides, (n - 1, n - 1))), np.flip(x, -1))


sliding = Bilinear(
    "sliding_product", _slide, _slide_infer, _back_to_windows,
    lambda ct, v, x: bind(sliding, v, ct), batch=batching.broadcast, form=forms.sliding,
    reference=lambda v, x: np.einsum("...ij,...j->...i", _windows(v, x), x),
    samples=[sample((5,), (3,)), sample((4,), (4,)), sample((2, 6), (3,)), sample((3,), (2, 2))],
    notes="out[i] is the sum of v[i + j] * x[j] over j, along the last axis",
)  # fmt: skip


def _ends(op: str, c: Any, r: Any) -> tuple[Any, int, int]:
    """The elements of a Toeplitz matrix, from the lower left corner to the upper right one, and the
    numbers of rows and columns."""
    c = given(c)
    r = c if r is None else given(r)
    if len(shape_of(c)) != 1 or len(shape_of(r)) != 1:
        raise DimensionMismatch(
            f"{op}: the first column and the first row have the shapes {shape_of(c)} and "
            f"{shape_of(r)}: give vectors, or nbgrad.vmap over many"
        )
    return np.concatenate([np.flip(c), r[1:]]), shape_of(c)[0], shape_of(r)[0]


@takes_complex
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix (m, n) that has one number on each diagonal: c[i - j] below, r[j - i] above.

    `c`, of m numbers, is its first column, and `r`, of n numbers, its first row, but for r[0],
    which is not read; `c` again where it is None.

    >>> nbgrad.linalg.toeplitz(np.array([1.0, 2.0]), np.array([1.0, 3.0, 4.0]))
    array([[1., 3., 4.],
           [2., 1., 3.]])
    """
    numbers, m, n = _ends("toeplitz", c, r)
    return take(numbers, np.arange(n) + np.arange(m)[::-1, None], axis=0)


@takes_complex
def matmul_toeplitz(
    c_or_cr: Any, x: Any, check_finite: bool = False, workers: int | None = None
) -> Any:
    """The product `toeplitz(c, r) @ x`, where `c_or_cr` is c or the pair (c, r).

    `x` is a vector (n,) or a matrix (n, k). The matrix is not made: long products go by Fourier
    transforms, as SciPy's, exact to rounding of the largest numbers, and compiled programs add up
    n * m products. `check_finite` and `workers` are as in SciPy's signature and mean nothing.

    Raises DimensionMismatch for shapes that do not fit.

    >>> nbgrad.linalg.matmul_toeplitz((np.array([1.0, 2.0]), np.array([1.0, 3.0])), np.ones(2))
    array([4., 3.])
    """
    is_pair = isinstance(c_or_cr, tuple) and len(c_or_cr) == 2
    c, r = c_or_cr if is_pair else (c_or_cr, None)
    x = given(x)
    numbers, m, n = _ends("matmul_toeplitz", c, r)
    if len(shape_of(x)) not in (1, 2) or shape_of(x)[0] != n:
        raise DimensionMismatch(
            f"matmul_toeplitz: a matrix of the shape {(m, n)} and x of the shape {shape_of(x)} do "
            f"not fit: x must have {n} rows"
        )
    if not n or not m:
        return toeplitz(c, r) @ x
    return np.flip(np.transpose(bind(sliding, numbers, np.transpose(x))), 0)
