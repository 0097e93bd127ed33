"""Triangular systems; public in `nbgrad.linalg`."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.primitive import Aval, bind, shape_of
from ...errors import ArgumentError, DimensionMismatch, MatrixError
from ..dtypes import float_type
from ..families import definite, sample
from ..forms import matrices as forms
from ..layout import given
from .matmul import swap
from .matrices import require_square, solution_shape, system
from .widened import takes_complex

__all__ = ["solve_triangular"]


@functools.cache
def scipy_function(name: str) -> Any:
    """A function of scipy.linalg, imported on first use."""
    module, _, function = f"scipy.linalg.{name}".rpartition(".")
    return getattr(importlib.import_module(module), function)


def over_stacks(function: Callable, shape: tuple[int, ...], *arrays: np.ndarray) -> np.ndarray:
    """A function of matrices applied to stacks, which broadcast; its results end with `shape`."""
    dtype = np.result_type(*arrays)
    if all(x.ndim == 2 and x.size for x in arrays):
        return np.asarray(function(*arrays), dtype, order="C")
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
    out = np.empty((*lead, *shape), dtype)
    if out.size:
        spread = [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in arrays]
        for place in np.ndindex(lead):
            out[place] = function(*(x[place] for x in spread))
    return out


def right_hand_sides(op: str, a: Any, rows: int, b: Any, function: Callable) -> Any:
    """Apply `function` to right-hand sides `b` as matrices; a vector is one column. Errors name the
    shapes of `a` and `b`."""
    shape = shape_of(b)
    if not shape or shape[0 if len(shape) == 1 else -2] != rows:
        raise DimensionMismatch(
            f"{op}: the shapes {shape_of(a)} and {shape} do not fit: b must have {rows} rows"
        )
    if len(shape) > 1:
        return function(b)
    out = function(np.reshape(b, (rows, 1)))
    return np.reshape(out, shape_of(out)[:-1])


# -- triangular systems ---------------------------------------------------------------------------


def _solve(a, b, *, lower, unit):
    dtype = float_type(a.dtype, b.dtype)
    a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    substitute = scipy_function("lapack.dtrtrs" if dtype == np.float64 else "lapack.strtrs")

    def solve(a, b):
        # LAPACK arrays are column-major: pass the transposed matrix, which needs no copy.
        out, info = substitute(a.T, b, lower=not lower, trans=True, unitdiag=unit)
        if info > 0:
            raise MatrixError(
                f"solve_triangular: a singular matrix: element {info - 1} on its diagonal is 0"
            )
        return out

    return over_stacks(solve, b.shape[-2:], a, b)


def _seen(x, lower: bool, unit: bool):
    """The triangle that is read."""
    return np.tril(x, -1 if unit else 0) if lower else np.triu(x, 1 if unit else 0)


def _reference(a, b, *, lower, unit):
    a = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(np.where(np.eye(a.shape[-1], dtype=bool), 1.0, a) if unit else a, b)


triangular_row = system(
    "solve_triangular", _solve,
    lambda a, b, **params: Aval.of(solution_shape(a, b), float_type(a, b)),
    transposed=lambda a, ct, *, lower, unit: bind(
        triangular_row, swap(a), ct, lower=not lower, unit=unit
    ),
    product=lambda a, x, *, lower, unit: _seen(a, lower, unit) @ x,
    outer=lambda ct, x, *, lower, unit: _seen(ct @ swap(x), lower, unit),
    form=forms.triangular, reference=_reference,
    samples=[
        sample((3, 3), (3, 2), domain=definite, lower=True, unit=False),
        sample((3, 3), (3, 1), domain=definite, lower=False, unit=True),
        sample((2, 3, 3), (3, 2), domain=definite, lower=False, unit=False),
        sample((2, 2), (2, 2, 3), domain=definite, lower=True, unit=True),
    ],
    spelling="`nbgrad.linalg.solve_triangular`",
    notes="the pullback solves the transposed system; the gradient is 0 outside of the triangle",
)  # fmt: skip

_TRANSPOSED = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}


@takes_complex
def solve_triangular(
    a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Solve a @ x = b for x, reading only one triangle of `a`.

    Arguments:
        a: matrices (..., n, n).
        b: a vector (n,), or matrices (..., n, k); stacks broadcast.
        trans: 1 or "T" for a.T @ x = b.
        lower: read the lower triangle instead of the upper one.
        unit_diagonal: take the diagonal to be 1.
        overwrite_b, check_finite: ignored, for SciPy's signature; nothing is overwritten, and
            nan is propagated.

    Returns x in the shape of b, with the leading axes of `a`. Pullback: b_bar solves the transposed
    system for ct, and a_bar is the triangle of -b_bar @ x.T.

    Raises DimensionMismatch for shapes that do not fit, np.linalg.LinAlgError for a zero on the
    diagonal.

    >>> nbgrad.linalg.solve_triangular(np.array([[2.0, 0.0], [1.0, 1.0]]), np.ones(2), lower=True)
    array([0.5, 0.5])
    """
    a, b = given(a), given(b)
    require_square("solve_triangular", a)
    if trans not in _TRANSPOSED:
        raise ArgumentError(f"solve_triangular: trans={trans!r} must be 0, 1, 2, 'N', 'T' or 'C'")
    if _TRANSPOSED[trans]:
        a, lower = swap(a), not lower
    return right_hand_sides(
        "solve_triangular", a, shape_of(a)[-1], b,
        lambda b: bind(triangular_row, a, b, lower=bool(lower), unit=bool(unit_diagonal)),
    )  # fmt: skip
