"""The statements of a function."""

import ast
import builtins
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...ir.statements import Break, Continue, For, If, Literal, Raise, Return, Statement, While
from .elements import element, set_element
from .emit import FunctionBuilder
from .expressions import OPERATORS, Expressions, refuse
from .syntax import Unsupported, definition_of, line_of
from .values import INT, UINT, Known, Number, Value, members

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
    ):
        self.result: Any = None
        self._emit, self._function = emit, function
        self._inlined = inlined
        self._returns = False
        definition = definition_of(function)
        self._tree = definition.tree
        self._expressions = Expressions(emit, function, definition.steady)
        self._variables = self._expressions.variables
        self._value, self._condition = self._expressions.value, self._expressions.condition
        self._left_with: list[frozenset[str] | None] = []
        options = self._tree.args
        names = [*options.args, options.vararg] if options.vararg else options.args
        for name, argument in zip(names, arguments, strict=True):
            self._variables[name.arg] = argument

    def run(self) -> list[Statement]:
        """Read the function; its statements."""
        body = self._emit.body
        self._body(self._tree.body)
        if not self._inlined and not _is_ended(self._emit.body) and self.result is not None:
            place = line_of(self._function, self._tree)
            raise Unsupported("a function that returns a value in some cases only", place)
        return body

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if _is_ended(self._emit.body):
                return
            try:
                self._statement(statement)
            except Unsupported as refused:
                refused.place = refused.place or line_of(self._function, statement)
                raise
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                place = line_of(self._function, statement)
                raise Unsupported(f"{type(error).__name__}: {error}", place) from error

    def _inner(self, body: Sequence[ast.stmt]) -> list[Statement]:
        """The body of a loop or a branch."""
        with self._emit.block() as statements, self._variables.inner():
            self._body(body)
        return statements

    def _statement(self, node: ast.stmt) -> None:
        emit = self._emit
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._variables.assign(name, self._value(value))
            case ast.Assign(targets=targets, value=value):
                result = self._value(value)
                if len(targets) > 1 or isinstance(result, tuple):
                    result = emit.settled(result)
                for target in targets:
                    self._target(target, result)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                operands = self._expressions.named(name), self._value(value)
                self._variables.assign(name, emit.operation(OPERATORS[type(op)], *operands))
            case ast.AugAssign(target=ast.Subscript(value=holder, slice=at), op=op, value=value):
                array, index = self._value(holder), self._value(at)
                operands = element(emit, array, index), self._value(value)
                set_element(emit, array, index, emit.operation(OPERATORS[type(op)], *operands))
            case ast.Return(value=value):
                self._return(self._value(value) if value else Known(None))
            case ast.If(test=test, body=body, orelse=other):
                self._if(self._expressions.test(test), body, other)
            case ast.While(test=test, body=body, orelse=[]):
                self._while(test, body)
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=called, args=bounds), orelse=[]
            ) if self._is_range(called):
                self._for(name, [self._value(bound) for bound in bounds], node.body)
            case ast.For(target=ast.Name(id=name), iter=ast.Name() as each, orelse=[]):
                self._for_each(name, members(self._value(each)), node.body)
            case ast.Break():
                given, left_with = self._variables.given, self._left_with[-1]
                self._left_with[-1] = given if left_with is None else left_with & given
                emit.add(Break())
            case ast.Continue():
                emit.add(Continue())
            case ast.Raise(exc=ast.Call(func=kind, args=[ast.Constant(value=str(text))])):
                self._raise(self._value(kind), text)
            case _:
                refuse(node)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        emit, given = self._emit, self._variables.given
        self._left_with.append(None)
        with emit.block() as statements, self._variables.inner():
            condition = self._condition(test)
            if not isinstance(condition, Known):
                stop = emit.operation(operator.not_, condition)
                emit.branch(emit.typed(stop), [Break()], [])
            elif not condition.value:
                return
            self._body(body)
        left_with = self._left_with.pop()
        emit.add(While(tuple(statements)))
        self._variables.given = given
        if isinstance(condition, Known) and left_with is not None:
            self._variables.given = left_with

    def _is_range(self, called: ast.expr) -> bool:
        value = self._value(called)
        return isinstance(value, Known) and value.value is builtins.range

    def _for(self, name: str, bounds: list[Value], body: Sequence[ast.stmt]) -> None:
        """A loop over integers. The body may assign the loop variable, which does not change the
        number of iterations."""
        emit = self._emit
        start, stop, step = Known(0), bounds[0], Known(1)
        if len(bounds) > 1:
            start, stop = bounds[0], bounds[1]
        if len(bounds) > 2:
            step = bounds[2]
        for bound in (start, stop, step):
            if emit.dtype(bound) != INT:
                raise Unsupported(f"a range of {emit.dtype(bound)}")
        start, stop, step = map(emit.settled, (start, stop, step))
        by_one = isinstance(step, Known) and step.value == 1
        axis = emit.name(name if by_one else "")
        first, last = (start, stop) if by_one else (Known(0), self._rounds(start, stop, step))
        given = self._variables.given
        with emit.block() as statements, self._variables.inner():
            value: Value = Number(axis, INT, emit.typed(first).natural)
            if not by_one:
                distance = emit.operation(operator.mul, value, step)
                here = emit.typed(emit.operation(operator.add, start, distance))
                value = replace(here, natural=_is_natural(start, stop, step))
            self._variables.assign(name, value)
            self._left_with.append(None)
            self._body(body)
            self._left_with.pop()
        self._variables.given = given
        low, high = (_bound(emit, each) for each in (first, last))
        emit.add(For(axis, low, high, tuple(statements)))

    def _rounds(self, start: Value, stop: Value, step: Value) -> Value:
        """How many numbers a range has."""
        emit = self._emit
        if isinstance(step, Known) and step.value != 0:
            low, high = (start, stop) if step.value > 0 else (stop, start)
            size: Value = Known(abs(step.value))
            less = emit.operation(operator.lt, low, high)
        else:
            self._raise_if(emit.operation(operator.eq, step, Known(0)))
            up = emit.truth(emit.operation(operator.gt, step, Known(0)))
            begin, end, width = (emit.cast(x, INT) for x in (start, stop, step))
            low = emit.applied("select", [up, begin, end], INT)
            high = emit.applied("select", [up, end, begin], INT)
            size = emit.applied("abs", [width], INT)
            less = emit.operation(operator.lt, low, high)
        between = emit.operation(operator.sub, high, low)
        if isinstance(size, Known) and size.value == 1:
            return between
        # As unsigned numbers: the last number plus the step may have more than 64 bits.
        more = emit.operation(operator.sub, between, Known(1))
        whole = emit.operation(operator.floordiv, emit.cast(more, UINT), emit.cast(size, UINT))
        count = emit.operation(operator.add, emit.cast(whole, INT), Known(1))
        if isinstance(less, Known):
            return count if less.value else Known(0)
        none = emit.cast(Known(0), INT)
        return emit.applied("select", [emit.typed(less), emit.cast(count, INT), none], INT)

    def _raise_if(self, condition: Value) -> None:
        text = "range() arg 3 must not be zero"
        if isinstance(condition, Known):
            if condition.value:
                self._emit.add(Raise("ValueError", text))
            return
        self._emit.branch(self._emit.truth(condition), [Raise("ValueError", text)], [])

    def _for_each(self, name: str, values: Sequence[Value], body: Sequence[ast.stmt]) -> None:
        """A loop over the members of a tuple, which have one type: its body for each of them."""
        nodes = (node for each in body for node in ast.walk(each))
        if any(isinstance(node, (ast.Break, ast.Continue)) for node in nodes):
            raise Unsupported("break or continue in a loop over a tuple")
        given = self._variables.given
        if len({self._emit.dtype(value) for value in values}) != 1:
            raise Unsupported("a loop over a tuple of several types")
        for value in map(self._emit.settled, map(self._emit.typed, values)):
            with self._variables.inner():
                self._variables[name] = value
                self._body(body)
        self._variables.given = given

    def _if(self, test: Value, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        if isinstance(test, Known):
            self._body(body if test.value else other)
            return
        condition = self._emit.truth(test)
        given, ends, bodies = self._variables.given, [], []
        for statements in (body, other):
            self._variables.given = given
            bodies.append(self._inner(statements))
            if not _is_ended(bodies[-1]):
                ends.append(self._variables.given)
        self._variables.given = frozenset.intersection(*ends) if ends else given
        self._emit.branch(condition, *bodies)

    def _return(self, value: Value) -> None:
        if self._inlined:
            self.result = value
            return
        numbers, dtypes = self._emit.returned(value)
        if self._returns and dtypes != self.result:
            raise Unsupported("results of several types")
        self._returns, self.result = True, dtypes
        self._emit.add(Return(tuple(numbers)))

    def _raise(self, kind: Value, text: str) -> None:
        if not (isinstance(kind, Known) and isinstance(kind.value, type)):
            raise Unsupported("an exception that is not a class called with a text")
        self._emit.add(self._emit.exception(kind.value, text))

    def _target(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self._variables[name] = value
            case ast.Tuple(elts=targets):
                parts = members(value)
                if len(parts) != len(targets):
                    raise Unsupported("unpacking another number of values")
                for each, part in zip(targets, parts, strict=True):
                    self._target(each, part)
            case ast.Subscript(value=holder, slice=at):
                set_element(self._emit, self._value(holder), self._value(at), value)
            case _:
                refuse(target)


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


def _is_natural(start: Value, stop: Value, step: Value) -> bool:
    """Whether no number of a range is below 0."""
    if not isinstance(step, Known):
        return False
    bound = start if step.value > 0 else stop
    if isinstance(bound, Known):
        return bound.value >= (0 if step.value > 0 else -1)
    return isinstance(bound, Number) and bound.natural


def _bound(emit: FunctionBuilder, value: Value) -> int | str:
    operand = emit.cast(value, INT).operand
    return operand.number if isinstance(operand, Literal) else operand  # pyright: ignore
