"""The loops of a function."""

import ast
import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ...ir.statements import Break, Continue, For, If, Raise, Return, Statement, While
from .comprehensions import Comprehension, filled
from .emit import FunctionBuilder
from .expressions import Expressions
from .iteration import (
    Chosen,
    Enumerated,
    Indices,
    Items,
    ParallelRange,
    Range,
    Scattered,
    arrays_of,
    bound,
    items_of,
    made_by,
    one_type,
)
from .joins import Frame, looped
from .steps import Steps, require_whole
from .syntax import Unsupported
from .values import BOOL, INT, Array, Known, Number, Value
from .variables import Variables

_END = (Break, Continue, Raise, Return)


class Loops:
    """Reads the loops of one activation of a function; `Walk` reads the other statements."""

    _emit: FunctionBuilder
    _variables: Variables
    _expressions: Expressions
    _frames: list[Frame]

    @property
    def _value(self) -> Callable[[ast.expr], Value]:
        return self._expressions.value

    @abstractmethod
    def _body(self, body: Sequence[ast.stmt]) -> None: ...

    @abstractmethod
    def _if(self, test: Value, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None: ...

    @abstractmethod
    def _target(self, target: ast.expr, value: Value) -> None: ...

    def _looped(self, node: ast.For | ast.While, read: Callable[[Frame], Statement]) -> None:
        """A loop, and its `else`, which runs where no `break` has left the loop."""
        emit, variables = self._emit, self._variables
        is_left = any(_leaves_round(each, ast.Break) for each in node.body)
        broken = variables.declared(BOOL, "broken") if node.orelse and is_left else None
        if broken is not None:
            variables.write(broken, Known(False))

        def reading(frame: Frame) -> Statement:
            frame.broken = broken
            self._frames.append(frame)
            try:
                return read(frame)
            finally:
                self._frames.pop()

        looped(emit, variables, reading)
        if broken is not None:
            self._if(variables.read(broken), [], node.orelse)
        elif node.orelse:
            self._body(node.orelse)

    def _left(self) -> None:
        """At a `break`."""
        frame = self._frames[-1]
        frame.leave()
        if frame.broken is not None:
            self._variables.write(frame.broken, Known(True))

    def _while(self, test: ast.expr, body: Sequence[ast.stmt], frame: Frame) -> Statement:
        emit, variables = self._emit, self._variables
        frame.enter(False)
        with emit.block() as statements, variables.inner():
            condition = self._expressions.condition(test)
            if not isinstance(condition, Known):
                stop = emit.typed(emit.operation(operator.not_, condition))
                with emit.block() as leaving:
                    frame.leave()
                emit.branch(stop, [*leaving, Break()], [])
            elif not condition.value:
                frame.leave()
                emit.add(Break())
            self._body(body)
            if not is_ended(emit.body):
                frame.next_round(False)
        return While(tuple(statements))

    def _for(self, node: ast.For) -> None:
        items = getattr(node, "items", None) or self._items(node.iter)
        if isinstance(items, tuple):
            if not node.orelse and not any(map(_leaves_round, node.body)):
                self._for_each(node, items)
                return
            items = Chosen(self._emit, items)
        if isinstance(items, Steps):
            require_whole(node.body)
        if isinstance(items, Range) and items.is_by_one:
            first, last = items.start, items.stop
        else:
            first, last = Known(0), items.count
        start, stop = bound(self._emit, first), bound(self._emit, last)
        # The loop stands for the arrays whose elements are items, as a variable does.
        held = f"loop {len(self._frames)}, over {ast.unparse(node.iter)},"
        self._variables[held] = arrays_of(items)
        self._looped(node, lambda frame: self._rounds(node, items, start, stop, frame))
        self._variables.taken(held)

    def _rounds(
        self, node: ast.For, items: Items, start: Any, stop: Any, frame: Frame
    ) -> Statement:
        """A loop over items. The body may assign the loop variable, which does not change the
        number of rounds."""
        emit = self._emit
        frame.enter(True)
        hint = node.target.id if isinstance(node.target, ast.Name) else ""
        by_one = isinstance(items, Range) and items.is_by_one
        axis = emit.name(hint if by_one else "")
        with emit.block() as statements, self._variables.inner():
            if isinstance(items, Range) and by_one:
                item: Value = items.as_item(Number(axis, INT, items.natural))
            else:
                item = items.at(Number(axis, INT, True))
            if isinstance(node.target, ast.Name):
                self._variables.assign(node.target.id, item)
            else:
                self._target(node.target, emit.settled(item))
            self._body(node.body)
            if not is_ended(emit.body):
                frame.next_round(True)
        if isinstance(items, Steps):
            schedule, copies = items.schedule, items.copies
            return For(axis, start, stop, tuple(statements), checkpoint=schedule, snapshots=copies)
        parallel = isinstance(items, ParallelRange)
        return For(axis, start, stop, tuple(statements), parallel=parallel)

    def _items(self, node: ast.expr) -> Items | tuple:
        """The items of an iterable; those of a tuple as a tuple."""
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return items_of(self._emit, self._listed(node))
        if not isinstance(node, ast.Call):
            return items_of(self._emit, self._value(node))
        called = self._value(node.func)
        make = made_by(called.value) if isinstance(called, Known) else None
        if make is None:
            return items_of(self._emit, self._value(node))
        is_steps = issubclass(make, Steps)
        known = ("start",) if make is Enumerated else ("n", "checkpoint") if is_steps else ()
        if any(each.arg not in known for each in node.keywords):
            raise Unsupported("a loop over a call with keywords")
        named = {str(each.arg): self._value(each.value) for each in node.keywords}
        count = (
            0
            if issubclass(make, (Range, Scattered, Indices))
            else 1
            if make is Enumerated
            else len(node.args)
        )
        given = [
            *map(self._whole, node.args[:count]),
            *map(self._value, node.args[count:]),
        ]
        return make(self._emit, *given, **named)

    def _whole(self, node: ast.expr) -> Items:
        """The items of an argument of enumerate, zip or reversed."""
        items = self._items(node)
        return Chosen(self._emit, items) if isinstance(items, tuple) else items

    def _listed(self, node: Comprehension) -> Array:
        """The array of a comprehension."""
        expressions = self._expressions
        return filled(
            self._emit, node, self._whole, self._value, lambda each: self._body([each]),
            expressions.local.add, self._variables,
        )  # fmt: skip

    def _for_each(self, node: ast.For, values: Sequence[Value]) -> None:
        """A loop over the members of a tuple: its body for each of them."""
        one_type(self._emit, values)
        for value in map(self._emit.settled, values):
            self._target(node.target, value)
            self._body(node.body)


def _leaves_round(node: ast.AST, *kinds: type) -> bool:
    """Whether a statement has a `break` or `continue` of the loop around it."""
    if isinstance(node, kinds or (ast.Break, ast.Continue)):
        return True
    inside = node.orelse if isinstance(node, (ast.For, ast.While)) else ast.iter_child_nodes(node)
    return any(_leaves_round(each, *kinds) for each in inside)


def is_ended(body: Sequence[Statement]) -> bool:
    """Whether nothing runs after these statements."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, If):
        return is_ended(last.then) and is_ended(last.otherwise)
    if isinstance(last, While):
        return not _is_left(last.body)
    return isinstance(last, _END)


def _is_left(body: Sequence[Statement]) -> bool:
    """Whether a `Break` in a body leaves its loop."""
    for statement in body:
        if isinstance(statement, Break):
            return True
        if isinstance(statement, If):
            if _is_left(statement.then) or _is_left(statement.otherwise):
                return True
    return False
