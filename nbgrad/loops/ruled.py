"""Functions with rules of users, and compiled functions, in functions with loops.

A call of a function of `custom_rule` is a call of a function of the kernel IR that has a row: its
pullback, recorded as scalar code, or called as it is where it cannot be recorded.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from ..adjoints.partials import OPERANDS, declare_rule
from ..compiler.front.binding import bound, python_function, unwrap_by
from ..compiler.front.calls import called
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.functions import Entry, entry_of, written
from ..compiler.front.scalars import record_others
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import Known, Value
from ..ir.functions import FUNCTIONS, declare
from ..ir.scalar import Expr, apply, arg
from ..static.function import StaticFunction
from ..transforms.custom import CustomRule
from .array_rules import call_with_rule
from .rows import lend, recorded_rule

__all__: list[str] = []

_PRICE = 12  # of a call, in arithmetic operations


def _inside(function: Any) -> Any:
    """The function that `compile` made another one of."""
    return function.function if isinstance(function, StaticFunction) else None


def _row(function: Any, of_elements: bool) -> Callable | None:
    return partial(_called, function) if isinstance(function, CustomRule) else None


def _called(rule: CustomRule, emit: FunctionBuilder, *operands: Value, **named: Value) -> Value:
    """A call of a function with a rule, of numbers."""
    inner, pull = python_function(rule.f), python_function(rule.pullback)
    if inner is None or pull is None:
        raise Unsupported(f"a call of {rule._name}, whose rule is no Python function")
    given = [emit.typed(x) for x in bound(inner, operands, named)]
    kinds = tuple(x.dtype for x in given)
    entry = entry_of(inner, kinds)
    is_float = isinstance(entry.result, np.dtype) and entry.result.kind == "f"
    if not is_float or len(given) > len(OPERANDS):
        return call_with_rule(emit, rule, operands, named)
    parts = _cotangents(rule._name, pull, entry.result, kinds)
    digest = hashlib.sha256(repr((entry.function, parts)).encode()).hexdigest()[:12]
    name = f"custom_{digest}"
    declare_rule(name, lambda: parts)
    function = replace(entry.function, attributes=entry.function.attributes | {f"rule {name}"})
    return called(emit, Entry(function, entry.result), given)


def _cotangents(name: str, pull: FunctionType, dtype: np.dtype, kinds: tuple) -> tuple:
    """The cotangents of the arguments: recorded, or calls of the pullback."""
    if all(kind.kind == "f" for kind in kinds):
        recorded = recorded_rule(pull, len(kinds))
        if recorded is not None:
            return recorded
    types = (dtype, dtype, *kinds)
    part = _Part(pull, 0, len(kinds))
    count = len(part.parts(entry_of(pull, types).result))
    if count != len(kinds):
        raise Unsupported(f"a pullback of {name} that gives {count} cotangents")
    return tuple(
        _Part(pull, i, len(kinds)).declared(types) if kind.kind == "f" else None
        for i, kind in enumerate(kinds)
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """One of the cotangents that a pullback gives, as a function of scalar code."""

    pull: FunctionType
    place: int
    count: int

    def parts(self, value: Any) -> tuple:
        return value if isinstance(value, tuple) else (value,)

    @property
    def maker(self) -> Any:
        return self

    def entry(self, kinds: tuple) -> Entry:
        def write(emit: FunctionBuilder, *given: Value) -> Value:
            whole = called(emit, entry_of(self.pull, kinds), given)
            value = self.parts(whole)[self.place]
            is_none = isinstance(value, Known) and value.value is None
            return emit.cast(Known(0.0) if is_none else value, kinds[0])

        names = ("v", "u", *OPERANDS[: self.count])
        return written(f"{self.pull.__name__}_{self.place}", names, kinds, write)

    def declared(self, kinds: tuple) -> Expr:
        made = self.entry(kinds)
        digest = hashlib.sha256(repr(made.function).encode()).hexdigest()[:12]
        name = f"pullback_{digest}"
        if name not in FUNCTIONS:
            declare(name, lambda *xs: self.parts(self.pull(*xs))[self.place], _PRICE)
            lend(name, self)
        return apply(FUNCTIONS[name], [arg(x) for x in ("v", "u", *OPERANDS[: self.count])])


record_others(_row)
unwrap_by(_inside)
