"""Numba's arrays as LLVM values: access to their fields, and construction from these.

Numba's own class for this keeps the value in memory, and looks up Numba's registry at each access.
"""

from typing import Any

from numba.core import types

__all__ = ["part_of"]


def part_of(context: Any, builder: Any, kind: types.Array, array: Any, name: str) -> Any:
    """One of "data", "shape", "strides", "nitems" and "itemsize"."""
    return context.data_model_manager[kind].get(builder, array, name)
