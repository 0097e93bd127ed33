"""A function with the functions that it calls written into it."""

from dataclasses import replace
from typing import Any

from ..ir.affine import ZERO, Affine, variable
from ..ir.statements import (
    Address,
    Call,
    For,
    Function,
    Literal,
    New,
    Operand,
    Pointer,
    PointTo,
    Statement,
    Store,
    Variable,
    While,
)
from ..ir.walk import with_inner
from .build import Names, copy, defined_names, literal, renamed
from .exits import single_exit
from .partials import only_computes

__all__ = ["Inlined", "inlined"]


class Inlined:
    """The variables that a function declares, its statements, and the operands that it returns."""

    def __init__(self, declared: list[Variable], body: list[Statement], results: list[Operand]):
        self.declared, self.body, self.results = declared, body, results


def inlined(function: Function, names: Names, keep_exits: bool = False) -> Inlined:
    """The function as statements with one exit, in which it calls none of ours. With `keep_exits`
    it ends where it did, and the statements return its results."""
    if keep_exits:
        pass_ = _Inline(names)
        body = pass_.body(function.body)
        return Inlined(pass_.declared, [*pass_.outer, *body], [])
    declared, body, results = single_exit(function.body, function.results, names)
    pass_ = _Inline(names)
    body = pass_.body(body)
    return Inlined([*declared, *pass_.declared], [*pass_.outer, *body], results)


class _Inline:
    def __init__(self, names: Names):
        self._names = names
        self.declared: list[Variable] = []
        self.outer: list[Statement] = []  # pointers to arrays from outside, which come first

    def body(self, statements: Any, in_loop: bool = False) -> list[Statement]:
        made: list[Statement] = []
        for each in statements:
            if isinstance(each, Call) and each.function == "print":
                continue
            if isinstance(each, PointTo) and isinstance(each.address, Literal):
                self.outer.append(each)
                continue
            if isinstance(each, Call) and not isinstance(each.function, str) and not (
                only_computes(each.function)
            ):  # fmt: skip
                called = self._called(each)
                made += self._cleared(called) if in_loop else called
            elif isinstance(each, Variable):
                made.append(self._declared(each))
            else:
                inside = in_loop or isinstance(each, (For, While))
                made.append(with_inner(each, lambda x, inside=inside: tuple(self.body(x, inside))))
        return made

    def _cleared(self, statements: Any) -> list[Statement]:
        """The statements of a function that is called several times: its buffers are the same ones
        each time, so those that begin with 0 are set to 0."""
        made: list[Statement] = []
        for each in statements:
            if isinstance(each, New) and each.cleared:
                axis, zero = self._names.new("each"), literal(0, each.dtype)
                stop = each.count.number if isinstance(each.count, Literal) else each.count
                store = Store(each.target, variable(axis), zero, each.dtype)
                made += [replace(each, cleared=False), For(axis, 0, stop, (store,))]
            else:
                made.append(with_inner(each, lambda body: tuple(self._cleared(body))))
        return made

    def _declared(self, each: Variable) -> Statement:
        """Declare a variable at the top; the statement that gives it its first value."""
        dtype: Any = each.dtype or each.start.dtype  # pyright: ignore
        self.declared.append(Variable(each.target, literal(0, dtype), dtype))
        return copy(each.target, each.start, dtype)

    def _called(self, call: Call) -> list[Statement]:
        function: Function = call.function
        given: dict[str, Any] = {}
        for (name, kind), argument in zip(function.parameters, call.arguments, strict=True):
            given[name] = argument
            assert isinstance(argument, Address) == isinstance(kind, Pointer)
        self._names.take([*given, *defined_names(function.body)])
        callee = inlined(function, self._names)
        defined = [*(each.target for each in callee.declared), *defined_names(callee.body)]
        own = {name: self._names.new(name) for name in dict.fromkeys(defined)}

        def value(name: str) -> Operand:
            return given[name] if name in given else own.get(name, name)

        def place(buffer: Any) -> tuple[Any, Affine]:
            if buffer in given:
                return given[buffer].buffer, given[buffer].at
            return own.get(buffer, buffer), ZERO

        def change(each: Any) -> Any:
            return renamed(each, value, place, lambda name: own.get(name, name))

        self.declared += [change(each) for each in callee.declared]
        made = [change(each) for each in callee.body]
        found = [value(x) if isinstance(x, str) else x for x in callee.results]
        dtypes = call.dtypes or function.results
        return made + [copy(t, x, d) for t, x, d in zip(call.results, found, dtypes, strict=True)]
