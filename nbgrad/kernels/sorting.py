"""Orders and positions among sorted numbers, on pointers, for compiled programs."""

from .jit.kernel import device
from .pointers import shift

__all__ = ["ordered", "searched"]


@device
def before(x, y):
    """Whether x comes strictly before y; nan comes last, as NumPy has it."""
    return x < y or (y != y and x == x)


@device
def ordered(x, out, rows, columns):
    """The positions of each row in ascending order, equal ones as they are: merge sort.

    The second half of `out` is room to merge in.
    """
    for r in range(rows):
        row, room = shift(x, r * columns), shift(out, (rows + r) * columns)
        order = shift(out, r * columns)
        for i in range(columns):
            order[i] = i
        width = 1
        while width < columns:
            for low in range(0, columns, 2 * width):
                merge(row, order, room, low, min(low + width, columns),
                      min(low + 2 * width, columns))  # fmt: skip
            for i in range(columns):
                order[i] = room[i]
            width *= 2


@device
def merge(row, order, room, low, middle, high):
    """order[low:middle] and order[middle:high], in one order, into the room."""
    i, k = low, middle
    for at in range(low, high):
        if i < middle and (k >= high or not before(row[order[k]], row[order[i]])):
            room[at] = order[i]
            i += 1
        else:
            room[at] = order[k]
            k += 1


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
