"""Building blocks of scalar functions: instructions of the target, each with an equivalent in
plain Python, and constants and polynomials by dtype.

With them scalar functions are branch-free, so that loops over them vectorise.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.instruction import instruction
from ...compiler.kernel import DISABLED, device


def scalar(twin: Callable, inlined: bool = True) -> Callable[[Callable], Any]:
    """Decorator: a scalar function of either dtype, for which `twin` stands in plain Python.

    However long it is, it is put into its callers: loops do not vectorise over calls. But one with
    a branch is not `inlined`, since its callers do not vectorise with it either.
    """

    def decorate(function: Callable) -> Any:
        return twin if DISABLED else device(function, forceinline=inlined)

    return decorate


def _first(double: Any, single: Any, x: Any) -> Any:
    """Return the argument for the dtype of x."""
    return single if getattr(x, "dtype", None) == np.float32 else double


@instruction
def by_dtype(x, double, single):
    """The constant `double` where x is a float64, `single` where it is a float32."""
    return type(x)(_first(double, single, x))


def series(double: tuple[float, ...], single: tuple[float, ...]) -> Any:
    """A polynomial by Horner's rule, with coefficients for float64 and for float32, that of the
    highest power first."""

    @instruction(row=("series", double, single))
    def polynomial(x):
        return type(x)(np.polyval(_first(double, single, x), x))

    return polynomial


@instruction
def select(condition, x, y):
    """`x` where `condition` holds, else `y`: no branch, so loops vectorise over it."""
    return np.where(condition, x, y)[()]


@instruction
def radd(total, x):
    """`total + x` with `reassoc` on this one addition, so that a sum vectorises."""
    return np.add(total, x)


@instruction
def like(x, value):
    """`value` in the type of `x`: a bare literal would turn float32 into float64."""
    return type(x)(value)


@instruction
def offset(i):
    """`i` as an index that is not below 0, so that it is not compared with 0."""
    return i


@instruction
def two_product(x, y):
    """`x * y`, rounded, and what the rounding lost: their sum is the product without any error."""
    return x * y, type(x)(0.0)


@instruction
def fused(x, y, z):
    """`x * y + z`, rounded once."""
    return x * y + z


@instruction
def round_even(x):
    """The nearest whole number, of moderate size: adding a large number rounds."""
    return np.rint(x)


@instruction
def times_power_of_two(x, k):
    """`x * 2**k` for a whole k, in two steps, so that the result may be subnormal."""
    return type(x)(math.ldexp(x, int(k))) if np.isfinite(k) else x * k


@instruction
def times_normal_power(x, k):
    """`x * 2**k` in one step, for a whole k whose power of two is a normal number."""
    return times_power_of_two(x, k)


def _split(x):
    m, power = np.frexp(x)
    low = m < math.sqrt(0.5)
    return type(x)(2 * m if low else m), type(x)(power - 1 if low else power)


@instruction
def mantissa(x):
    """m in [sqrt(1/2), sqrt(2)) with x = m * 2**exponent(x), for a normal positive x."""
    return _split(x)[0]


@instruction
def exponent(x):
    """The power of two that goes with `mantissa(x)`."""
    return _split(x)[1]


@instruction
def half_bits_below(x, y):
    """The number whose bits are those of y less half of those of x, both taken as integers: nearly
    a constant over sqrt(x)."""
    kind = np.int32 if getattr(x, "dtype", None) == np.float32 else np.int64
    bits, from_bits = np.array(type(x)(x)).view(kind), np.array(type(x)(y)).view(kind)
    return (from_bits - (bits >> 1)).view(type(x))[()]


@instruction
def odd(k):
    """Whether the whole number k is odd."""
    return k % 2 == 1


@instruction
def turned(x, k):
    """`x`, with its sign changed where two quarter turns are left of the whole number k of them."""
    return -x if k % 4 >= 2 else x
