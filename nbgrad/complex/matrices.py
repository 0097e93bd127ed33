"""Linear algebra of complex matrices.

Systems are solved as real ones of twice the size, [[A, -B], [B, A]].
"""

from typing import Any

import numpy as np

from .calls import complexly
from .elementary import exp, log, multiply
from .pair import ComplexArray, joined, parts_of


def doubled(a: Any) -> Any:
    """The real matrix of twice the size that acts on real and imaginary parts as `a` does."""
    real, imag = parts_of(a)
    if type(imag) is float:
        imag = 0.0 * real
    top = np.concatenate([real, -imag], axis=-1)
    return np.concatenate([top, np.concatenate([imag, real], axis=-1)], axis=-2)


@complexly(np.linalg.solve)
def solve(a, b):
    real, imag = parts_of(b)
    if type(imag) is float:
        imag = 0.0 * real
    is_vector = real.ndim == 1
    axis = -1 if is_vector else -2
    out = np.linalg.solve(doubled(a), np.concatenate([real, imag], axis=axis))
    n = a.shape[-1]
    return (
        ComplexArray(out[..., :n], out[..., n:])
        if is_vector
        else ComplexArray(out[..., :n, :], out[..., n:, :])
    )


@complexly(np.linalg.inv)
def inv(a):
    n = a.shape[-1]
    out = np.linalg.inv(doubled(a))
    return ComplexArray(out[..., :n, :n] + 0.0, out[..., n:, :n] + 0.0)


def _columns(a: Any, rows: int) -> Any:
    return a[..., rows:, :]


assert exp and log and multiply and joined
