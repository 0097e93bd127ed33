"""`np.zeros(3, like=x)` and its kin for a tracked x: arrays of the kind and level of x.

NumPy leaves a call with `like=x` to x. The functions here are those calls, with x as the first
argument; they stand among the others under `("like", function)`.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from ..core.array import Array, functions, implements
from ..core.functions import items_of, no_rule
from ..core.primitive import shape_of
from ..errors import require_unmasked
from ..rules import layout
from ..runtime.kinds import is_a
from .constants import as_kind, cast, filled, require_order


def _makes(*targets: Callable) -> Callable[[Callable], Callable]:
    return implements(*[("like", function) for function in targets])


def _of_numpy(function: Callable) -> Callable:
    """The maker of what NumPy itself makes of plain arguments. An integer dtype is one that was
    asked for, as that of these functions is float64."""

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
    """Zeros of the kind of `like`, which take assignment; np.empty too gives zeros."""
    return filled(like, shape, 0, float if dtype is None else dtype, order)


@_makes(np.ones)
def ones(like, shape, dtype=None, order="C", *, device=None):
    """Ones of the kind of `like`, which take assignment."""
    return filled(like, shape, 1, float if dtype is None else dtype, order)


@_makes(np.full)
def full(like, shape, fill_value, dtype=None, order="C", *, device=None):
    """With `like=x`: a value, which may be tracked, broadcast to a shape."""
    return filled(like, shape, fill_value, dtype, order)


@_makes(np.arange)
def arange(like, *limits, dtype=None, device=None, **named):
    """With `like=x`: evenly spaced plain numbers."""
    if any(isinstance(x, Array) for x in (*limits, *named.values())):
        raise no_rule("np.arange")
    if len(limits) == 4 and dtype is None:
        *limits, dtype = limits
    return as_kind(like, np.arange(*limits, dtype=dtype, **named), dtype)


@_makes(np.array)
def array(like, object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    """With `like=x`: a new array of nested lists of tracked and plain numbers and arrays."""
    require_order(order)
    value = _joined(object)
    if not isinstance(value, Array):
        plain = np.array(value, dtype, copy=copy, ndmin=ndmin)
        return as_kind(like, plain, dtype)
    if value is not object and copy is not None and not copy:
        raise ValueError("np.array(copy=False) of a list: joining its items makes a copy")
    if value is object and copy:
        value = np.copy(value)
    lacking = ndmin - len(shape_of(value))
    if lacking > 0:
        value = np.reshape(value, (1,) * lacking + shape_of(value))
    return as_kind(like, cast(value, dtype), dtype)


@_makes(np.asarray, np.asanyarray)
def asarray(like, a, dtype=None, order=None, *, device=None, copy=None):
    """With `like=x`: a tracked array itself, and an array of nested lists of tracked numbers."""
    return array(like, a, dtype, copy=copy, order=order)


@_makes(np.ascontiguousarray, np.asfortranarray)
def ascontiguousarray(like, a, dtype=None):
    """With `like=x`: a tracked array itself, with at least one axis."""
    return array(like, a, dtype, copy=None, ndmin=1)


@_makes(np.require)
def require(like, a, dtype=None, requirements=None):
    """With `like=x`: a tracked array itself; it has no layout to require."""
    return array(like, a, dtype, copy=None)


@_makes(np.fromiter)
def fromiter(like, iter, dtype, count=-1):
    """With `like=x`: an array of the tracked and plain numbers that an iterable gives."""
    items = list(iter if count < 0 else islice(iter, count))
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)}")
    return array(like, items, dtype)


def _joined(nested: Any) -> Any:
    """An array of what nested lists hold, where anything is tracked; else the argument itself."""
    if is_a(nested, np.ndarray) and nested.dtype == object:
        nested = nested.tolist()
    if any(isinstance(item, Array) for item in items_of(nested)):
        return layout.array(nested)
    require_unmasked(nested, "array")
    return nested
