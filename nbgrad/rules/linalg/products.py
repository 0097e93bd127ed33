"""Products of arrays by matmul: outer, inner, kron, tensordot and chains."""

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...core.array import implements
from ...core.primitive import Aval, bind, shape_of
from ...errors import DimensionMismatch
from .. import batching, patterns
from ..dtypes import FLOATS, common_type
from ..families import Bilinear, sample, scaled
from ..forms import reductions as forms
from .matmul import matmul


def _fitting(op: str, x, y, n: int, m: int) -> None:
    if n != m:
        raise DimensionMismatch(
            f"{op}: the shapes {shape_of(x)} and {shape_of(y)} do not fit: the axes that are "
            f"summed have lengths {n} and {m}"
        )


def _array(x):
    """An array; Python numbers are promoted like arrays, as in NumPy."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def summed(x, axis):
    """The sum in the dtype of x, as in products; np.sum widens narrow integers and bools."""
    total = np.sum(x, axis=axis)
    return total if total.dtype == x.dtype else total.astype(x.dtype)


@implements(np.dot)
def dot(a, b):
    """Sums of products over the last axis of a and the second to last axis of b, or its only one;
    the product if one is a scalar."""
    a, b = _array(a), _array(b)
    ranks = len(shape_of(a)), len(shape_of(b))
    if 0 in ranks:
        return np.multiply(a, b)
    if max(ranks) > 2:
        return tensordot(a, b, (-1, -2 if ranks[1] > 1 else -1))
    return bind(matmul, a, b)


@implements(np.outer)
def outer(a, b):
    """The matrix of all products of the elements of a and b."""
    return np.multiply(np.reshape(a, (-1, 1)), np.reshape(b, (1, -1)))


def _flat(x, kept: int):
    x = np.asarray(x)
    return x.reshape(*x.shape[:kept], math.prod(x.shape[kept:]))


def _spread(ct, kept: int, ndim: int):
    """One number per row, with axes that broadcast over the row."""
    return np.reshape(ct, (*shape_of(ct), *(1,) * (ndim - kept)))


def _other(ct, other, kept: int):
    return scaled(_spread(ct, kept, len(shape_of(other))), other)


def _row_sums(x, y, *, kept):
    flat, other = _flat(x, kept), _flat(y, kept)
    return np.asarray(np.dot(flat, other) if not kept else np.vecdot(flat, other))


def _row_sums_batch(row, size, args, batched, *, kept):
    return bind(row, *batching.spread(size, args, batched), kept=kept + 1)


row_sums = Bilinear(
    "vecdot", _row_sums, lambda x, y, *, kept: Aval.of(x.shape[:kept], common_type(x, y)),
    lambda ct, x, y, *, kept: _other(ct, y, kept), lambda ct, x, y, *, kept: _other(ct, x, kept),
    samples=[
        sample((3,), (3,), kept=0), sample((2, 3), (2, 3), kept=0), sample((2, 3), (2, 3), kept=1),
        sample((0, 3), (0, 3), kept=1), sample((2, 0), (2, 0), kept=1),
    ],
    batch=_row_sums_batch, form=forms.row_sums, pattern=patterns.dots,
    reference=lambda x, y, *, kept: np.einsum(x, range(x.ndim), y, range(x.ndim), range(kept)),
    notes="sums of products over all axes but the first `kept` of two arrays of one shape",
    slow="the value only reads both arrays, and the pullback writes two as large",
)  # fmt: skip


def _are_alike(x, y) -> bool:
    """Whether they are floats of one shape and dtype."""
    return shape_of(x) == shape_of(y) and x.dtype == y.dtype and x.dtype in FLOATS


@implements(np.vdot)
def vdot(a, b):
    """Sum of the products of elements, whatever the shapes."""
    a, b = _array(a), _array(b)
    if _are_alike(a, b):
        return bind(row_sums, a, b, kept=0)
    x, y = np.reshape(a, -1), np.reshape(b, -1)
    _fitting("vdot", a, b, *shape_of(x), *shape_of(y))
    return np.dot(x, y)


@implements(np.linalg.vecdot, np.vecdot)
def vecdot(x1, x2, /, *, axis=-1):
    """Sums of products along one axis; the other axes broadcast."""
    x1, x2 = _array(x1), _array(x2)
    if _are_alike(x1, x2) and axis in (-1, len(shape_of(x1)) - 1) and shape_of(x1):
        return bind(row_sums, x1, x2, kept=len(shape_of(x1)) - 1)
    return summed(np.multiply(x1, x2), axis)


@implements(np.inner)
def inner(a, b):
    """Sums of products over the last axis of both; the product if one is a scalar."""
    a, b = _array(a), _array(b)
    if not shape_of(a) or not shape_of(b):
        return np.multiply(a, b)
    if len(shape_of(a)) == len(shape_of(b)) == 1 and shape_of(a) == shape_of(b):
        return np.matmul(a, b)
    return tensordot(a, b, (-1, -1))


@implements(np.tensordot)
def tensordot(a, b, axes=2):
    """Sums of products over `axes`: the last of a and the first of b, or two lists."""
    a_shape, b_shape = shape_of(a), shape_of(b)
    if isinstance(axes, (tuple, list)):
        summed = [[axis] if isinstance(axis, int) else list(axis) for axis in axes]
    else:
        summed = [list(range(len(a_shape) - axes, len(a_shape))), list(range(axes))]
    mine, theirs = (
        normalize_axis_tuple(summed[0], len(a_shape)),
        normalize_axis_tuple(summed[1], len(b_shape)),
    )
    n, m = math.prod(a_shape[i] for i in mine), math.prod(b_shape[i] for i in theirs)
    if [a_shape[i] for i in mine] != [b_shape[i] for i in theirs]:
        _fitting("tensordot", a, b, n, -1 if n == m else m)
    labels = [len(a_shape) + i for i in range(len(b_shape))]
    for i, k in zip(mine, theirs, strict=True):
        labels[k] = i
    out = [i for i in range(len(a_shape)) if i not in mine]
    out += [label for label in labels if label >= len(a_shape)]
    return np.einsum(a, range(len(a_shape)), b, labels, out)


@implements(np.kron)
def kron(a, b):
    """Blocks of b, each multiplied by one element of a."""
    ndim = max(len(shape_of(a)), len(shape_of(b)))
    blocks, inner = ((1,) * (ndim - len(s)) + s for s in (shape_of(a), shape_of(b)))
    products = np.reshape(outer(a, b), (*blocks, *inner))
    order = tuple(axis for i in range(ndim) for axis in (i, ndim + i))
    shape = tuple(m * n for m, n in zip(blocks, inner, strict=True))
    return np.reshape(np.transpose(products, order), shape)
