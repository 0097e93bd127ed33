"""Matrix products."""

import numpy as np

from ...core.array import implements
from ...core.primitive import Aval, bind, shape_of
from ...eager.matmul import MatmulPlan
from ...kernels import matmul as kernels
from .. import batching, jacobian, patterns
from ..dtypes import FLOATS, kind_of, type_of
from ..families import Bilinear, sample, scaled, ufunc_primitives
from ..forms import reductions


def _infer(x: Aval, y: Aval) -> Aval:
    return Aval.of(kernels.result_shape(shape_of(x), shape_of(y)), type_of(np.matmul, x, y))


def _compute(x, y):
    x, y = np.asarray(x), np.asarray(y)
    dtype = type_of(np.matmul, kind_of(x), kind_of(y))
    if dtype not in FLOATS:
        return np.asarray(np.matmul(x, y))
    return kernels.compute(x.astype(dtype, copy=False), y.astype(dtype, copy=False))


def swap(x):
    """The last two axes exchanged."""
    ndim = len(shape_of(x))
    return np.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def _as_matrices(ct, x, y):
    """A 1-D argument as the row or column that it stands for, and ct with the axis it lost."""
    x_shape, y_shape, ct_shape = shape_of(x), shape_of(y), list(shape_of(ct))
    if len(y_shape) == 1:
        y, ct_shape = np.reshape(y, (-1, 1)), [*ct_shape, 1]
    if len(x_shape) == 1:
        x = np.reshape(x, (1, -1))
        ct_shape.insert(len(ct_shape) - 1, 1)
    return np.reshape(ct, tuple(ct_shape)), x, y


def _left(ct, x, y, product=np.matmul):
    """ct @ y.T"""
    if len(shape_of(x)) == len(shape_of(y)) == 1:
        return scaled(ct, y)
    ct, _, matrix = _as_matrices(ct, x, y)
    x_bar = product(ct, swap(matrix))
    return x_bar[..., 0, :] if len(shape_of(x)) == 1 else x_bar


def _right(ct, x, y, product=np.matmul):
    """x.T @ ct"""
    if len(shape_of(x)) == len(shape_of(y)) == 1:
        return scaled(ct, x)
    ct, matrix, _ = _as_matrices(ct, x, y)
    y_bar = product(swap(matrix), ct)
    return y_bar[..., 0] if len(shape_of(y)) == 1 else y_bar


def _fused(ct, out, args, need):
    """The rule by our own products: NumPy's are slow where a matrix is only one row or column."""
    x, y = args
    return [
        _left(ct, x, y, _compute) if need[0] else None,
        _right(ct, x, y, _compute) if need[1] else None,
    ]


matmul = Bilinear(
    "matmul", _compute, _infer, _left, _right, fused=_fused, function=np.matmul,
    samples=[
        sample((2, 3), (3, 2)), sample((3,), (3,)), sample((2, 3), (3,)), sample((3,), (3, 2)),
        sample((2, 2, 3), (3, 2)), sample((2, 1, 2, 3), (3, 3, 2)), sample((2, 2, 3), (3,)),
        sample((0, 3), (3, 2)), sample((2, 0), (0, 3)), sample((8, 7), (7, 9)),
    ],
    batch=batching.product, blocks=jacobian.product, form=reductions.matmul,
    pattern=patterns.product,
    slow="the pullback of a stack of small matrices has a transposed factor on the right, for "
    "which BLAS takes twice as long, and that of a matrix and a vector writes a matrix",
)  # fmt: skip
matmul.plan_class, matmul.operator = MatmulPlan, "@"
ufunc_primitives[np.matmul] = matmul


@implements(np.matmul)
def matmul_of(x, y):
    """`x @ y`. Pullback: ct @ y.T and x.T @ ct."""
    return bind(matmul, x, y)
