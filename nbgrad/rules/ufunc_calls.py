"""Calls of ufuncs with keywords: `np.exp(x, dtype=...)`, `np.add(x, y, out=z, where=mask)`."""

from typing import Any

import numpy as np

from ..core.array import Array, implements
from ..core.functions import no_rule, of_ufunc
from ..core.primitive import shape_of
from ..errors import DimensionMismatch, NoRuleError
from ..kernels import shapes


@implements("ufunc.call")
def call(ufunc, inputs, out=None, where=True, dtype=None, casting="same_kind", order="K",
         subok=True, signature=None):  # fmt: skip
    """A ufunc's result, computed in `dtype`, where `where` holds, and put into `out`.

    `out` is a computed array, which then has new elements, as by `out[...] = ...`. Where `where`
    does not hold it keeps those it had, so `where` asks for `out`. The order of elements in memory
    is nbgrad's own. Raises what NumPy raises for dtypes that do not fit `casting`.
    """
    name, function = of_ufunc(ufunc)
    if function is None:
        raise no_rule(name)
    (target,) = out if out is not None and len(out) == 1 else (None,)
    if out is not None and target is None and any(x is not None for x in out):
        raise NoRuleError(f"{name}(out=...) with two results: use what it returns")
    if target is not None and not isinstance(target, Array):
        raise NoRuleError(
            f"{name}(out=...) cannot write a tracked array into a plain one: use what it returns"
        )
    if where is not True and target is None:
        raise NoRuleError(
            f"{name}(where=...) leaves the other elements as they come: give it out=..., or write "
            f"np.where(mask, {name}(...), other)"
        )
    if dtype is not None or signature is not None:
        inputs = _of_dtype(ufunc, inputs, dtype, signature, casting)
    result = function(*inputs)
    return result if target is None else _put(name, result, target, where, casting)


def _of_dtype(ufunc, inputs, dtype, signature, casting: Any) -> list[Any]:
    """The inputs in the dtypes of the loop that NumPy chooses."""
    if signature is None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    kinds = [type(x) if type(x) in (int, float) else _dtype_of(x) for x in inputs]
    chosen = ufunc.resolve_dtypes(
        (*kinds, *(None,) * ufunc.nout), signature=signature, casting=casting
    )
    return [
        kind.type(x) if type(x) in (int, float) else _cast(x, kind)
        for x, kind in zip(inputs, chosen[: ufunc.nin], strict=True)
    ]


def _dtype_of(x) -> np.dtype:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def _cast(x, dtype: np.dtype):
    x = x if hasattr(x, "astype") else np.asarray(x)
    return x if x.dtype == dtype else x.astype(dtype)


def _put(name: str, result, target, where, casting: Any):
    shape = shape_of(target)
    if shapes.broadcast(name, shape_of(result), shape_of(where), shape) != shape:
        raise DimensionMismatch(
            f"{name}: a result of shape {shape_of(result)} does not fit out of shape {shape}"
        )
    dtype = _dtype_of(result)
    if not np.can_cast(dtype, target.dtype, casting):
        raise TypeError(
            f"{name}: cannot cast a result of dtype {dtype} to that of out, {target.dtype}, with "
            f"casting rule {casting!r}"
        )
    new = _cast(np.broadcast_to(result, shape), target.dtype)
    target[...] = new if where is True else np.where(where, new, target)
    return target
