"""Nested dicts, lists and tuples of arrays as lists of leaves."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from ..array import Array


def flatten(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves of `tree`, and a function that builds the same structure from other leaves.

    A plain array or number is its own leaf and does not touch optree, which loads on first use.
    """
    if isinstance(tree, (Array, np.ndarray, float, int, np.generic)):
        return [tree], lambda leaves: leaves[0]
    import optree

    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True)
    return leaves, lambda new: optree.tree_unflatten(structure, new)


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

    return optree.tree_structure(cast(Any, tree), none_is_leaf=True)


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
