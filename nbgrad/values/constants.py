"""`np.zeros_like(x)` and its kin for a tracked x: computed arrays without parents.

They are of the level of x, so they take assignment: `y = np.zeros_like(x); y[0] = x[1]`.
"""

from typing import Any

import numpy as np

from ..core.array import Array, implements
from ..core.memory import copied
from ..eager.plans import FunctionPlan
from ..rules.dtypes import FLOATS, known
from ..rules.layout import array
from .constant_op import constant_op
from .nested import nested_result
from .tracked import TrackedArray, result

_ORDERS = ("C", "F", "A", "K", None)


@implements(np.zeros_like)
def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Zeros of the shape and dtype of a, or those given: a computed array without parents, which
    takes assignment."""
    return _filled_like(a, 0, dtype, order, shape)


@implements(np.empty_like)
def empty_like(prototype, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Like `zeros_like`: unset values would only hide mistakes."""
    return _filled_like(prototype, 0, dtype, order, shape)


@implements(np.ones_like)
def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Ones of the shape and dtype of a, as `zeros_like` gives zeros."""
    return _filled_like(a, 1, dtype, order, shape)


@implements(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """An array of the shape and dtype of a that holds `fill_value`, broadcast, which may be
    tracked."""
    return _filled_like(a, fill_value, dtype, order, shape)


def _filled_like(x: Array, value: Any, dtype: Any, order: Any, shape: Any) -> Any:
    shape = x.shape if shape is None else shape
    return filled(x, shape, value, x.dtype if dtype is None else dtype, order)


def filled(like: Array, shape: Any, value: Any, dtype: Any, order: Any = "C") -> Any:
    """An array of the kind of `like` that holds `value`, which is broadcast to `shape`."""
    require_order(order)
    if type(value) is not int and type(value) is not float:
        value = array(value)
        if isinstance(value, Array):
            return as_kind(like, copied(cast(np.broadcast_to(value, shape), dtype), [value]))
    value = np.asarray(value, dtype)
    return as_kind(like, np.broadcast_to(value, shape), dtype)


@implements("as_kind")
def as_kind(like: Array, value: Any, dtype: Any = None) -> Any:
    """An array that a function of NumPy made, as one of the kind and level of `like`, or of its own
    level where that is higher.

    Integers and bools become float64, as tracked arrays are floats; where `dtype` asks for them
    they are a plain array. Both stay what they are where `like` holds such itself. Raises TypeError
    for complex numbers and floats other than float64 and float32.
    """
    if isinstance(value, Array):
        return like.constant(value) if value.level < like.level else value
    kind = value.dtype.newbyteorder("=")
    if kind.kind in "iub" and like.dtype.kind not in "iub":
        if dtype is not None:
            return np.array(value)
        kind = FLOATS[0]
    elif kind.kind not in "fiub" or known(kind) != kind:
        raise TypeError(
            f"like=x: an array of dtype {kind}: a tracked x makes arrays of float64 or float32"
        )
    if value.dtype != kind:
        one = bool(value.size) and not any(value.strides)
        value = (
            np.broadcast_to(value.flat[0].astype(kind), value.shape)
            if one
            else (value.astype(kind))
        )
    out = like.constant(value)
    if not out.shape:
        out.views = [16]  # an array, which is written to in place, and no number
    return out


def own_constant(value: np.ndarray, level: int) -> TrackedArray:
    """A computed array of a level without parents that holds a copy of a plain array."""
    value = np.array(value, order="C")
    op, params = constant_op(value)
    if level:
        return nested_result(op, (), (), (), params, value, level)
    return result(FunctionPlan(op, (), params), (), (), value)


def cast(value: Any, dtype: Any) -> Any:
    """A tracked array in a dtype, unless that is None."""
    return value if dtype is None else value.astype(dtype)


def require_order(order: Any) -> None:
    """Raise ValueError for an order that NumPy does not know; tracked arrays have none."""
    if order not in _ORDERS:
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
