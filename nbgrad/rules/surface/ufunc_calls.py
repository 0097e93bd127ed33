"""Calls of ufuncs with keywords: `np.exp(x, dtype=...)`, `np.add(x, y, out=z, where=mask)`."""

from typing import Any

import numpy as np

from ...core.array import Array, implements
from ...core.fillable import Fillable
from ...core.functions import no_rule, of_ufunc
from ...core.primitive import shape_of
from ...errors import ArgumentError, ArgumentTypeError, NoRuleError, OutError
from ...kernels import shapes
from ..layout import given
from .writes import put_out, target_of


@implements("ufunc.call")
def call(ufunc, inputs, out=None, where=True, dtype=None, casting="same_kind", order="K",
         subok=True, signature=None, axis=None, axes=None, keepdims=False):  # fmt: skip
    """The result of a ufunc, computed in `dtype` and written to `out` where `where` is true.

    `out` is a computed array, which is written to as by `out[...] = ...`. It keeps its elements
    where `where` is false, so `where` needs `out`. `order` is ignored. `axis`, `axes` and
    `keepdims` are for generalized ufuncs, such as `np.vecdot`. Raises the errors of NumPy for
    dtypes that do not fit `casting`."""
    name, function = of_ufunc(ufunc)
    if function is None:
        raise no_rule(name)
    (target,) = out if out is not None and len(out) == 1 else (None,)
    if out is not None and target is None and any(x is not None for x in out):
        raise OutError(f"{name}(out=...) with two results: use what it returns")
    if target is not None and not isinstance(target, (Array, Fillable)):
        target_of(f"{name}(out=...), or an augmented assignment such as +=,", target)
    if where is not True and target is None:
        raise NoRuleError(
            f"{name}(where=...) leaves the other elements as they come: give it out=..., or write "
            f"np.where(mask, {name}(...), other)"
        )
    if dtype is not None or signature is not None:
        inputs = _of_dtype(ufunc, inputs, dtype, signature, casting)
    if axis is None and axes is None and not keepdims:
        result = function(*inputs)
    else:
        result = _along(ufunc, function, inputs, axis, axes, keepdims)
    if target is None:
        return result
    shape = shapes.broadcast(name, shape_of(result), shape_of(where), target.shape)
    return put_out(name, result, shape, target, where, casting)


def _along(ufunc, function, inputs, axis, axes, keepdims):
    """A generalized ufunc along other axes than the last; NumPy raises an error for other
    ufuncs."""
    name = ufunc.__name__
    reduced = ufunc.signature.endswith("->()")
    if (keepdims or axis is not None) and not reduced:
        raise ArgumentTypeError(f"{name}: its results are vectors or matrices: give axes for axis")
    if axes is None:
        axes = [-1 if axis is None else axis] * ufunc.nin
    if len(axes) not in (ufunc.nin + ufunc.nout, ufunc.nin * reduced):
        raise ArgumentError(f"{name}: axes {axes}: one entry for each operand and for the result")
    places = [place if isinstance(place, tuple) else (place,) for place in axes]
    moved = [
        np.moveaxis(given(x), place, range(-len(place), 0))
        for x, place in zip(inputs, places, strict=False)
    ]
    result = function(*moved)
    if reduced:
        return np.expand_dims(result, places[-1]) if keepdims else result
    return np.moveaxis(result, range(-len(places[-1]), 0), places[-1])


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
