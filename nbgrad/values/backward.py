"""The backward pass: from outputs with cotangents to the leaves that they were computed from.

It walks from the newest node to the oldest without recursion, so the depth of a graph is limited by
memory only.
"""

from collections.abc import Callable, Container, Iterable
from operator import attrgetter
from typing import Any

import numpy as np

from ..core import errstate, modes
from ..core.array import Array
from ..core.primitive import new_level
from ..eager.plans import is_uniform
from ..errors import ArgumentTypeError, NoGraphError, NotScalarError
from . import operands, replay
from .graph import Node, check_fresh, freed, handle, tick

observer: Callable[[], Callable[[Node, Any, dict], None] | None] | None = None
"""While a profile is open: gives the function, if any, that this thread calls with each node of a
walk, what its pullback gave, and the cotangents until then."""


def cotangents(
    x: Any,
    cotangent: Any,
    retain: Iterable | None,
    keep_grads: bool,
    keep_graph: bool,
    create_graph: bool,
) -> tuple[dict[Node, Any], Any]:
    """The cotangents that `TrackedArray.backward` adds to gradients, and the cotangent of x."""
    node, aval = x.node, x.aval
    if not node.parents and node.plan is not None and node.saved == ():
        raise NoGraphError(
            f"backward of {node.name}, which was computed from no tracked array: there is no "
            "graph to walk; inside of no_tracking() none is made"
        )
    if cotangent is not None:
        level = x.level + create_graph
        seed = operands.cotangent(cotangent, aval, x.name, level, copy=create_graph)
    elif aval.size == 1:
        seed = operands.ones(aval)
    else:
        raise NotScalarError(
            f"backward of an array of shape {x.shape} needs a cotangent of that shape, "
            "such as z.backward(np.ones(z.shape)); only one element needs none"
        )
    free = not (keep_graph or create_graph)
    if retain is None and not (keep_grads or create_graph):
        return pulled(node, seed, free=free), seed
    nodes = history(node)
    keep = set(nodes) if keep_grads else ()
    if retain is not None:
        keep = {*keep, *retained(nodes, retain)}
    return sweep({node: seed}, nodes, tracked=create_graph, keep=keep, free=free), seed


def pulled(root: Node, seed: Any, *, since: int = 0, free: bool = False) -> dict[Node, Any]:
    """The cotangents of the leaves below one node, by kernels if all values are plain.

    For `since` see `history`, for `free` see `sweep`.
    """
    if errstate.asked():
        with errstate.ignored():
            return pulled(root, seed, since=since, free=free)
    again = root.level == 0 and not modes.active and type(seed) is np.ndarray
    again = again and not (observer and observer())
    if again:
        for walk in replay.known.get(root.plan, ()):
            found = walk(root, seed, since, free)
            if found is not None:
                return found
    nodes = history(root, since=since)
    if again and nodes:
        replay.note(root, nodes)
    return sweep({root: seed}, nodes, free=free)


def history(*roots: Node, since: int = 0) -> list[Node]:
    """The computed nodes that `roots` depend on, and `roots` themselves, oldest first; only nodes
    that are newer than the time `since`.

    Raises GraphError if one was freed, or if data that its pullback reads has changed.
    """
    nodes, seen, stack = [], set(roots), []
    for root in seen:
        if root.plan is not None and root.time > since:
            stack.append(root)
    while stack:
        node = stack.pop()
        nodes.append(node)
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
    nodes.sort(key=_time_of)
    return nodes


_time_of = attrgetter("time")


def retained(nodes: list[Node], arrays: Iterable) -> list[Node]:
    """The nodes of the arrays in `retain`. Raises TypeError for anything but tracked arrays, and
    GraphError for an array whose node is not among `nodes`."""
    targets = []
    known = set(nodes)
    for x in [arrays] if isinstance(arrays, Array) else arrays:
        node = getattr(x, "node", None)
        if not isinstance(node, Node):
            raise ArgumentTypeError(
                f"backward: retain holds a {type(x).__name__}; give tracked arrays, [h1, h2]"
            )
        if node.plan is not None and node not in known:
            raise NoGraphError(
                f"backward: the output was not computed from the {node.name} of shape {x.shape} "
                "that retain holds, so it has no gradient"
            )
        targets.append(node)
    return targets


