"""Numba's arrays as LLVM values: access to their fields, and construction from these.

Numba's own class for this keeps the value in memory, and looks up Numba's registry at each access.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

__all__ = ["array_of", "part_of"]


def part_of(context: Any, builder: Any, kind: types.Array, array: Any, name: str) -> Any:
    """One of "data", "shape", "strides", "nitems" and "itemsize"."""
    return context.data_model_manager[kind].get(builder, array, name)


def array_of(
    context: Any, builder: Any, kind: Any, data: Any, shape: Sequence[Any], strides: Sequence[Any]
) -> Any:
    """An array of elements that belong to somebody else, for as long as they are there."""
    model, word = context.data_model_manager[kind], context.get_value_type(types.intp)
    count = word(1)
    for length in shape:
        count = builder.mul(count, length, flags=["nsw"])
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    parts = {
        "meminfo": _nothing(context, model, "meminfo"),
        "parent": _nothing(context, model, "parent"),
        "nitems": count,
        "itemsize": word(size),
        "data": data,
        "shape": cgutils.pack_array(builder, shape, word),
        "strides": cgutils.pack_array(builder, strides, word),
    }
    array = ir.Constant(model.get_value_type(), ir.Undefined)
    for name, part in parts.items():
        array = model.set(builder, array, part, name)
    return array


def _nothing(context: Any, model: Any, name: str) -> Any:
    return ir.Constant(context.get_value_type(model.get_type(name)), None)
