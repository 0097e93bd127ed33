"""Trees of parameters, gradients and states, leaf by leaf."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..errors import DimensionMismatch
from ..runtime.kinds import is_a
from ..transforms import trees


def zeros_like(parameters: Any) -> Any:
    """A tree of zeros for the floats of a tree, None for all else."""
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
    """`f(gradient, *leaves)` for each leaf with a gradient: a tree for each of its results, in
    which all other leaves are those of the trees `given`, in order.

    Raises TypeError where gradients nest in another way than the first of those, and
    DimensionMismatch where a shape is another.
    """
    parts = [trees.flatten(tree) for tree in given]
    slopes = trees.flatten(gradients)[0]
    if any(len(leaves) != len(slopes) for leaves, _ in parts):
        raise TypeError(
            f"{op}: the gradients nest as {trees.describe(gradients)}, and parameters or state as "
            f"{trees.describe(given[0])}: give the gradient of these parameters, and the state "
            "that began with init(parameters)"
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
    """A number in the dtype of x, which it must not widen."""
    if is_a(number, (float, int)) and not is_a(number, np.generic):
        return number
    return number.astype(x.dtype) if hasattr(x, "dtype") else number
