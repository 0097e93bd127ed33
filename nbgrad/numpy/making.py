"""The functions of `nbgrad.numpy` that replace those of NumPy."""

from collections.abc import Callable, Iterable
from functools import wraps
from itertools import islice
from typing import Any

import numpy as np

from ..capi.gate import gate, is_tracking
from ..core import memory
from ..core.array import Array
from ..core.fillable import FILLABLE, fillable, highest, unfilled
from ..core.functions import functions, items_of, mapped
from ..core.primitive import Tracer
from ..core.refusals import forget_here
from . import indexing, looping, relics

HOME = __name__.rpartition(".")[0]
_OF_ARRAYS = frozenset([
    np.block, np.column_stack, np.concatenate, np.dstack, np.hstack, np.stack, np.vstack,
])  # fmt: skip
"""Functions of lists of arrays, which may have different shapes and are not joined."""
_OF_SHAPES = frozenset([np.zeros, np.ones, np.empty, np.eye, np.identity])
"""Functions of lengths, which NumPy does not accept as tracked values."""


def _floats(x: np.ndarray) -> Any:
    return fillable(x) if x.dtype.kind == "f" else x


def _fillable(x: np.ndarray) -> Any:
    """A new plain array as one to which tracked values can be written. Complex ones are pairs."""
    if x.dtype.kind == "c":
        return functions["complex_of"](
            *(fillable(np.array(part)) for part in (np.real(x), np.imag(x)))
        )
    return fillable(x)


def made(function: Callable) -> Callable:
    """Wrap a NumPy function that creates an array: it accepts tracked numbers, and tracked values
    can be written to its result."""

    def own(*args, **options):
        forget_here()
        top = highest(*args, *options.values())
        if top is None or "like" in options:
            found = function(*args, **options)
            return _fillable(found) if function is np.full else fillable(found)
        if function is np.array and object in (*args[1:], options.get("dtype")):
            return _of_objects(args[0])
        if ("like", function) in functions:
            return function(*_unfilled(args), like=top, **options)
        args = tuple([functions["given"](x) if isinstance(x, (list, tuple)) else x for x in args])
        return function(*args, **options)

    return gate(function, own, _fillable if function in _OF_SHAPES else None, HOME)


class _Box:
    """An object that NumPy does not convert."""

    def __init__(self, value: Any):
        self.value = value


def _of_objects(nested: Any) -> np.ndarray:
    """An object array of the items of nested lists."""
    out = np.array(mapped(_Box, nested), object)
    for i, box in enumerate(items_of(out.ravel().tolist())):
        out.flat[i] = box.value
    return out


def taking(function: Callable) -> Callable:
    """Wrap a NumPy function that returns its argument if that is an array."""
    make = made(function)

    def own(a, *args, **options):
        forget_here()
        if type(a) in FILLABLE and not args and not options:
            return a
        if isinstance(a, Array):
            own = np.asarray if function is np.asarray_chkfinite else function
            return own(unfilled(a), *args, like=unfilled(a), **options)
        if isinstance(a, (list, tuple)):
            return make(a, *args, **options)
        return function(a, *args, **options)

    return gate(function, own, None, HOME)


def listed(function: Callable, home: str = HOME) -> Callable:
    """Wrap a NumPy function so that it accepts lists of tracked numbers."""
    join = _each_joined if function in _OF_ARRAYS else _joined

    def own(*args, **options):
        forget_here()
        args = tuple(map(join, args))
        return function(*args, **{name: join(x) for name, x in options.items()})

    return gate(function, own, _floats, home)


def _joined(x: Any) -> Any:
    return functions["given"](x) if isinstance(x, (list, tuple)) and highest(x) is not None else x


def _each_joined(x: Any) -> Any:
    if isinstance(x, (list, tuple)) and any(isinstance(item, (list, tuple)) for item in x):
        return type(x)([_each_joined(item) if _is_nested(item) else _joined(item) for item in x])
    return x


def _is_nested(x: Any) -> bool:
    """Whether a list contains lists of arrays, as in `np.block`."""
    return isinstance(x, (list, tuple)) and any(np.ndim(item) for item in x)


def _unfilled(args: Iterable) -> list:
    return [mapped(unfilled, x) for x in args]


@wraps(np.fromiter)
def _fromiter(iter, dtype, count=-1, **options):
    if not is_tracking():
        return np.fromiter(iter, dtype, count, **options)
    items = list(iter if count < 0 else islice(iter, count))
    top = highest(*items)
    if top is None:
        return fillable(np.fromiter(items, dtype, count, **options))
    return np.fromiter(items, dtype, count, like=top)


_fromiter.__module__ = HOME


def _copy(a, order: Any = "K", subok=True):
    forget_here()
    a = _joined(unfilled(a))
    return np.copy(a) if isinstance(a, Array) else fillable(np.copy(a, order=order))


def _isscalar(element):
    return not memory.is_mutable(element) if isinstance(element, Tracer) else np.isscalar(element)


_MAKERS: tuple[Any, ...] = (
    np.array, np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.tri, np.arange,
    np.linspace, np.logspace, np.geomspace, np.zeros_like, np.ones_like, np.empty_like,
    np.full_like, np.fromfunction, np.diag, np.diagflat, np.frombuffer, np.loadtxt, np.genfromtxt,
    np.bartlett, np.blackman, np.hamming, np.hanning, np.kaiser,
)  # fmt: skip
_TAKERS = (
    np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require,
    np.asarray_chkfinite,
)  # fmt: skip
replaced: dict[str, Any] = {
    **{function.__name__: made(function) for function in _MAKERS},
    **{function.__name__: taking(function) for function in _TAKERS},
    "fromiter": _fromiter,
    "copy": gate(np.copy, _copy, None, HOME),
    **{name: getattr(relics, name) for name in relics.__all__},
    "isscalar": gate(np.isscalar, _isscalar, None, HOME),
    **{name: getattr(looping, name) for name in looping.__all__},
    **{name: getattr(indexing, name) for name in indexing.__all__},
}
for _name in np.__all__:
    _function = getattr(np, _name)
    if _name not in replaced and hasattr(_function, "_implementation"):
        _first = replaced.get(_function.__name__)  # of one function with two names
        replaced[_name] = _first or replaced.setdefault(_function.__name__, listed(_function))
