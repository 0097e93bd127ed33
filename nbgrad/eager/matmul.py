"""Plan of matrix products: kernels called directly, launchers for small matrices."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..capi.launch import Given, Launch, Literal, New, is_short
from ..core.primitive import Aval, shape_of
from ..kernels import matmul as kernels
from . import plans

_matmul, _pullback = kernels.matmul, kernels.matmul_pullback


class MatmulPlan(plans.FunctionPlan):
    """The product of two matrices of one dtype calls the kernels directly."""

    __slots__ = ("dtype", "forward", "pull", "pull_all", "shape")
    complete = True

    def __init__(self, primitive, kinds, params):
        super().__init__(primitive, kinds, params)
        x, y = map(plans.abstract, self.kinds)
        self.shape = kernels.result_shape(shape_of(x), shape_of(y))
        self.dtype = x.dtype
        matrices = len(x.shape) == len(y.shape) == 2
        fits = matrices and x.dtype == y.dtype and plans.is_float(x.dtype)
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
        """Let launchers replace the functions of short products of contiguous factors."""
        a, b = Given((0,), x.shape, x.dtype, False), Given((1,), y.shape, x.dtype, False)
        straight = Literal(0), Literal(0)
        launch = Launch(_matmul, (a, b, New(self.shape, x.dtype, False), *straight), 2)
        plans.launched(self, "forward", 2, launch)
        if self.need == (True, True):
            ct = Given((0,), self.shape, x.dtype, False)
            a, b = replace(a, place=(2, 0)), replace(b, place=(2, 1))
            bars = New(x.shape, x.dtype, False), New(y.shape, x.dtype, False)
            launch = Launch(_pullback, (ct, a, b, *bars, *straight), (3, 4))
            plans.launched(self, "pull_all", 3, launch)

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
