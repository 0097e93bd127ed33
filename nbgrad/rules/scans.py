"""Cumulative sums and products, and other associative scans."""

from collections.abc import Callable

import numpy as np

from ..core.array import implements
from ..core.primitive import Aval, bind, shape_of
from ..errors import ArgumentError, StaticError
from ..ir.naming import naming
from ..ir.sizes import is_dynamic
from ..kernels import shapes
from ..kernels.running import running_sums
from . import patterns
from .dtypes import FLOATS, held, kind_of, type_of
from .families import Linear, sample
from .forms import reductions as forms
from .recurrences import products
from .reduce import chosen, counted, is_float

_FEW = 4096
"""Elements up to which NumPy's loop is as fast as a kernel."""


def _cumsum(x, *, axis, reverse):
    x = held(x)
    if x.dtype in FLOATS and x.size > _FEW:
        return running_sums(x, axis, reverse)
    if not reverse:
        return np.cumsum(x, axis)
    out = np.empty(x.shape, type_of(np.cumsum, kind_of(x)))
    np.cumsum(np.flip(x, axis), axis, out=np.flip(out, axis))
    return out


def _running(x, *, axis, reverse):
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)


cumsum_row = Linear(
    "cumsum", _cumsum, lambda x, *, axis, reverse: Aval.of(x.shape, type_of(np.cumsum, x)),
    lambda ct, args, *, axis, reverse: [bind(cumsum_row, ct, axis=axis, reverse=not reverse)],
    samples=[
        sample((3,), axis=0, reverse=False), sample((2, 3), axis=0, reverse=True),
        sample((2, 3), axis=1, reverse=False), sample((0, 3), axis=0, reverse=False),
    ],
    notes="the transpose sums from the end (reverse=True)", along="axis", unit=True,
    form=forms.cumsum, pattern=patterns.running, reference=_running,
)  # fmt: skip


def _along(x, axis, op: str):
    if axis is None:
        if op.startswith("cumulative") and len(shape_of(x)) > 1:
            raise ArgumentError(f"{op}: an array of more than one axis needs axis=...")
        return np.reshape(x, -1), 0
    x = x if shape_of(x) else np.reshape(x, 1)
    return x, shapes.axis_of(axis, len(shape_of(x)), op)


@implements(np.cumsum)
def cumsum(a, axis=None, dtype=None):
    """Cumulative sums along `axis`, or of the flattened array if it is None."""
    if not is_float(dtype):
        return counted(np.cumsum, a, axis, dtype)
    a, axis = _along(chosen("cumsum", a, dtype), axis, "cumsum")
    return bind(cumsum_row, a, axis=axis, reverse=False)


# -- associative operations -----------------------------------------------------------------------


def _require_number(n: int) -> None:
    """Raise TraceError for a named length, on whose logarithm the number of steps depends."""
    if is_dynamic(n) and (here := naming()) is not None:
        raise StaticError(
            f"a scan over {n} elements takes as many steps as its logarithm, which must be a "
            f"number: write it by nbgrad.scan ({here.line()})"
        )


def scanned(join: Callable, x):
    """The inclusive scan of the associative `join` along the last axis.

    Pairs are joined first: 2 n joins in 2 log2(n) steps.
    """
    *lead, n = shape_of(x)
    _require_number(n)
    if n < 2:
        return x
    pairs = scanned(join, join(x[..., : n - 1 : 2], x[..., 1::2]))
    odd = join(pairs[..., : (n - 1) // 2], x[..., 2::2])
    even = np.concatenate([x[..., :1], odd], axis=-1)
    both = np.stack([even[..., : n // 2], pairs], axis=-1)
    both = np.reshape(both, (*lead, n // 2 * 2))
    return both if n % 2 == 0 else np.concatenate([both, even[..., -1:]], axis=-1)


def joined(join: Callable, x):
    """The reduction by the associative `join` along the last axis, which is not empty, in log2(n)
    steps."""
    _require_number(shape_of(x)[-1])
    while (n := shape_of(x)[-1]) > 1:
        rest = x[..., n // 2 * 2 :]
        x = join(x[..., : n // 2 * 2 : 2], x[..., 1 : n // 2 * 2 : 2])
        x = np.concatenate([x, rest], axis=-1) if n % 2 else x
    return x[..., 0]


@implements(np.cumprod)
def cumprod(a, axis=None, dtype=None):
    """Cumulative products along `axis`, or of the flattened array if it is None. Derivatives of
    every order are exact where elements are 0."""
    if not is_float(dtype):
        return counted(np.cumprod, a, axis, dtype)
    a, axis = _along(chosen("cumprod", a, dtype), axis, "cumprod")
    a = a.astype(type_of(np.cumprod, a.dtype))
    return np.moveaxis(products(np.moveaxis(a, axis, -1)), -1, axis)


def _cumulative(running: Callable, first: float, op: str) -> Callable:
    def cumulative(x, /, *, axis=None, dtype=None, include_initial: bool = False):
        x, axis = _along(x, axis, op)
        out = running(x, axis, dtype)
        if not include_initial:
            return out
        shape = shape_of(out)
        start = np.full((*shape[:axis], 1, *shape[axis + 1 :]), first, out.dtype)
        return np.concatenate([start, out], axis=axis)

    cumulative.__doc__ = (
        f"Cumulative {'sums' if first == 0 else 'products'} along `axis`, starting with "
        f"{first:g} if `include_initial` is true."
    )
    return cumulative


if hasattr(np, "cumulative_sum"):  # NumPy 2.1 and newer
    implements(np.cumulative_sum)(_cumulative(cumsum, 0.0, "cumulative_sum"))
    implements(np.cumulative_prod)(_cumulative(cumprod, 1.0, "cumulative_prod"))
