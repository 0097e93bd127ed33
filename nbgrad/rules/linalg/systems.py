"""Functions made of inverses, solutions and singular values: powers, tensors, least squares."""

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...core.array import Array, functions, implements
from ...core.primitive import shape_of
from ...core.symbols import is_recorded
from ...errors import DimensionMismatch, MatrixError, NoRuleError
from ...kernels import shapes
from ..dtypes import float_type, linalg_type
from ..layout import given
from ..nondiff import stopped
from ..norm import norm
from ..select import on_values
from .decompositions import qr
from .matrices import inv, pinv, slogdet, solve

functions[np.linalg.matrix_rank] = on_values(np.linalg.matrix_rank)


@implements(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Cross products, along the axes that hold the components."""
    a, b = given(a), given(b)
    if axis is not None:
        axisa = axisb = axisc = axis
    (axisa,), (axisb,) = (
        normalize_axis_tuple(axisa, a.ndim, "a"),
        normalize_axis_tuple(axisb, b.ndim, "b"),
    )
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    lengths = shape_of(a)[-1], shape_of(b)[-1]
    if not set(lengths) <= {2, 3}:
        raise DimensionMismatch(
            f"cross: the vectors have {lengths[0]} and {lengths[1]} parts; they need 3"
        )
    if lengths == (2, 2):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    a, b = (_in_space(x) for x in (a, b))
    parts = [a[..., i] * b[..., k] - a[..., k] * b[..., i] for i, k in ((1, 2), (2, 0), (0, 1))]
    return np.moveaxis(np.stack(parts, axis=-1), -1, axisc)


def _in_space(x):
    if shape_of(x)[-1] == 3:
        return x
    return np.concatenate([x, np.zeros((*shape_of(x)[:-1], 1), x.dtype)], axis=-1)


def matvec(x1, x2, /):
    """Matrices times vectors, in stacks that broadcast."""
    x1, x2 = _of_axes("matvec", x1, 2), _of_axes("matvec", x2, 1)
    return np.matmul(x1, x2) if len(shape_of(x2)) == 1 else np.matmul(x1, x2[..., None])[..., 0]


def vecmat(x1, x2, /):
    """Vectors times matrices, in stacks that broadcast."""
    x1, x2 = _of_axes("vecmat", x1, 1), _of_axes("vecmat", x2, 2)
    if len(shape_of(x1)) == 1:
        return np.matmul(x1, x2)
    return np.matmul(x1[..., None, :], x2)[..., 0, :]


def _of_axes(op: str, x, least: int):
    x = given(x)
    if len(shape_of(x)) < least:
        kind = "a vector" if least == 1 else "a matrix"
        raise DimensionMismatch(f"{op}: an operand of shape {shape_of(x)}, which is not {kind}")
    return x


if hasattr(np, "matvec"):  # NumPy 2.2 and newer
    functions[np.matvec], functions[np.vecmat] = matvec, vecmat


@implements(np.linalg.matrix_power)
def matrix_power(a, n):
    """Each matrix times itself, `n` times; its inverse for a negative `n`."""
    shape, n = shape_of(a), shapes.whole(n, "matrix_power: n")
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise DimensionMismatch(f"matrix_power: the shape {shape} is not that of square matrices")
    if n == 0:
        return np.broadcast_to(np.eye(shape[-1], dtype=a.dtype), shape) + 0.0 * a
    power, rest = (inv(a), -n) if n < 0 else (a, n)
    out = None
    while rest:
        if rest & 1:
            out = power if out is None else out @ power
        rest >>= 1
        power = power @ power if rest else power
    return out


@implements(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    """The x with `np.tensordot(a, x, x.ndim) == b`."""
    a, b = given(a), given(b)
    n = len(shape_of(a))
    if axes is not None:
        moved = normalize_axis_tuple(axes, n, "tensorsolve")
        a = np.transpose(a, (*(i for i in range(n) if i not in moved), *moved))
    inner = shape_of(a)[len(shape_of(b)) :]
    size = math.prod(inner)
    if math.prod(shape_of(a)) != size**2:
        raise DimensionMismatch(
            f"tensorsolve: the shapes {shape_of(a)} and {shape_of(b)} make no square matrix"
        )
    return np.reshape(np.linalg.solve(np.reshape(a, (size, size)), np.reshape(b, size)), inner)


# -- least squares --------------------------------------------------------------------------------


def _ranks(a, cutoff):
    """The ranks for a cutoff and for that of the pseudo-inverse, from singular values."""
    s = np.linalg.svd(a, compute_uv=False)
    most = s.max(initial=0.0)
    return np.array([np.sum(s > cutoff * most), np.sum(s > 1e-15 * most)])


_ranks_of = on_values(_ranks)


def solution(op: str, a, b, rcond):
    """The least squares solution, of least norm for dependent columns, and the plain rank. A
    recorded program assumes independent columns, and raises an error otherwise."""
    m, n = shape_of(a)
    a = a.astype(float_type(a.dtype))
    most, share = (max(m, n), float(np.finfo(a.dtype).eps)) if rcond is None else (1, rcond)
    recorded = is_recorded(a) and m >= n
    if not recorded:
        ranks: Any = _ranks_of(a, max(most * share, 0.0))
        while isinstance(ranks, Array):  # a batch
            ranks = ranks.below
        rank, highest = int(ranks.min(initial=min(m, n))), int(ranks.max(initial=0))
        if rank < highest and rank < min(m, n):
            raise NoRuleError(
                f"{op}: a matrix is nearly of rank {rank}, below its {min(m, n)} columns or rows, "
                "where the solution has no derivative: drop columns that depend on others"
            )
        if rank < n:
            return pinv(a) @ b, rank
    q, r = qr(a)
    if recorded and n:
        sizes = np.abs(np.diagonal(r))
        dependent = np.reshape(np.where(sizes <= np.max(sizes) * most * share, 1.0, 0.0), (n, 1))
        r = np.where(np.eye(n) * dependent > 0, 0.0, r)  # so that `solve` raises an error
    return solve(r, np.transpose(q) @ b), n


@implements(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    """The least squares solution, sums of squared residuals, the plain rank, and singular values.

    The derivative is that at constant rank.
    """
    a, b = given(a), given(b)
    if len(shape_of(a)) != 2 or shape_of(a)[0] != shape_of(b)[0]:
        raise DimensionMismatch(
            f"lstsq: the shapes {shape_of(a)} and {shape_of(b)} do not fit: a matrix, and as many "
            "rows as it has"
        )
    a, b = (x.astype(linalg_type(a.dtype, b.dtype)) for x in (a, b))
    (m, n), s = shape_of(a), np.linalg.svdvals(a)
    x, rank = solution("lstsq", a, b, rcond)
    squares = np.sum(np.square(b - a @ x), axis=0)
    full = rank == n and m > n
    squares = np.reshape(squares, -1) if full else np.zeros(0, x.dtype)
    return x, squares, rank, s


# -- norms and conditions -------------------------------------------------------------------------


@implements(np.linalg.cond)
def cond(x, p=None):
    """The norm of each matrix times that of its inverse; from singular values for None, 2 and -2.

    It is inf for singular matrices, with derivative inf or nan.
    """
    x = given(x)
    if 0 in shape_of(x):
        raise MatrixError(
            f"cond: the shape {shape_of(x)} is that of an empty array", code="NB-EMPTY"
        )
    if p in (None, 2, -2):
        s = np.linalg.svdvals(x)
        size, out = s[..., 0], s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        lost = np.isnan(out)
    else:
        singular = np.equal(slogdet(stopped(x))[0], 0)
        regular = np.where(singular[..., None, None], np.eye(shape_of(x)[-1], dtype=x.dtype), x)
        size = norm(x, p, (-2, -1))
        out = size * norm(inv(regular), p, (-2, -1))
        lost = np.logical_or(singular, np.isnan(out))
    lost = np.logical_and(lost, np.logical_not(np.any(np.isnan(x), axis=(-2, -1))))
    return np.where(lost, np.inf * (1.0 + size), out)
