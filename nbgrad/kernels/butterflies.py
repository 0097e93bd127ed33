"""Passes of Fourier transforms on split planes: real and imaginary parts are separate arrays.

A pass of radix r of Stockham's algorithm transforms m * s times the r numbers that lie m * s apart,
multiplies them by twiddle factors and writes them s apart, so that the numbers are in order after
the last pass (Van Loan, Computational Frameworks for the Fast Fourier Transform, section 1.7). s is
the product of the radices before, times the number of transforms that lie side by side. Inner loops
run over s; in the first pass of one transform, s is 1, and they run over m.
"""

from ..compiler.attributes import noalias, noinline
from ..compiler.kernel import device
from .scalar import like

__all__ = ["RADICES", "passed"]

RADICES = (8, 4, 2, 7, 5, 3)
"""The order in which passes are made."""


def _inlined(function):
    return device(function, forceinline=True)


@_inlined
def _put(yr, yi, at, a, b, w, m, p):
    """(a + ib) * (c - id), where c and d are the factors of an output."""
    c, d = w[p], w[p + m]
    yr[at], yi[at] = a * c + b * d, b * c - a * d


@_inlined
def _four(ar, ai, br, bi, cr, ci, dr, di):
    sr, si, tr, ti = ar + cr, ai + ci, ar - cr, ai - ci
    ur, ui, vr, vi = br + dr, bi + di, br - dr, bi - di
    return sr + ur, si + ui, tr + vi, ti - vr, sr - ur, si - ui, tr - vi, ti + vr


@_inlined
def _of_2(xr, xi, yr, yi, w, m, p, i, h, k, s):
    """Two numbers of x from i on, h apart, into y from k on, s apart."""
    ar, ai, br, bi = xr[i], xi[i], xr[i + h], xi[i + h]
    yr[k], yi[k] = ar + br, ai + bi
    _put(yr, yi, k + s, ar - br, ai - bi, w, m, p)


@_inlined
def _of_3(xr, xi, yr, yi, w, m, p, i, h, k, s):
    ar, ai, br, bi, cr, ci = xr[i], xi[i], xr[i + h], xi[i + h], xr[i + 2 * h], xi[i + 2 * h]
    sine = like(ar, 0.8660254037844386)
    sr, si, dr, di = br + cr, bi + ci, sine * (br - cr), sine * (bi - ci)
    tr, ti = ar - like(ar, 0.5) * sr, ai - like(ar, 0.5) * si
    yr[k], yi[k] = ar + sr, ai + si
    _put(yr, yi, k + s, tr + di, ti - dr, w, m, p)
    _put(yr, yi, k + 2 * s, tr - di, ti + dr, w, m, p + 2 * m)


@_inlined
def _of_4(xr, xi, yr, yi, w, m, p, i, h, k, s):
    ar, ai, br, bi, cr, ci, dr, di = _four(
        xr[i], xi[i], xr[i + h], xi[i + h], xr[i + 2 * h], xi[i + 2 * h], xr[i + 3 * h],
        xi[i + 3 * h],
    )  # fmt: skip
    yr[k], yi[k] = ar, ai
    _put(yr, yi, k + s, br, bi, w, m, p)
    _put(yr, yi, k + 2 * s, cr, ci, w, m, p + 2 * m)
    _put(yr, yi, k + 3 * s, dr, di, w, m, p + 4 * m)


@_inlined
def _of_5(xr, xi, yr, yi, w, m, p, i, h, k, s):
    ar, ai = xr[i], xi[i]
    br, bi, er, ei = xr[i + h], xi[i + h], xr[i + 4 * h], xi[i + 4 * h]
    cr, ci, dr, di = xr[i + 2 * h], xi[i + 2 * h], xr[i + 3 * h], xi[i + 3 * h]
    br, bi, er, ei = br + er, bi + ei, br - er, bi - ei
    cr, ci, dr, di = cr + dr, ci + di, cr - dr, ci - di
    c1, s1 = like(ar, 0.30901699437494745), like(ar, 0.9510565162951535)
    c2, s2 = like(ar, -0.8090169943749475), like(ar, 0.5877852522924731)
    yr[k], yi[k] = ar + br + cr, ai + bi + ci
    tr, ti, ur, ui = (
        ar + c1 * br + c2 * cr,
        ai + c1 * bi + c2 * ci,
        s1 * er + s2 * dr,
        s1 * ei + s2 * di,
    )
    _put(yr, yi, k + s, tr + ui, ti - ur, w, m, p)
    _put(yr, yi, k + 4 * s, tr - ui, ti + ur, w, m, p + 6 * m)
    tr, ti, ur, ui = (
        ar + c2 * br + c1 * cr,
        ai + c2 * bi + c1 * ci,
        s2 * er - s1 * dr,
        s2 * ei - s1 * di,
    )
    _put(yr, yi, k + 2 * s, tr + ui, ti - ur, w, m, p + 2 * m)
    _put(yr, yi, k + 3 * s, tr - ui, ti + ur, w, m, p + 4 * m)


