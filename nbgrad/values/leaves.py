"""What a user does with leaves: `track` makes them, `accum` and `reset` work from them."""

from typing import Any, cast

import numpy as np

from ..core.array import Array
from ..core.primitive import current_level
from ..rules.families import FLOATS
from . import gradients
from .operands import float_array
from .tracked import TrackedArray, make_leaf


def track(x, name: str = "", *, copy: bool = True) -> TrackedArray:
    """A leaf of the graph: an array whose gradient will be asked for.

    Arguments:
        x: a number or anything that `np.asarray` takes, of real numbers. Integers and bools become
            float64, float32 stays. A tracked array is returned as it is.
        name: shown by `repr`, `print_tree` and errors.
        copy: False shares the memory of a contiguous float array, at the caller's risk.

    Raises TypeError for complex numbers, objects and strings.

    >>> x = nbgrad.track(2.0, "x")
    >>> x
    2.0 (tracked x)
    """
    if type(x) is np.ndarray and x.dtype in FLOATS and copy:
        return make_leaf(x.copy(), name, current_level())
    if isinstance(x, Array):
        return cast(TrackedArray, x)
    return make_leaf(float_array(x, copy), name, current_level())


def leaf_of(x, level: int) -> TrackedArray:
    """A leaf at `level` for a plain value, or for an array of a lower level."""
    return make_leaf(float_array(x), "", level)


def accum(x: TrackedArray) -> Any:
    """The gradient of the seeded arrays with respect to `x`; sets and returns `x.grad`.

    Seed an output with `z.grad = 1.0` first. Only what lies between x and the seeded outputs is
    evaluated; gradients between are kept, and used again by the next `accum`, until a seed or an
    array computed since is newer. An array that is dropped takes nothing back of what was pulled;
    its seed goes with it. Threads take turns.

    >>> x, y = nbgrad.track(2.0), nbgrad.track(3.0)
    >>> z = x * y
    >>> z.grad = 1.0
    >>> float(nbgrad.accum(x))
    3.0
    """
    _require_tracked("accum", x)
    gradients.accum(x.node)
    return x.grad


def reset(*arrays: TrackedArray) -> None:
    """Forget the gradients and children of `arrays`, and of all that was computed from them.

    Backward of an output computed before then raises.
    """
    for x in arrays:
        if type(x) is not TrackedArray:
            _require_tracked("reset", x)
    gradients.reset(arrays)


def _require_tracked(op: str, x) -> None:
    if not isinstance(x, TrackedArray):
        raise TypeError(f"{op}: a {type(x).__name__} is not tracked; track it with nbgrad.track")
