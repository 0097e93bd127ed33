"""Operations on numbers as LLVM instructions: types, constants, conversions, scalar functions.

`Writer` is what they need of the function that is written: `emit` adds an instruction and gives its
result, `call` calls a function that may be defined elsewhere. A value is its text and its dtype.
"""

import struct
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..ir.reductions import MAXIMUM, MINIMUM, PRODUCT, SUM, Reduction

__all__ = [
    "BOOL", "DOUBLE", "INT", "Value", "Writer", "applied", "cast", "constant", "joined",
    "llvm_type", "memory_type", "truth",
]  # fmt: skip

INT, BOOL, DOUBLE = np.dtype(np.int64), np.dtype(bool), np.dtype(np.float64)
_NAMES = {"f8": "double", "f4": "float", "b1": "i1"}
_SUFFIX = {8: "f64", 4: "f32"}


class Value(NamedTuple):
    """A number while a function is written: its text, and its dtype."""

    text: str
    dtype: np.dtype


class Writer(Protocol):
    """A function that is being written. Its `flags` are those of floating-point instructions."""

    flags: str

    def emit(self, instruction: str) -> str: ...

    def call(self, name: str, operands: Sequence[Value], result: np.dtype) -> Value: ...

    def intrinsic(self, name: str, operands: Sequence[Value]) -> Value: ...


@cache
def llvm_type(dtype: np.dtype) -> str:
    """The type of a number of a dtype."""
    code = dtype.str[1:]
    return _NAMES.get(code) or f"i{8 * dtype.itemsize}"


def memory_type(dtype: np.dtype) -> str:
    """The type of an element in memory: a bool is a byte."""
    return "i8" if dtype.kind == "b" else llvm_type(dtype)


def constant(number: Any, dtype: np.dtype) -> Value:
    """A number as a constant of a dtype."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            (bits,) = struct.unpack("<Q", struct.pack("<d", float(dtype.type(number))))
        return Value(f"0x{bits:016X}", dtype)
    if dtype.kind == "b":
        return Value("true" if number else "false", dtype)
    number = int(number)
    return Value(str(number - 2**64 if number >= 2**63 else number), dtype)


def cast(to: Writer, x: Value, dtype: np.dtype) -> Value:
    """A value in another dtype, converted as NumPy's `astype` does."""
    if x.dtype == dtype:
        return x
    here, there = x.dtype, dtype
    if there.kind == "b":
        return truth(to, x)
    if here.kind == "f" and there.kind == "f":
        name = "fpext" if there.itemsize > here.itemsize else "fptrunc"
    elif there.kind == "f":
        name = "sitofp" if here.kind == "i" else "uitofp"
    elif here.kind == "f":
        name = "fptosi" if there.kind == "i" else "fptoui"
    elif here.kind == "b" or there.itemsize > here.itemsize:
        name = "sext" if here.kind == "i" else "zext"
    elif there.itemsize < here.itemsize:
        name = "trunc"
    else:
        return Value(x.text, dtype)
    return Value(to.emit(f"{name} {llvm_type(here)} {x.text} to {llvm_type(there)}"), dtype)


def truth(to: Writer, x: Value) -> Value:
    """Whether a number is not 0."""
    if x.dtype.kind == "b":
        return x
    if x.dtype.kind == "f":
        zero = constant(0.0, x.dtype).text
        return Value(to.emit(f"fcmp {to.flags}une {llvm_type(x.dtype)} {x.text}, {zero}"), BOOL)
    return Value(to.emit(f"icmp ne {llvm_type(x.dtype)} {x.text}, 0"), BOOL)


# -- operators ------------------------------------------------------------------------------------

_FLOATS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_INTEGERS = {"add": "add", "subtract": "sub", "multiply": "mul", "and": "and", "or": "or",
             "xor": "xor"}  # fmt: skip
_BOOLS = {"add": "or", "multiply": "and", "and": "and", "or": "or", "xor": "xor"}
_COMPARED = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
             "equal": "eq", "not_equal": "ne"}  # fmt: skip


def _common(to: Writer, operands: Sequence[Value]) -> list[Value]:
    """The operands in one dtype, that of NumPy's promotion."""
    dtype, are_same = operands[0].dtype, True
    for x in operands:
        if x.dtype != dtype:
            dtype, are_same = np.promote_types(dtype, x.dtype), False
    return list(operands) if are_same else [cast(to, x, dtype) for x in operands]


def _arithmetic(name: str, to: Writer, x: Value, y: Value) -> Value:
    if name == "divide" and x.dtype.kind != "f" and y.dtype.kind != "f":
        x, y = cast(to, x, DOUBLE), cast(to, y, DOUBLE)
    x, y = _common(to, [x, y])
    kind, place = x.dtype.kind, f"{llvm_type(x.dtype)} {x.text}, {y.text}"
    if kind == "f":
        return Value(to.emit(f"{_FLOATS[name]} {to.flags}{place}"), x.dtype)
    return Value(to.emit(f"{(_BOOLS if kind == 'b' else _INTEGERS)[name]} {place}"), x.dtype)


