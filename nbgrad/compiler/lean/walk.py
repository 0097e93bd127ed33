"""The walk through a function: its statements, each emitted as it is met."""

import ast
import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from .elements import element, parts, set_element
from .emit import Emitter
from .expressions import OPERATORS, Expressions, refuse
from .syntax import Unsupported, definition_of
from .values import Known, Typed, Value
from .variables import Variable


@dataclass
class _Loop:
    """The targets of `continue` and `break`, and the variables that are assigned at every `break`;
    None for a loop without `break`."""

    again: Any
    after: Any
    left_with: frozenset[str] | None = None


class Walk:
    """One activation of a function: its statements, and where its result goes."""

    def __init__(self, emit: Emitter, function: Callable, arguments: Sequence[Value]):
        def inline(inner: Callable, operands: Sequence[Value]) -> Value:
            return Walk(emit, inner, operands).run()

        self._emit = emit
        self._name = function.__name__
        definition = definition_of(function)
        self._tree = definition.tree
        self._expressions = Expressions(emit, function, inline, definition.steady)
        self._variables = self._expressions.variables
        self._value, self._condition = self._expressions.value, self._expressions.condition
        self._inner_bodies = 0
        self._loops: list[_Loop] = []
        self._exit = emit.builder.append_basic_block("exit")
        self._result: Variable | None = None
        options = self._tree.args
        names = [*options.args, options.vararg] if options.vararg else options.args
        for name, argument in zip(names, arguments, strict=True):
            self._variables[name.arg] = argument

    def run(self) -> Value:
        """Emit the function from here on; its result, where it ends."""
        self._body(self._tree.body)
        builder = self._emit.builder
        if not self._ended:
            self._return(Known(None))
        builder.position_at_end(self._exit)
        if self._result is None:
            raise Unsupported("a function without an end")
        return self._variables.read(self._result)

    @property
    def _ended(self) -> bool:
        block: Any = self._emit.builder.block
        return block.is_terminated

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if self._ended:
                return
            self._statement(statement)

    def _inner(self, body: Sequence[ast.stmt], end: Any) -> bool:
        """The body of a loop or a branch, from which it goes on at `end`; whether it does."""
        outside = self._variables.place
        self._inner_bodies += 1
        self._variables.place = (*outside, self._inner_bodies)
        self._body(body)
        self._variables.place = outside
        goes_on = not self._ended
        if goes_on:
            self._emit.builder.branch(end)
        return goes_on

    def _statement(self, node: ast.stmt) -> None:
        emit = self._emit
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assign(targets=targets, value=value):
                result = self._value(value)
                for target in targets:
                    self._target(target, result)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                operands = self._expressions.named(name), self._value(value)
                self._target(target, emit.operation(OPERATORS[type(op)], *operands))
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
            case ast.For(target=ast.Name(id=name), iter=ast.Name() as members, orelse=[]):
                self._for_each(name, parts(emit, self._value(members)), node.body)
            case ast.Break():
                loop, given = self._loops[-1], self._variables.given
                loop.left_with = given if loop.left_with is None else loop.left_with & given
                emit.builder.branch(loop.after)
            case ast.Continue():
                emit.builder.branch(self._loops[-1].again)
            case ast.Raise(exc=ast.Call(func=kind, args=[ast.Constant(value=str(text))])):
                self._raise(self._value(kind), text)
            case _:
                refuse(node)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        builder = self._emit.builder
        head, inside, after = self._emit.blocks("while", "do", "done")
        builder.branch(head)
        builder.position_at_end(head)
        condition = self._condition(test)
        builder.cbranch(self._emit.truth(condition), inside, after)
        left_with = self._loop(body, inside, head, after)
        if isinstance(condition, Known) and condition.value:
            if left_with is None:
                builder.unreachable()
            else:
                self._variables.given = left_with

    def _loop(
        self, body: Sequence[ast.stmt], inside: Any, again: Any, after: Any
    ) -> frozenset[str] | None:
        """The body of a loop, which may run no time; `left_with` of its loop."""
        loop, given = _Loop(again, after), self._variables.given
        self._emit.builder.position_at_end(inside)
        self._loops.append(loop)
        self._inner(body, again)
        self._loops.pop()
        self._emit.builder.position_at_end(after)
        self._variables.given = given
        return loop.left_with

    def _is_range(self, called: ast.expr) -> bool:
        value = self._value(called)
        return isinstance(value, Known) and value.value is builtins.range

    def _for(self, name: str, bounds: list[Value], body: Sequence[ast.stmt]) -> None:
        """A loop over integers. What the body does to its variable does not change the rounds."""
        emit = self._emit
        builder: Any = emit.builder  # whose types lack the flags
        start, stop, step = Known(0), bounds[0], Known(1)
        if len(bounds) > 1:
            start, stop = bounds[0], bounds[1]
        if len(bounds) > 2:
            step = bounds[2]
        for bound in (start, stop, step):
            if (kind := emit.typed(bound).kind) != types.int64:
                raise Unsupported(f"a range of {kind}")
        first, end, width = (emit.typed(bound).ir for bound in (start, stop, step))
        by_one = isinstance(step, Known) and step.value in (1, -1)
        rounds = None if by_one else self._rounds(first, end, width)
        head, inside, again, after = self._emit.blocks("for", "do", "next", "done")
        before = builder.block
        builder.branch(head)
        builder.position_at_end(head)
        at = builder.phi(first.type)
        at.add_incoming(first if rounds is None else rounds.type(0), before)
        if rounds is None:
            further = builder.icmp_signed("<" if width.constant > 0 else ">", at, end)
        else:
            further = builder.icmp_unsigned("<", at, rounds)
        builder.cbranch(further, inside, after)
        builder.position_at_end(inside)
        i = at
        if rounds is not None:
            i = builder.add(first, builder.mul(at, width, flags=["nsw"]), flags=["nsw"])
        outside, given = self._variables.place, self._variables.given
        self._variables.place = (*outside, -1)
        self._variables[name] = Typed(types.int64, i)
        self._variables.place = outside
        self._loop(body, inside, again, after)
        self._variables.given = given
        builder.position_at_end(again)
        following = builder.add(at, width if rounds is None else at.type(1), flags=["nsw"])
        at.add_incoming(following, builder.block)
        builder.branch(head)
        builder.position_at_end(after)

    def _for_each(self, name: str, members: Sequence[Value], body: Sequence[ast.stmt]) -> None:
        """A loop over the members of a tuple, which have one type: its body for each of them."""
        emit, given = self._emit, self._variables.given
        values = list(map(emit.typed, members))
        if len({value.kind for value in values}) != 1:
            raise Unsupported("a loop over a tuple of several types")
        (after,) = emit.blocks("done")
        for value in values:
            inside, again = emit.blocks("do", "next")
            emit.builder.branch(inside)
            emit.builder.position_at_end(inside)
            self._variables[name] = value
            self._loop(body, inside, again, after)
            emit.builder.position_at_end(again)
        emit.builder.branch(after)
        emit.builder.position_at_end(after)
        self._variables.given = given

    def _rounds(self, first: Any, end: Any, width: Any) -> Any:
        """How many numbers a range has. Its last one plus the step may be no integer of 64 bits, so
        rounds are counted."""
        emit, builder, zero = self._emit, self._emit.builder, first.type(0)
        if not isinstance(width, ir.Constant) or width.constant == 0:
            emit.must_be_able_to_raise()
            with cgutils.if_unlikely(builder, builder.icmp_signed("==", width, zero)):
                emit.target.call_conv.return_user_exc(
                    builder, ValueError, ("range() arg 3 must not be zero",)
                )
        upward = builder.icmp_signed(">", width, zero)
        low, high = builder.select(upward, first, end), builder.select(upward, end, first)
        size = builder.select(upward, width, builder.sub(zero, width))
        between = builder.sub(builder.sub(high, low), first.type(1))
        count = builder.add(builder.udiv(between, size), first.type(1))
        return builder.select(builder.icmp_signed("<", low, high), count, zero)

    def _if(self, test: Value, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        if isinstance(test, Known):
            self._body(body if test.value else other)
            return
        builder = self._emit.builder
        then, otherwise, after = self._emit.blocks("then", "else", "after")
        builder.cbranch(self._emit.truth(test), then, otherwise)
        given, ends = self._variables.given, []
        for block, statements in ((then, body), (otherwise, other)):
            builder.position_at_end(block)
            self._variables.given = given
            if self._inner(statements, after):
                ends.append(self._variables.given)
        builder.position_at_end(after)
        if ends:
            self._variables.given = frozenset.intersection(*ends)
        else:
            builder.unreachable()

    def _return(self, value: Value) -> None:
        if self._result is None:
            self._result = self._variables.new(value)
        self._variables.write(self._result, value)
        self._emit.builder.branch(self._exit)

    def _raise(self, kind: Value, text: str) -> None:
        emit = self._emit
        if not (isinstance(kind, Known) and isinstance(kind.value, type)):
            raise Unsupported("what is raised")
        emit.must_be_able_to_raise()
        emit.target.call_conv.return_user_exc(
            emit.builder, kind.value, (text,), loc=None, func_name=self._name
        )

    def _target(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self._variables[name] = value
            case ast.Tuple(elts=targets):
                members = parts(self._emit, value)
                if len(members) != len(targets):
                    raise Unsupported("another number of values")
                for each, part in zip(targets, members, strict=True):
                    self._target(each, part)
            case ast.Subscript(value=holder, slice=at):
                set_element(self._emit, self._value(holder), self._value(at), value)
            case _:
                refuse(target)
