"""Defects of NumPy's memory model, put back: writes that are not seen, and views that are none."""

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import nbgrad
from nbgrad.control import conditional
from nbgrad.core import memory
from nbgrad.core.array import Array
from nbgrad.core.symbols import Handle
from nbgrad.rules import layout
from nbgrad.values import writing


@contextmanager
def alias_not_updated() -> Iterator[None]:
    """`y += v` is `y = y + v`: another name of the array keeps the old value."""
    with ExitStack() as stack:
        for name in ("add", "sub", "mul", "truediv", "pow"):
            plain = getattr(Array, f"__{name}__")
            stack.enter_context(patch.object(Array, f"__i{name}__", plain))
        yield


def view_of_view_not_updated() -> AbstractContextManager:
    """A write makes the views of an array stale, and not the views of these."""

    def invalidate_views(x: Any) -> None:
        for reference in list(x.views or ())[1:]:
            view = reference()
            if view is not None and type(view.origin) is memory.Origin and view.origin.parent is x:
                view._invalidate()

    return patch.object(memory, "invalidate_views", invalidate_views)


def base_not_updated() -> AbstractContextManager:
    """A write to a view is no write to what it was taken from."""

    def alone(x: Any, what: str) -> tuple[Any, tuple]:
        if type(x.origin) is memory.Origin:
            x.origin = None
        return owner(x, what)

    owner = memory._owner
    return patch.object(memory, "_owner", alone)


def stale_views() -> AbstractContextManager:
    """Views keep what they had when their array is written to."""
    return patch.object(memory, "invalidate_views", lambda x: None)


def transposed_in_one_piece() -> AbstractContextManager:
    """Each reshape is a view, of transposed arrays too, where NumPy copies."""
    return patch.object(layout, "numpy_gives_view", lambda x, again: True)


def saved_values_change() -> AbstractContextManager:
    """A write goes to memory that a pullback still has to read."""
    return patch.object(
        writing, "_is_free", lambda node: node.value.base is None and node.value.flags.carray
    )


def read_after_write() -> AbstractContextManager:
    """A write of what it changes reads rows that it has written already."""

    def row_by_row(x: Any, index: Any, value: Any, what: str) -> None:
        origin = getattr(value, "origin", None)
        if index is not ... or type(origin) is not memory.Origin or value.shape != x.shape:
            return write(x, index, value, what)
        for i in range(len(x) if x.shape else 0):
            write(x, i, value[i], what)

    write = memory.write
    return patch.object(memory, "write", row_by_row)


def numbers_are_memory() -> AbstractContextManager:
    """`s += 1` of a sum changes the number for each of its names."""
    return patch.object(memory, "is_mutable", lambda x: True)


def branch_writes_lost() -> AbstractContextManager:
    """What a function of a recorded `cond` writes to its arguments is not seen behind it."""
    deaf = SimpleNamespace(**(vars(memory) | {"write": lambda *args: None}))
    return patch.object(conditional, "memory", deaf)


def body_writes_lost() -> AbstractContextManager:
    """What the body of a loop writes to its state, and gives as it is, is not in the next state."""

    def deaf(n: int, body: Callable, state: Any, **options: Any) -> Any:
        def step(i: Any, state: Any) -> Any:
            one = not isinstance(state, tuple)
            given = [copy.copy(x) for x in ((state,) if one else state)]
            made = body(i, given[0] if one else tuple(given))
            kept = tuple(
                next((old for old, x in zip(state, given, strict=True) if x is y), y)
                for y in (() if one else made)
            )
            return (state if made is given[0] else made) if one else kept

        return loop(n, step, state, **options)

    loop = nbgrad.loop
    return patch.object(nbgrad, "loop", deaf)


@contextmanager
def compiled_writes_lost() -> Iterator[None]:
    """A write to what a compiled program records is none."""
    with (
        patch.object(Handle, "_write", lambda self, path, value, what: None),
        patch.object(Handle, "_become", lambda self, new: None),
    ):
        yield


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {
    "alias-not-updated": alias_not_updated,
    "view-of-view-not-updated": view_of_view_not_updated,
    "base-not-updated": base_not_updated,
    "stale-views": stale_views,
    "transposed-in-one-piece": transposed_in_one_piece,
    "saved-values-change": saved_values_change,
    "read-after-write": read_after_write,
    "numbers-are-memory": numbers_are_memory,
    "branch-writes-lost": branch_writes_lost,
    "body-writes-lost": body_writes_lost,
    "compiled-writes-lost": compiled_writes_lost,
}
