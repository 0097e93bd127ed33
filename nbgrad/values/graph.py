"""The graph: nodes, and the edges from each to what was computed from it.

A `Node` is one computed value; the array that a user holds is not the graph. A node owns what it
was computed from, and knows only weakly who was computed from it, so there is no reference cycle.
`backward.py` and `gradients.py` walk it.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

from ..compiler.forks import fork_safe
from ..core.primitive import Primitive, bind, shape_of
from ..errors import GraphError
from ..rules.layout import astype
from ..rules.reduce import unbroadcast

if TYPE_CHECKING:
    from .tracked import TrackedArray

# Time: it ticks when a node is made, when data or a seed is set, and at `accum`. What was computed
# from a node is newer than that node.
tick: Callable[[], int] = count(1).__next__
_prune_lock = fork_safe(threading.Lock())


class Node:
    """One value of the graph, and how it was computed.

    `plan` is the plan of the op that made it; None in a leaf. `parents` has a node, or None, for
    each argument, and `saved` the arguments' values; both go when the graph is freed. `grad` is the
    gradient, set at `grad_time` by what `origin` says.
    """

    __slots__ = (
        "__weakref__",
        "array",
        "children",
        "grad",
        "grad_time",
        "origin",
        "parents",
        "plan",
        "saved",
        "time",
        "value",
    )  # fmt: skip
    level = 0
    value: Any
    plan: Any
    parents: tuple["Node | None", ...]
    saved: tuple[Any, ...] | None
    children: Any
    grad: Any
    grad_time: int
    origin: str
    time: int
    array: Callable[[], "TrackedArray | None"]

    @property
    def name(self) -> str:
        return self.plan.primitive.name

    def pull(self, ct, need: tuple[bool, ...]) -> Sequence:
        """Contributions of this node to its arguments where `need` says, by kernels."""
        if need == self.plan.need:
            return self.plan.pull_all(ct, self.value, self.saved)
        return self.plan.pull(ct, self.value, self.saved, need)

    def pull_by_rule(self, ct, need: tuple[bool, ...]) -> Sequence:
        """Contributions by the rule of the primitive, for cotangents of any kind."""
        return apply_rule(
            self.plan.primitive, self.plan.params, ct, self.value, self.saved or (), need
        )

    def pull_tracked(self, ct, need: tuple[bool, ...]) -> Sequence:
        """Contributions as ops of this level, which can be differentiated again."""
        args = [
            value if parent is None else handle(parent)
            for parent, value in zip(self.parents, self.saved or (), strict=True)
        ]
        return apply_rule(self.plan.primitive, self.plan.params, ct, handle(self), args, need)


class Leaf(Node):
    """A value that `track` made: `label` is its name, `changed` when its data last changed. `alive`
    is `gate.alive`."""

    __slots__ = ("alive", "changed", "label")
    plan, parents, saved = None, (), ()
    tracked: ClassVar[bool] = False  # whether the user has made any
    alive: Any
    changed: int
    label: str

    @property
    def name(self) -> str:
        return self.label


class _Argument(str):
    """Distinguishes the label of an argument from the empty name of a user's leaf."""


ARGUMENT = _Argument()
"""The label of the leaves that a transformation makes of its arguments."""


class Ended(str):
    """The label of such leaves where the function has run and its graph is kept, for a pullback."""

    op: str
    code: Any


def depends_on_argument(node: Node) -> bool:
    """Whether a node was computed from an argument of a transformation."""
    return leaf_below([node], lambda leaf: leaf.label is ARGUMENT) is not None


def leaf_below(roots: Iterable[Node], wanted: Callable[["Leaf"], bool]) -> "Leaf | None":
    """A leaf that nodes were computed from, or that is among them."""
    waiting = [*roots]
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Leaf) and wanted(node):
            return node
        new = {parent for parent in node.parents if parent is not None} - seen
        seen |= new
        waiting += new
    return None


class NestedNode(Node):
    """A node whose value is itself tracked, dual or symbolic, of a lower level."""

    __slots__ = ("level",)
    level: int

    def pull(self, ct, need):
        return self.pull_by_rule(ct, need)


class NestedLeaf(Leaf):
    """A leaf above the base level."""

    __slots__ = ("level",)
    level: int


def before(roots: Sequence[Node], time: int) -> Iterator[Node]:
    """The nodes that others depend on and that were there at a time, or are among them."""
    waiting, seen = [*roots], set(roots)
    while waiting:
        node = waiting.pop()
        if node.time <= time:
            yield node
            continue
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                waiting.append(parent)


def apply_rule(primitive: Primitive, params: dict, ct, out, args, need) -> list:
    """The primitive's rule on any kind of value, with broadcasting and promotion undone."""
    cotangents = primitive.pullback(ct, out, args, need, **params)
    fitted: list[Any] = [None] * len(args)
    for i, (g, arg) in enumerate(zip(cotangents, args, strict=True)):
        if g is not None and need[i]:
            if shape_of(g) != shape_of(arg):
                g = bind(unbroadcast, g, shape=shape_of(arg))
            fitted[i] = g if g.dtype == arg.dtype else bind(astype, g, dtype=arg.dtype.name)
    return fitted


# -- who was computed from whom -------------------------------------------------------------------


def add_child(parent: Node, child: "ref[Node]") -> None:
    """Note `child` under `parent`: one bare reference at first, then a list that is pruned.

    The list starts with its limit, which doubles with the number that is alive, so that a
    parameter used a million times costs neither memory nor quadratic time.
    """
    children = parent.children
    if children is None:
        parent.children = child
    elif type(children) is list:
        children.append(child)
        if len(children) > children[0]:
            _prune(children)
    else:
        parent.children = [64, children, child]


def _prune(children: list) -> None:
    with _prune_lock:
        known = len(children)  # other threads may append behind this
        alive = [child for child in children[1:known] if child() is not None]
        children[1:known] = alive
        children[0] = 2 * len(alive) + 64


def live_children(node: Node) -> list[Node]:
    """Nodes computed from `node` that someone still holds, in order of creation, once each."""
    children = node.children
    if children is None:
        return []
    if type(children) is not list:
        child = children()
        return [] if child is None else [child]
    alive = []
    for reference in children[1:]:
        child = reference()
        if child is not None:
            alive.append(child)
    return list(dict.fromkeys(alive)) if len(alive) > 1 else alive


def handle(node: Node) -> "TrackedArray":
    """The one TrackedArray of a node; made anew where nobody holds it any more."""
    array = node.array()
    return make_handle(node) if array is None else array


def make_handle(node: Node) -> "TrackedArray":
    raise NotImplementedError("tracked.py, which lies above the graph, replaces this")


# -- what can be wrong ----------------------------------------------------------------------------


def freed(node: Node) -> GraphError:
    return GraphError(
        f"the graph of {node.name} was freed by an earlier backward pass or a reset: call "
        "backward(keep_graph=True) the first time, or compute the value again; a state that goes "
        "on from step to step keeps numbers, as in state = state.data, not the graph of earlier "
        "steps"
    )


def check_fresh(node: Node) -> None:
    """Raise GraphError where data that the pullback of `node` reads was changed since."""
    for i in node.plan.residuals(node.plan.need):
        parent = node.parents[i]
        if isinstance(parent, Leaf) and parent.changed > node.time:
            label = f" {parent.name}" if parent.name else ""
            raise GraphError(
                f"the data of the tracked array{label} of shape {shape_of(parent.value)} was "
                f"changed after {node.name} used it, and its backward pass needs the old values: "
                "call backward before the update, or run the forward pass again"
            )
