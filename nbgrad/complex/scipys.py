"""Functions of `scipy.linalg`, public in `nbgrad.linalg`, of complex matrices.

Most are those of real matrices of twice the size, `doubled` or `woven` ones (`matrices.py`).
"""

from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import shape_of
from ..errors import ArgumentError, DimensionMismatch
from ..kernels import shapes
from ..rules.linalg import banded, cholesky, matrix_functions, sylvester, toeplitz, triangular
from ..rules.linalg.matrices import require_square
from ..rules.select import on_values
from .calls import complexly
from .matrices import doubled, halved, of_rows, rows_of, woven
from .pair import ComplexArray, parts_of
from .stacked import ComplexRow, adjoint, whole

# -- functions of matrices ------------------------------------------------------------------------


def _squares(A: Any, op: str) -> ComplexArray:
    A = whole(A)
    A = np.reshape(A, (1, 1)) if op == "expm" and not A.ndim else A
    require_square(op, A)
    return A


@complexly(matrix_functions.expm)
def expm(A):
    A = _squares(A, "expm")
    return halved(matrix_functions.expm(doubled(A)), *A.shape[-2:])


@on_values
def _angles(real: Any, imag: Any) -> Any:
    """The least and the largest angle of the eigenvalues; that of negative numbers is pi, also if
    rounding puts them below the cut."""
    angles = np.angle(np.linalg.eigvals(real + 1j * imag)).ravel()
    angles = np.where(angles < 1e-9 - np.pi, np.pi, angles)
    return np.array([angles.min(initial=np.pi), angles.max(initial=-np.pi)])


def _turned(A: ComplexArray) -> tuple[Any, float]:
    """The matrix turned by an angle, so that its eigenvalues are away from the negative axis, where
    functions of the matrix and of its conjugate differ; and the angle."""
    ends: Any = _angles(*parts_of(A))
    while isinstance(ends, Array):  # a batch, whose samples are turned alike
        ends = ends.below
    ends = np.reshape(ends, (-1, 2))
    angle = 0.5 * float(ends[:, 0].min() + ends[:, 1].max()) if A.size else 0.0
    return A * complex(np.exp(-1j * angle)) if angle else A, angle


@complexly(matrix_functions.sqrtm)
def sqrtm(A):
    A, angle = _turned(_squares(A, "sqrtm"))
    root = halved(matrix_functions.sqrtm(doubled(A)), *A.shape[-2:])
    return root * complex(np.exp(0.5j * angle))


@complexly(matrix_functions.logm)
def logm(A):
    A, angle = _turned(_squares(A, "logm"))
    out = halved(matrix_functions.logm(doubled(A)), *A.shape[-2:])
    return out + 1j * angle * np.eye(A.shape[-1])


# -- Sylvester's equation -------------------------------------------------------------------------


def _solved(a: Any, b: Any, q: Any) -> Any:
    solve = triangular.scipy_function("solve_sylvester")
    return triangular.over_stacks(solve, q.shape[-2:], a, b, q)


def _sylvester_rule(ct: Any, out: Any, args: Any, need: Any) -> list:
    q_bar = _sylvester(adjoint(args[0]), adjoint(args[1]), ct)
    return [
        -q_bar @ adjoint(out) if need[0] else None,
        -adjoint(out) @ q_bar if need[1] else None,
        q_bar,
    ]


def _sylvester_push(tangents: Any, out: Any, args: Any) -> Any:
    a_dot, b_dot, q_dot = tangents
    terms = [] if q_dot is None else [q_dot]
    terms += [] if a_dot is None else [-a_dot @ out]
    terms += [] if b_dot is None else [-out @ b_dot]
    return _sylvester(args[0], args[1], sum(terms[1:], terms[0]))


_sylvester = ComplexRow(
    "solve_sylvester", _solved, lambda a, b, q: q, _sylvester_rule, _sylvester_push,
    eager_only="it needs Schur factors, which compiled programs do not compute",
)  # fmt: skip


@complexly(sylvester.solve_sylvester)
def solve_sylvester(a, b, q):
    a, b, q = map(whole, (a, b, q))
    require_square("solve_sylvester", a)
    require_square("solve_sylvester", b)
    if q.shape != (a.shape[-1], b.shape[-1]) or a.ndim != 2 or b.ndim != 2:
        raise DimensionMismatch(
            f"solve_sylvester: a, b and q of the shapes {a.shape}, {b.shape} and {q.shape} do not "
            "fit: give (m, m), (n, n) and (m, n)"
        )
    return _sylvester(a, b, q)


# -- triangular and banded systems ----------------------------------------------------------------


_TURNED: dict[Any, int] = {"N": 0, "T": 1, "C": 2}


