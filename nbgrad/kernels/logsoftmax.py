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


@device
def shifted_exponentials(x, e, rows, columns):
    """e = exp(x - largest of the row). One loop over all elements serves short rows too."""
    for i in range(rows):
        largest = x[offset(i * columns)]
        for j in range(1, columns):
            largest = maximum(largest, x[offset(i * columns + j)])
        for j in range(columns):
            k = offset(i * columns + j)
            e[k] = x[k] - largest
    for k in range(rows * columns):
        e[k] = exp(e[k])


@kernel
def cross_entropy(x, y, e, out, rows, columns):
    """out[0] = mean over rows of -sum(y * logsoftmax(x)); y holds weights, such as one-hot.

    `e` is scratch of the size of x. The sum is log(sum(e)) * sum(y) - sum(y * (x - largest)).
    """
    shifted_exponentials(x, e, rows, columns)
    loss = x.dtype.type(0.0)
    for i in range(rows):
        largest = x[offset(i * columns)]
        for j in range(1, columns):
            largest = maximum(largest, x[offset(i * columns + j)])
        total = x.dtype.type(0.0)
        weight = x.dtype.type(0.0)
        chosen = x.dtype.type(0.0)
        for j in range(columns):
            k = offset(i * columns + j)
            total = radd(total, e[k])
            weight = radd(weight, y[k])
            chosen = radd(chosen, y[k] * (x[k] - largest))
        loss += weight * log(total) - chosen
    out[0] = loss / rows


@kernel
def cross_entropy_pullback(ct, x, y, x_bar, rows, columns):
    """x_bar = ct / rows * (softmax(x) * sum(y) - y)."""
    share = x.dtype.type(ct / rows)
    shifted_exponentials(x, x_bar, rows, columns)
    for i in range(rows):
        total = x.dtype.type(0.0)
        weight = x.dtype.type(0.0)
        for j in range(columns):
            k = offset(i * columns + j)
            total = radd(total, x_bar[k])
            weight = radd(weight, y[k])
        weight *= share / total
        for j in range(columns):
            k = offset(i * columns + j)
            x_bar[k] = x_bar[k] * weight - y[k] * share


@kernel
def label_cross_entropy(x, labels, e, out, rows, columns):
    """out[0] = mean over rows of -logsoftmax(x)[label]; `e` is scratch of the size of x."""
    shifted_exponentials(x, e, rows, columns)
    loss = x.dtype.type(0.0)
    for i in range(rows):
        largest = x[offset(i * columns)]
        total = x.dtype.type(0.0)
        for j in range(columns):
            k = offset(i * columns + j)
            largest = maximum(largest, x[k])
            total += e[k]
        loss += log(total) - (x[offset(i * columns + labels[i])] - largest)
    out[0] = loss / rows


@kernel
def label_cross_entropy_pullback(ct, x, labels, x_bar, rows, columns):
    """x_bar = ct / rows * (softmax(x) - one_hot(labels))."""
    share = x.dtype.type(ct / rows)
    shifted_exponentials(x, x_bar, rows, columns)
    for i in range(rows):
        total = x.dtype.type(0.0)
        for j in range(columns):
            total += x_bar[offset(i * columns + j)]
        for j in range(columns):
            x_bar[offset(i * columns + j)] *= share / total
        x_bar[offset(i * columns + labels[i])] -= share


@kernel
def logsumexp(x, out, rows, columns):
    for i in range(rows):
        largest, logarithm = shift_and_log(x, i, columns)
        out[i] = largest + logarithm
