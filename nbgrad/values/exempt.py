"""Nodes that are exempt from Python's garbage collection.

A loop of a thousand ops makes thousands of objects, and the collector takes as long to visit them
as the ops take. It need not: a node refers to its plan, to older nodes, and to plain arrays and
numbers, so it is in no reference cycle, with two exceptions:

* The parameters of a plan may be objects of users, such as the function of a custom rule, which may
  refer to arrays that were computed later.
* A gradient may be tracked; it was computed from the node that refers to it.

The collector visits these nodes and all nodes that were computed from them, which are the only
ones that can be in a cycle.
"""

import ctypes
import gc
from typing import Any
from weakref import ref

from ..core.primitive import Aval
from ..runtime.layout import IS_KNOWN, prototype
from .graph import Leaf, Node, live_children, reachable

_untrack = prototype("PyObject_GC_UnTrack", None, ctypes.py_object)
_track = prototype("PyObject_GC_Track", None, ctypes.py_object)


def exempt(node: Node) -> None:
    """Exempt a new node and its containers from garbage collection, unless it may be in a reference
    cycle. The node is among the children of its parents already, where `visit` finds it."""
    if IS_KNOWN and _is_acyclic(node):
        for x in (node, node.parents, node.saved, node.array, ref(node)):
            if gc.is_tracked(x):
                _untrack(x)
    elif IS_KNOWN:
        _visit(node.parents, node.saved)  # Python 3.14 makes tuples of exempt nodes exempt


def _is_acyclic(node: Node) -> bool:
    if type(node) is not Leaf and (type(node) is not Node or not node.plan.has_plain_params):
        return False
    held = (*node.parents, *(node.saved or ()), node.value)
    return not any(gc.is_tracked(x) and type(x) is not Aval for x in held)


def visit(node: Node) -> None:
    """Make the collector visit a node, whose gradient is tracked, and all that are computed from
    it."""
    if not gc.is_tracked(node):
        for found in reachable([node], _exempt_children):
            _visit(found, found.parents, found.saved)


def _visit(*containers: Any) -> None:
    for x in containers:
        if x and not gc.is_tracked(x):
            _track(x)


def _exempt_children(node: Node) -> list[Node]:
    return [child for child in live_children(node) if not gc.is_tracked(child)]
