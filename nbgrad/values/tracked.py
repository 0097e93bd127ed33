"""TrackedArray: an array that remembers how it was computed.

`type(x) is TrackedArray` means the base level with plain data; `bind1` and `bind2` are fast paths
for that case. Arrays tracked inside of another transformation are of the class `NestedTracked`;
their data may itself be tracked, dual or symbolic.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar
from weakref import ref

import numpy as np

from ..capi import gate, recording
from ..capi.graph_objects import GraphObjects
from ..capi.replaceable import replaceable
from ..core import errstate, memory, modes
from ..core.array import Array
from ..core.fillable import PLAIN, Fillable
from ..core.modes import active
from ..core.primitive import Aval, Primitive, bind
from ..core.steps import Index
from ..eager import plans as eager
from ..eager.elementwise import ElementwisePlan
from ..errors import ComplexError
from ..rules.families import ufunc_primitives
from ..rules.index import slice_plan
from . import backward, gradients, graph, operands, released, writing
from .base import GraphArray, operand_parts, plain_value
from .constant_op import constant_op
from .exempt import exempt
from .graph import FIRST_LIMIT, Leaf, NestedLeaf, Node, add_child, depends_on_argument, tick
from .operands import SHORT, aval_of, plain_operand


def _objects() -> GraphObjects:
    """The objects that C versions of the functions here refer to."""
    return GraphObjects(
        array=TrackedArray, node=Node, leaf=Leaf, plan=eager.Plan, often=ElementwisePlan,
        aval=Aval, fillable=Fillable, avals=Aval._known, active=active, short=SHORT,
        long=released.LONG, first_limit=FIRST_LIMIT, tick=tick, add_child=add_child,
        aval_of=aval_of, plain_operand=plain_operand, error_state=errstate.CURRENT,
        default_state=errstate.quiet.words,
    )  # fmt: skip


class TrackedArray(GraphArray):
    """An array and its place in the graph. Made by `nbgrad.track` and by every op on one.

    Shape and dtype (float64 or float32) are fixed. NumPy functions and operators on it give
    TrackedArrays; comparisons give plain bool arrays.

    >>> (nbgrad.track(2.0, "x") * 3.0).parents
    (2.0 (tracked x),)
    """

    __slots__ = ()
    value_slots = ("node",)
    # Subclasses, set where they are defined: above the base level, stale views, overwritten values.
    nested: ClassVar[type["TrackedArray"]]
    stale_view: ClassVar[type["TrackedArray"]]
    overwritten: ClassVar[type["TrackedArray"]]

    @classmethod
    def process(cls, level: int, primitive: Primitive, args: Sequence, params: dict):
        """Apply a primitive at the base level, and record it in the graph."""
        if len(args) == 1 and type(args[0]) is TrackedArray:
            return TrackedArray.bind1(primitive, *args, **params)
        parents, values, kinds = operand_parts(0, primitive, args)
        if len(kinds) == 2 and parents[0] is parents[1] and primitive.plan_class is ElementwisePlan:
            kinds = kinds[:1]
        if not primitive.differentiable:
            return bind(primitive, *values, **params)
        plan = eager.plan_for(primitive, kinds, params)
        out = plan.forward(*values)
        if out.base is not None and any(node is not None and node.plan is None for node in parents):
            out = np.array(out)
        return result(plan, parents, values, out)

    @staticmethod
    @replaceable(lambda: recording.Bind1(_objects()))
    def bind1(primitive: Primitive, x, **params):
        """`bind(primitive, x, **params)`: a fast path for an array of the base level."""
        if type(x) is not TrackedArray or (errstate.asked() and not primitive.inlines):
            return bind(primitive, x, **params)
        aval, node = x.aval, x.node
        plan = primitive.plans.get((aval, *params, *params.values()) if params else (aval,))
        if plan is None:
            if not primitive.differentiable:
                return primitive.evaluate(node.value, **params)
            plan = eager.plan_for(primitive, (aval,), params)
        value = node.value
        out = plan.forward(value)
        if node.plan is None and out.base is not None:
            # A leaf's data may change in place: no result may be a view of it.
            out = np.array(out)
        return result(plan, (node,), (aval,) if plan.adds else (value,), out)

    @staticmethod
    @replaceable(lambda: recording.Bind2(_objects()))
    def bind2(primitive: Primitive, x, y):
        """`bind(primitive, x, y)`: a fast path for arrays of the base level and plain operands."""
        if errstate.asked():
            return bind(primitive, x, y)
        if type(x) is TrackedArray:
            x_node, x_kind = x.node, x.aval
            x_value = x_node.value
        elif type(x) is int:
            x_node, x_kind, x_value = None, float, float(x)
        elif type(x) in PLAIN:
            x_node, x_kind, x_value = None, *plain_operand(x, primitive)
        else:
            return bind(primitive, x, y)
        if type(y) is TrackedArray:
            y_node, y_kind = y.node, y.aval
            y_value = y_node.value
        elif type(y) is int:
            y_node, y_kind, y_value = None, float, float(y)
        elif type(y) in PLAIN:
            y_node, y_kind, y_value = None, *plain_operand(y, primitive)
        else:
            return bind(primitive, x, y)
        plan = primitive.plans.get((x_kind,) if x_node is y_node else (x_kind, y_kind))
        if plan is None:
            if not primitive.differentiable:
                return primitive.evaluate(x_value, y_value)
            return bind(primitive, x, y)
        out = plan.forward(x_value, y_value)
        return result(plan, (x_node, y_node), (x_value, y_value), out)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method == "__call__" and not options:
            if (primitive := ufunc_primitives.get(ufunc)) is not None:
                try:
                    return (self.bind1 if len(inputs) == 1 else self.bind2)(primitive, *inputs)
                except (errstate.Asked, ComplexError):
                    pass
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def constant(self, value: Any) -> "TrackedArray":
        op, params = constant_op(value)
        value = operands.in_kind(self.below, value)
        return result(eager.FunctionPlan(op, (), params), (), (), value)

    def backward(
        self,
        cotangent=None,
        *,
        retain: "Iterable[TrackedArray] | None" = None,
        keep_grads: bool = False,
        keep_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Add the gradient of this array to the `.grad` of every leaf that it depends on.

        Arguments:
            cotangent: the cotangent of this array, of its shape; optional for one element.
            retain: intermediate arrays, such as `[h1, h2]`, whose `.grad` is set too.
            keep_grads: set `.grad` of every intermediate array.
            keep_graph: do not free the graph, so that another backward pass can use it.
            create_graph: make the gradients tracked, so that they can be differentiated again;
                keeps the graph.

        Raises DimensionMismatch for a cotangent that is missing or of another shape, and GraphError
        if the graph was freed, if data that the pass needs has changed, or if this array was not
        computed from one in `retain`.

        Gradients are added all in one step, or none of them, so threads may share leaves. Threads
        that walk the same graph must keep it, or raise GraphError where it was freed.

        >>> x = nbgrad.track(3.0)
        >>> (x * x).backward()
        >>> float(x.grad)
        6.0
        """
        node, aval = self.node, self.aval
        if cotangent is retain is None and aval.size == 1 and node.parents:
            if not (keep_grads or create_graph):
                seed = operands.ones(aval)
                found = backward.pulled(node, seed, free=not keep_graph)
                return gradients.hand_out(found, seed)
        cotangents, seed = backward.cotangents(
            self, cotangent, retain, keep_grads, keep_graph, create_graph
        )
        if create_graph:
            for leaf, ct in cotangents.items():
                if not isinstance(ct, Array):
                    cotangents[leaf] = make_leaf(np.array(ct), "", self.level)
        gradients.hand_out(cotangents, seed)

    def __getitem__(self, index):
        if type(self) is TrackedArray and (type(index) is slice or type(index) is int):
            aval, node = self.aval, self.node
            out = result(slice_plan(aval, index), (node,), (aval,), np.array(node.value[index]))
            if out.aval.shape:
                if active:
                    memory.link(self, out, Index(index))
                else:
                    out.origin = memory.Origin(self, Index(index))
                    if node.plan is not None:  # a leaf is not written to, and its views stay
                        memory.register(self, out)
            return out
        return super().__getitem__(index)

    def _become(self, new):
        """Take the node of another array."""
        node = self.node = new.node
        node.array = ref(self)

    def _leave(self):
        """Leave the node, which gets another array when one is asked for."""
        self.node.array = _no_array

    def _invalidate(self):
        """Drop the node; change the class, as fast paths rely on a TrackedArray having one."""
        node = self.node
        del self.node
        if type(self) is TrackedArray:
            self.__class__ = TrackedArray.stale_view
        node.array = _no_array
        writing.release(node)

    def _write(self, path, value, what):
        """Write to the values in place, and record that in the graph."""
        self._require_computed(what)
        operand = writing.operand_of(value, self, what)  # may be a view of this array
        memory.invalidate_views(self)
        old, new = self.node, result(*writing.in_place(self, path, operand, what))
        self._leave()
        self._become(new)
        writing.pass_on(old, self.node)

    def _snapshot(self) -> "TrackedArray":
        """An array that keeps this value when the array is written to."""
        node = self.node  # reading it refreshes a stale view
        array = type(self)()
        array.node, array.aval = node, self.aval
        array.origin = array.views = None
        array.kept = released.kept(node)
        return array

    def __reduce__(self):
        """Pickle the value and the name, without gradient and graph; unpickling gives a leaf.
        Raises UntrackedError inside of a transformation, whose result depends on the graph."""
        if self.level or depends_on_argument(self.node):
            return super().__reduce__()
        return _unpickled, (np.array(plain_value(self)), getattr(self.node, "label", ""))


