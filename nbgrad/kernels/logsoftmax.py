"""logsoftmax, softmax and cross entropy along rows, stable for any finite input.

Arrays are flat, `rows` times `columns`. The largest element of a row is subtracted before the
exponentials, so they lie in (0, 1].
"""

import numpy as np

from ..compiler.attributes import noalias
from ..compiler.kernel import device, kernel
from ..compiler.pointers import fetch, highest
from .scalar import exp, like, log, offset, radd, select


@device
def shift_and_log(x, row, columns):
    """The largest element of a row, and the logarithm of the sum of its shifted exponentials.

    An infinite largest element is not subtracted: inf - inf would be nan.
    """
    largest = x[offset(row * columns)]
    for j in range(1, columns):
        largest = highest(largest, x[offset(row * columns + j)])
    largest = select(abs(largest) == like(largest, np.inf), like(largest, 0.0), largest)
    total = x.dtype.type(0.0)
    for j in range(columns):
        total = radd(total, exp(x[offset(row * columns + j)] - largest))
    return largest, log(total)


@kernel
def logsoftmax(x, out, rows, columns):
    for i in range(rows):
        fetch(x, (i + 1) * columns, columns)
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
        fetch(ct, (i + 1) * columns, columns)
        fetch(out, (i + 1) * columns, columns)
        for j in range(columns):
            k = offset(i * columns + j)
            x_bar[k] = ct[k] - exp(out[k]) * total


@kernel
def softmax(x, out, rows, columns):
    noalias()
    for i in range(rows):
        largest = x[offset(i * columns)]
        for j in range(1, columns):
            largest = highest(largest, x[offset(i * columns + j)])
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
def shifted(x, e, rows, columns):
    """e = x - the largest element of the row."""
    for i in range(rows):
        largest = x[offset(i * columns)]
        for j in range(1, columns):
            largest = highest(largest, x[offset(i * columns + j)])
        for j in range(columns):
            k = offset(i * columns + j)
            e[k] = x[k] - largest


@device
def exponentials(e):
    """One loop over all elements serves short rows too."""
    for k in range(e.size):
        e[k] = exp(e[k])


@kernel
def cross_entropy(x, y, e, out, rows, columns):
    """out[0] = mean over rows of -sum(y * logsoftmax(x)); y holds weights, such as one-hot.

    `e` is scratch of the size of x. The sum is log(sum(e)) * sum(y) - sum(y * (x - largest)).
    """
    loss = x.dtype.type(0.0)
    shifted(x, e, rows, columns)
    for i in range(rows):
        chosen = x.dtype.type(0.0)
        for j in range(columns):
            k = offset(i * columns + j)
            chosen = radd(chosen, y[k] * e[k])
        loss -= chosen
    exponentials(e)
    for i in range(rows):
        total = x.dtype.type(0.0)
        weight = x.dtype.type(0.0)
        for j in range(columns):
            k = offset(i * columns + j)
            total = radd(total, e[k])
            weight = radd(weight, y[k])
        loss += weight * log(total)
    out[0] = loss / rows


@kernel
def cross_entropy_pullback(ct, x, y, x_bar, rows, columns):
    """x_bar = ct / rows * (softmax(x) * sum(y) - y)."""
    share = x.dtype.type(ct / rows)
    shifted(x, x_bar, rows, columns)
    exponentials(x_bar)
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
    loss = x.dtype.type(0.0)
    shifted(x, e, rows, columns)
    for i in range(rows):
        loss -= e[offset(i * columns + labels[i])]
    exponentials(e)
    for i in range(rows):
        total = x.dtype.type(0.0)
        for j in range(columns):
            total = radd(total, e[offset(i * columns + j)])
        loss += log(total)
    out[0] = loss / rows


@kernel
def label_cross_entropy_pullback(ct, x, labels, x_bar, rows, columns):
    """x_bar = ct / rows * (softmax(x) - one_hot(labels))."""
    share = x.dtype.type(ct / rows)
    shifted(x, x_bar, rows, columns)
    exponentials(x_bar)
    for i in range(rows):
        total = x.dtype.type(0.0)
        for j in range(columns):
            total = radd(total, x_bar[offset(i * columns + j)])
        factor = share / total
        for j in range(columns):
            x_bar[offset(i * columns + j)] *= factor
        x_bar[offset(i * columns + labels[i])] -= share


@kernel
def logsumexp(x, out, rows, columns):
    for i in range(rows):
        largest, logarithm = shift_and_log(x, i, columns)
        out[i] = largest + logarithm
