"""Rows that give values without a derivative: comparisons and tests of tracked arrays are plain
bools."""

import numpy as np

from ..core.array import Array
from ..core.primitive import Aval, bind
from .dtypes import common_type
from .families import Nondifferentiable, nondifferentiable, sample

_ones = [sample((3,)), sample((2, 3)), sample(())]
_pairs = [sample((3,), (3,)), sample((2, 1), (1, 3)), sample((), ())]

less = nondifferentiable(np.less, "x < y", samples=_pairs)
less_equal = nondifferentiable(np.less_equal, "x <= y", samples=_pairs)
greater = nondifferentiable(np.greater, "x > y", samples=_pairs)
greater_equal = nondifferentiable(np.greater_equal, "x >= y", samples=_pairs)
equal = nondifferentiable(np.equal, "x == y", samples=_pairs)
not_equal = nondifferentiable(np.not_equal, "x != y", samples=_pairs)

isnan = nondifferentiable(np.isnan, "x != x", samples=_ones)
isfinite = nondifferentiable(np.isfinite, "abs(x) < inf", samples=_ones, whole="x == x")
isinf = nondifferentiable(np.isinf, "abs(x) == inf", samples=_ones, whole="x != x")
signbit = nondifferentiable(np.signbit, "np.signbit(x)", samples=_ones)

logical_not = nondifferentiable(np.logical_not, "x == 0.0", samples=_ones)
logical_and = nondifferentiable(np.logical_and, "(x != 0.0) & (y != 0.0)", samples=_pairs)
logical_or = nondifferentiable(np.logical_or, "(x != 0.0) | (y != 0.0)", samples=_pairs)
logical_xor = nondifferentiable(np.logical_xor, "(x != 0.0) ^ (y != 0.0)", samples=_pairs)


class _Stopped(Nondifferentiable):
    """The values as they are."""

    def evaluate(self, *args, **params):
        return np.array(args[0])

    def infer(self, *avals, **params) -> Aval:
        return avals[0]

    def loop_types(self, *kinds, **params):
        return (common_type(*kinds),) * 2


stop_row = _Stopped(
    None, "x", name="stop_gradient", samples=_ones, reference=np.array,
    notes="the value as it is, constant for every derivative",
)  # fmt: skip


def stopped(x):
    """x as a constant."""
    return bind(stop_row, x) if isinstance(x, Array) else x
