"""Quick flattening of what the steps of an eager loop return, which has one structure."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import Aval
from ..static.trace.body import leaf_aval
from ..transforms import trees

_Collect = Callable[[Any, list], bool]
_NUMBERS = {kind: np.asarray(kind(0)).dtype for kind in (float, int, bool, np.float64)}


def quick_flatten(example: Any, exact: bool) -> Callable[[Any], list | None]:
    """A function that returns the leaves of a tree of the structure of `example`, as
    `trees.flatten_values` does; with `exact`, shapes and dtypes must be equal, too.

    It returns None for other trees, and for those that need more than a look at their types: it
    takes arrays and numbers in tuples, lists and dicts.
    """
    collect = _collect(example, exact)

    def flatten(tree: Any) -> list | None:
        leaves: list[Any] = []
        return leaves if collect(tree, leaves) else None

    return flatten


def _collect(example: Any, exact: bool) -> _Collect:
    """A function that appends the leaves of a tree to a list, and returns whether it has the
    structure of `example`."""
    kind = type(example)
    if _is_leaf(example):
        aval = example.aval if isinstance(example, Array) else leaf_aval(example)
        return _of_aval(aval) if exact else _any
    if kind is dict:
        order = trees.flatten({key: float(i) for i, key in enumerate(example)})[0]
        keys = [[*example][int(i)] for i in order]
    elif kind is tuple or kind is list:
        keys = [*range(len(example))]
    else:
        return lambda x, leaves: False
    parts = [(key, _collect(example[key], exact)) for key in keys]
    known = frozenset(keys)

    def collect(x: Any, leaves: list) -> bool:
        if type(x) is not kind or len(x) != len(parts):
            return False
        if kind is dict and not known.issuperset(x):
            return False
        for key, part in parts:
            if not part(x[key], leaves):
                return False
        return True

    return collect


def _is_leaf(x: Any) -> bool:
    """Whether a value is one leaf, as complex ones are not."""
    if type(x) is np.ndarray:
        return x.dtype.kind != "c"
    return isinstance(x, Array) or type(x) in _NUMBERS


def _any(x: Any, leaves: list) -> bool:
    leaves.append(x)
    return _is_leaf(x)


def _of_aval(aval: Aval) -> _Collect:
    shape, dtype = aval.shape, aval.dtype

    def collect(x: Any, leaves: list) -> bool:
        leaves.append(x)
        if isinstance(x, Array):
            return x.aval is aval
        if type(x) is np.ndarray:
            return x.shape == shape and x.dtype == dtype
        return not shape and _NUMBERS.get(type(x)) == dtype

    return collect
