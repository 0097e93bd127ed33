"""`z.at[i].set(v)` of complex arrays."""

from collections.abc import Callable
from typing import Any

from ..core.functions import functions


class At:
    """The helper of `ComplexArray.at`."""

    def __init__(self, array: Any, parts_of: Callable, index: Any = ...):
        self.array, self.parts_of, self.index = array, parts_of, index

    def __getitem__(self, index: Any) -> "At":
        return At(self.array, self.parts_of, index)

    def set(self, value: Any) -> Any:
        """The array with `value` at the index."""
        return self._of("set", value)

    def add(self, value: Any) -> Any:
        """The array with `value` added at the index."""
        return self._of("add", value)

    def _of(self, what: str, value: Any) -> Any:
        pairs = zip(self.array.parts, self.parts_of(value), strict=True)
        return type(self.array)(
            *(getattr(functions["at"](x)[self.index], what)(v) for x, v in pairs)
        )
