"""Complex arguments and results, which are two leaves each: the real and the imaginary parts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..compiler.front.functions import ArrayType
from ..compiler.front.values import Complex, Pair, Planes
from ..compiler.front.values import instance_of as tuple_of
from ..complex import joined
from ..complex.pair import plain_join
from ..core.array import Array

__all__ = ["complex_kind", "instance_of", "write_back", "written_arrays"]


def complex_kind(dtype: np.dtype, shape: Sequence[int]) -> Pair:
    """The type of a complex argument with parts of a dtype."""
    if not shape:
        return Complex((dtype, dtype))
    ones = tuple([i for i, n in enumerate(shape) if len(shape) > 1 and type(n) is int and n == 1])
    return Planes([ArrayType(dtype, len(shape), ones=ones)] * 2)


def instance_of(like: tuple, parts: Iterable[Any]) -> Any:
    """A tuple of parts for callers; a complex number or array of its parts."""
    if not isinstance(like, Pair):
        return tuple_of(like, parts)
    real, imag = parts
    if isinstance(real, Array) or isinstance(imag, Array):
        return joined(real, imag)
    if real is None or imag is None:
        return None
    return plain_join(real, imag)


def arguments_of(kinds: Iterable[Any]) -> list[tuple[int, ...]]:
    """The leaves of each array or number among the arguments: two of a complex one."""
    found: list[tuple[int, ...]] = []

    def visit(kind: Any) -> None:
        first = found[-1][-1] + 1 if found else 0
        if isinstance(kind, Pair):
            found.append((first, first + 1))
        elif isinstance(kind, tuple):
            for each in kind:
                visit(each)
        elif not hasattr(kind, "value"):
            found.append((first,))

    for kind in kinds:
        visit(kind)
    return found


def written_arrays(
    kinds: Iterable[Any], written: Mapping[int, Any], leaves: Sequence[Any]
) -> list[Any]:
    """The arrays that a function wrote to: a complex one if it wrote to one of its parts."""
    found = []
    for places in arguments_of(kinds):
        if any(i in written for i in places):
            parts = [written.get(i, leaves[i]) for i in places]
            found.append(instance_of(Planes(parts), parts) if len(parts) == 2 else parts[0])
    return found


def write_back(kind: Any, made: Any, leaves: Iterable[Any]) -> None:
    """Set the parts of complex arrays among the leaves of an argument to those of the arrays that a
    function was called with in their place."""
    leaves = iter(leaves)

    def visit(kind: Any, made: Any) -> None:
        if isinstance(kind, Planes):
            for part in (made.real, made.imag):
                leaf = next(leaves)
                if leaf.flags.writeable:
                    leaf[...] = part
        elif isinstance(kind, Complex):
            for _ in kind:
                next(leaves)
        elif isinstance(kind, tuple):
            for each, part in zip(kind, made, strict=True):
                visit(each, part)
        elif not hasattr(kind, "value"):
            next(leaves)

    visit(kind, made)
