"""Cholesky factors and systems solved with them; `cho_factor` and `cho_solve` are public in
`nbgrad.linalg`."""

from typing import Any

import numpy as np

from ...core.array import implements
from ...core.primitive import Aval, bind, shape_of
from ...kernels.shapes import lower_triangle
from .. import batching
from ..dtypes import float_type
from ..families import Custom, definite, sample
from ..forms import matrices as forms
from ..layout import given
from .matmul import swap
from .matrices import require_square
from .symmetric import bind_symmetric, symmetric
from .triangular import solve_triangular, triangular_row
from .widened import takes_complex

__all__ = ["cho_factor", "cho_solve"]


def _halved(x):
    """The lower triangle with half the diagonal: Phi in the reference below."""
    rows = shape_of(x)[-1]
    return x * (lower_triangle(rows) - 0.5 * np.eye(rows)).astype(x.dtype)


# Murray 2016, Differentiation of the Cholesky decomposition, arXiv:1602.07527, equations 8 and 10.
def _rule(ct, out, args, need):
    half = _solved(swap(out), _halved(swap(out) @ ct), lower=False)
    x_bar = _solved(swap(out), swap(half), lower=False)
    return [0.5 * (x_bar + swap(x_bar))]


def _push(tangents, out, args):
    half = _solved(out, 0.5 * (tangents[0] + swap(tangents[0])), lower=True)
    return out @ _halved(_solved(out, swap(half), lower=True))


def _solved(a, b, lower: bool):
    return bind(triangular_row, a, b, lower=lower, unit=False)


cholesky_row = Custom(
    "cholesky", lambda x: np.linalg.cholesky(symmetric(x)),
    lambda x: Aval.of(x.shape, float_type(x)), _rule, _push,
    samples=[sample((2, 2), domain=definite), sample((2, 3, 3), domain=definite)], reads=(),
    batch=batching.broadcast, form=forms.cholesky,
    reference=lambda x: np.linalg.cholesky((x + np.swapaxes(x, -1, -2)) / 2),
    notes="a function of the symmetric part of the matrix, so the gradient is symmetric",
    slow="the pullback solves two triangular systems of as many columns, each worth three factors",
)  # fmt: skip


@implements(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    """The lower factor L with L @ L.T = a, or the upper one L.T, of positive definite matrices.

    The gradient is symmetric: both triangles of `a` share it, although NumPy reads only one. If the
    other one is zero, the gradient is that of the first alone.
    """
    require_square("cholesky", a)
    out = bind_symmetric(cholesky_row, a, upper)
    return swap(out) if upper else out


@takes_complex
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """The Cholesky factor of positive definite matrices (..., n, n), and `lower`: for `cho_solve`.

    It is a function of the symmetric part of `a`, whose triangles share the gradient; SciPy reads
    one triangle. The other triangle of the factor is zero; SciPy leaves it as it was.

    Raises DimensionMismatch for a shape that is not square, np.linalg.LinAlgError for a matrix
    that is not positive definite.

    >>> nbgrad.linalg.cho_factor(np.array([[4.0, 2.0], [2.0, 2.0]]))
    (array([[2., 1.],
           [0., 1.]]), False)
    """
    a = given(a)
    require_square("cho_factor", a)
    return cholesky(a, upper=not lower), bool(lower)


@takes_complex
def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve a @ x = b, given the factor of `a` from `cho_factor`, SciPy's or this one.

    `b` is a vector (n,), or matrices (..., n, k); stacks broadcast. Gradients go to the factor and
    to `b`.

    Raises DimensionMismatch for shapes that do not fit.

    >>> factor = nbgrad.linalg.cho_factor(np.array([[4.0, 2.0], [2.0, 2.0]]))
    >>> nbgrad.linalg.cho_solve(factor, np.array([2.0, 2.0]))
    array([0., 1.])
    """
    c, lower = c_and_lower
    c, b = given(c), given(b)
    require_square("cho_solve", c)
    first = solve_triangular(c, b, 0 if lower else 1, lower)
    if len(shape_of(b)) == 1 and len(shape_of(first)) > 1:  # one vector for a stack of factors
        first = first[..., None]
        return solve_triangular(c, first, 1 if lower else 0, lower)[..., 0]
    return solve_triangular(c, first, 1 if lower else 0, lower)
