"""The expressions of a function, in the order in which they are evaluated."""

import ast
import builtins
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import takewhile

from ...ir.statements import Assign, Literal, Statement
from .arrays import is_array
from .calls import call
from .captured import outer_value
from .complex_numbers import is_complex
from .comprehensions import TAKERS, Comprehension
from .elements import attribute, element
from .emit import FunctionBuilder
from .iteration import chosen
from .joins import join
from .literals import OPERATORS, literal_of
from .nested import Inner
from .refusals import refuse
from .syntax import DONE, RESULT, Definition, Unsupported, outer_names
from .tuples import compared, is_tuple
from .values import BOOL, Known, List, NamedTuple, Number, Slice, Value, members
from .variables import Variables

_CHOICE = "if"  # the variable of a conditional expression of arrays, a name that no other has


class Expressions:
    """Reads the expressions of one activation of a function, which has `variables`."""

    def __init__(
        self, emit: FunctionBuilder, function: Callable, definition: Definition,
        noted: Iterable[str],
    ):  # fmt: skip
        self.variables = Variables(emit, definition.steady, noted)
        self.comprehension: Callable[[Comprehension], Value] = refuse
        self.may_prune = False  # whether Numba may drop a part of the branch that is read next
        self._emit, self._function = emit, function
        self._globals = function.__globals__
        self._outer = outer_names(function)
        tree = definition.tree
        # Operands of an expression are read before it assigns their variables.
        self._assigns = any(isinstance(each, ast.NamedExpr) for each in ast.walk(tree))
        code = function.__code__
        self.local = {*code.co_varnames, *code.co_cellvars, RESULT, DONE}

    def value(self, node: ast.expr) -> Value:
        """The value of an expression."""
        emit = self._emit
        match node:
            case ast.Constant(value=value):
                return Known(value)
            case ast.Name(id=name):
                return self.named(name)
            case ast.Tuple(elts=parts):
                return tuple(map(self.value, parts))
            case ast.List(elts=parts):
                return List(map(self.value, parts))
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                self.variables[name] = found = emit.settled(self.value(value))
                return found
            case ast.Slice(lower=lower, upper=upper, step=step):
                bounds = (None if x is None else self.value(x) for x in (lower, upper, step))
                return emit.settled(Slice(*bounds))
            case ast.Attribute(value=holder, attr=name):
                return self._attribute(self.value(holder), name)
            case ast.Subscript(value=holder, slice=at):
                return self._element(self.value(holder), at)
            case ast.UnaryOp() if (number := literal_of(node)) is not None:
                return Known(number)
            case ast.UnaryOp(op=op, operand=operand):
                return emit.operation(OPERATORS[type(op)], self.value(operand))
            case ast.BinOp():
                return self._operations(node)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[right]):
                same = _same(self.value(left), self.value(right))
                return Known(same if isinstance(op, ast.Is) else not same)
            case ast.Compare(left=left, ops=ops, comparators=rights):
                return self._compared(self.value(left), list(zip(ops, rights, strict=True)))
            case ast.BoolOp(op=op, values=values):
                each = [partial(self.value, value) for value in values]
                return self._joined(isinstance(op, ast.And), each, are_bools=True)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._choice(self.test(test), body, other)
            case ast.Call(func=called, args=args, keywords=keywords):
                return self._call(self.value(called), args, keywords)
            case ast.Lambda():
                return self.inner(node)
            case _:
                refuse(node)

    def _operations(self, node: ast.expr) -> Value:
        """The value of an operation. A long sum is the left operand of its last one, and so on:
        such operands are found without recursion."""
        rest: list[ast.BinOp] = []
        while isinstance(node, ast.BinOp):
            rest.append(node)
            node = node.left
        found, is_literal = self.value(node), literal_of(node) is not None
        for each in reversed(rest):
            number = literal_of(each) if is_literal else None
            is_literal = number is not None
            if is_literal:
                found = Known(number)
                continue
            other = self.value(each.right)
            if isinstance(each.op, ast.Add) and is_tuple(found) and is_tuple(other):
                joined = (*members(found), *members(other))
                found = List(joined) if isinstance(found, List) else joined
            else:
                found = self._emit.operation(OPERATORS[type(each.op)], found, other)
        return found

    def inner(self, node: ast.FunctionDef | ast.Lambda) -> Known:
        """A function that is defined inside of this one."""
        return Known(Inner(self._function, node, self.named, self.value))

    def _attribute(self, holder: Value, name: str) -> Value:
        if isinstance(holder, NamedTuple) and name in (fields := holder.kind._fields):  # pyright: ignore
            return holder[fields.index(name)]
        return attribute(self._emit, holder, name)

    def _element(self, holder: Value, at: ast.expr) -> Value:
        """holder[at]; of a tuple also a slice, and a position that is known at run time."""
        if not is_tuple(holder):
            return element(self._emit, holder, self.value(at))
        parts = members(holder)
        if isinstance(at, ast.Slice):
            bounds = [self.value(x) if x else Known(None) for x in (at.lower, at.upper, at.step)]
            if not all(isinstance(x, Known) for x in bounds):
                raise Unsupported("a slice of a tuple with bounds that are known at run time")
            return parts[slice(*(x.value for x in bounds if isinstance(x, Known)))]
        index = self.value(at)
        if isinstance(holder, Known) or isinstance(index, Known):
            return element(self._emit, holder, index)
        return chosen(self._emit, parts, index)

    def condition(self, node: ast.expr) -> Value:
        """An expression of which only the truth matters."""
        if isinstance(node, ast.BoolOp):
            each = [partial(self.condition, value) for value in node.values]
            return self._joined(isinstance(node.op, ast.And), each, are_bools=False)
        return self.value(node)

    def test(self, node: ast.expr) -> Value:
        """The condition of a branch. It is known where Numba drops the other branch before it
        infers types; else both branches are read."""
        value = self.condition(node)
        if isinstance(value, Known) and value.is_number and not self._is_plain(node):
            self.may_prune = True
            return Number(Literal(bool(value.value), BOOL), BOOL)
        return value

    def _is_plain(self, node: ast.expr) -> bool:
        """Whether Numba decides a known condition without types, by names from outside or None."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._is_plain(operand)
            case ast.BoolOp(op=op, values=values):  # Numba drops what follows one that decides
                plain = list(takewhile(self._is_plain, values))
                known = {bool(x.value) for x in map(self.value, plain) if isinstance(x, Known)}
                return len(plain) == len(values) or isinstance(op, ast.Or) in known
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return True
            case ast.Compare(left=left, comparators=[right]):
                return self._is_plain(left) and self._is_plain(right)
            case ast.Attribute(value=holder, attr=name):
                return name == "ndim" or self._is_plain(holder)
            case ast.Name(id=name):
                return name not in self.local
            case _:
                return literal_of(node) is not None

    def _compared(self, left: Value, rest: list[tuple[ast.cmpop, ast.expr]]) -> Value:
        """A comparison, or a chain of them."""
        (op, node), *further = rest
        right = self.value(node)
        if further:
            right = self._emit.settled(right)
        first = compared(self._emit, op, left, right)
        if not further:
            return first
        each = [lambda: first, partial(self._compared, right, further)]
        return self._joined(True, each, are_bools=True)

    def _joined(
        self, is_and: bool, values: Sequence[Callable[[], Value]], are_bools: bool
    ) -> Value:
        """`and` or `or` of conditions. Later ones are evaluated where they matter; those that only
        compute are evaluated at once."""
        (first, *rest), emit = values, self._emit
        value = first()
        if not rest:
            return value
        if isinstance(value, Known):
            decided = bool(value.value) != is_and
            if are_bools and value.is_number and emit.dtype(value) != BOOL:
                raise Unsupported("`and` or `or` of a constant: write an `if`")
            return value if decided else self._joined(is_and, rest, are_bools)
        left = emit.settled(emit.typed(value)) if are_bools else emit.truth(value)
        start = self.variables.state()
        with emit.block() as then, self.variables.inner():
            right = self._joined(is_and, rest, are_bools)
            right = emit.typed(right) if are_bools else emit.truth(right)
        assert isinstance(left, Number)
        if left.dtype == right.dtype == BOOL and all(map(_only_computes, then)):
            emit.body += then
            return emit.applied("and" if is_and else "or", [left, right], BOOL)
        dtype = emit.common([left, right])
        slot = self.variables.new_number(emit.cast(left, dtype))
        with emit.block() as further:
            emit.body += then
            self.variables.write(slot, right)
        skipped: list[Statement] = []
        join(emit, self.variables, [(self.variables.state(), further), (start, skipped)])
        parts = (further, skipped) if is_and else (skipped, further)
        emit.branch(emit.truth(left), *parts)
        return self.variables.read(slot)

    def _choice(self, test: Value, body: ast.expr, other: ast.expr) -> Value:
        """`body if test else other`"""
        if isinstance(test, Known):
            return self.value(body if test.value else other)
        emit = self._emit
        condition = emit.truth(test)
        bodies: list[list[Statement]] = []
        values: list[Value] = []
        ends, start = [], self.variables.state()
        for node in (body, other):
            self.variables.restore(start)
            with emit.block() as statements, self.variables.inner():
                values.append(self.value(node))
                if is_array(values[-1]):
                    self.variables[_CHOICE] = values[-1]
            bodies.append(statements)
            ends.append((self.variables.state(), statements))
        join(emit, self.variables, ends)
        if all(map(is_array, values)):
            emit.branch(condition, *bodies)
            return self.variables.taken(_CHOICE)
        if any(map(is_complex, values)):
            dtype = emit.common(values)
            for i, statements in enumerate(bodies):
                with emit.block() as further:
                    values[i] = emit.cast(values[i], dtype)
                statements += further
            return self._chosen(condition, bodies, values)
        if not all(isinstance(v, Number) or (isinstance(v, Known) and v.is_number) for v in values):
            return self._chosen(condition, bodies, values)
        dtype = emit.common(values)
        if not any(bodies):
            both = [emit.cast(value, dtype) for value in values]
            return emit.applied("select", [condition, *both], dtype)
        slot = self.variables.declared(dtype)
        for statements, value in zip(bodies, values, strict=True):
            with emit.block() as further:
                emit.body += statements
                self.variables.write(slot, value)
            statements[:] = further
        emit.branch(condition, *bodies)
        return self.variables.read(slot)

    def _chosen(
        self, condition: Number, bodies: list[list[Statement]], values: list[Value]
    ) -> Value:
        """One of two tuples or pointers."""
        with self._emit.block() as first:
            self._emit.body += bodies[0]
            with self.variables.inner():
                slot = self.variables.new(values[0])
        with self._emit.block() as second:
            self._emit.body += bodies[1]
            self.variables.write_fitting(slot, values[1])
        self._emit.branch(condition, first, second)
        return self.variables.read(slot)

    def _call(
        self, called: Value, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]
    ) -> Value:
        if not isinstance(called, Known):
            raise Unsupported("a call of a value")
        operands: list[Value] = []
        for each in args:
            if isinstance(each, (ast.ListComp, ast.GeneratorExp)) and called.value in TAKERS:
                operands.append(self.comprehension(each))
            elif isinstance(each, ast.Starred):
                operands += members(self.value(each.value))
            else:
                operands.append(self.value(each))
        named = {}
        for each in keywords:
            if each.arg is None:
                raise Unsupported("a call with **")
            named[each.arg] = self.value(each.value)
        return call(self._emit, called.value, operands, named)

    def named(self, name: str) -> Value:
        """The value of a name: a variable, or a name from outside of the function."""
        if name in self.local:
            found = self.variables[name]
            return self._emit.settled(found) if self._assigns else found
        for names in (self._outer, self._globals, vars(builtins)):
            if name in names:
                return outer_value(self._emit, names[name])
        raise Unsupported(f"{name}, which is not defined,")


def _same(x: Value, y: Value) -> bool:
    if isinstance(x, Known) and isinstance(y, Known) and not (x.is_number and y.is_number):
        return x.value is y.value
    if None in (getattr(x, "value", 0), getattr(y, "value", 0)):
        return False
    raise Unsupported("the identity of numbers")


def _only_computes(statement: Statement) -> bool:
    """Whether a statement may run where its result does not matter."""
    return isinstance(statement, Assign) and statement.body.price <= 2
