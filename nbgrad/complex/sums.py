"""Moments and products along axes of complex arrays."""

import numpy as np

from .calls import complexly
from .elementary import multiply
from .pair import parts_of


def _squared(x):
    a, b = parts_of(x)
    return a * a + b * b


@complexly(np.var)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **options):
    """The mean of |z - mean|**2, which is real."""
    away = a - np.mean(a, axis=axis, keepdims=True)
    count = a.size if axis is None else a.size // max(np.sum(np.zeros(a.shape), axis=axis).size, 1)
    return np.sum(_squared(away), axis=axis, keepdims=keepdims) / (count - ddof)


@complexly(np.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **options):
    return np.sqrt(var(a, axis=axis, ddof=ddof, keepdims=keepdims))


@complexly(np.prod)
def prod(a, axis=None, dtype=None, out=None, keepdims=False):
    """The product of halves, again and again."""
    if axis is None:
        out = prod(a.reshape(-1), 0)
        return out.reshape((1,) * a.ndim) if keepdims else out
    for one in sorted((x % a.ndim for x in np.atleast_1d(axis)), reverse=True):
        x = np.moveaxis(a, int(one), 0)
        if not len(x):
            x = np.ones((1, *x.shape[1:]), x.dtype)
        while len(x) > 1:
            half, odd = len(x) // 2, x[-1:]
            pairs = multiply(x[:half], x[half : 2 * half])
            x = np.concatenate([pairs, odd]) if len(x) % 2 else pairs
        a = x if keepdims else x[0]
        if keepdims:
            a = np.moveaxis(a, 0, int(one))
    return a


complexly((np.multiply, "reduce"))(lambda x, axis=0, **options: prod(x, axis=axis, **options))


@complexly(np.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    """Products of all beginnings, by doubling."""
    if axis is None:
        a, axis = a.reshape(-1), 0
    x, step = np.moveaxis(a, axis, 0), 1
    while step < len(x):
        x = np.concatenate([x[:step], multiply(x[step:], x[:-step])])
        step *= 2
    return np.moveaxis(x, 0, axis)
