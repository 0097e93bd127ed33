"""Array creation: `np.zeros_like(x)` and calls such as `np.zeros(3, like=x)`, for a tracked x.

The result is a computed array without parents, of the kind and level of x, and takes assignment:
`y = np.zeros_like(x); y[0] = x[1]`. NumPy passes a call with `like=x` to x; the functions for these
calls are registered as `("like", function)` and have x as their first argument.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from ..core.array import Array, functions, implements
from ..core.functions import items_of, no_rule
from ..core.memory import copied, make_mutable
from ..core.numpy_class import Pair
from ..core.primitive import shape_of
from ..eager.plans import FunctionPlan
from ..errors import ArgumentError, DtypeError, require_unmasked
from ..rules import layout
from ..rules.dtypes import FLOATS, known
from ..runtime.kinds import is_a
from .constant_op import constant_op
from .nested import nested_result
from .tracked import TrackedArray, result

_ORDERS = ("C", "F", "A", "K", None)


@implements(np.zeros_like)
def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Zeros of the shape and dtype of `a`, unless others are passed."""
    return _filled_like(a, 0, dtype, order, shape)


@implements(np.empty_like)
def empty_like(prototype, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """The same as `zeros_like`: uninitialized values would hide mistakes."""
    return _filled_like(prototype, 0, dtype, order, shape)


@implements(np.ones_like)
def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Ones of the shape and dtype of `a`, unless others are passed."""
    return _filled_like(a, 1, dtype, order, shape)


@implements(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """An array of the shape and dtype of `a`, filled with `fill_value`, which is broadcast, and may
    be tracked."""
    return _filled_like(a, fill_value, dtype, order, shape)


def _filled_like(x: Array, value: Any, dtype: Any, order: Any, shape: Any) -> Any:
    shape = x.shape if shape is None else shape
    return filled(x, shape, value, x.dtype if dtype is None else dtype, order)


def filled(like: Array, shape: Any, value: Any, dtype: Any, order: Any = "C") -> Any:
    """An array of the kind of `like`, filled with `value`, which is broadcast to `shape`."""
    require_order(order)
    if type(value) is not int and type(value) is not float:
        value = layout.array(value)
        if isinstance(value, Array):
            return as_kind(like, copied(cast(np.broadcast_to(value, shape), dtype), [value]))
    value = np.asarray(value, dtype)
    return as_kind(like, np.broadcast_to(value, shape), dtype)


@implements("as_kind")
def as_kind(like: Array, value: Any, dtype: Any = None) -> Any:
    """Convert an array to the kind and level of `like`, or to its own level if that is higher.

    Integers and bools become float64, as tracked arrays hold floats. They are returned as a plain
    array if `dtype` asks for them, and keep their dtype if `like` holds integers or bools. Complex
    arrays become pairs. Raises TypeError for floats other than float64 and float32.
    """
    if isinstance(value, Array):
        return like.constant(value) if value.level < like.level else value
    kind = value.dtype.newbyteorder("=")
    if kind.kind in "iub" and like.dtype.kind not in "iub":
        if dtype is not None:
            return np.array(value)
        kind = FLOATS[0]
    elif kind.char in "FD":
        return functions["complex_of"](*(as_kind(like, part) for part in (value.real, value.imag)))
    elif kind.kind not in "fiub" or known(kind) != kind:
        raise DtypeError(
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
        make_mutable(out)
    return out


def own_constant(value: np.ndarray, level: int) -> TrackedArray:
    """A copy of a plain array as a computed array of a level, without parents."""
    value = np.array(value, order="C")
    op, params = constant_op(value)
    if level:
        return nested_result(op, (), (), (), params, value, level)
    return result(FunctionPlan(op, (), params), (), (), value)


def cast(value: Any, dtype: Any) -> Any:
    """Convert to a dtype, unless that is None."""
    return value if dtype is None else value.astype(dtype)


def require_order(order: Any) -> None:
    """Raise ValueError for an order that NumPy does not know. Tracked arrays ignore it."""
    if order not in _ORDERS:
        raise ArgumentError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")


# -- calls with like=x ----------------------------------------------------------------------------


def _makes(*targets: Callable) -> Callable[[Callable], Callable]:
    return implements(*[("like", function) for function in targets])


def _of_numpy(function: Callable) -> Callable:
    """Call NumPy's function of plain arguments. Its default dtype is float64, so an integer dtype
    was asked for."""

    def maker(like, *args, **options):
        return as_kind(like, function(*args, **options), int)

    return maker


_PLAIN = (
    np.eye, np.identity, np.tri, np.frombuffer, np.fromfile, np.fromfunction, np.fromstring,
    np.genfromtxt, np.loadtxt,
)  # fmt: skip
functions |= {("like", function): _of_numpy(function) for function in _PLAIN}


@_makes(np.zeros, np.empty)
def zeros(like, shape, dtype=None, order="C", *, device=None):
    """Zeros of the kind of `like`; np.empty gives zeros, too."""
    return filled(like, shape, 0, float if dtype is None else dtype, order)


@_makes(np.ones)
def ones(like, shape, dtype=None, order="C", *, device=None):
    """Ones of the kind of `like`."""
    return filled(like, shape, 1, float if dtype is None else dtype, order)


@_makes(np.full)
def full(like, shape, fill_value, dtype=None, order="C", *, device=None):
    """An array of the kind of `like`, filled with a value, which may be tracked."""
    return filled(like, shape, fill_value, dtype, order)


@_makes(np.arange)
def arange(like, *limits, dtype=None, device=None, **named):
    """Evenly spaced plain numbers as an array of the kind of `like`."""
    if any(isinstance(x, Array) for x in (*limits, *named.values())):
        raise no_rule("np.arange")
    if len(limits) == 4 and dtype is None:
        *limits, dtype = limits
    return as_kind(like, np.arange(*limits, dtype=dtype, **named), dtype)


@_makes(np.array)
def array(like, object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    """A new array from nested lists of tracked and plain numbers and arrays."""
    require_order(order)
    value = _joined(object)
    if isinstance(value, Pair):
        options = {"copy": copy and value is object, "ndmin": ndmin}
        return functions["complex"](np.array, (value, dtype), options, None)
    if not isinstance(value, Array):
        plain = np.array(value, dtype, copy=copy, ndmin=ndmin)
        return as_kind(like, plain, dtype)
    if value is not object and copy is not None and not copy:
        raise ArgumentError("np.array(copy=False) of a list: joining its items makes a copy")
    if value is object and copy:
        value = np.copy(value)
    lacking = ndmin - len(shape_of(value))
    if lacking > 0:
        value = np.reshape(value, (1,) * lacking + shape_of(value))
    return as_kind(like, cast(value, dtype), dtype)


@_makes(np.asarray, np.asanyarray)
def asarray(like, a, dtype=None, order=None, *, device=None, copy=None):
    """A tracked array itself, or an array from nested lists of tracked numbers."""
    return array(like, a, dtype, copy=copy, order=order)


@_makes(np.ascontiguousarray, np.asfortranarray)
def ascontiguousarray(like, a, dtype=None):
    """A tracked array itself, with at least one axis."""
    return array(like, a, dtype, copy=None, ndmin=1)


@_makes(np.require)
def require(like, a, dtype=None, requirements=None):
    """A tracked array itself, as it has no layout."""
    return array(like, a, dtype, copy=None)


@_makes(np.fromiter)
def fromiter(like, iter, dtype, count=-1):
    """An array of the tracked and plain numbers of an iterable."""
    items = list(iter if count < 0 else islice(iter, count))
    if len(items) < count:
        raise ArgumentError(
            f"iterator too short: Expected {count} but iterator had only {len(items)}"
        )
    return array(like, items, dtype)


def _joined(nested: Any) -> Any:
    """An array of the items of nested lists if any is tracked; otherwise the argument itself."""
    if is_a(nested, np.ndarray) and nested.dtype == object:
        nested = nested.tolist()
    if any(isinstance(item, (Array, Pair)) for item in items_of(nested)):
        return layout.array(nested)
    require_unmasked(nested, "array")
    return nested
