"""Shadows that need not be 0 at first: where the first loops that add to a shadow add to each of
its elements once, they set them instead.

For large arrays this saves half of the traffic to memory: they are neither set to 0 nor read.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..ir.affine import ZERO
from ..ir.library import PRODUCT, SET_PRODUCT
from ..ir.reductions import SUM
from ..ir.scalar import Apply
from ..ir.spread import Spread
from ..ir.statements import (
    Assign,
    Break,
    Call,
    Continue,
    For,
    Function,
    If,
    Literal,
    New,
    Position,
    Raise,
    Return,
    Store,
    Variable,
    While,
)
from ..ir.walk import walk, with_inner
from .build import Names, buffers_of, defined_names, literal, names_of, renamed
from .lengths import with_made
from .library import SIZES
from .positions import Access, Positions

__all__ = ["with_first_sets"]


def with_first_sets(
    function: Function, shapes: Mapping[str, Sequence[str]]
) -> tuple[Function, frozenset[str]]:
    """The function, and those of its shadows, of known `shapes`, that may hold anything before it:
    it sets all of their elements first. So it does with buffers that it makes once."""
    variables = {x.target for x in walk(function.body) if isinstance(x, Variable)}
    numbers = [name for name, _ in function.parameters]
    numbers += [x.target for x in function.body if isinstance(x, (Assign, Position))]
    made = {x.target for x in function.body if isinstance(x, New) and x.cleared}
    every = with_made(shapes, function.body, {x for x in numbers if x not in variables})
    waiting = {x: every.lengths[x] for x in (*shapes, *made) if x in every.lengths}
    constants = [x for x in numbers if x not in variables]
    positions = Positions(walk(function.body), every, constants, variables)
    body, found, equal = list(function.body), set(), _Equal()
    names = Names([*(name for name, _ in function.parameters), *defined_names(body)])
    for i, statement in enumerate(body):
        if not waiting:
            break
        equal.note(statement)
        if isinstance(statement, New):
            continue
        touched = {x for each in walk([statement]) for x in _touched(each)}
        for buffer in touched.intersection(waiting):
            shape = waiting.pop(buffer)
            if isinstance(statement, Call) and _is_whole(statement, buffer, shape, equal):
                body[i] = replace(statement, function=SET_PRODUCT)
                found.add(buffer)
            elif (store := _first_set(body[i], buffer, shape, positions, equal)) is not None:
                body[i] = _Setting(store, names).of(body[i])
                found.add(buffer)
    whole = tuple(
        replace(x, cleared=False) if isinstance(x, New) and x.target in found else x for x in body
    )
    return replace(function, body=whole), frozenset(found.intersection(shapes))


class _Equal:
    """Lengths that are equal, as the function raises an exception otherwise."""

    def __init__(self):
        self._defined: dict[str, Any] = {}
        self._same: dict[Any, Any] = {}

    def note(self, statement: Any) -> None:
        match statement:
            case Assign(target=target):
                self._defined[target] = statement
            case If(condition=condition, then=(*_, Raise()), otherwise=()):
                match self._applied("invert", condition):
                    case (inner,):
                        pair = {self.of(x) for x in self._applied("equal", inner)}
                        if len(pair) == 2:
                            self._same[pair.pop()] = pair.pop()

    def _applied(self, name: str, x: Any) -> tuple[Any, ...]:
        match self._defined.get(x):
            case Assign(body=Apply(function=function), operands=operands) if function.name == name:
                return operands
        return ()

    def of(self, x: Any) -> Any:
        """The same for equal lengths."""
        x = x.number if isinstance(x, Literal) else x
        while x in self._same:
            x = self._same[x]
        return x


def _touched(each: Any) -> set[Any]:
    call = getattr(each, "call", None)  # of a loop
    return {*buffers_of(each), *(buffers_of(call) if call is not None else ())}


def _first_set(
    statement: Any, buffer: Any, shape: Sequence[Any], positions: Positions, equal: _Equal
) -> Store | None:
    """The store that adds to each element once, if nothing else in loops touches a buffer."""
    loop = statement.loop if isinstance(statement, Spread) else statement
    inside = walk([loop])
    uses = [x for x in walk([statement]) if buffer in _touched(x)]
    if not isinstance(loop, For) or len(uses) != 1 or any(x.call for x in _loops(inside)):
        return None
    if any(isinstance(x, (Break, Continue, Return, While, Call)) for x in inside):
        return None
    path = _path(loop, uses[0])
    store = uses[0]
    if path is None or not isinstance(store, Store) or store.kind is not SUM:
        return None
    subscripts = positions.subscripts(Access(buffer, store.at, ()))
    if len(subscripts) != len(shape) or len(path) != len(shape):
        return None
    lengths = {x.axis: x.stop for x in path}
    for form, length in zip(subscripts, shape, strict=True):
        axes = [x for x in form.terms if x in lengths] if form is not None else []
        if form is None or len(axes) != 1:
            return None
        (axis,) = axes
        if equal.of(lengths.pop(axis)) != equal.of(length):
            return None
        rest = {equal.of(x): factor for x, factor in form.terms.items() if x != axis}
        is_forward = form.terms[axis] == 1 and form.const == 0 and not rest
        is_backward = form.terms[axis] == form.const == -1 and rest == {equal.of(length): 1}
        if not is_forward and not is_backward:
            return None
    return store


def _is_whole(call: Call, buffer: Any, shape: Sequence[Any], equal: _Equal) -> bool:
    """Whether a call is a product that is added to all elements of a buffer."""
    if call.function != PRODUCT or len(call.arguments) != SIZES:
        return False
    to, x, y, m, n, _, row, column, *_ = call.arguments
    if to.buffer != buffer or to.at != ZERO or buffer in (x.buffer, y.buffer):
        return False
    sizes, steps, lengths = ([*map(equal.of, xs)] for xs in ((m, n), (row, column), shape))
    if len(shape) == 1:
        length = lengths[0]
        return (sizes == [length, 1] and steps[0] == 1) or (sizes == [1, length] and steps[1] == 1)
    in_order = sizes == lengths and steps == [lengths[-1], 1]
    turned = sizes[::-1] == lengths and steps == [1, lengths[-1]]
    return len(shape) == 2 and (in_order or turned)


def _loops(statements: Collection[Any]) -> list[For]:
    return [x for x in statements if isinstance(x, For)]


def _path(loop: For, store: Any) -> list[For] | None:
    """The loops around a statement, if there is nothing but loops from 0 on around it, and tests
    that only save time."""
    if loop.start != 0 or loop.step != 1 or loop.checkpoint:
        return None
    body = _inside_skips(loop.body)
    if any(each is store for each in body):
        return [loop]
    for each in body:
        if isinstance(each, For) and any(x is store for x in walk([each])):
            inner = _path(each, store)
            return None if inner is None else [loop, *inner]
    return None


def _inside_skips(body: Sequence[Any]) -> list[Any]:
    """The statements, with those of branches that only save time in place of these."""
    made: list[Any] = []
    for each in body:
        made += _inside_skips(each.then) if isinstance(each, If) and each.is_skip else [each]
    return made


class _Setting:
    """Writes the statements in which a store sets its element."""

    def __init__(self, store: Store, names: Names):
        self._store, self._names = store, names

    def of(self, statement: Any) -> Any:
        if statement is self._store:
            return replace(self._store, kind=None)
        if not any(x is self._store for x in walk([statement])):
            return statement
        if isinstance(statement, If):  # it only saves time
            then = tuple(map(self.of, statement.then))
            return replace(statement, then=then, otherwise=self._zeros(statement.then))
        return with_inner(statement, lambda body: tuple(map(self.of, body)))

    def _zeros(self, body: Sequence[Any]) -> tuple[Any, ...]:
        """The statements that only set the elements, to 0."""
        made = self._needed(body, set())
        own = {name: self._names.new(name) for name in defined_names(made)}
        return tuple(
            renamed(x, lambda n: own.get(n, n), lambda b: (b, ZERO), lambda n: own.get(n, n))
            for x in made
        )

    def _needed(self, body: Sequence[Any], names: set[str]) -> list[Any]:
        made: list[Any] = []
        for each in reversed(body):
            if each is self._store:
                zero = literal(0, self._store.dtype)
                made.append(replace(self._store, value=zero, kind=None))
                names |= names_of(self._store)
            elif isinstance(each, (For, If)) and any(x is self._store for x in walk([each])):
                inner = self._needed(each.body if isinstance(each, For) else each.then, names)
                if isinstance(each, If):
                    made += reversed(inner)
                    continue
                made.append(replace(each, body=tuple(inner)))
                names |= names_of(replace(each, body=()))
            elif getattr(each, "target", None) in names:
                made.append(each)
                names |= names_of(each)
        return made[::-1]
