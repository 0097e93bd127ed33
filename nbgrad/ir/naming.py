"""The program with named sizes that this thread makes: what stands for them, and what must hold.

`ir/sizes.py` says what the sizes are.
"""

import math
import operator
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import StaticError
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from .formulas import Condition

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_NUMPY = os.path.dirname(np.__file__) + os.sep
# A loop over any number of elements is right for 0 and 1 too, and these hold what they share for
# named sizes to be as large as any; rules that tell broadcasting from equal shapes treat a named
# size as what it is called, also where it is 1.
_FREE = tuple(
    _PACKAGE + place.replace("/", os.sep)
    for place in (
        "capi/", "compiler/", "control/", "core/", "eager/sums.py", "ir/", "kernels/", "static/",
        "transforms/", "values/",
        "rules/arithmetic.py", "rules/batching.py", "rules/extremes.py", "rules/forms/indexing.py",
        "rules/forms/layout.py", "rules/forms/reductions.py", "rules/forms/labels.py",
        "rules/index.py", "rules/layout.py", "rules/linalg/einsum.py", "rules/reduce.py",
        "rules/simplify.py",
    )
)  # fmt: skip
# Rewrites that depend on which of several positions comes first: equal sizes are compared freely
# here, the order of others is a condition.
_FREE_IF_EQUAL = tuple(
    _PACKAGE + os.path.join("static", "lower", name) for name in ("halo.py", "rolls.py", "sums.py")
)
# Roots that are taken in another order agree up to this.
_ROUNDING = 5e-16


class Naming:
    """The named sizes of one program while it is made, the sizes that were made of them by value,
    and what must hold of them: `conditions`, by their text.

    A program that is recorded for comparison `checks`: captured arrays that have a formula are that
    whatever their sizes are, and where stand-ins are `small`, no number is known by its value.
    `seen` says that code that may decide by sizes got hold of some: Python computes with integers
    in places that no formula follows, such as the length of a list. Then each new size is
    `verified`: the program for it is recorded and compared.
    """

    verified = True

    def __init__(self, line: Callable[[], str], checks: bool = False, small: bool = False):
        self.line, self.checks, self.small = line, checks, small
        self.sizes: dict[str, int] = {}
        self.known: dict[int, int] = {}
        self.conditions: dict[str, Condition] = {}
        self.labels: tuple[str, ...] = ()  # of what the program is given
        # By name: what sizes were divided by, and divisors with the remainders of all sizes.
        self.divisors: dict[str, int] = {}
        self.remainders: dict[str, tuple[int, int]] = {}
        self.seen = False

    def __enter__(self) -> "Naming":
        self._outer, _here.naming = _here.naming, self
        NAMINGS.append(self)
        return self

    def __exit__(self, *_) -> None:
        NAMINGS.remove(self)
        _here.naming = self._outer

    def require(self, left: int, relation: str, right: int) -> None:
        """Note what must hold of the sizes."""
        condition = Condition(left, relation, right, self.line())
        self.conditions.setdefault(f"{left} {relation} {right}", condition)


class _Here(threading.local):
    """The sizes of the program that this thread makes."""

    naming: Naming | None = None


_here = _Here()


NAMINGS: list[Naming] = []
"""Those of all threads: where there are none, none has to be looked for."""


def require_number(n: Any) -> int:
    """A length, which must be a number. For a named one its stand-in, if each new size is verified,
    else raises TraceError."""
    if type(n) is int:
        return n
    here = _here.naming
    if here is not None and here.verified:
        here.seen = True
        return n.plain
    raise StaticError(
        f"len() and loops over {n} elements need a number, which is known at run time: use "
        f"x.shape[0], or nbgrad.scan{user_line()}"
    )


def note_seen() -> None:
    """Note that the caller's caller got sizes."""
    here = _here.naming
    if here is not None and not here.seen:
        here.seen = not is_free(sys._getframe(2).f_code.co_filename, False)


def naming() -> Naming | None:
    """The sizes of the program that this thread makes; None where all are literal."""
    return _here.naming


def is_free(file: str, is_order: bool) -> bool:
    """Whether sizes are compared in a file, by equality or by order, without a condition."""
    return file.startswith(_FREE) and not (is_order and file.startswith(_FREE_IF_EQUAL))


def is_verified(file: str) -> bool:
    """Whether what a file decides by sizes is no condition, but looked at for each size: NumPy
    makes integers of the least width, and arrays of sizes that have a formula all the same."""
    here = _here.naming
    if here is None or not here.verified or not file.startswith(_NUMPY):
        return False
    here.seen = True
    return True


def is_outside(file: str) -> bool:
    """Whether a file is none of this package."""
    return not file.startswith(_PACKAGE)


def gives_number() -> bool:
    """Whether the caller's caller, a function of the user's, gets the text of a number: where it is
    recorded for a size of arguments, it must do what it does for that."""
    here = _here.naming
    return here is not None and here.small and is_outside(sys._getframe(2).f_code.co_filename)


def as_int(n: Any) -> Any:
    """An integer of any kind as one of Python's, or as a size; anything else itself."""
    if type(n) is int or hasattr(n, "terms") or not hasattr(n, "__index__"):
        return n
    if hasattr(n, "aval"):  # a tracked value, which refuses to be one
        return n
    if is_a(n, np.ndarray) and (n.shape or n.dtype.kind not in "iu"):
        return n
    try:
        return operator.index(n)
    except TypeError:
        return n


def tagged(x: Any) -> Any:
    """A parameter, with each plain integer in it that is the value of a size as that."""
    if _here.naming is None:
        return x
    known = _here.naming.known
    if type(x) is int:
        return known.get(x, x)
    if is_a(x, (int, np.integer)) and not isinstance(x, bool):
        n = as_int(x)
        return known.get(n, n) if type(n) is int else n
    if isinstance(x, slice):
        return slice(*(tagged(as_int(n)) for n in (x.start, x.stop, x.step)))
    if isinstance(x, tuple):
        items = [tagged(item) for item in x]
        if all(map(operator.is_, items, x)):
            return x
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    return x


def power_of(number: float) -> tuple[float, int, float] | None:
    """`(c, size, power)` where a float is `c * size**power` for a plain number c: what Python has
    made of sizes and floats by a product, a quotient or a root. None for other numbers."""
    naming = _here.naming
    if naming is None or not number or not math.isfinite(number) or abs(number) == 1.0:
        return None
    for value, size in naming.known.items():
        for power in (1.0, -1.0):
            c = round(number / value**power * 8) / 8
            if 0 < abs(c) <= 16 and (c * value if power > 0 else c / value) == number:
                return c, size, power
        for power in (0.5, -0.5):
            if math.isclose(value**power, number, rel_tol=_ROUNDING):
                return 1.0, size, power
    return None
