"""The adjoint statements of straight code, in reverse order.

The cotangent of a value that is used in one sequence of statements only is a value, too. Others
are variables, `<name>.bar`, which are 0 where nothing was added yet; so are those of variables.
"""

from collections.abc import Callable, Collection, Sequence
from math import isfinite
from typing import Any

import numpy as np

from ..errors import LoopError
from ..ir.affine import variable
from ..ir.reductions import SUM
from ..ir.scalar import NAMES, Expr, arguments
from ..ir.statements import (
    Accumulate,
    Allocate,
    Assign,
    Call,
    For,
    If,
    Literal,
    Load,
    New,
    Operand,
    PointTo,
    Statement,
    Store,
    Variable,
)
from ..ir.walk import inner, walk
from .activity import rule_of
from .build import COPY, INT, Names, copy, expanded, literal, names_of, operation
from .partials import OPERANDS, may_be_infinite, may_drop, without_derivative

__all__ = ["Adjoint"]


class Adjoint:
    """Writes adjoints. `shadow` names the cotangent of a name: of a buffer, the buffer of the
    cotangents of its elements."""

    def __init__(
        self, names: Names, dtypes: dict[str, np.dtype], active: Collection[Any],
        variables: Collection[str], shared: Collection[str], shadow: Callable[[Any], Any],
        strong: Collection[Any] = (), unchosen: Collection[Any] = (),
        made_once: Collection[Any] = (),
        first_stores: Collection[int] = (),
    ):  # fmt: skip
        self.declared: dict[str, Variable] = {}
        self.inside: set[Any] = set()  # values of branches that are computed again
        self._names, self._dtypes, self._active = names, dtypes, active
        self._variables, self._shared, self._shadow = variables, shared, shadow
        self._strong = strong  # names whose cotangent may be infinite
        self._unchosen = unchosen  # names of values that may not be chosen
        self._made_once, self._first_stores = made_once, first_stores  # see `once.py`
        self._made: list[Any] = []
        self._local: dict[str, Operand] = {}  # cotangents that are values
        self._now: dict[str, Operand] = {}  # values of cotangents that are variables
        self._stale: set[str] = set()  # those of which the variable has another value
        # The cotangents from which others were computed that are not guarded yet.
        self._origins: dict[Operand, Operand] = {}

    def bar(self, name: str) -> str:
        """The variable that is the cotangent of a value or a variable."""
        bar = self._shadow(name)
        if bar not in self.declared:
            self._names.take([bar])
            dtype = self._dtypes[name]
            self._dtypes[bar] = dtype
            self.declared[bar] = Variable(bar, literal(0, dtype), dtype)
        return bar

    def of(self, statements: Sequence[Statement]) -> list[Statement]:
        """The adjoint of a sequence of statements."""
        outer = self._made, self._local
        self._made, self._local = [], {}
        for each in reversed(statements):
            self._reversed(each)
        self._flush()
        made, (self._made, self._local) = self._made, outer
        return made

    # -- cotangents -------------------------------------------------------------------------------

    def _dtype(self, x: Operand) -> np.dtype:
        return x.dtype if isinstance(x, Literal) else self._dtypes[x]

    def _take(self, name: str) -> Operand | None:
        """The cotangent of a value, which is 0 from now on; None where it is 0."""
        if name in self._shared or name in self._variables:
            bar = self.bar(name)
            found = self._read(bar)
            if found != (zero := literal(0, self._dtypes[name])):
                self._now[bar] = zero
                self._stale.add(bar)
                return found
            return None
        return self._local.pop(name, None)

    def _read(self, bar: str) -> Operand:
        if bar not in self._now:
            name = self._names.new("g")
            self._dtypes[name] = self._dtypes[bar]
            self._made.append(copy(name, bar, self._dtypes[bar]))
            self._now[bar] = name
        return self._now[bar]

    def add(self, name: Operand, cotangent: Operand) -> None:
        """Add to the cotangent of a value."""
        if isinstance(name, Literal) or name not in self._active:
            return
        dtype = self._dtypes[name]
        if self._dtype(cotangent) != dtype:
            cotangent = self._guarded(cotangent)
            cotangent = self._value(copy(self._names.new("g"), cotangent, dtype))
        if name in self._shared or name in self._variables or name not in self._dtypes:
            bar = self.bar(name)
            before = self._read(bar)
            self._now[bar] = self._sum(before, self._guarded(cotangent), dtype)
            self._stale.add(bar)
        elif (before := self._local.get(name)) is None:
            self._local[name] = cotangent
        else:
            self._local[name] = self._sum(self._guarded(before), self._guarded(cotangent), dtype)

    def _guarded(self, cotangent: Operand) -> Operand:
        """A cotangent that is 0 where the one from which it was computed is, also if a partial
        derivative between them is inf or nan."""
        if (origin := self._origins.get(cotangent)) is None:
            return cotangent
        dtype = self._dtype(cotangent)
        return self._value(operation(self._names.new("g"), "strong", (origin, cotangent), dtype))

    def _sum(self, x: Operand, y: Operand, dtype: np.dtype) -> Operand:
        if x == literal(0, dtype):
            return y
        return self._value(operation(self._names.new("g"), "add", (x, y), dtype))

    def _value(self, statement: Any) -> str:
        self._dtypes[statement.target] = statement.dtype
        self._made.append(statement)
        return statement.target

    def _flush(self) -> None:
        """Write the cotangents that are variables."""
        for bar in sorted(self._stale):
            self._made.append(copy(bar, self._now[bar], self._dtypes[bar]))
        self._stale.clear()
        self._now.clear()

    def flushed(self) -> list[Statement]:
        """The statements that `add` wrote outside of any sequence."""
        self._flush()
        made, self._made = self._made, []
        return made

    # -- statements -------------------------------------------------------------------------------

    def _reversed(self, each: Any) -> None:
        match each:
            case Assign(target=target, body=body, operands=(x, *_), dtype=dtype):
                if target in self._active and (g := self._take(target)) is not None:
                    if body is COPY:
                        self.add(x, g)
                    else:
                        self._apply(each, each.operands, target, g, dtype)
            case Load(target=target, buffer=buffer, at=at, dtype=dtype):
                if target in self._active and (g := self._take(target)) is not None:
                    g = self._guarded(g)
                    self._made.append(Store(self._shadow(buffer), at, g, dtype, SUM))
            case Store(buffer=buffer, at=at, value=value, dtype=dtype, kind=kind):
                if buffer in self._active:
                    if kind not in (None, SUM):
                        raise LoopError(f"a store that combines by {kind.name}")
                    is_kept = kind is not None or id(each) in self._first_stores
                    self._stored(self._shadow(buffer), at, value, dtype, is_kept)
            case Accumulate(target=target, kind=kind, value=value):
                if target in self._active:
                    if kind is not SUM:
                        raise LoopError(f"a combination by {kind.name}")
                    self.add(value, self._read(self.bar(target)))
            case New(target=buffer, count=count, dtype=dtype):
                if buffer in self._active and buffer not in self._made_once and not each.cleared:
                    self._cleared(self._shadow(buffer), count, dtype)
            case If(condition=condition, then=then, otherwise=otherwise):
                self._flush()
                parts = self._branch(then), self._branch(otherwise)
                if any(parts):
                    self._made.append(If(condition, tuple(parts[0]), tuple(parts[1])))
            case Call() if any(x.buffer in self._active for x in each.pointers):
                raise LoopError(f"{each.function} has no derivative in compiled loops")
            case Allocate(target=target) | PointTo(target=target) if target in self._active:
                raise LoopError(f"an array of {each.dtype} that is made inside of a function")
            case Call(results=(target, *_), arguments=arguments, dtypes=(dtype, *_)):
                if target in self._active and (g := self._take(target)) is not None:
                    self._apply(each, arguments, target, g, dtype)
            case _ if inner(each):
                raise AssertionError(each)

    def _cleared(self, shadow: Any, count: Operand, dtype: np.dtype) -> None:
        """The contents of a new buffer are undefined: what flows back to them is dropped."""
        axis, zero = self._names.new("each"), literal(0, dtype)
        self._dtypes[axis] = INT
        stop = count.number if isinstance(count, Literal) else count
        store = Store(shadow, variable(axis), zero, dtype)
        self._made.append(For(axis, 0, stop, (store,)))

    def _branch(self, statements: Sequence[Any]) -> list[Statement]:
        """The adjoint of a branch, with the values of the branch that it needs."""
        made = self.of(statements)
        needed = {name for each in walk(made) for name in names_of(each)}
        again: list[Any] = []
        for each in reversed(statements):
            names = {getattr(each, "target", None), *getattr(each, "results", ())}
            if not inner(each) and names & needed and not names & set(self._variables):
                again.append(each)
                self.inside |= names
                needed |= names_of(each)
        return [*reversed(again), *made]

    def _stored(self, shadow: Any, at: Any, value: Operand, dtype: np.dtype, is_kept: bool) -> None:
        """Add the cotangent of an element to that of the value; it is 0 afterwards, unless it is
        kept."""
        name = self._names.new("g")
        self._dtypes[name] = dtype
        if value in self._active:
            self._made.append(Load(name, shadow, at, dtype))
        if not is_kept:
            self._made.append(Store(shadow, at, literal(0, dtype), dtype))
        self.add(value, name)

    def _apply(
        self, each: Any, operands: Sequence[Any], target: str, g: Operand, dtype: np.dtype
    ) -> None:
        rule = rule_of(each, target in self._strong)
        if rule is None:
            name = str(getattr(each, "function", getattr(each, "body", "")))
            raise LoopError(without_derivative(name))
        if any(isinstance(part, Expr) and may_drop(part) for part in rule):
            g = self._guarded(g)
        values = {**dict(zip(OPERANDS, operands, strict=False)), "u": target, "v": g}
        numbers = {
            name for name, x in values.items()
            if isinstance(x, Literal) and x.number and isfinite(x.number)
        }  # fmt: skip
        for x, part in zip(operands, rule, strict=True):
            if part is not None and isinstance(x, str) and x in self._active:
                if isinstance(part, str):
                    raise LoopError(part)
                found = self._evaluated(part, values, dtype)
                is_new = target in self._unchosen and may_be_infinite(part, numbers)
                if isinstance(found, str) and (is_new or g in self._origins):
                    self._origins[found] = self._origins.get(g, g)
                self.add(x, found)

    def _evaluated(self, expr: Expr, values: dict[str, Operand], dtype: np.dtype) -> Operand:
        read = sorted(arguments(expr), key=NAMES.index)
        steps = expanded(
            Assign(self._names.new("g"), expr, (), dtype, dtype),
            lambda: self._names.new("g"),
            self._dtype,
            {name: values[name] for name in read},
        )
        for step in steps[:-1]:
            self._value(step)
        last = steps[-1]
        return last.operands[0] if last.body is COPY else self._value(last)
