"""Value and gradients of each workload by hand in NumPy, as good as its author could make them:
buffers made once and written in place wherever that pays.

Each takes a workload's parameters and data, and gives a function without arguments that returns the
value and the gradients, in buffers that its next call writes again.
"""

import numpy as np

from .sizes import (
    BATCH,
    BLOCK,
    DESCENT_RATE,
    DESCENT_STEPS,
    EMBEDDING,
    EPSILON,
    HIDDEN,
    STEPS,
    VOCABULARY,
)


def product(parameters, data):
    x, y = parameters
    z, ct = np.empty((2, 2)), np.ones((2, 2))
    x_bar, y_bar = np.empty_like(x), np.empty_like(y)

    def run():
        np.dot(x, y, out=z)
        np.dot(ct, y.T, out=x_bar)
        np.dot(x.T, ct, out=y_bar)
        return z.sum(), [x_bar, y_bar]

    return run


def two_scalars(parameters, data):
    x, y = map(float, parameters)
    return lambda: (x * y + np.sin(x), [y + np.cos(x), x])


def babysqrt(parameters, data):
    x = float(parameters[0])

    def run():
        t = (1 + x) / 2
        seen = []
        for _ in range(STEPS):
            seen.append(t)
            t = (t + x / t) / 2
        t_bar, x_bar = 1.0, 0.0
        for t_k in reversed(seen):
            half = t_bar / 2
            x_bar += half / t_k
            t_bar = half - half * x / (t_k * t_k)
        return t, [x_bar + t_bar / 2]

    return run


def polynomial(parameters, data):
    (a, b, c, d), (x, y) = map(float, parameters), data
    error, powers = np.empty_like(x), np.stack([np.ones_like(x), x, x * x, x * x * x])

    def run():
        np.multiply(x, d, out=error)
        np.add(error, c, out=error)
        np.multiply(error, x, out=error)
        np.add(error, b, out=error)
        np.multiply(error, x, out=error)
        np.add(error, a, out=error)
        np.subtract(error, y, out=error)
        return np.dot(error, error) / x.size, list(np.dot(powers, error) * (2 / x.size))

    return run


def cross_entropy(logits, targets, work, column):
    """The loss; `logits` becomes its gradient. For targets whose rows sum to 1."""
    np.max(logits, axis=1, keepdims=True, out=column)
    np.subtract(logits, column, out=logits)
    np.multiply(logits, targets, out=work)
    chosen = work.sum()
    np.exp(logits, out=logits)
    np.sum(logits, axis=1, keepdims=True, out=column)
    np.divide(logits, column, out=logits)
    np.subtract(logits, targets, out=logits)
    np.divide(logits, len(logits), out=logits)
    np.log(column, out=column)
    return (column.sum() - chosen) / len(logits)


def network(parameters, data, last_relu=True):
    """Three dense layers with relu between them, and after them where there is a `last_relu`."""
    w1, b1, w2, b2, w3, b3 = parameters
    x, targets = data
    n, dtype = len(x), x.dtype
    h1, g1 = (np.empty((n, w1.shape[1]), dtype) for _ in range(2))
    h2, g2 = (np.empty((n, w2.shape[1]), dtype) for _ in range(2))
    h3, work = (np.empty((n, w3.shape[1]), dtype) for _ in range(2))
    column, ones = np.empty((n, 1), dtype), np.ones(n, dtype)
    masks = [np.empty(h.shape, bool) for h in (h1, h2, h3)]
    bars = [np.empty_like(parameter) for parameter in parameters]
    w1_bar, b1_bar, w2_bar, b2_bar, w3_bar, b3_bar = bars

    def layer(x, w, b, out):
        np.dot(x, w, out=out)
        np.add(out, b, out=out)

    def relu(x, mask):
        np.maximum(x, 0.0, out=x)
        np.greater(x, 0.0, out=mask)

    def run():
        layer(x, w1, b1, h1)
        relu(h1, masks[0])
        layer(h1, w2, b2, h2)
        relu(h2, masks[1])
        layer(h2, w3, b3, h3)
        if last_relu:
            relu(h3, masks[2])
        loss = cross_entropy(h3, targets, work, column)
        if last_relu:
            np.multiply(h3, masks[2], out=h3)
        np.dot(h2.T, h3, out=w3_bar)
        np.dot(ones, h3, out=b3_bar)
        np.dot(h3, w3.T, out=g2)
        np.multiply(g2, masks[1], out=g2)
        np.dot(h1.T, g2, out=w2_bar)
        np.dot(ones, g2, out=b2_bar)
        np.dot(g2, w2.T, out=g1)
        np.multiply(g1, masks[0], out=g1)
        np.dot(x.T, g1, out=w1_bar)
        np.dot(ones, g1, out=b1_bar)
        return loss, bars

    return run


def descent(parameters, data):
    present = [parameter.copy() for parameter in parameters]
    step = network(present, data)

    def run():
        loss = 0.0
        for parameter, first in zip(present, parameters, strict=True):
            parameter[...] = first
        for _ in range(DESCENT_STEPS):
            loss, bars = step()
            for parameter, bar in zip(present, bars, strict=True):
                np.multiply(bar, DESCENT_RATE, out=bar)
                np.subtract(parameter, bar, out=parameter)
        return loss, present

    return run


