"""Linear recurrences along the last axis, and cumulative products by them."""

import math

import numpy as np

from ..core.primitive import Aval, bind, shape_of
from ..kernels import running
from . import batching
from .dtypes import common_type
from .families import Custom, sample
from .families.arrays import zeros_like
from .forms import reductions as forms


def _compute(a, b, *, reverse):
    dtype = common_type(a.dtype, b.dtype)
    a, b = (np.ascontiguousarray(x, dtype) for x in (a, b))
    out = np.empty(b.shape, dtype)
    columns = b.shape[-1]
    run = running.recurred_back_of_arrays if reverse else running.recurred_of_arrays
    run(a.ravel(), b.ravel(), out.ravel(), math.prod(b.shape[:-1]), columns)
    return out


def _reference(a, b, *, reverse):
    if reverse:
        turned = np.concatenate([np.zeros_like(a[..., :1]), np.flip(a, -1)[..., :-1]], axis=-1)
        return np.flip(_reference(turned, np.flip(b, -1), reverse=False), -1)
    out = [b[..., 0]] if b.shape[-1] else []
    for i in range(1, b.shape[-1]):
        out.append(b[..., i] + a[..., i] * out[-1])
    return np.stack(out, axis=-1) if out else b


def _times_before(c, out):
    """c[i] * out[i - 1], and 0 for the first."""
    first = zeros_like(c[..., :1])
    return np.concatenate([first, c[..., 1:] * out[..., :-1]], axis=-1)


def _rule(ct, out, args, need, *, reverse):
    c = bind(recurrence_row, args[0], ct, reverse=not reverse)
    of_a = (_times_before(out, c) if reverse else _times_before(c, out)) if need[0] else None
    return [of_a, c if need[1] else None]


def _fused(ct, out, args, need, *, reverse):
    c = _compute(args[0], ct, reverse=not reverse)
    if not need[0]:
        return [None, c]
    early, late = (out, c) if reverse else (c, out)
    of_a = np.zeros(c.shape, c.dtype)
    np.multiply(early[..., 1:], late[..., :-1], out=of_a[..., 1:])
    return [of_a, c if need[1] else None]


def _push(tangents, out, args, *, reverse):
    a_dot, b_dot = tangents
    terms = [] if b_dot is None else [b_dot]
    if a_dot is not None and reverse:
        behind = a_dot[..., 1:] * out[..., 1:]
        terms.append(np.concatenate([behind, zeros_like(out[..., :1])], axis=-1))
    elif a_dot is not None:
        terms.append(_times_before(a_dot, out))
    return bind(recurrence_row, args[0], sum(terms[1:], terms[0]), reverse=reverse)


recurrence_row = Custom(
    "recurrence", _compute, lambda a, b, *, reverse: Aval.of(b.shape, common_type(a, b)),
    _rule, _push, fused=_fused, reads=(0,),
    samples=[
        sample((4,), (4,), reverse=False), sample((2, 3), (2, 3), reverse=True),
        sample((1,), (1,), reverse=False), sample((2, 0), (2, 0), reverse=False),
    ],
    reference=_reference, form=forms.recurrence, batch=batching.along(),
    notes="out[i] = b[i] + a[i] * out[i - 1] along the last axis; reverse=True is its transpose in "
    "b, out[i] = b[i] + a[i + 1] * out[i + 1]",
)  # fmt: skip


def products(x):
    """Cumulative products along the last axis; derivatives of every order are exact at zeros."""
    if not math.prod(shape_of(x)):
        return x
    first = np.concatenate(
        [x[..., :1], -zeros_like(x[..., 1:])], axis=-1
    )  # -0.0 preserves the sign of zero
    return bind(recurrence_row, x, first, reverse=False)
