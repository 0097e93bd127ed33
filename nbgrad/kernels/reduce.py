"""Reductions over some axes, and spreading back over them.

A contiguous array is seen as (outer, length, inner): the middle axis is reduced. Sums keep
`reassoc` to their own addition, in chunks so that long sums lose no digits.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..shapes import reduced
from ._jit import kernel
from .scalar import offset, radd, select

_CHUNK = 4096


@kernel
def sum_all(x):
    """The sum of all elements, as a number."""
    total = x.dtype.type(0.0)
    for start in range(0, x.size, _CHUNK):
        part = x.dtype.type(0.0)
        for j in range(start, min(start + _CHUNK, x.size)):
            part = radd(part, x[offset(j)])
        total += part
    return total


@kernel
def sum_middle(x, out, outer, length, inner, factor):
    """out[o, i] = factor times the sum over l of x[o, l, i]."""
    factor = x.dtype.type(factor)
    if inner == 1:
        for o in range(outer):
            total = x.dtype.type(0.0)
            for start in range(0, length, _CHUNK):
                part = x.dtype.type(0.0)
                for j in range(start, min(start + _CHUNK, length)):
                    part = radd(part, x[offset(o * length + j)])
                total += part
            out[o] = total * factor
        return
    for o in range(outer):
        for i in range(inner):
            out[offset(o * inner + i)] = 0.0
        for j in range(length):
            for i in range(inner):
                out[offset(o * inner + i)] += x[offset((o * length + j) * inner + i)]
        if factor != 1.0:
            for i in range(inner):
                out[offset(o * inner + i)] *= factor


@kernel
def choice_pullback(ct, x, out, x_bar, scratch, outer, length, inner):
    """Each cotangent goes to the elements equal to `out`, in equal parts where they tie.

    `scratch` holds `inner` elements.
    """
    zero, one = ct.dtype.type(0.0), ct.dtype.type(1.0)
    if inner == 1:
        for o in range(outer):
            best, ties = out[o], zero
            for j in range(length):
                ties = radd(ties, select(x[offset(o * length + j)] == best, one, zero))
            share = select(ct[o] == zero, zero, ct[o] / ties)
            for j in range(length):
                x_bar[offset(o * length + j)] = select(
                    x[offset(o * length + j)] == best, share, zero
                )
        return
    for o in range(outer):
        for i in range(inner):
            scratch[i] = zero
        for j in range(length):
            for i in range(inner):
                tied = x[offset((o * length + j) * inner + i)] == out[offset(o * inner + i)]
                scratch[offset(i)] += select(tied, one, zero)
        for i in range(inner):
            share = ct[offset(o * inner + i)]
            scratch[i] = select(share == zero, zero, share / scratch[i])
        for j in range(length):
            for i in range(inner):
                k = offset((o * length + j) * inner + i)
                x_bar[k] = select(x[k] == out[offset(o * inner + i)], scratch[offset(i)], zero)


@kernel
def prod_pullback(ct, x, x_bar, scratch, outer, length, inner):
    """Each element gets ct times the product of those before it and of those behind it.

    `scratch` holds `inner` elements: the running products.
    """
    for o in range(outer):
        for i in range(inner):
            scratch[i] = ct[offset(o * inner + i)]
        for j in range(length):
            for i in range(inner):
                k = offset((o * length + j) * inner + i)
                x_bar[k] = scratch[offset(i)]
                scratch[offset(i)] *= x[k]
        for i in range(inner):
            scratch[i] = 1.0
        for j in range(length - 1, -1, -1):
            for i in range(inner):
                k = offset((o * length + j) * inner + i)
                x_bar[k] *= scratch[offset(i)]
                scratch[offset(i)] *= x[k]


@kernel
def spread_middle(x, out, outer, length, inner, factor):
    """out[o, l, i] = factor times x[o, i], for every l."""
    factor = x.dtype.type(factor)
    if inner == 1:
        for o in range(outer):
            number = x[o] * factor
            for j in range(length):
                out[offset(o * length + j)] = number
        return
    for o in range(outer):
        for j in range(length):
            for i in range(inner):
                out[offset((o * length + j) * inner + i)] = x[offset(o * inner + i)] * factor


def middle(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, int, int] | None:
    """(outer, length, inner) for sorted `axes` of an array, or None where they are scattered."""
    first, last = (axes[0], axes[-1] + 1) if axes else (len(shape), len(shape))
    if last - first != len(axes):
        return None
    return math.prod(shape[:first]), math.prod(shape[first:last]), math.prod(shape[last:])


def _view(x: np.ndarray, axes: Sequence[int]) -> tuple[np.ndarray, tuple[int, int, int]]:
    """Flat elements with (outer, length, inner); scattered axes are moved to the end first."""
    sizes = middle(x.shape, axes)
    if sizes is None:
        x = x.transpose(_order(x.ndim, axes))
        sizes = middle(x.shape, range(x.ndim - len(axes), x.ndim))
        assert sizes is not None
    return x.ravel(), sizes


def _order(ndim: int, axes: Sequence[int]) -> list[int]:
    """All axes, `axes` last."""
    return [axis for axis in range(ndim) if axis not in axes] + list(axes)


def total(
    x: np.ndarray, axes: Sequence[int], keepdims: bool = False, factor: float = 1.0
) -> np.ndarray:
    """`factor` times the sum over `axes`."""
    out = np.empty(reduced(x.shape, axes, keepdims), x.dtype)
    flat, sizes = _view(x, axes)
    sum_middle(flat, out.ravel(), *sizes, factor)
    return out


def pulled(
    kernel: Callable, ct: np.ndarray, x: np.ndarray, axes: Sequence[int], *more: np.ndarray
) -> np.ndarray:
    """The cotangent of `x`, which was reduced over `axes`: a pullback kernel fills it."""
    flat, sizes = _view(x, axes)
    x_bar, scratch = np.empty(flat.size, x.dtype), np.empty(sizes[2], x.dtype)
    kernel(ct.ravel(), flat, *(array.ravel() for array in more), x_bar, scratch, *sizes)
    if middle(x.shape, axes):
        return x_bar.reshape(x.shape)
    order = _order(x.ndim, axes)
    moved = x_bar.reshape([x.shape[axis] for axis in order])
    return np.ascontiguousarray(moved.transpose(np.argsort(order)))


def spread(x: np.ndarray, shape: tuple[int, ...], axes: Sequence[int]) -> np.ndarray:
    """`x` repeated along `axes` of `shape`, of which it has none or length 1."""
    out = np.empty(shape, x.dtype)
    sizes = middle(shape, axes)
    if sizes is None:
        out[...] = x.reshape(reduced(shape, axes, True))
    else:
        spread_middle(x.ravel(), out.ravel(), *sizes, 1.0)
    return out
