"""`accum` and `reset`: gradients of tracked arrays, or of trees of them such as models."""

from typing import Any

from ..errors import ArgumentTypeError
from ..values import gradients
from ..values.reset import reset as reset_all
from ..values.tracked import TrackedArray
from . import trees


def accum(x: Any) -> Any:
    """Compute the gradient of the seeded arrays with respect to `x`; sets and returns `x.grad`.

    Seed an output with `z.grad = 1.0` first. Only nodes between x and the seeded outputs are
    evaluated. Their gradients are kept and reused by the next `accum`, unless a seed or an array
    computed since is newer. When an array is deleted, its seed is dropped, and gradients that were
    pulled from it stay. Calls from several threads are serialised.

    For a tree, such as `[a, b]` or a model, returns the gradients of its tracked arrays in the same
    structure, None for all other leaves. Raises TypeError if nothing is tracked.

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
    """Clear the gradients and children of `arrays` and of everything computed from them.

    Each is a tracked array, or a tree that holds some, such as a model. Afterwards `backward` of an
    output that was computed before raises. Raises TypeError if nothing is tracked.

    >>> x = nbgrad.track(2.0)
    >>> (x * x).backward()
    >>> nbgrad.reset(x)
    >>> x.grad is None
    True
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
        raise ArgumentTypeError(
            f"{op}: a {type(tree).__name__} {what}; track arrays with nbgrad.track"
        )
    return leaves, rebuild


def _is_tracked(x: Any) -> bool:
    return isinstance(x, TrackedArray)
