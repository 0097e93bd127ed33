"""Reductions over some axes, and spreading back over them.

A contiguous array is seen as (outer, length, inner): the middle axis is reduced. Sums keep
`reassoc` to their own addition, in chunks so that long sums lose no digits.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..compiler.attributes import noalias
from ..compiler.kernel import Kernel, kernel
from ..ir.reductions import CHUNK
from ..threads.pieces import LIGHT, by_rows, cut_long, is_long
from ..threads.pool import in_pieces
from .scalar import offset, radd, select
from .shapes import reduced

# Elements that the search for a maximum looks at together: 8 KiB, which stay in the first cache.
_BLOCK = 1024


@kernel
def sum_all(x):
    """The sum of all elements, as a number."""
    total = x.dtype.type(0.0)
    for start in range(0, x.size, CHUNK):
        part = x.dtype.type(0.0)
        for j in range(start, min(start + CHUNK, x.size)):
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
            for start in range(0, length, CHUNK):
                part = x.dtype.type(0.0)
                for j in range(start, min(start + CHUNK, length)):
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

    Most blocks of a long row hold none of those and are only cleared. Ties are counted on the way,
    and divided by only where there are some. `scratch` holds `inner` elements: the counts.
    """
    zero, one = ct.dtype.type(0.0), ct.dtype.type(1.0)
    if inner == 1:
        for o in range(outer):
            best, share, ties = out[o], ct[o], zero
            end = (o + 1) * length
            for start in range(o * length, end, _BLOCK):
                stop, count = min(start + _BLOCK, end), zero
                for j in range(start, stop):
                    count = radd(count, select(x[offset(j)] == best, one, zero))
                for j in range(start, stop):
                    x_bar[offset(j)] = zero
                if count > zero:
                    ties += count
                    for j in range(start, stop):
                        x_bar[offset(j)] = select(x[offset(j)] == best, share, zero)
            if ties > one:
                for j in range(length):
                    x_bar[offset(o * length + j)] /= ties
        return
    for o in range(outer):
        most = zero
        for i in range(inner):
            scratch[i] = zero
        for j in range(length):
            for i in range(inner):
                k, c = offset((o * length + j) * inner + i), offset(o * inner + i)
                tied = x[k] == out[c]
                x_bar[k] = select(tied, ct[c], zero)
                scratch[offset(i)] += select(tied, one, zero)
        for i in range(inner):
            scratch[i] = max(scratch[i], one)  # none is tied with nan
            most = max(most, scratch[i])
        if most > one:
            for j in range(length):
                for i in range(inner):
                    x_bar[offset((o * length + j) * inner + i)] /= scratch[offset(i)]


@kernel
def prod_pullback(ct, x, x_bar, scratch, outer, length, inner):
    """Each element gets ct times the product of those before it and of those behind it.

    A running product waits for each of its steps, so along one axis both run at once, from either
    end. `scratch` holds `inner` elements: the running products.
    """
    noalias()
    if inner == 1:
        for o in range(outer):
            before, behind = ct[o], x.dtype.type(1.0)
            for j in range(length):
                left, right = offset(o * length + j), offset(o * length + length - 1 - j)
                if left < right:
                    x_bar[left], x_bar[right] = before, behind
                elif left == right:
                    x_bar[left] = before * behind
                else:
                    x_bar[left] *= before
                    x_bar[right] *= behind
                before, behind = before * x[left], behind * x[right]
        return
    for o in range(outer):
        for i in range(inner):
            scratch[offset(i)] = ct[offset(o * inner + i)]
        for j in range(length):
            for i in range(inner):
                k = offset((o * length + j) * inner + i)
                x_bar[k] = scratch[offset(i)]
                scratch[offset(i)] *= x[k]
        for i in range(inner):
            scratch[offset(i)] = x.dtype.type(1.0)
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


