"""LU factors of sparse matrices, and systems solved with them: on pointers, for compiled programs.

The matrix is given by compressed columns. They are eliminated in a given order, each by those
before it that reach it in the graph of L (Gilbert and Peierls, Sparse partial pivoting in time
proportional to arithmetic operations, SIAM J. Sci. Stat. Comput. 9 (1988)). The pivot is the
largest element of the column, or the diagonal element if that is nearly as large. The last columns
usually fill up, and are factored as a dense matrix.

Numbers and positions of the factors are floats in one array:

* n pivots, the rows of the matrix in which they stand, and their columns;
* n + 1 starts of the columns of L, and n + 1 of those of U;
* pairs of a row of the matrix and a number, the elements of L below the pivots: at most `room`;
* pairs of the position of a pivot and a number, the elements of U above the pivots: at most `room`;
* eight rows of n as scratch space, and the dense matrix.
"""

from ..compiler.kernel import device
from ..compiler.pointers import shift
from .systems import factor

__all__ = ["factored", "solved", "width"]

# A pivot on the diagonal is at least so large beside the largest element of its column, if the
# pattern is symmetric.
_LEAST = 0.1


def width(n: int, room: int, tail: int) -> int:
    """The length of the array of factors, with `tail` columns at most as a dense matrix."""
    return 5 * n + 2 + 4 * room + 8 * n + (tail + 2) * tail


@device
def factored(data, indices, indptr, orders, lu, n, room, symmetric, tail, other_tail):
    """The factors of a matrix of n rows. All pivots are 0 if it is singular, and nan if an element
    is not finite.

    The first of two orders of the columns is for a symmetric pattern, whose pivots are on the
    diagonal. If others have to be taken and the factors do not fit in the room, the second one is
    taken, with the largest element of each column as the pivot. `tail` and `other_tail` are the
    numbers of the last columns that are factored as a dense matrix.
    """
    total = 0.0
    for p in range(indptr[n]):
        total += data[p] * 0.0
    if total != 0.0:
        _blank(lu, n, total)
    elif not symmetric or not _eliminated(data, indices, indptr, orders, lu, n, room, _LEAST, tail):
        order = shift(orders, n)
        if not _eliminated(data, indices, indptr, order, lu, n, room, 1.0, other_tail):
            _blank(lu, n, 0.0)


@device
def _blank(lu, n, pivot):
    """Factors without elements."""
    for j in range(n):
        lu[j], lu[n + j], lu[2 * n + j] = pivot, j, j
    for j in range(3 * n, 5 * n + 2):
        lu[j] = 0.0


@device
def _eliminated(data, indices, indptr, order, lu, n, room, least, tail):
    """Whether the factors have pivots and fit in the room."""
    lu[3 * n], lu[4 * n + 1] = 0.0, 0.0
    x = shift(lu, 5 * n + 2 + 4 * room)
    for i in range(n):
        lu[2 * n + i] = order[i]
        x[i], x[n + i], x[2 * n + i] = 0.0, -1.0, -1.0
    j = 0
    while j < n - tail and _column(data, indices, indptr, lu, j, n, room, least):
        j += 1
    return j == n - tail and (tail == 0 or _tail(data, indices, indptr, lu, n, room, tail))


@device
def _column(data, indices, indptr, lu, j, n, room, least):
    """Column j of the factors, and whether it has a pivot. Elements of `x` are 0 before and
    after."""
    l_starts, u_starts, column = shift(lu, 3 * n), shift(lu, 4 * n + 1), int(lu[2 * n + j])
    low = shift(lu, 5 * n + 2)
    up, x = shift(low, 2 * room), shift(low, 4 * room)
    places, found = shift(x, n), shift(x, 5 * n)
    top = _updated(data, indices, indptr, lu, j, n, room)
    best, size = -1, 0.0
    for p in range(top, n):
        i = int(found[p])
        if places[i] < 0.0 and abs(x[i]) > size:
            best, size = i, abs(x[i])
    if best < 0:
        return False
    if places[column] < 0.0 and abs(x[column]) >= least * size:
        best = column
    pivot, end = x[best], int(l_starts[j])
    for p in range(top, n):
        i = int(found[p])
        if places[i] < 0.0 and i != best:
            low[2 * end], low[2 * end + 1] = i, x[i] / pivot
            end += 1
        x[i] = 0.0
    lu[j], lu[n + j] = pivot, best
    places[best] = j
    for p in range(int(u_starts[j]), int(u_starts[j + 1])):
        _prune(int(up[2 * p]), best, low, l_starts, places, shift(x, 6 * n))
    l_starts[j + 1], x[6 * n + j] = end, end
    return True


