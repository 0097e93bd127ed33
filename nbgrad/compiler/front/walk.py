"""The statements of a function."""

import ast
import builtins
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...ir.statements import (
    Break,
    Call,
    Continue,
    For,
    If,
    Raise,
    Return,
    Statement,
    While,
)
from . import dtypes
from .arrays import assign, in_memory, is_view, returned_array
from .elements import element, set_element
from .emit import FunctionBuilder
from .expressions import OPERATORS, Expressions, refuse
from .functions import parameter_names
from .iteration import Chosen, Enumerated, Items, Range, bound, items_of, made_by, one_type
from .joins import Frame, join, looped
from .syntax import Unsupported, definition_of, line_of
from .values import BOOL, INT, Array, Known, Lazy, Number, Value, members, rebuilt
from .variables import Unassigned

_END = (Break, Continue, Raise, Return)


class Walk:
    """One activation of a function. A function that is `inlined` ends with its only `return`, whose
    value is `result`; for any other, `result` is the dtypes of what it returns."""

    def __init__(
        self,
        emit: FunctionBuilder,
        function: Callable,
        arguments: Sequence[Value],
        inlined: bool = False,
        result: Any = (),
        noted: Iterable[str] = (),
    ):
        self.result: Any = None
        self._emit, self._function = emit, function
        self._inlined, self._wanted = inlined, result
        self._returns = False
        definition = definition_of(function)
        self._tree = definition.tree
        self._expressions = Expressions(
            emit, function, definition.steady, None if inlined else noted
        )
        self._variables = self._expressions.variables
        self._value, self._condition = self._expressions.value, self._expressions.condition
        self._frames: list[Frame] = []
        for name, argument in zip(parameter_names(function), arguments, strict=True):
            self._variables[name] = argument

    def run(self) -> list[Statement]:
        """Read the function; its statements."""
        body = self._emit.body
        self._body(self._tree.body)
        if not self._inlined and not _is_ended(self._emit.body) and self.result is not None:
            place = line_of(self._function, self._tree)
            raise Unsupported("a function that returns a value in some cases only", place)
        if self._wanted != () and self._wanted != self.result:
            raise OtherResult(self.result)
        return body

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if _is_ended(self._emit.body):
                return
            try:
                self._statement(statement)
            except Unsupported as refused:
                refused.place = refused.place or line_of(self._function, statement)
                if isinstance(refused, Unassigned) and self._frames:
                    self._frames[-1].miss(refused)
                else:
                    raise
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                place = line_of(self._function, statement)
                raise Unsupported(f"{type(error).__name__}: {error}", place) from error

    def _inner(self, body: Sequence[ast.stmt]) -> list[Statement]:
        """The body of a branch."""
        with self._emit.block() as statements, self._variables.inner():
            self._body(body)
        return statements

    def _statement(self, node: ast.stmt) -> None:
        emit = self._emit
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) if self._is_print(node.value):
                emit.add(Call("print", (), (), ()))
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._variables.assign(name, in_memory(emit, self._value(value)))
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self._target(target, in_memory(emit, self._value(value)))
            case ast.Assign(targets=targets, value=value):
                result = in_memory(emit, self._value(value)) if _is_bound(targets) else (
                    self._value(value))  # fmt: skip
                if len(targets) > 1 or isinstance(result, tuple):
                    result = emit.settled(result)
                for target in targets:
                    self._target(target, result)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                operands = self._expressions.named(name), self._value(value)
                if isinstance(operands[0], Array):
                    assign(emit, operands[0], emit.operation(OPERATORS[type(op)], *operands))
                    return
                result = in_memory(emit, emit.operation(OPERATORS[type(op)], *operands))
                self._variables.assign(name, result)
            case ast.AugAssign(target=ast.Subscript(value=holder, slice=at), op=op, value=value):
                array, index = self._value(holder), self._value(at)
                operands = element(emit, array, index), self._value(value)
                if is_view(operands[0], array):
                    part = operands[0]
                    assign(emit, part, emit.operation(OPERATORS[type(op)], *operands))
                    return
                set_element(emit, array, index, emit.operation(OPERATORS[type(op)], *operands))
            case ast.Return(value=value):
                self._return(self._value(value) if value else Known(None))
            case ast.If(test=test, body=body, orelse=other):
                self._if(self._expressions.test(test), body, other)
            case ast.While(test=test):
                self._looped(node, lambda frame: self._while(test, node.body, frame))
            case ast.For():
                self._for(node)
            case ast.Break():
                self._left()
                emit.add(Break())
            case ast.Continue():
                self._frames[-1].next_round(self._frames[-1].falls_through)
                emit.add(Continue())
            case ast.Raise(exc=ast.expr() as error, cause=None):
                self._raise(error)
            case ast.Assert(test=test, msg=text):
                stop = emit.operation(operator.not_, self._expressions.test(test))
                with emit.block() as failed:
                    emit.add(Raise("AssertionError", message_of([text] if text else [])))
                emit.branch(emit.truth(stop), failed, [])
            case ast.Delete(targets=targets) if all(isinstance(x, ast.Name) for x in targets):
                pass
            case _:
                refuse(node)

    def _is_print(self, call: ast.Call) -> bool:
        """Whether it prints values that no call computes, but calls of builtins."""
        calls = [x for x in ast.walk(call) if isinstance(x, (ast.Call, ast.NamedExpr))]
        for each in calls:
            named = isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
            value = self._expressions.named(each.func.id) if named else None  # pyright: ignore
            if not isinstance(value, Known) or value.value not in vars(builtins).values():
                raise Unsupported("print of the result of a call: assign it to a variable first")
        return True

    # -- loops ------------------------------------------------------------------------------------

    def _looped(self, node: ast.For | ast.While, read: Callable[[Frame], Statement]) -> None:
        """A loop, and its `else`, which runs where no `break` has left the loop."""
        emit, variables = self._emit, self._variables
        broken = variables.declared(BOOL, "broken") if node.orelse else None
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
            condition = self._condition(test)
            if not isinstance(condition, Known):
                stop = emit.typed(emit.operation(operator.not_, condition))
                with emit.block() as leaving:
                    frame.leave()
                emit.branch(stop, [*leaving, Break()], [])
            elif not condition.value:
                frame.leave()
                emit.add(Break())
            self._body(body)
            if not _is_ended(emit.body):
                frame.next_round(False)
        return While(tuple(statements))

    def _for(self, node: ast.For) -> None:
        items = self._items(node.iter)
        if isinstance(items, tuple):
            if not node.orelse and not any(map(_leaves_round, node.body)):
                self._for_each(node, items)
                return
            items = Chosen(self._emit, items)
        by_one = isinstance(items, Range) and items.is_by_one
        first, last = (items.start, items.stop) if by_one else (Known(0), items.count)
        start, stop = bound(self._emit, first), bound(self._emit, last)
        self._looped(node, lambda frame: self._rounds(node, items, by_one, start, stop, frame))

    def _rounds(
        self, node: ast.For, items: Items, by_one: bool, start: Any, stop: Any, frame: Frame
    ) -> Statement:
        """A loop over items. The body may assign the loop variable, which does not change the
        number of rounds."""
        emit = self._emit
        frame.enter(True)
        hint = node.target.id if isinstance(node.target, ast.Name) else ""
        axis = emit.name(hint if by_one else "")
        with emit.block() as statements, self._variables.inner():
            if by_one:
                item: Value = items.as_item(Number(axis, INT, items.natural))
            else:
                item = items.at(Number(axis, INT, True))
            if isinstance(node.target, ast.Name):
                self._variables.assign(node.target.id, item)
            else:
                self._target(node.target, emit.settled(item))
            self._body(node.body)
            if not _is_ended(emit.body):
                frame.next_round(True)
        return For(axis, start, stop, tuple(statements))

    def _items(self, node: ast.expr) -> Items | tuple:
        """The items of an iterable; those of a tuple as a tuple."""
        if not isinstance(node, ast.Call):
            return items_of(self._emit, self._value(node))
        called = self._value(node.func)
        make = made_by(called.value) if isinstance(called, Known) else None
        if make is None:
            return items_of(self._emit, self._value(node))
        named = [self._value(each.value) for each in node.keywords if each.arg == "start"]
        if len(named) < len(node.keywords) or (named and make is not Enumerated):
            raise Unsupported("a loop over a call with keywords")
        count = 0 if make is Range else 1 if make is Enumerated else len(node.args)
        given = [*map(self._whole, node.args[:count]), *map(self._value, node.args[count:])]
        return make(self._emit, *given, *named)

    def _whole(self, node: ast.expr) -> Items:
        """The items of an argument of enumerate, zip or reversed."""
        items = self._items(node)
        return Chosen(self._emit, items) if isinstance(items, tuple) else items

    def _for_each(self, node: ast.For, values: Sequence[Value]) -> None:
        """A loop over the members of a tuple: its body for each of them."""
        one_type(self._emit, values)
        for value in map(self._emit.settled, values):
            self._target(node.target, value)
            self._body(node.body)

    def _if(self, test: Value, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        if isinstance(test, Known):
            self._body(body if test.value else other)
            return
        condition, variables = self._emit.truth(test), self._variables
        start, ends, bodies = variables.state(), [], []
        for statements in (body, other):
            variables.restore(start)
            bodies.append(self._inner(statements))
            if not _is_ended(bodies[-1]):
                ends.append((variables.state(), bodies[-1]))
        if ends:
            join(self._emit, variables, ends)
        self._emit.branch(condition, *bodies)

    def _return(self, value: Value) -> None:
        if self._inlined:
            self.result = in_memory(self._emit, value)
            return
        self._arrays = 0
        if self._wanted != ():
            value = self._converted(value, self._wanted)
        numbers, dtypes = self._returned(value)
        if self._returns and dtypes != self.result:
            if self._variables.may_prune:
                raise Unsupported("results of several types")
            raise OtherResult(_common_result(self.result, dtypes))
        self._returns, self.result = True, dtypes
        self._emit.add(Return(tuple(numbers)))

    def _converted(self, value: Value, wanted: Any) -> Value:
        """A result in the types of all results."""
        if isinstance(wanted, tuple):
            parts = zip(members(value), wanted, strict=True)
            return rebuilt(wanted, [self._converted(*each) for each in parts])
        return self._emit.cast(value, wanted) if isinstance(wanted, np.dtype) else value

    def _returned(self, value: Value) -> tuple[list[Any], Any]:
        """The numbers of a result, and its dtypes."""
        if isinstance(value, Known) and isinstance(value.value, tuple):
            value = members(value)
        if isinstance(value, tuple):
            parts = [self._returned(part) for part in value]
            tree = rebuilt(value, [kind for _, kind in parts])
            return [x for numbers, _ in parts for x in numbers], tree
        if isinstance(value, Known) and value.value is None:
            return [], None
        if isinstance(value, (Array, Lazy)):
            self._arrays += 1
            return [], returned_array(self._emit, f"return.{self._arrays - 1}", value)
        number = self._emit.typed(value)
        return [number.operand], number.dtype

    def _raise(self, error: ast.expr) -> None:
        texts: list[ast.expr] = []
        match error:
            case ast.Call(func=function, args=args, keywords=[]):
                kind, texts = self._value(function), args
            case _:
                kind = self._value(error)
        if not (isinstance(kind, Known) and isinstance(kind.value, type)):
            raise Unsupported("an exception that is not a class called with a text")
        home = kind.value.__module__
        name = kind.value.__qualname__
        full = name if home == "builtins" else f"{home}.{name}"
        self._emit.add(Raise(full, message_of(texts)))

    def _target(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self._variables[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                parts = members(value)
                if len(parts) != len(targets):
                    raise Unsupported("unpacking another number of values")
                for each, part in zip(targets, parts, strict=True):
                    self._target(each, part)
            case ast.Subscript(value=holder, slice=at):
                set_element(self._emit, self._value(holder), self._value(at), value)
            case _:
                refuse(target)


def _is_bound(targets: Sequence[ast.expr]) -> bool:
    """Whether an assignment gives names to a value, or has several targets."""
    return len(targets) > 1 or not isinstance(targets[0], ast.Subscript)


def _is_ended(body: Sequence[Statement]) -> bool:
    """Whether nothing runs after these statements."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, If):
        return _is_ended(last.then) and _is_ended(last.otherwise)
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


def _leaves_round(node: ast.AST) -> bool:
    """Whether a statement has a `break` or `continue` of the loop around it."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return True
    inside = node.orelse if isinstance(node, (ast.For, ast.While)) else ast.iter_child_nodes(node)
    return any(map(_leaves_round, inside))


def message_of(texts: Sequence[ast.expr]) -> str:
    """The text of an exception. Values in it that are known at run time stand as their source."""
    found = []
    for node in texts:
        match node:
            case ast.Constant(value=value):
                found.append(str(value))
            case ast.JoinedStr(values=parts):
                found.append("".join(
                    str(x.value) if isinstance(x, ast.Constant) else ast.unparse(x)[2:-1]
                    for x in parts
                ))  # fmt: skip
            case _:
                found.append(f"{{{ast.unparse(node)}}}")
    return ", ".join(found)


class OtherResult(Exception):
    """Results of several types, which have the type `kind` in common."""

    def __init__(self, kind: Any):
        super().__init__()
        self.kind = kind


def _common_result(x: Any, y: Any) -> Any:
    """The common type of two results."""
    if isinstance(x, np.dtype) and isinstance(y, np.dtype):
        return dtypes.common(x, y)
    if isinstance(x, tuple) and isinstance(y, tuple) and type(x) is type(y) and len(x) == len(y):
        return rebuilt(x, map(_common_result, x, y))
    if x != y:
        raise Unsupported("results of several types: return values of the same types everywhere")
    return x
