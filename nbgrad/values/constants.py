"""`np.zeros_like(x)` and its kin for a tracked x: computed arrays without parents.

They are of the level of x, so they take assignment: `y = np.zeros_like(x); y[0] = x[1]`.
"""

from typing import Any

import numpy as np

from ..core.array import Array, implements
from ..core.symbols import full
from ..eager import plans as eager
from .dual import Dual
from .tracked import TrackedArray, nested_result, result


@implements(np.zeros_like)
def zeros_like(a, dtype=None):
    """Zeros of the shape and dtype of a: a computed array without parents, which takes
    assignment."""
    return _constant_like(a, 0.0, dtype)


@implements(np.empty_like)
def empty_like(prototype, dtype=None):
    """Like `zeros_like`: unset values would only hide mistakes."""
    return _constant_like(prototype, 0.0, dtype)


@implements(np.ones_like)
def ones_like(a, dtype=None):
    """Ones of the shape and dtype of a, as `zeros_like` gives zeros."""
    return _constant_like(a, 1.0, dtype)


@implements(np.full_like)
def full_like(a, fill_value, dtype=None):
    """An array of the shape and dtype of a that holds one number, as `zeros_like` gives zeros."""
    return _constant_like(a, float(fill_value), dtype)


def constant(value: np.ndarray, level: int) -> TrackedArray:
    """A computed array of a level without parents, to be written to: it owns a copy."""
    params = {"number": 0.0, "shape": value.shape, "dtype": value.dtype.name}
    value = np.array(value, order="C")
    if level == 0:
        return result(eager.FunctionPlan(full, (), params), (), (), value)
    return nested_result(full, (), (), (), params, value, level)


def _constant_like(x: Array, number: float, dtype: Any) -> Any:
    constant = x.full_like(number)
    if isinstance(x, TrackedArray):
        params = {"number": number, "shape": x.shape, "dtype": x.dtype.name}
        if x.level == 0:
            constant = result(eager.FunctionPlan(full, (), params), (), (), constant)
        else:
            constant = nested_result(full, (), (), (), params, constant, x.level)
    elif isinstance(x, Dual):
        constant = Dual(constant, x.full_like(0.0), x.level)
    return constant if dtype is None else constant.astype(dtype)
