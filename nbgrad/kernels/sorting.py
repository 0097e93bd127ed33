"""Sorting and searching, as in `np.argsort` and `np.searchsorted`: on pointers, for compiled
programs.

Numbers are compared by their images, integers in the same order. To sort a row, the leading bits of
the images that vary are combined with the positions in words: no two words are equal, the order is
stable, and no positions are moved along. Many short rows are sorted together, each in a lane of
vectors, by a branch-free sorting network; others by radix sort. Numbers whose words differ only in
the position are merged by their images.
"""

import numpy as np

from ..compiler.attributes import minsize, noinline
from ..compiler.instruction import instruction
from ..compiler.kernel import device
from ..compiler.pointers import hidden, i8, scratch, shift

__all__ = ["image", "in_lanes", "merged", "ordered", "ordered_together", "searched"]

_LANES = 16  # rows that the network sorts together
_LONG = 2048  # the longest of them
_DIGIT, _BYTE = 11, 8  # bits of a digit, of long rows and of short ones
_SORTED = 33  # bits by which digits sort; few rows have numbers that differ below only


@instruction
def image(x):
    """An integer that lies among others as x does: nan last, and both zeros are one number."""
    if np.asarray(x).dtype.kind != "f":
        x = int(x) - (1 << 63 if np.asarray(x).dtype == np.uint64 else 0)
        return np.int64(x)
    bits = int(np.float64(x + 0.0).view(np.int64))
    return np.int64(2**63 - 1 if x != x else bits ^ (2**63 - 1) if bits < 0 else bits)


@instruction
def above(k, least, count):
    """How far k lies above `least`, in units of 2**count; count is less than 64."""
    return np.int64((int(k) - int(least)) >> int(count))


def in_lanes(rows, columns):
    """Whether there are so many rows, and so short ones, that they are sorted together."""
    return rows >= _LANES and columns <= _LONG


@instruction
def length(x):
    """How many bits x has, as one without a sign."""
    return (int(x) % 2**64).bit_length()


@device
def packed(row, words, stride, columns, most):
    """Words of a row, `stride` apart: up to `most` bits of each image above the position. The bits
    of a position, those above them, and whether bits are left out."""
    noinline()
    least = greatest = first = image(row[0])
    varying = np.int64(0)
    for i in range(columns):
        k = image(row[i])
        least, greatest = min(least, k), max(greatest, k)
        varying |= k ^ first
    place, high = length(columns - 1), length(greatest - least)
    low = max(length(varying & -varying) - 1, 0)
    start = max(low, high - min(most, 63 - place))
    for i in range(columns):
        words[i * stride] = (above(image(row[i]), least, min(start, 63)) << place) | i
    return place, high - start, start > low


@device
def tied(words, columns, place):
    """Whether two of the sorted words differ in the position alone."""
    noinline()
    some = 0
    for i in range(columns - 1):
        some += (words[i] ^ words[i + 1]) >> place == 0
    return some > 0


@device
def placed(row, words, room, columns, place, inexact):
    """Positions in place of sorted words; where bits were left out, those that only they tell apart
    are put in order."""
    minsize()
    mask = (1 << place) - 1
    low = 0 if inexact and tied(words, columns, place) else columns
    while low < columns:
        high = low + 1
        while high < columns and words[high] >> place == words[low] >> place:
            high += 1
        if high > low + 1:
            merged(row, words, room, low, high, mask)
        low = high
    for i in range(columns):
        words[i] &= mask


@device
def merged(row, order, room, low, high, mask):
    """Sort order[low:high] by the images of what it points at: merge sort."""
    minsize()
    width = 1
    while width < high - low:
        for first in range(low, high, 2 * width):
            middle, end = min(first + width, high), min(first + 2 * width, high)
            i, k = first, middle
            for at in range(first, end):
                left = k >= end
                if i < middle and not left:
                    left = image(row[order[i] & mask]) <= image(row[order[k] & mask])
                if left:
                    room[at] = order[i]
                    i += 1
                else:
                    room[at] = order[k]
                    k += 1
        for i in range(low, high):
            order[i] = room[i]
        width *= 2


