"""Calls of methods of arrays, and of functions of NumPy that take or give arrays."""

import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import choosing as choosing
from . import creation as creation
from . import divided as divided
from . import extremes as extremes
from . import fourier as fourier
from . import further as further
from . import grids as grids
from . import products as products
from . import rearranging as rearranging
from . import reductions as reductions
from . import repeats as repeats
from . import scans as scans
from . import strided as strided
from .array_table import FUNCTIONS, METHODS
from .arrays import is_array
from .elementwise import applied_by_call
from .emit import FunctionBuilder
from .products import outer
from .scalars import SCALARS
from .syntax import Unsupported
from .values import Method, Value

__all__ = ["array_call"]


def array_call(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], keywords: Mapping[str, Value]
) -> "Value | None":
    """The result of a call; None for one that is not of arrays."""
    from .calls import call  # which calls functions of arrays

    if isinstance(function, Method):
        row = METHODS.get(function.name) or FUNCTIONS.get(getattr(np, function.name))
        if row is None:
            whole = [function.holder, *operands]
            return call(emit, getattr(np, function.name), whole, keywords)
        return _filled(emit, function.name, row, [function.holder, *operands], keywords)
    whole = getattr(function, "__self__", None)
    if isinstance(whole, np.ufunc) and function == whole.outer and len(operands) == 2:
        return outer(emit, lambda x, y: call(emit, whole, [x, y]), *operands)
    try:
        row = FUNCTIONS.get(function)
    except TypeError:  # not hashable
        return None
    has_arrays = any(map(is_array, operands))
    if function in SCALARS and not has_arrays:
        return None
    if row is not None:
        return _filled(emit, function.__name__, row, operands, keywords)
    if has_arrays and (
        isinstance(function, np.ufunc) or function is builtins.abs or function is np.round
    ):
        if keywords:
            raise Unsupported(f"np.{function.__name__} with keywords")
        return applied_by_call(emit, function, operands)
    return None


def _filled(
    emit: FunctionBuilder, name: str, row: Callable, operands: Sequence[Value],
    keywords: Mapping[str, Value],
) -> Value:  # fmt: skip
    try:
        inspect.signature(row).bind(emit, *operands, **keywords)
    except TypeError as error:
        raise Unsupported(f"np.{name}: {error}") from None
    return row(emit, *operands, **keywords)
