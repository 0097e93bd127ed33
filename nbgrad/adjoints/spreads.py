"""Loops of independent rounds as loops that run in pieces on several threads.

The number of pieces depends on the work alone, never on the number of threads, and each sum is
added in one order, so results are the same for any number of threads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.affine import ZERO, Affine, variable
from ..ir.spread import Spread
from ..ir.statements import (
    Address,
    Assign,
    Call,
    For,
    Function,
    If,
    Load,
    New,
    Operand,
    Pointer,
    Position,
    Return,
    Store,
)
from ..ir.walk import walk, with_inner
from .build import INT, Names, copy, defined_names, literal, operation
from .increments import with_increments
from .inline import inlined
from .lengths import known_lengths, shapes_of, with_made
from .positions import Positions
from .rounds import Independent, Rounds
from .simplify import Simplified
from .tree import Body, Branch, Loop, Segment, tree
from .work import Work, rounds_of_block

__all__ = ["Spreads", "adding_to", "with_pieces"]

# At most 2**_SHIFT blocks of rounds have sums of their own.
_SHIFT = 12
_MOST_BLOCKS = literal(2**_SHIFT - 1, INT)


def with_pieces(function: Function, lengths: Sequence[str], keeps_order: bool = False) -> Function:
    """The function with its loops of independent rounds in pieces. With `keeps_order`, arrays hold
    what they hold on one thread if it raises."""
    if not any(isinstance(each, For) for each in walk(function.body)):
        return function
    parameters = [name for name, _ in function.parameters]
    names = Names([*parameters, *defined_names(function.body)])
    numbers = {n: k for n, k in function.parameters if not isinstance(k, Pointer)}
    flat = inlined(function, names)
    plain = Simplified(flat.declared, flat.body, flat.results, numbers, lengths, names)
    dtypes = plain.dtypes

    def new(hint: str, dtype: np.dtype = INT) -> str:
        name = names.new(hint)
        dtypes[name] = dtype
        return name

    variables = {each.target for each in plain.declared}
    body = with_increments(plain.body, plain.results, new)
    top = tree(body, variables)
    shapes = shapes_of(function, lengths)
    kinds = (Assign, Load, Position)
    constants = {*numbers, *(x.target for x in body if isinstance(x, kinds))} - variables
    positions = Positions(walk(body), with_made(shapes), constants, variables)
    results = [x for x in plain.results if isinstance(x, str)]
    rounds = Rounds(
        top, positions, sorted(variables), results, (), known_lengths(function, shapes),
        lambda name: dtypes[name].kind == "f", keeps_order,
    )  # fmt: skip
    if not rounds.loops:
        return function
    spreads = Spreads(rounds.loops, positions, new, dtypes)
    made = (*plain.declared, *spreads.body(top), Return(tuple(plain.results)))
    return replace(function, body=made)


class Spreads:
    """Writes loops in pieces. `new(hint, dtype)` gives new names."""

    def __init__(
        self, loops: Mapping[Loop, Independent], positions: Positions, new: Callable[..., str],
        dtypes: Mapping[str, np.dtype],
    ):  # fmt: skip
        self.loops, self._positions = loops, positions
        self._new, self._dtypes = new, dtypes

    def body(self, body: Body) -> list[Any]:
        """The statements of a body, its loops of independent rounds in pieces."""
        made: list[Any] = []
        for item in body.items:
            if isinstance(item, Segment):
                made += item.statements
            elif isinstance(item, Branch):
                then, otherwise = self.body(item.then), self.body(item.otherwise)
                made.append(If(item.condition, tuple(then), tuple(otherwise)))
            else:
                inside = item.left(self.body(item.body))
                whole = replace(item.statement, body=tuple(inside))
                made += self._alone(item, whole) if item in self.loops else [whole]
        return made

    def _alone(self, loop: Loop, whole: For) -> list[Any]:
        """A loop in pieces."""
        made: list[Any] = []
        work, added = self._work(loop, _same), self._added(loop, made, _same)
        whole, after = self._summed(loop, adding_to(whole, added), made)
        count = work.pieces(loop, 1, [size for _, _, size in added], made)
        return [*made, self._spread(whole, count, (), added), *after]

    def _spread(
        self, whole: For, count: Operand, sums: Sequence[str], shared: Sequence[Any]
    ) -> Spread:
        return Spread(whole, count, self._new("piece"), tuple(sums), tuple(shared))

    def _work(self, loop: Loop, value: Callable[[str], Operand]) -> Work:
        """The work of a loop, where `value` gives the values of names from outside of it."""
        inside = self.loops[loop].inside

        def known(x: Any, of: Loop) -> Any:
            if x in inside or not self._is_known(of):
                return None
            return value(x) if isinstance(x, str) else x

        return Work(self._positions, self._new, known)

    def _is_known(self, loop: Loop) -> bool:
        """Whether the bounds of a loop are known wherever its work is computed."""
        return True

    def _summed(self, loop: Loop, whole: For, made: list[Any], in_blocks: bool = True) -> tuple:
        """The loop, which stores what a round adds to each sum, and the loop that adds this up in
        the order of the rounds. Of a loop over `prange` that is `in_blocks`, blocks of rounds are
        summed first."""
        names = self.loops[loop].sums
        if not names:
            return whole, []
        work = self._work(loop, _same)
        stored = work.rounds(loop, made)
        before: list[Any] = []
        index = self._new("round")
        if in_blocks and loop.statement.parallel:
            whole, stored = self._blocks(loop, whole, stored, index, made)
        else:
            start = _affine(whole.start).times(-1)
            before = [Position(index, variable(whole.axis).plus(start))]
        ends: list[Any] = []
        again: list[Any] = []
        each = self._new("each")
        for name in names:
            dtype = self._dtypes[name]
            terms, term, old = (self._new(x, dtype) for x in ("terms", "term", "old"))
            more, total = self._new("more", dtype), self._new("total", dtype)
            made.append(New(terms, stored, dtype))
            before.append(copy(name, literal(-0.0 if dtype.kind == "f" else 0, dtype), dtype))
            ends += [copy(term, name, dtype), Store(terms, variable(index), term, dtype)]
            again += [
                copy(old, name, dtype),
                Load(more, terms, variable(each), dtype),
                operation(total, "add", (old, more), dtype),
                copy(name, total, dtype),
            ]
        stop = int(stored.number) if not isinstance(stored, str) else stored
        whole = replace(whole, body=(*before, *whole.body, *ends))
        return whole, [For(each, 0, stop, tuple(again))]

    def _blocks(
        self, loop: Loop, whole: For, rounds: Operand, index: str, made: list[Any]
    ) -> tuple[For, Operand]:
        """A loop over blocks of rounds, and their number."""
        do = self._work(loop, _same).operation
        size = do("right_shift", do("add", rounds, _MOST_BLOCKS, made), literal(_SHIFT, INT), made)
        size = do("maximum", size, literal(rounds_of_block(loop), INT), made)
        count = do("subtract", do("add", rounds, size, made), literal(1, INT), made)
        count = do("floor_quotient", count, size, made)
        inside: list[Any] = []
        start, stop = (
            literal(x, INT) if isinstance(x, int) else x for x in (whole.start, whole.stop)
        )
        low = do("add", start, do("multiply", index, size, inside), inside)
        high = do("minimum", do("add", low, size, inside), stop, inside)
        body = (*inside, replace(whole, start=low, stop=high))
        end = int(count.number) if not isinstance(count, str) else count
        return For(index, 0, end, body, parallel=True), count

    # -- buffers ----------------------------------------------------------------------------------

    def _added(self, loop: Loop, made: list[Any], value: Callable[[str], Operand]) -> list[Any]:
        """The buffers of a piece for those to which several rounds add."""
        return self._of_pieces(self.loops[loop].added, _same, value, loop, made)

    def _of_pieces(
        self, buffers: Sequence[Any], goal: Callable[[Any], Any], value: Callable[[str], Operand],
        loop: Loop, made: list[Any],
    ) -> list[Any]:  # fmt: skip
        """Buffers of a piece for others, with the addresses of these and their sizes."""
        work, found = self._work(loop, value), []
        for buffer, lengths, dtype in buffers:
            total: Operand = literal(1, INT)
            for each in lengths:
                each = value(each) if isinstance(each, str) else each
                total = work.operation("multiply", total, each, made)
            place = Address(goal(buffer), ZERO, dtype)
            found.append((self._new(f"{place.buffer}.part", dtype), place, total))
        return found


def adding_to(statement: Any, shared: Sequence[Any]) -> Any:
    """The statement with stores to the buffers of a piece, in place of those that they are for."""
    names = {address.buffer: name for name, address, _ in shared}

    def change(each: Any) -> Any:
        if isinstance(each, Store):
            return replace(each, buffer=names.get(each.buffer, each.buffer))
        if isinstance(each, Call):
            given = [
                replace(x, buffer=names.get(x.buffer, x.buffer)) if isinstance(x, Address) else x
                for x in each.arguments
            ]
            return replace(each, arguments=tuple(given))
        return with_inner(each, lambda body: tuple(map(change, body)))

    return change(statement) if names else statement


def _same(name: Any) -> Any:
    return name


def _affine(x: Any) -> Affine:
    return Affine(x, ()) if isinstance(x, int) else variable(x)
