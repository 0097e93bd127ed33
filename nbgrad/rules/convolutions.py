"""Convolutions and correlations of two rows of numbers, and products of polynomials."""

import numpy as np

from ..core.array import implements
from ..core.primitive import Aval, bind, shape_of
from .dtypes import held, type_of
from .families import Bilinear, sample
from .forms import reductions as forms
from .layout import given
from .select import are_whole, on_values


def _compute(x, y):
    return np.convolve(held(x), held(y))


def _infer(x: Aval, y: Aval) -> Aval:
    return Aval.of((x.shape[0] + y.shape[0] - 1,), type_of(np.multiply, x, y))


def _other(ct, given, n: int):
    """The transpose: ct correlated with what is given, where both overlap wholly."""
    m = shape_of(given)[0]
    return bind(convolve_row, ct, np.flip(given))[m - 1 : m - 1 + n]


def _batch(row, size, args, batched):
    """Products of windows of one with the other, which runs backwards."""
    (x, y), (has_x, _) = args, batched
    if not has_x:
        x, y = y, x
    n, m = shape_of(x)[-1], shape_of(y)[-1]
    wide = np.pad(x, ((0, 0), (m - 1, m - 1)))
    windows = np.take(wide, np.arange(n + m - 1)[:, None] + np.arange(m), axis=-1)
    return np.squeeze(windows @ np.flip(y, -1)[..., None], -1)


convolve_row = Bilinear(
    "convolve", _compute, _infer,
    lambda ct, x, y: _other(ct, y, shape_of(x)[0]), lambda ct, x, y: _other(ct, x, shape_of(y)[0]),
    samples=[sample((4,), (3,)), sample((2,), (5,)), sample((1,), (3,)), sample((1,), (1,))],
    function=np.convolve, form=forms.convolve, batch=_batch,
)  # fmt: skip


def _rows(op: str, a, v):
    a, v = (np.reshape(given(x), -1) if not shape_of(given(x)) else given(x) for x in (a, v))
    for x in (a, v):
        if len(shape_of(x)) != 1:
            raise ValueError(f"{op}: an array of shape {shape_of(x)}; both have one axis")
        if not shape_of(x)[0]:
            raise ValueError(f"{op}: an array is empty")
    return a, v


def _part(full, n: int, m: int, mode: str, op: str):
    """What a mode keeps of n + m - 1 sums."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{op}: mode={mode!r} must be 'full', 'same' or 'valid'")
    less = min(n, m)
    if mode == "full":
        return full
    if mode == "valid":
        return full[less - 1 : max(n, m)]
    start = (less - 1) // 2
    return full[start : start + max(n, m)]


_convolve, _correlate = on_values(np.convolve), on_values(np.correlate)


@implements(np.convolve)
def convolve(a, v, mode="full"):
    """Sums of products of one row of numbers with another that runs backwards."""
    if are_whole(a, v):
        return _convolve(a, v, mode)
    a, v = _rows("convolve", a, v)
    n, m = shape_of(a)[0], shape_of(v)[0]
    return _part(bind(convolve_row, a, v), n, m, mode, "convolve")


@implements(np.correlate)
def correlate(a, v, mode="valid"):
    """Sums of products of one row of numbers with another at every shift."""
    if are_whole(a, v):
        return _correlate(a, v, mode)
    a, v = _rows("correlate", a, v)
    n, m = shape_of(a)[0], shape_of(v)[0]
    full = bind(convolve_row, a, np.flip(v))
    if n < m and mode == "same":  # NumPy keeps as much at the other end
        return full[n // 2 : n // 2 + m]
    return _part(full, n, m, mode, "correlate")
