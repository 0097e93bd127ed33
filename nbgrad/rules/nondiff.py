"""Rows that give values without a derivative: comparisons of tracked arrays are plain bools."""

import numpy as np

from .families import nondifferentiable, sample

_pairs = [sample((3,), (3,)), sample((2, 1), (1, 3)), sample((), ())]

less = nondifferentiable(np.less, "x < y", samples=_pairs)
less_equal = nondifferentiable(np.less_equal, "x <= y", samples=_pairs)
greater = nondifferentiable(np.greater, "x > y", samples=_pairs)
greater_equal = nondifferentiable(np.greater_equal, "x >= y", samples=_pairs)
equal = nondifferentiable(np.equal, "x == y", samples=_pairs)
not_equal = nondifferentiable(np.not_equal, "x != y", samples=_pairs)