# -- recording ------------------------------------------------------------------------------------


@replaceable(lambda: recording.Result(_objects()))
def result(plan, parents: tuple, saved: tuple, value) -> TrackedArray:
    """The array of a new node of the base level, which is added to the children of its parents."""
    node = Node()
    node.plan = plan
    if active:
        if modes.watching():
            modes.watch_forward(node, saved, value)
        if modes.guarding():
            modes.note_saved(node, saved)
        # A write to a tracked array stays tracked.
        if modes.untracked() and not (plan.writes and parents[0].parents):
            parents = saved = ()
    elif any(map(released.is_long, saved)):
        saved = released.read_by_pullback(plan, parents, saved)
    array = recorded(node, TrackedArray(), parents, saved, value)
    if released.is_long(value) and not active:
        released.release_after(node, array)
    return array


def recorded(node: Node, array: Any, parents: tuple, saved: tuple, value: Any) -> Any:
    """Complete a new node, which has a plan, and its array, and add the node to the children of
    its parents."""
    node.parents, node.saved, node.value = parents, saved, value
    node.children = node.grad = None
    node.time = tick()
    array.node = node
    array.aval = node.plan.aval or aval_of(value)
    array.origin = array.views = None
    node.array = ref(array)
    child = ref(node)
    for parent in parents:
        if parent is not None:
            children = parent.children
            if children is None:
                parent.children = child
            elif type(children) is list and len(children) < children[0]:
                children.append(child)
            else:
                add_child(parent, child)
    exempt(node)
    return array


