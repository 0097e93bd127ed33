"""Real and imaginary parts, integer and fractional parts, nan_to_num, and index functions."""

from typing import Any

import numpy as np

from ...core import memory
from ...core.array import Array, implements
from ...core.primitive import shape_of
from ...errors import ArgumentTypeError, OutError, require_unmasked
from ..dtypes import type_of
from ..families import zeros_like
from ..nondiff import stopped
from ..select import on_values


@implements(np.real)
def real(val):
    """A view of the array: its numbers are real."""
    return val[...] if shape_of(val) else np.positive(val)


@implements(np.conjugate)
def conjugate(x):
    """The array itself, if its numbers are real; int8 for bools, as in NumPy."""
    return np.positive(x.astype(np.int8) if x.dtype == bool else x)


@implements(np.imag)
def imag(val):
    """Zeros: the numbers are real."""
    return zeros_like(val)


@implements(np.heaviside)
def heaviside(x1, x2):
    """0 below 0, 1 above, and `x2` at 0; derivative 0 in `x1`, and that of a choice in `x2`."""
    require_unmasked(x1, "heaviside")
    require_unmasked(x2, "heaviside")
    steps = np.where(x1 > 0, 1.0, np.where(x1 < 0, 0.0, np.where(x1 == 0, 0.0, np.nan)))
    kinds = [getattr(x, "dtype", x) for x in (x1, x2)]
    return np.where(np.equal(x1, 0), x2, steps.astype(type_of(np.heaviside, *kinds)))


@implements(np.nan_to_num)
def nan_to_num(x, copy: bool = True, nan: float = 0.0, posinf=None, neginf=None):
    """x with nan and infinities replaced by numbers; these elements get no cotangent."""
    if not copy:
        memory.write(x, ..., nan_to_num(x, True, nan, posinf, neginf), "np.nan_to_num({})")
        return x
    if x.dtype.kind != "f":
        return np.copy(x)
    limits = np.finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    x = np.where(np.isnan(x), _number(nan), x)
    return np.where(x == np.inf, _number(high), np.where(x == -np.inf, _number(low), x))


def _number(x: Any) -> Any:
    """A replacement as a Python number, which takes the dtype of the array."""
    return x if isinstance(x, Array) or np.ndim(x) else float(x)


@implements(np.fix)
def fix(x, out=None):
    """x rounded towards 0; derivative 0."""
    if out is not None:
        raise OutError("np.fix(out=...) cannot write into or from a tracked array; use the "
                          "returned array")  # fmt: skip
    return np.trunc(x)


@implements(np.modf)
def modf(x):
    """The fractional part, with derivative 1, and the integer part, with derivative 0."""
    x = _as_float(x, np.sqrt)
    whole = np.trunc(x)
    return np.where(np.isinf(x), 0.0, x - whole), whole


def _as_float(x, function, *others):
    """x as floats: integers and Python numbers in the result dtype of a NumPy function."""
    dtype = type_of(function, *(getattr(a, "dtype", a) for a in (x, *others)))
    if not hasattr(x, "dtype"):
        return np.asarray(x, dtype)
    return x.astype(dtype) if x.dtype.kind in "iub" else x


@on_values
def _frexp(x):
    return np.frexp(x)[1]


@implements(np.frexp)
def frexp(x):
    """The mantissa, between 0.5 and 1, and the plain exponent of 2: x = mantissa * 2**exponent."""
    exponent = _frexp(x)
    return ldexp(x, -exponent), exponent


@implements(np.ldexp)
def ldexp(x1, x2):
    """x1 * 2**x2, for integers `x2`."""
    x2 = x2 if hasattr(x2, "dtype") else np.asarray(x2, np.int64 if type(x2) is int else None)
    if x2.dtype.kind not in "iub":
        raise ArgumentTypeError(
            f"ldexp: the exponents are {x2.dtype}; they are whole numbers", code="NB-INTEGER"
        )
    dtype = type_of(np.ldexp, getattr(x1, "dtype", x1), x2.dtype)
    half = x2 // 2  # two factors, which do not overflow if the result does not
    first, second = np.exp2(half.astype(dtype)), np.exp2((x2 - half).astype(dtype))
    return x1 * first * second


_next = on_values(np.nextafter)


@implements(np.nextafter)
def nextafter(x1, x2):
    """The next float after `x1` towards `x2`; derivative 1 in `x1` and 0 in `x2`."""
    found, x1 = _next(x1, x2), _as_float(x1, np.nextafter, x2)
    finite = np.isfinite(x1)
    # The step is exact, and so is the sum.
    step = np.where(finite, found - stopped(np.where(finite, x1, 0.0)), 0.0)
    return np.where(finite, x1 + step, found)


@implements(np.astype)
def astype(x, dtype, /, *, copy: bool = True, device=None):
    """`x.astype(dtype)`: float64 or float32."""
    return x.astype(dtype, copy=copy)
