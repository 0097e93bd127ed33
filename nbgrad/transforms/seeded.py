"""`accum` and `reset`: gradients of tracked arrays, alone or in trees such as models."""

from typing import Any

from ..values import gradients
from ..values.reset import reset as reset_all
from ..values.tracked import TrackedArray
from . import trees


def accum(x: Any) -> Any:
    """The gradient of the seeded arrays with respect to `x`; sets and returns `x.grad`.

    Seed an output with `z.grad = 1.0` first. Only what lies between x and the seeded outputs is
    evaluated; gradients between are kept, and used again by the next `accum`, until a seed or an
    array computed since is newer. An array that is dropped takes nothing back of what was pulled;
    its seed goes with it. Threads take turns.

    For a tree, such as `[a, b]` or a model, it gives one of the gradients of the tracked arrays in
    it, None for all else. Raises TypeError where there is none.

    >>> x, y = nbgrad.track(2.0), nbgrad.track(3.0)
    >>> z = x * y
    >>> z.grad = 1.0
    >>> float(nbgrad.accum(x))
    3.0
    >>> nbgrad.accum({"x": x, "y": y, "n": 2})
    {'x': np.float64(3.0), 'y': np.float64(2.0), 'n': None}
    """
    if isinstance(x, TrackedArray):
        gradients.accum(x.node)
        return x.grad
    leaves, rebuild = _leaves("accum", x)
    return rebuild([accum(y) if _is_tracked(y) else None for y in leaves])


def reset(*arrays: Any) -> None:
    """Forget the gradients and children of `arrays`, and of all that was computed from them.

    Each is a tracked array, or a tree that holds some, such as a model. Backward of an output
    computed before then raises. Raises TypeError where nothing is tracked.
    """
    for x in arrays:
        if type(x) is not TrackedArray:
            groups = [_leaves("reset", x)[0] for x in arrays]
            reset_all([y for leaves in groups for y in leaves if _is_tracked(y)])
            return
    reset_all(arrays)


def _leaves(op: str, tree: Any) -> tuple[list[Any], Any]:
    leaves, rebuild = trees.flatten(tree)
    if not any(map(_is_tracked, leaves)):
        what = "is not tracked" if leaves == [tree] else "holds nothing that is tracked"
        raise TypeError(f"{op}: a {type(tree).__name__} {what}; track arrays with nbgrad.track")
    return leaves, rebuild


def _is_tracked(x: Any) -> bool:
    return isinstance(x, TrackedArray)
