"""The statements of a function."""

import ast
import builtins
import operator
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...ir.statements import (
    Break,
    Call,
    Continue,
    Raise,
    Return,
    Statement,
)
from ...ir.walk import walk
from ...runtime.lines import Line, is_users
from .arrays import assign, in_memory, is_view
from .comprehensions import Element, is_like_an_array
from .elements import element, set_element
from .emit import FunctionBuilder
from .expressions import Expressions
from .functions import parameter_names
from .fused import fused_names
from .joins import Frame, join
from .literals import OPERATORS
from .loops import Loops, is_ended
from .refusals import refuse
from .results import Results
from .slots import Unassigned
from .syntax import Definition, Unsupported, definition_of, line_of, outer_names
from .values import Array, Known, Lazy, Value, members

_END = (Break, Continue, Raise, Return)


class Walk(Loops):
    """One activation of a function. The definition of one that is `inlined` ends with its only
    `return`, whose value is `result`; for any other, `result` is the dtypes of what it returns."""

    def __init__(
        self,
        emit: FunctionBuilder,
        function: Callable,
        arguments: Sequence[Value],
        inlined: Definition | None = None,
        result: Any = (),
        noted: Iterable[str] = (),
    ):
        self.result: Any = None
        self._emit, self._function = emit, function
        self._is_users = is_users(function)
        self._inlined, self._results = inlined is not None, Results(emit, result)
        definition = inlined or definition_of(function)
        self._tree = definition.tree
        self._first = min(x.lineno for x in (self._tree, *self._tree.decorator_list))
        self._expressions = Expressions(emit, function, definition, noted)
        self._expressions.comprehension = self._listed
        self._variables = self._expressions.variables
        self._frames: list[Frame] = []
        outside = ChainMap(outer_names(function), function.__globals__)
        self._variables.fused = definition.steady & fused_names(self._tree, outside)
        self._pruned = 0  # the branches around of which Numba may drop a part
        for name, argument in zip(parameter_names(function), arguments, strict=True):
            self._variables[name] = argument

    def run(self) -> list[Statement]:
        """Read the function; its statements."""
        body = self._emit.body
        self._body(self._tree.body)
        if not self._inlined and not is_ended(self._emit.body) and self.result is not None:
            place = line_of(self._function, self._tree)
            raise Unsupported("a function that returns a value in some cases only", place)
        return body

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if is_ended(self._emit.body):
                return
            count = len(self._emit.body)
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
            if self._is_users:  # else the line is that of the call
                line = Line(self._function.__code__, statement.lineno - self._first)
                for name in _defined(self._emit.body[count:]):
                    self._emit.lines.setdefault(name, line)

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
            case ast.Expr(value=ast.Call(func=ast.Name(id="print")) as call) if self._is_print(
                call
            ):
                emit.add(Call("print", (), (), ()))
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as value) if (
                is_like_an_array(self._tree, name)
            ):
                self._variables.assign(name, self._listed(value))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                result = self._value(value)
                is_fused = isinstance(result, Lazy) and name in self._variables.fused
                self._variables.assign(name, result if is_fused else in_memory(emit, result))
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
                    self._augment(operands[0], op, operands[1])
                    return
                result = in_memory(emit, emit.operation(OPERATORS[type(op)], *operands))
                self._variables.assign(name, result)
            case ast.AugAssign(target=ast.Subscript(value=holder, slice=at), op=op, value=value):
                array, index = self._value(holder), self._value(at)
                operands = element(emit, array, index), self._value(value)
                if is_view(operands[0], array):
                    self._augment(operands[0], op, operands[1])
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
            case Element():
                node.write()
            case ast.FunctionDef(name=name):
                self._variables[name] = self._expressions.inner(node)
            case ast.Delete(targets=targets) if all(isinstance(x, ast.Name) for x in targets):
                pass
            case _:
                refuse(node)

    def _is_print(self, call: ast.Call) -> bool:
        """Whether it prints. Raises Unsupported for values that a call computes, except builtins:
        derivatives leave `print` out, with its arguments."""
        if not (isinstance(call.func, ast.Name) and call.func.id == "print"):
            return False
        calls = [x for x in ast.walk(call) if isinstance(x, (ast.Call, ast.NamedExpr))]
        for each in calls:
            named = isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
            value = self._expressions.named(each.func.id) if named else None  # pyright: ignore
            if not isinstance(value, Known) or value.value not in vars(builtins).values():
                raise Unsupported("print of the result of a call: assign it to a variable first")
        return True

    def _if(self, test: Value, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        if isinstance(test, Known):
            self._body(body if test.value else other)
            return
        condition, variables = self._emit.truth(test), self._variables
        start, ends, bodies = variables.state(), [], []
        # Numba may drop a part before it infers types.
        may_prune, self._expressions.may_prune = self._expressions.may_prune, False
        self._pruned += may_prune
        for statements in (body, other):
            variables.restore(start)
            bodies.append(self._inner(statements))
            if not is_ended(bodies[-1]):
                ends.append((variables.state(), bodies[-1]))
        self._pruned -= may_prune
        if ends:
            variables.keeps_types = may_prune
            join(self._emit, variables, ends)
            variables.keeps_types = False
        if len(ends) != 1:
            self._emit.branch(condition, *bodies)
            return
        # The other part follows the branch instead of being in it, as later code reads its values.
        self._emit.branch(condition, *(body if is_ended(body) else [] for body in bodies))
        self._emit.body += ends[0][1]

    def _augment(self, array: Array, op: ast.operator, value: Value) -> None:
        """array += value. Numba reads a value that is a view while it assigns the elements, which
        matters if they share memory."""
        result = self._emit.operation(OPERATORS[type(op)], array, value)
        assign(self._emit, array, result, in_order=isinstance(value, Array))

    def _return(self, value: Value) -> None:
        if self._inlined:
            self.result = in_memory(self._emit, value)
            return
        numbers = self._results.numbers(value, self._pruned > 0)
        self.result = self._results.kind
        self._emit.add(Return(tuple(numbers)))

    def _raise(self, error: ast.expr) -> None:
        texts: list[ast.expr] = []
        match error:
            case ast.Call(func=function, args=args, keywords=[]):
                kind, texts = self._value(function), args
            case _:
                kind = self._value(error)
        if not (isinstance(kind, Known) and isinstance(kind.value, type)):
            raise Unsupported("an exception that is not a class called with a text")
        self._emit.add(self._emit.exception(kind.value, message_of(texts)))

    def _target(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self._variables[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for each, part in zip(targets, self._unpacked(value, len(targets)), strict=True):
                    self._target(each, part)
            case ast.Subscript(value=holder, slice=at):
                set_element(self._emit, self._value(holder), self._value(at), value)
            case _:
                refuse(target)

    def _unpacked(self, value: Value, count: int) -> Sequence[Value]:
        """The parts of a tuple, or the elements or rows of an array."""
        emit = self._emit
        if isinstance(value, Array) and value.shape:
            other = emit.operation(operator.ne, value.shape[0], Known(count))
            text = f"unpacking an array whose length is not {count}"
            emit.branch(emit.truth(other), [Raise("ValueError", text)], [])
            return [emit.settled(element(emit, value, Known(i))) for i in range(count)]
        parts = members(value)
        if len(parts) != count:
            raise Unsupported("unpacking another number of values")
        return parts


def _is_bound(targets: Sequence[ast.expr]) -> bool:
    """Whether an assignment gives names to a value, or has several targets."""
    return len(targets) > 1 or not isinstance(targets[0], ast.Subscript)


def message_of(texts: Sequence[ast.expr]) -> str:
    """The text of an exception. Values in it that are known at run time stand as their source."""
    found = []
    for node in texts:
        match node:
            case ast.Constant(value=value):
                found.append(str(value))
            case ast.JoinedStr(values=parts):
                found.append("".join(
                    str(x.value) if isinstance(x, ast.Constant) else f"{{{ast.unparse(x.value)}}}"
                    for x in parts if isinstance(x, (ast.Constant, ast.FormattedValue))
                ))  # fmt: skip
            case _:
                found.append(f"{{{ast.unparse(node)}}}")
    return ", ".join(found)


def _defined(body: Sequence[Statement]) -> Iterator[str]:
    """The names that statements define."""
    for each in walk(body):
        for name in (getattr(each, "target", None), getattr(each, "axis", None)):
            if isinstance(name, str):
                yield name
