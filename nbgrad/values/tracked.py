"""TrackedArray: an array that remembers how it was computed.

`type(x) is TrackedArray` means the base level with plain data; `bind1` and `bind2` are short ways
through that case. What is tracked inside another transformation is a `NestedTracked`, whose data
may itself be tracked, dual or symbolic.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from ..core import modes
from ..core.array import Array
from ..core.modes import active
from ..core.primitive import Aval, Primitive, bind
from ..core.symbols import lifted
from ..eager import plans as eager
from ..eager.plans import ElementwisePlan
from ..errors import DimensionMismatch, GraphError
from ..rules.families import FLOATS, ufunc_rows
from ..rules.index import slice_plan
from . import graph, operands
from .children import Children
from .graph import Leaf, NestedLeaf, NestedNode, Node, add_child, tick
from .operands import aval_of, plain_operand

_SEEDS = {dtype: np.ones((), dtype) for dtype in FLOATS}


def _augmented(sign: str, plain: Callable) -> Callable:
    """The method of an augmented assignment: refused on a leaf, else the plain operator."""

    def method(self, other):
        if self.node.step is None:
            name = self.name or "w"
            raise GraphError(
                f"{name} {sign} ... would make the leaf {name} a computed array and stop its "
                f"training: write {name}.data {sign} ..., or y = {name} {sign[:-1]} ... for a new "
                "array"
            )
        return plain(self, other)

    return method


class TrackedArray(Array):
    """An array and its place in the graph. Made by `nbgrad.track` and by every op on one.

    Shape and dtype (float64 or float32) are fixed. NumPy functions and operators on it give
    TrackedArrays; comparisons give plain bool arrays.
    """

    __slots__ = ("__weakref__", "aval", "node")
    __array_priority__ = 1000.0
    aval: Aval
    node: Node

    # -- ops ----------------------------------------------------------------------------------

    @classmethod
    def process(cls, level: int, primitive: Primitive, args: Sequence, params: dict):
        if level == 0:
            return record(primitive, args, params)
        return record_nested(level, primitive, args, params)

    @staticmethod
    def bind1(row: Primitive, x, **params):
        """`bind(row, x, **params)`, short for an array of the base level."""
        if type(x) is not TrackedArray:
            return bind(row, x, **params)
        aval, node = x.aval, x.node
        plan = row.plans.get((aval, *params.items()) if params else (aval,))
        if plan is None:
            if not row.differentiable:
                return row.evaluate(node.value, **params)
            plan = eager.plan_for(row, (aval,), params)
        value = node.value
        out = plan.forward(value)
        if node.step is None and out.base is not None:
            # A leaf's data may change in place: nothing computed from it may be a view of it.
            out = np.array(out)
        return result(plan, (node,), (value,), out)

    @staticmethod
    def bind2(row: Primitive, x, y):
        """`bind(row, x, y)`, short for arrays of the base level, plain arrays and numbers."""
        if type(x) is TrackedArray:
            x_node, x_kind = x.node, x.aval
            x_value = x_node.value
        elif type(x) is int:
            x_node, x_kind, x_value = None, float, float(x)
        elif type(x) is float or type(x) is np.ndarray:
            x_node, x_kind, x_value = None, *plain_operand(x, row)
        else:
            return bind(row, x, y)
        if type(y) is TrackedArray:
            y_node, y_kind = y.node, y.aval
            y_value = y_node.value
        elif type(y) is int:
            y_node, y_kind, y_value = None, float, float(y)
        elif type(y) is float or type(y) is np.ndarray:
            y_node, y_kind, y_value = None, *plain_operand(y, row)
        else:
            return bind(row, x, y)
        plan = row.plans.get((x_kind,) if x_node is y_node else (x_kind, y_kind))
        if plan is None:
            return bind(row, x, y)
        out = plan.forward(x_value, y_value)
        return result(plan, (x_node, y_node), (x_value, y_value), out)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method == "__call__" and not options:
            row = ufunc_rows.get(ufunc)
            if row is not None:
                return (self.bind1 if len(inputs) == 1 else self.bind2)(row, *inputs)
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    @property
    def below(self) -> Any:
        return self.node.value

    # -- what it holds ------------------------------------------------------------------------

    @property
    def data(self) -> Any:
        """The values. Of a leaf: its own array, as in `w.data -= lr * w.grad`; of a computed
        array: a view that cannot be written to. Setting it is one step for other threads; an
        augmented assignment is a read and a write, which needs a lock where threads share it.
        Ctrl-C may come between the write and its note: then only `detect_changes` tells graphs
        from before that they are stale, so begin with a new forward pass."""
        value = self.node.value
        if self.node.step is None or not isinstance(value, np.ndarray):
            return value
        view = value.view()
        view.setflags(write=False)
        return view

    @data.setter
    def data(self, value):
        leaf = self.node
        if not isinstance(leaf, Leaf):
            raise GraphError(
                f"the data of a computed array ({leaf.name}) cannot be set: compute a new array"
            )
        if value is not leaf.value:
            value = operands.real_array(value, f"{leaf.name or 'x'}.data: an array")
            if value.shape != self.shape:
                raise DimensionMismatch(
                    f"data of shape {value.shape} for a tracked array of shape {self.shape}, "
                    "which is fixed; track a new array"
                )
            leaf.value = np.array(value, self.dtype, order="C")
        leaf.changed = graph.tick()

    @property
    def grad(self) -> Any:
        """The gradient: a plain array of the array's shape and dtype, a NumPy scalar where it has
        no axes, None where nothing arrived. Setting it seeds `accum`."""
        grad = self.node.grad
        return grad[()] if isinstance(grad, np.ndarray) and grad.ndim == 0 else grad

    @grad.setter
    def grad(self, value):
        node = self.node
        if value is not None:
            # Nothing is pulled from a leaf, so its gradient may be tracked.
            level = self.level + (node.step is None)
            value = operands.cotangent(value, self.aval, self.name, level)
        graph.seed(node, value)

    @property
    def name(self) -> str:
        """The name given to `track`, or the op that made the array."""
        return self.node.name

    @property
    def children(self) -> "Children":
        """What was computed from this array and still lives, with the pullback to here."""
        return Children(self.node)

    @property
    def parents(self) -> tuple["TrackedArray", ...]:
        """The tracked arrays that this one was computed from, in the order of the arguments."""
        return tuple(graph.handle(node) for node in self.node.parents if node is not None)

    def backward(
        self,
        cotangent=None,
        *,
        keep_grads: bool = False,
        keep_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Add the gradient of this array to the `.grad` of every leaf that it depends on.

        Arguments:
            cotangent: what to pull back, of this array's shape; may be left out for one element.
            keep_grads: also set `.grad` of every array between.
            keep_graph: leave the graph as it is, for another backward pass.
            create_graph: make gradients tracked, to be differentiated again; keeps the graph.

        Raises DimensionMismatch for a cotangent of another shape or a missing one, GraphError
        where the graph was freed or data that it needs has changed. All gradients are added in one
        step, or none: threads may share leaves. Those that walk one graph keep it, or get a
        GraphError where another one has freed a part.

        >>> x = nbgrad.track(3.0)
        >>> (x * x).backward()
        >>> float(x.grad)
        6.0
        """
        node = self.node
        if node.step is not None and node.parents == () and node.saved == ():
            raise GraphError(
                f"backward of {node.name}, which was computed from no tracked array: there is no "
                "graph to walk; inside of no_tracking() none is made"
            )
        if cotangent is None:
            if self.aval.size != 1:
                raise DimensionMismatch(
                    f"backward of an array of shape {self.shape} needs a cotangent of that shape, "
                    "such as z.backward(np.ones(z.shape)); only one element needs none"
                )
            aval = self.aval
            seed = np.ones(aval.shape, aval.dtype) if aval.shape else _SEEDS[aval.dtype]
        else:
            level = self.level + create_graph
            seed = operands.cotangent(cotangent, self.aval, self.name, level, copy=create_graph)
        free = not (keep_graph or create_graph)
        found = graph.sweep(
            {node: seed}, graph.history(node), tracked=create_graph, keep=keep_grads, free=free
        )
        if create_graph:
            for reached, ct in found.items():
                if not isinstance(ct, Array):
                    found[reached] = make_leaf(np.array(ct), "", self.level)
        graph.hand_out(found, seed)

    def __getitem__(self, index):
        if type(self) is TrackedArray and (type(index) is slice or type(index) is int):
            value = self.node.value
            out = np.array(value[index])
            return result(slice_plan(self.aval, index), (self.node,), (value,), out)
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        """`y[i] = v` on a computed array: y becomes `y.at[i].set(v)`, and what was computed from y
        before keeps the old values. Raises GraphError for a leaf."""
        old = self.node
        if old.step is None:
            name = self.name or "x"
            raise GraphError(
                f"{name}[...] = ... would overwrite the leaf {name}: write y = {name}.at[i].set(v) "
                f"for a new array, or {name}.data[...] = ... between backward passes"
            )
        new = self._replaced(index, value)
        self.node = new.node
        old.array = _nobody
        self.node.array = ref(self)

    # -- values -------------------------------------------------------------------------------

    def item(self, *index) -> float:
        """One element as a Python float; it takes no derivative along."""
        return _plain(self).item(*index)

    def tolist(self):
        """The values as nested lists of Python floats."""
        return _plain(self).tolist()

    def __bool__(self) -> bool:
        return bool(_plain(self))

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"{_text(_plain(self))} (tracked{name})"

    def __format__(self, spec: str) -> str:
        if spec and self.size != 1:
            raise TypeError(
                f"the format {spec!r} is for one number, not an array of shape {self.shape}: "
                "use np.array2string(x.data, ...)"
            )
        return format(_plain(self).item(), spec) if spec else str(self)

    # -- what a leaf refuses ------------------------------------------------------------------

    __iadd__ = _augmented("+=", operator.add)
    __isub__ = _augmented("-=", operator.sub)
    __imul__ = _augmented("*=", operator.mul)
    __itruediv__ = _augmented("/=", operator.truediv)
    __ifloordiv__ = _augmented("//=", operator.floordiv)
    __imod__ = _augmented("%=", operator.mod)
    __imatmul__ = _augmented("@=", operator.matmul)
    __ipow__ = _augmented("**=", operator.pow)

    def __reduce__(self):
        """A pickle keeps the value, and the name of a leaf: it is read as a leaf of the base level.
        The gradient, the graph and the level stay behind, as other processes know nothing of them.
        """
        return make_leaf, (np.array(_plain(self)), _label(self), 0)


