"""Linear forms of integers, and integers that are proven not to be below 0."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ..ir.scalar import Apply
from ..ir.statements import Assign, Literal, Operand
from .build import COPY, INT

__all__ = ["Form", "Ranges"]


class Form(NamedTuple):
    """`const` plus the sum of `terms`, names times integers."""

    const: int
    terms: Mapping[Any, int]

    def plus(self, other: "Form", factor: int = 1) -> "Form":
        """The sum with a multiple of another form."""
        terms = dict(self.terms)
        for name, number in other.terms.items():
            terms[name] = terms.get(name, 0) + factor * number
        const = self.const + factor * other.const
        return Form(const, {name: number for name, number in terms.items() if number})


class Ranges:
    """Bounds of integers in the order in which they are defined. `natural` are never below 0.
    Sums and products of lengths and variables of loops do not wrap around."""

    def __init__(self, natural: Collection[str]):
        self._natural = set(natural)
        self._forms: dict[str, Form] = {}
        self._axes: dict[str, tuple[Form, Form]] = {}  # least and greatest value, outer ones first

    def loop(self, axis: str, start: int | str, stop: int | str) -> None:
        """Note the variable of a loop."""
        self._axes[axis] = self._form(start), self._form(stop).plus(Form(-1, {}))

    def note(self, step: Assign) -> None:
        """Note an integer that is computed."""
        operands = step.operands
        if step.body is COPY:
            if getattr(operands[0], "dtype", INT) == INT:
                self._forms[step.target] = self._form(operands[0])
            return
        assert isinstance(step.body, Apply)
        name = step.body.function.name
        naturals = [self.is_natural(x) for x in operands]
        match name:
            case "add" | "subtract":
                sign = 1 if name == "add" else -1
                form = self._form(operands[0]).plus(self._form(operands[1]), sign)
                self._forms[step.target] = form
            case "multiply":
                for x, y in (operands, operands[::-1]):
                    if isinstance(x, Literal):
                        self._forms[step.target] = Form(0, {}).plus(self._form(y), int(x.number))
                        return
                if all(naturals):
                    self._natural.add(step.target)
            case "select":
                if all(naturals[1:]):
                    self._natural.add(step.target)
            case "floor_quotient" | "modulo" if all(naturals):
                self._natural.add(step.target)

    def is_natural(self, x: Operand) -> bool:
        """Whether an integer cannot be below 0."""
        if isinstance(x, Literal):
            return x.dtype.kind in "iu" and x.number >= 0
        if x in self._natural:
            return True
        form = self._form(x)
        for axis, (low, high) in reversed(self._axes.items()):
            factor = form.terms.get(axis, 0)
            if factor:
                bound = low if factor > 0 else high
                form = form.plus(Form(0, {axis: 1}), -factor).plus(bound, factor)
        positive = all(n > 0 and name in self._natural for name, n in form.terms.items())
        return form.const >= 0 and positive

    def _form(self, x: Operand | int) -> Form:
        if isinstance(x, int):
            return Form(x, {})
        if isinstance(x, Literal):
            return Form(int(x.number), {})
        return self._forms.get(x, Form(0, {x: 1}))
