"""Formulas of named sizes: polynomials, quotients, and conditions on them."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Terms = dict[tuple[str, ...], int]
"""A polynomial: for each product of names, or of quotients, its coefficient."""

RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Quotient(str):
    """The name of a quotient of sizes that do not divide each other, which is its formula."""

    __slots__ = ("dividend", "divisor")
    dividend: int
    divisor: int

    def __new__(cls, dividend: int, divisor: int) -> "Quotient":
        name = super().__new__(cls, f"({dividend} // {divisor})")
        name.dividend, name.divisor = dividend, divisor
        return name


class Condition(NamedTuple):
    """A condition on sizes, and the user's line that it comes from."""

    left: int
    relation: str
    right: int
    line: str

    def holds(
        self, sizes: Mapping[str, Any], apply: Callable[..., Any] = lambda f, *x: f(*x)
    ) -> Any:
        """Whether it holds for these sizes."""
        sides = (value_of(side, sizes, apply) for side in (self.left, self.right))
        return apply(RELATIONS[self.relation], *sides)


def formula(terms: Terms) -> str:
    """A polynomial as Python has it, in brackets where it is a sum."""
    parts = []
    for product, c in sorted(terms.items(), key=lambda term: (-len(term[0]), term[0])):
        factors = [*product, *([str(abs(c))] if abs(c) != 1 or not product else [])]
        parts.append(("-" if c < 0 else "") + " * ".join(factors))
    text = " + ".join(parts).replace("+ -", "- ")
    return f"({text})" if len(parts) > 1 else text


def value_of(
    n: Any, sizes: Mapping[str, Any], apply: Callable[..., Any] = lambda f, *x: f(*x)
) -> Any:
    """A size, or a number, for given sizes; `apply(function, x, y)` calls functions of the module
    `operator`."""
    if (terms := getattr(n, "terms", None)) is None:
        return n
    total: Any = None
    for product, c in terms.items():
        part: Any = None if product and c == 1 else c
        for factor in product:
            if isinstance(factor, Quotient):
                sides = (value_of(x, sizes, apply) for x in (factor.dividend, factor.divisor))
                value = apply(operator.floordiv, *sides)
            else:
                value = sizes[factor]
            part = value if part is None else apply(operator.mul, part, value)
        total = part if total is None else apply(operator.add, total, part)
    return total


def at_most(n: Any, length: int) -> Any:
    """A number that no size of this formula is above, where no named one is above `length`."""
    if (terms := getattr(n, "terms", None)) is None:
        return n
    total = 0
    for product, c in terms.items():
        for factor in product:
            is_quotient = isinstance(factor, Quotient)
            most = at_most(factor.dividend, length) if is_quotient else length
            c *= most // factor.divisor if is_quotient and not names_in(factor.divisor) else most
        total += max(c, 0)
    return total


def names_in(n: Any) -> set[str]:
    """The named sizes in a formula."""
    found: set[str] = set()
    for product in getattr(n, "terms", ()):
        for factor in product:
            if isinstance(factor, Quotient):
                found |= names_in(factor.dividend) | names_in(factor.divisor)
            else:
                found.add(factor)
    return found
