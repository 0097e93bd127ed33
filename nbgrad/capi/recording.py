"""C versions of the functions that record an op in the graph.

They are `result`, `make_leaf`, and `bind1` and `bind2` for arrays of the base level and numbers, if
the plan is known and no mode is active. All other calls go to the definitions in
`values/tracked.py`.
"""

from typing import Any

import numpy as np

from . import emitter as native
from . import gate
from .builtin import slots
from .emitter import ALWAYS, NOTHING, WORD, word
from .error_state import demand_default_state
from .exemption import ExemptingEmitter
from .graph_objects import GraphObjects


class Recorder(ExemptingEmitter):
    """Writes a function that records an op in the graph and returns its array."""

    def __init__(self, objects: GraphObjects, count: int, keywords: bool = False):
        super().__init__(objects, count, keywords)
        self.array = slots(objects.array, "aval", "node", "origin", "views")
        self.aval = slots(objects.aval, "constant")
        modes = self.python("PySet_Size", WORD, self.constant(objects.active))
        self.demand(self.equal(modes, word(0)))

    def is_array(self, x: Any) -> Any:
        """Whether x is a tracked array of the base level."""
        return self.is_a(x, id(self.objects.array))

    def is_plan(self, x: Any) -> Any:
        """Whether x is a plan."""
        return self.is_instance(x, self.objects.plan, self.objects.often)

    def held_all(self, *objects: Any) -> tuple[Any, ...]:
        """Objects with one more reference each, in one branch of several."""
        return tuple(map(self.referenced, objects))

    def array_parts(self, x: Any) -> tuple[Any, ...]:
        """Node, aval and value of a tracked array, with one more reference each."""
        node, aval = self.slot(x, self.array["node"]), self.slot(x, self.array["aval"])
        self.demand(self.is_node(node))
        value = self.slot(node, self.node["value"])
        self.demand(self.build.not_(self.is_long(value)))
        return self.held_all(node, aval, value)

    def is_long(self, x: Any) -> Any:
        """Whether x is an array that the definition may release."""

        def of_array() -> Any:
            return self.build.not_(self.is_short(x, self.objects.long - 1))

        return self.either(self.is_a(x, native.ARRAY), of_array, lambda: native.NEVER)

    def parts(self, x: Any, primitive: Any) -> list[Any]:
        """Node (or None), kind and value of an operand, as new references."""
        number = word(id(float))

        def whole() -> tuple[Any, ...]:
            value = self.handed(self.made(self.python("PyNumber_Float", WORD, x)))
            return *self.held_all(NOTHING, number), value

        def constant() -> tuple[Any, ...]:
            aval = self.known_aval(x)
            self.demand(self.is_set(aval))
            self.demand(self.is_a(aval, id(self.objects.aval)))
            short = self.is_short(x, self.objects.short)
            value = self.either(
                short, lambda: self.handed(self.copied(x)), lambda: self.referenced(x)
            )
            return *self.held_all(NOTHING, self.slot(aval, self.aval["constant"])), value

        def other() -> tuple[Any, ...]:
            pair = self.called(self.constant(self.objects.plain_operand), x, primitive)
            found = self.held_all(NOTHING, self.item(pair, 0), self.item(pair, 1))
            self.let_go(pair)
            return found

        def plain() -> tuple[Any, ...]:
            return tuple(self.chosen((self.is_float_array(x), constant), (ALWAYS, other)))

        found = self.chosen(
            (self.is_array(x), lambda: self.array_parts(x)),
            (self.is_a(x, native.FLOAT), lambda: self.held_all(NOTHING, number, x)),
            (self.is_a(x, native.INTEGER), whole),
            (self.is_a(x, native.ARRAY), plain),
            (self.is_a(x, id(self.objects.fillable)), other),
        )
        self.owned += found
        return found

    def known_aval(self, array: Any) -> Any:
        """The aval of a plain array as a borrowed reference; 0 if the table has none."""
        shape = self.attribute(array, "shape")
        key = self.packed([shape, self.held(self.dtype(array))])
        aval = self.python("PyDict_GetItemWithError", WORD, self.constant(self.objects.avals), key)
        self.let_go(key)
        return aval

    def plan_of(self, primitive: Any, key: Any) -> Any:
        """The plan that a primitive has for a key, as a new reference; releases the key."""
        plans = self.attribute(primitive, "plans")
        self.demand(self.is_a(plans, native.DICT))
        plan = self.python("PyDict_GetItemWithError", WORD, plans, key)
        missing = self.equal(plan, word(0))
        with self.build.if_then(missing, likely=False):
            self.python("PyErr_Clear", native.VOID)  # the key cannot be hashed
        self.demand(self.build.not_(missing))
        self.demand(self.is_plan(plan))
        self.held(plan)
        self.let_go(key)
        self.let_go(plans)
        return plan

    def forward(self, plan: Any, saved: Any, count: int) -> Any:
        """The value that a plan computes from `count` arguments, as a new reference."""
        forward = self.attribute(plan, "forward")
        value = self.called_with(forward, self.place(saved), count)
        self.let_go(forward)
        return value

    def aval_for(self, plan: Any, value: Any) -> Any:
        """The aval of a computed value, as a new reference."""
        planned = self.slot(plan, self.plan["aval"])

        def computed() -> Any:
            return self.handed(self.called(self.constant(self.objects.aval_of), value))

        def looked_up() -> Any:
            aval = self.known_aval(value)
            return self.either(self.is_set(aval), lambda: self.referenced(aval), computed)

        def of_value() -> Any:
            return self.either(self.is_a(value, native.ARRAY), looked_up, computed)

        known = self.build.not_(self.equal(planned, NOTHING))
        aval = self.either(known, lambda: self.referenced(planned), of_value)
        self.owned.append(aval)
        return aval

    def record(self, plan: Any, parents: Any, saved: Any, value: Any) -> None:
        """Return the array of a new node, which takes over all four references, and add the node to
        the children of its parents."""
        aval = self.aval_for(plan, value)
        parts = {"plan": plan, "parents": parents, "saved": saved, "value": value}
        parts |= {name: self.held(NOTHING) for name in ("children", "grad")}
        parts["time"] = self.called(self.constant(self.objects.tick))
        named = {self.node[name]: x for name, x in parts.items()}
        node, array = self.new_pair(self.objects.node, named, aval)
        child = self.reference(node)
        with self.each(self.length(parents)) as i:
            parent = self.item(parents, i)
            with self.build.if_then(self.build.not_(self.equal(parent, NOTHING))):
                self.tell(parent, child)
        self.exempt(self.is_acyclic(plan, parents, saved, value), node, parents, saved, child)
        self.let_go(child)
        self.build.ret(self.handed(array))

    def new_pair(self, kind: type, parts: dict[int, Any], aval: Any) -> tuple[Any, Any]:
        """A new node and its array, as a new reference; `parts` are the values of the slots of the
        node, which takes over the references."""
        node, array = self.new_object(kind), self.new_object(self.objects.array)
        parts[self.node["array"]] = self.reference(array)
        for slot, x in parts.items():
            self.store(self.handed(x), node, slot)
        self.held_all(NOTHING, NOTHING)
        for name in ("origin", "views"):
            self.store(NOTHING, array, self.array[name])
        for name, x in {"aval": aval, "node": node}.items():
            self.store(self.handed(x), array, self.array[name])
        return node, array

    def tell(self, parent: Any, child: Any) -> None:
        """`add_child(parent, child)`. The function itself is called to make or prune a list of
        children, and for a slot that holds neither None nor a list."""
        place = self.node["children"]

        def known() -> tuple[()]:
            found = self.load(parent, place)
            # A slot that is not set is read as the parent: neither None nor a list.
            children = self.build.select(self.is_set(found), found, parent)
            return tuple(
                self.chosen(
                    (self.equal(children, NOTHING), first),
                    (self.is_a(children, native.LIST), lambda: listed(children)),
                    (ALWAYS, general),
                )
            )

        def first() -> tuple[()]:
            self.count(child, 1)
            self.store(child, parent, place)
            self.count(NOTHING, -1)
            return ()

        def listed(children: Any) -> tuple[()]:
            limit = self.python("PyList_GetItem", WORD, children, word(0))
            limit = self.python("PyLong_AsSsize_t", WORD, limit)
            room = self.build.icmp_signed("<", self.length(children), limit)
            return tuple(self.chosen((room, lambda: append(children)), (ALWAYS, general)))

        def append(children: Any) -> tuple[()]:
            failed = self.python("PyList_Append", native.INT, children, child)
            self.require(self.equal(failed, native.INT(0)))
            return ()

        def general() -> tuple[()]:
            self.python("PyErr_Clear", native.VOID)  # the list does not begin with its limit
            self.let_go(self.called(self.constant(self.objects.add_child), parent, child))
            return ()

        self.chosen((self.is_node(parent), known), (ALWAYS, general))


