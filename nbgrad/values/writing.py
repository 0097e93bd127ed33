"""Writes to the values of computed arrays at the base level.

A write is a node of the graph, `assign`, whose value is the memory of the node before it, changed
in place, so its cost is that of the elements written. The memory is copied first if anything else
refers to it, such as an op that saved it for its pullback.
"""

import sys
from typing import Any

import numpy as np

from ..core import modes
from ..core.array import Array
from ..core.memory import inner_values
from ..core.primitive import Aval
from ..core.steps import Path
from ..eager import plans as eager
from ..errors import ChangedError, DimensionMismatch, UntrackedError
from ..rules.assign import assign, last_writes
from ..rules.families import Elementwise, Linear
from ..rules.index import held, is_basic, without_lists
from .graph import Node
from .operands import real_array
from .released import reads_result


class Overwritten:
    """In place of the value of a node whose memory was overwritten."""

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, value: np.ndarray, name: str):
        self.shape, self.dtype, self.name = value.shape, value.dtype, name

    def error(self) -> ChangedError:
        return ChangedError(
            f"the values that {self.name} gave were overwritten by a later y[...] = v or y += v: "
            "take y.copy() before the write to keep them"
        )


class WritePlan(eager.FunctionPlan):
    """The plan of a write. Its pullback clears the overwritten elements of the cotangent in
    place."""

    __slots__ = ()
    writes = True

    def take_out(self, ct: np.ndarray) -> Any:
        """Return the cotangent of the written value, and set these elements of `ct` to zero. `ct`
        is contiguous and not aliased."""
        place = self.params["index"]
        part, index = (place.view(ct), place.index) if type(place) is Path else (ct, place)
        _, is_wanted = self.need
        taken = np.array(part[index]) if is_wanted else None
        part[index] = 0.0
        if taken is None:
            return None
        last = last_writes(index, part.shape)
        return eager.fit(taken if last is None else np.where(last, taken, 0.0), self.kinds[1])


def in_place(
    x: Any, path: Path, operand: tuple[Node | None, Any, Any], what: str
) -> tuple[Any, tuple, tuple, np.ndarray]:
    """Write an operand to the values of x, whose views are all stale. Returns the plan, parents,
    saved values and value of the new node.

    Raises IndexError as NumPy does, and DimensionMismatch for a value of another shape.
    """
    node, aval = x.node, x.aval
    source, kind, value = operand
    index, value = placed(path, node.value, value, what)
    memory = node.value if _is_free(node) else np.array(node.value, order="C")
    part = path.view(memory)
    part[index] = value
    place = Path(path.steps, index) if path.steps else index
    kinds = aval, kind
    plan = WritePlan(assign, kinds, {"index": place})
    plan.aval = aval
    return plan, (node, source), (aval, kind if type(kind) is Aval else kind.aval), memory


def change(owner: Any, slot: str, path: Path, index: Any, value: Any) -> None:
    """Write to the plain array in a slot; copy it first if anything else refers to it."""
    array = getattr(owner, slot)
    if array.base is not None or not array.flags.carray or _holders(array) > _ALONE:
        array = np.array(array, order="C")
        setattr(owner, slot, array)
    part = path.view(array)
    part[index] = value


def pass_on(old: Node, new: Node) -> None:
    """Drop the value of a node whose memory was overwritten."""
    if old.value is new.value:
        old.value = Overwritten(new.value, old.name)


def release(node: Node) -> None:
    """Drop the value of a view without other references, so that its memory is not shared."""
    value = node.value
    if type(value) is np.ndarray and value.base is not None and _holders(value) == _ALONE:
        node.value = Overwritten(value, node.name)


def operand_of(value: Any, x: Any, what: str) -> tuple[Node | None, Any, Any]:
    """Node (or None), kind and value of an operand that is written to x."""
    what = what.format("y")
    if isinstance(value, Array):
        if value.level or not hasattr(value, "node"):
            raise inner_values(x, what)
        if value.dtype != x.dtype:
            value = value.astype(x.dtype)
        node = value.node
        constant = modes.active and modes.untracked()
        return (None, value.aval.constant, node.value) if constant else (
            node, value.aval, node.value
        )  # fmt: skip
    if type(value) is float or type(value) is int:
        return None, _NUMBER.constant, value
    array = real_array(value, f"{what}: a value")
    return None, Aval.of(array.shape, array.dtype).constant, array


_NUMBER = Aval.of((), np.dtype(np.float64))


def placed(path: Path, x: np.ndarray, value: Any, what: str) -> tuple[Any, Any]:
    """A copy of the index, and the value in a shape that broadcasts to the indexed part."""
    index = held(without_lists(path.index))
    return index, _fitted(value, _room(path.view(x), index), what.format("y"))


def _room(part: np.ndarray, index: Any) -> tuple[int, ...]:
    """The shape that an index selects."""
    if any(isinstance(entry, Array) for entry in (index if type(index) is tuple else (index,))):
        raise UntrackedError(
            "an index is a tracked array, whose derivative would be lost: use i.data for the plain "
            "positions",
            code="NB-INTEGER",
        )
    if is_basic(index):
        return np.shape(part[index])
    return np.broadcast_to(np.empty(()), part.shape)[index].shape


def _fitted(value: Any, shape: tuple[int, ...], what: str) -> Any:
    """A value without leading axes of length 1, which NumPy ignores in an assignment."""
    given = np.shape(value)
    if given == () or given == shape:
        return value
    extra = len(given) - len(shape)
    if extra > 0 and given[:extra] == (1,) * extra:
        value, given = value.reshape(given[extra:]), given[extra:]
    try:
        fits = np.broadcast_shapes(given, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise DimensionMismatch(
            f"{what}: a value of shape {given} does not fill the shape {shape} that the index "
            "selects"
        )
    return value


def _is_free(node: Node) -> bool:
    """Whether the memory of a node can be overwritten: no other op has saved it, no view shares it,
    and the pullback of the node does not read its result."""
    value, plan = node.value, node.plan
    if value.base is not None or not value.flags.carray or _holders(value) > _ALONE:
        return False
    primitive = plan.primitive
    if not node.parents or isinstance(primitive, Linear):
        return True
    return isinstance(primitive, Elementwise) and not reads_result(plan)


def _holders(value: np.ndarray) -> int:
    """The reference count of an array."""
    return sys.getrefcount(value)


def _measured() -> int:
    node = Node()
    node.value = np.empty(1)
    value = node.value
    alone, held = _holders(value), [value]
    return alone if _holders(value) == alone + len(held) else 0


_ALONE = _measured()
"""The reference count of the value of a node that is also a local variable of the caller; 0 on an
interpreter with other reference counts, so that all arrays are copied."""
