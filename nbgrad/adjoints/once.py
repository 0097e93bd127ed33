"""Buffers that are made once, and stores that set each of their elements at most once.

Nothing reads the cotangent of an element behind the adjoint of its first store, so it need not be
set to 0.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..ir.statements import New, Store
from ..ir.walk import walk
from .positions import Access, Positions, around
from .tree import Body, Segment, bodies

__all__ = ["first_stores", "made_once"]


def made_once(top: Body) -> set[Any]:
    """The buffers that are made by one statement, outside of loops."""
    total = Counter(
        each.target for _, segment in _segments(top) for each in walk(segment.statements)
        if isinstance(each, New)
    )  # fmt: skip
    outside: list[Any] = []
    for item in top.items:
        outside += [
            each.target for each in getattr(item, "statements", ()) if isinstance(each, New)
        ]
    return {buffer for buffer in outside if total[buffer] == 1}


def first_stores(top: Body, buffers: set[Any], positions: Positions) -> set[int]:
    """The stores, by identity, that set elements of buffers which nothing has set before."""
    found: dict[Any, tuple[Store, Body, Any]] = {}
    others: set[Any] = set()  # buffers with other stores, which may come before
    places = _places(top)
    for body, segment in _segments(top):
        place = places.get(id(body), segment)
        for each in walk(segment.statements):
            if not isinstance(each, Store) or each.buffer not in buffers:
                continue
            if each.buffer not in found and each.kind is None:
                found[each.buffer] = each, body, place
            elif each.buffer not in found or each.kind is None or place is found[each.buffer][2]:
                others.add(each.buffer)
    first = set()
    for buffer, (store, body, _) in found.items():
        access = Access(buffer, store.at, around(body))
        if buffer not in others and not positions.may_meet(access, access, later=True):
            first.add(id(store))
    return first


def _segments(top: Body) -> Iterator[tuple[Body, Segment]]:
    for body in bodies(top):
        for item in body.items:
            if isinstance(item, Segment):
                yield body, item


def _places(top: Body) -> dict[int, Any]:
    """The item of the top that a body is in, by the identity of the body."""
    found: dict[int, Any] = {}
    for item in top.items:
        for name in ("body", "then", "otherwise"):
            if (part := getattr(item, name, None)) is not None:
                found |= {id(each): item for each in bodies(part)}
    return found
