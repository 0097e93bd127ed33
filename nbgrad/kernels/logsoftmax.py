"""logsoftmax, softmax and cross entropy along rows, stable for any finite input.

Arrays are flat, `rows` times `columns`. The largest element of a row is subtracted before the
exponentials, so they lie in (0, 1].
"""

import numpy as np

from ._jit import device, kernel
from .scalar import exp, like, log, maximum, offset, radd, select


@device
def shift_and_log(x, row, columns):
    """The largest element of a row, and the logarithm of the sum of its shifted exponentials.

    An infinite largest element is not subtracted: inf - inf would be nan.
    """
    largest = x[offset(row * columns)]
    for j in range(1, columns):
        largest = maximum(largest, x[offset(row * columns + j)])
    largest = select(abs(largest) == like(largest, np.inf), like(largest, 0.0), largest)
    total = x.dtype.type(0.0)
    for j in range(columns):
        total = radd(total, exp(x[offset(row * columns + j)] - largest))
    return largest, log(total)


@kernel
def logsoftmax(x, out, rows, columns):
    for i in range(rows):
        largest, logarithm = shift_and_log(x, i, columns)
        for j in range(columns):
            k = offset(i * columns + j)
            out[k] = x[k] - largest - logarithm


@kernel
def logsoftmax_pullback(ct, out, x_bar, rows, columns):
    """x_bar = ct - softmax * sum(ct)."""
    for i in range(rows):
        total = ct.dtype.type(0.0)
        for j in range(columns):
            total = radd(total, ct[offset(i * columns + j)])
        for j in range(columns):
            k = offset(i * columns + j)
            x_bar[k] = ct[k] - exp(out[k]) * total


@kernel
def softmax(x, out, rows, columns):
    for i in range(rows):
        largest = x[offset(i * columns)]
        for j in range(1, columns):
            largest = maximum(largest, x[offset(i * columns + j)])
        total = x.dtype.type(0.0)
        for j in range(columns):
            k = offset(i * columns + j)
            out[k] = exp(x[k] - largest)
            total = radd(total, out[k])
        for j in range(columns):
            out[offset(i * columns + j)] /= total


@kernel
def softmax_pullback(ct, out, x_bar, rows, columns):
    """x_bar = out * (ct - sum(ct * out))."""
    for i in range(rows):
        total = ct.dtype.type(0.0)
        for j in range(columns):
            k = offset(i * columns + j)
            total = radd(total, ct[k] * out[k])
        for j in range(columns):
            k = offset(i * columns + j)
            x_bar[k] = out[k] * (ct[k] - total)


@kernel
def cross_entropy(x, y, out, rows, columns):
    """out[0] = mean over rows of -sum(y * logsoftmax(x)); y holds weights, such as one-hot."""
    loss = x.dtype.type(0.0)
    for i in range(rows):
        largest, logarithm = shift_and_log(x, i, columns)
        for j in range(columns):
            k = offset(i * columns + j)
            loss -= y[k] * (x[k] - largest - logarithm)
    out[0] = loss / rows


@kernel
def cross_entropy_pullback(ct, x, y, x_bar, rows, columns):
    """x_bar = ct / rows * (softmax(x) * sum(y) - y)."""
    share = ct / rows
    for i in range(rows):
        largest, logarithm = shift_and_log(x, i, columns)
        weight = x.dtype.type(0.0)
        for j in range(columns):
            weight += y[offset(i * columns + j)]
        for j in range(columns):
            k = offset(i * columns + j)
            x_bar[k] = (exp(x[k] - largest - logarithm) * weight - y[k]) * share


@kernel
def label_cross_entropy(x, labels, out, rows, columns):
    """out[0] = mean over rows of -logsoftmax(x)[label]."""
    loss = x.dtype.type(0.0)
    for i in range(rows):
        largest, logarithm = shift_and_log(x, i, columns)
        loss -= x[i * columns + labels[i]] - largest - logarithm
    out[0] = loss / rows


@kernel
def label_cross_entropy_pullback(ct, x, labels, x_bar, rows, columns):
    """x_bar = ct / rows * (softmax(x) - one_hot(labels))."""
    share = ct / rows
    for i in range(rows):
        largest, logarithm = shift_and_log(x, i, columns)
        for j in range(columns):
            k = offset(i * columns + j)
            x_bar[k] = exp(x[k] - largest - logarithm) * share
        x_bar[i * columns + labels[i]] -= share


@kernel
def logsumexp(x, out, rows, columns):
    for i in range(rows):
        largest, logarithm = shift_and_log(x, i, columns)
        out[i] = largest + logarithm
