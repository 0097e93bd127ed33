"""Values of long arrays that nothing will read are released, and computed again if asked for.

A node keeps its value for its array and its pullback, and the values of its arguments for its
pullback. If the pullback does not read one of these, the memory of long arrays is better used for
others: the values of arguments are kept by their own nodes, and a node releases its value when its
array is gone. If the array is asked for later, as by `z.parents`, the op runs again.
"""

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np

from ..core.primitive import Aval
from ..eager import emission
from ..eager.elementwise import ElementwisePlan
from ..eager.sums import SumPlan
from ..errors import GraphError
from ..runtime.kinds import is_a
from .graph import Leaf, Node

LONG = 1 << 20
"""The number of bytes from which an array is long. An op on it takes much longer than the
definition of `bind2` in Python."""


class Released:
    """In place of a value: its shape and dtype."""

    __slots__ = ("dtype", "shape")

    def __init__(self, value: np.ndarray):
        self.shape, self.dtype = value.shape, value.dtype


class _Array(ref):
    """The reference of a node to its array. When the array is gone, the value is released."""

    __slots__ = ("node",)
    node: Any


def is_long(x: Any) -> bool:
    return type(x) is np.ndarray and x.nbytes >= LONG


def read_by_pullback(plan: Any, parents: Sequence, saved: Sequence) -> tuple:
    """The values of the arguments as the node saves them: an aval for a long one that its pullback
    does not read, if it is the value of a parent."""
    if type(plan) is ElementwisePlan and not plan.primitive.kernels:
        read = plan.residuals(plan.need)
    elif isinstance(plan, SumPlan):
        read = ()
    else:
        return tuple(saved)
    return tuple(
        x if parent is None or i in read or not is_long(x) else Aval.of(x.shape, x.dtype)
        for i, (parent, x) in enumerate(zip(parents, saved, strict=True))
    )


def release_after(node: Node, array: Any) -> None:
    """Release the value of a node when `array`, its array, is gone, unless its pullback reads the
    value."""
    plan = node.plan
    if type(plan) is ElementwisePlan and node.parents and not reads_result(plan):
        node.array = held = _Array(array, _release)
        held.node = ref(node)


def kept(node: Node) -> Any:
    """The value of a node that gets a second array: it is not released with the first one."""
    if type(node.array) is _Array:
        node.array = ref(node.array())
    return node.value


def reads_result(plan: Any) -> bool:
    """Whether the pullback of an elementwise op may read its result."""
    primitive = plan.primitive
    traced = emission.pullback_of(primitive, plan.params, plan.need, plan.same)
    return bool(primitive.kernels) or "out" in traced.reads


def _release(held: _Array) -> None:
    node = held.node()
    if node is not None and node.array is held and type(node.value) is np.ndarray:
        node.value = Released(node.value)


def restore(node: Node) -> None:
    """Compute the released value of a node again, and those that it is computed from for the time
    being. Raises GraphError if that is not possible."""
    waiting, computed = [node], []
    while waiting:
        top = waiting[-1]
        if type(top.value) is not Released:
            waiting.pop()
            continue
        missing = [p for p in top.parents if p is not None and type(p.value) is Released]
        if missing:
            waiting += missing
            continue
        top.value = top.plan.forward(*_arguments(top))
        computed.append(top)
    for other in computed:
        if other is not node:
            other.value = Released(other.value)


def _arguments(node: Node) -> list[Any]:
    """The values of the arguments of an op."""
    values = []
    for parent, saved in zip(node.parents, node.saved or (), strict=True):
        changed = isinstance(parent, Leaf) and parent.changed > node.time
        value = parent.value if parent is not None and type(saved) is Aval else saved
        if changed or not is_a(value, (np.ndarray, np.generic, float, int)):
            raise _gone(node)
        values.append(value)
    if not values:
        raise _gone(node)
    return values


def _gone(node: Node) -> GraphError:
    return GraphError(
        f"the values that {node.name} gave were released when their array was gone, and cannot be "
        "computed again, as the graph was freed or data has changed since: keep the array, as in "
        "y = f(x), while its values are needed"
    )