class Result(Recorder):
    """Writes `result(plan, parents, saved, value)`."""

    def __init__(self, objects: GraphObjects):
        super().__init__(objects, 4)
        plan, parents, saved, value = map(self.argument, range(4))
        self.demand(self.is_plan(plan))
        self.demand(self.is_a(parents, native.TUPLE))
        self.demand(self.is_a(saved, native.TUPLE))
        self.demand(self.build.not_(self.is_long(value)))
        with self.each(self.length(saved)) as i:
            self.demand(self.build.not_(self.is_long(self.item(saved, i))))
        self.record(*map(self.held, (plan, parents, saved, value)))


class MakeLeaf(Recorder):
    """Writes `make_leaf(value, name, level)`."""

    def __init__(self, objects: GraphObjects):
        super().__init__(objects, 3)
        value, name, level = map(self.argument, range(3))
        self.demand(self.equal(level, word(id(0))))
        self.demand(self.is_a(value, native.ARRAY))
        aval = self.known_aval(value)
        self.demand(self.is_set(aval))
        self.held(aval)
        time, slot = (
            self.called(self.constant(self.objects.tick)),
            slots(objects.leaf, "alive", "changed", "label"),
        )
        parts = {self.node["value"]: self.held(value), self.node["time"]: self.held(time)}
        parts |= {
            self.node["children"]: self.new_list(objects.first_limit),
            self.node["grad"]: self.held(NOTHING),
        }
        parts |= {slot["changed"]: time, slot["label"]: self.held(name)}
        # Not by `constant`: the code would hold one more reference.
        parts |= {slot["alive"]: self.held(word(id(gate.alive)))}
        node, array = self.new_pair(objects.leaf, parts, aval)
        self.exempt(ALWAYS, node)
        self.build.ret(self.handed(array))


