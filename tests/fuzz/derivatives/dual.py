"""Dual numbers, and arrays of them: a function of Python runs on them and gives its derivative.

They follow Numba's types: a float32 with a float64 or an integer gives a float64. The derivative is
that of the branch that runs, exact up to rounding.
"""

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from checkers.arithmetic import LIBM, single

LARGEST = 1e4  # of values: beyond it, programs are not compared
STEEPEST = 1e6  # of derivatives


class Wild(Exception):
    """A value or a derivative is too large, not finite, or at a kink; or too much is computed."""


class Dual:
    """A value and its derivative in one direction; `is_single` for a float32."""

    __slots__ = ("dot", "is_single", "value")

    def __init__(self, value: float, dot: float = 0.0, is_single: bool = False):
        if is_single:
            value = single(value)
        if not (-LARGEST < value < LARGEST and -STEEPEST < dot < STEEPEST):
            raise Wild(f"{value} and {dot}")
        self.value, self.dot, self.is_single = value, dot, is_single

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.dot!r})"

    def _with(self, other: Any) -> tuple[float, float, bool]:
        if isinstance(other, Dual):
            return other.value, other.dot, self.is_single and other.is_single
        return float(other), 0.0, self.is_single and isinstance(other, bool)

    def __add__(self, other: Any) -> "Dual":
        y, dy, kind = self._with(other)
        return Dual(self.value + y, self.dot + dy, kind)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Dual":
        y, dy, kind = self._with(other)
        return Dual(self.value - y, self.dot - dy, kind)

    def __rsub__(self, other: Any) -> "Dual":
        y, dy, kind = self._with(other)
        return Dual(y - self.value, dy - self.dot, kind)

    def __mul__(self, other: Any) -> "Dual":
        y, dy, kind = self._with(other)
        return Dual(self.value * y, self.dot * y + self.value * dy, kind)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Dual":
        y, dy, kind = self._with(other)
        return _quotient(self.value, self.dot, y, dy, kind)

    def __rtruediv__(self, other: Any) -> "Dual":
        y, dy, kind = self._with(other)
        return _quotient(y, dy, self.value, self.dot, kind)

    def __pow__(self, power: int) -> "Dual":
        """A power of 2 or 3."""
        slope = power * self.value ** (power - 1)
        value = self.value * self.value if power == 2 else self.value**power
        return Dual(value, slope * self.dot, self.is_single)

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.dot, self.is_single)

    def __abs__(self) -> "Dual":
        if self.value == 0.0 and self.dot:
            raise Wild("abs of 0")
        sign = math.copysign(1.0, self.value)
        return Dual(abs(self.value), sign * self.dot, self.is_single)

    def __int__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __lt__(self, other: Any) -> bool:
        return self.value < self._with(other)[0]

    def __le__(self, other: Any) -> bool:
        return self.value <= self._with(other)[0]

    def __gt__(self, other: Any) -> bool:
        return self.value > self._with(other)[0]

    def __ge__(self, other: Any) -> bool:
        return self.value >= self._with(other)[0]

    def __eq__(self, other: Any) -> bool:
        return self.value == self._with(other)[0]

    __hash__ = None  # pyright: ignore


def _quotient(x: float, dx: float, y: float, dy: float, kind: bool) -> Dual:
    if y == 0.0:
        raise Wild("a division by 0")
    value = x / y
    return Dual(value, (dx - value * dy) / y, kind)


def _lifted(name: str, slope: Callable[[float, float], float]) -> Callable[[Any], Any]:
    function = LIBM[name] if name in LIBM else getattr(math, name)

    def call(x: Any) -> Dual:
        x = x if isinstance(x, Dual) else Dual(float(x))
        try:
            value = function(x.value)
            return Dual(value, slope(x.value, value) * x.dot, x.is_single)
        except (ValueError, ArithmeticError) as error:
            raise Wild(str(error)) from error

    return call


