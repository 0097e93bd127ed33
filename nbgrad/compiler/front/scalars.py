"""Functions of Python, `math` and NumPy of numbers, with the types that Numba gives them."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from . import dtypes
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import BOOL, DOUBLE, INT, SINGLE, Known, Number, Value

__all__ = ["SCALARS", "other_row", "record_others", "scalar_arguments", "scalar_row"]

Row = Callable[..., Value]
SCALARS: dict[Any, Row] = {}
"""The writers of calls, by function."""
_SHORT = {np.dtype(code) for code in ("?", "i1", "u1", "i2", "u2")}


def scalar_row(function: Any) -> Row | None:
    """The row of a function; None for one that is not of numbers."""
    try:
        return SCALARS.get(function)
    except TypeError:  # not hashable
        return None


_others: list[Callable[[Any, bool], Row | None]] = []


def record_others(row: Callable[[Any, bool], Row | None]) -> None:
    """Have functions that this room does not have written by `row(function, of_elements)`."""
    _others.append(row)


def other_row(function: Any, of_elements: bool) -> Row | None:
    """The row of a function of numbers that another room has, and that is applied to each element
    of arrays if `of_elements` is true; None for any other function."""
    try:
        return next(filter(None, (row(function, of_elements) for row in _others)), None)
    except TypeError:  # not hashable
        return None


def scalar_arguments(
    function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Sequence[Value]:
    """The arguments of a function of numbers, which has few names for them."""
    if not named:
        return operands
    name = getattr(function, "__name__", str(function))
    if function in (round, np.round, np.around) and set(named) <= {"ndigits", "decimals"}:
        return [*operands, *named.values()]
    raise Unsupported(f"a call of {name} with the argument {next(iter(named))}")


def floats(
    emit: FunctionBuilder, operands: Sequence[Value], short: np.dtype = DOUBLE
) -> list[Number]:
    """Numbers as floats of one dtype; integers of up to 16 bits as `short`, which is single
    precision for the functions of NumPy."""
    given = [emit.dtype(operand) for operand in operands]
    if short == SINGLE:
        dtype = dtypes.of_ufunc(*given)
    else:
        dtype = reduce(lambda x, y: dtypes.operand_dtypes(operator.add, x, y)[0], given)
    if dtype.kind != "f":
        dtype = short if all(emit.dtype(x) in _SHORT for x in operands) else DOUBLE
    return [emit.cast(operand, dtype) for operand in operands]


def arity(name: str, operands: Sequence[Value], count: int) -> None:
    if len(operands) != count:
        raise Unsupported(f"{name} of {len(operands)} arguments")


# -- functions that scalar code or the C library has ----------------------------------------------


def _applied(
    name: str, count: int, short: np.dtype, emit: FunctionBuilder, *operands: Value
) -> Value:
    arity(name, operands, count)
    given = floats(emit, operands, short)
    return emit.applied(name, given, BOOL if name in _GIVE_BOOLS else given[0].dtype)


def library(
    name: str, count: int, short: np.dtype, emit: FunctionBuilder, *operands: Value
) -> Value:
    arity(name, operands, count)
    given = floats(emit, operands, short)
    return emit.call(f"libm {name}", [x.operand for x in given], [given[0].dtype])[0]


_GIVE_BOOLS = {"np.isfinite", "np.signbit"}
_BINARY = {"atan2", "hypot", "pow", "np.copysign", "np.fmod", "copysign", "fmod"}
for _module, _short, _names in (
    (math, DOUBLE, "acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp exp2 expm1 hypot "
                   "lgamma log log10 log1p log2 sin sinh tan tanh gamma=numba_gamma"),
    (np, SINGLE, "arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan arctan2=atan2 "
                 "arctanh=atanh cos cosh exp expm1 hypot log log10 log1p log2 sin sinh tan tanh "
                 "exp2 cbrt"),
):  # fmt: skip
    for _each in _names.split():
        _own, _, _label = _each.partition("=")
        _label = _label or _own
        if hasattr(_module, _own):
            SCALARS[getattr(_module, _own)] = partial(
                library, _label, 2 if _label in _BINARY else 1, _short
            )
for _module, _short, _names in (
    (math, DOUBLE, "sqrt copysign=np.copysign fmod=np.fmod isfinite=np.isfinite fabs=abs"),
    (np, SINGLE, "sqrt copysign=np.copysign isfinite=np.isfinite signbit=np.signbit floor=np.floor "
                 "ceil=np.ceil trunc=np.trunc rint=np.rint fabs=abs"),
):  # fmt: skip
    for _each in _names.split():
        _own, _, _label = _each.partition("=")
        _label = _label or _own
        SCALARS[getattr(_module, _own)] = partial(
            _applied, _label, 2 if _label in _BINARY else 1, _short
        )


# -- functions that keep integers -----------------------------------------------------------------


def _kept(name: str, emit: FunctionBuilder, x: Value) -> Value:
    """abs and sign: the result has the dtype of the argument."""
    number = emit.typed(x)
    if number.dtype == BOOL:
        number = emit.cast(number, INT)
    return emit.applied(name, [number], number.dtype)


SCALARS[abs] = SCALARS[np.abs] = partial(_kept, "abs")
SCALARS[np.sign] = partial(_kept, "np.sign")


def _whole(name: str, emit: FunctionBuilder, x: Value) -> Value:
    """math.floor, ceil and trunc, which return integers."""
    return emit.cast(emit.applied(name, [emit.cast(x, DOUBLE)], DOUBLE), INT)


for _name in ("floor", "ceil", "trunc"):
    SCALARS[getattr(math, _name)] = partial(_whole, f"np.{_name}")


def _extreme(name: str, emit: FunctionBuilder, *operands: Value) -> Value:
    """np.maximum and its like."""
    arity(name, operands, 2)
    dtype = dtypes.of_ufunc(*map(emit.dtype, operands))
    both = [emit.cast(operand, dtype) for operand in operands]
    better = "greater_equal" if name in ("maximum", "fmax") else "less_equal"
    x, y = both
    found = emit.applied("select", [emit.applied(better, both, BOOL), x, y], dtype)
    if dtype.kind != "f":
        return found
    tested = y if name in ("fmax", "fmin") else x  # of nan and another, fmax has the other
    is_nan = emit.applied("not_equal", [tested, tested], BOOL)
    return emit.applied("select", [is_nan, x, found], dtype)


for _name in ("maximum", "minimum", "fmax", "fmin"):
    SCALARS[getattr(np, _name)] = partial(_extreme, _name)


# -- tests ----------------------------------------------------------------------------------------


def _is_nan(emit: FunctionBuilder, x: Value) -> Value:
    (number,) = floats(emit, [x])
    return emit.applied("not_equal", [number, number], BOOL)


def _is_inf(emit: FunctionBuilder, x: Value) -> Value:
    (number,) = floats(emit, [x])
    size = emit.applied("abs", [number], number.dtype)
    return emit.applied("equal", [size, emit.cast(Known(math.inf), size.dtype)], BOOL)


for _module in (math, np):
    SCALARS |= {_module.isnan: _is_nan, _module.isinf: _is_inf}
