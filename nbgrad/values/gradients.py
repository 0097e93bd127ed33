"""Gradients of nodes: set by the user as seeds, by a backward pass, or by `accum`.

One thread at a time reads and sets them.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..capi.handout import HandOut
from ..capi.replaceable import replaceable
from ..compiler.forks import fork_safe
from ..core import errstate, modes
from ..core.array import Array
from .exempt import visit
from .graph import Leaf, Node, check_fresh, freed, live_children, tick

# Reentrant: a finalizer that runs in the middle may acquire it again.
lock = fork_safe(threading.RLock())

# The origin of a gradient: the user, `backward` or `accum`, which reuses only its own.
SEEDED, SWEPT, PULLED = "seeded", "swept", "pulled"


def hand_out(cotangents: dict[Node, Any], seed: Any) -> None:
    """Set the gradients of a backward pass from `seed`; those of leaves are added to the ones
    before.

    Cotangents may alias the seed and each other; a gradient owns its array. The update is atomic
    for other threads and for code that catches an error or an interrupt.
    """
    with lock:
        _hand_out(cotangents, seed)


@replaceable(lambda: HandOut(Node, Leaf, tick, SWEPT))
def _hand_out(cotangents: dict[Node, Any], seed: Any) -> None:
    now, owned, before = tick(), {id(seed)}, []
    try:
        for node, ct in cotangents.items():
            if type(ct) is np.ndarray and ct.base is None and (key := id(ct)) not in owned:
                owned.add(key)
            elif not isinstance(ct, Array):
                ct = np.array(ct)
            old = node.grad
            if old is None:
                before.append((node, None, now, SWEPT))
            else:
                before.append((node, old, node.grad_time, node.origin))
                if node.plan is None:
                    ct = old + ct
            if isinstance(ct, Array):
                visit(node)
            node.grad_time = now
            node.origin = SWEPT
            node.grad = ct
    except BaseException:
        for old in before:
            _set(*old)
        raise


def seed(node: Node, gradient: Any) -> None:
    """Set the gradient of a node as a seed of `accum`; None removes it."""
    with lock:
        if isinstance(gradient, Array):
            visit(node)
        _set(node, gradient, tick(), SEEDED)


def _set(node: Node, gradient: Any, time: int, origin: str) -> None:
    """Set the gradient last, so that an interrupt leaves none rather than one that looks new."""
    node.grad = None
    node.grad_time, node.origin, node.grad = time, origin, gradient


def accum(root: Node) -> Any:
    """The gradient of `root`, pulled back from the seeded nodes that were computed from it.

    Only the nodes between are visited. Each keeps its gradient, which is used again unless that of
    a child is newer; a child that is gone does not change it.
    """
    with lock:
        return _accum(root)


def _accum(root: Node) -> Any:
    now = tick()
    children_of: dict[Node, Sequence[Node]] = {}  # of visited nodes
    stack = [root]
    while stack:
        node = stack[-1]
        seeded = node.grad is not None and node.origin is SEEDED
        if node not in children_of:
            children_of[node] = children = () if seeded else live_children(node)
            depth = len(stack)
            for child in children:
                if child not in children_of:
                    stack.append(child)
            if len(stack) > depth:
                continue
        stack.pop()
        if not seeded:
            _refresh(node, children_of[node], now)
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
    if isinstance(total, Array):
        visit(node)
    if total is not None or node.grad is not None:
        _set(node, total, now, PULLED)


def _changed(node: Node) -> int:
    """The time at which a node was made, or its gradient last set or removed."""
    return max(node.time, getattr(node, "grad_time", 0))


def contributions_to(node: Node, child: Node, ct) -> Sequence:
    """The contributions of `child`, with cotangent `ct`, to the cotangent of `node`: one for each
    argument of the child, None for arguments other than `node`."""
    if child.saved is None:
        raise freed(child)
    if errstate.asked():
        with errstate.ignored():
            return contributions_to(node, child, ct)
    if modes.active and modes.guarding():
        modes.check_saved(child, child.saved)
    need = []
    for parent in child.parents:
        need.append(parent is node)
        if parent is not None and parent.plan is None and parent.changed > child.time:  # pyright: ignore
            check_fresh(child)
    return child.pull(ct, tuple(need))
