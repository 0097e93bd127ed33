"""Complex arrays of trees as real ones of their parts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..complex import is_complex, joined, parts_of
from . import trees
from .registered import NAMESPACE, loaded_optree, register_dataclasses

__all__ = ["has_complex", "map_complex", "parted"]


def _flat(tree: Any) -> tuple[list[Any], Callable]:
    """The leaves of a tree in which complex arrays are whole, and a function that rebuilds it."""
    if is_complex(tree) or trees.is_number(tree):
        return [tree], lambda leaves: leaves[0]
    leaves, spec = loaded_optree().tree_flatten(
        tree, is_leaf=is_complex, none_is_leaf=True, namespace=NAMESPACE
    )
    if register_dataclasses(leaves):
        return _flat(tree)
    return leaves, lambda new: loaded_optree().tree_unflatten(spec, new)


def has_complex(tree: Any) -> bool:
    """Whether a leaf of a tree is complex."""
    if type(tree) is list or type(tree) is tuple:  # optree is not imported for these
        return any(map(has_complex, tree))
    return any(map(is_complex, _flat(tree)[0]))


def map_complex(function: Callable, tree: Any) -> Any:
    """The tree with function(z) in place of each complex array z."""
    leaves, rebuild = _flat(tree)
    return rebuild([function(x) if is_complex(x) else x for x in leaves])


def parted(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The tree with the real and the imaginary part of each complex array of shape T as a real
    array of shape (2, *T), and a function that makes such trees complex."""
    flags = [is_complex(x) for x in _flat(tree)[0]]

    def whole(tree: Any) -> Any:
        leaves, rebuild = _flat(tree)
        both = zip(leaves, flags, strict=True)
        return rebuild([joined(x[0], x[1]) if flag else x for x, flag in both])

    return map_complex(lambda z: np.stack(parts_of(z)), tree), whole
