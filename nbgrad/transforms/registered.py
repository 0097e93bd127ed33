"""Classes as pytrees of optree, which is imported when the first container needs it: registered
classes, dataclasses, plain objects, and complex arrays, which have two leaves."""

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from ..compiler.forks import fork_safe
from ..complex import ComplexArray, joined
from ..complex.pair import plain_join
from ..core.array import Array
from ..errors import ArgumentTypeError
from ..runtime.kinds import is_a
from .objects import Held, construct

NAMESPACE = "nbgrad"
_registering = fork_safe(threading.Lock())
chosen: dict[type, tuple[str, ...]] = {}
"""The attributes with arrays of classes that were registered with `fields`."""


@functools.cache
def loaded_optree() -> Any:
    import optree

    held, pair = cast(Any, Held), cast(Any, ComplexArray)
    with contextlib.suppress(ValueError):  # by another thread
        optree.register_pytree_node(held, held.parts, held.built, namespace=NAMESPACE)
        optree.register_pytree_node(
            pair,
            pair.flattened,
            lambda _, parts: complex_of(parts),
            namespace=NAMESPACE,
        )
    return optree


def complex_of(parts: Iterable[Any]) -> Any:
    """The complex array of two leaves; the pair itself, or the one value of both, if they are no
    numbers, such as a description of leaves."""
    real, imag = parts
    if isinstance(real, Array) or isinstance(imag, Array):
        return joined(real, imag)
    if all(is_a(x, (np.ndarray, np.generic, float)) for x in (real, imag)):
        return plain_join(real, imag)
    return real if real is imag or real == imag else (real, imag)


def register(cls: type | None = None, *, fields: Sequence[str] | None = None) -> Any:
    """Register `cls` as a pytree, whose children are attributes. It can be used as a decorator.

    Arguments:
        cls: any class. Dataclasses need no registration, nor do plain classes whose objects hold
            floats and are copied by their attributes.
        fields: the attributes that hold arrays, or nested containers of them; None means all of
            `__dict__`. The other attributes are static, in dataclasses derived from this one too.

    New instances are made without calling `__init__`.

    Raises:
        TypeError: `cls` is no class, or is registered already.

    >>> @nbgrad.register
    ... class Line:
    ...     def __init__(self, slope, shift):
    ...         self.slope, self.shift = slope, shift
    >>> nbgrad.grad(lambda line, x: line.slope * x + line.shift)(Line(2.0, 1.0), 3.0).slope
    np.float64(3.0)
    """
    if cls is None:
        return lambda kind: register(kind, fields=fields)
    if not isinstance(cls, type):
        raise ArgumentTypeError(
            f"register: a {type(cls).__name__} is no class; pass the class itself"
        )
    names = None if fields is None else tuple(fields)
    try:
        _register(cls, lambda x: names if names is not None else tuple(vars(x)))
    except ValueError:
        raise ArgumentTypeError(f"register: {cls.__name__} is registered already") from None
    if names is not None:
        chosen[cls] = names
    return cls


def register_dataclasses(leaves: Iterable[Any]) -> bool:
    """Register the dataclasses among `leaves`. Return whether there were any."""
    kinds = {type(leaf) for leaf in leaves if dataclasses.is_dataclass(leaf)} - {type}
    for cls in kinds:
        names = _fields_of(cls)
        with _registering:
            try:
                _register(cls, lambda x, names=names: names)
            except ValueError:  # by another thread
                continue
            if _carried(cls):
                chosen[cls] = names
    return bool(kinds)


def _fields_of(cls: Any) -> tuple[str, ...]:
    """Return the fields of a dataclass without those that are static in a base class."""
    carried = _carried(cls)
    return tuple(field.name for field in dataclasses.fields(cls) if field.name not in carried)


def _carried(cls: Any) -> set[str]:
    """Return the static fields of the base classes that were registered with `fields`."""
    return {
        field.name
        for base in cls.__mro__[1:]
        if base in chosen and hasattr(base, "__dataclass_fields__")
        for field in dataclasses.fields(base)
        if field.name not in chosen[base]
    }


def _register(cls: type, names_of: Callable[[Any], tuple[str, ...]]) -> None:
    optree = loaded_optree()

    def flat(x: Any) -> tuple:
        names = names_of(x)
        rest = {k: v for k, v in getattr(x, "__dict__", {}).items() if k not in names}
        return [getattr(x, name) for name in names], _Rest(names, rest), names

    def built(about: "_Rest", children: Iterable[Any]) -> Any:
        return construct(cls, [*about.names, *about.rest], [*children, *about.rest.values()])

    optree.register_pytree_node(cast(Any, cls), flat, cast(Any, built), namespace=NAMESPACE)


class _Rest:
    """The static attributes of an object, as a part of its structure: two are equal if the values
    are identical or equal."""

    __slots__ = ("names", "rest")

    def __init__(self, names: tuple[str, ...], rest: dict[str, Any]):
        self.names, self.rest = names, rest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rest) or self.names != other.names:
            return False
        mine, theirs = self.rest, other.rest
        return mine.keys() == theirs.keys() and all(
            mine[k] is theirs[k]
            or (type(mine[k]) is type(theirs[k]) and bool(np.all(mine[k] == theirs[k])))
            for k in mine
        )

    def __hash__(self) -> int:
        return hash((self.names, tuple(sorted(self.rest))))