@_inlined
def _of_7(xr, xi, yr, yi, w, m, p, i, h, k, s):
    ar, ai = xr[i], xi[i]
    j = i + 6 * h
    br, bi, er, ei = xr[i + h] + xr[j], xi[i + h] + xi[j], xr[i + h] - xr[j], xi[i + h] - xi[j]
    i, j = i + 2 * h, i + 5 * h
    cr, ci, fr, fi = xr[i] + xr[j], xi[i] + xi[j], xr[i] - xr[j], xi[i] - xi[j]
    i, j = i + h, i + 2 * h
    dr, di, gr, gi = xr[i] + xr[j], xi[i] + xi[j], xr[i] - xr[j], xi[i] - xi[j]
    c1, s1 = like(ar, 0.6234898018587336), like(ar, 0.7818314824680298)
    c2, s2 = like(ar, -0.2225209339563144), like(ar, 0.9749279121818236)
    c3, s3 = like(ar, -0.9009688679024191), like(ar, 0.4338837391175581)
    yr[k], yi[k] = ar + br + cr + dr, ai + bi + ci + di
    tr, ti = ar + c1 * br + c2 * cr + c3 * dr, ai + c1 * bi + c2 * ci + c3 * di
    ur, ui = s1 * er + s2 * fr + s3 * gr, s1 * ei + s2 * fi + s3 * gi
    _put(yr, yi, k + s, tr + ui, ti - ur, w, m, p)
    _put(yr, yi, k + 6 * s, tr - ui, ti + ur, w, m, p + 10 * m)
    tr, ti = ar + c2 * br + c3 * cr + c1 * dr, ai + c2 * bi + c3 * ci + c1 * di
    ur, ui = s2 * er - s3 * fr - s1 * gr, s2 * ei - s3 * fi - s1 * gi
    _put(yr, yi, k + 2 * s, tr + ui, ti - ur, w, m, p + 2 * m)
    _put(yr, yi, k + 5 * s, tr - ui, ti + ur, w, m, p + 8 * m)
    tr, ti = ar + c3 * br + c1 * cr + c2 * dr, ai + c3 * bi + c1 * ci + c2 * di
    ur, ui = s3 * er - s1 * fr + s2 * gr, s3 * ei - s1 * fi + s2 * gi
    _put(yr, yi, k + 3 * s, tr + ui, ti - ur, w, m, p + 4 * m)
    _put(yr, yi, k + 4 * s, tr - ui, ti + ur, w, m, p + 6 * m)


@_inlined
def _of_8(xr, xi, yr, yi, w, m, p, i, h, k, s):
    ar, ai, br, bi, cr, ci, dr, di = _four(
        xr[i], xi[i], xr[i + 2 * h], xi[i + 2 * h], xr[i + 4 * h], xi[i + 4 * h], xr[i + 6 * h],
        xi[i + 6 * h],
    )  # fmt: skip
    j = i + h
    er, ei, fr, fi, gr, gi, hr, hi = _four(
        xr[j], xi[j], xr[j + 2 * h], xi[j + 2 * h], xr[j + 4 * h], xi[j + 4 * h], xr[j + 6 * h],
        xi[j + 6 * h],
    )  # fmt: skip
    half = like(er, 0.7071067811865476)
    fr, fi = half * (fr + fi), half * (fi - fr)
    gr, gi = gi, -gr
    hr, hi = half * (hi - hr), -half * (hi + hr)
    yr[k], yi[k] = ar + er, ai + ei
    _put(yr, yi, k + s, br + fr, bi + fi, w, m, p)
    _put(yr, yi, k + 2 * s, cr + gr, ci + gi, w, m, p + 2 * m)
    _put(yr, yi, k + 3 * s, dr + hr, di + hi, w, m, p + 4 * m)
    _put(yr, yi, k + 4 * s, ar - er, ai - ei, w, m, p + 6 * m)
    _put(yr, yi, k + 5 * s, br - fr, bi - fi, w, m, p + 8 * m)
    _put(yr, yi, k + 6 * s, cr - gr, ci - gi, w, m, p + 10 * m)
    _put(yr, yi, k + 7 * s, dr - hr, di - hi, w, m, p + 12 * m)


def _pass(butterfly, radix):
    """The pass of a butterfly, from the planes x to the planes y."""

    @device
    def passed(xr, xi, yr, yi, w, m, s):
        noinline()
        noalias()
        if s == 1:
            for p in range(m):
                butterfly(xr, xi, yr, yi, w, m, p, p, m, radix * p, 1)
        else:
            for p in range(m):
                for q in range(s):
                    butterfly(xr, xi, yr, yi, w, m, p, p * s + q, m * s, radix * p * s + q, s)

    passed.__name__ = f"pass_{radix}"
    return passed


_by_2, _by_3, _by_4 = _pass(_of_2, 2), _pass(_of_3, 3), _pass(_of_4, 4)
_by_5, _by_7, _by_8 = _pass(_of_5, 5), _pass(_of_7, 7), _pass(_of_8, 8)


@device
def passed(xr, xi, yr, yi, w, radix, m, s):
    """One pass from the planes x to the planes y, which lie apart. `w` has the factors: planes of m
    numbers, cosines and sines for each of the outputs 1 ... radix - 1."""
    if radix == 4:
        _by_4(xr, xi, yr, yi, w, m, s)
    elif radix == 8:
        _by_8(xr, xi, yr, yi, w, m, s)
    elif radix == 2:
        _by_2(xr, xi, yr, yi, w, m, s)
    elif radix == 3:
        _by_3(xr, xi, yr, yi, w, m, s)
    elif radix == 5:
        _by_5(xr, xi, yr, yi, w, m, s)
    else:
        _by_7(xr, xi, yr, yi, w, m, s)
