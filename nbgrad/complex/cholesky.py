"""Cholesky factors of Hermitian matrices."""

import math
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..kernels.complex_factors import complex_choleskied
from ..rules.forms.matrices import require
from ..rules.linalg.matrices import require_square
from ..rules.linalg.triangular import over_stacks, scipy_function, solve_triangular
from .calls import complexly
from .matrices import of_rows, rows_of, woven
from .pair import ComplexArray
from .spectra import even, hermitian
from .stacked import ComplexRow, adjoint

__all__ = ["cholesky"]


def _halved(x: Any) -> Any:
    """The lower triangle with half the diagonal, of which the real part counts."""
    unit = np.eye(shape_of(x)[-1], dtype=x.real.dtype)
    return np.tril(x, -1) + 0.5 * unit * np.real(x)


def _solved(a: Any, b: Any, lower: bool) -> Any:
    """The solutions of triangular systems with a real diagonal."""
    if isinstance(a, ComplexArray) or isinstance(b, ComplexArray):
        return of_rows(solve_triangular(woven(a), rows_of(b), lower=lower))
    solve = scipy_function("solve_triangular")
    return over_stacks(
        lambda a, b: solve(a, b, lower=lower, check_finite=False), b.shape[-2:], a, b
    )


# The rule and the tangent of real factors (`rules/linalg/cholesky.py`), with adjoint matrices. The
# diagonal is real, so the imaginary part of its cotangent does not count.
def _rule(ct: Any, out: Any, args: Any, need: Any) -> list:
    half = _solved(adjoint(out), _halved(adjoint(out) @ ct), lower=False)
    return [even(_solved(adjoint(out), adjoint(half), lower=False))]


def _push(tangents: Any, out: Any, args: Any) -> Any:
    half = _solved(out, even(tangents[0]), lower=True)
    return out @ _halved(_solved(out, adjoint(half), lower=True))


def _form(graph: Any, symbol: Any, x: Any) -> Any:
    n, count = x.shape[-1], math.prod(x.shape[:-3])
    x = graph.reshape(graph.cast(x, symbol.dtype), (count, 2, n, n))
    out = graph.call(x.shape, symbol.dtype, (x,), complex_choleskied, (count, n))
    require(graph, symbol, out, "x == x", "not a positive definite")
    return graph.reshape(out, symbol.shape)


cholesky_row = ComplexRow(
    "cholesky", np.linalg.cholesky, lambda a: a, _rule, _push, reads=(), form=_form
)


@complexly(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    """The factors of positive definite Hermitian matrices: functions of the Hermitian part."""
    require_square("cholesky", a)
    out = cholesky_row(hermitian(a, upper))
    return adjoint(out) if upper else out
