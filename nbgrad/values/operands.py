"""Conversion of users' values for kernels: operands, data of leaves, cotangents."""

from typing import Any

import numpy as np

from ..core.array import Array
from ..core.fillable import FILLABLE
from ..core.numpy_class import Pair
from ..core.primitive import Aval, Primitive, shape_of
from ..eager.plans import plain_array
from ..errors import ArgumentTypeError, ComplexError, DimensionMismatch, require_unmasked
from ..kernels.shapes import require_axes
from ..rules.dtypes import FLOATS, known, require_real
from ..runtime.kinds import is_a

SHORT = 4096
"""An op copies plain operands of at most this number of bytes, as a program may write to them
before a pullback reads them. Longer ones are kept by reference."""


def aval_of(value: Any) -> Aval:
    """The shape and dtype of an array of any kind."""
    return value.aval if isinstance(value, Array) else Aval.of(value.shape, value.dtype)


_ONES = {dtype: np.ones((), dtype) for dtype in FLOATS}


def ones(aval: Aval) -> np.ndarray:
    """A cotangent of ones, which must not be written to."""
    return np.ones(aval.shape, aval.dtype) if aval.shape else _ONES[aval.dtype]


def plain_operand(x: Any, primitive: Primitive) -> tuple[Any, Any]:
    """The kind (see `eager.Plan`) and the value of an untracked argument."""
    if type(x) is float:
        return float, x
    if type(x) in FILLABLE:
        x = x.now()  # it may be written to later
    if type(x) is np.ndarray and x.dtype in FLOATS and x.flags.carray:
        return Aval.of(x.shape, x.dtype).constant, x.copy() if x.nbytes <= SHORT else x
    value = operand(x, primitive)
    return (float if type(value) is float else aval_of(value).constant), value


def operand(x: Any, primitive: Primitive) -> Any:
    """Convert an untracked argument for kernels: to a float, or an aligned, contiguous, writeable
    array. Arrays of lower levels are not converted."""
    if type(x) is float:
        return x
    if isinstance(x, Array):
        return x._snapshot()
    if type(x) is int or type(x) is bool:
        return float(x)
    if type(x) in FILLABLE:
        x = x.now()
    x = plain_array(real_array(x, f"{primitive.name}: an operand"))
    return x.copy() if x.nbytes <= SHORT else x


def in_kind(x: Any, value: Any) -> Any:
    """Convert a plain array to the kind and level of x, or copy it if x is plain. Other arrays are
    returned as they are."""
    if isinstance(value, Array):
        return value
    return x.constant(value) if isinstance(x, Array) else np.array(value, order="C")


def real_array(x: Any, what: str) -> np.ndarray:
    """Convert to a plain array of floats, integers or bools. Raises TypeError for anything else."""
    if is_a(x, Pair):
        raise ComplexError(
            f"{what} is complex where a real one is needed: take z.real, or np.abs(z)"
        )
    require_unmasked(x, what)
    array = np.asarray(x)
    require_real(array.dtype, what)
    require_axes(array.shape, what)
    return array.astype(known(array.dtype), copy=False)


def float_array(x: Any, copy: bool = False, op: str = "track") -> Any:
    """Convert to the data of a leaf: a contiguous array of float64 or float32. An Array is not
    converted.

    Raises TypeError for complex numbers, objects, strings and floats of more than 64 bits.
    """
    if isinstance(x, Array):
        return x.settled()._snapshot()
    require_unmasked(x, op)
    try:
        array = np.asarray(x)
    except ValueError:
        raise DimensionMismatch(
            f"{op}: lists of different lengths make no array; make them equal, or keep the arrays "
            "in a list and differentiate with nbgrad.grad, which takes nested ones"
        ) from None
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        reason = {
            "c": "complex numbers are not supported: use the real and imaginary parts",
            "O": f"a {type(x).__name__} of Python objects is no array of numbers; nbgrad.array "
            "joins tracked ones, nbgrad.grad takes dicts and lists of arrays",
        }.get(array.dtype.kind, "only real numbers, as float64 or float32, can be differentiated")
        raise ComplexError(f"{op}: an array of dtype {array.dtype}: {reason}")
    require_axes(array.shape, op)
    single = array.dtype.kind == "f" and array.dtype.itemsize < 8
    dtype = np.float32 if single else np.float64
    if copy or array.dtype != dtype or not array.flags.carray:
        return np.array(array, dtype, order="C")
    return array


def cotangent(value: Any, aval: Aval, op: str, level: int, copy: bool = True) -> Any:
    """Convert to a cotangent of a result of `op` with the given aval: a plain array, or an Array of
    a lower level than `level`.

    Without `copy` it may be the caller's array, which must not be written to. Raises
    DimensionMismatch for another shape, and TypeError for an Array of this level.
    """
    if type(value) is float and not aval.shape:
        return np.array(value, aval.dtype)
    if isinstance(value, Array) and value.level >= level:
        raise ArgumentTypeError(
            f"{op or 'gradient'}: a tracked cotangent, whose derivative would be lost: pass its "
            ".data, or call backward with create_graph=True",
            code="NB-CONVERT",
        )
    if not isinstance(value, Array):
        value = real_array(value, f"{op or 'gradient'}: a cotangent")
        if copy or value.dtype != aval.dtype or not value.flags.carray:
            value = np.array(value, aval.dtype)
    if shape_of(value) != aval.shape:
        raise DimensionMismatch(
            f"{op or 'gradient'}: a cotangent of shape {shape_of(value)} for an array of shape "
            f"{aval.shape}; they must be equal"
        )
    return value
