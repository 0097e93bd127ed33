"""Complex arrays in `out=`: programs compute their parts, which are written to them afterwards."""

from typing import Any, cast

import numpy as np

from ...complex import ComplexArray, is_complex
from ...runtime.kinds import is_a
from ...transforms import trees
from ...transforms.registered import NAMESPACE, loaded_optree
from .flatten import Tree


def has_complex(tree: Tree) -> bool:
    """Whether a leaf of a nested result is complex; its parts are arrays, others floats."""
    return any(is_a(leaf, np.ndarray) for leaf in trees.flatten(tree)[0])


def opened(out: Tree) -> Tree:
    """`out` with pairs of views of the parts of its complex arrays, which see what is written."""
    return _mapped(lambda x: ComplexArray(x.real, x.imag) if _is_place(x) else x, out)


def restored(result: Tree, out: Tree) -> Tree:
    """A result with the complex arrays of `out`, to whose parts it was written."""
    return _mapped(lambda x, place: place if _is_place(place) else x, result, out)


def _is_place(x: Any) -> bool:
    return is_complex(x) and is_a(x, np.ndarray)


def _mapped(f: Any, tree: Tree, *others: Tree) -> Tree:
    trees.flatten(tree)  # which registers dataclasses
    optree = loaded_optree()
    return optree.tree_map(f, cast(Any, tree), *others, none_is_leaf=True, namespace=NAMESPACE)
