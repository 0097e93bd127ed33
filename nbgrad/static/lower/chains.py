"""States that a step writes parts of, as chains of writes over the state.

A new state that is a *chain*, writes and sums at an index over the old one, can lie where the old
one does, so that a step costs what it writes. `with_chains` finds the states that are written to
and brings them to that form; `reads` says what else must hold, and `loops/in_place.py` whether it
does.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...codegen.affine import Axis
from ...core.sizes import is_dynamic
from .algebra import PLUS
from .buffered import Item, Scan, Scatter
from .graph import Graph
from .values import Inset, Pad, Value, is_map, topological

# A block in zeros is written by itself where it is so much smaller than the array, and that is no
# small one: else one loop over all of the array is as good.
_PART, _LEAST = 8, 64


class Link(NamedTuple):
    """A write of a chain: `value` lies over `below`, where `writer` writes."""

    value: Value
    below: Value

    @property
    def writer(self) -> Value:
        return self.value.nested if isinstance(self.value, Item) else self.value

    @property
    def place(self) -> int:
        """Which argument of what writes `below` is."""
        value = self.value
        if isinstance(value, Item):
            return _place_of_state(value)
        return len(value.args) - 1


def chain_of(value: Value, state: Value) -> list[Link]:
    """The writes from `state` to `value`, the first one first; none where that is no chain."""
    links: list[Link] = []
    while value is not state:
        below = below_of(value)
        if below is None:
            return []
        links.append(Link(value, below))
        value = below
    return links[::-1]


def below_of(value: Value) -> Value | None:
    """What a value is written over; None where it is no write. A result of a loop is one where the
    steps write to it."""
    if isinstance(value, Scatter):
        return value.below
    if isinstance(value, Item) and isinstance(value.nested, Scan) and value.key[0] == "state":
        written = value.key[1] in value.nested.step.written
        return value.nested.args[_place_of_state(value)] if written else None
    return None


def _place_of_state(item: Item) -> int:
    assert isinstance(item.nested, Scan)
    return item.nested.step.constants + item.key[1]


def with_chains(
    graph: Graph, values: Sequence[Value], states: Sequence[Value]
) -> tuple[list[Value], list[int]]:
    """The values, of which the first ones are the new states: those that are written to as chains
    over `states`; and which of them are."""
    found = list(values)
    for k, state in enumerate(states):
        if found[k] is not state and state.shape != ():
            found = _chained(graph, found, found[k], state)
    return found, [k for k, state in enumerate(states) if chain_of(found[k], state)]


def _chained(graph: Graph, values: list[Value], value: Value, state: Value) -> list[Value]:
    """The values, with what leads from `state` to `value` as writes where it can be."""
    leads: set[Value] = {state}
    for each in topological([value]):
        if any(arg in leads for arg in each.args):
            leads.add(each)
    path: list[tuple[Value, Value]] = []  # each with what it is made of
    at = value
    while at is not state:
        below = below_of(at) or _block_below(at) or _sum_below(at, leads)
        if below is None or below not in leads:
            return values
        path.append((at, below))
        at = below
    if all(below_of(each) is not None for each, _ in path):
        return values
    made: dict[Value, Value] = {}
    total = state
    for each, below in reversed(path):
        if isinstance(each, Item):  # of a loop, of which others are results too
            if total is not below:
                args = list(each.nested.args)
                args[_place_of_state(each)] = total
                made[each.nested] = replace(each.nested, args=tuple(args))
            total = each
        else:
            made[each] = total = _over(graph, each, below, total)
    return replaced(values, made)


def _block_below(value: Value) -> Value | None:
    """What a small block is written over."""
    return value.args[0] if isinstance(value, Inset) and _is_small(value) else None


def _is_small(value: Pad) -> bool:
    size, part = value.size, value.block.size
    return not is_dynamic(size) and not is_dynamic(part) and size >= max(_LEAST, part * _PART)


def _sum_below(value: Value, leads: set[Value]) -> Value | None:
    """The one term of a sum that leads to the state, where others are added to it at an index."""
    terms = _terms(value)
    main = [term for term in terms if term in leads and not _is_added(term)]
    return main[0] if len(main) == 1 and any(map(_is_added, terms)) else None


def _is_added(term: Value) -> bool:
    """Whether a term of a sum is zero but at an index."""
    if isinstance(term, Scatter):
        return term.below is None
    return isinstance(term, Pad) and not isinstance(term, Inset) and _is_small(term)


def _terms(value: Value) -> list[Value]:
    """The terms of a sum of arrays of one shape."""
    terms: list[Value] = []
    stack = [value]
    while stack:
        term = stack.pop()
        adds = is_map(term, PLUS) and all(
            arg.shape == term.shape and arg.dtype == term.dtype for arg in term.args
        )
        if adds:
            stack += term.args[::-1]
        else:
            terms.append(term)
    return terms


def _over(graph: Graph, value: Value, below: Value, total: Value) -> Value:
    """`value`, which is made of `below`, as writes over `total`."""
    if isinstance(value, Inset):
        return _block_over(graph, value, total, False)
    if isinstance(value, Scatter):
        return value if below is total else replace(value, args=(*value.args[:-1], total))
    terms = [term for term in _terms(value) if term is not below]
    for term in terms:
        if not _is_added(term):
            total = graph.map(PLUS, (total, term), value.dtype)
    for term in terms:
        if isinstance(term, Scatter) and _is_added(term):
            args, fields = (*term.args, total), (term.axes, term.place, term.joint, term.adds)
            total = graph.new(Scatter, term.shape, term.dtype, args, *fields)
        elif isinstance(term, Pad) and _is_added(term):
            total = _block_over(graph, term, total, True)
    return total


def _block_over(graph: Graph, value: Pad, total: Value, adds: bool) -> Value:
    axes = tuple(Axis(axis, start, 1) for axis, start in enumerate(value.starts))
    return graph.new(Scatter, value.shape, value.dtype, (value.block, total), axes, 0, 0, adds)


def replaced(values: Iterable[Value], others: dict[Value, Value]) -> list[Value]:
    """The values, with others in place of some wherever they are read."""
    values = list(values)
    memo: dict[Value, Value] = {}
    stack = values[::-1]
    while stack:
        value = others.get(stack[-1], stack[-1])
        args = [others.get(arg, arg) for arg in value.args]
        missing = [arg for arg in args if arg not in memo]
        if value in memo or not missing:
            stack.pop()
        else:
            stack += missing[::-1]
            continue
        if value not in memo:
            new = tuple(memo[arg] for arg in args)
            same = all(one is other for one, other in zip(new, value.args, strict=True))
            memo[value] = value if same else replace(value, args=new)
    return [memo[others.get(value, value)] for value in values]