@device
def _updated(data, indices, indptr, lu, j, n, room):
    """Subtract from a column what the columns of pivots add to it, and put its elements in their
    rows into column j of U. The place in `found` from which on its rows stand; n if there is no
    room for them."""
    l_starts, u_starts, column = shift(lu, 3 * n), shift(lu, 4 * n + 1), int(lu[2 * n + j])
    low = shift(lu, 5 * n + 2)
    up, x = shift(low, 2 * room), shift(low, 4 * room)
    places, found = shift(x, n), shift(x, 5 * n)
    top, end = n, int(u_starts[j])
    for p in range(indptr[column], indptr[column + 1]):
        top = _reached(indices[p], low, l_starts, x, j, top, n)
    if max(end, int(l_starts[j])) + n - top > room:
        return n
    for p in range(indptr[column], indptr[column + 1]):
        x[indices[p]] += data[p]
    for p in range(top, n):
        i = int(found[p])
        k = int(places[i])
        if k >= 0:
            u = x[i]
            x[i] = 0.0
            up[2 * end], up[2 * end + 1] = k, u
            end += 1
            for q in range(int(l_starts[k]), int(l_starts[k + 1])):
                x[int(low[2 * q])] -= low[2 * q + 1] * u
    u_starts[j + 1] = end
    return top


@device
def _tail(data, indices, indptr, lu, n, room, tail):
    """The last columns, whose rows without a pivot form a dense matrix; whether it is regular."""
    l_starts, u_starts, first = shift(lu, 3 * n), shift(lu, 4 * n + 1), n - tail
    low = shift(lu, 5 * n + 2)
    up, x = shift(low, 2 * room), shift(low, 4 * room)
    places, found, numbers, dense = shift(x, n), shift(x, 5 * n), shift(x, 7 * n), shift(x, 8 * n)
    rows, count, l_end = shift(dense, (tail + 1) * tail), 0, int(l_starts[first])
    for i in range(n):
        if places[i] < 0.0:
            rows[count], numbers[i] = i, count
            count += 1
    for c in range(tail * tail):
        dense[c] = 0.0
    if l_end + tail * tail > room:
        return False
    for c in range(tail):
        j = first + c
        l_starts[j + 1] = l_end
        top = _updated(data, indices, indptr, lu, j, n, room)
        u_end = int(u_starts[j + 1]) + c
        if top == n or u_end > room:
            return False
        for p in range(top, n):
            i = int(found[p])
            if places[i] < 0.0:
                dense[int(numbers[i]) * tail + c] = x[i]
                x[i] = 0.0
        u_starts[j + 1] = u_end
    factor(dense, tail)
    for c in range(tail):
        best = int(dense[tail * tail + c])
        rows[c], rows[best] = rows[best], rows[c]
    for c in range(tail):
        j, pivot = first + c, dense[c * tail + c]
        if pivot == 0.0:
            return False
        lu[j], lu[n + j] = pivot, rows[c]
        u_end = int(u_starts[j + 1]) - c
        for r in range(c):
            up[2 * (u_end + r)], up[2 * (u_end + r) + 1] = first + r, dense[r * tail + c]
        for r in range(c + 1, tail):
            low[2 * l_end], low[2 * l_end + 1] = rows[r], dense[r * tail + c]
            l_end += 1
        l_starts[j + 1] = l_end
    return True


