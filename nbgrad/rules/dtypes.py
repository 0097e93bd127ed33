"""Dtypes of results: NumPy's own, asked of NumPy.

Programs know float64, float32, integers and bools. Half floats are taken as float32 and long ones
as float64, which hold what they hold or nearly so; where NumPy would compute in half floats, as in
the sine of bytes, it is float64 here.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.primitive import Aval
from ..runtime.kinds import is_a

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
BOOL, INT = np.dtype(bool), np.dtype(np.int64)


def known(dtype: np.dtype) -> np.dtype:
    """The dtype in which arrays of `dtype` are held: in the machine's byte order, halves as float32
    and long floats as float64."""
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
    """The dtype to which they are promoted where results are floats: float64 for integers."""
    dtype = np.result_type(*map(_promoted_as, args))
    return dtype if dtype in FLOATS else known(dtype) if dtype.kind == "f" else FLOATS[0]


def linalg_type(*args: Any) -> np.dtype:
    """The dtype in which NumPy's linear algebra joins several arrays: integers of any width count
    as float64."""
    return common_type(*map(float_type, args))


def held(x: Any) -> np.ndarray:
    """x as a plain array of a dtype that programs know."""
    x = np.asarray(x)
    return x.astype(known(x.dtype), copy=False)


def in_dtype(x: Any, dtype: np.dtype) -> Any:
    """An array or a number in this dtype, as what a reduction of NumPy's begins with."""
    x = x if hasattr(x, "astype") else np.asarray(x)
    return x if x.dtype == dtype else x.astype(dtype)


def type_of(function: Callable, *args: Any, **options: Any) -> np.dtype:
    """The dtype of what a NumPy function gives for arrays of these dtypes and Python's numbers.

    Raises TypeError or ValueError as NumPy does.
    """
    return loop_types(function, *map(kind_of, args), **options)[-1]


def kind_of(x: Any) -> Any:
    """What promotion asks of an argument: its dtype, or the type of a Python number."""
    if isinstance(x, (Aval, np.ndarray)):
        return x.dtype
    if isinstance(x, (type, np.dtype)):
        return x
    if is_a(x, (int, float)) and not is_a(x, (bool, np.generic)):
        return type(x)
    return np.asarray(x).dtype


@lru_cache(maxsize=4096, typed=True)
def loop_types(function: Callable, *kinds: Any, **options: Any) -> tuple[np.dtype, ...]:
    """The dtypes in which a NumPy function takes arguments of these kinds, and that of the
    result."""
    if not any(isinstance(k, np.dtype) for k in kinds):
        kinds = tuple(map(np.dtype, kinds))  # numbers alone are what arrays of them are
    if isinstance(function, np.ufunc):
        types = function.resolve_dtypes((*kinds, None))
    else:
        one = [np.ones(1, k) if isinstance(k, np.dtype) else k(1) for k in kinds]
        types = (np.asarray(function(*one, **options)).dtype,) * (len(kinds) + 1)
    # Integers for which NumPy has a loop of half floats are computed in float64.
    given = [k for k in kinds if isinstance(k, np.dtype) and k.kind == "f"]
    narrow = not given and any(t.kind == "f" and t.itemsize < 4 for t in types)
    return tuple(FLOATS[0] if narrow and t.kind == "f" else known(t) for t in types)


def require_real(dtype: np.dtype, what: str) -> None:
    """Raise TypeError for a dtype that is none of floats, integers and bools."""
    if dtype.kind not in "fiub":
        raise TypeError(
            f"{what} of dtype {dtype}; nbgrad computes with real numbers, so convert it to "
            "float64 or float32 first"
        )
