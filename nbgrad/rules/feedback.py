"""Linear recurrences of any order with constant coefficients, as in recursive filters."""

import math

import numpy as np

from ..core.primitive import Aval, bind, shape_of
from ..kernels import running
from .dtypes import float_type
from .families import Custom, Interval, sample

__all__ = ["feedback"]


def _compute(a, x):
    dtype = float_type(a.dtype, x.dtype)
    a, x = (np.ascontiguousarray(each, dtype) for each in (a, x))
    out = np.empty(x.shape, dtype)
    rows, columns = math.prod(x.shape[:-1]), x.shape[-1]
    running.fed_back_of_arrays(a, x.reshape(-1), out.reshape(-1), rows, columns, a.shape[0])
    return out


def _reference(a, x):
    out = np.zeros(x.shape, float_type(a.dtype, x.dtype))
    for j in range(x.shape[-1]):
        past = np.flip(out[..., max(j - len(a), 0) : j], -1)
        out[..., j] = x[..., j] - past @ a[: past.shape[-1]].astype(out.dtype)
    return out


def _form(graph, symbol, a, x):
    a, x = graph.cast(a, symbol.dtype), graph.cast(x, symbol.dtype)
    sizes = (math.prod(x.shape[:-1]), x.shape[-1], a.shape[0])
    return graph.call(symbol.shape, symbol.dtype, (a, x), running.fed_back, sizes)


def _shifted(out, k: int):
    """out[..., j - k], and 0 where that is before the first element."""
    columns = shape_of(out)[-1]
    pads = ((0, 0),) * (len(shape_of(out)) - 1)
    return np.pad(out[..., : max(columns - k, 0)], (*pads, (min(k, columns), 0)))


def _rule(ct, out, args, need):
    back = np.flip(bind(feedback_row, args[0], np.flip(ct, -1)), -1)
    of_a = None
    if need[0]:
        order = shape_of(args[0])[0]
        of_a = -np.stack([np.sum(back * _shifted(out, k)) for k in range(1, order + 1)])
    return [of_a, back if need[1] else None]


def _push(tangents, out, args):
    a_dot, x_dot = tangents
    terms = [] if x_dot is None else [x_dot]
    if a_dot is not None:
        terms += [-a_dot[k] * _shifted(out, k + 1) for k in range(shape_of(args[0])[0])]
    return bind(feedback_row, args[0], sum(terms[1:], terms[0]))


def _of_samples(primitive, size, args, batched):
    """One call where the samples share the coefficients, one for each otherwise."""
    a, x = args
    if not batched[0]:
        return bind(primitive, a, x)
    every = [bind(primitive, a[i], x[i] if batched[1] else x) for i in range(size)]
    if not every:
        return np.zeros((0, *shape_of(x)[batched[1] :]), float_type(a.dtype, x.dtype))
    return np.stack(every)


_stable = Interval(-0.4, 0.4)
feedback_row = Custom(
    "feedback", _compute, lambda a, x: Aval.of(x.shape, float_type(a, x)), _rule, _push,
    reads=(0,), batch=_of_samples, form=_form, reference=_reference,
    samples=[
        sample((2,), (5,), domain=_stable), sample((1,), (2, 3), domain=_stable),
        sample((3,), (2,), domain=_stable), sample((2,), (2, 0), domain=_stable),
    ],
    notes="out[j] = x[j] - the sum of a[k] * out[j - 1 - k] along the last axis",
)  # fmt: skip


def feedback(a, x):
    """The recurrence of the coefficients a, of at least one, along the last axis of x."""
    return bind(feedback_row, a, x)
