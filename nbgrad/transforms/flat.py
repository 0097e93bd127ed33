"""`ravel`: conversion between trees of arrays and flat vectors."""

import math
from typing import Any

import numpy as np

from ..core.array import Array
from ..errors import DimensionMismatch, NoFloatError, require_unmasked
from ..runtime.kinds import is_a
from . import trees
from .calls import Part


def ravel(tree: Any) -> tuple[Any, "Unravel"]:
    """Return the floats of `tree` as one vector, and the inverse function.

    Arguments:
        tree: a number, a float array, or nested dicts, lists, tuples and dataclasses of them.
            Integers, strings and functions inside are static: they are not part of the vector, and
            the inverse restores them.

    Returns `(vector, unravel)`. The vector is a new array of shape (n,) with the widest dtype of
    the leaves, in the order of the leaves, dicts by sorted keys. `unravel(vector)` restores the
    shape and dtype of each leaf; numbers become NumPy scalars. Both functions can be
    differentiated and compiled.

    Raises TypeError if the tree holds no float; `unravel` raises DimensionMismatch for a vector of
    another shape.

    >>> vector, unravel = nbgrad.scipy.ravel({"shift": 3.0, "w": np.array([[1.0, 2.0]])})
    >>> vector, unravel(2 * vector)
    (array([3., 1., 2.]), {'shift': np.float64(6.0), 'w': array([[2., 4.]])})
    """
    leaves, rebuild = trees.flatten(tree)
    floats = [leaf for leaf in leaves if trees.is_differentiable(leaf)]
    if not floats:
        raise NoFloatError(
            f"ravel: a {_kind(tree)} holds no float: integers are static, so write 2.0 for 2, or "
            "convert the array to float64"
        )
    for leaf in floats:
        require_unmasked(leaf, "ravel")
    parts = [np.ravel(leaf) for leaf in floats]
    if len(parts) == 1:
        vector = parts[0] if isinstance(parts[0], Array) else np.array(parts[0])
    else:
        vector = np.concatenate(parts)
    return vector, Unravel(leaves, rebuild, (_nesting(tree), *map(key_of, leaves)))


class Unravel:
    """The inverse of `ravel`. It is equal for trees of the same structure and static leaves."""

    __slots__ = ("_key", "_parts", "_rebuild", "is_identity", "size")

    def __init__(self, leaves: list[Any], rebuild: Any, key: tuple):
        self._rebuild, self._key, self._parts = rebuild, key, [*map(Part, leaves)]
        self.size = sum(math.prod(part.shape) for part in self._parts if part.is_float)
        self.is_identity = key == (_BARE, ((self.size,), np.dtype(np.float64)))

    def __call__(self, vector: Any) -> Any:
        if not isinstance(vector, Array):
            vector = np.asarray(vector)
        if vector.shape != (self.size,):
            raise DimensionMismatch(
                f"unravel: a vector of shape {vector.shape} for a tree of {self.size} numbers; "
                f"expected shape ({self.size},)"
            )
        leaves, at = [], 0
        for part in self._parts:
            if not part.is_float:
                leaves.append(part.value)
                continue
            stop = at + math.prod(part.shape)
            leaf = vector[at:stop] if part.shape else vector[at]
            if part.shape != leaf.shape:
                leaf = leaf.reshape(part.shape)
            leaves.append(leaf if leaf.dtype == part.dtype else leaf.astype(part.dtype))
            at = stop
        return self._rebuild(leaves)

    @property
    def names(self) -> list[str]:
        """A name for each number of the vector, such as "layers.0.w[1, 2]"."""
        tree = self._rebuild([np.empty(p.shape) if p.is_float else p.value for p in self._parts])
        found: list[str] = []
        for path, part in zip(trees.paths(tree), self._parts, strict=True):
            if part.is_float:
                places = (
                    f"[{', '.join(map(str, i))}]" if i else "" for i in np.ndindex(part.shape)
                )
                found += [f"{path or 'x'}{place}" for place in places]
        return found

    def rows(self, vectors: np.ndarray) -> Any:
        """Return the tree of many vectors, an array of shape (..., size), with their axes in front
        of those of each leaf."""
        leaves, at = [], 0
        for part in self._parts:
            if not part.is_float:
                leaves.append(part.value)
                continue
            stop = at + math.prod(part.shape)
            leaf = vectors[..., at:stop].reshape(*vectors.shape[:-1], *part.shape)
            leaves.append(leaf.astype(part.dtype, copy=False))
            at = stop
        return self._rebuild(leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unravel) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


_BARE = "array"


def _nesting(tree: Any) -> Any:
    return _BARE if isinstance(tree, (Array, np.ndarray)) else trees.structure([tree])


def _kind(tree: Any) -> str:
    return type(tree).__name__ + (f" of {tree.dtype}" if hasattr(tree, "dtype") else "")


def _dtype(leaf: Any) -> np.dtype:
    return leaf.dtype if hasattr(leaf, "dtype") else np.dtype(np.float64)


def key_of(leaf: Any) -> Any:
    """Return a hashable description of the parts of a leaf that a vector does not change."""
    if trees.is_differentiable(leaf):
        return np.shape(leaf), _dtype(leaf)
    if is_a(leaf, np.ndarray):
        return leaf.shape, leaf.dtype, leaf.tobytes()
    try:
        hash(leaf)
    except TypeError:
        return id(leaf)
    return type(leaf), leaf
