"""Reverse mode: from a function to one that gives its value and the cotangents of its arguments."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ir.affine import ZERO, Affine, affine_of, variable
from ..ir.statements import (
    Break,
    For,
    Function,
    If,
    Literal,
    Load,
    New,
    Pointer,
    Position,
    Return,
    Store,
    Variable,
    While,
)
from ..ir.walk import inner, walk, with_inner
from .activity import active_names
from .adjoint import Adjoint
from .build import BOOL, INT, Names, copy, literal, names_of, operation, renamed
from .inline import inlined
from .plan import Plan
from .positions import Positions
from .record import Block, Record
from .simplify import Simplified
from .tree import Body, Loop, Segment, bodies, tree

__all__ = ["value_and_cotangents"]


def value_and_cotangents(
    function: Function, wrt: Collection[str], lengths: Sequence[str]
) -> Function:
    """A function of the parameters, of a shadow buffer for each buffer of `wrt`, and of a cotangent
    for each result that is a float. It adds to the shadows what flows back, where they hold before
    the cotangents of what the buffers hold at the end; it returns the results, and the cotangents
    of the numbers among `wrt`."""
    return _Reverse(function, wrt, lengths).function


@dataclass
class _Frame:
    """Where the words of a body stand, while its statements are written; None on the stack."""

    block: Block | None


class _Reverse:
    def __init__(self, function: Function, wrt: Collection[str], lengths: Sequence[str]):
        names = self._names = Names(name for name, _ in function.parameters)
        for each in walk(function.body):  # TODO
            for name in (getattr(each, "target", None), getattr(each, "axis", None)):
                if isinstance(name, str):
                    names.new(name)
        flat = inlined(function, names)
        numbers = {n: k for n, k in function.parameters if not isinstance(k, Pointer)}
        plain = Simplified(flat.declared, flat.body, flat.results, numbers, lengths, names)
        self._dtypes = plain.dtypes
        self._buffers = {n: k.dtype for n, k in function.parameters if isinstance(k, Pointer)}
        self._buffers |= {x.target: x.dtype for x in walk(plain.body) if isinstance(x, New)}
        self._variables = {each.target for each in plain.declared}
        self._plain = plain
        active = self._active(wrt)
        plain.body = _with_shadows(plain.body, active)
        self._primal = {n for each in walk(plain.body) for n in _defines(each)}
        self._tree = tree(plain.body)
        self._visible = set(self._tree.defined)
        results = [x for x in plain.results if isinstance(x, str)]
        passed = [name for name, kind in function.parameters if isinstance(kind, Pointer)]
        self._shadows = [name for name in passed if name in active]
        self._record = Record(names, self._dtypes)
        self._adjoint = Adjoint(
            names, self._dtypes, active, self._variables,
            self._shared(active, {*results, *numbers}), lambda buffer: f"{buffer}.bar",
        )  # fmt: skip
        for body in bodies(self._tree):
            for item in body.items:
                if isinstance(item, Segment):
                    item.adjoint = self._adjoint.of(item.statements)
        shapes = _shapes(function, lengths)
        constants = {*numbers, *self._tree.defined} - self._variables
        positions = Positions(walk(plain.body), shapes, constants)
        self._plan = Plan(self._tree, self._variables, self._adjoint.inside, positions)
        self._columns()
        self.function = self._whole(function, wrt)

    def _active(self, wrt: Collection[str]) -> set[Any]:
        """The names through which derivatives flow."""
        plain = self._plain
        results = [x for x in plain.results if isinstance(x, str)]
        outs = [n for n in self._buffers if n in wrt]
        return active_names(plain.body, wrt, [*results, *outs], self._dtype) | set(wrt)

    def _dtype(self, x: Any) -> np.dtype:
        if isinstance(x, Literal):
            return x.dtype
        return self._dtypes[x] if x in self._dtypes else self._buffers.get(x, INT)

    def _new(self, hint: str, dtype: np.dtype = INT) -> str:
        name = self._names.new(hint)
        self._dtypes[name] = dtype
        return name

    def _shared(self, active: Collection[str], start: set[str]) -> set[str]:
        """The values that are used in another sequence of statements than the one that defines
        them."""
        home: dict[str, int] = {}
        found = set(start)

        def visit(statements: Sequence[Any], place: int) -> None:
            for each in statements:
                for name in names_of(each):
                    if home.get(name, place) != place:
                        found.add(name)
                for name in _defines(each):
                    home[name] = place
                for part in inner(each):
                    visit(part, id(part))

        for body in bodies(self._tree):
            for item in body.items:
                if isinstance(item, Segment):
                    visit(item.statements, id(item))
        return found & set(active) | (start & set(active))

    # -- the record -------------------------------------------------------------------------------

    def _columns(self) -> None:
        """The number of words of each segment, and of the end of each body."""
        self._words: dict[Any, int] = {}
        for body in bodies(self._tree):
            for item in body.items:
                if isinstance(item, Segment):
                    self._words[item] = len(self._plan.saved[item]) + self._stored(item.statements)
            self._words[body] = len(body.recorded)

    def _stored(self, statements: Sequence[Any]) -> int:
        count = 0
        for each in statements:
            if isinstance(each, Store):
                count += id(each) in self._plan.written
            elif inside := sum(map(self._stored, inner(each))):
                count += inside + 1  # the condition
        return count

    # -- the whole --------------------------------------------------------------------------------

    def _whole(self, function: Function, wrt: Collection[str]) -> Function:
        adjoint, plain = self._adjoint, self._plain
        forward = self._forward(self._tree, None)
        seeds: list[tuple[str, np.dtype]] = []
        for x, dtype in zip(plain.results, function.results, strict=True):
            if dtype.kind == "f":
                seeds.append((self._new("cotangent", dtype), dtype))
                adjoint.add(x, seeds[-1][0])
        start = adjoint.flushed()
        end: list[Any] = []
        backward = self._backward(self._tree, None)
        numbers = [n for n, k in function.parameters if n in wrt and not isinstance(k, Pointer)]
        bars = [adjoint.bar(name) for name in numbers]
        shadows = [(f"{n}.bar", Pointer(self._buffers[n])) for n in self._shadows]
        declared = [*plain.declared, *self._rounds, *self._record.declared(),
                    *adjoint.declared.values()]  # fmt: skip
        body = [*declared, *forward, *start, *backward, *end, *self._record.freed(),
                Return((*plain.results, *bars))]  # fmt: skip
        return Function(
            f"{function.name}.vjp", (*function.parameters, *shadows, *seeds), tuple(body),
            (*function.results, *(self._dtypes[n] for n in numbers)),
        )  # fmt: skip

    # -- forward ----------------------------------------------------------------------------------

    _rounds: list[Variable]

    def _forward(self, body: Body, frame: Any) -> list[Any]:
        if body is self._tree:
            self._rounds = []
        made: list[Any] = []
        for item in body.items:
            if isinstance(item, Segment):
                made += self._segment(item)
            elif isinstance(item, Loop):
                made += self._loop(item)
            else:
                made.append(If(item.condition, tuple(self._forward(item.then, frame)),
                               tuple(self._forward(item.otherwise, frame))))  # fmt: skip
        if count := self._words[body]:
            block = self._record.reserve(literal(count, INT), made)
            for i, name in enumerate(body.recorded):
                made += self._record.write(block, i, name, self._dtype(name))
        return made

    def _segment(self, segment: Segment) -> list[Any]:
        count = self._words[segment]
        if not count:
            return list(segment.statements)
        made: list[Any] = []
        block = self._record.reserve(literal(count, INT), made)
        places = iter(range(count))
        for name in self._plan.saved[segment]:
            made += self._record.write(block, next(places), name, self._dtypes[name])
        return made + self._saving(segment.statements, block, places)

    def _saving(self, statements: Sequence[Any], block: Block, places: Any) -> list[Any]:
        """The statements, with the values that their stores overwrite written to the record."""
        made: list[Any] = []
        for each in statements:
            if isinstance(each, Store) and id(each) in self._plan.written:
                old = self._new("old", each.dtype)
                made.append(Load(old, each.buffer, each.at, each.dtype))
                made += self._record.write(block, next(places), old, each.dtype)
                made.append(each)
            elif isinstance(each, If) and self._stored([each]):
                made += self._record.write(block, next(places), each.condition, BOOL)
                then = self._saving(each.then, block, places)
                other = self._saving(each.otherwise, block, places)
                made.append(replace(each, then=tuple(then), otherwise=tuple(other)))
            else:
                made.append(each)
        return made

    def _loop(self, loop: Loop) -> list[Any]:
        body = self._forward(loop.body, None)
        statement = loop.statement
        if not _may_break(statement):
            return [replace(statement, body=tuple(body))]
        loop.rounds = self._new("rounds")
        self._rounds.append(Variable(loop.rounds, literal(0, INT), INT))
        before, after = self._new("round"), self._new("round")
        count = [
            copy(before, loop.rounds, INT),
            operation(after, "add", (before, literal(1, INT)), INT),
            copy(loop.rounds, after, INT),
        ]
        made: list[Any] = [copy(loop.rounds, literal(0, INT), INT)]
        made.append(replace(statement, body=(*count, *body)))
        block = self._record.reserve(literal(1, INT), made)
        total = self._new("rounds")
        return [*made, copy(total, loop.rounds, INT), *self._record.write(block, 0, total, INT)]

    # -- backward ---------------------------------------------------------------------------------

    def _again(self, name: str) -> str:
        """The name in the reverse pass of a value of the forward pass."""
        if name not in self._primal or name in self._visible or name in self._variables:
            return name
        own = f"{name}~"
        self._dtypes[own] = self._dtypes[name]
        return own

    def _reverse_of(self, statements: Sequence[Any]) -> list[Any]:
        return [renamed(x, self._again, lambda buffer: (buffer, ZERO), self._again)
                for x in statements]  # fmt: skip

    def _backward(self, body: Body, frame: Any) -> list[Any]:
        made: list[Any] = []
        if count := self._words[body]:
            block = self._record.release(literal(count, INT), made)
            for i, name in enumerate(body.recorded):
                made += self._record.read(block, i, self._again(name), self._dtype(name))
        again = []
        for item in body.items:
            if isinstance(item, Segment) and body is not self._tree:
                wanted = body.crossing.difference(body.recorded)
                again += [x for x in item.statements if set(_defines(x)) & wanted]
        made += self._reverse_of(again)
        for item in reversed(body.items):
            if isinstance(item, Segment):
                made += self._undone(item)
                local = [x for x in item.statements if set(_defines(x)) & item.local]
                made += self._reverse_of([*local, *item.adjoint])
            elif isinstance(item, Loop):
                made += self._loop_back(item)
            else:
                condition: Any = item.condition
                condition = self._again(condition) if isinstance(condition, str) else condition
                parts = self._backward(item.then, frame), self._backward(item.otherwise, frame)
                made.append(If(condition, *map(tuple, parts)))
        return made

    def _undone(self, segment: Segment) -> list[Any]:
        """Restore what a segment has overwritten."""
        count = self._words[segment]
        if not count:
            return []
        made: list[Any] = []
        block = self._record.release(literal(count, INT), made)
        places = iter(range(count))
        saved: list[Any] = []
        for name in self._plan.saved[segment]:
            old = self._new("old", self._dtypes[name])
            saved += self._record.read(block, next(places), old, self._dtypes[name])
            saved.append(copy(name, old, self._dtypes[name]))
        return made + self._restored(segment.statements, block, places) + saved

    def _restored(self, statements: Sequence[Any], block: Block, places: Any) -> list[Any]:
        parts: list[list[Any]] = []
        for each in statements:
            if isinstance(each, Store) and id(each) in self._plan.written:
                old = self._new("old", each.dtype)
                part = self._record.read(block, next(places), old, each.dtype)
                (back,) = self._reverse_of([Store(each.buffer, each.at, old, each.dtype)])
                parts.append([*part, back])
            elif isinstance(each, If) and self._stored([each]):
                condition = self._new("condition", BOOL)
                part = self._record.read(block, next(places), condition, BOOL)
                then = self._restored(each.then, block, places)
                other = self._restored(each.otherwise, block, places)
                parts.append([*part, If(condition, tuple(then), tuple(other))])
        return [each for part in reversed(parts) for each in part]

    def _loop_back(self, loop: Loop) -> list[Any]:
        statement, made = loop.statement, []
        body = self._backward(loop.body, None)
        axis = self._new("back")
        start: Any = 0
        if isinstance(statement, For):
            start, stop = (self._again(x) if isinstance(x, str) else x
                           for x in (statement.start, statement.stop))  # fmt: skip
        if loop.rounds:
            block = self._record.release(literal(1, INT), made)
            rounds, last = self._new("rounds"), self._new("last")
            made += self._record.read(block, 0, rounds, INT)
            made.append(operation(last, "subtract", (rounds, literal(1, INT)), INT))
            at = affine_of(0, {axis: -1, last: 1}).plus(_affine(start))
            start, stop = 0, rounds
        else:
            at = affine_of(-1, {axis: -1}).plus(_affine(start)).plus(_affine(stop))
        if isinstance(statement, For):
            self._dtypes[f"{statement.axis}~"] = INT
            body = [Position(f"{statement.axis}~", at), *body]
        return [*made, For(axis, start, stop, tuple(body))]


def _with_shadows(body: Sequence[Any], active: Collection[Any]) -> list[Any]:
    """The statements with a shadow, which is 0, for each new buffer that is active."""
    made: list[Any] = []
    for each in body:
        if isinstance(each, New) and each.target in active:
            made += [each, replace(each, target=f"{each.target}.bar", cleared=True)]
        else:
            made.append(with_inner(each, lambda body: tuple(_with_shadows(body, active))))
    return made


def _affine(x: Any) -> Affine:
    return Affine(x, ()) if isinstance(x, int) else variable(x)


def _may_break(loop: For | While) -> bool:
    return isinstance(loop, While) or any(
        isinstance(each, If) and any(isinstance(x, Break) for x in each.then) for each in loop.body
    )


def _defines(each: Any) -> list[str]:
    names = [getattr(each, "target", None), getattr(each, "axis", None)]
    return [*(x for x in names if isinstance(x, str)), *getattr(each, "results", ())]


def _shapes(function: Function, lengths: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The names of the lengths of each array: those of the parameters that follow its pointer."""
    found: dict[str, tuple[str, ...]] = {}
    array = ""
    for name, kind in function.parameters:
        if isinstance(kind, Pointer):
            array, found[name] = name, ()
        elif name in lengths and array:
            found[array] += (name,)
    return found