def sweep(
    seeds: dict[Node, Any],
    nodes: list[Node],
    *,
    tracked: bool = False,
    keep: Container[Node] = (),
    free: bool = False,
) -> dict[Node, Any]:
    """The cotangents of the leaves below the nodes of `seeds`, and of the nodes in `keep`.

    `nodes` is the result of `history` for these nodes, and is emptied. The newest node has received
    all of its contributions, so it is processed next. Contributions may alias other arrays: they
    are added in place only into sums that this walk has allocated. With `free` each node is freed
    once it is processed, so that the rest of the walk can use its memory.
    """
    if errstate.asked():
        with errstate.ignored():
            return sweep(seeds, nodes, tracked=tracked, keep=keep, free=free)
    cotangents = dict(seeds)  # of nodes that are not processed yet, and of leaves
    passed: dict[Node, Any] = {}
    own: set[Node] = set()  # nodes whose cotangent is a buffer of this walk, in C order
    plain = not tracked
    for root, seed in seeds.items():
        if root.level or isinstance(seed, Array):
            plain = False
    watch, uniform = observer and observer(), False
    if modes.active:
        if modes.watching():
            watch = modes.watch_backward
        if modes.guarding():
            for node in nodes:
                modes.check_saved(node, node.saved or ())
    while nodes:
        node = nodes.pop()
        plan, parents, ct = node.plan, node.parents, cotangents.pop(node, None)
        # Read after the parents: another thread, which frees the graph, clears it first.
        saved = node.saved
        if saved is None:
            raise freed(node)
        if ct is None or not parents:
            contributions = ()
        elif plan.expands:
            contributions = ()
            nodes += _expanded(node, ct, cotangents)
        elif plain:
            if plan.writes:
                contributions = _take_out(node, plan, ct, cotangents, own, keep)
            elif plan.adds:
                contributions = _add_into(parents[0], plan, saved[0], ct, cotangents, own)
            elif plan.gives_uniform:
                contributions = (plan.pull_uniform(ct),)
                uniform = True
            else:
                contributions = plan.pull_all(ct, node.value, saved)
        elif tracked:
            contributions = node.pull_tracked(ct, plan.need)
        else:
            contributions = node.pull_by_rule(ct, plan.need)
        if own:
            own.discard(node)  # it would keep the saved values alive
        if keep and ct is not None and node in keep:
            passed[node] = ct
        if watch:
            watch(node, contributions, cotangents)
        if free:
            node.saved = None
            node.parents = ()
        for parent, contribution in zip(parents, contributions):  # noqa: B905
            if contribution is None or parent is None:
                continue
            if uniform:
                contribution = _fitting(contribution, parent)
            if parent not in cotangents:
                cotangents[parent] = contribution
            elif parent in own:
                cotangents[parent] += contribution
            else:
                cotangents[parent] = total = cotangents[parent] + contribution
                # Kernels add into arrays in C order, not into scalars.
                if plain and type(total) is np.ndarray and total.flags.c_contiguous:
                    own.add(parent)
    return {**passed, **cotangents} if keep else cotangents


def _fitting(ct: np.ndarray, node: Node) -> np.ndarray:
    """A cotangent for a node: most nodes do not take a uniform one, which is written out."""
    takes = node.plan is not None and node.plan.takes_uniform
    return ct if takes or not is_uniform(ct) else np.array(ct)


def _expanded(node: Node, ct, cotangents: dict) -> list[Node]:
    """Compute the value of a node again from its parents, recording each op. Returns the new nodes,
    oldest first; the last one gets the cotangent."""
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
    before = cotangents.get(root)
    cotangents[root] = ct if before is None else before + ct
    return history(root, since=now)


def _take_out(node: Node, plan, ct, cotangents: dict, own: set, keep) -> tuple[Any, Any]:
    """The cotangents of an array that was written to and of the value that was written. The first
    one is `ct`, changed in place, so the cost is that of the elements written."""
    if node not in own or (keep and node in keep):
        ct = np.array(ct, order="C")
    taken = plan.take_out(ct)
    parent: Any = node.parents[0]
    if parent not in cotangents:
        cotangents[parent] = ct
        own.add(parent)
        return None, taken
    return ct, taken


def _add_into(parent, plan, value, ct, cotangents: dict, own: set) -> tuple[()]:
    """Add the cotangent of `parent[index]` to the buffer of the parent, so T reads of X[t] cost
    O(T)."""
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