def characters(parameters, data):
    table, w1, b1, gain, shift, w2, b2 = parameters
    letters, targets = data
    bars = [np.empty_like(parameter) for parameter in parameters]
    table_bar, w1_bar, b1_bar, gain_bar, shift_bar, w2_bar, b2_bar = bars
    off, h, h_bar, square = (np.empty((BATCH, HIDDEN)) for _ in range(4))
    logits, work = np.empty((BATCH, VOCABULARY)), np.empty((BATCH, VOCABULARY))
    column, x = np.empty((BATCH, 1)), np.empty((BATCH, BLOCK * EMBEDDING))
    x_bar, ones = np.empty_like(x), np.ones(BATCH)
    flat = letters.ravel()

    def run():
        np.take(table, letters, axis=0, out=x.reshape(BATCH, BLOCK, EMBEDDING), mode="clip")
        np.dot(x, w1, out=off)
        np.add(off, b1, out=off)
        np.subtract(off, np.dot(ones, off) / BATCH, out=off)
        np.multiply(off, off, out=square)
        scale = 1 / np.sqrt(np.dot(ones, square) / (BATCH - 1) + EPSILON)
        np.multiply(off, scale, out=off)
        np.multiply(off, gain, out=h)
        np.add(h, shift, out=h)
        np.tanh(h, out=h)
        np.dot(h, w2, out=logits)
        np.add(logits, b2, out=logits)
        loss = cross_entropy(logits, targets, work, column)
        np.dot(h.T, logits, out=w2_bar)
        np.dot(ones, logits, out=b2_bar)
        np.dot(logits, w2.T, out=h_bar)
        np.multiply(h, h, out=h)
        np.subtract(1.0, h, out=h)
        np.multiply(h_bar, h, out=h_bar)
        np.dot(ones, h_bar, out=shift_bar)
        np.multiply(h_bar, off, out=square)
        np.dot(ones, square, out=gain_bar)
        # Batch norm's own pullback, in closed form; `off` is the normalised activation.
        np.multiply(off, gain_bar / (BATCH - 1), out=off)
        np.subtract(h_bar, off, out=h_bar)
        np.subtract(h_bar, shift_bar / BATCH, out=h_bar)
        np.multiply(h_bar, gain * scale, out=h_bar)
        np.dot(x.T, h_bar, out=w1_bar)
        np.dot(ones, h_bar, out=b1_bar)
        np.dot(h_bar, w1.T, out=x_bar)
        table_bar.fill(0.0)
        np.add.at(table_bar, flat, x_bar.reshape(-1, EMBEDDING))
        return loss, bars

    return run


def digits(parameters, data):
    return network(parameters, data, last_relu=False)


def log_softmax(parameters, data):
    (x,), (w,) = parameters, data
    column, weight = np.empty((len(x), 1), x.dtype), w.sum(axis=1, keepdims=True)
    x_bar, work = np.empty_like(x), np.empty_like(x)

    def run():
        np.max(x, axis=1, keepdims=True, out=column)
        np.subtract(x, column, out=work)
        value = np.dot(w.ravel(), work.ravel())
        np.exp(work, out=work)
        np.sum(work, axis=1, keepdims=True, out=column)
        value -= np.dot(weight.ravel(), np.log(column).ravel())
        np.multiply(work, weight / column, out=work)
        np.subtract(w, work, out=x_bar)
        return value, [x_bar]

    return run


def elementary(parameters, data):
    x = parameters[0]
    a, b, c = map(float, parameters[1:])
    t, e, s, slope, x_bar = (np.empty_like(x) for _ in range(5))

    def run():
        np.multiply(x, a, out=t)
        np.add(t, b, out=t)
        np.tanh(t, out=t)
        np.multiply(x, x, out=e)
        np.negative(e, out=e)
        np.exp(e, out=e)
        np.sin(x, out=s)
        s_sum = s.sum()
        np.cos(x, out=x_bar)
        np.multiply(x_bar, c, out=x_bar)
        np.multiply(t, t, out=slope)
        np.subtract(1.0, slope, out=slope)
        np.multiply(slope, e, out=slope)
        value = np.dot(t, e) + c * s_sum
        np.multiply(t, e, out=t)
        np.multiply(t, x, out=t)
        np.multiply(t, -2.0, out=t)
        np.add(x_bar, t, out=x_bar)
        np.multiply(slope, a, out=t)
        np.add(x_bar, t, out=x_bar)
        return value, [x_bar, np.dot(slope, x), slope.sum(), s_sum]

    return run


def rosenbrock(parameters, data):
    (x,) = parameters
    left, right = x[:-1], x[1:]
    gap, flat, work = np.empty_like(left), np.empty_like(left), np.empty_like(left)
    x_bar = np.empty_like(x)

    def run():
        np.multiply(left, left, out=gap)
        np.subtract(right, gap, out=gap)
        np.subtract(1.0, left, out=flat)
        value = 100.0 * np.dot(gap, gap) + np.dot(flat, flat)
        np.multiply(gap, 200.0, out=gap)
        x_bar[0] = 0.0
        x_bar[1:] = gap
        np.multiply(gap, left, out=work)
        np.add(work, flat, out=work)
        np.multiply(work, 2.0, out=work)
        np.subtract(x_bar[:-1], work, out=x_bar[:-1])
        return value, [x_bar]

    return run
