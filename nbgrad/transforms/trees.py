"""Nested containers of arrays as lists of leaves: dicts, lists, tuples, named tuples, dataclasses,
and classes that were registered."""

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from ..array import Array
from ..kernels._forks import fork_safe

NAMESPACE = "nbgrad"
_PLAIN = (Array, np.ndarray, float, int, np.generic)
_registering = fork_safe(threading.Lock())


def flatten(tree: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The leaves of `tree`, and a function that builds the same structure from other leaves.

    A plain array or number is its own leaf and does not touch optree, which loads on first use.
    """
    if isinstance(tree, _PLAIN):
        return [tree], lambda leaves: leaves[0]
    import optree

    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    if _register_dataclasses(leaves):
        return flatten(tree)
    return leaves, lambda new: optree.tree_unflatten(structure, cast(Any, new))


def flatten_values(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves of `tree` that are not None; what is built has None where `tree` has it."""
    leaves, rebuild = flatten(tree)
    if not any(leaf is None for leaf in leaves):
        return leaves, rebuild

    def rebuild_values(values: list[Any]) -> Any:
        rest = iter(values)
        return rebuild([None if leaf is None else next(rest) for leaf in leaves])

    return [leaf for leaf in leaves if leaf is not None], rebuild_values


def structure(tree: Any) -> Any:
    """A hashable description of the nesting of `tree`, without its leaves."""
    if isinstance(tree, tuple) and all(isinstance(x, (np.ndarray, float, int)) for x in tree):
        return len(tree)
    import optree

    _register_dataclasses(
        optree.tree_leaves(cast(Any, tree), none_is_leaf=True, namespace=NAMESPACE)
    )
    return optree.tree_structure(cast(Any, tree), none_is_leaf=True, namespace=NAMESPACE)


def same_structure(a: Any, b: Any) -> bool:
    """Whether two trees nest their leaves in the same way."""
    return structure([a]) == structure([b])


def describe(tree: Any) -> str:
    """The nesting of `tree` in a word or two, for messages."""
    if isinstance(tree, _PLAIN):
        return "one array"
    text = str(structure([tree])).removeprefix("PyTreeSpec([").partition("], NoneIsLeaf")[0]
    return text if len(text) < 120 else f"{text[:120]}..."


def register(cls: type | None = None, *, fields: Sequence[str] | None = None) -> Any:
    """Decorator: instances of `cls` are trees, whose leaves are found in their attributes.

    Arguments:
        cls: any class; dataclasses need no registration.
        fields: the attributes that hold arrays or nested ones; all of `__dict__` where None. Others
            are carried along as they are.

    Instances are rebuilt without calling `__init__`. Raises TypeError for what is no class or is
    registered already.

    >>> @nbgrad.register
    ... class Line:
    ...     def __init__(self, slope, shift):
    ...         self.slope, self.shift = slope, shift
    >>> nbgrad.grad(lambda line, x: line.slope * x + line.shift)(Line(2.0, 1.0), 3.0).slope
    np.float64(3.0)
    """
    if cls is None:
        return lambda given: register(given, fields=fields)
    if not isinstance(cls, type):
        raise TypeError(f"register: a {type(cls).__name__} is no class; give the class itself")
    chosen = None if fields is None else tuple(fields)
    try:
        _register(cls, lambda x: chosen if chosen is not None else tuple(vars(x)))
    except ValueError:
        raise TypeError(f"register: {cls.__name__} is registered already") from None
    return cls


def _register_dataclasses(leaves: Iterable[Any]) -> bool:
    """Register the dataclasses among `leaves`; whether there were new ones."""
    found = {type(leaf) for leaf in leaves if dataclasses.is_dataclass(leaf)} - {type}
    for cls in found:
        names = tuple(field.name for field in dataclasses.fields(cast(Any, cls)))
        with _registering:
            try:
                _register(cls, lambda x, names=names: names)
            except ValueError:  # by another thread
                continue
    return bool(found)


def _register(cls: type, names_of: Callable[[Any], tuple[str, ...]]) -> None:
    import optree

    def flat(x: Any) -> tuple:
        names = names_of(x)
        rest = {k: v for k, v in getattr(x, "__dict__", {}).items() if k not in names}
        return [getattr(x, name) for name in names], _Rest(names, rest), names

    def built(about: "_Rest", children: Iterable[Any]) -> Any:
        return made(cls, [*about.names, *about.rest], [*children, *about.rest.values()])

    optree.register_pytree_node(cast(Any, cls), flat, cast(Any, built), namespace=NAMESPACE)


def made(cls: type, names: Iterable[str], values: Iterable[Any]) -> Any:
    """An instance of `cls` with these attributes, without a call of `__init__`."""
    x = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(x, name, value)
    return x


def is_leaf(x: Any) -> bool:
    """Whether `x` is no container of others."""
    if isinstance(x, _PLAIN):
        return True
    leaves, _ = flatten(x)
    return len(leaves) == 1 and leaves[0] is x


def data_fields(x: Any) -> tuple[str, ...] | None:
    """The attributes of a dataclass whose instance `x` has no others, else None."""
    if not dataclasses.is_dataclass(x) or isinstance(x, type):
        return None
    names = tuple(field.name for field in dataclasses.fields(x))
    return names if set(getattr(x, "__dict__", names)) == set(names) else None


class _Rest:
    """What an object holds besides its leaves: two of a structure are equal where it is the same
    objects, or equal ones."""

    __slots__ = ("names", "rest")

    def __init__(self, names: tuple[str, ...], rest: dict[str, Any]):
        self.names, self.rest = names, rest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rest) or self.names != other.names:
            return False
        mine, theirs = self.rest, other.rest
        return mine.keys() == theirs.keys() and all(
            mine[k] is theirs[k] or bool(np.all(mine[k] == theirs[k])) for k in mine
        )

    def __hash__(self) -> int:
        return hash((self.names, tuple(sorted(self.rest))))


def require_function(op: str, f: Any) -> None:
    """Raise TypeError for what cannot be called, such as a value that a function gave."""
    if not callable(f):
        raise TypeError(
            f"{op}: not a function but a value of type {type(f).__name__}; give the function "
            "itself, f and not f(x)"
        )


def level_above(leaves: Iterable[Any]) -> int:
    """The lowest level at which all leaves are constants: above the arrays among them."""
    return max((leaf.level + 1 for leaf in leaves if isinstance(leaf, Array)), default=0)


def is_differentiable(leaf: Any) -> bool:
    """Floats and arrays of floats; integers, strings and functions are static."""
    if isinstance(leaf, float):
        return True
    return isinstance(leaf, (Array, np.ndarray, np.generic)) and leaf.dtype.kind == "f"


def scalar(value: Any) -> Any:
    """A NumPy scalar for a plain array without axes."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
