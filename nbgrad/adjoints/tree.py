"""Statements as a tree of bodies, in which straight code stands in segments between loops."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ir.statements import Break, For, If, Load, Statement, Store, While
from ..ir.walk import inner, walk

__all__ = ["Body", "Branch", "Loop", "Segment", "bodies", "tree"]


@dataclass(eq=False)
class Segment:
    """Straight code: no loop, no load from a buffer behind a store to it. `If` may be inside."""

    statements: list[Any]
    order: int = 0
    adjoint: list[Any] = field(default_factory=list)
    local: set[str] = field(default_factory=set)  # values that its adjoint computes again


@dataclass(eq=False)
class Loop:
    """A loop; one that may be left early ends with `leave`, and counts its rounds in a variable."""

    statement: Any
    body: "Body"
    order: int = 0
    rounds: str = ""
    leave: If | None = None


@dataclass(eq=False)
class Branch:
    """A branch with a loop inside, or with a load behind a store."""

    condition: Any
    then: "Body"
    otherwise: "Body"
    order: int = 0


Item = Segment | Loop | Branch


@dataclass(eq=False)
class Body:
    """The items of a function, of a loop or of a branch, and the values that they define."""

    parent: "Body | None"
    loop: "Loop | None" = None
    items: list[Any] = field(default_factory=list)
    defined: dict[str, tuple[Segment, Any]] = field(default_factory=dict)
    crossing: set[str] = field(
        default_factory=set
    )  # values that the reverse of several items needs
    recorded: list[str] = field(default_factory=list)

    def loops(self) -> list["Loop"]:
        """The loops around, innermost first."""
        found, here = [], self
        while here is not None:
            if here.loop is not None:
                found.append(here.loop)
            here = here.parent
        return found


def tree(statements: Sequence[Statement]) -> Body:
    """The tree of the statements of a function."""
    count = iter(range(10**9))
    top = Body(None)
    _fill(top, statements, count)
    return top


def bodies(body: Body) -> Iterator[Body]:
    """The body and all inside of it."""
    yield body
    for item in body.items:
        for inside in _inside(item):
            yield from bodies(inside)


def _inside(item: Item) -> tuple[Body, ...]:
    if isinstance(item, Loop):
        return (item.body,)
    return (item.then, item.otherwise) if isinstance(item, Branch) else ()


def _fill(body: Body, statements: Sequence[Any], count: Iterator[int]) -> None:
    stored: set[Any] = set()
    segment: Segment | None = None
    for each in statements:
        if isinstance(each, (For, While)):
            loop = Loop(each, Body(body))
            loop.body.loop = loop
            loop.order = next(count)
            inside = list(each.body)
            if inside and isinstance(inside[-1], If) and Break() in inside[-1].then:
                loop.leave = inside.pop()
            _fill(loop.body, inside, count)
            body.items.append(loop)
            segment = None
        elif isinstance(each, If) and not _is_straight(each):
            branch = Branch(each.condition, Body(body), Body(body), next(count))
            _fill(branch.then, each.then, count)
            _fill(branch.otherwise, each.otherwise, count)
            body.items.append(branch)
            segment = None
        else:
            loaded = {one.buffer for one in walk([each]) if isinstance(one, Load)}
            if segment is None or loaded & stored:
                segment, stored = Segment([], next(count)), set()
                body.items.append(segment)
            segment.statements.append(each)
            stored |= {one.buffer for one in walk([each]) if isinstance(one, Store)}
            for name in _defined(each):
                body.defined[name] = segment, each


def _is_straight(branch: If) -> bool:
    stored: set[Any] = set()
    for each in walk([branch]):
        if isinstance(each, (For, While)):
            return False
        if isinstance(each, Load) and each.buffer in stored:
            return False
        if isinstance(each, Store):
            stored.add(each.buffer)
    return True


def _defined(each: Any) -> list[str]:
    if inner(each):
        return []
    target = getattr(each, "target", None)
    return [*([target] if isinstance(target, str) else []), *getattr(each, "results", ())]
