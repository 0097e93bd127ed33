"""Sizes that a program is given at run time: integers that know their formula.

While a function is recorded and compiled for named sizes, each of these is an unusual number that
stands for any. A `Size` is such a number, or what arithmetic made of some: it prints as its formula
(`n * 3 + 1`), so what is made of sizes is printed with their names. A number that NumPy has made a
plain one of is known again by its value. What is made for two sets of stand-ins must be the same
text: then nothing in it was a stand-in.

What is decided by comparing sizes holds for the stand-ins, and for which others? Where that cannot
be proven for all, the comparison becomes a condition of the program, by `Naming.require`. Only
modules that decide nothing but what is right for every size, or that state the conditions
themselves, compare freely (`naming.is_free`).
"""

import math
import sys
from typing import Any

from ..errors import SizesError
from ..runtime.kinds import is_a
from .decided import decided, divisors_of
from .formulas import RELATIONS, Quotient, Terms, formula, names_in, value_of
from .naming import Naming, gives_number, is_free, is_outside, is_verified, naming, tagged

# Stand-ins are recognized by their number, so small ones, which are common, are not used.
_LEAST = 100


class Size(int):
    """An integer with its formula. It is compared with others as what it is for large sizes, and
    equals a plain integer that it is the stand-in of."""

    terms: Terms

    def __repr__(self) -> str:
        return int.__repr__(self) if gives_number() else formula(self.terms)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if gives_number():
            return format(self.plain, spec)
        return format(formula(self.terms), spec.strip(","))

    def __hash__(self) -> int:
        if is_outside(sys._getframe(1).f_code.co_filename):
            return int.__hash__(self)
        # Apart from other integers in the tables of avals and plans.
        return hash((int.__hash__(self), formula(self.terms)))

    def __reduce__(self):
        return int, (self.plain,)

    @property
    def plain(self) -> int:
        """The integer without its formula."""
        return int.__add__(self, 0)

    # -- arithmetic -------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        terms = dict(self.terms)
        for product, c in terms_of(other).items():
            terms[product] = terms.get(product, 0) + c
        return _made(terms, int.__add__(self, other))

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        terms: Terms = {}
        for a, c in self.terms.items():
            for b, d in terms_of(other).items():
                product = tuple(sorted((*a, *b)))
                terms[product] = terms.get(product, 0) + c * d
        return _made(terms, int.__mul__(self, other))

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if isinstance(other, int) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        return quotient(self, other) if isinstance(other, int) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        require_least(self, other + 1 if other >= 0 else -other)
        return 0 if other >= 0 else -1

    def __mod__(self, other: Any) -> Any:
        return self - self // other * other if isinstance(other, int) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return other - other // self * self if isinstance(other, int) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __and__(self, other: Any) -> Any:
        if type(other) is int and other > 0 and not other & (other + 1):
            return self % (other + 1)
        return int.__and__(self, other)

    __rand__ = __and__

    def __pow__(self, power: Any, modulus: Any = None) -> Any:
        if type(power) is not int or power < 0 or modulus is not None:
            return pow(self.plain, power, modulus)
        result: Any = 1
        for _ in range(power):
            result = result * self
        return result

    # -- comparisons ------------------------------------------------------------------------------

    def __eq__(self, other: Any) -> bool:
        return _compared(self, other, "==")

    def __ne__(self, other: Any) -> bool:
        return _compared(self, other, "!=")

    def __lt__(self, other: Any) -> bool:
        return _compared(self, other, "<")

    def __le__(self, other: Any) -> bool:
        return _compared(self, other, "<=")

    def __gt__(self, other: Any) -> bool:
        return _compared(self, other, ">")

    def __ge__(self, other: Any) -> bool:
        return _compared(self, other, ">=")

    def __bool__(self) -> bool:
        return _compared(self, 0, "!=")


def stand_in(name: str, n: int, naming: Naming) -> int:
    """The size of this name, for which `n` stands."""
    with naming:
        naming.sizes[name] = size = _made({(name,): 1}, n)
        _ = size - 1  # which NumPy makes: the steps between n points
    return size


def terms_of(n: int) -> Terms:
    """The polynomial of an integer."""
    return n.terms if isinstance(n, Size) else {(): int(n)}


def is_dynamic(n: Any) -> bool:
    """Whether an integer is known only at run time."""
    return isinstance(n, Size)


def typical(n: int) -> int:
    """The integer for large sizes, for which is decided what is faster."""
    if not isinstance(n, Size):
        return int(n)
    return value_of(n, {name: 10**6 + sum(map(ord, name)) for name in names_in(n)})


def is_sum(n: int) -> bool:
    """Whether a size is a sum: it may be 0 where no named size is."""
    return len(terms_of(n)) > 1