def _no_array() -> None:
    """The weak reference to its array of a node that has none."""


def _handle(node: Node) -> TrackedArray:
    if type(node.value) is released.Released:
        released.restore(node)
    if type(node.value) is writing.Overwritten:
        array = TrackedArray.overwritten()
    else:
        array = TrackedArray() if node.level == 0 else TrackedArray.nested()
    array.aval = aval_of(node.value)
    array.node = node
    array.origin = array.views = None
    node.array = ref(array)
    if released.is_long(node.value) and node.level == 0 and not active:
        released.release_after(node, array)
    return array


graph.make_handle = _handle
errstate.entries.add(TrackedArray.__array_ufunc__.__code__)


@replaceable(lambda: recording.MakeLeaf(_objects()))
def make_leaf(value, name: str, level: int) -> TrackedArray:
    """A leaf at `level`; `value` may be an array of a lower level."""
    if level == 0:
        node, array = Leaf(), TrackedArray()
    else:
        node, array = NestedLeaf(), TrackedArray.nested()
        node.level = level
    node.value, node.label, node.alive = value, name, gate.alive
    # A list from the start: threads may share a leaf, and appending to a list is atomic.
    node.children, node.grad = [FIRST_LIMIT], None
    node.time = node.changed = tick()
    node.array = ref(array)
    array.aval = aval_of(value)
    array.node = node
    array.origin = array.views = None
    exempt(node)
    return array


def _unpickled(value: np.ndarray, name: str) -> TrackedArray:
    return make_leaf(value, name, 0)


def below(x: Any, level: int) -> Any:
    """The value of x below `level`: without the graphs of that level and those above."""
    while issubclass(type(x), TrackedArray) and x.level >= level:
        x = x.node.value
    return x
