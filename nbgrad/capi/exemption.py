"""The emitter for functions that exempt nodes from garbage collection; see `values/exempt.py`."""

from typing import Any

from . import emitter as native
from .builtin import slots
from .emitter import word
from .graph_objects import GraphObjects, NodeEmitter


class ExemptingEmitter(NodeEmitter):
    """Writes a function that makes nodes."""

    def __init__(self, objects: GraphObjects, count: int, keywords: bool):
        super().__init__(objects.node, objects.leaf, count, keywords)
        self.objects = objects
        self.plan = slots(objects.plan, "aval", "has_plain_params")

    def is_acyclic(self, plan: Any, parents: Any, saved: Any, value: Any) -> Any:
        """Whether a node can be in no reference cycle; see `values/exempt.py`."""
        visited = self.row(1)
        self.store(self.is_visited(value), visited)
        for items in (parents, saved):
            with self.each(self.length(items)) as i:
                found = self.is_visited(self.item(items, i))
                self.store(self.build.or_(self.load(visited), found), visited)
        plain = self.equal(self.load(plan, self.plan["has_plain_params"]), word(id(True)))
        return self.build.and_(plain, self.equal(self.load(visited), word(0)))

    def is_visited(self, x: Any) -> Any:
        """1 if the garbage collector visits an object that is no aval, else 0."""
        tracked = self.is_set(self.python("PyObject_GC_IsTracked", native.INT, x))
        return self.as_word(
            self.build.and_(tracked, self.build.not_(self.is_a(x, id(self.objects.aval))))
        )

    def exempt(self, condition: Any, node: Any, *others: Any) -> None:
        """Exempt a new node and its containers from garbage collection if a condition holds."""
        with self.build.if_then(condition, likely=True):
            for x in (node, *others, self.load(node, self.node["array"])):
                self.python("PyObject_GC_UnTrack", native.VOID, x)
