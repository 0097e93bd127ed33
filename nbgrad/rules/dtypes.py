"""Dtypes of results, by NumPy's promotion.

The dtypes are float64, float32, integers and bools. float16 is converted to float32, and longdouble
to float64; where NumPy would compute in float16, as in the sine of int8, nbgrad uses float64.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.primitive import Aval
from ..errors import ComplexError
from ..runtime.kinds import is_a

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
BOOL, INT = np.dtype(bool), np.dtype(np.int64)


def known(dtype: np.dtype) -> np.dtype:
    """The dtype used for arrays of `dtype`: native byte order, float32 for float16, float64 for
    longdouble."""
    dtype = dtype if dtype.isnative else dtype.newbyteorder("=")
    if dtype.kind == "f" and dtype not in FLOATS:
        return FLOATS[dtype.itemsize < 4]
    return dtype


def common_type(*args: Any) -> np.dtype:
    """The dtype to which NumPy promotes Avals, dtypes, and Python numbers or their types."""
    return known(np.result_type(*map(_promoted_as, args)))


def _promoted_as(x: Any) -> Any:
    return (
        x.dtype if isinstance(x, Aval) else x(0) if x in (int, float) and x.__class__ is type else x
    )


def float_type(*args: Any) -> np.dtype:
    """The float dtype to which the arguments are promoted: float64 for integers."""
    dtype = np.result_type(*map(_promoted_as, args))
    return dtype if dtype in FLOATS else known(dtype) if dtype.kind == "f" else FLOATS[0]


def linalg_type(*args: Any) -> np.dtype:
    """The dtype of NumPy's linear algebra: integers of any width count as float64."""
    return common_type(*map(float_type, args))


def held(x: Any) -> np.ndarray:
    """x as a plain array of a supported dtype."""
    x = np.asarray(x)
    return x.astype(known(x.dtype), copy=False)


def in_dtype(x: Any, dtype: np.dtype) -> Any:
    """An array or a number cast to `dtype`, as the initial value of a reduction."""
    x = x if hasattr(x, "astype") else np.asarray(x)
    return x if x.dtype == dtype else x.astype(dtype)


def type_of(function: Callable, *args: Any, **options: Any) -> np.dtype:
    """The dtype of the result of a NumPy function for arrays of these dtypes and Python numbers.

    Raises TypeError or ValueError as NumPy does.
    """
    return loop_types(function, *map(kind_of, args), **options)[-1]


def kind_of(x: Any) -> Any:
    """The dtype of an argument, or the type of a Python number, for promotion."""
    if isinstance(x, (Aval, np.ndarray)):
        return x.dtype
    if isinstance(x, (type, np.dtype)):
        return x
    if is_a(x, (int, float)) and not is_a(x, (bool, np.generic)):
        return float if is_a(x, float) else int  # also for a named size
    return np.asarray(x).dtype


@lru_cache(maxsize=4096, typed=True)
def loop_types(function: Callable, *kinds: Any, **options: Any) -> tuple[np.dtype, ...]:
    """The dtypes of the arguments and the result of a NumPy function, for these dtypes and
    types."""
    if not any(isinstance(k, np.dtype) for k in kinds):
        kinds = tuple(map(np.dtype, kinds))  # numbers alone are promoted like arrays
    if isinstance(function, np.ufunc):
        types = function.resolve_dtypes((*kinds, None))
    else:
        one = [np.ones(1, k) if isinstance(k, np.dtype) else k(1) for k in kinds]
        types = (np.asarray(function(*one, **options)).dtype,) * (len(kinds) + 1)
    # Where NumPy has a float16 loop for integers, compute in float64.
    given = [k for k in kinds if isinstance(k, np.dtype) and k.kind == "f"]
    narrow = not given and any(t.kind == "f" and t.itemsize < 4 for t in types)
    return tuple(FLOATS[0] if narrow and t.kind == "f" else known(t) for t in types)


def require_real(dtype: np.dtype, what: str) -> None:
    """Raise TypeError unless the dtype is float, integer or bool."""
    if dtype.kind not in "fiub":
        raise ComplexError(
            f"{what} of dtype {dtype}; nbgrad computes with real numbers, so convert it to "
            "float64 or float32 first"
        )
