"""max(x, 0) and its pullback, which reads the output alone."""

from ..compiler.kernel import kernel
from .scalar import offset, select


@kernel
def relu(xs, outs):
    zero = outs.dtype.type(0.0)
    for k in range(outs.size):
        outs[k] = select(xs[k] < zero, zero, xs[k])


@kernel
def relu_pullback(cts, outs, x_bars):
    zero = x_bars.dtype.type(0.0)
    for i in range(x_bars.size):
        k = offset(i)
        x_bars[k] = select(outs[k] > zero, cts[k], zero)