def summed(
    x: np.ndarray, out: np.ndarray, outer: int, length: int, inner: int, factor: float
) -> None:
    """`sum_middle`; where x is long, in pieces, whose sums are added in order."""
    sum_middle.calls += 1
    call = sum_middle.dispatcher
    if not is_long(x.size // LIGHT):
        call(x, out, outer, length, inner, factor)
        return
    size = cut_long(length, x.size // LIGHT) if outer == 1 else length
    if size >= length:
        by_rows(lambda n, x, out: call(x, out, n, length, inner, factor), outer, x, out)
        return
    parts = np.empty((-(-length // size), inner), x.dtype)

    def piece(k: int) -> None:
        part = x[k * size * inner : (k + 1) * size * inner]
        call(part, parts[k], 1, part.size // inner, inner, 1.0)

    in_pieces(len(parts), piece)
    call(parts.ravel(), out, 1, len(parts), inner, factor)


def repeated(
    x: np.ndarray, out: np.ndarray, outer: int, length: int, inner: int, factor: float
) -> None:
    """`spread_middle`; in pieces where `out` is long."""
    spread_middle.calls += 1
    call = spread_middle.dispatcher
    if not is_long(out.size):
        call(x, out, outer, length, inner, factor)
    elif outer == 1:
        by_rows(lambda n, out: call(x, out, 1, n, inner, factor), length, out)
    else:
        by_rows(lambda n, x, out: call(x, out, n, length, inner, factor), outer, x, out)


def middle(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, int, int] | None:
    """(outer, length, inner) for sorted `axes` of an array, or None where they are scattered."""
    first, last = (axes[0], axes[-1] + 1) if axes else (len(shape), len(shape))
    if last - first != len(axes):
        return None
    return math.prod(shape[:first]), math.prod(shape[first:last]), math.prod(shape[last:])


def loop_sizes(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, int, int]:
    """(outer, length, inner), where scattered axes are moved to the end."""
    if sizes := middle(shape, axes):
        return sizes
    shape = tuple([shape[axis] for axis in _order(len(shape), axes)])
    kept = len(shape) - len(axes)
    return math.prod(shape[:kept]), math.prod(shape[kept:]), 1


def _view(x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Flat elements; scattered axes are moved to the end first."""
    return (x if middle(x.shape, axes) else x.transpose(_order(x.ndim, axes))).ravel()


def _order(ndim: int, axes: Sequence[int]) -> list[int]:
    """All axes, `axes` last."""
    return [axis for axis in range(ndim) if axis not in axes] + list(axes)


def total(
    x: np.ndarray, axes: Sequence[int], keepdims: bool = False, factor: float = 1.0
) -> np.ndarray:
    """`factor` times the sum over `axes`."""
    out = np.empty(reduced(x.shape, axes, keepdims), x.dtype)
    summed(_view(x, axes), out.ravel(), *loop_sizes(x.shape, axes), factor)
    return out


def pulled(
    kernel: Kernel, ct: np.ndarray, x: np.ndarray, axes: Sequence[int], *more: np.ndarray
) -> np.ndarray:
    """The cotangent of `x`, which was reduced over `axes`: a pullback kernel fills it.

    `more` are of the shape of `x`, or of what it was reduced to.
    """
    order = None if middle(x.shape, axes) else _order(x.ndim, axes)
    x_bar = np.empty([x.shape[axis] for axis in order] if order else x.shape, x.dtype)
    _run(kernel, axes, x, [ct, x, *more], x_bar)
    return np.array(x_bar.transpose(np.argsort(order)), order="C") if order else x_bar


def pushed(
    kernel: Kernel, x: np.ndarray, x_dot: np.ndarray, out: np.ndarray, axes: Sequence[int]
) -> np.ndarray:
    """The tangent of `out`, to which `x` was reduced over `axes`: a kernel fills it."""
    out_dot = np.empty(out.shape, x.dtype)
    _run(kernel, axes, x, [x, x_dot, out], out_dot)
    return out_dot


def _run(
    kernel: Kernel, axes: Sequence[int], x: np.ndarray, arrays: Sequence, result: np.ndarray
) -> None:
    """Call a kernel on the flat elements of arrays of the shape of x or of what it is reduced to;
    in pieces where x is long."""
    outer, length, inner = loop_sizes(x.shape, axes)
    flat = [_view(y, axes) if y.shape == x.shape else y.ravel() for y in arrays]

    def run(rows: int, *parts: np.ndarray) -> None:
        kernel.dispatcher(*parts, np.empty(inner, x.dtype), rows, length, inner)

    kernel.calls += 1
    if is_long(x.size):
        by_rows(run, outer, *flat, result.ravel())
    else:
        run(outer, *flat, result.ravel())


def spread(x: np.ndarray, shape: tuple[int, ...], axes: Sequence[int]) -> np.ndarray:
    """`x` repeated along `axes` of `shape`, of which it has none or length 1."""
    out = np.empty(shape, x.dtype)
    sizes = middle(shape, axes)
    if sizes is None:
        out[...] = x.reshape(reduced(shape, axes, True))
    else:
        repeated(x.ravel(), out.ravel(), *sizes, 1.0)
    return out
