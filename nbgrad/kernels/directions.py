"""Slopes of reductions along a direction, and the pullbacks of those: second derivatives.

As in `reduce.py`, an array is seen as (outer, length, inner), of which the middle is reduced. Each
kernel passes once over the array `x` and the direction `x_dot`. `out` is what `x` was reduced to.
"""

from .jit.kernel import kernel
from .scalar import offset, radd, select

# Elements that one accumulator adds up, and those that the search for a maximum looks at together:
# as in reduce.py.
_CHUNK = 4096
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
            for start in range(o * length, (o + 1) * length, _CHUNK):
                part = zero
                for j in range(start, min(start + _CHUNK, (o + 1) * length)):
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
            along, scale = out_dot[o] * inverse, ct[o] * inverse
            for j in range(length):
                k = offset(o * length + j)
                x_bar[k] = (x_dot[k] - x[k] * along) * scale
        return
    for o in range(outer):
        for i in range(inner):
            c = offset(o * inner + i)
            inverse = select(out[c] == zero, zero, one / select(out[c] == zero, one, out[c]))
            scratch[offset(i)] = out_dot[c] * inverse
            scratch[offset(inner + i)] = ct[c] * inverse
        for j in range(length):
            for i in range(inner):
                k = offset((o * length + j) * inner + i)
                x_bar[k] = (x_dot[k] - x[k] * scratch[offset(i)]) * scratch[offset(inner + i)]


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
    two run at once, from either end. A slope of 0 times inf is 0: where nothing moves yet.
    """
    zero, one = x.dtype.type(0.0), x.dtype.type(1.0)
    if inner == 1:
        for o in range(outer):
            first, last = o * length, (o + 1) * length - 1
            before, before_dot, behind, behind_dot = one, zero, one, zero
            if length > 1:
                before, before_dot = x[first], x_dot[first]
                behind, behind_dot = x[last], x_dot[last]
            for j in range(1, length // 2):
                i, k = offset(first + j), offset(last - j)
                before_dot = before_dot * x[i] + before * x_dot[i]
                before *= x[i]
                behind_dot = behind_dot * x[k] + behind * x_dot[k]
                behind *= x[k]
            if length % 2:
                i = offset(first + length // 2)
                before_dot = select(before_dot == zero, zero, before_dot * x[i])
                before_dot += before * x_dot[i]
                before *= x[i]
            out_dot[o] = select(before_dot == zero, zero, before_dot * behind) + select(
                behind_dot == zero, zero, before * behind_dot
            )
        return
    for o in range(outer):
        for i in range(inner):
            scratch[offset(i)] = one
            out_dot[offset(o * inner + i)] = zero
        for j in range(length):
            for i in range(inner):
                k, c = offset((o * length + j) * inner + i), offset(o * inner + i)
                slope = select(out_dot[c] == zero, zero, out_dot[c] * x[k])
                out_dot[c] = slope + scratch[offset(i)] * x_dot[k]
                scratch[offset(i)] *= x[k]


@kernel
def prod_slope_pullback(ct, x, x_dot, held, x_bar, scratch, outer, length, inner):
    """Each element gets ct times the slope of the product of the others.

    Of the elements before it a product with its slope is left in `held` and `x_bar`, and joined
    with that of those behind it; along one axis both run at once, from either end.
    """
    zero, one = x.dtype.type(0.0), x.dtype.type(1.0)
    if inner == 1:
        for o in range(outer):
            if not length:
                break
            first, last = o * length, (o + 1) * length - 1
            held[first], held[last] = ct[o], one if first < last else ct[o]
            x_bar[first], x_bar[last] = zero, zero
            before, before_dot = ct[o] * x[first], ct[o] * x_dot[first]
            behind, behind_dot = x[last], x_dot[last]
            for j in range(1, length):
                i, k = offset(first + j), offset(last - j)
                if i < k:
                    held[i], x_bar[i] = before, before_dot
                    held[k], x_bar[k] = behind, behind_dot
                elif i == k:
                    x_bar[i] = select(before_dot == zero, zero, before_dot * behind) + select(
                        behind_dot == zero, zero, before * behind_dot
                    )
                else:
                    x_bar[i] = select(before_dot == zero, zero, before_dot * held[i]) + select(
                        x_bar[i] == zero, zero, before * x_bar[i]
                    )
                    x_bar[k] = select(x_bar[k] == zero, zero, x_bar[k] * behind) + select(
                        behind_dot == zero, zero, held[k] * behind_dot
                    )
                before_dot = before_dot * x[i] + before * x_dot[i]
                before *= x[i]
                behind_dot = behind_dot * x[k] + behind * x_dot[k]
                behind *= x[k]
        return
    for o in range(outer):
        for i in range(inner):
            scratch[offset(i)] = ct[offset(o * inner + i)]
            scratch[offset(inner + i)] = zero
        for j in range(length):
            for i in range(inner):
                k, c = offset((o * length + j) * inner + i), offset(inner + i)
                held[k], x_bar[k] = scratch[offset(i)], scratch[c]
                slope = select(scratch[c] == zero, zero, scratch[c] * x[k])
                scratch[c] = slope + scratch[offset(i)] * x_dot[k]
                scratch[offset(i)] *= x[k]
        for i in range(inner):
            scratch[offset(i)] = one
            scratch[offset(inner + i)] = zero
        for j in range(length - 1, -1, -1):
            for i in range(inner):
                k, c = offset((o * length + j) * inner + i), offset(inner + i)
                x_bar[k] = select(x_bar[k] == zero, zero, x_bar[k] * scratch[offset(i)]) + select(
                    scratch[c] == zero, zero, held[k] * scratch[c]
                )
                slope = select(scratch[c] == zero, zero, scratch[c] * x[k])
                scratch[c] = slope + scratch[offset(i)] * x_dot[k]
                scratch[offset(i)] *= x[k]
