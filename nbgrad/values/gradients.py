"""Gradients of nodes: seeded by the user, handed out by a backward pass, or pulled by `accum`.

One thread at a time reads and sets them.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..capi.handout import HandOut
from ..capi.replaceable import replaceable
from ..core import errstate, modes
from ..core.array import Array
from .graph import Leaf, Node, check_fresh, freed, live_children, tick

# Reentrant: a finalizer that runs in the middle may acquire it again.
lock = threading.RLock()

# Who set a gradient: the user, `backward` or `accum`. Only what `accum` pulled is its memo.
SEEDED, SWEPT, PULLED = "seeded", "swept", "pulled"


def hand_out(cotangents: dict[Node, Any], seed: Any) -> None:
    """Set the gradients that a backward pass found from `seed`: those of leaves add up.

    Cotangents may share memory, with the seed and each other: a gradient owns its array. One step
    for other threads, and for whoever catches an error or an interrupt: either all gradients are
    handed out or none.
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
            node.grad_time = now
            node.origin = SWEPT
            node.grad = ct
    except BaseException:
        for old in before:
            _set(*old)
        raise


def seed(node: Node, gradient: Any) -> None:
    """Set the gradient of a node, from which `accum` pulls; None takes it back."""
    with lock:
        _set(node, gradient, tick(), SEEDED)


def _set(node: Node, gradient: Any, time: int, origin: str) -> None:
    """Set a gradient last of all: an interrupt leaves none rather than one that passes for new."""
    node.grad = None
    node.grad_time, node.origin, node.grad = time, origin, gradient


def accum(root: Node) -> Any:
    """The gradient of `root`, pulled from the seeded nodes that were computed from it.

    Only what lies between is evaluated. Each node keeps its gradient as a memo, which is used
    again unless a child's is newer: a child that is gone takes nothing back.
    """
    with lock:
        return _accum(root)


def _accum(root: Node) -> Any:
    now = tick()
    children_of: dict[Node, Sequence[Node]] = {}  # the children of what was visited
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
