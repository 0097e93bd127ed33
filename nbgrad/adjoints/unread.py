"""Stores of elements that no statement reads afterwards.

A function may end with `a[:] = x @ w`, and its caller sum up the elements, which it has at hand.
The final elements of arrays are no results of a gradient: the forward sweep omits such a store,
and the reverse sweep finds the elements that it would have overwritten.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from ..ir.statements import Load, Store
from ..ir.walk import walk
from .build import buffers_of
from .positions import Access, Positions, around
from .tree import Body, Segment, bodies

__all__ = ["unread_stores"]


class _Use(NamedTuple):
    """A load or a store in a segment, which has no load of a buffer behind a store to it."""

    statement: Load | Store
    order: int
    access: Access


def unread_stores(top: Body, positions: Positions, read: Collection[Any]) -> set[int]:
    """The stores that nothing reads, by identity. The reverse sweep may read the buffers `read`
    where elements were stored."""
    loads: dict[Any, list[_Use]] = {}
    stores: list[_Use] = []
    shared = set(read)
    for body in bodies(top):
        loops = around(body)
        is_call = any(getattr(loop.statement, "call", None) for loop in loops)
        for segment in body.items:
            for each in walk(segment.statements) if isinstance(segment, Segment) else ():
                if not isinstance(each, (Load, Store)):
                    shared.update(buffers_of(each))
                    continue
                use = _Use(each, segment.order, Access(each.buffer, each.at, loops))
                if isinstance(each, Load):
                    loads.setdefault(each.buffer, []).append(use)
                elif is_call:
                    shared.add(each.buffer)
                else:
                    stores.append(use)
    return {
        id(store.statement)
        for store in stores
        if store.access.buffer not in shared
        and not any(
            _reads(load, store, positions) for load in loads.get(store.access.buffer, ())
        )
    }  # fmt: skip


def _reads(load: _Use, store: _Use, positions: Positions) -> bool:
    """Whether a load may read what a store has stored."""
    is_behind = load.order > store.order
    return (is_behind and positions.may_meet(store.access, load.access, later=False)) or (
        store.access.loops[:1] == load.access.loops[:1] != ()
        and positions.may_meet(store.access, load.access, later=True)
    )
