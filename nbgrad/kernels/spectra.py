"""Fourier transforms of many rows or columns, on split planes and by a `Plan`.

The transforms lie side by side: element p of transform q is x[p * s + q] for s transforms. They
are forward and not normalised; inverse ones exchange the planes.
"""

from ..compiler.attributes import noalias, noinline
from ..compiler.kernel import device
from ..compiler.pointers import shift
from .butterflies import passed
from .scalar import like
from .twiddles import DFT, NODE, REAL_TO_HALF, SECOND

__all__ = ["transformed"]


@device
def transformed(xr, xi, yr, yi, work, plan, table, kind, rows, n, inner, chunk, weight):
    """Transforms along the middle axis of arrays of rows x n x inner numbers.

    Kind 0 is complex. Kind 1 takes real numbers xr to the n // 2 + 1 numbers of the first half of
    the spectrum. Kind 2 takes such a half to real numbers yr. Numbers of the half that stand for
    two of the spectrum count `weight` times."""
    half = n // 2 + 1
    n_in, n_out = half if kind > REAL_TO_HALF else n, half if kind == REAL_TO_HALF else n
    for row in range(rows):
        i, k = row * n_in * inner, row * n_out * inner
        ar, ai, br, bi = shift(xr, i), shift(xi, i), shift(yr, k), shift(yi, k)
        if chunk == inner:
            _together(ar, ai, br, bi, work, plan, table, kind, n, inner, weight)
        else:
            to = shift(work, 2 * n_in * chunk)
            rest = shift(to, 2 * n_out * chunk)
            for first in range(0, inner, chunk):
                s = min(chunk, inner - first)
                _copied(shift(ar, first), work, n_in, s, inner, s)
                if kind != REAL_TO_HALF:
                    _copied(shift(ai, first), shift(work, n_in * s), n_in, s, inner, s)
                _together(
                    work, shift(work, n_in * s), to, shift(to, n_out * s), rest, plan, table,
                    kind, n, s, weight,
                )  # fmt: skip
                _copied(to, shift(br, first), n_out, s, s, inner)
                if kind <= REAL_TO_HALF:
                    _copied(shift(to, n_out * s), shift(bi, first), n_out, s, s, inner)


@device
def _copied(x, y, rows, columns, apart, to):
    noinline()
    noalias()
    for i in range(rows):
        for j in range(columns):
            y[i * to + j] = x[i * apart + j]


@device
def _together(xr, xi, yr, yi, work, plan, table, kind, n, s, weight):
    noinline()
    if kind == DFT:
        _spectrum(xr, xi, yr, yi, work, plan, table, n, s)
    elif kind == REAL_TO_HALF:
        _of_real(xr, yr, yi, work, plan, table, n, s, weight)
    else:
        _to_real(xr, xi, yr, work, plan, table, n, s, weight)


@device
def _spectrum(xr, xi, yr, yi, work, plan, table, n, s):
    """Complex transforms."""
    noinline()
    if plan[0] == 0:
        _smooth(xr, xi, yr, yi, work, shift(plan, NODE), table, n, s)
    else:
        _of_any_length(xr, xi, yr, yi, work, plan, table, n, s)


@device
def _smooth(xr, xi, yr, yi, work, node, table, n, s):
    noinline()
    if node[0] == 0:
        _direct(xr, xi, yr, yi, work, node, table, n, s)
    else:
        _in_blocks(xr, xi, yr, yi, work, node, table, n)


@device
def _direct(xr, xi, yr, yi, work, node, table, n, s):
    """Passes from x to y, by way of the scratch space and y in turn."""
    noinline()
    count, size = node[1], n * s
    if count == 0:
        _copied(xr, yr, 1, size, size, size)
        _copied(xi, yi, 1, size, size, size)
        return
    ar, ai = xr, xi
    zr, zi = work, shift(work, size)
    m, side, at = n, s, 0
    for i in range(count):
        radix = node[2 + i]
        m //= radix
        if (count - i) % 2 == 1:
            passed(ar, ai, yr, yi, shift(table, at), radix, m, side)
            ar, ai = yr, yi
        else:
            passed(ar, ai, zr, zi, shift(table, at), radix, m, side)
            ar, ai = zr, zi
        at += 2 * (radix - 1) * m
        side *= radix


# -- long transforms ------------------------------------------------------------------------------


