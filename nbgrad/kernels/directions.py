"""Directional derivatives of reductions, and their pullbacks: second derivatives.

As in `reduce.py`, an array is viewed as (outer, length, inner), and the middle axis is reduced.
Each kernel reads the array `x` and the direction `x_dot` once. `out`, the reduction of `x`, must be
finite: a slope of 0 times inf would be nan here.
"""

from ..compiler.attributes import noalias
from ..compiler.kernel import kernel
from ..ir.reductions import CHUNK
from .scalar import offset, radd, select

# Elements that the search for a maximum looks at together, as in reduce.py.
_BLOCK = 1024


@kernel
def norm_slope(x, x_dot, out, out_dot, scratch, outer, length, inner):
    """The sum of x * x_dot over the norm; 0 where that is 0.

    Factors are divided one by one, so that only what is too large or small itself ends as inf or 0.
    """
    zero, one = x.dtype.type(0.0), x.dtype.type(1.0)
    if inner == 1:
        for o in range(outer):
            inverse = select(out[o] == zero, zero, one / select(out[o] == zero, one, out[o]))
            total = zero
            for start in range(o * length, (o + 1) * length, CHUNK):
                part = zero
                for j in range(start, min(start + CHUNK, (o + 1) * length)):
                    part = radd(part, x[offset(j)] * inverse * x_dot[offset(j)])
                total += part
            out_dot[o] = total
        return
    for o in range(outer):
        for i in range(inner):
            c = offset(o * inner + i)
            scratch[offset(i)] = select(
                out[c] == zero, zero, one / select(out[c] == zero, one, out[c])
            )
            out_dot[c] = zero
        for j in range(length):
            for i in range(inner):
                k = offset((o * length + j) * inner + i)
                out_dot[offset(o * inner + i)] += x[k] * scratch[offset(i)] * x_dot[k]


@kernel
def norm_slope_pullback(ct, x, x_dot, out, out_dot, x_bar, scratch, outer, length, inner):
    """The part of x_dot that is orthogonal to x, times ct over the norm; 0 where that is 0."""
    zero, one = x.dtype.type(0.0), x.dtype.type(1.0)
    if inner == 1:
        for o in range(outer):
            inverse = select(out[o] == zero, zero, one / select(out[o] == zero, one, out[o]))
            along, scale = inverse * out_dot[o], ct[o] * inverse
            for j in range(length):
                k = offset(o * length + j)
                x_bar[k] = (x_dot[k] - x[k] * along) * scale
        return
    for o in range(outer):
        for i in range(inner):
            c = offset(o * inner + i)
            scratch[offset(i)] = select(
                out[c] == zero, zero, one / select(out[c] == zero, one, out[c])
            )
        for j in range(length):
            for i in range(inner):
                k, c = offset((o * length + j) * inner + i), offset(o * inner + i)
                inverse = scratch[offset(i)]
                x_bar[k] = (x_dot[k] - x[k] * (inverse * out_dot[c])) * (ct[c] * inverse)


@kernel
def choice_slope(x, x_dot, out, out_dot, scratch, outer, length, inner):
    """The mean of x_dot where x is `out`; nan where it is so nowhere."""
    zero, one = x.dtype.type(0.0), x.dtype.type(1.0)
    if inner == 1:
        for o in range(outer):
            best, total, ties, end = out[o], zero, zero, (o + 1) * length
            for start in range(o * length, end, _BLOCK):
                stop, count = min(start + _BLOCK, end), zero
                for j in range(start, stop):
                    count = radd(count, select(x[offset(j)] == best, one, zero))
                if count > zero:
                    ties += count
                    for j in range(start, stop):
                        total += select(x[offset(j)] == best, x_dot[offset(j)], zero)
            out_dot[o] = total / ties
        return
    for o in range(outer):
        for i in range(inner):
            scratch[offset(i)] = zero
            out_dot[offset(o * inner + i)] = zero
        for j in range(length):
            for i in range(inner):
                k, c = offset((o * length + j) * inner + i), offset(o * inner + i)
                tied = x[k] == out[c]
                out_dot[c] += select(tied, x_dot[k], zero)
                scratch[offset(i)] += select(tied, one, zero)
        for i in range(inner):
            out_dot[offset(o * inner + i)] /= scratch[offset(i)]


