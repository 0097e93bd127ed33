"""Banded systems and block diagonal matrices; public in `nbgrad.linalg`."""

from typing import Any

import numpy as np

from ...core.primitive import Aval, bind, shape_of
from ...errors import DimensionMismatch, require_unmasked
from ...kernels import shapes
from ...kernels.shapes import broadcast
from ..dtypes import float_type
from ..families import Dominant, sample
from ..forms import matrices as forms
from ..layout import given
from .matrices import system
from .triangular import over_stacks, right_hand_sides, scipy_function
from .widened import takes_complex

__all__ = ["block_diag", "solve_banded"]

# -- banded systems -------------------------------------------------------------------------------


def _banded(ab, b, *, lower, upper):
    dtype = float_type(ab.dtype, b.dtype)
    ab, b = np.asarray(ab, dtype), np.asarray(b, dtype)
    solve = scipy_function("solve_banded")
    return over_stacks(
        lambda ab, b: solve((lower, upper), ab, b, check_finite=False), b.shape[-2:], ab, b
    )


def _banded_infer(ab, b, **params):
    shape = broadcast("solve_banded", ab.shape[:-2], b.shape[:-2]) + b.shape[-2:]
    return Aval.of(shape, float_type(ab, b))


def _beyond(x, axis: int, before: int, after: int):
    """x with zeros before and after it along an axis."""
    widths = [(0, 0)] * len(shape_of(x))
    widths[axis] = (before, after)
    return np.pad(x, widths)


def _diagonals(x, y, *, lower, upper):
    """The diagonals of x @ y.T as the rows of a banded matrix, `x` and `y` of n rows each."""
    n, x = shape_of(x)[-2], _beyond(x, -2, upper, lower)
    rows = [np.sum(x[..., r : r + n, :] * y, axis=-1) for r in range(lower + upper + 1)]
    return np.stack(rows, axis=-2)


def _times(ab, x, *, lower, upper):
    """The product of banded matrices with x."""
    n, last = shape_of(x)[-2], lower + upper
    parts = [_beyond(ab[..., r, :, None] * x, -2, r, last - r) for r in range(last + 1)]
    return sum(parts[1:], parts[0])[..., upper : upper + n, :]


def _turned(ab, lower: int, upper: int):
    """The transposed banded matrix: rows in reverse order, each shifted to its new columns."""
    n, ab = shape_of(ab)[-1], _beyond(ab, -1, lower, upper)
    rows = [ab[..., lower + upper - r, r : r + n] for r in range(lower + upper + 1)]
    return np.stack(rows, axis=-2)


def _dense(ab, lower, upper):
    n = ab.shape[-1]
    out = np.zeros((*ab.shape[:-2], n, n), ab.dtype)
    for i, j in np.ndindex(n, n):
        if -upper <= i - j <= lower:
            out[..., i, j] = ab[..., upper + i - j, j]
    return out


banded_row = system(
    "solve_banded", _banded, _banded_infer,
    transposed=lambda ab, ct, *, lower, upper: bind(
        banded_row, _turned(ab, lower, upper), ct, lower=upper, upper=lower
    ),
    product=_times, outer=_diagonals, form=forms.banded,
    reference=lambda ab, b, *, lower, upper: np.linalg.solve(_dense(ab, lower, upper), b),
    samples=[
        sample((3, 3), (3, 2), domain=Dominant(0.3, 0.5), lower=1, upper=1),
        sample((2, 4), (4, 1), domain=Dominant(0.5, 1.5), lower=0, upper=1),
        sample((2, 2, 4), (4, 2), domain=Dominant(0.5, 1.5), lower=1, upper=0),
        sample((4, 4), (4, 1), domain=Dominant(0.1, 0.3), lower=2, upper=1),
    ],
    spelling="`nbgrad.linalg.solve_banded`",
    notes="the pullback solves the transposed system, and takes the diagonals of an outer product",
)  # fmt: skip


@takes_complex
def solve_banded(
    l_and_u: tuple[int, int], ab: Any, b: Any, overwrite_ab: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Solve a @ x = b for x, where `a` has l diagonals below the main one and u above it.

    Arguments:
        l_and_u: the numbers l and u.
        ab: the diagonals (..., l + u + 1, n): `ab[u + i - j, j]` is `a[i, j]`. The corners
            without elements are not read, and their gradient is 0.
        b: a vector (n,), or matrices (..., n, k); stacks broadcast.
        overwrite_ab, overwrite_b, check_finite: ignored, for SciPy's signature; nothing is
            overwritten, and nan is propagated.

    Returns x in the shape of b, with the leading axes of `ab`. It takes about n * l * (l + u)
    steps, as does its pullback.

    Raises DimensionMismatch for shapes that do not fit, np.linalg.LinAlgError for a matrix that is
    singular.

    >>> ab = np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]])  # 1 above the diagonal
    >>> nbgrad.linalg.solve_banded((0, 1), ab, np.array([3.0, 3.0, 2.0]))
    array([1., 1., 1.])
    """
    lower, upper = (shapes.whole(n, "solve_banded: l_and_u") for n in l_and_u)
    ab, b = given(ab), given(b)
    shape = shape_of(ab)
    if min(lower, upper) < 0 or len(shape) < 2 or shape[-2] != lower + upper + 1:
        raise DimensionMismatch(
            f"solve_banded: ab of the shape {shape} does not fit l = {lower} and u = {upper}: it "
            f"has l + u + 1 rows, one for each diagonal"
        )
    return right_hand_sides(
        "solve_banded", ab, shape[-1], b,
        lambda b: bind(banded_row, ab, b, lower=lower, upper=upper),
    )  # fmt: skip


# -- matrices made of others ----------------------------------------------------------------------


@takes_complex
def block_diag(*arrs: Any) -> Any:
    """A block diagonal matrix of the given matrices.

    A number is a matrix of one element, a vector of one row; leading axes broadcast. The matrices
    (..., m1, n1), (..., m2, n2), ... give one of the shape (..., m1 + m2 + ..., n1 + n2 + ...).

    >>> nbgrad.linalg.block_diag(1.0, np.array([[2.0], [3.0]]))
    array([[1., 0.],
           [0., 2.],
           [0., 3.]])
    """
    for x in arrs:
        require_unmasked(x, "block_diag")
    blocks: list[Any] = [given(x) for x in arrs or ([[]],)]
    blocks = [x if len(shape_of(x)) > 1 else np.reshape(x, (1, -1)) for x in blocks]
    lead = np.broadcast_shapes(*(shape_of(x)[:-2] for x in blocks))
    columns, rows, start = sum(shape_of(x)[-1] for x in blocks), [], 0
    for x in blocks:
        *_, m, n = shape_of(x)
        x = x if shape_of(x)[:-2] == lead else np.broadcast_to(x, (*lead, m, n))
        sides = (*((0, 0),) * len(lead), (0, 0), (start, columns - start - n))
        rows.append(np.pad(x, sides))
        start += n
    return np.concatenate(rows, axis=-2) if len(rows) > 1 else rows[0]