class NestedTracked(TrackedArray):
    """A tracked array above the base level; `data` is a value of a lower level."""

    __slots__ = ()
    bind1 = bind2 = staticmethod(bind)  # pyright: ignore[reportAssignmentType]

    @property
    def level(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.node.level


# -- recording ------------------------------------------------------------------------------------


def record(row: Primitive, args: Sequence, params: dict):
    """Apply a row at the base level, and note it in the graph."""
    if len(args) == 1:
        return TrackedArray.bind1(row, *args, **params)
    parents, values, kinds = _taken_apart(0, row, args)
    if len(kinds) == 2 and parents[0] is parents[1] and row.plan_class is ElementwisePlan:
        kinds = kinds[:1]
    if not row.differentiable:
        return bind(row, *values, **params)
    plan = eager.plan_for(row, kinds, params)
    out = plan.forward(*values)
    if out.base is not None and any(node is not None and node.step is None for node in parents):
        out = np.array(out)
    return result(plan, parents, values, out)


def record_nested(level: int, row: Primitive, args: Sequence, params: dict):
    """Apply a row above the base level: to the values below it, through `bind`."""
    parents, values, kinds = _taken_apart(level, row, lifted(args))
    out = bind(row, *values, **params)
    if not row.differentiable:
        return out
    return nested_result(row, kinds, parents, values, params, out, level)


def nested_result(row, kinds, parents, values, params, out, level: int) -> "NestedTracked":
    """The array of a new node above the base level."""
    if active and modes.untracked(level):
        parents = values = ()
    node, array = NestedNode(), NestedTracked()
    array.node, array.aval = node, aval_of(out)
    node.step, node.parents, node.saved, node.value = (
        eager.Call(row, kinds, params), parents, values, out,
    )  # fmt: skip
    node.children = node.grad = None
    node.time, node.level = tick(), level
    node.array = ref(array)
    for parent in parents:
        if parent is not None:
            add_child(parent, ref(node))
    return array


def _taken_apart(level: int, row: Primitive, args: Sequence) -> tuple[tuple, tuple, tuple]:
    """Node (or None), value and kind of each argument."""
    parents, values, kinds = [], [], []
    for arg in args:
        if isinstance(arg, TrackedArray) and arg.level == level:
            parents.append(arg.node)
            values.append(arg.node.value)
            kinds.append(arg.aval)
        else:
            kind, value = plain_operand(arg, row)
            parents.append(None)
            values.append(value)
            kinds.append(kind)
    return tuple(parents), tuple(values), tuple(kinds)


def result(plan, parents: tuple, saved: tuple, value) -> TrackedArray:
    """The array of a new node of the base level, noted under its parents."""
    node = Node()
    node.step = plan
    if active:
        if modes.watching():
            modes.watch_forward(node, saved, value)
        if modes.guarding():
            modes.note_saved(node, saved)
        if modes.untracked():
            parents = saved = ()
    node.parents = parents
    node.saved = saved
    node.value = value
    node.children = node.grad = None
    node.time = tick()
    array = TrackedArray()
    array.node = node
    array.aval = plan.aval or aval_of(value)
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
    return array


def _nobody() -> None:
    """What stands for the array of a node that lost it: `handle` then makes a new one."""
    return None


def _handle(node: Node) -> TrackedArray:
    array = TrackedArray() if node.level == 0 else NestedTracked()
    array.aval = aval_of(node.value)
    array.node = node
    node.array = ref(array)
    return array


graph.make_handle = _handle


def make_leaf(value, name: str, level: int) -> TrackedArray:
    """A leaf at `level`; `value` may be an array of a lower level."""
    if level == 0:
        node, array = Leaf(), TrackedArray()
    else:
        node, array = NestedLeaf(), NestedTracked()
        node.level = level
    node.value, node.label = value, name
    # A list from the start: threads may share a leaf, and appending to a list is safe.
    node.children, node.grad = [64], None
    node.time = node.changed = tick()
    node.array = ref(array)
    array.aval = aval_of(value)
    array.node = node
    return array


def below(x: Any, level: int) -> Any:
    """The value of x without the graphs of what was tracked at `level` or above."""
    while isinstance(x, TrackedArray) and x.level >= level:
        x = x.node.value
    return x


def _label(x: TrackedArray) -> str:
    return x.node.label if isinstance(x.node, Leaf) else ""


def _plain(x: TrackedArray) -> np.ndarray:
    """The plain values under all levels."""
    value = x.node.value
    while isinstance(value, Array):
        value = value.below
    return value


def _text(value: np.ndarray) -> str:
    return repr(value.item()) if value.ndim == 0 else str(value)
