"""Statements of a function as a function of their own.

Its parameters are the values and the pointers of the function around that it reads, which are found
while it is written.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np

from .llvm_function import BodyWriter
from .llvm_ops import Value, llvm_type

__all__ = ["InnerWriter"]


class InnerWriter(BodyWriter):
    """Writes the body of such a function. `given` are types and values in the function around;
    other pointers may lead to the memory of `shared` buffers."""

    def __init__(
        self, outer: BodyWriter, body: Sequence[Any], results: Sequence[np.dtype],
        shared: Collection[Any] = (),
    ):  # fmt: skip
        super().__init__(outer.functions, outer.flags, outer.functions.raises(body), results)
        self._outer, self._shared = outer, shared
        self.given: list[tuple[str, str]] = []
        self.parameters: list[str] = []
        self.values = _Values(self)

    def take(self, kind: str, text: str, attributes: str = "") -> str:
        """The parameter for a value of the function around."""
        name = f"%taken{len(self.given)}"
        self.given.append((kind, text))
        self.parameters.append(f"{kind}{attributes} {name}")
        return name

    def number_outside(self, name: Hashable) -> Value:
        value = self._outer.values[name]
        return Value(self.take(llvm_type(value.dtype), value.text), value.dtype)

    def start(self, name: str, dtype: np.dtype, text: str) -> None:
        """A variable that has a value where the function begins."""
        self.slot(name, dtype)
        place, _ = self._slots[name]
        self._entry.append(f"  store {llvm_type(dtype)} {text}, ptr {place}")

    def slot_of(self, name: str) -> tuple[str, np.dtype] | None:
        if name not in self._slots and self._outer.slot_of(name) is not None:
            value = self._outer.operand(name)
            self.start(name, value.dtype, self.take(llvm_type(value.dtype), value.text))
        return super().slot_of(name)

    def pointer(self, buffer: Any) -> str:
        if buffer not in self.heap and buffer not in self.pointers:
            is_apart = self._outer.is_apart(buffer) and buffer not in self._shared
            attributes = " noalias" if is_apart else ""
            self.pointers[buffer] = self.take("ptr", self._outer.pointer(buffer), attributes)
        return super().pointer(buffer)


class _Values(dict):
    """The values of a function by name; those of the function around become parameters."""

    def __init__(self, writer: InnerWriter):
        super().__init__()
        self._writer = writer

    def __missing__(self, name: Hashable) -> Value:
        self[name] = value = self._writer.number_outside(name)
        return value
