"""The functions of `nbgrad.numpy` that stand in the place of NumPy's."""

from collections.abc import Callable
from functools import wraps
from itertools import islice
from typing import Any

import numpy as np

from ..core import refusals
from ..core.array import Array
from ..core.fillable import Fillable, highest
from ..core.functions import functions
from ..core.modes import is_tracking
from ..core.primitive import Tracer
from . import indexing, looping

replaced: dict[str, Callable] = {}


def _replaces(function: Callable) -> Callable[[Callable], Callable]:
    def register(own: Callable) -> Callable:
        replaced[function.__name__] = wraps(function)(own)
        return own

    return register


def fillable(x: Any) -> Any:
    """A new plain array as one that tracked values can be written to."""
    if type(x) is np.ndarray and x.dtype.kind in "fiu":
        return x.view(Fillable)
    return x


def made(function: Callable) -> Callable:
    """A function of NumPy that makes a new array: of numbers that may be tracked, and one that
    tracked values can be written to."""

    @wraps(function)
    def make(*args, **options):
        if not is_tracking():
            return function(*args, **options)
        top = highest(*args, *options.values())
        if top is not None and "like" not in options:
            return _dispatched(function, top, args, options)
        return fillable(function(*args, **options))

    return make


def _dispatched(function: Callable, top: Tracer, args: tuple, options: dict) -> Any:
    """A call that holds tracked values, as nbgrad's own function does it."""
    if ("like", function) in functions:
        return function(*args, like=top, **options)
    args = tuple([functions["given"](x) if isinstance(x, (list, tuple)) else x for x in args])
    return function(*args, **options)


_MAKERS = (
    np.array, np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.tri, np.arange,
    np.linspace, np.logspace, np.geomspace, np.zeros_like, np.ones_like, np.empty_like,
    np.full_like, np.fromfunction, np.diag, np.diagflat,
)  # fmt: skip
replaced |= {function.__name__: made(function) for function in _MAKERS}


def _taking(function: Callable) -> Callable:
    """A function of NumPy that gives its argument back where that is an array."""

    @wraps(function)
    def take(a, *args, **options):
        if isinstance(a, (Array, Fillable)):
            return function(a, *args, like=a, **options) if isinstance(a, Array) else a
        if isinstance(a, (list, tuple)):
            return replaced["array"](a, *args, **options)
        return function(a, *args, **options)

    return take


@_replaces(np.fromiter)
def fromiter(iter, dtype, count=-1, **options):
    if not is_tracking():
        return np.fromiter(iter, dtype, count, **options)
    items = list(iter if count < 0 else islice(iter, count))
    top = highest(*items)
    if top is None:
        return fillable(np.fromiter(items, dtype, count, **options))
    return np.fromiter(items, dtype, count, like=top)


_TAKERS = np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray
replaced |= {function.__name__: _taking(function) for function in _TAKERS}


@_replaces(np.copy)
def copy(a, order="K", subok=True):
    return np.copy(a, order=order, subok=subok or isinstance(a, Fillable))


def listed(function: Callable) -> Callable:
    """A function of NumPy that takes lists of tracked numbers, too."""

    @wraps(function)
    def call(*args, **options):
        before = refusals.total.count
        try:
            return function(*args, **options)
        except (TypeError, ValueError):
            if highest(*args, *options.values()) is None:
                raise
            given = [_joined(x) for x in args]
            options = {name: _joined(x) for name, x in options.items()}
            if not any(new is not old for new, old in zip(given, args, strict=True)):
                raise
        refusals.forget(before)
        return function(*given, **options)

    return call


def _joined(x: Any) -> Any:
    return functions["given"](x) if isinstance(x, (list, tuple)) and highest(x) is not None else x


_OWN = (
    looping.vectorize, looping.frompyfunc, looping.apply_along_axis, looping.apply_over_axes,
    looping.ndenumerate, looping.nditer,
)  # fmt: skip
replaced |= {own.__name__: own for own in _OWN}
replaced |= {name: getattr(indexing, name) for name in ("r_", "c_", "mgrid", "ogrid")}
for _name in np.__all__:
    _function = getattr(np, _name)
    if _name not in replaced and hasattr(_function, "_implementation"):
        replaced[_name] = listed(_function)
