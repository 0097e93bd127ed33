"""From a loop nest over values to a kernel over buffers, and what it is called with.

Buffers are numbered in order of use, and each pointer starts at the first element that is touched:
the same work at another place of a buffer is the same kernel, compiled once.
"""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import NamedTuple

from ...ir.affine import Affine, span
from ...ir.statements import PIECE, For, Kernel, Load, Pieces, Statement, Store
from ...ir.walk import in_loops, inner, rewritten, with_inner
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
    for statement, bounds in in_loops(body):
        if isinstance(statement, (Load, Store)):
            value = statement.buffer
            assert isinstance(value, Value)
            storage, ends = memory.storage(value), span(statement.at, bounds.__getitem__)
            low = ends[0] if ends else 0  # where a position was loaded
            values.setdefault(storage, value)
            starts[storage] = min(starts.get(storage, low), low)
    places = {storage: i for i, storage in enumerate(values)}
    buffers = tuple(v.dtype for v in values.values())

    def placed(statement: Statement) -> Statement:
        """The statement over numbered buffers."""
        if not isinstance(statement, (Load, Store)):
            return statement
        storage = memory.storage(statement.buffer)  # pyright: ignore[reportArgumentType]
        at = statement.at.shifted(-starts[storage])
        return replace(statement, buffer=places[storage], at=at)

    code = [
        replace(s, part=replace(s.part, buffers=buffers)) if isinstance(s, Pieces) else s
        for s in rewritten(body, placed)
    ]
    kernel = Kernel(
        "loop", buffers, tuple(nest.numbers.values()),
        tuple(code),
        tuple(nest.totals.values()), tuple(value.dtype for value in nest.numbers),
    )  # fmt: skip
    arguments = [KernelArgument(s, starts[s], value) for s, value in values.items()]
    return KernelCall(kernel, arguments, list(nest.numbers), list(nest.totals), sorted(nest.lines))


def _prune(body: Iterable[Statement], nest: Nest, memory: Memory, apart: bool) -> list[Statement]:
    """The statements without stores that nobody reads, and with one row for what only later sweeps
    of the nest read: one for each piece, where pieces compute rows at once."""
    survivors: list[Statement] = []
    for statement in body:
        bounds = bounds_of(statement)
        in_piece = apart or (bounds in nest.cuts and bounds[0] < nest.split)
        if inner(statement):
            statement = with_inner(
                statement, lambda body, here=in_piece: tuple(_prune(body, nest, memory, here))
            )
            if not isinstance(statement, For) or statement.body:
                survivors.append(statement)
        elif isinstance(statement, (Load, Store)) and statement.buffer in memory.rows:
            survivors.append(replace(statement, at=_in_row(statement.at, nest, apart)))
        elif not (isinstance(statement, Store) and statement.buffer in memory.dropped):
            survivors.append(statement)
    return survivors


def _in_row(position: Affine, nest: Nest, apart: bool) -> Affine:
    """A position in an array as one in a single row of it, or in that of a piece."""
    terms = tuple(t for t in position.terms if not isinstance(t[0], int) or t[0] >= nest.split)
    return Affine(position.const % nest.row, (*terms, (PIECE, nest.row)) if apart else terms)
