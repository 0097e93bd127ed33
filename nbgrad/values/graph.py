"""The graph and its two walks: `sweep` backward from an output, `accum` pulled from an input.

A `Node` is one computed value; the array that a user holds is not the graph. A node owns what it
was computed from, and knows only weakly who was computed from it, so there is no reference cycle.
Neither walk recurses.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..core import modes
from ..core.array import Array
from ..core.primitive import Primitive, bind, new_level, shape_of
from ..errors import GraphError
from ..kernels.jit.forks import fork_safe
from ..rules.layout import astype
from ..rules.reduce import unbroadcast

if TYPE_CHECKING:
    from .tracked import TrackedArray

# Time: it ticks when a node is made, when data or a seed is set, and at `accum`. What was computed
# from a node is newer than that node.
tick: Callable[[], int] = count(1).__next__
_prune_lock = fork_safe(threading.Lock())


# Gradients are read and set by one thread at a time. It may be asked for again in a finalizer.
_gradients = threading.RLock()

# Who set a gradient: the user, `backward` or `accum`. Only what `accum` pulled is a memo of its.
SEEDED, SWEPT, PULLED = "seeded", "swept", "pulled"


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
        """The same by the row's rule, for cotangents of any kind."""
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
    """A value that `track` made: `label` is its name, `changed` when its data last changed."""

    __slots__ = ("changed", "label")
    plan, parents, saved = None, (), ()
    changed: int
    label: str

    @property
    def name(self) -> str:
        return self.label


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


def apply_rule(primitive: Primitive, params: dict, ct, out, args, need) -> list:
    """The row's rule on any kind of value, with broadcasting and promotion undone."""
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
    if len(children) == 1:
        return []
    alive = [child for reference in children[1:] if (child := reference()) is not None]
    return list(dict.fromkeys(alive)) if len(alive) > 1 else alive


def handle(node: Node) -> "TrackedArray":
    """The one TrackedArray of a node; made anew where nobody holds it any more."""
    array = node.array()
    return make_handle(node) if array is None else array


def make_handle(node: Node) -> "TrackedArray":
    raise NotImplementedError("tracked.py, which lies above the graph, replaces this")


# -- backward -------------------------------------------------------------------------------------


def history(*roots: Node, since: int = 0) -> list[Node]:
    """The computed nodes that `roots` depend on, and themselves, oldest first: those that were made
    after the time `since`.

    Raises GraphError where one was freed, or data that its pullback reads has changed.
    """
    found, seen, stack = [], set(roots), []
    for root in seen:
        if root.plan is not None and root.time > since:
            stack.append(root)
    while stack:
        node = stack.pop()
        found.append(node)
        if node.saved is None:
            raise freed(node)
        for parent in node.parents:
            if parent is None:
                continue
            if parent.plan is None:
                if parent.changed > node.time:  # pyright: ignore[reportAttributeAccessIssue]
                    check_fresh(node)
            elif parent not in seen and parent.time > since:
                seen.add(parent)
                stack.append(parent)
    found.sort(key=_made)
    return found


_made = attrgetter("time")


