"""Pytrees: flattening of nested dicts, lists, tuples, named tuples, dataclasses, objects of plain
classes that hold floats, and registered classes."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import numpy as np

from ..complex import is_complex, lifted
from ..core import primitive as core
from ..core.array import Array
from ..core.fillable import plain
from ..errors import ArgumentTypeError
from ..runtime.kinds import is_a
from ..values.tracked import TrackedArray, below
from .objects import COMMON, Held, is_float, is_number, opened
from .objects import construct as construct
from .registered import NAMESPACE, chosen, complex_of, loaded_optree, register_dataclasses
from .registered import register as register

is_differentiable = is_float


def no_floats(leaves: Iterable[Any]) -> str:
    """Return the message for a tree in which no leaf can be differentiated."""
    return "all but floats are static, so write 2.0 for 2 or convert the array to float64"


def flatten(
    tree: Any, holds: Callable[[Any], bool] = is_float
) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """Return the leaves of `tree`, and a function that rebuilds the structure from other leaves.

    Objects of plain classes are flattened if `holds` is true of one of their leaves. For arrays,
    numbers, and lists and tuples of them, optree is not imported.
    """
    if is_number(tree):
        return [plain(tree)], lambda leaves: leaves[0]
    if is_complex(tree):
        return [*lifted(tree).parts], complex_of
    leaves: list[Any] = []
    if (shape := _lists(tree, leaves)) is not None:
        return leaves, lambda new: _filled(shape, iter(new))
    optree = loaded_optree()
    leaves, spec = _flat(tree, holds)
    return leaves, lambda new: optree.tree_unflatten(spec, cast(Any, new))


def _lists(tree: Any, leaves: list[Any]) -> tuple | None:
    """Return the structure of nested lists and tuples of arrays and numbers, or of empty dicts, and
    add their leaves to `leaves`. None for any other tree."""
    if is_number(tree):
        leaves.append(plain(tree))
        return ()
    if is_complex(tree):
        leaves += lifted(tree).parts
        return (complex_of, (), ())
    kind = type(tree)
    if kind is not list and kind is not tuple and (kind is not dict or tree):
        return None
    parts: list[Any] = [kind]
    for each in tree:
        if (part := _lists(each, leaves)) is None:
            return None
        parts.append(part)
    return tuple(parts)


def _filled(shape: tuple, leaves: Iterator[Any]) -> Any:
    """The tree of a structure that `_lists` gave."""
    if not shape:
        return next(leaves)
    kind, *parts = shape
    return kind([_filled(part, leaves) for part in parts])


def _flat(tree: Any, holds: Callable[[Any], bool] = is_float) -> tuple[list[Any], Any]:
    """Return the leaves of `tree` and its `PyTreeSpec`; plain objects are flattened."""
    leaves, spec = _of_containers(tree)
    if (new := opened(leaves, _containers, holds)) is not leaves:
        leaves, spec = _of_containers(loaded_optree().tree_unflatten(spec, cast(Any, new)))
    return leaves, spec


def _of_containers(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves and the `PyTreeSpec` of nested containers. Dataclasses are registered when
    they are seen first; other objects are leaves."""
    optree = loaded_optree()
    leaves, spec = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    if any(map(is_complex, leaves)):
        pairs = [lifted(leaf) for leaf in leaves]
        return _of_containers(optree.tree_unflatten(spec, cast(Any, pairs)))
    if not COMMON.issuperset(map(type, leaves)):
        if register_dataclasses(leaves):
            return _of_containers(tree)
        leaves = [plain(leaf) for leaf in leaves]
    return leaves, spec


def _containers(tree: Any) -> tuple[list[Any], Callable]:
    leaves, spec = _of_containers(tree)
    return leaves, lambda new: loaded_optree().tree_unflatten(spec, cast(Any, new))


def is_constant(x: Any) -> bool:
    """Return whether a leaf belongs to the structure: None, a string, a function."""
    return x is None or isinstance(x, str) or (callable(x) and not is_number(x))


