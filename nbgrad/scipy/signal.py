"""`scipy.signal` with autograd's `convolve`, and filters that accept tracked arrays.

>>> from nbgrad.scipy.signal import lfilter
>>> nbgrad.grad(lambda a: lfilter([1.0], [1.0, a], np.ones(3))[-1])(0.5)
np.float64(0.0)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.signal as _plain

from ..core.primitive import shape_of
from ..errors import ArgumentError, DimensionMismatch
from ..rules.layout import given
from ..rules.surface import filters as _own
from .by_parts import linear_in as _linear_in
from .by_parts import product as _product
from .names import tracked_by as _tracked_by

if TYPE_CHECKING:
    from scipy.signal import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

    def __getattr__(name: str) -> Any: ...


__all__ = []
__all__ += _plain.__all__
_names = {name: getattr(_plain, name) for name in __all__}
_extended = {name: getattr(_own, name) for name in _own.__all__}
for _name in ("fftconvolve", "oaconvolve"):
    _extended[_name] = _product(_extended[_name])
for _name in ("filtfilt", "lfilter", "sosfilt", "sosfiltfilt"):
    _extended[_name] = _linear_in("x", "zi")(_extended[_name])
_names |= {name: _tracked_by(own)(_names[name]) for name, own in _extended.items()}
globals().update(_names)


def convolve(
    A: Any,
    B: Any,
    axes: Sequence[Sequence[int]] | str | None = None,
    dot_axes: Sequence[Sequence[int]] | None = None,
    mode: str = "full",
) -> Any:
    """Convolve two arrays along some of their axes.

    Arguments:
        A, B: arrays.
        axes: two lists of equal length, axes of A and of B to convolve in pairs; by default all.
        dot_axes: two lists of axes to multiply and sum in pairs; by default none.
        mode: "full", "valid" or "same", as in SciPy. It may be passed in place of `axes`.

    The result has the remaining axes of A, then those of B, then the convolved axes. Raises
    DimensionMismatch for "valid" if neither array is larger along all axes, ValueError for another
    mode.

    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0]), mode="valid")
    array([1., 1.])
    """
    if isinstance(axes, str):
        axes, mode = None, axes
    if mode not in ("full", "valid", "same"):
        raise ArgumentError(f"convolve: mode={mode!r} must be 'full', 'valid' or 'same'")
    a, b = given(A), given(B)
    along_a, along_b = axes or (range(a.ndim), range(b.ndim))
    dot_a, dot_b = dot_axes or ((), ())
    along_a, dot_a, along_b, dot_b = (
        tuple([range(x.ndim)[i] for i in places])
        for x, places in ((a, along_a), (a, dot_a), (b, along_b), (b, dot_b))
    )
    if len(along_a) != len(along_b) or len(dot_a) != len(dot_b):
        raise DimensionMismatch("convolve: axes and dot_axes must be two lists of equal length")
    lengths = [shape_of(b)[i] for i in along_b]
    fits = [n >= m for n, m in zip((shape_of(a)[i] for i in along_a), lengths, strict=True)]
    swapped = mode == "valid" and not all(fits)
    if swapped:
        if any(n != shape_of(a)[i] for ok, n, i in zip(fits, lengths, along_a, strict=True) if ok):
            raise DimensionMismatch(
                f"convolve: of arrays of shapes {shape_of(a)} and {shape_of(b)}, neither is the "
                "larger one along all axes, which mode='valid' requires"
            )
        a, b, along_a, along_b, dot_a, dot_b = b, a, along_b, along_a, dot_b, dot_a
        lengths = [shape_of(b)[i] for i in along_b]
    pads = [(0, 0)] * a.ndim
    for axis, m in zip(along_a, lengths, strict=True):
        after = {"full": m - 1, "same": (m - 1) // 2, "valid": 0}[mode]
        pads[axis] = (0 if mode == "valid" else m - 1 if mode == "full" else m - 1 - after, after)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(a, pads), lengths, along_a)
    inner = [*dot_a, *range(a.ndim, a.ndim + len(lengths))]
    out = np.tensordot(windows, np.flip(b, along_b), (inner, [*dot_b, *along_b]))
    left = [i for i in range(a.ndim) if i not in dot_a]
    of_a = [k for k, i in enumerate(left) if i not in along_a]
    of_b = [*range(len(left), out.ndim)]
    along = [left.index(i) for i in along_a]
    return np.transpose(out, [*of_b, *of_a, *along] if swapped else [*of_a, *of_b, *along])
