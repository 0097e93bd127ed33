"""Variables whose values are still read: at the start of a loop's body, and behind a loop."""

from collections.abc import Collection, Sequence
from typing import Any

from ..ir.statements import Accumulate, Assign, For, If
from ..ir.walk import walk
from .build import names_of
from .tree import Body, Branch, Loop, Segment

__all__ = ["assigned", "read_after", "read_first"]


def assigned(statements: Sequence[Any], variables: Collection[str]) -> set[str]:
    """The variables that statements, and those inside of them, assign."""
    targets = {getattr(each, "target", None) for each in walk(statements)}
    return {x for x in targets if isinstance(x, str) and x in variables}


def read_first(body: Body, variables: Collection[str]) -> set[str]:
    """The variables that a body reads before it assigns them."""
    return _items(body.items, set(), variables)


def read_after(loop: Loop, results: Collection[str], variables: Collection[str]) -> set[str]:
    """The variables that are read behind a loop, before they are assigned again."""
    home = loop.body.parent
    assert home is not None
    path: list[tuple[Body, Any]] = []
    item: Any = loop
    while True:
        path.append((home, item))
        if home.parent is None:
            break
        around = home.parent
        item = next(x for x in around.items if home in _bodies(x))
        home = around
    live = set(results) & set(variables)
    for i, (body, item) in enumerate(reversed(path)):
        if i and body.loop is not None:  # the next round may read it
            live = live | read_first(body, variables)
        place = next(k for k, x in enumerate(body.items) if x is item)
        live = _items(body.items[place + 1 :], live, variables)
    return live


def _bodies(item: Any) -> list[Body]:
    if isinstance(item, Loop):
        return [item.body]
    return [item.then, item.otherwise] if isinstance(item, Branch) else []


def _items(items: Sequence[Any], live: set[str], variables: Collection[str]) -> set[str]:
    for item in reversed(items):
        if isinstance(item, Segment):
            live = _statements(item.statements, live, variables)
        elif isinstance(item, Branch):
            parts = [_items(x.items, live, variables) for x in (item.then, item.otherwise)]
            live = parts[0] | parts[1] | ({item.condition} & set(variables))
        else:
            once = _items(item.body.items, live, variables) | live
            live = _items(item.body.items, once, variables) | once
            statement = item.statement
            bounds = (statement.start, statement.stop) if isinstance(statement, For) else ()
            live |= set(variables).intersection(x for x in bounds if isinstance(x, str))
            live |= set(variables) & {getattr(item.leave, "condition", None)}
    return live


def _statements(statements: Sequence[Any], live: set[str], variables: Collection[str]) -> set[str]:
    for each in reversed(statements):
        if isinstance(each, If):
            parts = [_statements(x, live, variables) for x in (each.then, each.otherwise)]
            live = parts[0] | parts[1] | (names_of(each) & set(variables))
            continue
        if isinstance(each, Assign):
            live = live - {each.target}
        elif isinstance(each, Accumulate):
            live = live | {each.target}
        live = live | (names_of(each) & set(variables))
    return live
