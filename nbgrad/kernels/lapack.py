"""Eigenvalues and singular values by LAPACK, which is that of SciPy: on pointers, for compiled
programs.

LAPACK stores matrices by columns, so it sees each matrix transposed. Complex matrices are given as
two planes, of real and of imaginary parts, which are interleaved for LAPACK. The values are nan if
an element is not finite or if LAPACK fails.
"""

import numpy as np

from ..compiler.instruction import Extern, instruction
from ..compiler.kernel import device
from ..compiler.pointers import shift
from .blas import multiplied
from .gemm import DOUBLE, dtype_of

__all__ = [
    "BY_LAPACK", "complex_eigen", "complex_singular", "eigen", "hermitian_eigen", "pseudo_inverses",
    "room_of_complex_eigen", "room_of_complex_singular", "room_of_eigen", "room_of_pseudo_inverses",
    "room_of_singular", "singular", "symmetric_eigen",
]  # fmt: skip

_INT = np.dtype(np.int32)
_evd = Extern("c_function", "numba_ez_xxxevd", _INT)
_rgeev = Extern("c_function", "numba_ez_rgeev", _INT)
_cgeev = Extern("c_function", "numba_ez_cgeev", _INT)
_gesdd = Extern("c_function", "numba_ez_gesdd", _INT)
_VECTORS, _NO_VECTORS, _LOWER, _THIN = (np.uint8(ord(letter)) for letter in "VNLS")


# -- calls of LAPACK: `parts` is 1 for real matrices and 2 for complex ones -----------------------


def _letter(x, parts):
    if parts == 1:
        return np.uint8(100 if dtype_of(x) is DOUBLE else 115)  # d, s
    return np.uint8(122 if dtype_of(x) is DOUBLE else 99)  # z, c


def _flat(x, size, parts):
    """The numbers at a place, in plain Python."""
    return x[: parts * size].view(np.result_type(x, np.complex64) if parts == 2 else x.dtype)


def _call_hermitian(a, w, n, parts):
    return _evd(_letter(a, parts), _VECTORS, _LOWER, n, a, n, w) != 0


@instruction(row=(_call_hermitian,))
def _hermitian(a, w, n, parts):
    """The eigenvalues of a Hermitian matrix, whose place the vectors take, in rows. Whether LAPACK
    fails."""
    matrix = _flat(a, n * n, parts)
    w[:n], vectors = np.linalg.eigh(matrix.reshape(n, n).T)
    matrix[:] = vectors.T.ravel()
    return False


def _call_real(a, real, imag, vectors, n):
    letter = _letter(a, 1)
    return _rgeev(letter, _NO_VECTORS, _VECTORS, n, a, n, real, imag, vectors, n, vectors, n) != 0


@instruction(row=(_call_real,))
def _real(a, real, imag, vectors, n):
    """The parts of the eigenvalues of a real matrix, and its vectors in rows: of conjugate ones
    the real and the imaginary part. Whether LAPACK fails."""
    values, found = np.linalg.eig(a[: n * n].reshape(n, n).T)
    real[:n], imag[:n] = np.real(values), np.imag(values)
    vectors[: n * n] = np.real(found).T.ravel()
    return False


def _call_complex(a, values, vectors, n):
    letter = _letter(a, 2)
    return _cgeev(letter, _NO_VECTORS, _VECTORS, n, a, n, values, vectors, n, vectors, n) != 0


@instruction(row=(_call_complex,))
def _complex(a, values, vectors, n):
    """The eigenvalues of a complex matrix, and its vectors in rows. Whether LAPACK fails."""
    found = np.linalg.eig(_flat(a, n * n, 2).reshape(n, n).T)
    _flat(values, n, 2)[:], _flat(vectors, n * n, 2)[:] = found[0], found[1].T.ravel()
    return False


def _call_singular(a, u, s, v, m, n, r, parts):
    return _gesdd(_letter(a, parts), _THIN, m, n, a, m, s, u, m, v, r) != 0


