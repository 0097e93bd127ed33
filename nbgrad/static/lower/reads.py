"""The reads of a state that must come before a step writes over it.

If a new state is a chain of writes (`chains`), every other read of the old state, or of a state
between two writes, must come before the next write, or read a copy, which is usually a row.
`with_copies` makes the copies, and `reads_first` returns the reads that come before each write.
Neither has to succeed: if a read comes too late, the state alternates between two buffers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .algebra import SAME
from .buffered import Held, Matmul, Nested, Scatter
from .chains import Link, chain_of
from .values import Map, Reshape, Value, View, topological


def with_copies(values: Sequence[Value], chains: Sequence[list[Link]]) -> list[Value]:
    """The values, some of which are chains, with copies of what is read before it is written over
    and used after that."""
    below = {link.below for chain in chains for link in chain}
    values = [
        Map(value.shape, value.dtype, (value,), value.line, SAME) if value in below else value
        for value in values
    ]
    links = [link for chain in chains for link in chain]
    order = topological(values)
    readers, needs = _readers(order), _needs(order, links)
    sure = _surely_buffered(order, values)
    copies: dict[Value, dict[Value, Value]] = {}  # for a reader: what it reads in place of what
    for number, link in enumerate(links):
        copy = held(link.below)
        for reader in readers[link.below]:
            if reader is link.writer:
                continue
            if needs[reader] >> number & 1:
                copies.setdefault(reader, {})[link.below] = copy
            elif reader.shape != () and not isinstance(reader, (Held, Nested)):
                known = needs[link.below]
                if any(needs[one] & ~known for one in _at_once(reader, readers, sure)):
                    part = held(reader)
                    for user in readers[reader]:
                        copies.setdefault(user, {})[reader] = part
        others = copies.setdefault(link.writer, {})
        for arg in link.writer.args:
            if arg.shape != () and _behind(arg) is link.below and isinstance(
                link.writer, (Nested, Scatter)
            ):  # fmt: skip
                others[arg] = held(arg) if arg is not link.below else copy
    kept = {(link.writer, link.place) for link in links}
    return _reading(values, copies, kept)


def _behind(value: Value) -> Value:
    while isinstance(value, (View, Reshape)):
        value = value.source
    return value


def held(value: Value) -> Value:
    """A copy of a value, in a buffer of its own."""
    return Held(value.shape, value.dtype, (value,), value.line, SAME)


def _reading(
    values: Sequence[Value], copies: dict[Value, dict[Value, Value]], kept: set[tuple[Value, int]]
) -> list[Value]:
    """The values, where some readers read copies, but for what is written over."""
    memo: dict[Value, Value] = {}
    for value in topological(values):
        mine, args = copies.get(value, {}), []
        for place, arg in enumerate(value.args):
            copy = None if (value, place) in kept else mine.get(arg)
            if copy is not None and copy not in memo:
                memo[copy] = replace(copy, args=(memo[arg],))
            args.append(memo[copy if copy is not None else arg])
        same = all(one is other for one, other in zip(args, value.args, strict=True))
        memo[value] = value if same else replace(value, args=tuple(args))
    return [memo[value] for value in values]


def _needs(order: Sequence[Value], links: Sequence[Link]) -> dict[Value, int]:
    """For each value, the links that it depends on, as bits."""
    own: dict[Value, int] = {}
    for number, link in enumerate(links):
        own[link.writer] = own.get(link.writer, 0) | 1 << number
    needs: dict[Value, int] = {}
    for value in order:
        bits = own.get(value, 0)
        for arg in value.args:
            bits |= needs[arg]
        needs[value] = bits
    return needs


def _readers(order: Sequence[Value]) -> dict[Value, list[Value]]:
    readers: dict[Value, list[Value]] = {value: [] for value in order}
    for value in order:
        for arg in dict.fromkeys(value.args):
            readers[arg].append(value)
    return readers


def _surely_buffered(order: Iterable[Value], outputs: Iterable[Value]) -> set[Value]:
    """Values that are computed once, at a time of their own."""
    sure = {*outputs}
    for value in order:
        if value.shape == () or value.buffered:
            sure.add(value)
        pointed: tuple[Value, ...] = ()
        if isinstance(value, Scatter) and value.below is not None:
            pointed = value.args[:1] if value.positions or not value.adds else ()
        elif isinstance(value, Matmul):
            pointed = value.args
        for arg in pointed:
            while isinstance(arg, Reshape):
                arg = arg.source
            if not isinstance(arg, View):
                sure.add(arg)
    return sure


def _at_once(reader: Value, readers: dict[Value, list[Value]], sure: set[Value]) -> list[Value]:
    """The values that may be computed where `reader` is: its readers, up to those with a buffer."""
    found, stack = {reader: None}, [reader]
    while stack:
        value = stack.pop()
        if value in sure:
            continue
        for user in readers[value]:
            if user not in found:
                found[user] = None
                stack.append(user)
    return list(found)


def reads_first(outputs: Sequence[Value], olds: dict[Value, Value]) -> list[Value]:
    """The values that `outputs` need, each after its arguments, and where a new state is a chain
    over the old one, as `olds` names it, each write after what reads what it writes over."""
    links = [link for value, old in olds.items() for link in chain_of(value, old)]
    order = topological(outputs)
    if not links:
        return order
    readers, needs = _readers(order), _needs(order, links)
    sure = _surely_buffered(order, outputs)
    before: dict[Value, list[Value]] = {}
    for number, link in enumerate(links):
        for reader in readers[link.below]:
            if reader is not link.writer:
                before.setdefault(link.writer, []).extend(
                    one for one in _at_once(reader, readers, sure) if not needs[one] >> number & 1
                )
    return _sorted(outputs, before) or order


def _sorted(outputs: Sequence[Value], before: dict[Value, list[Value]]) -> list[Value]:
    """As `topological`, with more that comes before some; nothing where that goes round."""
    order: list[Value] = []
    is_done: dict[Value, bool] = {}
    stack = [(value, False) for value in outputs][::-1]
    while stack:
        value, done = stack.pop()
        if done:
            is_done[value] = True
            order.append(value)
        elif value not in is_done:
            is_done[value] = False
            stack.append((value, True))
            needed = [*before.get(value, ()), *value.args]
            if any(is_done.get(one) is False for one in needed):
                return []
            stack += [(one, False) for one in reversed(needed)]
    return order