@device
def _prune(k, row, low, l_starts, places, ends):
    """Let column k of L no longer lead to rows to which the new pivot leads, too: those that are no
    pivots yet are put behind others (Eisenstat and Liu, Exploiting structural symmetry in a sparse
    partial pivoting code, SIAM J. Sci. Comput. 14 (1993))."""
    p, stop = int(l_starts[k]), int(l_starts[k + 1])
    if ends[k] == stop:
        q = p
        while q < stop and low[2 * q] != row:
            q += 1
        if q < stop:
            while p < stop:
                if places[int(low[2 * p])] >= 0.0:
                    p += 1
                else:
                    stop -= 1
                    for c in range(2):
                        low[2 * p + c], low[2 * stop + c] = low[2 * stop + c], low[2 * p + c]
            ends[k] = p


@device
def _reached(row, low, l_starts, x, j, top, n):
    """Put the rows that are reached from a row, and were not before, in front of those from `top`
    on, in topological order; the new top. A row leads to those of the column of L with its pivot:
    depth first, by a stack."""
    places, seen, stack = shift(x, n), shift(x, 2 * n), shift(x, 3 * n)
    ahead, found = shift(x, 4 * n), shift(x, 5 * n)
    if seen[row] == j:
        return top
    depth = 0
    stack[0], seen[row] = row, j
    ahead[0] = l_starts[int(places[row])] if places[row] >= 0.0 else 0.0
    while depth >= 0:
        i, p = int(stack[depth]), int(ahead[depth])
        k = int(places[i])
        stop = int(x[6 * n + k]) if k >= 0 else p
        while p < stop and seen[int(low[2 * p])] == j:
            p += 1
        if p < stop:
            ahead[depth] = p + 1
            child = int(low[2 * p])
            depth += 1
            stack[depth], seen[child] = child, j
            ahead[depth] = l_starts[int(places[child])] if places[child] >= 0.0 else 0.0
        else:
            depth -= 1
            top -= 1
            found[top] = i
    return top


@device
def solved(lu, b, out, n, m, room, turned):
    """The solutions for right-hand sides of n x m, or those of the transposed matrix, and behind
    them n x m numbers as scratch space."""
    low = shift(lu, 5 * n + 2)
    up, work = shift(low, 2 * room), shift(out, n * m)
    if turned:
        _solve_turned(lu, low, up, shift(lu, 2 * n), b, out, work, n, m)
    else:
        _solve(lu, low, up, shift(lu, 2 * n), b, out, work, n, m)


@device
def _solve(lu, low, up, order, b, out, work, n, m):
    rows, l_starts, u_starts = shift(lu, n), shift(lu, 3 * n), shift(lu, 4 * n + 1)
    for i in range(n * m):
        work[i] = b[i]
    for j in range(n):
        source = shift(work, int(rows[j]) * m)
        for p in range(int(l_starts[j]), int(l_starts[j + 1])):
            _subtract(shift(work, int(low[2 * p]) * m), source, low[2 * p + 1], m)
    for j in range(n - 1, -1, -1):
        source, to = shift(work, int(rows[j]) * m), shift(out, int(order[j]) * m)
        for c in range(m):
            source[c] /= lu[j]
            to[c] = source[c]
        for p in range(int(u_starts[j]), int(u_starts[j + 1])):
            _subtract(shift(work, int(rows[int(up[2 * p])]) * m), source, up[2 * p + 1], m)


@device
def _solve_turned(lu, low, up, order, b, out, work, n, m):
    rows, l_starts, u_starts = shift(lu, n), shift(lu, 3 * n), shift(lu, 4 * n + 1)
    for j in range(n):
        source, to = shift(b, int(order[j]) * m), shift(work, j * m)
        for c in range(m):
            to[c] = source[c]
        for p in range(int(u_starts[j]), int(u_starts[j + 1])):
            _subtract(to, shift(work, int(up[2 * p]) * m), up[2 * p + 1], m)
        for c in range(m):
            to[c] /= lu[j]
    for j in range(n - 1, -1, -1):
        source, to = shift(work, j * m), shift(out, int(rows[j]) * m)
        for c in range(m):
            to[c] = source[c]
        for p in range(int(l_starts[j]), int(l_starts[j + 1])):
            _subtract(to, shift(out, int(low[2 * p]) * m), low[2 * p + 1], m)


@device
def _subtract(to, source, factor, m):
    for c in range(m):
        to[c] -= factor * source[c]
