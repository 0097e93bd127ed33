"""Value and gradients of workloads by hand in Numba: the limit that compiled programs aim at.

Written as one who knows the mathematics writes plain `@njit` code: loops over whole rows, sums that
may be reordered where nothing else is at stake, BLAS through `np.dot`. `hand_numba()` takes its
elementary functions from `math`; `hand_numba(fast())` takes them from `nbgrad.kernels.scalar`,
whose loops vectorise, so what is left between it and a compiled program is the program alone.

Each function takes a workload's parameters and data, scalars as floats, and returns the value and
the gradients. Results are new arrays.

>>> value, slope = hand_numba()["W3"](2.0)
>>> round(value, 6), round(slope, 6)
(1.414214, 0.353553)
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import asian
from .hand_loops import (
    add,
    add_relu,
    as_it_is,
    copied,
    cut,
    dot,
    largest,
    plain,
    sum_rows,
    summing,
    total_of,
)
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


@plain
def product(x, y):
    x_bar, y_bar = np.empty_like(x), np.empty_like(y)
    value = 0.0
    for k in range(3):
        y_sum, x_sum = 0.0, 0.0
        for j in range(2):
            y_sum += y[k, j]
            x_sum += x[j, k]
        value += x_sum * y_sum
        for i in range(2):
            x_bar[i, k] = y_sum
            y_bar[k, i] = x_sum
    return value, x_bar, y_bar


@plain
def babysqrt(x):
    t, t_dot = (1 + x) / 2, 0.5
    for _ in range(STEPS):
        inverse = 1 / t
        ratio = x * inverse
        t_dot = (t_dot + inverse - ratio * inverse * t_dot) * 0.5
        t = (t + ratio) * 0.5
    return t, t_dot


@summing
def polynomial(a, b, c, d, x, y):
    value = a_bar = b_bar = c_bar = d_bar = 0.0
    for i in range(x.size):
        at = x[i]
        error = ((d * at + c) * at + b) * at + a - y[i]
        value += error * error
        a_bar += error
        b_bar += error * at
        c_bar += error * at * at
        d_bar += error * at * at * at
    scale = 2 / x.size
    return value / x.size, scale * a_bar, scale * b_bar, scale * c_bar, scale * d_bar


@summing
def rosenbrock(x):
    n = x.size
    x_bar = np.empty_like(x)
    first = x[1] - x[0] * x[0]
    value = 100.0 * first * first + (1 - x[0]) ** 2
    x_bar[0] = -400.0 * first * x[0] - 2 * (1 - x[0])
    for i in range(1, n - 1):
        before, gap, flat = x[i] - x[i - 1] * x[i - 1], x[i + 1] - x[i] * x[i], 1 - x[i]
        value += 100.0 * gap * gap + flat * flat
        x_bar[i] = 200.0 * before - 400.0 * gap * x[i] - 2 * flat
    x_bar[n - 1] = 200.0 * (x[n - 1] - x[n - 2] * x[n - 2])
    return value, x_bar


@plain
def update(parameter, ct):
    flat, flat_ct = parameter.ravel(), ct.ravel()
    for i in range(flat.size):
        flat[i] -= DESCENT_RATE * flat_ct[i]


def descent(step: Callable) -> Callable:
    """Gradient descent by `step`, `@njit` code that gives the value and gradients of W5."""

    @plain
    def run(w1, b1, w2, b2, w3, b3, x, targets):
        w1, b1, w2, b2, w3, b3 = w1.copy(), b1.copy(), w2.copy(), b2.copy(), w3.copy(), b3.copy()
        loss = 0.0
        for _ in range(DESCENT_STEPS):
            loss, w1_bar, b1_bar, w2_bar, b2_bar, w3_bar, b3_bar = step(
                w1, b1, w2, b2, w3, b3, x, targets
            )
            update(w1, w1_bar)
            update(b1, b1_bar)
            update(w2, w2_bar)
            update(b2, b2_bar)
            update(w3, w3_bar)
            update(b3, b3_bar)
        return loss, w1, b1, w2, b2, w3, b3

    return run


def fast() -> Any:
    """nbgrad's elementary functions, those of circles for arguments that are not huge."""
    from types import SimpleNamespace

    from nbgrad.kernels import scalar

    return SimpleNamespace(
        exp=scalar.exp, log=scalar.log, tanh=scalar.tanh, sin=scalar.near_sin, cos=scalar.near_cos
    )