@device
def _in_blocks(xr, xi, yr, yi, work, node, table, n):
    """One transform, as those of the columns of a matrix of n1 x n2 numbers and then of its rows,
    with factors between them (Bailey 1990, FFTs in external or hierarchical memory). Between them,
    blocks of rows are turned, so that they lie side by side in turn."""
    noinline()
    n1, n2, block = node[1], node[2], node[3]
    fine, blocks = n1 * block, (n2 + block - 1) // block
    first = shift(table, 2 * fine + 2 * n1 * blocks)
    second = shift(first, node[4])
    vr, vi, most = work, shift(work, n), max(n1, n2) * block
    ar, br = shift(work, 2 * n), shift(work, 2 * n + 2 * most)
    rest = shift(br, 2 * most)
    for j in range(0, n2, block):
        s = min(block, n2 - j)
        ai, bi = shift(ar, n1 * s), shift(br, n1 * s)
        _copied(shift(xr, j), ar, n1, s, n2, s)
        _copied(shift(xi, j), ai, n1, s, n2, s)
        _direct(ar, ai, br, bi, rest, shift(node, NODE), first, n1, s)
        coarse = shift(table, 2 * fine + j // block)
        _twisted(br, bi, table, shift(table, fine), coarse, shift(coarse, n1 * blocks), n1, s,
                 block, blocks)  # fmt: skip
        _turned_blocks(br, vr, n1, n2, s, j, block)
        _turned_blocks(bi, vi, n1, n2, s, j, block)
    for k in range(0, n1, block):
        s = min(block, n1 - k)
        bi = shift(br, n2 * s)
        _direct(shift(vr, k * n2), shift(vi, k * n2), br, bi, rest, shift(node, SECOND), second,
                n2, s)  # fmt: skip
        _copied(br, shift(yr, k), n2, s, s, n1)
        _copied(bi, shift(yi, k), n2, s, s, n1)


@device
def _twisted(br, bi, fr, fi, gr, gi, n1, s, block, blocks):
    """Multiply rows by the factors f[row, column] * g[row]."""
    noinline()
    noalias()
    for i in range(n1):
        c, d = gr[i * blocks], gi[i * blocks]
        for q in range(s):
            a, b = fr[i * block + q], fi[i * block + q]
            e, f = a * c - b * d, a * d + b * c
            x, y = br[i * s + q], bi[i * s + q]
            br[i * s + q], bi[i * s + q] = x * e + y * f, y * e - x * f


@device
def _turned_blocks(b, v, n1, n2, s, j, block):
    """Columns j ... j + s - 1 of a matrix, put into blocks of rows that are transposed."""
    noinline()
    noalias()
    for k in range(0, n1, block):
        rows = min(block, n1 - k)
        to, source = shift(v, k * n2 + j * rows), shift(b, k * s)
        for q in range(s):
            for i in range(rows):
                to[q * rows + i] = source[i * s + q]


@device
def _of_any_length(xr, xi, yr, yi, work, plan, table, n, s):
    """Transforms as convolutions with a chirp (Bluestein 1970, A linear filtering approach to the
    computation of discrete Fourier transform)."""
    noinline()
    size = plan[0]
    node, of_size = shift(plan, NODE), shift(table, 2 * n + 2 * size)
    ar, ai = work, shift(work, size * s)
    br, bi = shift(work, 2 * size * s), shift(work, 3 * size * s)
    rest = shift(work, 4 * size * s)
    _chirped(xr, xi, ar, ai, table, shift(table, n), n, s, like(table[0], -1.0))
    for i in range(n * s, size * s):
        ar[i], ai[i] = 0.0, 0.0
    _smooth(ar, ai, br, bi, rest, node, of_size, size, s)
    spectrum = shift(table, 2 * n)
    _chirped(br, bi, ar, ai, spectrum, shift(spectrum, size), size, s, like(table[0], 1.0))
    _smooth(ai, ar, bi, br, rest, node, of_size, size, s)
    _chirped(br, bi, yr, yi, table, shift(table, n), n, s, like(table[0], -1.0))


@device
def _chirped(xr, xi, yr, yi, c, d, n, s, sign):
    """y = x * (c + i * sign * d)"""
    noinline()
    noalias()
    for p in range(n):
        e, f = c[p], sign * d[p]
        for q in range(p * s, p * s + s):
            yr[q], yi[q] = xr[q] * e - xi[q] * f, xi[q] * e + xr[q] * f


# -- real numbers ---------------------------------------------------------------------------------


@device
def _of_real(x, yr, yi, work, plan, table, n, s, weight):
    """Even lengths as complex transforms of half of the length: even elements are the real parts
    (Press et al., Numerical Recipes, section 12.3)."""
    noinline()
    if n % 2 == 1:
        size = n * s
        zero, zr, zi = work, shift(work, size), shift(work, 2 * size)
        for i in range(size):
            zero[i] = 0.0
        _spectrum(x, zero, zr, zi, shift(work, 3 * size), plan, table, n, s)
        _first_half(zr, zi, yr, yi, n, s, like(x[0], weight))
        return
    h = n // 2
    ar, ai = work, shift(work, h * s)
    _parted(x, ar, ai, h, s)
    _spectrum(ar, ai, yr, yi, shift(work, n * s), plan, shift(table, 2 * (h // 2 + 1)), h, s)
    _untangled(yr, yi, table, shift(table, h // 2 + 1), h, s, like(x[0], 0.5 * weight))


@device
def _parted(x, ar, ai, h, s):
    noinline()
    noalias()
    if s == 1:
        for p in range(h):
            ar[p], ai[p] = x[2 * p], x[2 * p + 1]
    else:
        for p in range(h):
            for q in range(s):
                ar[p * s + q], ai[p * s + q] = x[2 * p * s + q], x[(2 * p + 1) * s + q]


@device
def _first_half(xr, xi, yr, yi, n, s, weight):
    noinline()
    noalias()
    for q in range(s):
        yr[q], yi[q] = xr[q], 0.0
    for i in range(s, (n // 2 + 1) * s):
        yr[i], yi[i] = weight * xr[i], weight * xi[i]


@device
def _untangled(yr, yi, c, d, h, s, half):
    """The spectra of real numbers in place of those of the complex ones."""
    noinline()
    noalias()
    for q in range(s):
        a, b = yr[q], yi[q]
        yr[q], yi[q] = a + b, 0.0
        yr[h * s + q], yi[h * s + q] = a - b, 0.0
    for p in range(1, h // 2 + 1):
        e, f = c[p], d[p]
        for q in range(s):
            i, k = p * s + q, (h - p) * s + q
            a, b, g, t = yr[i], yi[i], yr[k], yi[k]
            er, ei, fr, fi = half * (a + g), half * (b - t), half * (b + t), half * (g - a)
            ur, ui = fr * e + fi * f, fi * e - fr * f
            yr[i], yi[i] = er + ur, ei + ui
            yr[k], yi[k] = er - ur, ui - ei


@device
def _to_real(xr, xi, y, work, plan, table, n, s, weight):
    noinline()
    factor = like(xr[0], 0.5) * like(xr[0], weight)
    if n % 2 == 1:
        size = n * s
        ar, ai, br, bi = work, shift(work, size), shift(work, 2 * size), shift(work, 3 * size)
        _mirrored(xr, xi, ar, ai, n, s, factor)
        _spectrum(ai, ar, bi, br, shift(work, 4 * size), plan, table, n, s)
        _copied(br, y, 1, size, size, size)
        return
    h = n // 2
    size = h * s
    ar, ai, br, bi = work, shift(work, size), shift(work, 2 * size), shift(work, 3 * size)
    rest = shift(work, 4 * size)
    _tangled(xr, xi, ar, ai, table, shift(table, h // 2 + 1), h, s, factor)
    _spectrum(ai, ar, bi, br, rest, plan, shift(table, 2 * (h // 2 + 1)), h, s)
    _joined(br, bi, y, h, s)


@device
def _mirrored(xr, xi, ar, ai, n, s, factor):
    """The whole spectrum of real numbers of odd length."""
    noinline()
    noalias()
    for q in range(s):
        ar[q], ai[q] = xr[q], 0.0
    for p in range(1, n // 2 + 1):
        for q in range(s):
            i, k = p * s + q, (n - p) * s + q
            a, b = factor * xr[i], factor * xi[i]
            ar[i], ai[i], ar[k], ai[k] = a, b, a, -b


@device
def _tangled(xr, xi, ar, ai, c, d, h, s, factor):
    """The spectra of complex numbers whose parts are the even and the odd real numbers."""
    noinline()
    noalias()
    for q in range(s):
        a, b = xr[q], xr[h * s + q]
        ar[q], ai[q] = a + b, a - b
    for p in range(1, h // 2 + 1):
        e, f = c[p], d[p]
        for q in range(s):
            i, k = p * s + q, (h - p) * s + q
            a, b, g, t = factor * xr[i], factor * xi[i], factor * xr[k], factor * xi[k]
            er, ei, fr, fi = a + g, b - t, a - g, b + t
            ur, ui = fr * e - fi * f, fi * e + fr * f
            ar[i], ai[i] = er - ui, ei + ur
            ar[k], ai[k] = er + ui, ur - ei


@device
def _joined(br, bi, y, h, s):
    noinline()
    noalias()
    if s == 1:
        for p in range(h):
            y[2 * p], y[2 * p + 1] = br[p], bi[p]
    else:
        for p in range(h):
            for q in range(s):
                y[2 * p * s + q], y[(2 * p + 1) * s + q] = br[p * s + q], bi[p * s + q]
