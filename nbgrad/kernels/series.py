"""Series of products of matrices, round after round of a loop, as few products of larger ones.

Of a series c[r] += a[r] @ b[r] in which one of the three axes has length 1, the rounds are that
axis, if the array without it is the same in all rounds: rows of c and of a (a vector times a
matrix), columns of c and of b, or terms of the sums (outer products). The others may begin one
element later in each round, and may end elsewhere, as in triangular loops: rounds in a block share
a box of elements, which is one product, and have the rest for themselves.
"""

from ..compiler.pointers import shift
from .added import added_product, alone

__all__ = ["series_of_products"]

_BLOCK = 48
"""Rounds of a block, of a series whose rounds have different lengths."""


def series_of_products(
    c, a, b, m, n, k, c0, c1, a0, a1, b0, b1, count, c_round, a_round, b_round, dm, dn, dk
):  # fmt: skip
    """c += a @ b in each of `count` rounds, as `added_product`. In each round, the places and sizes
    are that much greater than in the one before."""
    if m == 1 and dm == 0 and _steps(b_round, b1, b0) >= 0:
        _blocks(c, a, b, n, k, c_round, c1, a_round, a1, b1, b0, count, dn, dk,
                _steps(b_round, b1, b0), 0)  # fmt: skip
    elif n == 1 and dn == 0 and _steps(a_round, a0, a1) >= 0:
        _blocks(c, b, a, m, k, c_round, c0, b_round, b0, a0, a1, count, dm, dk,
                _steps(a_round, a0, a1), 0)  # fmt: skip
    elif k == 1 and dk == 0 and _steps(c_round, c0, c1) >= 0:
        _blocks(a, b, c, m, n, a_round, a0, b_round, b1, c0, c1, count, dm, dn,
                _steps(c_round, c0, c1), 1)  # fmt: skip
    else:
        for r in range(count):
            added_product(
                shift(c, r * c_round), shift(a, r * a_round), shift(b, r * b_round),
                max(m + r * dm, 0), max(n + r * dn, 0), max(k + r * dk, 0), c0, c1, a0, a1, b0, b1,
            )  # fmt: skip


def _steps(distance, x, y):
    """Of which of two axes a distance is a step: 0 of none, 1 of the first, 2 of the second, 3 of
    both, -1 if it is another one."""
    if distance == 0:
        return 0
    if distance == x:
        return 1
    if distance == y:
        return 2
    if distance == x + y:
        return 3
    return -1


@alone
def _blocks(u, v, w, x, y, ur, ux, vr, vy, wx, wy, count, dx, dy, steps, is_sum):
    """A series with the rounds as an axis r: of arrays u over (r, x), v over (r, y), and w over
    (x, y). `steps` says of which axis of w a round begins one element later."""
    sx, sy = steps & 1, steps >> 1
    ur, vr, dx, dy = ur - sx * ux, vr - sy * vy, dx + sx, dy + sy  # elements from the first ones on
    if count <= 0:
        return
    is_one = sx == 0 and sy == 0 and dx == 0 and dy == 0
    size = count if is_one else _BLOCK
    for r in range(0, count, size):
        last = min(r + size, count) - 1
        x0, x1 = sx * last, x + min(dx * r, dx * last)
        y0, y1 = sy * last, y + min(dy * r, dy * last)
        is_shared = x0 < x1 and y0 < y1
        if is_shared:
            _box(u, v, w, r, last - r + 1, x0, x1, y0, y1, ur, ux, vr, vy, wx, wy, is_sum)
        if is_one:
            continue
        for q in range(r, last + 1):
            i0, i1, j0, j1 = sx * q, x + dx * q, sy * q, y + dy * q
            if is_shared:
                _box(u, v, w, q, 1, i0, i1, j0, y0, ur, ux, vr, vy, wx, wy, is_sum)
                _box(u, v, w, q, 1, i0, i1, y1, j1, ur, ux, vr, vy, wx, wy, is_sum)
                _box(u, v, w, q, 1, i0, x0, y0, y1, ur, ux, vr, vy, wx, wy, is_sum)
                _box(u, v, w, q, 1, x1, i1, y0, y1, ur, ux, vr, vy, wx, wy, is_sum)
            else:
                _box(u, v, w, q, 1, i0, i1, j0, j1, ur, ux, vr, vy, wx, wy, is_sum)


@alone
def _box(u, v, w, r, rounds, x0, x1, y0, y1, ur, ux, vr, vy, wx, wy, is_sum):
    """The products of some rounds, of elements in bounds: u += v @ w.T, of a sum w += u.T @ v."""
    if x0 >= x1 or y0 >= y1:
        return
    u, v = shift(u, r * ur + x0 * ux), shift(v, r * vr + y0 * vy)
    w = shift(w, x0 * wx + y0 * wy)
    if is_sum:
        added_product(w, u, v, x1 - x0, y1 - y0, rounds, wx, wy, ux, ur, vr, vy)
    else:
        added_product(u, v, w, rounds, x1 - x0, y1 - y0, ur, ux, vr, vy, wy, wx)
