"""Plans of sums and means: sizes looked up once, launchers for short arrays."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..capi.launch import Given, Launch, Literal, New, Returned, is_short
from ..kernels import reduce as kernels
from ..threads.pieces import LIGHT, is_long
from . import plans


def share_along(shape, axes) -> float:
    """1 over the number of reduced elements; nan if there are none, as in NumPy."""
    return share(math.prod(shape[i] for i in axes))


def share(count: int) -> float:
    """1 / count, or nan if count is 0."""
    return 1.0 / count if count else math.nan


class SumPlan(plans.FunctionPlan):
    """The sum over adjacent axes, with the loop sizes computed once."""

    __slots__ = (
        "dtype", "factor", "forward", "gives_uniform", "pull_all", "shape", "sizes", "spread",
    )  # fmt: skip
    complete = True
    averages = False

    def __init__(self, primitive, kinds, params):
        super().__init__(primitive, kinds, params)
        aval = plans.abstract(self.kinds[0])
        sizes = kernels.middle(aval.shape, params["axes"])
        self.dtype, self.spread = aval.dtype, aval.shape
        self.factor = share_along(aval.shape, params["axes"]) if self.averages else 1.0
        self.forward: Callable[..., np.ndarray] = super().forward
        self.pull_all: Callable[..., Sequence] = super().pull_all
        self.gives_uniform = False
        if sizes and plans.is_float(self.dtype):
            self.aval, self.sizes = primitive.infer(aval, **params), sizes
            self.shape = self.aval.shape
            whole, size = self.aval.size == 1, aval.size
            self.gives_uniform = whole and plans.may_be_uniform(size)
            self.forward = self._whole if whole and not is_long(size // LIGHT) else self._middle
            # With a factor rounded to 32 bits, a kernel would round twice.
            fills = whole and not is_long(size)
            fills = fills and (self.factor == 1.0 or self.dtype.itemsize == 8)
            self.pull_all = self._pull_whole if fills else self._pull_middle
            if is_short(size):
                self._launch(whole)

    def _launch(self, whole: bool) -> None:
        """Let launchers replace the functions of short sums that are called often."""
        x, ct = (Given((0,), shape, self.dtype) for shape in (self.spread, self.shape))
        constants = tuple(map(Literal, (*self.sizes, self.factor)))
        if whole:
            launch = Launch(kernels.sum_all, (x,), Returned(self.shape, self.dtype, self.factor))
        else:
            launch = Launch(kernels.sum_middle, (x, New(self.shape, self.dtype), *constants), 1)
        plans.launched(self, "forward", 1, launch)
        launch = Launch(kernels.spread_middle, (ct, New(self.spread, self.dtype), *constants), (1,))
        plans.launched(self, "pull_all", 3, launch)

    def _whole(self, x):
        kernels.sum_all.calls += 1
        total = kernels.sum_all.dispatcher(x.ravel()) * self.factor
        return np.array(total, self.dtype, ndmin=len(self.shape))

    def _pull_whole(self, ct, out, args):
        x_bar = np.empty(self.spread, self.dtype)
        x_bar.fill(ct.item() * self.factor)
        return (x_bar,)

    def _middle(self, x):
        out = np.empty(self.shape, self.dtype)
        kernels.summed(x.ravel(), out.ravel(), *self.sizes, self.factor)
        return out

    def _pull_middle(self, ct, out, args):
        x_bar = np.empty(self.spread, self.dtype)
        kernels.repeated(ct.ravel(), x_bar.ravel(), *self.sizes, self.factor)
        return (x_bar,)

    def pull_uniform(self, ct):
        number = ct.dtype.type(self.factor) * ct.ravel()[0]
        return plans.uniform(number, self.spread)


class MeanPlan(SumPlan):
    """The mean over adjacent axes."""

    __slots__ = ()
    averages = True