class Bind1(Recorder):
    """Writes `bind1(primitive, x, **params)`."""

    def __init__(self, objects: GraphObjects):
        super().__init__(objects, 2, keywords=True)
        demand_default_state(self, objects.error_state, objects.default_state)
        primitive, x = self.argument(0), self.argument(1)
        self.demand(self.is_array(x))
        node, aval, value = parts = self.array_parts(x)
        self.owned += parts
        plan = self.plan_of(primitive, self.key(aval))
        parents, saved = self.packed([node]), self.packed([value])
        found = self.settled(node, self.forward(plan, saved, 1))
        self.record(plan, parents, saved, found)

    def key(self, aval: Any) -> Any:
        """The key of a plan: the aval, the names of the parameters, and their values."""
        none = self.equal(self.keywords, word(0))
        count = self.either(none, lambda: word(0), lambda: self.length(self.keywords))
        size = self.build.add(word(1), self.build.mul(word(2), count))
        key = self.made(self.python("PyTuple_New", WORD, size))
        self.store(self.handed(aval), self.place(key))
        names = self.build.add(self.place(key), word(8))
        values = self.build.add(names, self.build.mul(word(8), count))
        with self.each(count) as i:
            step = self.build.mul(word(8), i)
            name = self.item(self.keywords, i)
            param = self.load(self.build.add(self.args, step), 16)
            self.held_all(name, param)
            self.store(name, self.build.add(names, step))
            self.store(param, self.build.add(values, step))
        return key

    def settled(self, node: Any, value: Any) -> Any:
        """The value, or a copy of it where it is a view of a leaf's data, which may change in
        place."""
        leaf = self.is_leaf(node)

        def copy() -> Any:
            copied = self.handed(self.called(self.constant(np.array), value))
            self.count(value, -1)
            return copied

        def of_leaf() -> Any:
            return self.either(self.is_view(value), copy, lambda: value)

        array = self.build.and_(leaf, self.is_a(value, native.ARRAY))
        found = self.either(array, of_leaf, lambda: value)
        self.handed(value)
        self.owned.append(found)
        return found


class Bind2(Recorder):
    """Writes `bind2(primitive, x, y)`."""

    def __init__(self, objects: GraphObjects):
        super().__init__(objects, 3)
        demand_default_state(self, objects.error_state, objects.default_state)
        primitive, x, y = map(self.argument, range(3))
        x_node, x_kind, x_value = self.parts(x, primitive)
        y_node, y_kind, y_value = self.parts(y, primitive)
        one = self.equal(x_node, y_node)
        key = self.made(self.python("PyTuple_New", WORD, self.build.select(one, word(1), word(2))))
        self.store(self.handed(x_kind), self.place(key))

        def pair() -> tuple[()]:
            self.count(y_kind, 1)
            self.store(y_kind, self.place(key), 8)
            return ()

        self.chosen((one, lambda: ()), (ALWAYS, pair))
        self.let_go(y_kind)
        plan = self.plan_of(primitive, key)
        parents, saved = self.packed([x_node, y_node]), self.packed([x_value, y_value])
        self.record(plan, parents, saved, self.forward(plan, saved, 2))