def sweep(
    seeds: dict[Node, Any],
    nodes: list[Node],
    *,
    tracked: bool = False,
    keep: bool = False,
    free: bool = False,
) -> dict[Node, Any]:
    """Cotangents of the leaves below the nodes of `seeds`, or with `keep` of all nodes there.

    `nodes` is what `history` gave for those, and is used up: what was made last has no more
    contributions to wait for. Contributions may be shared: they are never added into, save where
    this walk made the sum itself. With `free` each node is freed once it is passed, so that its
    memory serves the rest of the walk.
    """
    cotangents = dict(seeds)  # of nodes not yet reached, and of leaves
    kept: dict[Node, Any] = {}
    own: set[Node] = set()  # of these, the cotangent is a buffer of this walk, in C order
    plain = not tracked
    for root, seed in seeds.items():
        if root.level or isinstance(seed, Array):
            plain = False
    watch = False
    if modes.active:
        watch = modes.watching()
        if modes.guarding():
            for node in nodes:
                modes.check_saved(node, node.saved or ())
    while nodes:
        node = nodes.pop()
        plan, parents, ct = node.plan, node.parents, cotangents.pop(node, None)
        # Read after the parents, as freeing takes it first: another thread may walk here too.
        saved = node.saved
        if saved is None:
            raise freed(node)
        if ct is None or not parents:
            contributions = ()
        elif plan.expands:
            contributions = ()
            nodes += _expanded(node, ct, cotangents)
        elif plain:
            if plan.adds:
                contributions = _add_into(parents[0], plan, saved[0], ct, cotangents, own)
            else:
                contributions = plan.pull_all(ct, node.value, saved)
        elif tracked:
            contributions = node.pull_tracked(ct, plan.need)
        else:
            contributions = node.pull_by_rule(ct, plan.need)
        if keep and ct is not None:
            kept[node] = ct
        if watch:
            modes.watch_backward(node, contributions)
        if free:
            node.saved = None
            node.parents = ()
        for parent, contribution in zip(parents, contributions):  # noqa: B905
            if contribution is None or parent is None:
                continue
            if parent not in cotangents:
                cotangents[parent] = contribution
            elif parent in own:
                cotangents[parent] += contribution
            else:
                cotangents[parent] = known = cotangents[parent] + contribution
                # Not a scalar, and in the order of memory that kernels which add into it need.
                if plain and type(known) is np.ndarray and known.flags.c_contiguous:
                    own.add(parent)
    return {**kept, **cotangents} if keep else cotangents


def _expanded(node: Node, ct, cotangents: dict) -> list[Node]:
    """Compute the value of a node again, step by step from the same parents: the new nodes, oldest
    first, of which the last has the cotangent."""
    now = tick()
    args = [
        value if parent is None else handle(parent)
        for parent, value in zip(node.parents, node.saved or (), strict=True)
    ]
    with new_level(node.level):
        out = node.plan.again(args)
    while isinstance(out, Array) and out.level > node.level:
        out = out.below  # pyright: ignore[reportAttributeAccessIssue]
    if not isinstance(out, Array):
        return []
    root: Node = out.node  # pyright: ignore[reportAttributeAccessIssue]
    known = cotangents.get(root)
    cotangents[root] = ct if known is None else known + ct
    stack, found = [root], []
    seen = {root}
    while stack:
        reached = stack.pop()
        if reached.time > now:
            found.append(reached)
            new = [p for p in reached.parents if p is not None and p not in seen]
            seen.update(new)
            stack += new
    return sorted(found, key=_made)


def _add_into(parent, plan, value, ct, cotangents: dict, own: set) -> tuple[()]:
    """Add the cotangent of `parent[index]` into the parent's buffer: T reads of X[t] cost O(T)."""
    buffer = cotangents.get(parent)
    if parent not in own:
        if buffer is None:
            buffer = np.zeros(value.shape, value.dtype)
        else:
            buffer = np.array(buffer, order="C")
        cotangents[parent] = buffer
        own.add(parent)
    plan.add_into(buffer, ct)
    return ()


def reset(arrays: "Sequence[TrackedArray]") -> None:
    """Forget the gradients of `arrays` and of all that was computed from them, and free that."""
    with _gradients:
        for array in arrays:
            root = array.node
            alive = live_children(root)
            if alive:
                _free_all(alive)
            root.children = None if root.plan else [64]
            root.grad = None


def _free_all(nodes: list[Node]) -> None:
    """Free nodes, and all that was computed from them."""
    seen = set(nodes)
    for node in nodes:  # which grows
        for child in live_children(node):
            if child not in seen:
                seen.add(child)
                nodes.append(child)
    # From the end: after an interrupt, another reset still finds what is left.
    for node in reversed(nodes):
        node.children = node.grad = node.saved = None
        node.parents = ()


