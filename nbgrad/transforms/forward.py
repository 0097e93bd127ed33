"""Forward mode: `jvp`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array import Array
from ..core import new_level, shape_of
from ..dual import Dual
from ..errors import DimensionMismatch
from ..operands import float_array
from . import trees


def jvp(f: Callable, primals: Sequence, tangents: Sequence) -> tuple[Any, Any]:
    """The value of `f(*primals)` and its derivative in the direction of `tangents`.

    Arguments:
        f: gives an array for the primals.
        primals: a sequence of numbers or float arrays.
        tangents: for each primal, a direction of the same shape.

    Returns the value and the tangent J @ tangents, of the shape of the value. Composed with
    `grad`, it gives a Hessian-vector product.

    Raises DimensionMismatch where numbers or shapes differ.

    >>> value, tangent = nbgrad.jvp(np.sin, (0.0,), (2.0,))
    >>> float(value), float(tangent)
    (0.0, 2.0)
    """
    trees.require_function("jvp", f)
    if not (isinstance(primals, (tuple, list)) and isinstance(tangents, (tuple, list))):
        raise TypeError(
            "jvp: primals and tangents are tuples, one entry for each argument, as in "
            "jvp(f, (x,), (v,))"
        )
    if len(primals) != len(tangents):
        raise DimensionMismatch(
            f"jvp: {len(primals)} primals and {len(tangents)} tangents; give one for each"
        )
    with new_level(max(1, trees.level_above([*primals, *tangents]))) as level:
        duals = []
        for primal, tangent in zip(primals, tangents, strict=True):
            primal = float_array(primal, op="jvp")
            tangent = float_array(tangent, op="jvp")
            if shape_of(primal) != shape_of(tangent):
                raise DimensionMismatch(
                    f"jvp: a primal of shape {shape_of(primal)} and a tangent of shape "
                    f"{shape_of(tangent)}; they must be equal"
                )
            duals.append(Dual(primal, tangent, level))
        out = f(*duals)
    if isinstance(out, Dual) and out.level == level:
        return _scalar(out.primal), _scalar(out.tangent)
    if not isinstance(out, (Array, np.ndarray, np.generic, float, int)):
        raise TypeError(
            f"jvp: the function gave {type(out).__name__}, not an array; return one array"
        )
    return out, _scalar(np.zeros(shape_of(out)))


def _scalar(value):
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
