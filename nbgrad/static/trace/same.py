"""Comparison of programs: whether one for named sizes is the one recorded for given sizes."""

import math
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import numpy as np

from ...core.primitive import Primitive
from ...core.symbols import Symbol, is_full
from ...ir.naming import Naming, power_of, tagged
from ...ir.sizes import is_dynamic, value_of
from ...runtime.kinds import is_a
from .made import Made
from .program import Program

# Relative difference of numbers computed from sizes by different formulas.
_ROUNDING = 1e-13
# Attributes of bodies that are caches, which are not compared.
_KEPT = ("lowered",)


class Comparison:
    """Comparison of a program recorded with the stand-ins of `naming` with others."""

    def __init__(self, naming: Naming, program: Program):
        self.naming, self.program = naming, program

    def difference(self, other: Program, sizes: Mapping[str, int]) -> str | None:
        """Return the line of the first op that differs in the program recorded for these sizes, or
        ""; None if both programs are equal, numbers included."""
        with self.naming:
            return _Pairs(sizes).difference(self.program, other)


def _is_made(x: Symbol) -> bool:
    return is_full(x) or isinstance(x.primitive, Made)


class _Pairs:
    """A mapping of the values of one program to those of the other."""

    def __init__(self, sizes: Mapping[str, int]):
        self.sizes = sizes
        self.pairs: dict[Symbol, Symbol] = {}

    def difference(self, one: Program, other: Program) -> str | None:
        for x, y in zip_longest(one.inputs, other.inputs):
            if not self._typed(x, y):
                return ""
        for x, y in zip_longest(one.captured, other.captured):
            if x is None or y is None or not self._typed(x[0], y[0]) or not self.same(x[1], y[1]):
                uses = (e for e in one.equations if x and any(arg is x[0] for arg in e.args))
                return next((e.line for e in uses), "")
        for i, (x, y) in enumerate(zip_longest(one.equations, other.equations)):
            if not self._op(x, y):  # a number has no line, the op that takes it has
                lines = (e.line for e in (y, *one.equations[i:]) if e is not None)
                return next(filter(None, lines), "")
        return None if self.same(one.outputs, other.outputs) else ""

    def _typed(self, x: Symbol | None, y: Symbol | None) -> bool:
        if x is None or y is None or x.dtype != y.dtype or x.weak != y.weak:
            return False
        self.pairs[x] = y
        return self.same(x.shape, y.shape)

    def _op(self, x: Symbol | None, y: Symbol | None) -> bool:
        if not self._typed(x, y) or x is None or y is None:
            return False
        one, other = (x.primitive, x.args, x.params), (y.primitive, y.args, y.params)
        is_same = all(map(self.same, one, other))
        if not is_same and _is_made(x) and _is_made(y):  # short arrays have several formulas
            return np.array_equal(self._made(x), self._made(y))
        return is_same

    def _made(self, x: Any) -> np.ndarray:
        params = {name: self._number(value) for name, value in x.params.items()}
        if is_full(x):
            return np.full(self._number(x.aval.shape), params["number"])
        return x.primitive.evaluate(**params)

    def _number(self, x: Any) -> Any:
        """A parameter with numbers in place of sizes."""
        if isinstance(x, tuple):
            return tuple(map(self._number, x))
        return value_of(x, self.sizes) if is_dynamic(x) else x

    def same(self, x: Any, y: Any) -> bool:
        """Return whether parts of programs are equal for the sizes."""
        if x is y and not is_dynamic(x):
            return True
        if isinstance(x, Symbol):
            return self.pairs.get(x) is y
        if is_a(x, (int, float)) and is_a(y, (int, float)):
            return self._same_number(x, y)
        if type(x) is not type(y):
            return False
        if isinstance(x, (tuple, list)):
            return len(x) == len(y) and all(map(self.same, x, y))
        if isinstance(x, dict):
            return x.keys() == y.keys() and all(self.same(x[key], y[key]) for key in x)
        if isinstance(x, slice):
            return all(self.same(getattr(x, k), getattr(y, k)) for k in ("start", "stop", "step"))
        if is_a(x, (np.ndarray, np.generic)):
            return x.dtype == y.dtype and (
                x.tobytes() == y.tobytes() if x.shape == y.shape else self._same_steps(x, y)
            )
        if isinstance(x, Program):
            return _Pairs(self.sizes).difference(x, y) is None
        if isinstance(x, (str, bytes, np.dtype, type)) or callable(x):
            return x == y or (isinstance(x, Primitive) and self._same_fields(x, y))
        return self._same_fields(x, y)

    def _same_fields(self, x: Any, y: Any) -> bool:
        """Compare objects of one class, such as bodies of loops, by their attributes."""
        names = [*getattr(x, "__dict__", ()), *getattr(type(x), "__slots__", ())]
        if not names:
            return x == y
        return all(
            self.same(getattr(x, name, None), getattr(y, name, None))
            for name in names
            if name not in _KEPT
        )

    def _same_steps(self, x: Any, y: Any) -> bool:
        """Whether an index that is as long as a size has the same first number and equal steps."""
        if not self.same(tagged(x.shape), y.shape) or y.dtype.kind not in "iu":
            return False
        starts, steps = [], []
        for numbers in (x.ravel(), y.ravel()):
            if not numbers.size:
                continue
            found = np.diff(numbers)
            if found.size and (found != found[0]).any():
                return False
            starts.append(tagged(int(numbers[0])))
            steps.append(tagged(int(found[0])) if found.size else 0)
        single = y.size < 2
        return (not y.size or self.same(*starts)) and (single or self.same(*steps))

    def _same_number(self, x: Any, y: Any) -> bool:
        y = int.__int__(y) if isinstance(y, int) else y
        if is_dynamic(x):
            return value_of(x, self.sizes) == y
        if x == y or x != x:
            return x != x or math.copysign(1.0, x) == math.copysign(1.0, y)
        if is_dynamic(size := tagged(x)):  # a plain number, such as a length by len()
            return value_of(size, self.sizes) == y
        found = power_of(x) if is_a(x, float) else None
        if found is None:
            return False
        c, size, power = found
        try:
            number = c * float(value_of(size, self.sizes)) ** power
        except ZeroDivisionError:
            return False
        return math.isclose(number, y, rel_tol=_ROUNDING)
