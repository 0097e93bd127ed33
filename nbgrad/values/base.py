"""Properties of tracked arrays: values, gradient, parents and children, text."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..core.array import Array
from ..core.levels import innermost
from ..core.primitive import Aval, Primitive
from ..errors import ArgumentTypeError, DimensionMismatch, GraphError
from ..runtime.kinds import is_a
from . import gradients, graph, operands
from .children import Children
from .graph import Leaf, Node
from .writing import Overwritten


class GraphArray(Array):
    """An array and its place in the graph; `TrackedArray` adds the ops on it."""

    __slots__ = ("aval", "kept", "node")
    __array_priority__ = 1000.0
    aval: Aval
    node: Node
    kept: Any  # in a snapshot: the value; this reference makes a later write copy it

    @property
    def below(self) -> Any:
        return self.node.value

    # -- data and gradient --------------------------------------------------------------------

    @property
    def data(self) -> Any:
        """The values. Of a leaf: its own array, as in `w.data -= lr * w.grad`; of a computed
        array: a view that cannot be written to. Setting it is one step for other threads; an
        augmented assignment is a read and a write, which needs a lock where threads share it.
        Ctrl-C may come between the write and its note: then only `detect_changes` tells graphs
        from before that they are stale, so begin with a new forward pass."""
        value = self.node.value
        if self.node.plan is None or not is_a(value, np.ndarray):
            return present(value)
        view = value.view()
        view.setflags(write=False)
        return view

    @data.setter
    def data(self, value):
        leaf = self.node
        if not isinstance(leaf, Leaf):
            raise GraphError(
                f"the data of a computed array ({leaf.name}) cannot be set: compute a new array",
                code="NB-WRITE",
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
        no axes, None if there is none. Setting it seeds `accum`."""
        grad = self.node.grad
        return grad[()] if is_a(grad, np.ndarray) and grad.ndim == 0 else grad

    @grad.setter
    def grad(self, value):
        node = self.node
        if value is not None:
            # Nothing is pulled from a leaf, so its gradient may be tracked.
            level = self.level + (node.plan is None)
            value = operands.cotangent(value, self.aval, self.name, level)
        gradients.seed(node, value)

    @property
    def name(self) -> str:
        """The name given to `track`, or the op that made the array."""
        return self.node.name

    @property
    def children(self) -> "Children":
        """The live arrays computed from this one, each with its pullback to this array."""
        return Children(self.node)

    @property
    def parents(self) -> tuple[Self, ...]:
        """The tracked arrays that this one was computed from, in the order of the arguments."""
        return tuple(graph.handle(node) for node in self.node.parents if node is not None)

    # -- values -------------------------------------------------------------------------------

    def item(self, *index) -> float:
        """One element as a Python float. Raises UntrackedError inside of a transformation, as the
        derivative would be lost."""
        if self._is_inside():
            raise self._detached("item()")
        return plain_value(self).item(*index)

    def tolist(self):
        """The values as nested lists of Python floats. Raises UntrackedError likewise."""
        if self._is_inside():
            raise self._detached("tolist()")
        return plain_value(self).tolist()

    def _is_inside(self) -> bool:
        """Whether the values belong to a derivative that is being computed."""
        if innermost() is not None:
            return True
        return bool(self.level) and graph.depends_on_argument(self.node)  # in another thread

    def __bool__(self) -> bool:
        return bool(present(self.node.value))  # raises for batched values

    def __repr__(self) -> str:
        title = titled(self.node)
        gone = type(self.node.value) is Overwritten
        text = "overwritten" if gone else _text(_shown(self))
        return f"{text} (tracked{title and f' {title}'})"

    def _repr_html_(self) -> str:
        """Values, gradient and origin, for notebooks."""
        from ..runtime import markup

        node = self.node
        title = titled(node)
        made = f"leaf {title}".rstrip() if node.plan is None else f"made by {title}"
        kind = [("", f"{self.dtype} {self.shape}"), ("", made)]
        parents = [titled(x.node) or "a leaf" for x in self.parents] if node.plan else []
        kind += [("from", ", ".join(parents))] if parents else []
        gone = type(node.value) is Overwritten
        values = "overwritten" if gone else str(_shown(self))
        grad = "none" if node.grad is None else str(node.grad)
        return markup.framed(
            markup.facts(kind) + markup.table(("value", "gradient"), (values, grad))
        )

    def __format__(self, spec: str) -> str:
        if spec and self.size != 1:
            raise ArgumentTypeError(
                f"the format {spec!r} is for one number, not an array of shape {self.shape}: "
                "use np.array2string(x.data, ...)"
            )
        return super().__format__(spec)

    @property
    def _is_argument(self) -> bool:
        return self.node.plan is None and self.node.name is graph.ARGUMENT

    def _require_computed(self, what: str) -> None:
        """Raise GraphError for a leaf, as its data belongs to the user."""
        if self.node.plan is not None:
            return
        if self.name:
            raise GraphError(
                f"{what.format(self.name)} would write to the leaf {self.name}: write "
                f"{what.format(self.name + '.data')} between backward passes, or "
                f"y = {self.name}.copy() and write to that",
                code="NB-WRITE",
            )
        raise GraphError(
            f"{what.format('x')} would write to a leaf, or to an argument of a transformation, "
            f"which is the caller's: write x = x.copy() before, or {what.format('x.data')} to a "
            "leaf between backward passes",
            code="NB-WRITE",
        )


def operand_parts(level: int, primitive: Primitive, args: Sequence) -> tuple[tuple, tuple, tuple]:
    """Node (or None), value and kind of each argument."""
    parents, values, kinds = [], [], []
    for arg in args:
        if isinstance(arg, GraphArray) and arg.level == level:
            node = arg.node
            parents.append(node)
            values.append(node.value)
            kinds.append(arg.aval)
        else:
            kind, value = operands.plain_operand(arg, primitive)
            parents.append(None)
            values.append(value)
            kinds.append(kind)
    return tuple(parents), tuple(values), tuple(kinds)


def titled(node: Node) -> str:
    """The title of a node in messages: its operator, or the name of its op or leaf."""
    row = None if isinstance(node, Leaf) else Primitive.registry.get(node.name)
    sign = row.operator if row else ""
    return node.name if not sign or sign.isalpha() else sign


def plain_value(x: GraphArray) -> np.ndarray:
    """The plain values below all levels."""
    value = x.node.value
    while isinstance(value, Array):
        value = value.below
    return present(value)


def _shown(x: GraphArray) -> Any:
    """The plain values below all levels, or the symbol there."""
    value: Any = x
    while isinstance(value, Array) and not hasattr(value, "builder"):
        value = value.below
    return value


def present(value: Any) -> Any:
    """The value of a node. Raises GraphError if it was overwritten."""
    if type(value) is Overwritten:
        raise value.error()
    return value


def _text(value: Any) -> str:
    if not is_a(value, (np.ndarray, np.generic)):
        return repr(value)
    return repr(value.item()) if value.ndim == 0 else str(value)
