"""From a loop nest over values to a kernel over buffers, and what it is called with.

Buffers are numbered in order of use, and each pointer starts at the first element that is touched:
the same work at another place of a buffer is the same kernel, compiled once.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...ir.affine import Affine, span
from ...ir.statements import (
    PIECE,
    Chunks,
    For,
    Guarded,
    Kernel,
    Load,
    Pieces,
    Statement,
    Store,
    is_ranged,
    statements,
)
from ...ir.veil import with_hidden_infinities
from ..lower.values import Value
from .memory import Memory
from .nest import Nest
from .pieces import bounds_of, in_pieces


class KernelArgument(NamedTuple):
    """A buffer that a kernel is given, and the element at which its pointer starts."""

    storage: Hashable
    start: int
    value: Value


class KernelCall(NamedTuple):
    """A kernel, what it is called with, what it returns, and the user's lines."""

    kernel: Kernel
    arguments: list[KernelArgument]
    numbers: list[Value]
    results: list[Value]
    lines: list[str]


def kernel_call(nest: Nest, memory: Memory) -> KernelCall:
    """The kernel of a nest, where its buffers lie as `memory` says."""
    body: list[Statement] = []
    for value, begun in nest.begun.items():
        if value not in memory.updates:
            body += begun
    body = in_pieces(_prune([*body, *nest.body], nest, memory, False), nest.cuts)
    starts: dict[Hashable, int] = {}
    values: dict[Hashable, Value] = {}
    for statement, low in _lowest(body, {}):
        value = statement.buffer
        assert isinstance(value, Value)
        storage = memory.storage(value)
        values.setdefault(storage, value)
        starts[storage] = min(starts.get(storage, low), low)
    places = {storage: i for i, storage in enumerate(values)}
    buffers = tuple(v.dtype for v in values.values())
    code = [_placed(statement, memory, places, starts, buffers) for statement in body]
    kernel = Kernel(
        "loop", buffers, tuple(nest.numbers.values()),
        tuple(_guarded(with_hidden_infinities(code))),
        tuple(nest.totals.values()), tuple(value.dtype for value in nest.numbers),
    )  # fmt: skip
    arguments = [KernelArgument(s, starts[s], value) for s, value in values.items()]
    return KernelCall(kernel, arguments, list(nest.numbers), list(nest.totals), sorted(nest.lines))


def _guarded(code: Sequence[Statement]) -> Sequence[Statement]:
    """What may be done with functions for arguments near 0: all of it, or each piece of loops that
    run in pieces, beside which little is done."""
    pieces = [statement for statement in code if isinstance(statement, Pieces)]
    if not any(is_ranged(s) for s, _ in statements(tuple(pieces or code))):
        return code
    if not pieces:
        return [Guarded(tuple(code))]
    return [
        replace(s, part=replace(s.part, body=tuple(_guarded(s.part.body))))
        if isinstance(s, Pieces) else s for s in code
    ]  # fmt: skip


def _lowest(
    body: Iterable[Statement], bounds: dict[int, tuple[int, int]]
) -> Iterator[tuple[Load | Store, int]]:
    """What reads and writes buffers, with the first element that it touches; 0 where a position
    was loaded."""
    for statement in body:
        if isinstance(statement, (Load, Store)):
            ends = span(statement.at, bounds.__getitem__)
            yield statement, ends[0] if ends else 0
        elif isinstance(statement, For):
            inside = bounds | {statement.axis: (statement.start, statement.stop)}
            yield from _lowest(statement.body, inside)
        elif isinstance(statement, Chunks):
            yield from _lowest([*statement.before, statement.loop, *statement.after], bounds)
        elif isinstance(statement, Pieces):
            yield from _lowest(statement.part.body, bounds)


def _prune(body: Iterable[Statement], nest: Nest, memory: Memory, apart: bool) -> list[Statement]:
    """The statements without stores that nobody reads, and with one row for what only later sweeps
    of the nest read: one for each piece, where pieces compute rows at once."""
    survivors: list[Statement] = []
    for statement in body:
        bounds = bounds_of(statement)
        inner = apart or (bounds in nest.cuts and bounds[0] < nest.split)
        if isinstance(statement, For):
            inside = tuple(_prune(statement.body, nest, memory, inner))
            if inside:
                survivors.append(replace(statement, body=inside))
        elif isinstance(statement, Chunks):
            (loop,) = _prune([statement.loop], nest, memory, inner)
            assert isinstance(loop, For)
            survivors.append(replace(statement, loop=loop))
        elif isinstance(statement, (Load, Store)) and statement.buffer in memory.rows:
            survivors.append(replace(statement, at=_in_row(statement.at, nest, apart)))
        elif not (isinstance(statement, Store) and statement.buffer in memory.dropped):
            survivors.append(statement)
    return survivors


def _in_row(position: Affine, nest: Nest, apart: bool) -> Affine:
    """A position in an array as one in a single row of it, or in that of a piece."""
    terms = tuple(t for t in position.terms if not isinstance(t[0], int) or t[0] >= nest.split)
    return Affine(position.const % nest.row, (*terms, (PIECE, nest.row)) if apart else terms)


def _placed(
    statement: Statement, memory: Memory, places: dict, starts: dict, buffers: tuple
) -> Statement:
    """The statement over numbered buffers, which have these dtypes."""
    rest = memory, places, starts, buffers
    if isinstance(statement, Pieces):
        body = tuple(_placed(s, *rest) for s in statement.part.body)
        return replace(statement, part=replace(statement.part, buffers=buffers, body=body))
    if isinstance(statement, For):
        return replace(statement, body=tuple(_placed(s, *rest) for s in statement.body))
    if isinstance(statement, Chunks):
        loop = _placed(statement.loop, *rest)
        assert isinstance(loop, For)
        return replace(statement, loop=loop)
    if isinstance(statement, (Load, Store)):
        storage = memory.storage(statement.buffer)  # pyright: ignore[reportArgumentType]
        at = statement.at.shifted(-starts[storage])
        return replace(statement, buffer=places[storage], at=at)
    return statement
