"""Statements as a tree of bodies, in which straight code stands in segments between loops."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..ir.statements import Assign, Break, Call, For, If, Load, Position, Statement, Store, While
from ..ir.walk import inner, walk
from .build import COPY
from .partials import only_computes

__all__ = [
    "Body", "Branch", "Loop", "Segment", "between", "bodies", "is_read", "outermost", "parts",
    "statements_of", "tree", "without_tests",
]  # fmt: skip


@dataclass(eq=False)
class Segment:
    """Straight code: no loop, no load from a buffer behind a store to it. `If` may be inside."""

    statements: list[Any]
    order: int = 0
    adjoint: list[Any] = field(default_factory=list)
    local: set[str] = field(default_factory=set)  # values that its adjoint computes again
    slopes: list[Any] = field(default_factory=list)  # partial derivatives, see `preaccumulate.py`
    kept: set[str] = field(default_factory=set)  # those of them that are recorded

    @property
    def computed(self) -> list[Any]:
        """The statements that compute what the adjoint reads."""
        return [*self.statements, *self.slopes]


@dataclass(eq=False)
class Loop:
    """A loop; one that may be left early has `leave` behind the statements `head`, which only
    compute values, or at its end, and counts its whole rounds in a variable. That of a product has
    an adjoint of its own, which replaces that of its body."""

    statement: Any
    body: "Body"
    order: int = 0
    rounds: str = ""
    leave: If | None = None
    head: tuple[Any, ...] | None = None
    adjoint: list[Any] = field(default_factory=list)

    def left(self, body: list[Any]) -> list[Any]:
        """The statements of a whole round, with the test that leaves the loop."""
        if self.leave is None:
            return body
        if self.head is None:
            return [*body, self.leave]
        head = set(map(id, self.head))
        return [*self.head, self.leave, *(x for x in body if id(x) not in head)]


@dataclass(eq=False)
class Branch:
    """A branch with a loop inside, or with a load behind a store."""

    statement: If
    condition: Any
    then: "Body"
    otherwise: "Body"
    order: int = 0


Item = Segment | Loop | Branch


@dataclass(eq=False)
class Body:
    """The items of a function, of a loop or of a branch, and the values that they define."""

    parent: "Body | None"
    item: "Loop | Branch | None" = None  # the one whose body it is
    items: list[Any] = field(default_factory=list)
    defined: dict[str, tuple[Segment, Any]] = field(default_factory=dict)
    crossing: set[str] = field(
        default_factory=set
    )  # values that the reverse of several items needs
    recorded: list[str] = field(default_factory=list)

    @property
    def loop(self) -> "Loop | None":
        """The loop whose body it is."""
        return self.item if isinstance(self.item, Loop) else None

    def loops(self) -> list["Loop"]:
        """The loops around, innermost first."""
        found, here = [], self
        while here is not None:
            if here.loop is not None:
                found.append(here.loop)
            here = here.parent
        return found

    def is_in_call(self) -> bool:
        """Whether it is in a loop that is a call of a library function."""
        return any(getattr(loop.statement, "call", None) for loop in self.loops())


def tree(statements: Sequence[Statement], variables: Collection[str]) -> Body:
    """The tree of the statements of a function."""
    top = Body(None)
    _Fill(variables).body(top, statements)
    return top


def is_read(statement: Any, variables: Collection[str]) -> bool:
    """Whether a statement reads a variable."""
    is_copy = isinstance(statement, Assign) and statement.body is COPY
    return is_copy and statement.operands[0] in variables


def bodies(body: Body) -> Iterator[Body]:
    """The body and all inside of it."""
    yield body
    for item in body.items:
        for inside in parts(item):
            yield from bodies(inside)


def outermost(top: Body) -> list[Loop]:
    """The loops that are in no other loop, in order."""
    every = [item for body in bodies(top) if not body.loops() for item in body.items]
    return [item for item in every if isinstance(item, Loop)]


def without_tests(body: Body) -> list[Any]:
    """The statements, without the tests that leave loops: those of the rounds that run."""
    made: list[Any] = []
    for item in body.items:
        if isinstance(item, Segment):
            made += item.statements
        elif isinstance(item, Loop):
            made.append(replace(item.statement, body=tuple(without_tests(item.body))))
        else:
            then, otherwise = map(without_tests, parts(item))
            made.append(replace(item.statement, then=tuple(then), otherwise=tuple(otherwise)))
    return made


def parts(item: Item) -> tuple[Body, ...]:
    """The bodies of an item."""
    if isinstance(item, Loop):
        return (item.body,)
    return (item.then, item.otherwise) if isinstance(item, Branch) else ()


class _Fill:
    def __init__(self, variables: Collection[str]):
        self._variables = variables
        self._count = iter(range(10**9))

    def body(self, body: Body, statements: Sequence[Any]) -> None:
        stored: set[Any] = set()
        segment: Segment | None = None
        for each in statements:
            if isinstance(each, (For, While)):
                loop = Loop(each, Body(body))
                loop.body.item = loop
                loop.order = next(self._count)
                inside: list[Any] = list(each.body)
                if inside and Break() in (inside[-1], *getattr(inside[-1], "then", ())):
                    loop.leave = leave = inside.pop()
                    if (found := self._left_first(inside, leave)) is not None:
                        loop.head, loop.leave, inside = found
                self.body(loop.body, inside)
                body.items.append(loop)
                segment = None
            elif isinstance(each, If) and not self._is_straight(each):
                branch = Branch(each, each.condition, Body(body), Body(body), next(self._count))
                branch.then.item = branch.otherwise.item = branch
                self.body(branch.then, each.then)
                self.body(branch.otherwise, each.otherwise)
                body.items.append(branch)
                segment = None
            else:
                loaded = {one.buffer for one in walk([each]) if isinstance(one, Load)}
                if segment is None or loaded & stored:
                    segment, stored = Segment([], next(self._count)), set()
                    body.items.append(segment)
                segment.statements.append(each)
                stored |= {one.buffer for one in walk([each]) if isinstance(one, Store)}
                for name in _defined(each):
                    body.defined[name] = segment, each

    def _left_first(self, body: list[Any], leave: If) -> tuple | None:
        """The statements of a round up to the test that leaves the loop, as that of `while` does,
        the test, and the statements of a whole round; None if the test is not in front of all that
        a round changes, or is not the only one."""
        match body:
            case [*head, If(then=(Assign(target=left),)) as test, Assign() as read]:
                is_flag = is_read(read, (left,)) and read.target == leave.condition
                is_flag &= all(getattr(x, "target", None) != left for x in walk(test.otherwise))
                if is_flag and all(map(self._only_computes, head)):
                    leave = If(test.condition, (*test.then, *leave.then))
                    return tuple(head), leave, [*head, *test.otherwise]
        return None

    def _only_computes(self, each: Any) -> bool:
        if isinstance(each, Call):
            return only_computes(each.function)
        return isinstance(each, (Load, Position)) or (
            isinstance(each, Assign) and each.target not in self._variables
        )

    def _is_straight(self, branch: If) -> bool:
        """Whether the adjoint of a branch can compute its values again: those of variables cannot
        be, as they are not restored."""
        stored: set[Any] = set()
        for each in walk([branch]):
            if isinstance(each, (For, While)) or is_read(each, self._variables):
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


def _segments(item: Any) -> set[Segment]:
    """The segments of an item."""
    if isinstance(item, Segment):
        return {item}
    return {each for part in parts(item) for one in part.items for each in _segments(one)}


def statements_of(item: Any) -> list[Any]:
    """The statements in an item."""
    if isinstance(item, Segment):
        return walk(item.statements)
    return [each for part in parts(item) for one in part.items for each in statements_of(one)]


def between(store: Store, segment: Segment, body: Body) -> set[Segment] | None:
    """The segments from an earlier store to the same element up to a store; None if there is
    no earlier one in all rounds. Undoing the earlier store restores the element for the other
    segments."""
    found: set[Segment] = set()
    item: Any = segment
    while True:
        for each in body.items[body.items.index(item) :: -1]:
            if isinstance(each, Segment):
                for one in each.statements:
                    if one is store:
                        break
                    if isinstance(one, Store) and (one.buffer, one.at) == (
                        store.buffer,
                        store.at,
                    ):
                        return found
            found |= _segments(each)
        if body.parent is None:
            return None
        body, item = body.parent, body.item
