"""Forward mode: from a function to one that gives its results and their tangents.

Each statement through which derivatives flow is followed by the one that computes the tangent of
its result. Loops, branches and exits stay as they are. Rows of `partials.py` are linear in the
cotangent of the result: the tangent of the result is the sum, over the arguments, of the row with
the tangent of the argument in its place.

Memory that a function asks for, such as the record of reverse mode, is doubled: an integer that is
active is the address of memory, and its tangent the address of the memory for tangents. So forward
mode applies to functions that reverse mode made; this gives Hessian-vector products. A vector-
Jacobian product is a gradient map, of `sum(cotangent * f(x))` in both; as the derivative of such a
map is symmetric, forward mode of it is its reverse mode, too.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import LoopError
from ..ir.library import LIBRARY
from ..ir.reductions import SUM, Reduction
from ..ir.scalar import NAMES, Expr, arguments, parse
from ..ir.spread import Spread
from ..ir.statements import (
    Accumulate,
    Address,
    Allocate,
    Assign,
    Break,
    Call,
    Continue,
    For,
    Function,
    If,
    Literal,
    Load,
    New,
    Operand,
    Pointer,
    PointTo,
    Position,
    Raise,
    Return,
    Store,
    Variable,
)
from ..ir.walk import inner, walk, with_inner
from .activity import active_names, rule_of
from .build import (
    BOOL,
    COPY,
    INT,
    Names,
    copy,
    defined_names,
    expanded,
    literal,
    operation,
    unused,
)
from .inline import inlined
from .library import tangents_of_call
from .partials import OPERANDS, without_derivative
from .simplify import Simplified

__all__ = ["tangents"]

_JOINT = {
    "select": parse("select(x, v, w)"),
    "divide": parse("(v - w * u) / y"),
    "maximum": parse("select(x >= y, v, w)"),
    "minimum": parse("select(x <= y, v, w)"),
    "fmax": parse("select(x >= y, v, w)"),
    "fmin": parse("select(x <= y, v, w)"),
    "strong": parse("select((x == 0.0) & ((v == 0.0) | (y != y)), 0.0, w)"),
}
"""Tangents of two active arguments, `v` and `w` their tangents, that cost less than the sum. Behind
a cotangent of 0 that has no tangent everything is 0."""


def tangents(function: Function, wrt: Collection[str], lengths: Sequence[str]) -> Function:
    """The function with tangents. `wrt` names the active parameters: buffers, and numbers that are
    floats. `lengths` are parameters that are never below 0.

    Parameters, in this order: those of the function; the tangent buffer of each parameter that is
    an active buffer, one of `wrt` or one that is written with what depends on `wrt`, in the order
    of the parameters; the tangent of each number of `wrt`, in the order of the parameters. They are
    named `<name>.dot`, or `<name>.dot2`, ... where the function has such names, as a tangent has.
    Results: those of the function, then the tangent of each that is a float. A tangent buffer holds
    on entry the tangent of the elements that the buffer holds on entry, and on exit that of those
    that it holds on exit. No two buffers may overlap.
    """
    return _Tangents(function, wrt, lengths).function


class _Tangents:
    def __init__(self, function: Function, wrt: Collection[str], lengths: Sequence[str]):
        suffix = self._suffix = unused(".dot", function)
        parameters = dict(function.parameters)
        names = self._names = Names([*parameters, *defined_names(function.body)])
        flat = inlined(function, names, keep_exits=True)
        numbers = {n: k for n, k in function.parameters if not isinstance(k, Pointer)}
        plain = Simplified(flat.declared, flat.body, (), numbers, lengths, names)
        self._dtypes = plain.dtypes
        self._buffers = {n: k.dtype for n, k in parameters.items() if isinstance(k, Pointer)}
        for each in walk(plain.body):
            if isinstance(each, (Allocate, New, PointTo)):
                self._buffers[each.target] = each.dtype
            elif isinstance(each, Spread):
                self._buffers |= {name: address.dtype for name, address, _ in each.shared}
        results = [x for each in walk(plain.body) if isinstance(each, Return) for x in each.values]
        outs = [n for n, k in parameters.items() if isinstance(k, Pointer) and k.dtype.kind == "f"]
        useful = {x for x in results if isinstance(x, str)} | set(outs)
        self._active = active_names(plain.body, wrt, useful, self._dtype) | set(wrt)
        body = self._body([*plain.declared, *plain.body])
        shadows = [n for n, k in parameters.items()
                   if isinstance(k, Pointer) and n in self._active]  # fmt: skip
        moving = [*shadows, *(name for name in numbers if name in wrt)]
        dots = [(name + suffix, parameters[name]) for name in moving]
        self.function = Function(
            f"{function.name}.jvp",
            (*function.parameters, *dots),
            tuple(body),
            (*function.results, *(d for d in function.results if d.kind == "f")),
            function.attributes | {"noalias"},
        )

    # -- names ------------------------------------------------------------------------------------

    def _dtype(self, x: Any) -> np.dtype:
        if isinstance(x, Literal):
            return x.dtype
        x = x.removesuffix(self._suffix)
        return self._dtypes[x] if x in self._dtypes else self._buffers.get(x, INT)

    def _dot(self, x: Any) -> str | None:
        """The name of the tangent of an operand or of a buffer; None where it is 0."""
        return x + self._suffix if isinstance(x, str) and x in self._active else None

    def _given(self, x: Operand) -> Operand:
        return self._dot(x) or literal(0, self._dtype(x))

    def _new(self) -> str:
        return self._names.new("d")

    # -- statements -------------------------------------------------------------------------------

    def _body(self, statements: Sequence[Any]) -> list[Any]:
        made: list[Any] = []
        for each in statements:
            if isinstance(each, Spread):
                each = self._spread(each)
            if isinstance(each, For) and each.call:
                made += [each, *tangents_of_call(each.call, self._dot)]
            elif isinstance(each, If) and each.is_skip:
                made += self._body(each.then)  # a value of 0 may have a tangent
            elif inner(each):
                made.append(with_inner(each, lambda body: tuple(self._body(body))))
            elif isinstance(each, Return):
                dots = [self._given(x) for x in each.values if self._dtype(x).kind == "f"]
                made.append(Return((*each.values, *dots)))
            else:
                made += [each, *self._tangent(each)]
        return made

    def _spread(self, each: Spread) -> Spread:
        """Sum the tangents of what the pieces of a loop sum."""
        sums = tuple(filter(None, map(self._dot, each.sums)))
        shared = tuple(
            (dot, self._address(address), count)
            for name, address, count in each.shared
            if (dot := self._dot(name))
        )
        return replace(each, sums=(*each.sums, *sums), shared=(*each.shared, *shared))

    def _tangent(self, each: Any) -> list[Any]:
        """The statements behind one that compute the tangent of its result."""
        match each:
            case Assign(target=target, body=body, operands=operands, dtype=dtype):
                if (dot := self._dot(target)) is None:
                    return []
                if body is COPY:
                    return [copy(dot, self._given(operands[0]), dtype)]
                return self._applied(each, operands, target, dot, dtype)
            case Variable(target=target, start=start, dtype=dtype):
                dot = self._dot(target)
                return [Variable(dot, self._given(start), dtype)] if dot else []
            case Load(target=target, buffer=buffer):
                dot = self._dot(target)
                return [replace(each, target=dot, buffer=self._dot(buffer))] if dot else []
            case Store(buffer=buffer, value=value, kind=kind):
                if (dot := self._dot(buffer)) is None:
                    return []
                self._check_kind(kind)
                if kind is SUM and self._dot(value) is None:
                    return []
                return [replace(each, buffer=dot, value=self._given(value))]
            case Accumulate(target=target, kind=kind, value=value):
                if (dot := self._dot(target)) is None:
                    return []
                self._check_kind(kind)
                given = self._dot(value)
                return [replace(each, target=dot, value=given)] if given else []
            case Call():
                return self._called(each)
            case Allocate(target=target):
                dot = self._dot(target)
                return [replace(each, target=dot)] if dot else []
            case New(target=target):
                dot = self._dot(target)
                return [replace(each, target=dot, cleared=True)] if dot else []
            case PointTo(target=target, address=address):
                if (dot := self._dot(target)) is None:
                    return []
                if isinstance(address, Address):
                    return [PointTo(dot, self._address(address), each.dtype)]
                return [PointTo(dot, self._given(address), each.dtype)]
            case Position() | Break() | Continue() | Raise():
                return []
        raise LoopError(f"{type(each).__name__} has no tangent")

    @staticmethod
    def _check_kind(kind: Reduction | None) -> None:
        if kind not in (None, SUM):
            raise LoopError(f"a combination by {kind.name} has no derivative in compiled loops")

    def _address(self, x: Address) -> Address:
        return replace(x, buffer=self._dot(x.buffer) or x.buffer)

    def _called(self, call: Call) -> list[Any]:
        """The statements behind a call of a function that the target knows."""
        if call.function == "freed":
            dots = tuple(filter(None, map(self._dot, call.arguments)))
            return [replace(call, arguments=dots)] if dots else []
        if call.function == "resized":
            (target,), (address, size) = call.results, call.arguments
            if (dot := self._dot(target)) is None:
                return []
            failed, before = self._new(), self._given(address)
            free = [Call("freed", (x,)) for x in (target, before)]
            return [
                Call("resized", (before, size), (dot,), call.dtypes),
                operation(failed, "equal", (dot, literal(0, INT)), BOOL, INT),
                If(failed, (*free, Raise("MemoryError", "no memory for tangents"))),
            ]
        if call.function in LIBRARY:
            return tangents_of_call(call, self._dot)
        if any(self._dot(x.buffer) for x in call.pointers):
            raise LoopError(f"{call.function} has no derivative in compiled loops")
        active = [x for x in call.results if self._dot(x)]
        if not active:
            return []
        (target,), (dtype,) = call.results, call.dtypes
        return self._applied(call, call.arguments, target, f"{target}{self._suffix}", dtype)

    # -- scalar code ------------------------------------------------------------------------------

    def _applied(
        self, each: Any, operands: Sequence[Any], target: str, dot: str, dtype: np.dtype
    ) -> list[Any]:
        """`dot` is the tangent of a function of operands, of which `target` is the value."""
        name = getattr(getattr(each, "body", None), "function", None)
        name = str(name.name if name else each.function)
        rule = rule_of(each)
        if rule is None:
            raise LoopError(without_derivative(name))
        made: list[Any] = []
        values = {**dict(zip(OPERANDS, operands, strict=False)), "u": target}
        rows = [(row, tangent) for x, row in zip(operands, rule, strict=True)
                if row is not None and (tangent := self._dot(x))]  # fmt: skip
        if name in _JOINT and (len(rows) == 2 or name == "strong"):
            values["v"], values["w"] = map(self._given, operands[-2:])
            self._evaluated(_JOINT[name], values, dtype, made, dot)
            return made
        total: Operand | None = None
        for i, (row, tangent) in enumerate(rows, 1):
            if isinstance(row, str):
                raise LoopError(row)
            part = self._evaluated(row, {**values, "v": tangent}, dtype, made)
            if total is not None:
                goal = dot if i == len(rows) else self._new()
                made.append(operation(goal, "add", (total, part), dtype))
                part = goal
            total = part
        if total != dot:
            made.append(copy(dot, literal(0, dtype) if total is None else total, dtype))
        return made

    def _evaluated(
        self, expr: Expr, values: dict[str, Operand], dtype: np.dtype, made: list[Any],
        target: str | None = None,
    ) -> Operand:  # fmt: skip
        read = sorted(arguments(expr), key=NAMES.index)
        steps = expanded(
            Assign(target or self._new(), expr, (), dtype, dtype),
            self._new,
            self._dtype,
            {name: values[name] for name in read},
        )
        if steps[-1].body is COPY and target is None:
            return steps[-1].operands[0]
        made += steps
        return steps[-1].target