def require_least(a: int, b: int) -> None:
    """Have `a >= b` hold: it is proven, or a condition of the program."""
    here = naming()
    if here is None or not (isinstance(a, Size) or isinstance(b, Size)):
        return
    known = _decided(a - b, ">=")
    if known:
        return
    sides = _sides(a - b)
    if known is not None or typical(a) < typical(b):
        line = here.line()
        raise SizesError(
            f"an op cannot be recorded for named sizes, as it needs {sides[0]} >= {sides[1]}: name "
            f"fewer sizes{f' ({line})' if line else ''}"
        )
    here.require(sides[0], ">=", sides[1])


def _sides(difference: Any) -> tuple[int, int]:
    """The sides of a relation of a difference to 0, with no term below 0."""
    terms = terms_of(difference)
    left = {product: c for product, c in terms.items() if c > 0}
    right = {product: -c for product, c in terms.items() if c < 0}
    return _made(left, 0), _made(right, 0)


def at_least(a: int, b: int) -> bool:
    """Whether `a >= b` for all sizes."""
    return a - b >= 0 if not isinstance(a - b, Size) else _decided(a - b, ">=") is True


def aligned(n: int, step: int) -> int:
    """The next multiple of `step`; of a size, one that is surely as large."""
    if not isinstance(n, Size):
        return (n + step - 1) // step * step
    if all(c % step == 0 for c in n.terms.values()):
        return n
    whole = n + step - 1
    # No program is for the remainders of a size in bytes.
    return _made({(Quotient(whole, step),): step}, whole.plain // step * step)


def _made(terms: Terms, value: int) -> int:
    terms = {product: c for product, c in terms.items() if c}
    if not terms or list(terms) == [()]:
        return terms.get((), 0)
    size = int.__new__(Size, value)
    size.terms = terms
    here = naming()
    if here is not None and value > _LEAST and not here.small:
        here.known.setdefault(value, size)
    return size


def quotient(a: int, b: int) -> int:
    """a // b: exact where each term of `a` has all of `b`, else a quotient in brackets."""
    value = int.__floordiv__(a.__int__(), b.__int__())
    divisors = list(terms_of(b).items())
    if terms_of(a) == terms_of(b):
        return 1
    if len(divisors) == 1:
        ((product, d),) = divisors
        exact: Terms = {}
        for mine, c in terms_of(a).items():
            rest = list(mine)
            fits = c % d == 0 or not (mine or product)  # (2 n + 1) // 2 is n
            for name in product:
                fits = fits and name in rest
                if fits:
                    rest.remove(name)
            if not fits:
                break
            exact[tuple(rest)] = c // d
        else:
            return _made(exact, value)
    require_least(a, 0)
    require_least(b, 1)
    size = _made({(Quotient(a, b),): 1}, value)
    if (here := naming()) is not None:
        for name, by in divisors_of(size).items():
            here.divisors[name] = math.lcm(here.divisors.get(name, 1), by)
    return size


def _decided(difference: Any, relation: str) -> bool | None:
    """Whether a difference has a relation to 0, for all sizes that the program is for; None where
    some have and some not."""
    here = naming()
    return decided(difference, relation, here.remainders if here is not None else {})


def _compared(a: Size, b: Any, relation: str) -> Any:
    if not is_a(b, (int, float)):
        return NotImplemented
    here = naming()
    if here is not None and type(b) is int:
        b = tagged(b)
    known = _decided(a - b, relation) if isinstance(b, int) else None
    if known is not None:
        return known
    if relation in ("==", "!="):
        answer = RELATIONS[relation](int.__int__(a), b.__int__() if isinstance(b, int) else b)
    else:
        answer = RELATIONS[relation](typical(a), typical(b) if isinstance(b, int) else b)
    if here is None:
        return answer
    file = sys._getframe(2).f_code.co_filename
    is_order = relation not in ("==", "!=")
    if is_free(file, is_order):
        # A length that is 0 or 1 is none that is always so, and two that are equal for some sizes,
        # such as n // 2 and (n + 1) // 2, are different ones.
        if here.small:
            is_other = type(b) is int and b in (0, 1)
        else:
            is_other = isinstance(b, int) and bool(divisors_of(a - b))
        if is_other and not is_order:
            return relation == "!="
    elif is_verified(file):
        if here.small and isinstance(b, int):
            return RELATIONS[relation](int.__int__(a), b.__int__())
    else:
        relation = relation if answer else _OTHERS[relation]
        if isinstance(b, int):
            left, right = _sides(a - b)
            here.require(left, relation, right)
        elif math.isfinite(b) and (is_order or b == int(b)):  # others hold for all integers
            here.require(a, relation, math.floor(b) if relation in (">", "<=") else math.ceil(b))
    return answer


_OTHERS = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def highest(a: int, b: int) -> int:
    """The larger of two sizes that are not negative; where that depends, one as large as both."""
    return a if at_least(a, b) else b if at_least(b, a) else a + b