@device
def exchanged(x, y, count):
    """The smaller ones of pairs into x, the larger ones into y."""
    noinline()
    for i in range(count):
        a, b = x[i], y[i]
        x[i], y[i] = min(a, b), max(a, b)


@device
def woven(words, columns):
    """Sort the columns of words, one row in each lane: Batcher's network, as in Knuth, The Art of
    Computer Programming 3, algorithm 5.2.2M."""
    minsize()
    top = 1
    while top < columns:
        top *= 2
    p = top // 2
    while p > 0:
        q, r, d = top // 2, 0, p
        while d > 0:
            for start in range(r, columns - d, 2 * p):
                count = min(p, columns - d - start)
                at = start * _LANES
                exchanged(shift(words, at), shift(words, at + d * _LANES), count * _LANES)
            d, q, r = q - p, q // 2, p
        p //= 2


@device
def together(x, order, room, columns):
    """The orders of as many rows as there are lanes."""
    minsize()
    facts = i8(scratch(384), 0)  # three of each row
    for r in range(_LANES):
        row = shift(x, r * columns)
        facts[3 * r], facts[3 * r + 1], inexact = packed(row, shift(room, r), _LANES, columns, 63)
        facts[3 * r + 2] = 1 if inexact else 0
    woven(room, columns)
    for r in range(_LANES):
        for i in range(columns):
            order[r * columns + i] = room[i * _LANES + r]
    for r in range(_LANES):
        begin = r * columns
        words = shift(order, begin)
        placed(shift(x, begin), words, room, columns, facts[3 * r], facts[3 * r + 2] != 0)


@device
def sorted_by(words, room, columns, start, bits):
    """Sort words by their bits from `start` on, one digit after the other; whether the room has
    them."""
    minsize()
    counts = i8(scratch(16384), 0)
    width = _DIGIT if columns >= _LONG else _BYTE
    mask = (1 << width) - 1
    moved = False
    for low in range(start, start + bits, width):
        source, to = (room, words) if moved else (words, room)
        for i in range(mask + 1):
            counts[i] = 0
        for i in range(columns):
            counts[(source[i] >> low) & mask] += 1
        total = np.int64(0)
        for i in range(mask + 1):
            count = counts[i]
            counts[i] = total
            total += count
        for i in range(columns):
            word = source[i]
            digit = (word >> low) & mask
            to[counts[digit]] = word
            counts[digit] += 1
        moved = not moved
    return moved


@device
def ordered(x, out, rows, columns):
    """The positions of each row in ascending order, equal ones as they are, nan last.

    The second half of `out` is room.
    """
    rows, columns = hidden(rows), hidden(columns)  # what follows is compiled once for all lengths
    room = shift(out, rows * columns)
    for begin in range(0, rows * columns, columns):
        row, words, other = shift(x, begin), shift(out, begin), shift(room, begin)
        place, bits, inexact = packed(row, words, 1, columns, _SORTED)
        if sorted_by(words, other, columns, place, bits):
            for i in range(columns):
                words[i] = other[i]
        placed(row, words, other, columns, place, inexact)


@device
def ordered_together(x, out, rows, columns):
    """`ordered`, for rows that `in_lanes`."""
    rows, columns = hidden(rows), hidden(columns)
    room = shift(out, rows * columns)
    for first in range(0, rows, _LANES):
        begin = min(first, rows - _LANES) * columns
        together(shift(x, begin), shift(out, begin), shift(room, begin), columns)


@device
def before(x, y):
    """Whether x comes strictly before y; nan comes last, as NumPy has it."""
    return x < y or (y != y and x == x)


@device
def searched(a, v, out, n, m, right):
    """How many of the n sorted numbers come before each of m; with `right`, equal ones too."""
    for i in range(m):
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            if before(a[middle], v[i]) or (right and not before(v[i], a[middle])):
                low = middle + 1
            else:
                high = middle
        out[i] = low
