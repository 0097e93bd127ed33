"""Long loops in pieces, which threads run in parallel: the choice of loops, and the kernels of
their pieces.

Iterations of such a loop write to different places. A piece has its own sums: it returns totals as
numbers, and has its own array for sums into an array, as over the first axis.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...ir.affine import Affine, span, variable
from ...ir.sizes import is_dynamic
from ...ir.statements import (
    PIECE,
    Accumulate,
    Chunks,
    For,
    Kernel,
    Literal,
    Load,
    Pieces,
    Position,
    Statement,
    Store,
    Variable,
)
from ...ir.walk import defined, in_loops, operands, rewritten
from ...threads.pieces import cut, is_large
from ..lower.buffered import Item
from ..lower.values import Value
from .block import EACH

Bounds = tuple[int, int, int]
"""A loop by its axis, start and stop."""
_Reach = tuple[int, int, int] | None
"""By how much what the next round touches lies further, and the first and the last element from
there; None where that is not known."""
# The arrays for sums of pieces have together at most one element for so many rounds.
_ROOM = 8


@dataclass(frozen=True)
class Cut:
    """How a long loop is cut: `size` rounds in a piece, `count` pieces; of each array of `sums`
    all pieces have one of their own, one after another in the buffer beside it."""

    size: int
    count: int
    sums: dict[Value, Item]


def _loop(statement: Statement) -> For | None:
    """A loop, also one in chunks; None for other statements."""
    loop = statement.loop if isinstance(statement, Chunks) else statement
    return loop if isinstance(loop, For) else None


def bounds_of(statement: Statement) -> Bounds | None:
    """The bounds of a loop; None for other statements."""
    loop = _loop(statement)
    return (loop.axis, loop.start, loop.stop) if loop else None


def cuts_of(body: Iterable[Statement]) -> dict[Bounds, Cut]:
    """How long loops are cut, where all of these may run in pieces; those of a length known at run
    time stay whole."""
    cuts: dict[Bounds, Cut] = {}
    for statement in body:
        elements = _elements(statement)
        if is_dynamic(elements):
            return {}
        if not is_large(elements):
            continue
        bounds = bounds_of(statement)
        found = _cut(statement, bounds, elements) if bounds else None
        if bounds is None or found is None:
            return {}
        cuts[bounds] = found
    return cuts


def _cut(statement: Statement, bounds: Bounds, elements: int) -> Cut | None:
    rounds = bounds[2] - bounds[1]
    size = cut(rounds, elements)
    summed = _summed(statement, bounds[0])
    if size >= rounds or summed is None or set(_carried(statement)) & _read(statement):
        return None
    count = -(-rounds // size)
    if sum(value.size for value in summed) * count * _ROOM > elements:
        return None
    sums = {v: Item((count * v.size,), v.dtype, (v,), "", ("sums", count)) for v in summed}
    return Cut(size, count, sums)


def _elements(statement: Statement) -> int:
    """How often the innermost body runs."""
    loop = _loop(statement)
    if loop is None:
        return 1
    return (loop.stop - loop.start) * max(map(_elements, loop.body), default=1)


# -- whether the rounds of a loop are independent -------------------------------------------------


def _summed(statement: Statement, axis: int) -> list[Value] | None:
    """The arrays into which rounds of a loop over `axis` sum; None where rounds depend on each
    other."""
    touched: dict[Hashable, list[tuple[Load | Store, _Reach]]] = {}
    for access, bounds in in_loops([statement]):
        if isinstance(access, (Load, Store)):
            terms = dict(access.at.terms)
            step = terms.pop(axis, 0)
            ends = span(Affine(access.at.const, tuple(terms.items())), bounds.__getitem__)
            touched.setdefault(access.buffer, []).append((access, ends and (step, *ends)))
    summed: list[Value] = []
    for value, accesses in touched.items():
        stores = [access for access, _ in accesses if isinstance(access, Store)]
        if not stores or _lie_apart([reach for _, reach in accesses]):
            continue
        if len(stores) < len(accesses) or len({store.kind for store in stores}) > 1:
            return None
        if stores[0].kind is None:
            return None
        assert isinstance(value, Value)
        summed.append(value)
    return summed


def _lie_apart(reaches: Sequence[_Reach]) -> bool:
    """Whether what a round touches ends before that of the next begins."""
    known = [reach for reach in reaches if reach is not None]
    steps = {step for step, _, _ in known}
    if len(known) < len(reaches) or len(steps) > 1 or 0 in steps:
        return False
    low, high = min(low for _, low, _ in known), max(high for _, _, high in known)
    return high - low < abs(*steps)


def _flat(statement: Statement) -> list[Statement]:
    """All statements inside of a loop that are no loops."""
    return [each for each, _ in in_loops([statement])]


def _carried(statement: Statement) -> dict[str, Accumulate]:
    """The joins into names from outside of a loop."""
    own = set(map(defined, _flat(statement)))
    joins = (s for s in _flat(statement) if isinstance(s, Accumulate))
    return {join.target: join for join in joins if join.target not in own}


def _read(statement: Statement) -> set[str]:
    """The names that statements of a loop read, besides what they join into."""
    names: set[Any] = set()
    for s in _flat(statement):
        names.update(operands(s))
        if isinstance(s, (Load, Store, Position)):
            names.update(name for name, _ in s.at.terms)
    return {name for name in names if isinstance(name, str)}


# -- taking them out ------------------------------------------------------------------------------


def in_pieces(body: Iterable[Statement], cuts: Mapping[Bounds, Cut]) -> list[Statement]:
    """The statements of a nest, over values in place of buffers, with the loops of `cuts` in
    pieces."""
    statements: list[Statement] = []
    for statement in body:
        found = cuts.get(bounds_of(statement))  # pyright: ignore[reportArgumentType]
        statements += _taken_out(statement, found) if found else [statement]
    return statements


def _taken_out(statement: Statement, found: Cut) -> list[Statement]:
    joins = _carried(statement)
    needed = _read(statement) - set(map(defined, _flat(statement))) - {PIECE}
    whole = _loop(statement)
    assert whole is not None
    loop = replace(whole, piece=found.size)
    loop = replace(statement, loop=loop) if isinstance(statement, Chunks) else loop
    kinds = {s.buffer: s.kind for s in _flat(statement) if isinstance(s, Store)}
    begins: list[Statement] = [
        Variable(name, Literal(join.kind.neutral(join.dtype), join.dtype))
        for name, join in joins.items()
    ]
    ends: list[Statement] = []
    for value, own in found.sums.items():
        kind = kinds[value]
        assert kind is not None
        at = Affine(0, ((EACH, 1), (PIECE, value.size)))
        first = Literal(kind.neutral(value.dtype), value.dtype)
        begins.append(For(EACH, 0, value.size, (Store(own, at, first, value.dtype),)))
        each = Affine(0, ((0, value.size), (1, 1)))
        taken = Load("taken", own, each, value.dtype)
        store = Store(value, variable(1), "taken", value.dtype, kind)
        ends.append(For(0, 0, found.count, (For(1, 0, value.size, (taken, store)),)))
    body = (*begins, *rewritten([loop], lambda s: _redirected(s, found.sums)))
    part = Kernel("part", (), (*sorted(needed), PIECE), body, tuple(joins))
    totals = tuple(Accumulate(name, join.kind, name, join.dtype) for name, join in joins.items())
    return [Pieces(part, found.count, totals), *ends]


def _redirected(statement: Statement, sums: Mapping[Value, Item]) -> Statement:
    """The statement, where it sums into an array into the piece's own."""
    if not isinstance(statement, Store) or statement.buffer not in sums:
        return statement
    own = sums[statement.buffer]  # pyright: ignore[reportArgumentType]
    at = statement.at.plus(Affine(0, ((PIECE, own.args[0].size),)))
    return replace(statement, buffer=own, at=at)


__all__ = ["Bounds", "Cut", "bounds_of", "cuts_of", "in_pieces"]