@instruction(row=(_call_singular,))
def _singular(a, u, s, v, m, n, r, parts):
    """The singular values, the left vectors in rows, and the conjugates of the right ones in
    columns. Whether LAPACK fails."""
    found = np.linalg.svd(_flat(a, m * n, parts).reshape(n, m).T, full_matrices=False)
    _flat(u, m * r, parts)[:], s[:r] = found[0].T.ravel(), found[1]
    _flat(v, n * r, parts)[:] = found[2].T.ravel()
    return False


# -- planes ---------------------------------------------------------------------------------------


@device
def _transposed(x, out, rows, columns):
    """out = x.T, and whether all elements are finite."""
    total = x[0] * 0.0
    for i in range(rows):
        for j in range(columns):
            out[j * rows + i] = x[i * columns + j]
            total += x[i * columns + j] * 0.0
    return total == 0.0


@device
def _woven(re, im, out, rows, columns):
    """out = x.T of complex numbers side by side, and whether all are finite."""
    total = re[0] * 0.0
    for i in range(rows):
        for j in range(columns):
            place, k = 2 * (j * rows + i), i * columns + j
            out[place], out[place + 1] = re[k], im[k]
            total += re[k] * 0.0 + im[k] * 0.0
    return total == 0.0


@device
def _unwoven(x, re, im, rows, columns, sign):
    """The planes of x.T, from `rows` rows of complex numbers side by side; the imaginary one
    times a sign."""
    for i in range(rows):
        for j in range(columns):
            place, k = j * rows + i, 2 * (i * columns + j)
            re[place], im[place] = x[k], sign * x[k + 1]


@device
def _fill(x, value, n):
    for i in range(n):
        x[i] = value


# -- eigenvalues ----------------------------------------------------------------------------------


@device
def symmetric_eigen(x, out, count, n, room):
    """For each symmetric matrix its eigenvalues, and below them its vectors in columns, behind the
    room, which may be 0."""
    for k in range(count):
        w = shift(out, room + k * (n + 1) * n)
        v = shift(w, n)
        fails = True
        if _transposed(shift(x, k * n * n), v, n, n):
            fails = _hermitian(v, w, n, 1)
        if fails:
            _fill(w, np.nan, n)
        for i in range(n):
            for j in range(i):
                v[i * n + j], v[j * n + i] = v[j * n + i], v[i * n + j]


@device
def hermitian_eigen(x, out, count, n, room):
    """For each Hermitian matrix the planes of the values and the vectors, behind the room, which
    has 2 n * n numbers."""
    for k in range(count):
        re = shift(out, room + 2 * k * (n + 1) * n)
        im, given = shift(re, (n + 1) * n), shift(x, 2 * k * n * n)
        fails = True
        if _woven(given, shift(given, n * n), out, n, n):
            fails = _hermitian(out, re, n, 2)
        if fails:
            _fill(re, np.nan, n)
        _fill(im, 0.0, n)
        _unwoven(out, shift(re, n), shift(im, n), n, n, 1.0)


def room_of_eigen(n: int) -> int:
    """The numbers of scratch space: two matrices and the imaginary parts of the values."""
    return 2 * n * n + n


@device
def eigen(x, out, count, n, room):
    """For each matrix its eigenvalues, and below them its vectors in columns, behind the room.
    Values are inf where one of them is complex."""
    vectors, imag = shift(out, n * n), shift(out, 2 * n * n)
    for k in range(count):
        w = shift(out, room + k * (n + 1) * n)
        v = shift(w, n)
        fails = True
        if _transposed(shift(x, k * n * n), out, n, n):
            fails = _real(out, w, imag, vectors, n)
        if fails:
            _fill(w, np.nan, n)
            _fill(imag, 0.0, n)
        _transposed(vectors, v, n, n)
        size = imag[0] * 0.0
        for i in range(n):
            size += abs(imag[i])
        if size != 0.0:
            _fill(w, np.inf, n)


