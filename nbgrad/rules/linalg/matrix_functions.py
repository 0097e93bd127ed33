"""Exponential, square root and logarithm of square matrices; public in `nbgrad.linalg`.

The derivative of a matrix function at x along a direction d is a block of the function of a larger
matrix (Mathias 1996, A chain rule for matrix functions and applications, theorem 2.1):

    f([[x, d], [0, x]]) = [[f(x), derivative], [0, f(x)]]

and its transpose is the derivative at x.T. So one rule holds for all functions, modes and orders,
and for equal eigenvalues.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core.primitive import Aval, bind, shape_of
from .. import batching
from ..dtypes import float_type
from ..families import Custom, definite, sample
from ..families.arrays import zeros_like
from ..forms import matrices as forms
from ..layout import given
from .matmul import swap
from .matrices import floats, require_square
from .triangular import over_stacks, scipy_function
from .widened import ComplexResult, takes_complex

__all__ = ["expm", "logm", "sqrtm"]


def _blocks(x, upper):
    """[[x, upper], [0, x]]"""
    zeros = zeros_like(x)
    lower = np.concatenate([zeros, x], axis=-1)
    return np.concatenate([np.concatenate([x, upper], axis=-1), lower], axis=-2)


def _corner(compute: Callable, x, direction):
    """The derivative of `compute` at x along a direction, which is scaled to size 1."""
    size = np.max(np.abs(direction), axis=(-2, -1), keepdims=True, initial=0.0)
    size = np.where(size > 0, size, 1.0).astype(direction.dtype)
    n = x.shape[-1]
    return compute(_blocks(x, direction / size))[..., :n, n:] * size


def _stacked(compute: Callable) -> Callable:
    return lambda x: over_stacks(compute, x.shape[-2:], x)


def _derivative(name: str, compute: Callable, **facts: Any) -> Custom:
    """The row of the derivative at x along a direction, which is linear in the direction;
    `compute(x, direction)` is that of plain matrices."""

    def evaluate(x, direction):
        return compute(floats(x), floats(direction))

    def rule(ct, out, args, need):
        x, direction = args
        n = shape_of(x)[-1]
        of_x = None
        if need[0]:
            corner = _blocks(np.zeros(shape_of(x), ct.dtype), ct)
            wide = bind(row, swap(_blocks(x, direction)), corner)
            of_x = wide[..., :n, :n] + wide[..., n:, n:]
        return [of_x, bind(row, swap(x), ct) if need[1] else None]

    def push(tangents, out, args):
        x, direction = args
        x_dot, direction_dot = tangents
        terms = [] if direction_dot is None else [bind(row, x, direction_dot)]
        if x_dot is not None:
            n = shape_of(x)[-1]
            both = _blocks(x_dot, np.zeros(shape_of(x), x_dot.dtype))
            terms.append(bind(row, _blocks(x, direction), both)[..., :n, n:])
        return sum(terms[1:], terms[0])

    row = Custom(
        f"{name}_along", evaluate, lambda x, direction: Aval.of(x.shape, float_type(x, direction)),
        rule, push,
        samples=[sample((2, 2), (2, 2), domain=definite)],
        reference=lambda x, d: compute(floats(x), floats(d)),
        batch=batching.along(),
        notes=f"the derivative of nbgrad.linalg.{name} at x along a direction", **facts,
    )  # fmt: skip
    return row


def _row(name: str, compute: Callable, fused: Callable, along: Custom, **facts: Any) -> Custom:
    """The row of a function of matrices, whose derivative is the row `along`; `fused(x, out, ct)`
    is its pullback of one plain matrix, by an algorithm of its own."""

    def evaluate(x):
        x = floats(x)
        return over_stacks(compute, x.shape[-2:], x)

    def rule(ct, out, args, need):
        return [bind(along, swap(args[0]), ct)]

    def push(tangents, out, args):
        return bind(along, args[0], tangents[0])

    def fused_rule(ct, out, args, need):
        return [over_stacks(fused, out.shape[-2:], args[0], out, ct)]

    return Custom(
        name, evaluate, lambda x: Aval.of(x.shape, float_type(x)), rule, push, fused=fused_rule,
        samples=[sample((2, 2), domain=definite), sample((2, 3, 3), domain=definite)],
        reference=lambda x: over_stacks(_wide(name), x.shape[-2:], x),
        batch=batching.broadcast, spelling=f"`nbgrad.linalg.{name}`", **facts,
    )  # fmt: skip


def _wide(name: str) -> Callable:
    """SciPy's function of one matrix in float64, the only dtype of its logarithm."""
    return lambda x: scipy_function(name)(x.astype(np.float64))


