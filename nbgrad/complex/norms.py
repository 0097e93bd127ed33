"""Norms and conditions of complex arrays."""

from typing import Any

import numpy as np

from ..core.functions import functions
from ..core.primitive import bind, shape_of
from ..errors import MatrixError
from ..kernels import shapes
from ..rules import norm as of_reals
from ..rules.nondiff import stopped
from .calls import complexly
from .pair import ComplexArray, parts_of
from .stacked import whole


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return shapes.axes_of(tuple(axes), ndim, "norm")


@complexly(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of the moduli, but for norms of singular values. The 2-norm and the Frobenius norm
    are those of all parts, and smooth where an element is 0."""
    x = whole(x)
    axes = _axes(axis, x.ndim)
    if ord is None or (ord == 2 and len(axes) == 1) or (ord == "fro" and len(axes) == 2):
        parts = np.stack(parts_of(x), axis=-1)
        out = bind(of_reals.norm_row, parts, axes=(*axes, x.ndim), keepdims=False)
        return np.reshape(out, shapes.reduced(x.shape, axes, True)) if keepdims else out
    of_values = len(axes) == 2 and ord in (2, -2, "nuc")
    return of_reals.norm(x if of_values else np.abs(x), ord, axis, keepdims)


@complexly(np.linalg.cond)
def cond(x, p=None):
    x = whole(x)
    if p in (None, 2, -2) or 0 in x.shape:
        return functions[np.linalg.cond](x, p)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise MatrixError(f"cond: the shape {x.shape} is not that of square matrices, for p={p}")
    plain = ComplexArray(*map(stopped, parts_of(x)))
    singular = np.equal(np.abs(np.linalg.slogdet(plain)[0]), 0)
    regular = np.where(singular[..., None, None], np.eye(shape_of(x)[-1]), x)
    size = norm(x, p, (-2, -1))
    out = size * norm(np.linalg.inv(regular), p, (-2, -1))
    return np.where(singular, np.inf * (1.0 + size), out)


for _function in (
    np.linalg.diagonal, np.linalg.matrix_norm, np.linalg.matrix_transpose, np.linalg.tensorinv,
    np.linalg.tensorsolve, np.linalg.trace, np.linalg.vector_norm,
):  # fmt: skip
    complexly(_function)(functions[_function])  # composed of functions that take complex arrays