def _comparison(name: str, to: Writer, x: Value, y: Value) -> Value:
    x, y = _common(to, [x, y])
    relation, place = _COMPARED[name], f"{llvm_type(x.dtype)} {x.text}, {y.text}"
    if x.dtype.kind == "f":
        ordered = "u" if name == "not_equal" else "o"
        return Value(to.emit(f"fcmp {to.flags}{ordered}{relation} {place}"), BOOL)
    if name not in ("equal", "not_equal"):
        relation = ("s" if x.dtype.kind == "i" else "u") + relation
    return Value(to.emit(f"icmp {relation} {place}"), BOOL)


def _select(to: Writer, condition: Value, x: Value, y: Value) -> Value:
    condition = truth(to, condition)
    x, y = _common(to, [x, y])
    kind = llvm_type(x.dtype)
    text = f"select i1 {condition.text}, {kind} {x.text}, {kind} {y.text}"
    return Value(to.emit(text), x.dtype)


def _negative(to: Writer, x: Value) -> Value:
    kind = llvm_type(x.dtype)
    if x.dtype.kind == "f":
        return Value(to.emit(f"fneg {kind} {x.text}"), x.dtype)
    return Value(to.emit(f"sub {kind} 0, {x.text}"), x.dtype)


def _invert(to: Writer, x: Value) -> Value:
    ones = "true" if x.dtype.kind == "b" else "-1"
    return Value(to.emit(f"xor {llvm_type(x.dtype)} {x.text}, {ones}"), x.dtype)


def _shift(name: str, to: Writer, x: Value, y: Value) -> Value:
    right = "ashr" if x.dtype.kind == "i" else "lshr"
    text = f"{'shl' if name == 'left_shift' else right} {llvm_type(x.dtype)} {x.text}, {y.text}"
    return Value(to.emit(text), x.dtype)


def _quotient(name: str, to: Writer, x: Value, y: Value) -> Value:
    """Python's // and % of integers; 0 where the divisor is 0. The processor's division of the
    least integer by -1 would end the process."""
    x, y = _common(to, [x, y])
    if x.dtype.kind == "f":
        return to.call("floor_divide" if name == "floor_quotient" else "modulo", [x, y], x.dtype)
    x, y = (cast(to, z, INT) if z.dtype.kind == "b" else z for z in (x, y))
    kind, zero = llvm_type(x.dtype), constant(0, x.dtype)
    is_zero, safe = _comparison("equal", to, y, zero), _divisor(to, y)
    place = f"{kind} {x.text}, {safe.text}"
    if x.dtype.kind == "u":
        found = Value(to.emit(f"{'udiv' if name == 'floor_quotient' else 'urem'} {place}"), x.dtype)
        return _select(to, is_zero, zero, found)
    rest = Value(to.emit(f"srem {place}"), x.dtype)
    other_sign = Value(to.emit(f"xor {kind} {rest.text}, {safe.text}"), x.dtype)
    is_off = _arithmetic("and", to, _comparison("not_equal", to, rest, zero),
        _comparison("less", to, other_sign, zero),
    )  # fmt: skip
    if name == "modulo":
        found = _select(to, is_off, _arithmetic("add", to, rest, safe), rest)
    else:
        found = Value(to.emit(f"sdiv {place}"), x.dtype)
        found = _arithmetic("subtract", to, found, cast(to, is_off, x.dtype))
        is_turned = _comparison("equal", to, y, constant(-1, y.dtype))
        found = _select(to, is_turned, _negative(to, x), found)
    return _select(to, is_zero, zero, found)


def _divisor(to: Writer, y: Value) -> Value:
    """An integer by which any may be divided: 1 in place of 0 and -1."""
    one = constant(1, y.dtype)
    y = _select(to, _comparison("equal", to, y, constant(0, y.dtype)), one, y)
    if y.dtype.kind == "i":
        y = _select(to, _comparison("equal", to, y, constant(-1, y.dtype)), one, y)
    return y


def _strong(to: Writer, x: Value, y: Value) -> Value:
    is_zero = _comparison("equal", to, x, constant(0, x.dtype))
    return _select(to, is_zero, constant(0, y.dtype), y)


# -- functions ------------------------------------------------------------------------------------


def _abs(to: Writer, x: Value) -> Value:
    if x.dtype.kind == "f":
        return to.intrinsic("fabs", [x])
    if x.dtype.kind != "i":
        return x
    return _select(to, _comparison("less", to, x, constant(0, x.dtype)), _negative(to, x), x)


def _of_floats(name: str) -> Callable[..., Value]:
    """A function of floats that LLVM knows; of integers, which it leaves as they are."""

    def write(to: Writer, *operands: Value) -> Value:
        operands = tuple(_common(to, operands))
        return to.intrinsic(name, operands) if operands[0].dtype.kind == "f" else operands[0]

    return write