def hand_numba(functions: Any = math) -> dict[str, Callable]:
    """The functions by the name of the workload; `functions` has exp, log, tanh, sin and cos."""
    exp, log, tanh, sin, cos = (
        getattr(functions, name) for name in ("exp", "log", "tanh", "sin", "cos")
    )

    @plain
    def two_scalars(x, y):
        return x * y + sin(x), y + cos(x), x

    @plain
    def cross_entropy(logits, targets):
        """The loss, for targets whose rows sum to 1; its gradient takes the place of `logits`."""
        n, classes = logits.shape
        one = logits.dtype.type(1)
        share = one / logits.dtype.type(n)
        loss = 0.0
        for i in range(n):
            row = logits[i]
            top = largest(row)
            for j in range(classes):
                row[j] -= top
            chosen = dot(row, targets[i])
            for j in range(classes):
                row[j] = exp(row[j])
            total = total_of(row)
            scale = one / total
            for j in range(classes):
                row[j] = (row[j] * scale - targets[i, j]) * share
            loss += log(total) - chosen
        return loss / n

    def network(turned, last_relu):
        """Three dense layers with relu between them."""

        @plain
        def run(w1, b1, w2, b2, w3, b3, x, targets):
            n, dtype = x.shape[0], x.dtype
            h1 = np.empty((n, w1.shape[1]), dtype)
            h2 = np.empty((n, w2.shape[1]), dtype)
            logits = np.empty((n, w3.shape[1]), dtype)
            np.dot(x, w1, h1)
            add_relu(h1, b1)
            np.dot(h1, w2, h2)
            add_relu(h2, b2)
            np.dot(h2, w3, logits)
            if last_relu:
                add_relu(logits, b3)
                kept = logits.copy()
                loss = cross_entropy(logits, targets)
                b3_bar = cut(logits, kept)
            else:
                add(logits, b3)
                loss = cross_entropy(logits, targets)
                b3_bar = sum_rows(logits)
            w1_bar, w2_bar, w3_bar = np.empty_like(w1), np.empty_like(w2), np.empty_like(w3)
            ct2, ct1 = np.empty_like(h2), np.empty_like(h1)
            np.dot(h2.T, logits, w3_bar)
            np.dot(logits, turned(w3.T), ct2)
            b2_bar = cut(ct2, h2)
            np.dot(h1.T, ct2, w2_bar)
            np.dot(ct2, turned(w2.T), ct1)
            b1_bar = cut(ct1, h1)
            np.dot(x.T, ct1, w1_bar)
            return loss, w1_bar, b1_bar, w2_bar, b2_bar, w3_bar, b3_bar

        return run

    moons = network(copied, True)

    @plain
    def characters(table, w1, b1, gain, shift, w2, b2, letters, targets):
        x = np.empty((BATCH, BLOCK * EMBEDDING))
        for i in range(BATCH):
            for k in range(BLOCK):
                for e in range(EMBEDDING):
                    x[i, k * EMBEDDING + e] = table[letters[i, k], e]
        off, h = np.empty((BATCH, HIDDEN)), np.empty((BATCH, HIDDEN))
        np.dot(x, w1, off)
        # The bias goes with the mean.
        mean = sum_rows(off)
        for j in range(HIDDEN):
            mean[j] /= BATCH
        scale = np.zeros(HIDDEN)
        for i in range(BATCH):
            for j in range(HIDDEN):
                off[i, j] -= mean[j]
                scale[j] += off[i, j] * off[i, j]
        for j in range(HIDDEN):
            scale[j] = 1 / math.sqrt(scale[j] / (BATCH - 1) + EPSILON)
        for i in range(BATCH):
            for j in range(HIDDEN):
                off[i, j] *= scale[j]
                h[i, j] = tanh(gain[j] * off[i, j] + shift[j])
        logits = np.empty((BATCH, VOCABULARY))
        np.dot(h, w2, logits)
        add(logits, b2)
        loss = cross_entropy(logits, targets)
        w1_bar, w2_bar, h_bar = np.empty_like(w1), np.empty_like(w2), np.empty_like(h)
        np.dot(h.T, logits, w2_bar)
        b2_bar = sum_rows(logits)
        np.dot(logits, w2.T, h_bar)
        gain_bar, shift_bar = np.zeros(HIDDEN), np.zeros(HIDDEN)
        for i in range(BATCH):
            for j in range(HIDDEN):
                h_bar[i, j] *= 1 - h[i, j] * h[i, j]
                gain_bar[j] += h_bar[i, j] * off[i, j]
                shift_bar[j] += h_bar[i, j]
        # Batch norm's own pullback, in closed form; `off` is the normalised activation.
        b1_bar = np.zeros(HIDDEN)
        for i in range(BATCH):
            for j in range(HIDDEN):
                along = off[i, j] * gain_bar[j] / (BATCH - 1)
                h_bar[i, j] -= along + shift_bar[j] / BATCH
                h_bar[i, j] *= gain[j] * scale[j]
                b1_bar[j] += h_bar[i, j]
        np.dot(x.T, h_bar, w1_bar)
        x_bar = np.empty_like(x)
        np.dot(h_bar, w1.T, x_bar)
        table_bar = np.zeros_like(table)
        for i in range(BATCH):
            for k in range(BLOCK):
                for e in range(EMBEDDING):
                    table_bar[letters[i, k], e] += x_bar[i, k * EMBEDDING + e]
        return loss, table_bar, w1_bar, b1_bar, gain_bar, shift_bar, w2_bar, b2_bar

    @plain
    def log_softmax(x, w):
        x_bar = np.empty_like(x)
        value = 0.0
        for i in range(x.shape[0]):
            row, weights, out = x[i], w[i], x_bar[i]
            top = largest(row)
            for j in range(row.size):
                out[j] = exp(row[j] - top)
            total, weight = total_of(out), total_of(weights)
            scale = weight / total
            for j in range(row.size):
                out[j] = weights[j] - out[j] * scale
            value += dot(weights, row) - weight * (top + log(total))
        return value, x_bar

    @summing
    def elementary(x, a, b, c):
        x_bar = np.empty_like(x)
        value = a_bar = b_bar = c_bar = 0.0
        for i in range(x.size):
            t, e, s = tanh(a * x[i] + b), exp(-x[i] * x[i]), sin(x[i])
            slope = e * (1 - t * t)
            x_bar[i] = slope * a - 2 * x[i] * t * e + c * cos(x[i])
            a_bar += slope * x[i]
            b_bar += slope
            c_bar += s
            value += t * e + s * c
        return value, x_bar, a_bar, b_bar, c_bar

    return {
        "W1": product, "W2": two_scalars, "W3": babysqrt, "W4": polynomial, "W5": moons,
        "W5b": descent(moons), "W6": characters, "W7": network(as_it_is, False), "W8": log_softmax,
        "W9": elementary, "W10": rosenbrock, "W10k": rosenbrock, "W13": asian.by_numba(exp),
        "W13s": asian.by_numba(exp),
    }  # fmt: skip