def _real(name: str) -> Callable:
    """SciPy's function of one matrix, with a real result."""

    def compute(x):
        out = _wide(name)(x)
        if np.iscomplexobj(out) and np.isfinite(out).all():
            raise ComplexResult(f"{name}: a matrix has a negative eigenvalue: take x + 0j")
        return out.real

    return compute


def _exponential(x):
    return scipy_function("expm")(x)


def _frechet(x, direction):
    return scipy_function("expm_frechet")(x, direction, compute_expm=False, check_finite=False)


def _exponential_along(x, direction):
    # SciPy's exponential of the larger matrix loses three digits of the corner.
    return over_stacks(_frechet, x.shape[-2:], x, direction)


def _exponential_back(x, out, ct):
    return _frechet(x.T, ct)


def _root_back(x, out, ct):
    """The X with root.T @ X + X @ root.T = ct."""
    return scipy_function("solve_sylvester")(out.T, out.T, ct)


def _logarithm_back(x, out, ct):
    return _corner(_stacked(_real("logm")), x.T, ct)


_SCHUR = "it needs Schur factors, which compiled programs do not compute"
_SLOW = "the derivative is a function of matrices of twice the rows"
_expm_along = _derivative("expm", _exponential_along, form=forms.exponential_along)
_sqrtm_along = _derivative("sqrtm", partial(_corner, _stacked(_real("sqrtm"))), eager_only=_SCHUR)
_logm_along = _derivative("logm", partial(_corner, _stacked(_real("logm"))), eager_only=_SCHUR)
expm_row = _row("expm", _exponential, _exponential_back, _expm_along, form=forms.exponential)
sqrtm_row = _row(
    "sqrtm", _real("sqrtm"), _root_back, _sqrtm_along, eager_only=_SCHUR,
    notes="the principal root, which is complex if an eigenvalue is negative",
    slow="the pullback solves Sylvester's equation, which takes Schur factors again",
)  # fmt: skip
logm_row = _row(
    "logm", _real("logm"), _logarithm_back, _logm_along, eager_only=_SCHUR,
    notes="the principal logarithm, which is complex if an eigenvalue is negative",
    slow=_SLOW,
)  # fmt: skip


@takes_complex
def expm(A: Any) -> Any:
    """The exponential of each matrix (..., n, n): the sum of A**k / k!. A number is a matrix of one
    element, as in SciPy.

    Raises DimensionMismatch for a shape that is not square.

    >>> nbgrad.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    A = given(A)
    if not shape_of(A):
        A = np.reshape(A, (1, 1))
    require_square("expm", A)
    return bind(expm_row, A)


@takes_complex
def sqrtm(A: Any) -> Any:
    """The principal square root of each matrix (..., n, n): X with X @ X = A, whose eigenvalues
    have positive real parts.

    It is complex if `A` is, or if an eigenvalue is negative. The derivative exists where no
    eigenvalue is 0. Eager only.

    Raises DimensionMismatch for a shape that is not square.

    >>> nbgrad.linalg.sqrtm(np.diag([4.0, 9.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    A = given(A)
    require_square("sqrtm", A)
    return bind(sqrtm_row, A)


@takes_complex
def logm(A: Any) -> Any:
    """The principal logarithm of each matrix (..., n, n): the X with expm(X) = A whose eigenvalues
    have imaginary parts between -pi and pi.

    It is complex if `A` is, or if an eigenvalue is negative. Eager only.

    Raises DimensionMismatch for a shape that is not square.

    >>> nbgrad.linalg.logm(np.eye(2))
    array([[0., 0.],
           [0., 0.]])
    """
    A = given(A)
    require_square("logm", A)
    return bind(logm_row, A)
