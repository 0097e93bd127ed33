"""Single assignment and common subexpressions: each value that statements compute has one name.

A read of a variable becomes the value that was assigned, where that is known, or one statement that
copies it. Equal computations and equal loads are one; a load behind a store to the same position is
the value that was stored. Indices that cannot be below 0 are not counted from the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import LoopError
from ..ir.affine import Affine, affine_of
from ..ir.scalar import Apply
from ..ir.spread import Spread, written
from ..ir.statements import (
    Accumulate,
    Assign,
    Call,
    Chunks,
    For,
    Gemm,
    If,
    Literal,
    Load,
    New,
    Operand,
    Pieces,
    PointTo,
    Position,
    Return,
    Statement,
    Store,
    Variable,
)
from ..ir.walk import inner, walk, with_inner
from .build import BOOL, COPY, INT, Names, copy, expanded, literal, names_of
from .dead import without_dead
from .forms import Ranges
from .partials import only_computes

__all__ = ["Simplified"]


class Simplified:
    """Variables, statements, results, and the dtype of each name. `lengths` are never below 0."""

    def __init__(
        self,
        declared: Sequence[Variable],
        body: Sequence[Statement],
        results: Sequence[Operand],
        dtypes: Mapping[str, np.dtype],
        lengths: Sequence[str],
        names: Names,
    ):
        self.dtypes = dict(dtypes)
        for each in declared:
            self.dtypes[each.target] = each.dtype or each.start.dtype  # pyright: ignore
        pass_ = _Simplify(names, self.dtypes, {each.target for each in declared}, lengths)
        made = pass_.body(body, {}, {})
        self.results = [pass_.value(each, pass_.last, made) for each in results]
        self.body = without_dead(made, self.results)
        used = {n for each in walk(self.body) for n in names_of(each)}
        used |= {getattr(each, "target", None) for each in walk(self.body)}
        self.declared = [each for each in declared if each.target in used]


class _Simplify:
    def __init__(
        self, names: Names, dtypes: dict[str, np.dtype], variables: set[str],
        lengths: Sequence[str],
    ):  # fmt: skip
        self._names, self._dtypes, self._variables = names, dtypes, variables
        self._ranges = Ranges(lengths)
        self._same: dict[str, Operand] = {}  # other names of values
        self._pointed: set[Any] = set()  # buffers that are pointers made here
        self._clipped: dict[Any, Operand] = {}  # x, by the names of max(x, 0), and of 0 > x
        self.last: dict[str, Operand] = {}

    def dtype(self, x: Operand) -> np.dtype:
        return x.dtype if isinstance(x, Literal) else self._dtypes.get(x, INT)

    def value(self, x: Operand, now: dict[str, Operand], made: list[Statement]) -> Operand:
        """The value of an operand; that of a variable is copied where it is not known."""
        if isinstance(x, Literal):
            return x
        if x not in self._variables:
            return self._same.get(x, x)
        if x not in now:
            now[x] = name = self._new(x)
            self._dtypes[name] = self._dtypes[x]
            made.append(copy(name, x, self._dtypes[x]))
        return now[x]

    def _new(self, hint: str = "t") -> str:
        return self._names.new(hint)

    def body(
        self, statements: Sequence[Statement], now: dict[str, Operand], known: dict[Any, Operand]
    ) -> list[Statement]:
        """The statements; `now` are the values of variables, `known` those of computations."""
        made: list[Statement] = []
        for each in statements:
            match each:
                case Assign():
                    self._assign(each, now, known, made)
                case Position(target=target, at=at):
                    self._dtypes[target] = INT
                    made.append(Position(target, self._affine(at, now, made)))
                case Load(target=target, buffer=buffer, at=at, dtype=dtype):
                    at = self._affine(at, now, made)
                    key = "load", buffer, at
                    if key in known:
                        self._same[target] = known[key]
                        continue
                    known[key] = target
                    self._dtypes[target] = dtype
                    made.append(Load(target, buffer, at, dtype))
                case Store():
                    at = self._affine(each.at, now, made)
                    value = self.value(each.value, now, made)
                    self._forget(each.buffer, known)
                    if each.kind is None and self.dtype(value) == each.dtype:
                        known["load", each.buffer, at] = value
                    made.append(replace(each, at=at, value=value))
                case New():
                    self._forget(each.target, known)
                    shape = tuple(self.value(x, now, made) for x in each.shape)
                    count = self.value(each.count, now, made)
                    made.append(replace(each, count=count, shape=shape))
                case If(condition=condition):
                    self._branch(each, self.value(condition, now, made), now, known, made)
                case Accumulate(target=target, value=value):
                    made.append(replace(each, value=self.value(value, now, made)))
                    now.pop(target, None)
                case Chunks() | Pieces() | Gemm():
                    raise LoopError(f"{type(each).__name__} has no derivative in functions")
                case For() | _ if inner(each):
                    self._loop(each, now, known, made)
                case Call():
                    given = tuple(self._argument(x, now, made) for x in each.arguments)
                    key = each.function, given
                    if key in known:
                        self._same[each.results[0]] = known[key]
                        continue
                    made.append(replace(each, arguments=given))
                    for pointer in each.pointers:
                        self._forget(pointer.buffer, known)
                    for name, dtype in zip(each.results, each.dtypes, strict=True):
                        self._dtypes[name] = dtype
                    if len(each.results) == 1 and only_computes(each.function):
                        known[key] = each.results[0]
                case PointTo(target=target, address=address):
                    self._pointed |= {target, getattr(address, "buffer", target)}
                    made.append(replace(each, address=self._argument(address, now, made)))
                case Return(values=values):
                    given = tuple(self.value(x, now, made) for x in values)
                    made.append(Return(given))
                case _:
                    made.append(each)
        self.last = now
        return made

    def _argument(self, x: Any, now: dict, made: list) -> Any:
        if isinstance(x, (str, Literal)):
            return self.value(x, now, made)
        return replace(x, at=self._affine(x.at, now, made)) if hasattr(x, "at") else x

    def _affine(self, at: Affine, now: dict, made: list) -> Affine:
        const, terms = at.const, {}
        for name, factor in at.terms:
            new = self.value(name, now, made) if isinstance(name, str) else name
            if isinstance(new, Literal):
                const += int(new.number) * factor
            else:
                terms[new] = terms.get(new, 0) + factor
        return affine_of(const, terms)

    def _forget(self, buffer: Any, known: dict) -> None:
        """Forget the elements of a buffer; several pointers may lead to the same memory."""
        same = self._pointed if buffer in self._pointed else {buffer}
        for key in [key for key in known if key[0] == "load" and key[1] in same]:
            del known[key]

    # -- scalar code ------------------------------------------------------------------------------

    def _assign(self, each: Assign, now: dict, known: dict, made: list) -> None:
        operands = tuple(self.value(x, now, made) for x in each.operands)
        steps = expanded(replace(each, operands=operands), self._new, self.dtype)
        value: Operand = ""
        for step in steps:
            is_last = step.target == each.target
            step = replace(step, operands=tuple(self._named(x) for x in step.operands))
            if is_last and each.target in self._variables:
                step = replace(step, target=self._new(each.target))
            value = self._step(step, known, made)
            if step.target != value:
                self._same[step.target] = value
        if each.target in self._variables:
            made.append(copy(each.target, value, each.dtype))
            now[each.target] = value
        elif each.target != value:
            self._same[each.target] = value

    def _named(self, x: Operand) -> Operand:
        return self._same.get(x, x) if isinstance(x, str) else x

    def _step(self, step: Assign, known: dict, made: list) -> Operand:
        """The operand that is the value of a statement; the statement itself if it is new."""
        found = self._folded(step)
        if found is not None:
            return found
        key = step.body, step.operands, step.dtype, step.inner
        if key in known:
            return known[key]
        known[key] = step.target
        self._dtypes[step.target] = step.dtype
        made.append(step)
        if step.dtype == INT:
            self._ranges.note(step)
        self._note_clipped(step)
        return step.target

    def _note_clipped(self, step: Assign) -> None:
        zero = literal(0, INT)
        match str(step.body), step.operands:
            case ("x > y", (first, x)) | ("x < y", (x, first)) if first == zero:
                self._clipped[step.target] = x
            case "select(x, y, z)", (test, y, x) if y == zero and self._clipped.get(test) == x:
                self._clipped[step.target] = x

    def _folded(self, step: Assign) -> Operand | None:
        operands = step.operands
        if step.body is COPY:
            (x,) = operands
            if self.dtype(x) == step.dtype:
                return x
            if isinstance(x, Literal) and step.dtype.kind == "f":
                return literal(x.number, step.dtype)
            return None
        assert isinstance(step.body, Apply)
        name = step.body.function.name
        if name in ("equal", "not_equal") and operands[0] == operands[1]:
            if self.dtype(operands[0]) == INT:
                return literal(name == "equal", BOOL)
        if name == "invert" and isinstance(operands[0], Literal) and step.dtype == BOOL:
            return literal(not operands[0].number, BOOL)
        if name == "less" and operands[1] == literal(0, INT) and self._is_natural(operands[0]):
            return literal(False, BOOL)
        if name == "select" and isinstance(operands[0], Literal):
            return operands[1] if operands[0].number else operands[2]
        if all(isinstance(x, Literal) and x.dtype == INT for x in operands) and step.dtype == INT:
            numbers = [int(x.number) for x in operands if isinstance(x, Literal)]
            if name in _FOLDED:
                return literal(_FOLDED[name](*numbers), INT)
        zero, one = literal(0, INT), literal(1, INT)
        if step.dtype == INT and name in ("add", "subtract") and operands[1] == zero:
            return operands[0]
        if step.dtype == INT and name == "multiply" and one in operands:
            return operands[0] if operands[1] == one else operands[1]
        return None

    def _is_natural(self, x: Operand) -> bool:
        return self.dtype(x) == INT and self._ranges.is_natural(x)

    # -- branches and loops -----------------------------------------------------------------------

    def _branch(self, each: If, condition: Operand, now: dict, known: dict, made: list) -> None:
        if isinstance(condition, Literal):
            made += self.body(each.then if condition.number else each.otherwise, now, known)
            return
        for name in sorted(_read(each) & self._variables):
            self.value(name, now, made)
        bodies = [self.body(body, dict(now), dict(known)) for body in inner(each)]
        self._clear(each, now, known)
        made.append(replace(each, condition=condition, then=tuple(bodies[0]),
                            otherwise=tuple(bodies[1])))  # fmt: skip

    def _loop(self, each: Any, now: dict, known: dict, made: list) -> None:
        self._clear(each, now, known)
        changed = {getattr(one, "target", None) for one in walk([each])}
        for name in sorted((_read(each) & self._variables) - changed):
            self.value(name, now, made)  # one value for all rounds
        if isinstance(each, For):
            start, stop = (self._bound_of(x, now, made) for x in (each.start, each.stop))
            if start == 0:  # a stop below 0 is no round, too
                stop = self._bound_of(self._clipped.get(stop, stop), now, made)
            each = replace(each, start=start, stop=stop)
            if each.snapshots is not None:
                each = replace(each, snapshots=self.value(each.snapshots, now, made))
            each = replace(each, ends=tuple(self._argument(x, now, made) for x in each.ends))
            if (call := each.call) is not None:
                given = tuple(self._argument(x, now, made) for x in call.arguments)
                each = replace(each, call=replace(call, arguments=given))
            self._ranges.loop(each.axis, start, stop)
            self._dtypes[each.axis] = INT
        elif isinstance(each, Spread):
            bounds = [self._bound_of(x, now, made) for x in (each.loop.start, each.loop.stop)]
            each = each.changed(lambda x: self._argument(x, now, made), *bounds)
        made.append(with_inner(each, lambda body: tuple(self.body(body, dict(now), dict(known)))))
        self.last = now

    def _bound_of(self, x: Any, now: dict, made: list) -> Any:
        value = self.value(x, now, made) if isinstance(x, (str, Literal)) else x
        return value.number if isinstance(value, Literal) else value

    def _clear(self, each: Any, now: dict, known: dict) -> None:
        """Forget what the statements inside change."""
        for one in walk([each]):
            target = getattr(one, "target", None)
            if target in self._variables:
                now.pop(target, None)
            for buffer in written(one):
                self._forget(buffer, known)


_FOLDED = {"add": int.__add__, "subtract": int.__sub__, "multiply": int.__mul__}


def _read(each: Any) -> set[str]:
    return {name for one in walk([each]) for name in names_of(one)}
