"""How often statements add to a variable, of which they make no other use."""

import math
from collections.abc import Collection, Sequence
from typing import Any

from ..ir.reductions import SUM
from ..ir.scalar import Apply
from ..ir.statements import Accumulate, Assign, If
from .build import COPY, names_of
from .tree import Body, Branch, Loop

__all__ = ["Additions"]


class _NoSum(Exception):
    """A variable to which something else is done than to add."""


class Additions:
    """How often statements add to a variable at most."""

    def __init__(self, name: str):
        self._name = name
        # Names of the value of the variable, with so many terms added to it.
        self._terms: dict[Any, int] = {}
        self._taken: set[Any] = {name}

    def of(self, body: Body) -> float | None:
        """The number for a body; None if the variable is no sum."""
        try:
            return self._body(body)
        except _NoSum:
            return None

    def _body(self, body: Body) -> float:
        total: float = 0
        for item in body.items:
            if isinstance(item, Loop):
                statement, leave = item.statement, item.leave
                bounds = {getattr(statement, x, None) for x in ("start", "stop")}
                self._require_other(bounds | {getattr(leave, "condition", None)})
                self._terms = {}
                total += math.inf if self._parts([item.body]) else 0
            elif isinstance(item, Branch):
                self._require_other({item.condition})
                total += self._parts([item.then, item.otherwise])
            else:
                total += self._statements(item.statements)
        return total

    def _parts(self, parts: Sequence[Any]) -> float:
        """The number for one of several bodies."""
        before, counts = self._terms, []
        for part in parts:
            self._terms = dict(before)
            if isinstance(part, Body):
                counts.append(self._body(part))
            else:
                counts.append(self._statements(part))
        self._terms = {} if any(counts) else before
        return max(counts)

    def _statements(self, statements: Sequence[Any]) -> float:
        total: float = 0
        for each in statements:
            if isinstance(each, If):
                self._require_other({each.condition})
                total += self._parts([each.then, each.otherwise])
            else:
                total += self._one(each)
        return total

    def _one(self, each: Any) -> int:
        name, terms = self._name, self._terms
        match each:
            case Accumulate(target=target, kind=kind, value=value) if target == name:
                self._require_other({value})
                if kind is not SUM:
                    raise _NoSum
                self._terms = {}
                return 1
            case Assign(target=target, operands=(x,)) if each.body is COPY and x == name:
                terms[target] = 0
                self._taken.add(target)
            case Assign(target=target, operands=(x,)) if each.body is COPY and target == name:
                if x not in terms:
                    raise _NoSum
                self._terms = {x: 0}
                return terms[x]
            case Assign(target=target, body=Apply(function=function), operands=(c, x, y)) if (
                target != name and function.name == "select" and x in terms and y in terms
            ):
                self._require_other({c})
                terms[target] = max(terms[x], terms[y])
                self._taken.add(target)
            case Assign(target=target, body=Apply(function=function), operands=(x, y)) if (
                target != name and (x in terms or (y in terms and function.name == "add"))
            ):
                if function.name not in ("add", "subtract"):
                    raise _NoSum
                before, other = (x, y) if x in terms else (y, x)
                self._require_other({other})
                terms[target] = terms[before] + 1
                self._taken.add(target)
            case _:
                self._require_other({*names_of(each), getattr(each, "target", None)})
        return 0

    def _require_other(self, names: Collection[Any]) -> None:
        if self._taken & set(names):
            raise _NoSum
