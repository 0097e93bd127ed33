"""`reset`: forget gradients, and free the graph above the arrays."""

from collections.abc import Sequence

from ..capi.handout import Reset
from ..capi.replaceable import replaceable
from . import gradients
from .graph import FIRST_LIMIT, Leaf, Node, live_children, reachable
from .tracked import TrackedArray


def reset(arrays: Sequence[TrackedArray]) -> None:
    """Forget the gradients of `arrays` and of all that was computed from them, and free the graph
    of the latter."""
    with gradients.lock:
        _reset(arrays)


@replaceable(lambda: Reset(TrackedArray, Node, Leaf, FIRST_LIMIT))
def _reset(arrays: Sequence[TrackedArray]) -> None:
    for array in arrays:
        root = array.node
        alive = live_children(root)
        if alive:
            # From the end: after an interrupt, another reset finds the nodes that are left.
            for node in reversed([*reachable(alive, live_children)]):
                node.children = node.grad = node.saved = None
                node.parents = ()
        root.children = None if root.plan else [FIRST_LIMIT]
        root.grad = None
