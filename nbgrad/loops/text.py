"""The text of a function of the kernel IR, for people: Python with the user's lines beside it."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..adjoints.build import names_of
from ..ir.kernel_text import operand_text, position_text
from ..ir.reductions import PRODUCT, SUM, Reduction
from ..ir.scalar import NAMES, text_of, typed_literal
from ..ir.spread import Spread
from ..ir.statements import (
    Accumulate,
    Address,
    Assign,
    Break,
    Call,
    Continue,
    For,
    Function,
    If,
    Load,
    New,
    PointTo,
    Position,
    Raise,
    Return,
    Store,
    Variable,
    While,
)
from ..ir.walk import walk

__all__ = ["function_text"]

_COLUMN = 72


def function_text(function: Function, lines: Any) -> str:
    """The function as text. `lines.get(name)` is the user's line that defines a name."""
    return _Writer(function, lines).text


class _Writer:
    def __init__(self, function: Function, lines: Any):
        self._lines = lines
        self._shown: dict[str, str] = {}
        self._taken: set[str] = set()
        # Values that are used once are written where they are used.
        variables = {x.target for x in walk(function.body) if isinstance(x, Variable)}
        uses = Counter(name for each in walk(function.body) for name in _uses(each))
        defined = Counter(
            x.target for x in walk(function.body) if isinstance(getattr(x, "target", None), str)
        )
        self._once = {
            x.target for x in walk(function.body)
            if isinstance(x, Assign) and uses[x.target] == 1 and defined[x.target] == 1
            and not variables.intersection(map(str, x.operands))
        } - variables  # fmt: skip
        self._values: dict[str, str] = {}
        names = [self._name(name) for name, _ in function.parameters]
        head = f"def {self._name(function.name)}({', '.join(names)}):"
        self.text = "\n".join([head, *self._body(function.body, 1)]) + "\n"

    def _name(self, name: Any) -> str:
        """A name as an identifier, which no other name has."""
        if name not in self._shown:
            hint = stem = re.sub(r"\W", "_", name.replace("~", "")).strip("_") or "t"
            hint = stem = f"t{stem}" if stem[0].isdigit() else stem
            count = 1
            while hint in self._taken:
                count += 1
                hint = f"{stem}_{count}"
            self._taken.add(hint)
            self._shown[name] = hint
        return self._shown[name]

    def _operand(self, operand: Any) -> str:
        if not isinstance(operand, str):
            return operand_text(operand) if hasattr(operand, "number") else str(operand)
        if operand in self._values:
            return self._values[operand]
        return self._name(operand)

    def _at(self, at: Any) -> str:
        terms = [(self._operand(x) if isinstance(x, str) else x, step) for x, step in at.terms]
        return position_text(at._replace(terms=tuple(terms)))

    def _body(self, body: Iterable[Any], depth: int) -> list[str]:
        made: list[str] = []
        last = ""
        for each in body:
            for line in self._statement(each, depth):
                text = "    " * depth + line if not line.startswith("    ") else line
                note = self._note(each) if line and not line.startswith("    ") else ""
                if note and note != last:
                    made.append(f"{text:<{_COLUMN}}  # {note}")
                    last = note
                else:
                    made.append(text)
        return made or ["    " * depth + "pass"]

    def _note(self, each: Any) -> str:
        names = [getattr(each, "target", None), getattr(each, "axis", None),
                 *getattr(each, "results", ()), getattr(each, "value", None),
                 getattr(each, "condition", None)]  # fmt: skip
        for name in names:
            if isinstance(name, str):
                if note := self._lines.get(name.rstrip("~")):
                    return note
        return ""

    def _statement(self, each: Any, depth: int) -> list[str]:
        match each:
            case Assign():
                names = dict(zip(NAMES, map(self._operand, each.operands), strict=False))
                value = text_of(each.body, names, typed_literal(each.inner))
                if each.target in self._once:
                    self._values[each.target] = value if value.isidentifier() else f"({value})"
                    return []
                return [f"{self._name(each.target)} = {value}"]
            case For(axis=axis, start=start, stop=stop, step=step, body=body):
                given = [self._operand(x) if isinstance(x, str) else str(x) for x in (start, stop)]
                given = given[1:] if given[0] == "0" and step == 1 else given
                given += [] if step == 1 else [self._operand(step)]
                head = f"for {self._name(axis)} in range({', '.join(given)}):"
                return [head, *self._body(body, depth + 1)]
            case Spread(loop=loop, before=before, after=after):
                line = f"# {self._operand(each.count)} pieces on several threads"
                parts = [self._body(x, depth) for x in (before, (loop,), after) if x]
                return [line, *(text for part in parts for text in part)]
            case While(body=body):
                return ["while True:", *self._body(body, depth + 1)]
            case If(condition=condition, then=then, otherwise=otherwise):
                made = [f"if {self._operand(condition)}:", *self._body(then, depth + 1)]
                if otherwise:
                    made += ["    " * depth + "else:", *self._body(otherwise, depth + 1)]
                return made
            case Load():
                place = f"{self._name(each.buffer)}[{self._at(each.at)}]"
                return [f"{self._name(each.target)} = {place}"]
            case Store(buffer=buffer, at=at, value=value, kind=kind):
                place = f"{self._name(buffer)}[{self._at(at)}]"
                return [self._set(place, kind, self._operand(value))]
            case Accumulate(target=target, kind=kind, value=value):
                return [self._set(self._name(target), kind, self._operand(value))]
            case Position(target=target, at=at):
                return [f"{self._name(target)} = {self._at(at)}"]
            case New(target=target, count=count, dtype=dtype):
                return [f"{self._name(target)} = np.empty({self._operand(count)}, np.{dtype})"]
            case Call(function=function, arguments=arguments, results=results):
                name = function if isinstance(function, str) else function.name
                given = ", ".join(map(self._argument, arguments))
                to = f"{', '.join(map(self._name, results))} = " if results else ""
                return [f"{to}{name.rpartition(' ')[2]}({given})"]
            case Return(values=values):
                return [f"return {', '.join(map(self._operand, values))}".rstrip()]
            case Raise(error=error, message=message):
                return [f"raise {error}({message!r})"]
            case Break() | Continue():
                return [type(each).__name__.lower()]
            case Variable(target=target, start=start):
                return [f"{self._name(target)} = {self._operand(start)}"]
            case PointTo(target=target, address=address):
                return [f"{self._name(target)} = pointer({self._argument(address)})"]
        return [f"# {each}"]

    def _set(self, place: str, kind: Reduction | None, value: str) -> str:
        """The line that sets a place, or combines it with a value."""
        if kind is None or kind in _SIGNS:
            return f"{place} {_SIGNS.get(kind, '')}= {value}"
        return f"{place} = {kind.name}({place}, {value})"

    def _argument(self, argument: Any) -> str:
        if isinstance(argument, Address):
            name = self._name(argument.buffer)
            return name if argument.at.is_zero else f"{name} + {self._at(argument.at)}"
        return self._operand(argument)


_SIGNS: dict[Reduction | None, str] = {SUM: "+", PRODUCT: "*"}


def _uses(each: Any) -> Iterable[str]:
    """The names that a statement reads, once for each use."""
    if isinstance(each, Assign):
        return [x for x in each.operands if isinstance(x, str)]
    if isinstance(each, Return):
        return [x for x in each.values if isinstance(x, str)]
    return [*names_of(each), *names_of(each)] if isinstance(each, (For, Call)) else names_of(each)
