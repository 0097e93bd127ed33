"""The results of a function: values of one type at each `return`."""

from typing import Any

import numpy as np

from . import dtypes
from .arrays import returned_array
from .complex_numbers import is_complex, parts_of
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import Array, Complex, Known, Lazy, Value, members, part_dtype, rebuilt

__all__ = ["OtherResult", "Results"]


class OtherResult(Exception):
    """Results of several types, which have the type `kind` in common: the function is read again,
    and converts them."""

    def __init__(self, kind: Any):
        super().__init__()
        self.kind = kind


class Results:
    """What the `return` statements of a function give, in the type `wanted` if that is known; `()`
    stands for no type. `kind` is the type of the results: dtypes, arrays, None, tuples of these."""

    def __init__(self, emit: FunctionBuilder, wanted: Any):
        self.kind: Any = None
        self._emit, self._wanted = emit, wanted
        self._are_there = self._are_doubtful = False
        self._arrays = 0

    def numbers(self, value: Value, may_prune: bool) -> list[Any]:
        """The numbers to return for a value. Raises OtherResult if the type of the results has to
        be another one; if Numba `may_prune` one of the values, that is not supported."""
        self._are_doubtful |= may_prune
        if self._wanted != ():
            value = self._converted(value, self._wanted)
        self._arrays = 0
        numbers, kind = self._flat(value)
        if self._are_there and not _is_same(kind, self.kind):
            if self._are_doubtful:
                raise Unsupported("results of several types below a constant condition")
            raise OtherResult(_common(self.kind, kind))
        self._are_there, self.kind = True, kind
        return numbers

    def _converted(self, value: Value, wanted: Any) -> Value:
        """A result in the type of all results."""
        if isinstance(wanted, Complex):
            return parts_of(self._emit, value, wanted[0])
        if isinstance(wanted, tuple):
            parts = zip(members(value), wanted, strict=True)
            return rebuilt(wanted, [self._converted(*each) for each in parts])
        return self._emit.cast(value, wanted) if isinstance(wanted, np.dtype) else value

    def _flat(self, value: Value) -> tuple[list[Any], Any]:
        """The numbers of a result, and its type."""
        if isinstance(value, Known) and isinstance(value.value, tuple):
            value = members(value)
        if is_complex(value):
            value = parts_of(self._emit, value, part_dtype(self._emit.dtype(value)))
        if isinstance(value, tuple):
            parts = [self._flat(part) for part in value]
            tree = rebuilt(value, [kind for _, kind in parts])
            return [x for numbers, _ in parts for x in numbers], tree
        if isinstance(value, Known) and value.value is None:
            return [], None
        if isinstance(value, (Array, Lazy)):
            self._arrays += 1
            return [], returned_array(self._emit, f"return.array{self._arrays - 1}", value)
        number = self._emit.typed(value)
        return [number.operand], number.dtype


def _common(x: Any, y: Any) -> Any:
    """The common type of two results."""
    if isinstance(x, np.dtype) and isinstance(y, np.dtype):
        return dtypes.common(x, y)
    if isinstance(x, Complex) and isinstance(y, np.dtype):
        return Complex([dtypes.common(x[0], y if y.kind == "f" else x[0])] * 2)
    if isinstance(y, Complex) and isinstance(x, np.dtype):
        return _common(y, x)
    if isinstance(x, tuple) and isinstance(y, tuple) and type(x) is type(y) and len(x) == len(y):
        return rebuilt(x, map(_common, x, y))
    if not _is_same(x, y):
        raise Unsupported("results of several types: return values of the same types everywhere")
    return x


def _is_same(x: Any, y: Any) -> bool:
    """Whether two types of results are one. NumPy takes a pair of dtypes for a dtype."""
    if isinstance(x, tuple) and isinstance(y, tuple):
        return type(x) is type(y) and len(x) == len(y) and all(map(_is_same, x, y))
    return type(x) is type(y) and x == y
