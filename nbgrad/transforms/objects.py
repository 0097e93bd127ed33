"""Objects of plain classes as pytrees: their attributes are the children if one holds a float.

A class is plain if a copy of an object's attributes is a copy of the object: neither it nor a base
class overrides `__new__`, `__reduce__`, `__getstate__` or `__setstate__`. Whether an object is a
tree depends on the object alone, not on earlier calls.
"""

import dataclasses
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, cast

import numpy as np

from ..complex import is_complex
from ..core.array import Array
from ..errors import ArgumentTypeError
from ..runtime.kinds import is_a

NUMBERS = (Array, np.ndarray, float, int, np.generic)


def is_number(x: Any) -> bool:
    """Whether x is one leaf: an array or a number, but no complex one, which has two parts."""
    kind = type(x)
    if kind is np.ndarray:
        return x.dtype.kind != "c"
    if kind is float or issubclass(kind, Array):
        return True
    return isinstance(x, NUMBERS) and not is_complex(x)


_OPAQUE = (*NUMBERS, str, bytes, type, FunctionType, type(None))
# The types of most leaves, none of which is an object with attributes to differentiate.
COMMON = {np.ndarray, float, int, bool, str, np.float64, FunctionType, type(None)}


class Held:
    """A plain object as a pytree node of optree: its class, and its attributes sorted by name."""

    __slots__ = ("cls", "names", "values")

    def __init__(self, cls: type, names: tuple[str, ...], values: list[Any]):
        self.cls, self.names, self.values = cls, names, values

    def parts(self) -> tuple:
        return self.values, (self.cls, self.names), self.names

    @staticmethod
    def built(about: tuple[type, tuple[str, ...]], values: Iterable[Any]) -> Any:
        return construct(*about, values)


def construct(cls: type, names: Iterable[str], values: Iterable[Any]) -> Any:
    """Make an instance of `cls` with these attributes, without calling `__init__`."""
    x = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(x, name, value)
    return x


def is_float(x: Any) -> bool:
    """Return whether x is a float or an array of floats; all other leaves are static."""
    if type(x) is np.ndarray:
        return x.dtype.kind == "f"
    if is_a(x, float):
        return True
    return isinstance(x, (Array, np.ndarray, np.generic)) and x.dtype.kind == "f"


def attributes(x: Any) -> dict[str, Any]:
    """Return the attributes of an object, from `__dict__` and `__slots__`, sorted by name."""
    values = dict(getattr(x, "__dict__", {}))
    for cls in type(x).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                name = f"_{cls.__name__.lstrip('_')}{name}" if _is_private(name) else name
                if hasattr(x, name):
                    values[name] = getattr(x, name)
    return dict(sorted(values.items()))


def is_plain(x: Any) -> bool:
    """Return whether the attributes of an object are its whole state."""
    cls = type(x)
    return (
        cls.__new__ is object.__new__
        and cls.__reduce__ is object.__reduce__
        and cls.__reduce_ex__ is object.__reduce_ex__
        and getattr(cls, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not hasattr(cls, "__setstate__")
    )


def opened(
    leaves: list[Any],
    flatten: Callable[[Any], tuple[list, Callable]],
    holds: Callable[[Any], bool],
    path: tuple = (),
) -> list[Any]:
    """Replace each plain object that has a leaf for which `holds` is true by a `Held`; return the
    same list if there is none. `flatten` flattens containers, but no objects."""
    if COMMON.issuperset(map(type, leaves)):
        return leaves
    parts = [
        x
        if isinstance(x, _OPAQUE) or dataclasses.is_dataclass(x)
        else _opened(x, flatten, holds, path)
        for x in leaves
    ]
    return leaves if all(a is b for a, b in zip(leaves, parts, strict=True)) else parts


def _opened(x: Any, flatten: Callable, holds: Callable, path: tuple) -> Any:
    if not is_plain(x) or not (held := attributes(x)):
        return x
    if any(x is other for other in path):
        raise _Cycle
    values, floats, cycle = [], False, False
    for value in held.values():
        inner, rebuild = flatten(value)
        try:
            new = opened(inner, flatten, holds, (*path, x))
        except _Cycle:
            cycle = True
            continue
        floats = floats or any(isinstance(leaf, Held) or holds(leaf) for leaf in new)
        values.append(value if new is inner else rebuild(new))
    if not floats:
        return x
    if cycle:
        name = type(x).__name__
        raise ArgumentTypeError(
            f"an object of {name} holds floats, and itself: name the attributes to differentiate "
            f"with nbgrad.register({name}, fields=[...])",
            code="NB-OBJECT",
        )
    return Held(type(x), tuple(held), values)


class _Cycle(Exception):
    """An object contains itself."""


def conceals(x: Any) -> bool:
    """Return whether a leaf is an object with floats that cannot be flattened: its class is neither
    plain nor registered."""
    if isinstance(x, _OPAQUE) or is_plain(x):
        return False
    if isinstance(x, (list, tuple, set, frozenset)):
        held = list(x)
    elif isinstance(x, dict):
        held = list(x.values())
    else:
        held = []
    return any(map(is_float, [*held, *attributes(x).values()]))


def _is_private(name: str) -> bool:
    return cast(str, name).startswith("__") and not name.endswith("__")
