"""C versions of `_hand_out`, which sets gradients after a backward pass, and `_reset`.

No other thread and no signal handler runs in the middle, so nothing has to be undone.
"""

from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from . import emitter as native
from .builtin import slots
from .emitter import NOTHING, WORD, word
from .graph_objects import NodeEmitter


class HandOut(NodeEmitter):
    """Writes `_hand_out(cotangents, seed)`, for cotangents that are plain arrays. `by` says who set
    the gradients."""

    def __init__(self, node: type, leaf: type, tick: Callable, by: str):
        super().__init__(node, leaf, 2)
        self.cotangents, self.seed = self.argument(0), self.argument(1)
        self.demand(self.is_a(self.cotangents, native.DICT))
        count = self.python("PyDict_Size", WORD, self.cotangents)
        self.gradients = self.made(self.python("PyTuple_New", WORD, count))
        with self.pairs(self.cotangents, count) as (i, node, ct):
            self.demand(self.is_node(node))
            added = self.added(node, self.unshared(i, ct))
            self.store(self.handed(added), self.place(self.gradients, i))
        now, origin = self.called(self.constant(tick)), self.constant(by)
        with self.pairs(self.cotangents, count) as (i, node, _):
            gradient = self.item(self.gradients, i)
            for name, x in (("grad_time", now), ("origin", origin), ("grad", gradient)):
                self.replace(node, self.node[name], x)
        self.let_go(self.gradients)
        self.let_go(now)
        self.build.ret(self.handed(self.held(NOTHING)))

    def unshared(self, i: Any, ct: Any) -> Any:
        """A cotangent, or a copy of one whose memory is that of the seed, of another array or of
        another gradient."""
        number = [self.is_a(ct, id(kind)) for kind in (np.float64, np.float32)]
        is_array = self.is_a(ct, native.ARRAY)
        self.demand(self.build.or_(is_array, self.build.or_(*number)))
        shared = self.row(1)
        self.store(self.as_word(self.equal(ct, self.seed)), shared)
        with self.each(i) as j:
            met = self.as_word(self.equal(ct, self.item(self.gradients, j)))
            self.store(self.build.or_(self.load(shared), met), shared)
        alone = self.equal(self.load(shared), word(0))

        def unless_view() -> Any:
            return self.either(
                self.is_view(ct), lambda: self.copied(ct), lambda: self.referenced(ct)
            )

        fit = self.build.and_(is_array, alone)
        found = self.either(fit, unless_view, lambda: self.copied(ct))
        self.owned.append(found)
        return found

    def copied(self, x: Any) -> Any:
        return self.handed(self.called(self.constant(np.array), x))

    def added(self, node: Any, gradient: Any) -> Any:
        """The new gradient of a node; that of a leaf is added to the one before."""
        old = self.slot(node, self.node["grad"])
        has_old = self.build.not_(self.equal(old, NOTHING))
        is_leaf = self.is_leaf(node)
        when = [self.is_set(self.load(node, self.node[name])) for name in ("grad_time", "origin")]
        self.demand(self.build.or_(self.build.not_(has_old), self.build.and_(*when)))

        def total() -> Any:
            self.held(old)  # NumPy releases the GIL while it adds long arrays
            added = self.handed(self.made(self.python("PyNumber_Add", WORD, old, gradient)))
            self.let_go(old)
            self.count(gradient, -1)
            return added

        found = self.either(self.build.and_(has_old, is_leaf), total, lambda: gradient)
        self.handed(gradient)
        self.owned.append(found)
        return found


class Reset(NodeEmitter):
    """Writes `_reset(arrays)`, for a tuple of leaves of the base level that have no live children.
    A new list of children begins with `first_limit`."""

    def __init__(self, array: type, node: type, leaf: type, first_limit: int):
        super().__init__(node, leaf, 1)
        self.array, arrays = array, self.argument(0)
        self.node_of_array = slots(array, "node")["node"]
        self.demand(self.is_a(arrays, native.TUPLE))
        with self.each(self.length(arrays)) as i:
            children = self.slot(self.leaf(self.item(arrays, i)), self.node["children"])
            self.demand(self.is_a(children, native.LIST))
            count = self.build.sub(self.length(children), word(1))
            with self.each(count) as j:
                place = self.build.add(j, word(1))
                reference = self.python("PyList_GetItem", WORD, children, place)
                self.demand(self.is_a(reference, id(ref)))
                child = self.called(reference)
                self.demand(self.equal(child, NOTHING))
                self.let_go(child)
        with self.each(self.length(arrays)) as i:
            leaf = self.leaf(self.item(arrays, i))
            room = self.new_list(first_limit)
            self.replace(leaf, self.node["children"], room)
            self.let_go(room)
            self.replace(leaf, self.node["grad"], NOTHING)
        self.build.ret(self.handed(self.held(NOTHING)))

    def leaf(self, x: Any) -> Any:
        """The node of an array, which is a leaf."""
        self.demand(self.is_a(x, id(self.array)))
        leaf = self.slot(x, self.node_of_array)
        self.demand(self.is_a(leaf, self.kinds[1]))
        return leaf
