"""Partitioning, as in `np.argpartition`: on pointers, and of arrays.

For a long row, two pivots around the wanted elements are taken from a sample. One pass partitions
the positions by these; about an eighth of them remains.
"""

import numpy as np

from ..compiler.attributes import minsize, noinline
from ..compiler.kernel import device, kernel
from ..compiler.pointers import hidden, i8, pointer, scratch, shift
from .sorting import image, in_lanes, merged, ordered, ordered_together

__all__ = ["partitioned"]

_SAMPLE, _MARGIN = 64, 8  # numbers among which pivots are sought, and how far from the place


@device
def divided(row, order, room, low, high, first, last):
    """order[low:high] in three: what lies below `first`, up to `last`, above; where they meet.

    Every position is written to the ends of all three, and one of the ends moves on. Each third
    keeps its order: that of what lies above is turned, as it is written from the end.
    """
    noinline()
    a, b, c = low, low, high - 1
    for i in range(low, high):
        at = order[i]
        k = image(row[at])
        order[a], room[b], room[c] = at, at, at
        below, beyond = k < first, k > last
        a += below
        c -= beyond
        b += not (below or beyond)
    middle = a + b - low
    for i in range(b - low):
        order[a + i] = room[low + i]
    for i in range(high - 1 - c):
        order[middle + i] = room[high - 1 - i]
    return a, middle


@device
def narrowed(row, order, room, low, high, k):
    """Put in order[low:high] what belongs at k there, smaller ones before it and larger ones behind
    it; from k on, as far as all are in their places."""
    minsize()
    sample = i8(scratch(512), 0)
    while high - low > _SAMPLE:
        size = high - low
        for i in range(_SAMPLE):
            value = image(row[order[low + (i * size + (i * 7919) % size) // _SAMPLE]])
            j = i
            while j > 0 and sample[j - 1] > value:
                sample[j] = sample[j - 1]
                j -= 1
            sample[j] = value
        near = (k - low) * _SAMPLE // size
        first, last = sample[max(near - _MARGIN, 0)], sample[min(near + _MARGIN, _SAMPLE - 1)]
        a, b = divided(row, order, room, low, high, first, last)
        if a <= k < b and first == last:
            return b
        low, high = (low, a) if k < a else (a, b) if k < b else (b, high)
        if 4 * (high - low) > 3 * size:
            break
    merged(row, order, room, low, high, -1)
    return high


@device
def partitioned(x, out, rows, columns, *places):
    """The positions of each row such that those at `places`, which ascend, are as sorting has them.

    The second half of `out` is room.
    """
    rows, columns = hidden(rows), hidden(columns)
    for begin in range(0, rows * columns, columns):
        order, room = shift(out, begin), shift(out, rows * columns + begin)
        for i in range(columns):
            order[i] = i
        done = 0
        for k in places:
            if k >= done:
                done = narrowed(shift(x, begin), order, room, done, columns, k)


@kernel
def order_rows(x, out, rows, columns):
    """`ordered` of arrays."""
    ordered(pointer(x), pointer(out), rows, columns)


@kernel
def order_rows_together(x, out, rows, columns):
    """`ordered_together` of arrays."""
    ordered_together(pointer(x), pointer(out), rows, columns)


@kernel
def partition_rows(x, out, rows, columns, places):
    """`partitioned` of arrays."""
    partitioned(pointer(x), pointer(out), rows, columns, *places)


def order_of_rows(x: np.ndarray, places: tuple[int, ...]) -> np.ndarray:
    """The positions of each row of a contiguous array in ascending order, equal ones as they are;
    with `places`, those at them at least."""
    columns = x.shape[-1]
    rows = x.size // columns
    out = np.empty((2, *x.shape), np.int64)
    if in_lanes(rows, columns):
        order_rows_together(x, out, rows, columns)
    elif places:
        partition_rows(x, out, rows, columns, tuple(sorted(set(places))))
    else:
        order_rows(x, out, rows, columns)
    return out[0]