def hand_out(cotangents: dict[Node, Any], seed: Any) -> None:
    """Set the gradients that a backward pass found from `seed`: those of leaves add up.

    Cotangents may share memory, with the seed and each other: a gradient owns its array. One step
    for other threads, and for whoever catches an error or an interrupt: either all gradients are
    handed out or none.
    """
    with _gradients:
        _hand_out(cotangents, seed)


def _hand_out(cotangents: dict[Node, Any], seed: Any) -> None:
    now, handed, before = tick(), {id(seed)}, []
    try:
        for node, ct in cotangents.items():
            if type(ct) is np.ndarray and ct.base is None and (key := id(ct)) not in handed:
                handed.add(key)
            elif not isinstance(ct, Array):
                ct = np.array(ct)
            known = node.grad
            if known is None:
                before.append((node, None, now, SWEPT))
            else:
                before.append((node, known, node.grad_time, node.origin))
                if node.plan is None:
                    ct = known + ct
            node.grad_time = now
            node.origin = SWEPT
            node.grad = ct
    except BaseException:
        for known in before:
            _set(*known)
        raise


def seed(node: Node, gradient: Any) -> None:
    """Set the gradient of a node, from which `accum` pulls; None takes it back."""
    with _gradients:
        _set(node, gradient, tick(), SEEDED)


def _set(node: Node, gradient: Any, time: int, origin: str) -> None:
    """Set a gradient last of all: an interrupt leaves none rather than one that passes for new."""
    node.grad = None
    node.grad_time, node.origin, node.grad = time, origin, gradient


# -- accum ----------------------------------------------------------------------------------------


def accum(root: Node) -> Any:
    """The gradient of `root`, pulled from the seeded nodes that were computed from it.

    Only what lies between is evaluated. Each node keeps its gradient as a memo, which is used
    again unless a child's is newer: a child that is gone takes nothing back.
    """
    with _gradients:
        return _accum(root)


def _accum(root: Node) -> Any:
    now = tick()
    known: dict[Node, Sequence[Node]] = {}  # the children of what was visited
    stack = [root]
    while stack:
        node = stack[-1]
        seeded = node.grad is not None and node.origin is SEEDED
        if node not in known:
            known[node] = children = () if seeded else live_children(node)
            ahead = [child for child in children if child not in known]
            if ahead:
                stack += ahead
                continue
        stack.pop()
        if not seeded:
            _refresh(node, known[node], now)
    return root.grad


def _refresh(node: Node, children: Sequence[Node], now: int) -> None:
    if node.grad is not None and node.origin is PULLED:
        if all(node.grad_time >= _changed(child) for child in children):
            return
    total = None
    for child in children:
        if child.grad is not None:
            for contribution in contributions_to(node, child, child.grad):
                if contribution is not None:
                    total = contribution if total is None else total + contribution
    if total is not None or node.grad is not None:
        _set(node, total, now, PULLED)


def _changed(node: Node) -> int:
    """When a node was made, or its gradient last set or taken back."""
    return max(node.time, getattr(node, "grad_time", 0))


def contributions_to(node: Node, child: Node, ct) -> Sequence:
    """What `child`, with cotangent `ct`, contributes to `node`: one for each position, None where
    another stands."""
    if child.saved is None:
        raise freed(child)
    if modes.active and modes.guarding():
        modes.check_saved(child, child.saved)
    need = []
    for parent in child.parents:
        need.append(parent is node)
        if parent is not None and parent.plan is None and parent.changed > child.time:  # pyright: ignore
            check_fresh(child)
    return child.pull(ct, tuple(need))


# -- what can be wrong ----------------------------------------------------------------------------


def freed(node: Node) -> GraphError:
    return GraphError(
        f"the graph of {node.name} was freed by an earlier backward pass or a reset: call "
        "backward(keep_graph=True) the first time, or compute the value again"
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
