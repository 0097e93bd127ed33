"""The graph: nodes, and the edges from each node to its children.

A `Node` is one computed value; the array that a user holds is not part of the graph. A node holds
strong references to its parents and weak ones to its children, so there are no reference cycles.
`backward.py` and `gradients.py` walk the graph.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, ClassVar
from weakref import ref

from ..compiler.forks import fork_safe
from ..core.primitive import Primitive, bind, shape_of
from ..errors import ChangedError, GraphError
from ..rules.layout import astype
from ..rules.reduce import unbroadcast

tick: Callable[[], int] = count(1).__next__
"""The next time stamp. Nodes, changes of data, seeds and calls of `accum` have one each, so a child
is newer than its parents."""

FIRST_LIMIT = 64
"""The first item of a new list of children: the length at which dead children are removed."""
_prune_lock = fork_safe(threading.Lock())


class Node:
    """One value of the graph, and how it was computed.

    `plan` is the plan of the op that computed it; None in a leaf. `parents` has a node for each
    argument, None for an untracked one, and `saved` has the values of the arguments; both are
    cleared when the graph is freed. `grad` is the gradient, set at the time `grad_time`; `origin`
    says by whom. `array` is a weak reference to the array of the node.
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
    array: Callable[[], Any]

    @property
    def name(self) -> str:
        return self.plan.primitive.name

    def pull(self, ct, need: tuple[bool, ...]) -> Sequence:
        """Cotangents of the arguments for which `need` is true, by kernels."""
        if need == self.plan.need:
            return self.plan.pull_all(ct, self.value, self.saved)
        return self.plan.pull(ct, self.value, self.saved, need)

    def pull_by_rule(self, ct, need: tuple[bool, ...]) -> Sequence:
        """The same by the rule of the primitive, for cotangents of any kind."""
        return apply_rule(
            self.plan.primitive, self.plan.params, ct, self.value, self.saved or (), need
        )

    def pull_tracked(self, ct, need: tuple[bool, ...]) -> Sequence:
        """The same as ops of this level, which can be differentiated again."""
        args = [
            value if parent is None else handle(parent)
            for parent, value in zip(self.parents, self.saved or (), strict=True)
        ]
        return apply_rule(self.plan.primitive, self.plan.params, ct, handle(self), args, need)


class Leaf(Node):
    """A value made by `track`, or an argument of a transformation. `label` is its name, `changed`
    the time at which its data last changed, and `alive` a reference to `gate.alive`."""

    __slots__ = ("alive", "changed", "label")
    plan, parents, saved = None, (), ()
    tracked: ClassVar[bool] = False  # whether `track` was ever called
    alive: Any
    changed: int
    label: str

    @property
    def name(self) -> str:
        return self.label


class _Argument(str):
    """Distinguishes the label of an argument from the empty name of a user's leaf."""


ARGUMENT = _Argument()
"""The label of leaves that a transformation makes of its arguments."""


class Ended(str):
    """The label of such leaves once the function has returned and a pullback keeps its graph."""

    op: str
    code: Any


def reachable(roots: Iterable[Node], following: Callable[[Node], Iterable]) -> Iterator[Node]:
    """`roots` and all nodes reached from them by `following`, each once; it may return None's."""
    nodes = list(dict.fromkeys(roots))
    seen: set[Node | None] = {None, *nodes}
    for node in nodes:  # which grows
        yield node
        for other in following(node):
            if other not in seen:
                seen.add(other)
                nodes.append(other)


def parents_of(node: Node) -> tuple[Node | None, ...]:
    return node.parents


def depends_on_argument(node: Node) -> bool:
    """Whether a node was computed from an argument of a transformation."""
    nodes = reachable([node], parents_of)
    return any(isinstance(node, Leaf) and node.label is ARGUMENT for node in nodes)


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
    """The nodes that are not newer than `time`, among `roots` and the nodes on the paths down from
    them; the paths end there."""
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
    """Apply the pullback rule of a primitive to values of any kind, and undo broadcasting and
    promotion."""
    cotangents = primitive.pullback(ct, out, args, need, **params)
    fitted: list[Any] = [None] * len(args)
    for i, (g, arg) in enumerate(zip(cotangents, args, strict=True)):
        if g is not None and need[i]:
            if shape_of(g) != shape_of(arg):
                g = bind(unbroadcast, g, shape=shape_of(arg))
            fitted[i] = g if g.dtype == arg.dtype else bind(astype, g, dtype=arg.dtype.name)
    return fitted


# -- children -------------------------------------------------------------------------------------


def add_child(parent: Node, child: "ref[Node]") -> None:
    """Add `child` to the children of `parent`: one bare reference at first, then a list.

    The first item of the list is its limit. Dead children are removed when the list is longer, and
    the limit becomes twice the number of live ones plus a constant: so a parameter that is used a
    million times costs neither memory nor quadratic time.
    """
    children = parent.children
    if children is None:
        parent.children = child
    elif type(children) is list:
        children.append(child)
        if len(children) > children[0]:
            _prune(children)
    else:
        parent.children = [FIRST_LIMIT, children, child]


def _prune(children: list) -> None:
    with _prune_lock:
        known = len(children)  # other threads may append meanwhile
        alive = [child for child in children[1:known] if child() is not None]
        children[1:known] = alive
        children[0] = 2 * len(alive) + FIRST_LIMIT


def live_children(node: Node) -> list[Node]:
    """The nodes computed from `node` that still exist, in order of creation, without duplicates."""
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


def handle(node: Node) -> Any:
    """The one TrackedArray of a node; a new one if the last reference to it is gone."""
    array = node.array()
    return make_handle(node) if array is None else array


def make_handle(node: Node) -> Any:
    raise NotImplementedError("set by tracked.py")


# -- errors ---------------------------------------------------------------------------------------


def freed(node: Node) -> GraphError:
    return GraphError(
        f"the graph of {node.name} was freed by an earlier backward pass or a reset: call "
        "backward(keep_graph=True) the first time, or compute the value again; a state that goes "
        "on from step to step keeps numbers, as in state = state.data, not the graph of earlier "
        "steps"
    )


def check_fresh(node: Node) -> None:
    """Raise GraphError if data that the pullback of `node` reads has been changed since."""
    for i in node.plan.residuals(node.plan.need):
        parent = node.parents[i]
        if isinstance(parent, Leaf) and parent.changed > node.time:
            label = f" {parent.name}" if parent.name else ""
            raise ChangedError(
                f"the data of the tracked array{label} of shape {shape_of(parent.value)} was "
                f"changed after {node.name} used it, and its backward pass needs the old values: "
                "call backward before the update, or run the forward pass again"
            )
