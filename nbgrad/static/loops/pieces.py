"""Long loops in pieces, which threads run at once: which loops may be, and their parts as kernels
of their own."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...codegen.affine import Affine, span
from ...codegen.loops import (
    PIECE,
    Begin,
    Chunks,
    Gemm,
    Guarded,
    Join,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Pieces,
    Place,
    Statement,
    Store,
    is_ranged,
    statements,
)
from ...core.sizes import is_dynamic
from ...kernels.pieces import cut, is_large

Bounds = tuple[int, int, int]
"""A loop by its axis, start and stop."""


def bounds_of(statement: Statement) -> Bounds | None:
    """The bounds of a loop; None for other statements."""
    loop = statement.loop if isinstance(statement, Chunks) else statement
    return (loop.axis, loop.start, loop.stop) if isinstance(loop, Loop) else None


def pieces_of(body: Iterable[Statement]) -> dict[Bounds, int]:
    """How many rounds a piece has of each long loop, where all of these may run in pieces. Loops of
    a length known at run time stay whole."""
    sizes: dict[Bounds, int] = {}
    for statement in body:
        elements = _elements(statement)
        if is_dynamic(elements):
            return {}
        if not is_large(elements):
            continue
        bounds = bounds_of(statement)
        if bounds is None or not _is_apart(statement):
            return {}
        rounds = bounds[2] - bounds[1]
        size = cut(rounds, elements)
        if size >= rounds:
            return {}
        sizes[bounds] = size
    return sizes


def _elements(statement: Statement) -> int:
    """How often the innermost body runs."""
    if isinstance(statement, Chunks):
        return _elements(statement.loop)
    if not isinstance(statement, Loop):
        return 1
    return (statement.stop - statement.start) * max(map(_elements, statement.body), default=1)


# -- whether the rounds of a loop are independent -------------------------------------------------


def _is_apart(statement: Statement) -> bool:
    """Whether rounds of a loop write to different places, and read nothing that others write, but
    for running sums and their like."""
    bounds = bounds_of(statement)
    assert bounds is not None
    touched: dict[Hashable, list[tuple[int, int, int] | None]] = {}
    written: set[Hashable] = set()
    for access, reach in _accesses([statement], bounds[0], {}):
        if access is None:
            return False
        touched.setdefault(access.buffer, []).append(reach)
        if isinstance(access, Store):
            written.add(access.buffer)
    if not all(_lie_apart(touched[buffer]) for buffer in written):
        return False
    carried = set(_carried(statement))
    return not carried & _read(statement)


def _lie_apart(reaches: Sequence[tuple[int, int, int] | None]) -> bool:
    """Whether what a round reaches ends before that of the next begins."""
    known = [reach for reach in reaches if reach is not None]
    steps = {step for step, _, _ in known}
    if len(known) < len(reaches) or len(steps) > 1 or 0 in steps:
        return False
    low, high = min(low for _, low, _ in known), max(high for _, _, high in known)
    return high - low < abs(*steps)


def _accesses(body: Iterable[Statement], axis: int, bounds: Mapping[int, tuple[int, int]]):
    """The loads and stores in the rounds of a loop over `axis`: by how much the next round is
    further, and the first and last element from there; None where that is not known. In place of
    what else touches buffers comes None."""
    for statement in body:
        if isinstance(statement, (Load, Store)):
            terms = dict(statement.at.terms)
            step = terms.pop(axis, 0)
            ends = span(Affine(statement.at.const, tuple(terms.items())), bounds.__getitem__)
            yield statement, ends and (step, *ends)
        elif isinstance(statement, Loop):
            inside = {**bounds, statement.axis: (statement.start, statement.stop)}
            yield from _accesses(statement.body, axis, inside)
        elif isinstance(statement, Chunks):
            yield from _accesses(
                [*statement.before, statement.loop, *statement.after], axis, bounds
            )
        elif isinstance(statement, (Gemm, Guarded, Pieces)):
            yield None, None


def _flat(statement: Statement) -> list[Statement]:
    """All statements inside of a loop that are no loops."""
    if isinstance(statement, Chunks):
        inside = [*statement.before, statement.loop, *statement.after]
    elif isinstance(statement, Loop):
        inside = statement.body
    else:
        return [statement]
    return [each for s in inside for each in _flat(s)]


def _defined(statement: Statement) -> set[str]:
    return {s.target for s in _flat(statement) if isinstance(s, (Let, Load, Place, Begin))}


def _carried(statement: Statement) -> dict[str, Join]:
    """The joins into names from outside of a loop."""
    own = _defined(statement)
    joins = (s for s in _flat(statement) if isinstance(s, Join))
    return {join.target: join for join in joins if join.target not in own}


def _read(statement: Statement) -> set[str]:
    """The names that statements of a loop read, besides what they join into."""
    names: set[str] = set()
    for s in _flat(statement):
        if isinstance(s, Let):
            names.update(x for x in s.operands if isinstance(x, str))
        elif isinstance(s, Begin):
            names.update({s.start} if isinstance(s.start, str) else ())
        elif isinstance(s, (Join, Store)):
            names.update({s.value} if isinstance(s.value, str) else ())
        if isinstance(s, (Load, Store, Place)):
            names.update(name for name, _ in s.at.terms if isinstance(name, str))
    return names


# -- taking them out ------------------------------------------------------------------------------


def in_pieces(
    code: Iterable[Statement], sizes: Mapping[Bounds, int], buffers: tuple[np.dtype, ...]
) -> tuple[Statement, ...]:
    """The statements of a kernel over `buffers`, with the loops of `sizes` in pieces."""
    return tuple(
        _taken_out(statement, size, buffers) if (size := sizes.get(bounds_of(statement), 0))
        else statement for statement in code
    )  # fmt: skip


def _taken_out(statement: Statement, size: int, buffers: tuple[np.dtype, ...]) -> Pieces:
    bounds = bounds_of(statement)
    assert bounds is not None
    joins = _carried(statement)
    needed = _read(statement) - _defined(statement) - {PIECE}
    if isinstance(statement, Chunks):
        shared = replace(statement, loop=replace(statement.loop, piece=size))
    else:
        shared = replace(statement, piece=size)
    begins = [Begin(n, Literal(j.kind.neutral(j.dtype), j.dtype)) for n, j in joins.items()]
    body = (*begins, shared)
    if any(is_ranged(s) for s, _ in statements(body)):
        body = (Guarded(body),)
    part = Kernel("part", buffers, (*sorted(needed), PIECE), body, tuple(joins))
    count = -(-(bounds[2] - bounds[1]) // size)
    ends = tuple(Join(n, j.kind, n, j.dtype) for n, j in joins.items())
    return Pieces(part, count, ends)


__all__ = ["Bounds", "bounds_of", "in_pieces", "pieces_of"]
