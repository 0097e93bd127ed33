"""Buffers that are made once, and stores that set each of their elements at most once.

Nothing reads the cotangent of an element behind the adjoint of its first store, so it need not be
set to 0.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from ..ir.statements import New, Store
from ..ir.walk import walk
from .positions import Access, Positions, around
from .tree import Body, Segment, parts

__all__ = ["first_stores", "made_once"]

_MOST = 256  # pairs of stores to a buffer that are compared


def made_once(top: Body) -> set[Any]:
    """The buffers that are made by one statement, outside of loops."""
    total = Counter(
        each.target for _, each in _statements(top) if isinstance(each, New)
    )  # fmt: skip
    outside: list[Any] = []
    for item in top.items:
        outside += [
            each.target for each in getattr(item, "statements", ()) if isinstance(each, New)
        ]
    return {buffer for buffer in outside if total[buffer] == 1}


def first_stores(top: Body, buffers: set[Any], positions: Positions) -> set[int]:
    """The stores, by identity, that set elements of buffers which nothing has set before."""
    found: dict[Any, list[tuple[Store, Access]]] = defaultdict(list)
    for body, each in _statements(top):
        if isinstance(each, Store) and each.buffer in buffers:
            found[each.buffer].append((each, Access(each.buffer, each.at, around(body))))
    first: set[int] = set()
    for stores in found.values():
        plain = [i for i, (store, _) in enumerate(stores) if store.kind is None]
        if len(plain) * len(stores) <= _MOST:
            first.update(id(stores[i][0]) for i in plain if _is_first(stores, i, positions))
    return first


def _is_first(stores: list[tuple[Store, Access]], place: int, positions: Positions) -> bool:
    """Whether no store comes before that at a place, at the same element, in an earlier round of a
    loop around both or in the same rounds."""
    own, meet = stores[place][1], positions.may_meet
    return not any(
        meet(other, own, later=True) or (i < place and meet(other, own, later=False))
        for i, (_, other) in enumerate(stores)
    )


def _statements(body: Body) -> Iterator[tuple[Body, Any]]:
    """The statements of segments, with the bodies that they are in, in their order."""
    for item in body.items:
        if isinstance(item, Segment):
            yield from ((body, each) for each in walk(item.statements))
        for part in parts(item):
            yield from _statements(part)
