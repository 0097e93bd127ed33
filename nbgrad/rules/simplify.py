"""Simplifications of recorded calls, the `simplify` argument of rows.

A rule `simplify(primitive, builder, args, **params)` returns the builder's replacement of the call,
or None.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..core.primitive import Aval, Primitive
from ..core.symbols import Builder, Symbol, is_full
from ..runtime.kinds import is_a


def without_one(primitive: Primitive, builder: Builder, args: Sequence) -> Any:
    """The other factor of a product with 1, if it has the shape and dtype of the product."""
    x, y = args
    for one, other in ((x, y), (y, x)):
        if _is_one(one) and isinstance(other, Symbol):
            if is_full(one) and one.shape not in ((), other.shape):
                continue
            if builder.infer(primitive, args, {}).dtype == other.dtype:
                return other
    return None


def _is_one(x: Any) -> bool:
    if is_full(x):
        return x.params["number"] == 1.0
    return is_a(x, (int, float)) and x == 1


def of_same_shape(primitive: Primitive, builder: Builder, args: Sequence, *, shape: tuple) -> Any:
    """The argument of a change of shape, if it has that shape or is constant."""
    (x,) = args
    if shape == x.shape:
        return x
    return builder.full(x.params["number"], Aval.of(shape, x.dtype)) if is_full(x) else None


def scaled_sum(
    primitive: Primitive,
    builder: Builder,
    args: Sequence,
    total: Primitive,
    product: Primitive,
    **params,
) -> Any:
    """A mean of floats as a sum (`total`) times a number (`product`)."""
    (x,) = args
    if x.dtype.kind != "f":
        return None
    out = builder.apply(total, args, params)
    share = out.aval.size / x.aval.size if x.aval.size else math.nan
    return builder.apply(product, (out, share), {})