def flatten_values(
    tree: Any, is_constant: Callable[[Any], bool] = is_constant
) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Flatten without the constant leaves; the rebuilt tree has those of `tree`."""
    leaves, rebuild = flatten(tree)
    constant = [is_constant(leaf) for leaf in leaves]
    if not any(constant):
        return leaves, rebuild

    def rebuild_values(values: list[Any]) -> Any:
        rest = iter(values)
        both = zip(leaves, constant, strict=True)
        return rebuild([leaf if held else next(rest) for leaf, held in both])

    return [x for x, held in zip(leaves, constant, strict=True) if not held], rebuild_values


def structure(tree: Any) -> Any:
    """Return a hashable description of the structure of `tree`, without its leaves."""
    lists = _lists(tree, [])
    return _flat(tree)[1] if lists is None else lists


def paths(tree: Any) -> list[str]:
    """Return the path of each leaf of `tree` as text, such as "layers.0.w"."""
    return [".".join(map(str, path)) for path in key_paths(tree)]


def key_paths(tree: Any) -> list[tuple]:
    """Return the path of each leaf of `tree`: keys, positions and attributes from the root."""
    return [path[1:] for path in _flat([tree])[1].paths()]


def same_structure(a: Any, b: Any) -> bool:
    """Return whether two trees have the same structure."""
    if is_number(a) and is_number(b):
        return True
    lists = _lists([a], []), _lists([b], [])
    if None in lists:  # other leaves or containers: of both the same description is compared
        return _flat([a])[1] == _flat([b])[1]
    return lists[0] == lists[1]


def describe(tree: Any) -> str:
    """Return a short description of the structure of `tree`, for messages."""
    if is_number(tree):
        return "one array"
    text = str(_flat([tree])[1]).removeprefix("PyTreeSpec([").partition("], NoneIsLeaf")[0]
    return text if len(text) < 120 else f"{text[:120]}..."


def is_leaf(x: Any) -> bool:
    """Return whether `x` is a leaf, not a container."""
    if is_number(x):
        return True
    leaves, _ = flatten(x)
    return len(leaves) == 1 and leaves[0] is x


def data_fields(x: Any) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the attributes of an object that hold its leaves, and the static ones; None if it is
    no dataclass, not registered with fields, and no plain object that holds floats."""
    if isinstance(x, type):
        return None
    names = chosen.get(type(x))
    if names is not None:
        return names, tuple(name for name in getattr(x, "__dict__", ()) if name not in names)
    if not dataclasses.is_dataclass(x):
        held = opened([x], _containers, is_float)[0]
        return (held.names, ()) if isinstance(held, Held) else None
    names = tuple(field.name for field in dataclasses.fields(x))
    return (names, ()) if set(getattr(x, "__dict__", names)) == set(names) else None


def require_function(op: str, f: Any) -> None:
    """Raise TypeError if `f` is not callable, such as the result of a function."""
    if not callable(f):
        raise ArgumentTypeError(
            f"{op}: not a function but a value of type {type(f).__name__}; pass the function "
            "itself, f and not f(x)",
            code="NB-FUNCTION",
        )


def level_for(*values: Any) -> int:
    """Return `core.level_for` of the leaves of trees."""
    return core.level_for(_leaves(values) if values else ())


def level_above(*values: Any) -> AbstractContextManager:
    """Return `core.level_above` of the leaves of trees."""
    return core.level_above(_leaves(values))


def _leaves(values: Sequence[Any]) -> list[Any]:
    found = []
    for value in values:
        if is_number(value):
            found.append(value)
        else:
            found += flatten(value)[0]
    return found


def scalar(value: Any) -> Any:
    """Convert a plain array without axes to a NumPy scalar."""
    return value[()] if is_a(value, np.ndarray) and not value.ndim else value


def released(x: Any, level: int) -> Any:
    """Return x as the result of a transformation: without the graph at `level` or above, and as a
    NumPy scalar if it has no axes."""
    if type(x) is TrackedArray and not level:
        x = x.node.value
        return x if x.ndim else x[()]
    x = below(x, level)
    return x._fresh() if isinstance(x, Array) else scalar(x)