@kernel
def prod_slope(x, x_dot, out, out_dot, scratch, outer, length, inner):
    """The sum over all elements of x_dot times the product of the others.

    A product runs with its slope: (p, s) * (x, x_dot) = (p * x, s * x + p * x_dot). Along one axis
    two run at once, from either end.
    """
    noalias()
    zero, one = x.dtype.type(0.0), x.dtype.type(1.0)
    if inner == 1:
        for o in range(outer):
            first, last = o * length, (o + 1) * length - 1
            before, before_dot, behind, behind_dot = one, zero, one, zero
            for j in range(length // 2):
                left, right = offset(first + j), offset(last - j)
                before_dot = before_dot * x[left] + x_dot[left] * before
                before *= x[left]
                behind_dot = behind_dot * x[right] + x_dot[right] * behind
                behind *= x[right]
            if length % 2:
                mid = offset(first + length // 2)
                before_dot = before_dot * x[mid] + x_dot[mid] * before
                before *= x[mid]
            out_dot[o] = before_dot * behind + behind_dot * before
        return
    for o in range(outer):
        for i in range(inner):
            scratch[offset(i)] = one
            out_dot[offset(o * inner + i)] = zero
        for j in range(length):
            for i in range(inner):
                k, c = offset((o * length + j) * inner + i), offset(o * inner + i)
                product = scratch[offset(i)]
                out_dot[c] = out_dot[c] * x[k] + x_dot[k] * product
                scratch[offset(i)] = product * x[k]


@kernel
def prod_slope_pullback(ct, x, x_dot, held, slopes, x_bar, scratch, outer, length, inner):
    """Each element gets ct times the slope of the product of the others.

    Of the elements before it a product with its slope is left in `held` and `x_bar`, and joined
    with that of those behind it; along one axis both run at once, from either end. Otherwise the
    products run in `scratch`, and their slopes in `slopes`.
    """
    noalias()
    zero, one = x.dtype.type(0.0), x.dtype.type(1.0)
    if inner == 1:
        for o in range(outer):
            first, last = o * length, (o + 1) * length - 1
            before, before_dot, behind, behind_dot = ct[o], zero, one, zero
            for j in range(length):
                left, right = offset(first + j), offset(last - j)
                if left < right:
                    held[left], x_bar[left] = before, before_dot
                    held[right], x_bar[right] = behind, behind_dot
                elif left == right:
                    x_bar[left] = before_dot * behind + behind_dot * before
                else:
                    x_bar[left] = before_dot * held[left] + x_bar[left] * before
                    x_bar[right] = x_bar[right] * behind + behind_dot * held[right]
                before_dot = before_dot * x[left] + x_dot[left] * before
                before *= x[left]
                behind_dot = behind_dot * x[right] + x_dot[right] * behind
                behind *= x[right]
        return
    for o in range(outer):
        for i in range(inner):
            scratch[offset(i)] = ct[offset(o * inner + i)]
            slopes[offset(o * inner + i)] = zero
        for j in range(length):
            for i in range(inner):
                k, c = offset((o * length + j) * inner + i), offset(o * inner + i)
                product, slope = scratch[offset(i)], slopes[c]
                held[k], x_bar[k] = product, slope
                slopes[c] = slope * x[k] + x_dot[k] * product
                scratch[offset(i)] = product * x[k]
        for i in range(inner):
            scratch[offset(i)] = one
            slopes[offset(o * inner + i)] = zero
        for j in range(length - 1, -1, -1):
            for i in range(inner):
                k, c = offset((o * length + j) * inner + i), offset(o * inner + i)
                product, slope = scratch[offset(i)], slopes[c]
                x_bar[k] = x_bar[k] * product + slope * held[k]
                slopes[c] = slope * x[k] + x_dot[k] * product
                scratch[offset(i)] = product * x[k]
