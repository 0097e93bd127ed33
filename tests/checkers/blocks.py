"""Memory of the interpreter: blocks of bytes, and pointers into them that stay inside."""

from collections.abc import Hashable
from typing import TypeAlias, overload

import numpy as np

from nbgrad.ir.functions import NumPyNumber

Places: TypeAlias = int | np.ndarray
"""Positions of elements: one, or an array of them."""


class Block:
    """The bytes of a contiguous array. Subclasses may give pointers that watch what is done."""

    def __init__(self, data: np.ndarray):
        if not data.flags.c_contiguous:
            raise ValueError("a block is a contiguous array: np.ascontiguousarray")
        self.data = data.reshape(-1).view(np.uint8)

    def pointer(self, dtype: np.dtype, start: int = 0) -> "Pointer":
        """The elements of a dtype from byte `start` on."""
        return Pointer(self, dtype, start)

    def part(self, buffer: Hashable, start: int) -> "Block":
        """The block as one of the buffers sees it that share its bytes from `start` on;
        of None, as one that is not known."""
        return self

    def enter(self, start: int, size: int) -> None:
        """Note that bytes become the scratch of a core, which begins with nothing in it."""


class Pointer:
    """Elements of a dtype in a block. A place is an integer, or an array of them for an array of
    elements; one beyond the block raises IndexError."""

    def __init__(self, block: Block, dtype: np.dtype, start: int):
        self.block, self.dtype, self.start = block, dtype, start
        self.count = max(0, len(block.data) - start) // dtype.itemsize if start >= 0 else 0
        stop = start + self.count * dtype.itemsize
        data = block.data[start:stop] if self.count else block.data[:0]
        self.elements = data.view(dtype)

    @overload
    def load(self, places: np.ndarray) -> np.ndarray: ...

    @overload
    def load(self, places: int) -> NumPyNumber: ...

    def load(self, places: Places) -> np.ndarray | NumPyNumber:
        """The elements at places."""
        self._require_inside(places)
        return self.elements[places]

    def store(self, places: Places, values: np.ndarray | NumPyNumber) -> None:
        """Set the elements at places, converted to the dtype."""
        self._require_inside(places)
        self.elements[places] = values

    def further(self, count: int) -> "Pointer":
        """The pointer `count` elements on."""
        return self.block.pointer(self.dtype, self.start + count * self.dtype.itemsize)

    def _require_inside(self, places: Places) -> None:
        if isinstance(places, int):
            inside = 0 <= places < self.count
        else:
            inside = not places.size or (places.min() >= 0 and places.max() < self.count)
        if not inside:
            raise IndexError(f"{self.told(places)} lies beyond the buffer")

    def told(self, places: Places) -> str:
        """Elements for messages."""
        first, last = int(np.min(places)), int(np.max(places))
        shown = f"{first}" if first == last else f"{first}..{last}"
        return f"{self.dtype} {shown} from byte {self.start} of {len(self.block.data)}"


__all__ = ["Block", "Pointer"]
