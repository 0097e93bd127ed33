"""Tracked arrays above the base level, which are tracked inside of another transformation."""

from collections.abc import Sequence
from typing import Any

from ..core import modes
from ..core.array import Array
from ..core.modes import active
from ..core.primitive import Primitive, bind
from ..core.symbols import lifted
from ..eager import plans as eager
from . import operands
from .base import operand_parts
from .constant_op import constant_op
from .graph import NestedNode
from .tracked import TrackedArray, recorded


class NestedTracked(TrackedArray):
    """A tracked array above the base level; `data` is a value of a lower level."""

    __slots__ = ()
    bind1 = bind2 = staticmethod(bind)  # pyright: ignore[reportAssignmentType]

    @classmethod
    def process(cls, level: int, primitive: Primitive, args: Sequence, params: dict):
        """Apply a primitive to the values below this level, through `bind`."""
        parents, values, kinds = operand_parts(level, primitive, lifted(args))
        out = bind(primitive, *values, **params)
        if not primitive.differentiable:
            return out
        return nested_result(primitive, kinds, parents, values, params, out, level)

    def constant(self, value: Any) -> "NestedTracked":
        op, params = constant_op(value)
        value = operands.in_kind(self.below, value)
        return nested_result(op, (), (), (), params, value, self.level)

    def _write(self, path, value, what):
        """Take the value of a new array, which ops compute from this one and `value`."""
        self._require_computed(what)
        Array._write(self, path, value, what)

    @property
    def level(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.node.level


def nested_result(primitive, kinds, parents, values, params, out, level: int) -> "NestedTracked":
    """The array of a new node above the base level."""
    if active and modes.untracked(level):
        parents = values = ()
    node = NestedNode()
    node.plan, node.level = eager.FunctionPlan(primitive, kinds, params), level
    return recorded(node, NestedTracked(), parents, values, out)


TrackedArray.nested = NestedTracked
