"""Tracked arrays that outlived the transformation that made them.

A transformation that is over looks at the leaves that it made of its arguments: what was computed
from them and is still there was kept by the function. Such arrays become `Leaked`, so that ops pay
nothing for it: every use but `data`, `item()` and `print` is an error that names the place.
"""

from collections.abc import Iterable, Sequence
from sys import getrefcount
from types import CodeType
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from ..core.leaks import description, leaked
from ..core.levels import code_of
from ..errors import LeakedValueError
from ..runtime.kinds import is_a
from .base import titled
from .graph import Ended, Leaf, Node, handle, leaf_below, live_children
from .tracked import TrackedArray

# References to a leaf that nothing else refers to: of the list, of the loop and of the question.
_OWN = 3


class Leaked(TrackedArray):
    """An array of a derivative that is over. Its numbers are still there, its graph is not."""

    __slots__ = ()
    kept: tuple[str, CodeType | None]

    def _refuse(self, *args: Any, **options: Any) -> NoReturn:
        raise self._error()

    def _error(self) -> LeakedValueError:
        return leaked(self, _what(self), *self.kept)

    level = property(_refuse)  # pyright: ignore[reportAssignmentType]
    # What is not an op, and so does not ask for the level.
    __array__ = __float__ = __int__ = __complex__ = __bool__ = __reduce__ = _refuse
    __setitem__ = __delitem__ = backward = _refuse
    process = bind1 = bind2 = _refuse  # pyright: ignore[reportAssignmentType]
    _snapshot = _require_computed = _refuse  # pyright: ignore[reportAssignmentType]

    def _is_inside(self) -> bool:
        return False

    def __repr__(self) -> str:
        value = self.node.value
        text = str(value) if is_a(value, (np.ndarray, np.generic)) else ""
        return f"{text} (leaked: {description(_what(self), *self.kept)})".lstrip()


def _what(x: TrackedArray) -> str:
    """The op and the shape of an array."""
    title = titled(x.node)
    return f"the {f'result of {title}' if title else 'argument'}, of shape {x.shape},"


def end(nodes: Sequence[Node | None], op: str, f: Any) -> None:
    """The transformation `op` of a function is over, for which `nodes` were the leaves."""
    for node in nodes:
        if node is not None and getrefcount(node) > _OWN:
            _leak(node, op, f)


class Graph:
    """The leaves of a graph that a pullback keeps, whose transformation is over with it."""

    __slots__ = ("about", "closed")

    def __init__(self, *about: Any):
        self.about, self.closed = about, False

    def __del__(self):
        if not self.closed:  # cotangents go on through it to what the function closes over
            end(*self.about)


def mark(nodes: list[Node | None], op: str, f: Any) -> Graph:
    """The same where a pullback keeps the graph, so that arrays stay what they are until that is
    gone: results that depend on them before are an error, by `require_open`."""
    label = Ended()
    label.op, label.code = op, code_of(f)
    for node in nodes:
        if node is not None:
            node.label = label  # pyright: ignore[reportAttributeAccessIssue]
    return Graph(nodes, op, f)


def require_open(nodes: Iterable[Node]) -> None:
    """Raise LeakedValueError for a node that depends on an argument of a function that has run."""
    nodes = [*nodes]
    leaf = leaf_below(nodes, lambda leaf: type(leaf.label) is Ended)
    if leaf is not None:
        node = next(node for node in nodes if leaf_below([node], lambda other: other is leaf))
        x = handle(node)
        raise leaked(x, _what(x), leaf.label.op, leaf.label.code)  # pyright: ignore


def _leak(root: Node, op: str, f: Any) -> None:
    """Make a leaf, and what was computed from it and still is there, Leaked."""
    known, waiting = {root}, [root]
    while waiting:
        node = waiting.pop()
        new = [child for child in live_children(node) if child not in known]
        known.update(new)
        waiting += new
    about = op, code_of(f)
    for node in known:
        array = node.array()
        if array is None or not isinstance(array, TrackedArray):
            continue
        if isinstance(node, Leaf):
            kept = Leaf()
            kept.label = ""
        else:
            kept = Node()
            kept.plan, kept.parents, kept.saved = node.plan, (), ()
        kept.value, kept.time = node.value, node.time
        kept.children = kept.grad = None
        kept.array = ref(array)
        array.node, array.kept = kept, about
        array.origin = array.views = None
        array.__class__ = Leaked
