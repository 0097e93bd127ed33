"""Leaked arrays: tracked arrays that the function has kept when its transformation is over.

At its end, a transformation looks at the leaves that it made of its arguments. Live arrays computed
from them were kept by the function, and their class becomes `Leaked`, so ops need no test. Every
use but `data`, `item()` and `print` raises an error that names the place.
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
from .graph import Ended, Leaf, Node, handle, live_children, parents_of, reachable
from .tracked import TrackedArray


class Leaked(TrackedArray):
    """An array of a transformation that is over. It has values, but no graph."""

    __slots__ = ()
    kept: tuple[str, CodeType | None]

    def _refuse(self, *args: Any, **options: Any) -> NoReturn:
        raise self._error()

    def _error(self) -> LeakedValueError:
        return leaked(self, _what(self), *self.kept)

    level = property(_refuse)  # pyright: ignore[reportAssignmentType]
    # Methods that do not read the level.
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
    """A phrase with the op and the shape of an array."""
    title = titled(x.node)
    return f"the {f'result of {title}' if title else 'argument'}, of shape {x.shape},"


def end(nodes: Sequence[Node | None], op: str, f: Any) -> None:
    """End the transformation `op` of a function: make leaked what depends on its leaves,
    `nodes`."""
    for node in nodes:
        if node is not None and getrefcount(node) > _OWN:
            _leak(node, op, f)


class Graph:
    """The leaves of a graph that a pullback keeps. Their transformation ends with the pullback."""

    __slots__ = ("about", "closed")

    def __init__(self, *about: Any):
        self.about, self.closed = about, False

    def __del__(self):
        if not self.closed:  # cotangents pass through it to arrays that the function closes over
            end(*self.about)


def mark(nodes: list[Node | None], op: str, f: Any) -> Graph:
    """End a transformation whose pullback keeps the graph: arrays are leaked when the pullback is
    gone. Until then `require_open` raises an error for results that depend on them."""
    label = Ended()
    label.op, label.code = op, code_of(f)
    for node in nodes:
        if node is not None:
            node.label = label  # pyright: ignore[reportAttributeAccessIssue]
    return Graph(nodes, op, f)


def require_open(nodes: Iterable[Node]) -> None:
    """Raise LeakedValueError for a node that depends on an argument of a function that has
    returned."""
    nodes = [*nodes]
    for leaf in reachable(nodes, parents_of):
        if isinstance(leaf, Leaf) and type(leaf.label) is Ended:
            node = next(node for node in nodes if leaf in reachable([node], parents_of))
            x = handle(node)
            raise leaked(x, _what(x), leaf.label.op, leaf.label.code)


def _counted(nodes: Sequence[Node]) -> int:
    """The reference count of a node as `end` sees it."""
    for node in nodes:
        return getrefcount(node)
    return 0


_OWN = _counted([Node()])
"""The reference count of a leaf that is not kept: the list, the loop variable and, before Python
3.14, the call."""


def _leak(root: Node, op: str, f: Any) -> None:
    """Make a leaf and all live arrays computed from it Leaked."""
    about = op, code_of(f)
    for node in [*reachable([root], live_children)]:
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
