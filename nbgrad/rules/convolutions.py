"""Convolutions and correlations of two vectors."""

import numpy as np

from ..core.array import implements
from ..core.primitive import Aval, bind, shape_of
from ..errors import ArgumentError, EmptyError
from ..kernels import running
from . import patterns
from .dtypes import held, type_of
from .families import Bilinear, sample
from .forms import reductions as forms
from .layout import given
from .select import are_whole

# The transpose of each row is the other one or itself, so that no unused sum is computed.


def _full(x, y):
    if are_whole(x, y):
        return _windows(np.pad(x, shape_of(y)[0] - 1), y)
    return bind(convolve_row, x, y)


def _inside(x, y):
    if are_whole(x, y):
        return _windows(x, y)
    return bind(overlap_row, x, y)


def _windows(x, y):
    """Products of windows of x with the reversed y, of any dtype, over a batch."""
    n, m = shape_of(x)[-1], shape_of(y)[-1]
    windows = np.take(x, np.arange(n - m + 1)[:, None] + np.arange(m), axis=-1)
    return np.squeeze(windows @ np.flip(y, -1)[..., None], -1)


def _full_batch(row, size, args, batched):
    (x, y), (has_x, _) = args, batched
    if not has_x:
        x, y = y, x
    m = shape_of(y)[-1]
    return _windows(np.pad(x, ((0, 0), (m - 1, m - 1))), y)


def _inside_batch(row, size, args, batched):
    (x, y), (has_x, _) = args, batched
    return _windows(x if has_x else np.broadcast_to(x, (size, *shape_of(x))), y)


convolve_row = Bilinear(
    "convolve", lambda x, y: np.convolve(held(x), held(y)),
    lambda x, y: Aval.of((x.shape[0] + y.shape[0] - 1,), type_of(np.multiply, x, y)),
    lambda ct, x, y: _inside(ct, np.flip(y)), lambda ct, x, y: _inside(ct, np.flip(x)),
    samples=[sample((4,), (3,)), sample((2,), (5,)), sample((1,), (3,)), sample((1,), (1,))],
    function=np.convolve, form=forms.of_rows(running.convolved), batch=_full_batch,
    pattern=patterns.convolved,
)  # fmt: skip
overlap_row = Bilinear(
    "overlap", lambda x, y: np.convolve(held(x), held(y), "valid"),
    lambda x, y: Aval.of((x.shape[0] - y.shape[0] + 1,), type_of(np.multiply, x, y)),
    lambda ct, x, y: _full(ct, np.flip(y)), lambda ct, x, y: np.flip(_inside(x, np.flip(ct))),
    samples=[sample((4,), (3,)), sample((5,), (2,)), sample((3,), (1,)), sample((1,), (1,))],
    reference=lambda x, y: np.convolve(x, y, "valid"), form=forms.of_rows(running.overlapped),
    batch=_inside_batch, pattern=patterns.overlapped,
    notes="the convolution in mode 'valid', where the second argument is not longer",
)  # fmt: skip


def whole_or_given(x):
    """An array from an argument; lists of integers stay integers."""
    return np.asarray(x) if isinstance(x, (list, tuple)) and are_whole(x) else given(x)


def _rows(op: str, a, v):
    a, v = (whole_or_given(x) for x in (a, v))
    a, v = (x if shape_of(x) else np.reshape(x, -1) for x in (a, v))
    for x in (a, v):
        if len(shape_of(x)) != 1:
            raise ArgumentError(f"{op}: an array of shape {shape_of(x)}; both have one axis")
        if not shape_of(x)[0]:
            raise EmptyError(f"{op}: an array is empty")
    return a, v


def _sums(a, v, mode: str, op: str):
    """The part of the convolution of a and v that `mode` keeps."""
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"{op}: mode={mode!r} must be 'full', 'same' or 'valid'")
    n, m = shape_of(a)[0], shape_of(v)[0]
    if mode == "valid":
        return _inside(a, v) if n >= m else _inside(v, a)
    full = _full(a, v)
    start = (min(n, m) - 1) // 2
    return full if mode == "full" else full[start : start + max(n, m)]


@implements(np.convolve)
def convolve(a, v, mode="full"):
    """The discrete convolution of two vectors."""
    return _sums(*_rows("convolve", a, v), mode, "convolve")


@implements(np.correlate)
def correlate(a, v, mode="valid"):
    """The cross-correlation of two vectors."""
    a, v = _rows("correlate", a, v)
    n, m = shape_of(a)[0], shape_of(v)[0]
    if n < m and mode == "same":  # NumPy keeps the other end
        return _full(a, np.flip(v))[n // 2 : n // 2 + m]
    return _sums(a, np.flip(v), mode, "correlate")
