"""Numba's arrays as LLVM values: what is known of one, and one of what is known.

Numba's own class for it keeps the value in memory, and asks Numba's registry at each turn.
"""

from typing import Any

from numba.core import types

__all__ = ["part_of"]


def part_of(context: Any, builder: Any, kind: types.Array, array: Any, name: str) -> Any:
    """One of "data", "shape", "strides", "nitems" and "itemsize"."""
    return context.data_model_manager[kind].get(builder, array, name)
