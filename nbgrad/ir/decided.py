"""Relations between formulas of named sizes that hold for all sizes, or for none.

A quotient by a number has no polynomial, but it has one for each remainder: where n is 2 m + r,
n // 2 is m. So each formula is looked at for all remainders of its sizes.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, product
from typing import Any

from .formulas import RELATIONS, Quotient, Terms, names_in

Remainders = Mapping[str, tuple[int, int]]
"""For sizes by name a divisor and the remainder that they have."""

# More cases than this are not looked at.
_MOST_CASES = 128


def divisors_of(n: Any) -> dict[str, int]:
    """For each size in a quotient of a formula, a number for whose remainders it is a polynomial;
    0 if there is none."""
    found: dict[str, int] = {}
    for factor in set(chain.from_iterable(getattr(n, "terms", ()))):
        if not isinstance(factor, Quotient):
            continue
        inner = divisors_of(factor.dividend)
        by = factor.divisor if type(factor.divisor) is int else 0
        for name in names_in(factor.dividend) | names_in(factor.divisor):
            found[name] = math.lcm(found.get(name, 1), inner.get(name, 1) * by)
    return found


def decided(difference: Any, relation: str, known: Remainders) -> bool | None:
    """Whether a difference has a relation to 0, for all sizes with the known remainders; None where
    some have and some not, or where that is not known."""
    answers = set()
    for polynomial in _polynomials(difference, known):
        answers.add(_of_polynomial(polynomial, relation))
        if len(answers) > 1:
            return None
    return answers.pop()


def _polynomials(n: Any, known: Remainders) -> Iterator[Terms]:
    """A formula for each case of remainders, as a polynomial of the quotients of its sizes; where
    it is none, one polynomial of quotients of any kind, which are at least 0, too."""
    needed, whole = divisors_of(n), getattr(n, "terms", {(): n})
    cases: list[list[tuple[int, int]]] = []
    for name, divisor in needed.items():
        by, rest = known.get(name, (1, 0))
        cases.append([(math.lcm(divisor, by), r) for r in range(rest, math.lcm(divisor, by), by)])
    if not 0 < math.prod(map(len, cases)) <= _MOST_CASES:
        yield whole
        return
    for case in product(*cases):
        found = _polynomial(n, {**known, **dict(zip(needed, case, strict=True))})
        yield whole if found is None else found


def _polynomial(n: Any, case: Remainders) -> Terms | None:
    total: Terms = {}
    for factors, c in getattr(n, "terms", {(): n}).items():
        part: Terms | None = {(): c}
        for factor in factors:
            part = _times(part, _factor(factor, case))
        if part is None:
            return None
        for each, d in part.items():
            total[each] = total.get(each, 0) + d
    return {each: c for each, c in total.items() if c or not each}


def _factor(factor: str, case: Remainders) -> Terms | None:
    if not isinstance(factor, Quotient):
        by, rest = case.get(factor, (1, 0))
        return {(factor,): by, (): rest}
    inner, by = _polynomial(factor.dividend, case), factor.divisor
    if inner is None or type(by) is not int or any(c % by for each, c in inner.items() if each):
        return None
    return {each: c // by for each, c in inner.items()}


def _times(one: Terms | None, other: Terms | None) -> Terms | None:
    if one is None or other is None:
        return None
    total: Terms = {}
    for a, c in one.items():
        for b, d in other.items():
            both = tuple(sorted((*a, *b)))
            total[both] = total.get(both, 0) + c * d
    return total


def _of_polynomial(terms: Terms, relation: str) -> bool | None:
    """The same for a polynomial of numbers that are at least 0."""
    constant = terms.get((), 0)
    rest = [c for each, c in terms.items() if each and c]
    test: Callable[[int, int], bool] = RELATIONS[relation]
    if not rest:
        return test(constant, 0)
    if relation in ("==", "!="):
        apart = all(c > 0 for c in (*rest, constant)) or all(c < 0 for c in (*rest, constant))
        return (relation == "!=") if apart else None
    if relation in ("<", "<="):
        return _of_polynomial({each: -c for each, c in terms.items()}, _TURNED[relation])
    least = constant if relation == ">=" else constant - 1
    if all(c > 0 for c in rest) and least >= 0:
        return True
    # For no size: the greatest value is that for all 0.
    return False if all(c < 0 for c in rest) and least < 0 else None


_TURNED = {"<": ">", "<=": ">="}


__all__ = ["Remainders", "decided", "divisors_of"]
