"""Functions on the leaves of trees of parameters, gradients and states."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..errors import DimensionMismatch, StructureMismatch
from ..runtime.kinds import is_a
from ..transforms import trees


def zeros_like(parameters: Any) -> Any:
    """Return a tree with zeros for floats and None for other leaves."""
    leaves, rebuild = trees.flatten(parameters)
    return rebuild(
        [
            np.zeros(shape_of(x), getattr(x, "dtype", np.float64))[()]
            if trees.is_differentiable(x)
            else None
            for x in leaves
        ]
    )


def each(op: str, f: Callable, gradients: Any, *given: Any) -> tuple:
    """Apply `f(gradient, *leaves)` to each leaf with a gradient; return a tree for each result.

    Other leaves are those of the trees `given`, in order. Raises TypeError if the gradients are
    nested differently from the trees, DimensionMismatch if shapes differ.
    """
    parts = [trees.flatten(tree) for tree in given]
    slopes = trees.flatten(gradients)[0]
    if any(len(leaves) != len(slopes) for leaves, _ in parts):
        raise StructureMismatch(
            f"{op}: the gradients have the structure {trees.describe(gradients)}, but parameters "
            f"or state {trees.describe(given[0])}: pass the gradient of these parameters, and the "
            "state from init(parameters)"
        )
    rows = []
    for slope, *leaves in zip(slopes, *(leaves for leaves, _ in parts), strict=True):
        if slope is None:
            rows.append(leaves)
            continue
        if shape_of(slope) != shape_of(leaves[0]):
            raise DimensionMismatch(
                f"{op}: a gradient of shape {shape_of(slope)} for a parameter of shape "
                f"{shape_of(leaves[0])}"
            )
        rows.append(f(slope, *leaves))
    columns = zip(*rows, strict=True)
    return tuple(rebuild(list(new)) for (_, rebuild), new in zip(parts, columns, strict=True))


def like(number: Any, x: Any) -> Any:
    """Cast a number to the dtype of x, so that products with x keep it."""
    if is_a(number, (float, int)) and not is_a(number, np.generic):
        return number
    return number.astype(x.dtype) if hasattr(x, "dtype") else number