def room_of_complex_eigen(n: int) -> int:
    """The numbers of scratch space: two complex matrices and the values."""
    return 4 * n * n + 2 * n


@device
def complex_eigen(x, out, count, n, room):
    """For each complex matrix the planes of the values and the vectors, behind the room."""
    vectors, values = shift(out, 2 * n * n), shift(out, 4 * n * n)
    for k in range(count):
        re = shift(out, room + 2 * k * (n + 1) * n)
        im, given = shift(re, (n + 1) * n), shift(x, 2 * k * n * n)
        fails = True
        if _woven(given, shift(given, n * n), out, n, n):
            fails = _complex(out, values, vectors, n)
        if fails:
            _fill(values, np.nan, 2 * n)
        _unwoven(values, re, im, n, 1, 1.0)
        _unwoven(vectors, shift(re, n), shift(im, n), n, n, 1.0)


# -- singular values ------------------------------------------------------------------------------


def room_of_singular(m: int, n: int) -> int:
    """The numbers of scratch space: the matrix and its left vectors."""
    return m * n + m * min(m, n)


@device
def singular(x, out, count, m, n, room):
    """For each matrix the left vectors in columns, the singular values in a row, and the right
    vectors in columns, behind the room."""
    r = min(m, n)
    for k in range(count):
        _factor(shift(x, k * m * n), out, shift(out, room + k * (m + 1 + n) * r), m, n, r)


@device
def _factor(x, work, u, m, n, r):
    s, v, turned = shift(u, m * r), shift(u, (m + 1) * r), shift(work, m * n)
    fails = True
    if _transposed(x, work, m, n):
        fails = _singular(work, turned, s, v, m, n, r, 1)
    if fails:
        _fill(s, np.nan, r)
    _transposed(turned, u, r, m)


def room_of_pseudo_inverses(m: int, n: int) -> int:
    """The numbers of scratch space: those of singular values, and the factors."""
    return room_of_singular(m, n) + (m + 1 + n) * min(m, n)


@device
def pseudo_inverses(x, out, count, m, n, room):
    """The pseudo-inverse of each matrix, of the numbers that NumPy keeps, behind the room."""
    r = min(m, n)
    u = shift(out, m * n + m * r)
    s, v = shift(u, m * r), shift(u, (m + 1) * r)
    for k in range(count):
        _factor(shift(x, k * m * n), out, u, m, n, r)
        least = 1e-15 * s[0]
        for c in range(r):
            factor = 0.0 if s[c] <= least else 1.0 / s[c]
            for i in range(n):
                v[i * r + c] *= factor
        at = shift(out, room + k * n * m)
        multiplied(v, u, at, n, m, r, False, True, r, r, m, count)


def room_of_complex_singular(m: int, n: int) -> int:
    """The numbers of scratch space: the matrix and the vectors of both sides."""
    return 2 * (m * n + (m + n) * min(m, n))


@device
def complex_singular(x, out, count, m, n, room):
    """For each complex matrix the planes of the left vectors, the singular values, and the right
    vectors in columns, behind the room."""
    r = min(m, n)
    rows = (m + 1 + n) * r
    left = shift(out, 2 * m * n)
    right = shift(left, 2 * m * r)
    for k in range(count):
        re = shift(out, room + 2 * k * rows)
        im, given = shift(re, rows), shift(x, 2 * k * m * n)
        s = shift(re, m * r)
        fails = True
        if _woven(given, shift(given, m * n), out, m, n):
            fails = _singular(out, left, s, right, m, n, r, 2)
        if fails:
            _fill(s, np.nan, r)
        _fill(shift(im, m * r), 0.0, r)
        _unwoven(left, re, im, r, m, 1.0)
        _unwoven(right, shift(re, (m + 1) * r), shift(im, (m + 1) * r), n * r, 1, -1.0)


BY_LAPACK = (
    symmetric_eigen, hermitian_eigen, eigen, complex_eigen, singular, pseudo_inverses,
    complex_singular,
)  # fmt: skip
"""The functions here."""
