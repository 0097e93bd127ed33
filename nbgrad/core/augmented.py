"""Augmented assignments of arrays, such as `x += v`."""

from collections.abc import Callable

import numpy as np

from ..errors import DimensionMismatch
from . import memory


def augmented(name: str, plain: Callable) -> Callable:
    """The method of an augmented assignment. It is in place for arrays; numbers get a new value."""
    what = f"{{}} {name} ..."

    def method(self, other):
        if not memory.is_mutable(self):
            if not self._is_argument:
                self._require_computed(what)  # rebinding a name would lose the leaf
            return plain(self, other)
        self._require_computed(what)
        result = plain(self, other)
        if np.shape(result) != self.shape:
            raise DimensionMismatch(
                f"{what.format('y')}: an array of shape {self.shape} cannot hold a result of shape "
                f"{np.shape(result)}: write y = y {name[:-1]} ... for a new array"
            )
        memory.replace(self, result, what)
        return self

    return method
