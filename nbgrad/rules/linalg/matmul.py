"""Matrix products."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...capi.launch import Given, Launch, Literal, New, is_short
from ...core.array import implements
from ...core.primitive import Aval, bind, shape_of
from ...eager import plans as eager
from ...eager.launching import launched
from ...kernels import matmul as kernels
from .. import batching, jacobian
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


class MatmulPlan(eager.FunctionPlan):
    """Products of two matrices of one dtype go straight to the kernels."""

    __slots__ = ("dtype", "forward", "pull", "pull_all", "shape")
    complete = True

    def __init__(self, primitive, kinds, params):
        super().__init__(primitive, kinds, params)
        x, y = map(eager.abstract, self.kinds)
        self.shape = kernels.result_shape(shape_of(x), shape_of(y))
        self.dtype = x.dtype
        matrices = len(x.shape) == len(y.shape) == 2
        fits = matrices and x.dtype == y.dtype and x.dtype in FLOATS
        self.forward: Callable[..., np.ndarray] = self._product if fits else super().forward
        self.pull: Callable[..., Sequence] = self._pull if fits else super().pull
        self.pull_all: Callable[..., Sequence] = super().pull_all
        if fits:
            self.aval = Aval.of(self.shape, x.dtype)
            if self.need == (True, True):
                self.pull_all = self._pull_both
            if is_short(max(x.size, y.size, self.aval.size)):
                self._launch(x, y)

    def _launch(self, x: Aval, y: Aval) -> None:
        """Products that come often take a launcher, where neither factor is turned."""
        a, b = Given((0,), x.shape, x.dtype, False), Given((1,), y.shape, x.dtype, False)
        straight = Literal(0), Literal(0)
        launch = Launch(_matmul, (a, b, New(self.shape, x.dtype, False), *straight), 2)
        launched(self, "forward", 2, launch)
        if self.need == (True, True):
            ct = Given((0,), self.shape, x.dtype, False)
            a, b = replace(a, place=(2, 0)), replace(b, place=(2, 1))
            bars = New(x.shape, x.dtype, False), New(y.shape, x.dtype, False)
            launch = Launch(_pullback, (ct, a, b, *bars, *straight), (3, 4))
            launched(self, "pull_all", 3, launch)

    def _product(self, x, y):
        out = np.empty(self.shape, self.dtype)
        a, ta = (x, 0) if x.flags.c_contiguous else kernels.stored(x)
        b, tb = (y, 0) if y.flags.c_contiguous else kernels.stored(y)
        _matmul.calls += 1
        _matmul.dispatcher(a, b, out, ta, tb)
        return out

    def _pull_both(self, ct, out, args):
        x, y = args
        a, ta = (x, 0) if x.flags.c_contiguous else kernels.stored(x)
        b, tb = (y, 0) if y.flags.c_contiguous else kernels.stored(y)
        ct = ct if ct.flags.c_contiguous else np.array(ct, order="C")
        x_bar, y_bar = np.empty(x.shape, self.dtype), np.empty(y.shape, self.dtype)
        _pullback.calls += 1
        _pullback.dispatcher(ct, a, b, x_bar, y_bar, ta, tb)
        return x_bar, y_bar

    def _pull(self, ct, out, args, need) -> Sequence:
        if need == (True, True):
            return self._pull_both(ct, out, args)
        x, y = args
        ct = ct if ct.flags.c_contiguous else np.array(ct, order="C")
        _matmul.calls += 1
        if need[0]:
            x_bar = np.empty(x.shape, self.dtype)
            b, tb = (y, 0) if y.flags.c_contiguous else kernels.stored(y)
            _matmul.dispatcher(ct, b, x_bar, 0, 1 - tb)
            return x_bar, None
        y_bar = np.empty(y.shape, self.dtype)
        a, ta = (x, 0) if x.flags.c_contiguous else kernels.stored(x)
        _matmul.dispatcher(a, ct, y_bar, 1 - ta, 0)
        return None, y_bar


_matmul, _pullback = kernels.matmul, kernels.matmul_pullback
matmul = Bilinear(
    "matmul", _compute, _infer, _left, _right, fused=_fused, function=np.matmul,
    samples=[
        sample((2, 3), (3, 2)), sample((3,), (3,)), sample((2, 3), (3,)), sample((3,), (3, 2)),
        sample((2, 2, 3), (3, 2)), sample((2, 1, 2, 3), (3, 3, 2)), sample((2, 2, 3), (3,)),
        sample((0, 3), (3, 2)), sample((2, 0), (0, 3)), sample((8, 7), (7, 9)),
    ],
    batch=batching.product, blocks=jacobian.product, form=reductions.matmul,
    slow="the pullback of a stack of small matrices has a transposed factor on the right, for "
    "which BLAS takes twice as long, and that of a matrix and a vector writes a matrix",
)  # fmt: skip
matmul.plan_class, matmul.operator = MatmulPlan, "@"
ufunc_primitives[np.matmul] = matmul


@implements(np.matmul)
def matmul_of(x, y):
    """`x @ y`. Pullback: ct @ y.T and x.T @ ct."""
    return bind(matmul, x, y)
