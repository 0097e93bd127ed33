"""The augmented assignments of arrays: `x += v` and its kin."""

from collections.abc import Callable

import numpy as np

from ..errors import DimensionMismatch, GraphError
from . import memory
from .primitive import current_level


def augmented(name: str, plain: Callable) -> Callable:
    """The method of an augmented assignment: in place for arrays, a new value for numbers."""
    what = f"{{}} {name} ..."

    def method(self, other):
        try:
            self._require_computed(what)
        except GraphError:  # a number is immutable: the function's name for it takes another one
            if memory.is_mutable(self) or current_level() == 0:
                raise
        if not memory.is_mutable(self):
            return plain(self, other)
        result = plain(self, other)
        if np.shape(result) != self.shape:
            raise DimensionMismatch(
                f"{what.format('y')}: an array of shape {self.shape} cannot hold a result of shape "
                f"{np.shape(result)}: write y = y {name[:-1]} ... for a new array"
            )
        memory.replace(self, result, what)
        return self

    return method
