"""`x.flat`: the elements of an array in C order, along one axis, for reading and writing."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .primitive import shape_of


class Flat:
    """The counterpart of NumPy's `flatiter` for arrays that are, or may become, tracked."""

    def __init__(self, base: Any):
        self.base = base
        self._items: Iterator[Any] | None = None

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[...])

    def __next__(self) -> Any:
        if self._items is None:
            self._items = iter(self)
        return next(self._items)

    def __getitem__(self, index: Any) -> Any:
        return np.reshape(self.base, -1)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        shape = shape_of(self.base)
        places = np.arange(self.base.size)[index]
        if np.ndim(value):  # too few values are repeated
            values = np.reshape(value, -1)
            size = places.size
            value = values if len(values) == size else values[np.arange(size) % len(values)]
            places = places.reshape(-1)
        self.base[np.unravel_index(places, shape) if shape else ...] = value

    def copy(self) -> Any:
        """A copy of the elements."""
        return np.copy(self[...])

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.base, dtype).reshape(-1)
