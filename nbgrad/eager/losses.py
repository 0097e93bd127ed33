"""Plan of the cross entropy loss: kernels called directly, launchers for short arrays."""

from collections.abc import Callable, Sequence

import numpy as np

from ..capi.launch import Given, Item, Launch, Literal, New, is_short
from ..core.primitive import Aval
from ..kernels import logsoftmax as kernels
from . import plans


class CrossEntropyPlan(plans.FunctionPlan):
    """Cross entropy, with sizes computed once and one kernel for weights without a gradient."""

    __slots__ = ("dtype", "forward", "matrix", "pull_all")

    def __init__(self, primitive, kinds, params):
        super().__init__(primitive, kinds, params)
        x, y = map(plans.abstract, self.kinds)
        self.matrix, self.dtype = (x.shape if len(x.shape) == 2 else (1, *x.shape)), x.dtype
        self.forward: Callable[..., np.ndarray] = super().forward
        self.pull_all: Callable[..., Sequence] = super().pull_all
        if x.dtype == y.dtype and plans.is_float(x.dtype):
            self.aval, self.forward = Aval.of((), x.dtype), self._loss
            if is_short(x.size):
                self._launch(x.shape)

    def _launch(self, shape: tuple[int, ...]) -> None:
        """Let launchers replace the functions of short losses that are called often."""
        dtype, sizes = self.dtype, tuple(map(Literal, self.matrix))
        x, y = (Given((i,), shape, dtype) for i in range(2))
        launch = Launch(kernels.cross_entropy, (x, y, New(shape, dtype), New((), dtype), *sizes), 3)
        plans.launched(self, "forward", 2, launch)
        if self.need == (True, False):
            x, y = (Given((2, i), shape, dtype) for i in range(2))
            operands = Item((0,), (), dtype), x, y, New(shape, dtype), *sizes
            launch = Launch(kernels.cross_entropy_pullback, operands, (3, None))
            plans.launched(self, "pull_all", 3, launch)

    def _loss(self, x, y):
        out, scratch = np.empty((), self.dtype), np.empty(x.size, self.dtype)
        kernels.cross_entropy(x.ravel(), y.ravel(), scratch, out.ravel(), *self.matrix)
        return out

    def pull(self, ct, out, args, need) -> Sequence:
        if self.aval is None or need != (True, False):
            return super().pull(ct, out, args, need)
        x, y = args
        x_bar = np.empty(x.shape, self.dtype)
        kernels.cross_entropy_pullback(ct.item(), x.ravel(), y.ravel(), x_bar.ravel(), *self.matrix)
        return x_bar, None
