"""Fourier transforms of arrays with Hermitian symmetry along several axes, under SciPy's names."""

from typing import Any

import numpy as np

__all__ = ["SWAPPED", "hfft2", "hfftn", "ihfft2", "ihfftn"]

SWAPPED: dict[Any, Any] = {
    None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward",
}  # fmt: skip
"""The normalisation of a transform, by that of the inverse one."""


def hfftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """The spectrum, which is real, of numbers with Hermitian symmetry, of which x is one half."""
    return np.fft.irfftn(np.conj(x), s, axes, SWAPPED.get(norm, norm))


def ihfftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """The inverse of `hfftn`."""
    return np.conj(np.fft.rfftn(x, s, axes, SWAPPED.get(norm, norm)))


def hfft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """`hfftn` along the last two axes."""
    return hfftn(x, s, axes, norm)


def ihfft2(x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """`ihfftn` along the last two axes."""
    return ihfftn(x, s, axes, norm)
