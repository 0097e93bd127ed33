"""States of which a loop step writes parts, as chains of writes.

A new state that is a *chain*, writes and sums at an index of the old one, can use the buffer of the
old one, so that a step costs only the elements it writes. `with_chains` finds such states and
rewrites them as chains; `reads` orders other reads before the writes, and `loops/in_place.py`
checks that one buffer suffices.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...ir.affine import Axis
from ...ir.sizes import is_dynamic
from .algebra import PLUS, SAME
from .buffered import Item, Scan, Scatter
from .graph import Graph
from .values import Inset, Pad, Value, is_map, number_of, topological

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
    """The value that this one is written over, or None if it is not a write. A result of a loop is
    a write if the steps write to it."""
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


def only_added_to(
    values: Sequence[Value], states: Sequence[Value], written: Iterable[int]
) -> list[int]:
    """Of the states that are `written`, those that nothing reads: sums of what is added."""
    counts = _counts(values)
    found = []
    for k in written:
        links = chain_of(values[k], states[k])
        if all(_adds(link.value) and counts[link.below] == 1 for link in links):
            found.append(k)
    return found


def _adds(value: Value) -> bool:
    if isinstance(value, Item):
        assert isinstance(value.nested, Scan)
        return value.key[1] in value.nested.step.added
    return isinstance(value, Scatter) and value.adds


def _counts(values: Sequence[Value]) -> dict[Value, int]:
    """How often each value is read; the values themselves are, once more."""
    counts: dict[Value, int] = {}
    for value in topological(values):
        counts.setdefault(value, 0)
        for arg in value.args:
            counts[arg] += 1
    for value in values:
        counts[value] += 1
    return counts


def _chained(graph: Graph, values: list[Value], value: Value, state: Value) -> list[Value]:
    """The values, with what leads from `state` to `value` as writes where it can be."""
    leads: set[Value] = {state}
    order = topological([value])
    for each in order:
        if any(arg in leads for arg in each.args):
            leads.add(each)
    sums = _Sums(leads, _counts(values), {each: at for at, each in enumerate(order)})
    path: list[tuple[Value, Value]] = []  # each with what it is made of
    at = value
    while at is not state:
        below = below_of(at) or block_below(at) or sums.below(at)
        if below is None or below not in leads:
            return values
        path.append((at, below))
        at = below
    if all(below_of(each) is not None for each, _ in path):
        return values
    made: dict[Value, Value] = {}
    total = state
    for each, below in reversed(path):
        if isinstance(each, Item):
            total = _started(each, total, made)
        elif is_map(each, PLUS):
            made[each] = total = sums.over(graph, each, below, total, made)
        else:
            made[each] = total = written_over(graph, each, total)
    return replaced(values, made)


def _started(item: Item, total: Value, made: dict[Value, Value]) -> Value:
    """The result of a loop whose state starts as `total`; the loop becomes what is `made` of it,
    as it may have other results."""
    loop, place = item.nested, _place_of_state(item)
    args = list(made.get(loop, loop).args)
    if args[place] is not total:
        args[place] = total
        made[loop] = replace(loop, args=tuple(args))
    return item


def block_below(value: Value) -> Value | None:
    """The value that a small block is written over."""
    return value.args[0] if isinstance(value, Inset) and _is_small(value) else None


def is_small_block(value: Value) -> bool:
    """Whether a value is zero but for a small block."""
    return isinstance(value, Pad) and not isinstance(value, Inset) and _is_small(value)


def _is_small(value: Pad) -> bool:
    size, part = value.size, value.block.size
    return not is_dynamic(size) and not is_dynamic(part) and size >= max(_LEAST, part * _PART)


class _Sums(NamedTuple):
    """Sums on the way from a state: what `leads` on from it, how often values are read, and in
    which order they are made."""

    leads: set[Value]
    counts: dict[Value, int]
    order: dict[Value, int]

    def below(self, value: Value) -> Value | None:
        """The one term of a sum that leads to the state, where others are added at an index."""
        terms = _terms(value)
        added = [term for term in terms if self._is_added(term)]
        main = [term for term in terms if term in self.leads and term not in added]
        if len(main) != 1 or not added:
            return None
        loops = {term.nested for term in added if isinstance(term, Item)}
        return None if loops and loops & {*topological(main)} else main[0]

    def _is_added(self, term: Value) -> bool:
        """Whether a term is zero but at an index, or what a loop adds up from zeros."""
        if isinstance(term, Scatter):
            return term.below is None
        if isinstance(term, Item):
            return self._adds_up(term)
        return is_small_block(term)

    def _adds_up(self, term: Item) -> bool:
        loop = term.nested
        if not isinstance(loop, Scan) or term.key[0] != "state" or self.counts[term] != 1:
            return False
        start = loop.args[_place_of_state(term)]
        start = start.args[0] if is_map(start, SAME) else start
        return term.key[1] in loop.step.added and number_of(start) == 0.0

    def over(
        self, graph: Graph, value: Value, below: Value, total: Value, made: dict[Value, Value]
    ) -> Value:
        """A sum with `below` as one of its terms, as additions to `total`: loops go on from
        there."""
        terms = [term for term in _terms(value) if term is not below]
        items = [term for term in terms if isinstance(term, Item) and self._is_added(term)]
        for item in sorted(items, key=self.order.__getitem__):
            total = _started(item, total, made)
        for term in terms:
            if not self._is_added(term):
                total = graph.map(PLUS, (total, term), value.dtype)
        for term in terms:
            if isinstance(term, Scatter) and self._is_added(term):
                args, fields = (*term.args, total), (term.axes, term.place, term.joint, term.adds)
                total = graph.new(Scatter, term.shape, term.dtype, args, *fields)
            elif isinstance(term, Pad) and self._is_added(term):
                total = block_over(graph, term, total, True)
        return total


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


def written_over(graph: Graph, value: Value, total: Value) -> Value:
    """A write over another value, as one over `total`."""
    if isinstance(value, Inset):
        return block_over(graph, value, total, False)
    return value if value.args[-1] is total else replace(value, args=(*value.args[:-1], total))


def block_over(graph: Graph, value: Pad, total: Value, adds: bool) -> Value:
    """`total` with the block of `value` written over it, or added."""
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