def _copysign(to: Writer, x: Value, y: Value) -> Value:
    return to.intrinsic("copysign", [_float(to, z) for z in _common(to, [x, y])])


def _sqrt(to: Writer, x: Value) -> Value:
    return to.intrinsic("sqrt", [_float(to, x)])


def _fused(to: Writer, *operands: Value) -> Value:
    return to.intrinsic("fma", _common(to, operands))


def _float(to: Writer, x: Value) -> Value:
    return x if x.dtype.kind == "f" else cast(to, x, DOUBLE)


def _isfinite(to: Writer, x: Value) -> Value:
    if x.dtype.kind != "f":
        return constant(True, BOOL)
    return _comparison("less", to, _abs(to, x), constant(np.inf, x.dtype))


def _signbit(to: Writer, x: Value) -> Value:
    if x.dtype.kind != "f":
        return _comparison("less", to, x, constant(0, x.dtype))
    whole = f"i{8 * x.dtype.itemsize}"
    bits = to.emit(f"bitcast {llvm_type(x.dtype)} {x.text} to {whole}")
    return Value(to.emit(f"icmp slt {whole} {bits}, 0"), BOOL)


def _sign(to: Writer, x: Value) -> Value:
    zero, one = constant(0, x.dtype), constant(1, x.dtype)
    positive = _comparison("greater", to, x, zero)
    if x.dtype.kind in "ub":
        return _select(to, positive, one, zero)
    rest = _select(to, _comparison("equal", to, x, zero), zero, x)  # nan stays
    rest = _select(to, _comparison("less", to, x, zero), constant(-1, x.dtype), rest)
    return _select(to, positive, one, rest)


def _fmod(to: Writer, x: Value, y: Value) -> Value:
    x, y = _common(to, [x, y])
    if x.dtype.kind == "f":
        text = f"frem {to.flags}{llvm_type(x.dtype)} {x.text}, {y.text}"
        return Value(to.emit(text), x.dtype)
    is_zero, safe = _comparison("equal", to, y, constant(0, y.dtype)), _divisor(to, y)
    name = "urem" if x.dtype.kind == "u" else "srem"
    found = Value(to.emit(f"{name} {llvm_type(x.dtype)} {x.text}, {safe.text}"), x.dtype)
    return _select(to, is_zero, constant(0, y.dtype), found)


def _power(to: Writer, x: Value, y: Value) -> Value:
    x, y = _common(to, [x, y])
    return (
        to.intrinsic("pow", [x, y])
        if x.dtype.kind == "f"
        else to.call("whole_power", [x, y], x.dtype)
    )


_WRITTEN: dict[str, Callable[..., Value]] = {
    **{name: partial(_arithmetic, name) for name in {**_FLOATS, **_INTEGERS}},
    **{name: partial(_comparison, name) for name in _COMPARED},
    **{name: partial(_quotient, name) for name in ("floor_quotient", "modulo")},
    **{name: partial(_shift, name) for name in ("left_shift", "right_shift")},
    **{f"np.{name}": _of_floats(name) for name in ("rint", "floor", "ceil", "trunc")},
    "negative": _negative, "invert": _invert, "power_of": _power, "select": _select, "abs": _abs,
    "strong": _strong,
    "fused": _fused, "sqrt": _sqrt, "np.isfinite": _isfinite, "np.signbit": _signbit,
    "np.sign": _sign, "np.copysign": _copysign, "np.fmod": _fmod,
    "np.remainder": partial(_quotient, "modulo"),
}  # fmt: skip
_GIVE_BOOLS = ("is_far", "is_negative")


def applied(to: Writer, name: str, operands: Sequence[Value]) -> Value:
    """A function of scalar code, by its name in `ir.functions`, of some values."""
    write = _WRITTEN.get(name)
    if write is not None:
        return write(to, *operands)
    operands = _common(to, operands)
    return to.call(name, operands, BOOL if name in _GIVE_BOOLS else operands[0].dtype)


# -- reductions -----------------------------------------------------------------------------------


def joined(to: Writer, kind: Reduction, total: Value, x: Value, loose: bool) -> Value:
    """A running result and one more element; `loose` sums may be added in any order."""
    x = cast(to, x, total.dtype)
    of_floats, place = total.dtype.kind == "f", f"{llvm_type(total.dtype)} {total.text}, {x.text}"
    if kind is SUM and of_floats:
        flags = "reassoc contract " if loose else to.flags
        return Value(to.emit(f"fadd {flags}{place}"), total.dtype)
    if kind is SUM or kind is PRODUCT:
        return _arithmetic("add" if kind is SUM else "multiply", to, total, x)
    assert kind in (MAXIMUM, MINIMUM), kind
    if of_floats:
        return to.intrinsic("maximum" if kind is MAXIMUM else "minimum", [total, x])
    relation = "greater_equal" if kind is MAXIMUM else "less_equal"
    return _select(to, _comparison(relation, to, total, x), total, x)
