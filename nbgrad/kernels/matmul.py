"""Matrix products and their pullbacks: loops for small matrices, BLAS for others.

Matrices are contiguous; `ta` and `tb` say whether one is transposed. Python passes them as 1 or 0,
since Numba determines the type of an int faster than that of a bool.
"""

import math

import numpy as np

from ..compiler.kernel import device, kernel
from ..errors import DimensionMismatch
from .blas import gemm
from .scalar import radd
from .shapes import broadcast

# Multiply-adds up to which a loop beats the call of BLAS (measured, see benchmarks/).
SMALL = 200


@device
def dot(x, y):
    """Sum of x[i] * y[i]; BLAS would take a product of matrices with one row and one column."""
    total = x.dtype.type(0.0)
    for i in range(x.size):
        total = radd(total, x[i] * y[i])
    return total


@device
def outer(x, y, out):
    """out[i, j] = x[i] * y[j]"""
    for i in range(x.size):
        for j in range(y.size):
            out[i, j] = x[i] * y[j]


@device
def product(a, b, out, ta, tb, count):
    """out = op(a) @ op(b), where `op` transposes if the flag is set; one of `count` products."""
    m, n = out.shape
    k = a.shape[0] if ta else a.shape[1]
    if m == n == 1:
        out[0, 0] = dot(a.ravel(), b.ravel())
        return
    if k == 1:
        outer(a.ravel(), b.ravel(), out)
        return
    if m * n * k > SMALL:
        gemm(a, b, out, m, n, k, ta, tb, count)
        return
    for i in range(m):
        for j in range(n):
            total = out.dtype.type(0.0)
            for p in range(k):
                total += (a[p, i] if ta else a[i, p]) * (b[j, p] if tb else b[p, j])
            out[i, j] = total


@kernel
def matmul(a, b, out, ta, tb):
    product(a, b, out, ta != 0, tb != 0, 1)


@kernel
def matmul_pullback(ct, a, b, a_bar, b_bar, ta, tb):
    """a_bar = ct @ op(b).T and b_bar = op(a).T @ ct."""
    product(ct, b, a_bar, False, tb == 0, 1)
    product(a, ct, b_bar, ta == 0, False, 1)


@kernel
def matmul_batch(a, b, out, ta, tb):
    """One product for each matrix of `out`; `a` and `b` hold as many, or one for all."""
    count = out.shape[0]
    for i in range(count):
        x, y = a[i if a.shape[0] > 1 else 0], b[i if b.shape[0] > 1 else 0]
        product(x, y, out[i], ta != 0, tb != 0, count)


def result_shape(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of `x @ y`, as NumPy has it. Raises DimensionMismatch."""
    if not x or not y:
        raise DimensionMismatch(f"matmul: the shapes {x} and {y}: a scalar takes *, not @")
    inner_x, inner_y = x[-1], y[max(len(y) - 2, 0)]
    if inner_x != inner_y:
        raise DimensionMismatch(
            f"matmul: the shapes {x} and {y} do not fit: {inner_x} columns on the left, "
            f"{inner_y} rows on the right; they must be equal, so transpose or reshape one"
        )
    batch = broadcast("matmul", x[:-2], y[:-2])
    return batch + x[-2:-1] + (y[-1:] if len(y) > 1 else ())


def stored(matrix: np.ndarray) -> tuple[np.ndarray, int]:
    """A matrix, or a stack, as it lies in memory, and 1 if its matrices are transposed; copied
    if it is neither."""
    if matrix.flags.c_contiguous:
        return matrix, 0
    turned = matrix.swapaxes(-1, -2)
    if turned.flags.c_contiguous:
        return turned, 1
    return np.array(matrix, order="C"), 0


def compute(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`x @ y` for float arrays of one dtype and any layout: 1-D, 2-D, batches that broadcast."""
    out = np.empty(result_shape(x.shape, y.shape), x.dtype)
    x, y = (x if x.ndim > 1 else x[None]), (y if y.ndim > 1 else y[:, None])
    m, n = x.shape[-2], y.shape[-1]
    if x.ndim == y.ndim == 2:
        (a, ta), (b, tb) = stored(x), stored(y)
        matmul(a, b, out.reshape(m, n), ta, tb)
    else:
        batch = broadcast("matmul", x.shape[:-2], y.shape[:-2])
        (a, ta), (b, tb) = _batched(x, batch), _batched(y, batch)
        matmul_batch(a, b, out.reshape(math.prod(batch), m, n), ta, tb)
    return out


def _batched(x: np.ndarray, batch: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Contiguous matrices along one axis, and 1 if they are transposed; a single one where it
    serves all."""
    if math.prod(x.shape[:-2]) != 1 and x.shape[:-2] != batch:
        x = np.broadcast_to(x, batch + x.shape[-2:])
    matrices, turned = stored(x)
    return matrices.reshape(math.prod(matrices.shape[:-2]), *matrices.shape[-2:]), turned
