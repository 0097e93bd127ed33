"""Defects of the graph and of levels, put back: each context manager makes nbgrad wrong again."""

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from nbgrad.core import modes
from nbgrad.core.array import Array
from nbgrad.kernels import index as kernels
from nbgrad.transforms import trees
from nbgrad.values import backward, gradients, graph
from nbgrad.values.tracked import make_leaf


@contextmanager
def buffer_order() -> Iterator[None]:
    """What an index adds into a buffer in Fortran's order is lost."""

    def add_into(parent: Any, step: Any, value: Any, ct: Any, cotangents: dict, own: set) -> tuple:
        buffer = cotangents.get(parent)
        if parent not in own:
            buffer = np.zeros(value.shape, value.dtype) if buffer is None else np.array(buffer)
            cotangents[parent] = buffer
            own.add(parent)
        step.add_into(buffer, ct)
        return ()

    def add_at(buffer: np.ndarray, index: Any, ct: np.ndarray) -> None:
        rows, outer, length, width = kernels.positions(index, buffer.shape)
        kernels.scatter_add(buffer.ravel(), rows, ct.ravel(), outer, length, width)

    with patch.object(backward, "_add_into", add_into), patch.object(kernels, "add_at", add_at):
        yield


@contextmanager
def level_inside() -> Iterator[None]:
    """An array that is tracked inside of a transformed function takes the derivative with it."""

    def kept(x: Any, level: int) -> Any:
        return x.node.value if getattr(x, "level", None) == level and hasattr(x, "node") else x

    with ExitStack() as stack:
        for module in ("run", "forward", "batching"):
            name = f"nbgrad.transforms.{module}.below"
            stack.enter_context(patch(name, lambda x, level: x))
        stack.enter_context(patch.object(trees, "below", kept))
        yield


@contextmanager
def memo_lost() -> Iterator[None]:
    """A gradient that was pulled goes with the last array that it was pulled from."""
    refresh = gradients._refresh

    def forgetful(node: Any, children: Any, now: int) -> None:
        if children:
            refresh(node, children, now)
        else:
            node.grad = None

    with patch.object(gradients, "_refresh", forgetful):
        yield


@contextmanager
def unlocked_leaves() -> Iterator[None]:
    """Threads that share a leaf lose contributions."""

    def hand_out(cotangents: dict, seed: Any) -> None:
        now = graph.tick()
        for node, ct in cotangents.items():
            if node.grad is not None and node.plan is None:
                ct = node.grad + ct
            node.grad, node.grad_time, node.origin = ct, now, gradients.SWEPT

    with patch.object(gradients, "hand_out", hand_out):
        yield


@contextmanager
def detached_copies() -> Iterator[None]:
    """copy.copy and copy.deepcopy of a tracked array are new leaves."""

    def detached(self: Any, memo: Any = None) -> Any:
        value = self
        while isinstance(value, Array):
            value = value.below
        return make_leaf(copy.copy(np.asarray(value)), "", 0)

    with (
        patch.object(Array, "__copy__", detached),
        patch.object(Array, "__deepcopy__", detached),
    ):
        yield


@contextmanager
def index_not_copied() -> Iterator[None]:
    """An index array that is written to after its op gives another gradient."""
    with patch("nbgrad.rules.index.held", lambda index: index):
        yield


class _Everywhere:
    """In place of a context variable: one value for all tasks and threads."""

    def __init__(self) -> None:
        self.value: tuple = ()

    def get(self) -> tuple:
        return self.value

    def set(self, value: tuple) -> None:
        self.value = value


@contextmanager
def modes_of_all_tasks() -> Iterator[None]:
    """A mode of one task is a mode of all that run while it awaits."""
    with patch.object(modes.no_tracking, "_blocks", _Everywhere()):
        yield


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {
    "buffer-order": buffer_order,
    "level-inside": level_inside,
    "memo-lost": memo_lost,
    "unlocked-leaves": unlocked_leaves,
    "detached-copies": detached_copies,
    "index-not-copied": index_not_copied,
    "modes-of-all-tasks": modes_of_all_tasks,
}