def _atan2(y: Any, x: Any) -> Dual:
    y, x = (z if isinstance(z, Dual) else Dual(float(z)) for z in (y, x))
    square = x.value**2 + y.value**2
    if not square:
        raise Wild("atan2 of 0")
    slope = (y.dot * x.value - y.value * x.dot) / square
    return Dual(math.atan2(y.value, x.value), slope, y.is_single and x.is_single)


class DualMath:
    """The functions of `math` that programs call."""

    pi = math.pi
    sin = staticmethod(_lifted("sin", lambda x, y: math.cos(x)))
    cos = staticmethod(_lifted("cos", lambda x, y: -math.sin(x)))
    tanh = staticmethod(_lifted("tanh", lambda x, y: 1.0 - y * y))
    exp = staticmethod(_lifted("exp", lambda x, y: y))
    log = staticmethod(_lifted("log", lambda x, y: 1.0 / x))
    sqrt = staticmethod(_lifted("sqrt", lambda x, y: 0.5 / y))
    atan = staticmethod(_lifted("atan", lambda x, y: 1.0 / (1.0 + x * x)))
    atan2 = staticmethod(_atan2)


class Budget:
    """How many rounds may run, and how many elements be read and written."""

    left = 0


def tick() -> None:
    """Count a round or an element."""
    Budget.left -= 1
    if Budget.left < 0:
        raise Wild("a long program")


class Array:
    """An array of numbers; `numbers` is a NumPy array of objects, so that slices are views. Indices
    outside raise IndexError."""

    def __init__(self, numbers: np.ndarray, kind: str):
        self.numbers, self.kind = numbers, kind
        self.shape, self.size, self.ndim = numbers.shape, numbers.size, numbers.ndim

    @classmethod
    def of(cls, shape: Sequence[int], elements: Sequence[Any], kind: str) -> "Array":
        """An array of elements in the order of nested lists."""
        numbers = np.empty(len(elements), object)
        numbers[:] = elements
        return cls(numbers.reshape(shape), kind)

    @property
    def elements(self) -> list[Any]:
        return self.numbers.ravel().tolist()

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def copy(self) -> "Array":
        return Array(self.numbers.copy(), self.kind)

    def sum(self) -> Any:
        """The sum of all elements, in order."""
        total = Dual(0.0)
        for x in self.elements:
            total = total + x
        return total

    def _at(self, at: Any) -> Any:
        """A key for `numbers`. Raises IndexError for an index outside."""
        tick()
        keys = at if isinstance(at, (tuple, list)) else (at,)
        if isinstance(at, list):
            if not all(-len(self) <= i < len(self) for i in at):
                raise IndexError(f"{at} of {len(self)}")
            return at
        if isinstance(at, Array):
            plain = at.numbers.astype(bool if at.kind == "b" else int)
            if at.kind != "b" and not ((plain >= -len(self)) & (plain < len(self))).all():
                raise IndexError(f"{plain} of {len(self)}")
            return plain
        for i, n in zip(keys, self.shape, strict=False):
            if not isinstance(i, slice) and not -n <= i < n:
                raise IndexError(f"{i} of {n}")
        return tuple([i if isinstance(i, slice) else int(i) for i in keys])

    def __getitem__(self, at: Any) -> Any:
        found = self.numbers[self._at(at)]
        return Array(found, self.kind) if isinstance(found, np.ndarray) else found

    def __setitem__(self, at: Any, value: Any) -> None:
        at = self._at(at)
        if isinstance(value, Array):  # read as a whole before it is written
            if value.shape != np.shape(self.numbers[at]):
                raise ValueError(f"{value.shape} into {np.shape(self.numbers[at])}")
            self.numbers[at] = value.numbers.copy()
            return
        if self.kind == "i":
            value = int(value)
        else:
            value = value if isinstance(value, Dual) else Dual(float(value))
            if value.is_single != (self.kind == "single"):
                value = Dual(value.value, value.dot, self.kind == "single")
        self.numbers[at] = value

    # -- element by element -----------------------------------------------------------------------

    def _each(self, function: Callable, other: Any, into: bool = False) -> "Array":
        """Apply a function to elements, in order. Numba writes results of `x += y` while it reads
        y, also where they overlap."""
        if isinstance(other, Array) and other.shape != self.shape:
            raise ValueError(f"{self.shape} and {other.shape}")
        made = self.numbers if into else np.empty(self.shape, object)
        for at in np.ndindex(*self.shape):
            tick()
            y = other.numbers[at] if isinstance(other, Array) else other
            made[at] = function(self.numbers[at], y)
        is_bool = made.size > 0 and isinstance(made.ravel()[0], bool)
        return self if into else Array(made, "b" if is_bool else "double")

    def __add__(self, other: Any) -> "Array":
        return self._each(operator.add, other)

    def __sub__(self, other: Any) -> "Array":
        return self._each(operator.sub, other)

    def __mul__(self, other: Any) -> "Array":
        return self._each(operator.mul, other)

    def __truediv__(self, other: Any) -> "Array":
        return self._each(operator.truediv, other)

    def __radd__(self, other: Any) -> "Array":
        return self._each(lambda x, y: y + x, other)

    def __rsub__(self, other: Any) -> "Array":
        return self._each(lambda x, y: y - x, other)

    def __rmul__(self, other: Any) -> "Array":
        return self._each(lambda x, y: y * x, other)

    def __gt__(self, other: Any) -> "Array":
        return self._each(operator.gt, other)

    def __iadd__(self, other: Any) -> "Array":
        return self._each(operator.add, other, True)

    def __isub__(self, other: Any) -> "Array":
        return self._each(operator.sub, other, True)

    def __imul__(self, other: Any) -> "Array":
        return self._each(operator.mul, other, True)


