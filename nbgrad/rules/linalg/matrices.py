"""Inverse, linear systems and determinants of square matrices, and of stacks of them."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.array import implements
from ...core.primitive import Aval, bind, shape_of
from ...errors import DimensionMismatch, NoRuleError
from ...ir.reductions import PRODUCT, SUM
from ...kernels.shapes import broadcast
from .. import batching
from ..dtypes import linalg_type
from ..families import Custom, WithoutDerivative, definite, float_type, sample
from ..forms import matrices as forms
from ..forms import spectra
from .matmul import swap


def floats(x) -> np.ndarray:
    """A plain array of floats."""
    x = np.asarray(x)
    return x.astype(float_type(x.dtype), copy=False)


def require_square(op: str, x) -> None:
    """Raise DimensionMismatch, a ValueError like LinAlgError, unless x is a stack of square
    matrices."""
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise DimensionMismatch(
            f"{op}: the shape {shape} is not that of square matrices: its last two lengths must "
            "be equal"
        )


def _spread(x):
    """One number per matrix of a stack, with two more axes."""
    return np.reshape(x, (*shape_of(x), 1, 1))


_samples = [sample((2, 2), domain=definite), sample((2, 3, 3), domain=definite)]


# -- inverse and systems --------------------------------------------------------------------------


inv_row = Custom(
    "inv", lambda x: np.linalg.inv(floats(x)), lambda x: Aval.of(x.shape, float_type(x)),
    lambda ct, out, args, need: [-(swap(out) @ ct @ swap(out))],
    lambda tangents, out, args: -(out @ tangents[0] @ out),
    function=np.linalg.inv, samples=_samples, reads=(), batch=batching.broadcast,
    form=forms.inv,
)  # fmt: skip


@implements(np.linalg.inv)
def inv(a):
    """The inverse of each matrix. Raises LinAlgError if one is singular."""
    require_square("inv", a)
    return bind(inv_row, a)


def _solve(x, y):
    dtype = linalg_type(x.dtype, y.dtype)
    return np.linalg.solve(np.asarray(x, dtype), np.asarray(y, dtype))


def solution_shape(x, y) -> tuple[int, ...]:
    """The shape of solutions of stacks of systems."""
    return broadcast("solve", x.shape[:-2], y.shape[:-2]) + y.shape[-2:]


def system(
    name: str, compute: Callable, infer: Callable, *, transposed: Callable, product: Callable,
    outer: Callable, **facts: Any,
) -> Custom:  # fmt: skip
    """The row of the solution x of the systems `a * x = b`, by the implicit function theorem.

    `transposed(a, ct)` solves the transposed systems. `product(a, x)` is `a * x`, and `outer(ct,
    x)` its transpose in `a`.
    """

    def rule(ct, out, args, need, **params):
        b_bar = transposed(args[0], ct, **params)
        return [outer(-b_bar, out, **params) if need[0] else None, b_bar]

    def push(tangents, out, args, **params):
        a_dot, b_dot = tangents
        change = b_dot
        if a_dot is not None:
            change = product(a_dot, out, **params)
            change = -change if b_dot is None else b_dot - change
        return bind(row, args[0], change, **params)

    row = Custom(name, compute, infer, rule, push, reads=(0,), batch=batching.broadcast, **facts)
    return row


solve_row = system(
    "solve", _solve, lambda x, y: Aval.of(solution_shape(x, y), linalg_type(x, y)),
    transposed=lambda a, ct: bind(solve_row, swap(a), ct), product=lambda a, x: a @ x,
    outer=lambda ct, x: ct @ swap(x), form=forms.solve, function=np.linalg.solve,
    samples=[
        sample((2, 2), (2, 3), domain=definite), sample((3, 3), (3, 1), domain=definite),
        sample((2, 3, 3), (2, 3, 2), domain=definite), sample((2, 3, 3), (3, 2), domain=definite),
    ],
    notes="the pullback solves the transposed system",
)  # fmt: skip


@implements(np.linalg.solve)
def solve(a, b):
    """Solve a @ x = b for x, for a vector b or for matrices, in stacks that broadcast.

    Raises LinAlgError if a matrix is singular.
    """
    require_square("solve", a)
    rows, given = shape_of(a)[-1], shape_of(b)
    if not given or given[0 if len(given) == 1 else -2] != rows:
        raise DimensionMismatch(
            f"solve: the shapes {shape_of(a)} and {given} do not fit: b must have {rows} rows"
        )
    if len(given) > 1:
        return bind(solve_row, a, b)
    out = bind(solve_row, a, np.reshape(b, (rows, 1)))
    return np.reshape(out, shape_of(out)[:-1])


# Golub and Pereyra 1973, The differentiation of pseudo-inverses and nonlinear least squares
# problems whose variables separate, equation 4.12, and its transpose.
def _pinv_push(tangents, out, args):
    (x,), x_dot, turned = args, tangents[0], swap(tangents[0])
    rows = out @ swap(out) @ (turned - turned @ x @ out)
    columns = (turned - out @ (x @ turned)) @ swap(out) @ out
    return rows + columns - out @ x_dot @ out


def _pinv_rule(ct, out, args, need):
    (x,), turned = args, swap(ct)
    rows = (turned - x @ (out @ turned)) @ out @ swap(out)
    columns = swap(out) @ out @ (turned - turned @ out @ x)
    return [rows + columns - swap(out) @ ct @ swap(out)]


pinv_row = Custom(
    "pinv", lambda x: np.linalg.pinv(floats(x)),
    lambda x: Aval.of((*x.shape[:-2], x.shape[-1], x.shape[-2]), float_type(x)),
    _pinv_rule, _pinv_push, function=np.linalg.pinv, batch=batching.broadcast,
    samples=[sample((2, 3)), sample((3, 2)), sample((2, 3, 2)), sample((0, 2)), *_samples],
    kinks=[((np.zeros((2, 3)),), (np.zeros((2, 3)),))],
    form=spectra.pinv,
    notes="the derivative is that at constant rank, beyond which the pseudo-inverse jumps",
)  # fmt: skip


@implements(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False):
    """The pseudo-inverse of each matrix, of any shape.

    Raises NotImplementedError for `rcond` and `hermitian`.
    """
    if rcond is not None or hermitian:
        raise NoRuleError(
            "pinv: rcond and hermitian have no derivative rule; leave them out, or use x.data for "
            "the value"
        )
    if len(shape_of(a)) < 2:
        raise DimensionMismatch(f"pinv: the shape {shape_of(a)} has fewer than two axes")
    return bind(pinv_row, a)


# -- determinants ---------------------------------------------------------------------------------


def _traces(out_inverse, x_dot):
    """trace(inverse @ x_dot) of each matrix."""
    return np.sum(swap(out_inverse) * x_dot, axis=(-2, -1))


det_row = Custom(
    "det", lambda x: np.asarray(np.linalg.det(floats(x))),
    lambda x: Aval.of(x.shape[:-2], float_type(x)),
    lambda ct, out, args, need: [_spread(ct * out) * swap(inv(args[0]))],
    lambda tangents, out, args: out * _traces(inv(args[0]), tangents[0]),
    function=np.linalg.det, samples=_samples, batch=batching.broadcast,
    form=forms.of_diagonals("x", PRODUCT),
    notes="LinAlgError from the pullback where singular",
    slow="the pullback needs the inverse, which costs five determinants",
)  # fmt: skip
logabsdet_row = Custom(
    "logabsdet", lambda x: np.asarray(np.linalg.slogdet(floats(x))[1]),
    lambda x: Aval.of(x.shape[:-2], float_type(x)),
    lambda ct, out, args, need: [_spread(ct) * swap(inv(args[0]))],
    lambda tangents, out, args: _traces(inv(args[0]), tangents[0]),
    samples=_samples, batch=batching.broadcast, form=forms.of_diagonals("log(abs(x))", SUM),
    reference=lambda x: np.linalg.slogdet(x).logabsdet,
    notes="the second result of np.linalg.slogdet",
    slow="the pullback needs the inverse, as det's",
)  # fmt: skip


@implements(np.linalg.det)
def det(a):
    """The determinant of each matrix. Pullback: ct * det * inv(a).T."""
    require_square("det", a)
    return bind(det_row, a)


detsign_row = WithoutDerivative(
    "detsign", lambda x: np.linalg.slogdet(floats(x))[0],
    lambda x: Aval.of(x.shape[:-2], float_type(x)), samples=_samples, batch=batching.broadcast,
    form=forms.of_diagonals("select(x > 0.0, 1.0, select(x < 0.0, -1.0, x))", PRODUCT),
    reference=lambda x: np.linalg.slogdet(x).sign,
    notes="the first result of np.linalg.slogdet: piecewise constant",
)  # fmt: skip


SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")


@implements(np.linalg.slogdet)
def slogdet(a):
    """Sign and logarithm of the absolute value of each determinant; the sign is a plain array."""
    require_square("slogdet", a)
    return SlogdetResult(bind(detsign_row, a), bind(logabsdet_row, a))
