"""Keys of expressions for hash-consing: equal if and only if the programs are."""

from typing import Any

import numpy as np

from ..runtime.kinds import is_a
from .array import Array


def static_key(x) -> Any:
    """A static parameter as part of a key. It may contain slices and arrays. Numbers that compare
    equal in Python, such as 1, True and 1.0 or the two zeros, have different keys."""
    if isinstance(x, (tuple, frozenset)):
        return (type(x), *map(static_key, x))
    if isinstance(x, slice):
        return ("slice", *map(static_key, (x.start, x.stop, x.step)))
    if is_a(x, np.ndarray):
        return ("array", x.shape, x.dtype.str, x.tobytes())
    return number_key(x) if is_a(x, (int, float, complex, np.generic)) else x


def number_key(x) -> Any:
    """An argument other than a symbol as part of a key."""
    if isinstance(x, (np.ndarray, Array)):
        return ("array", id(x))
    return (type(x), repr(x))