class DualArrays:
    """The functions of NumPy that programs call."""

    @staticmethod
    def zeros(count: int) -> Array:
        return Array.of((count,), [Dual(0.0) for _ in range(count)], "double")

    @staticmethod
    def zeros_like(x: Array) -> Array:
        is_single = x.kind == "single"
        return Array.of(x.shape, [Dual(0.0, 0.0, is_single) for _ in x.elements], x.kind)

    @staticmethod
    def diagonal(x: Array) -> Array:
        return Array(x.numbers.diagonal(), x.kind)

    @staticmethod
    def sum(x: Array) -> Any:
        return x.sum()

    @staticmethod
    def sin(x: Array) -> Array:
        return x._each(lambda each, _: DualMath.sin(each), 0)

    @staticmethod
    def tanh(x: Array) -> Array:
        return x._each(lambda each, _: DualMath.tanh(each), 0)

    @staticmethod
    def where(chosen: Array, x: Array, y: Array) -> Array:
        pairs = x._each(lambda *each: each, y)
        return chosen._each(lambda holds, pair: pair[0] if holds else pair[1], pairs)

    @staticmethod
    def maximum(x: Array, y: Array) -> Array:
        return x._each(lambda a, b: a if a >= b else b, y)


def least(x: Any, y: Any) -> Any:
    """Python's min, of Numba's type."""
    return _common(x, y, y if y < x else x)


def greatest(x: Any, y: Any) -> Any:
    """Python's max, of Numba's type."""
    return _common(x, y, y if y > x else x)


def _common(x: Any, y: Any, found: Any) -> Any:
    if not isinstance(x, Dual) and not isinstance(y, Dual):
        return found if type(x) is type(y) else float(found)
    if isinstance(found, Dual) and not found.is_single:
        return found
    both = all(isinstance(z, Dual) and z.is_single for z in (x, y))
    value, dot = (found.value, found.dot) if isinstance(found, Dual) else (float(found), 0.0)
    return Dual(value, dot, both)


SPACE: dict[str, Any] = {
    "math": DualMath, "np": DualArrays, "min": least, "max": greatest, "tick": tick,
}  # fmt: skip
"""The names by which programs call functions."""