@complexly(triangular.solve_triangular)
def solve_triangular(
    a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True
):
    a, b = whole(a), whole(b)
    require_square("solve_triangular", a)
    trans = _TURNED.get(trans, trans)
    if trans not in (0, 1, 2):
        raise ArgumentError(f"solve_triangular: trans={trans!r} must be 0, 1, 2, 'N', 'T' or 'C'")
    if trans:
        a, lower = np.swapaxes(a, -1, -2) if trans == 1 else adjoint(a), not lower
    n = a.shape[-1]
    off = a * (1.0 - np.eye(n))
    if unit_diagonal:
        return _by_rows(off, b, lower, True, None)
    # Rows are turned so that the diagonal is real; then the woven matrix is triangular.
    pivots = np.diagonal(a, 0, -2, -1)
    size = np.abs(pivots)
    null = np.equal(size, 0)
    phases = np.where(null, 1.0, np.conjugate(pivots) / np.where(null, 1.0, size))
    turned = off * phases[..., None] + size[..., None] * np.eye(n)
    return _by_rows(turned, b, lower, False, phases)


def _by_rows(a: Any, b: Any, lower: bool, unit: bool, phases: Any) -> Any:
    def solve(b: Any) -> Any:
        b = b if phases is None else b * phases[..., None]
        return of_rows(
            triangular.solve_triangular(
                woven(a), rows_of(b), lower=bool(lower), unit_diagonal=bool(unit)
            )
        )

    return triangular.right_hand_sides("solve_triangular", a, a.shape[-1], b, solve)


@complexly(banded.solve_banded)
def solve_banded(
    l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True
):  # fmt: skip
    lower, upper = (shapes.whole(n, "solve_banded: l_and_u") for n in l_and_u)
    ab, b = whole(ab), whole(b)
    if min(lower, upper) < 0 or ab.ndim < 2 or ab.shape[-2] != lower + upper + 1:
        raise DimensionMismatch(
            f"solve_banded: ab of the shape {ab.shape} does not fit l = {lower} and u = {upper}: "
            "it has l + u + 1 rows, one for each diagonal"
        )
    # Between two real diagonals of the woven matrix, and around them, is one of imaginary parts.
    n, null = ab.shape[-1], np.zeros((*ab.shape[:-2], 1, ab.shape[-1]))
    even = np.concatenate([null, ab.imag], axis=-2)
    odd = np.concatenate([-ab.imag, null], axis=-2)
    imags = np.stack([even, odd], axis=-1)
    reals = np.stack([ab.real, ab.real], axis=-1)
    reals = np.concatenate([reals, np.zeros((*ab.shape[:-2], 1, n, 2))], axis=-3)
    both = np.stack([imags, reals], axis=-3)
    bands = lower + upper + 1
    both = np.reshape(both, (*ab.shape[:-2], 2 * bands + 2, 2 * n))[..., : 2 * bands + 1, :]
    sides = 2 * lower + 1, 2 * upper + 1

    def solve(b: Any) -> Any:
        return of_rows(banded.solve_banded(sides, both, rows_of(b)))

    return triangular.right_hand_sides("solve_banded", ab, n, b, solve)


@complexly(cholesky.cho_factor)
def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    return np.linalg.cholesky(whole(a), upper=not lower), bool(lower)


@complexly(cholesky.cho_solve)
def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    require_square("cho_solve", whole(c))
    first = solve_triangular(c, b, 0 if lower else 2, lower)
    if len(shape_of(b)) == 1 and first.ndim > 1:  # one vector for a stack of factors
        return solve_triangular(c, first[..., None], 2 if lower else 0, lower)[..., 0]
    return solve_triangular(c, first, 2 if lower else 0, lower)


# -- matrices made of others ----------------------------------------------------------------------


@complexly(banded.block_diag)
def block_diag(*arrs):
    given = [whole(x) for x in arrs]
    return ComplexArray(
        banded.block_diag(*(x.real for x in given)), banded.block_diag(*(x.imag for x in given))
    )


def _column_and_row(c: Any, r: Any) -> tuple[ComplexArray, ComplexArray]:
    c = whole(c)
    return c, np.conjugate(c) if r is None else whole(r)


@complexly(toeplitz.toeplitz)
def toeplitz_of(c, r=None):
    """Hermitian without `r`, but for the first element, as in SciPy."""
    c, r = _column_and_row(c, r)
    return ComplexArray(toeplitz.toeplitz(c.real, r.real), toeplitz.toeplitz(c.imag, r.imag))


@complexly(toeplitz.matmul_toeplitz)
def matmul_toeplitz(c_or_cr, x, check_finite=False, workers=None):
    is_pair = isinstance(c_or_cr, tuple) and len(c_or_cr) == 2
    c, r = _column_and_row(*(c_or_cr if is_pair else (c_or_cr, None)))
    x, product = whole(x), toeplitz.matmul_toeplitz
    real, imag = (c.real, r.real), (c.imag, r.imag)
    return ComplexArray(
        product(real, x.real) - product(imag, x.imag), product(real, x.imag) + product(imag, x.real)
    )
