"""Buffers that are made once, and stores that set each of their elements at most once.

Nothing reads the cotangent of an element behind the adjoint of its first store, so it need not be
set to 0.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..ir.scalar import Apply
from ..ir.statements import Assign, For, Literal, New, Store
from ..ir.walk import walk
from .build import defined_names
from .positions import around
from .tree import Body, Loop, Segment, bodies

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


def first_stores(top: Body, buffers: set[Any]) -> set[int]:
    """The stores, by identity, that set elements of buffers which nothing has set before."""
    defined = {
        each.target: each for _, segment in _segments(top) for each in walk(segment.statements)
        if isinstance(each, Assign)
    }  # fmt: skip
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
    return {
        id(store) for buffer, (store, body, _) in found.items()
        if buffer not in others and _is_injective(store, around(body), defined)
    }  # fmt: skip


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


def _is_injective(store: Store, loops: Sequence[Loop], defined: Mapping[Any, Assign]) -> bool:
    """Whether the rounds of loops store to different elements: the position is that of the indices
    of the loops in an array, row by row, whose lengths are their trip counts."""
    axes: list[Any] = []
    for loop in loops:
        statement = loop.statement
        if not isinstance(statement, For) or statement.start != 0 or statement.step != 1:
            return False
        axes.append(statement.axis)
    if not loops:
        return not store.at.terms
    inside = set(defined_names([loops[0].statement]))
    strides: dict[Any, list[Any]] = {}
    for name, factor in store.at.terms:
        factors = [*_factors(name, defined), *([] if factor == 1 else [factor])]
        own = [x for x in factors if x in axes]
        if len(own) != 1 or own[0] in strides:
            return False
        strides[own[0]] = [x for x in factors if x != own[0]]
    expected: list[Any] = []
    for loop in reversed(loops):
        if loop.statement.axis not in strides:
            return False
        if _sorted(strides[loop.statement.axis]) != _sorted(expected):
            return False
        expected += _factors(loop.statement.stop, defined)
    return not inside.intersection(x for x in expected if isinstance(x, str))


def _factors(x: Any, defined: Mapping[Any, Assign]) -> list[Any]:
    """The names and numbers of which an integer is the product."""
    if isinstance(x, Literal):
        return [x.number]
    match defined.get(x):
        case Assign(body=Apply(function=function), operands=(y, z)) if function.name == "multiply":
            return [*_factors(y, defined), *_factors(z, defined)]
    return [x]


def _sorted(factors: Sequence[Any]) -> list[str]:
    return sorted(map(str, factors))
