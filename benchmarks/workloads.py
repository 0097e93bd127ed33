"""The workloads that speed is measured on: each written once, for every library.

A workload's function takes a `Library` first, then the arrays to differentiate, then data. The
hand-written version beside it gives value and gradients in plain NumPy, as good as its author
could make it: buffers made once and written in place wherever that pays.

>>> run = runner(workloads["W1"], nbgrad_library())
>>> value, gradients = run()
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# -- libraries ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Library:
    """What a workload needs of a library beyond operators, indexing and slices.

    `np` has NumPy's names. `prepare(f, parameters, data)` gives a function without arguments that
    runs `f` once, forward and backward, and gives its value and gradients in the library's terms.
    """

    name: str
    np: Any
    relu: Callable
    logit_cross_entropy: Callable
    prepare: Callable[[Callable, list, list], Callable[[], tuple]]


def nbgrad_library() -> Library:
    """nbgrad as in training: leaves that stay, `backward`, `reset` before the next pass."""
    import nbgrad

    def prepare(f, parameters, data):
        leaves = [nbgrad.track(parameter) for parameter in parameters]

        def run():
            out = f(*leaves, *data)
            out.backward()
            gradients = [leaf.grad for leaf in leaves]
            nbgrad.reset(*leaves)
            return out.data, gradients

        return run

    return Library("nbgrad", np, nbgrad.relu, nbgrad.logit_cross_entropy, prepare)


def nbgrad_anew_library() -> Library:
    """nbgrad as in the lab's `run`: every pass tracks its arrays anew."""
    import nbgrad

    def prepare(f, parameters, data):
        def run():
            leaves = [nbgrad.track(parameter) for parameter in parameters]
            out = f(*leaves, *data)
            out.backward()
            return out.data, [leaf.grad for leaf in leaves]

        return run

    return Library("nbgrad, tracked anew", np, nbgrad.relu, nbgrad.logit_cross_entropy, prepare)


def nbgrad_function_library() -> Library:
    """nbgrad through `value_and_grad`, from plain arrays to plain arrays."""
    import nbgrad

    def prepare(f, parameters, data):
        both = nbgrad.value_and_grad(f, tuple(range(len(parameters))))
        return lambda: both(*parameters, *data)

    return Library("nbgrad value_and_grad", np, nbgrad.relu, nbgrad.logit_cross_entropy, prepare)


# -- workloads ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """A function, what it is differentiated at, and the same by hand.

    `parameters()` and `data()` make the arguments; `by_hand(parameters, data)` makes a function
    without arguments that gives value and gradients, in buffers that its next call writes again.
    """

    name: str
    what: str
    function: Callable
    parameters: Callable[[], list]
    data: Callable[[], list]
    by_hand: Callable[[list, list], Callable[[], tuple]]


def runner(workload: Workload, library: Library) -> Callable[[], tuple]:
    """A function without arguments: one forward and backward pass of `workload`."""

    def function(*args):
        return workload.function(library, *args)

    return library.prepare(function, workload.parameters(), workload.data())


def hand_runner(workload: Workload) -> Callable[[], tuple]:
    """The same by the hand-written version."""
    return workload.by_hand(workload.parameters(), workload.data())


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _nothing() -> list:
    return []


# W1: a product of two small matrices


def product(lib, x, y):
    return lib.np.sum(x @ y)


def product_by_hand(parameters, data):
    x, y = parameters
    z, ct = np.empty((2, 2)), np.ones((2, 2))
    x_bar, y_bar = np.empty_like(x), np.empty_like(y)

    def run():
        np.dot(x, y, out=z)
        np.dot(ct, y.T, out=x_bar)
        np.dot(x.T, ct, out=y_bar)
        return z.sum(), [x_bar, y_bar]

    return run


# W2, W3: scalars


def two_scalars(lib, x, y):
    return x * y + lib.np.sin(x)


def two_scalars_by_hand(parameters, data):
    x, y = map(float, parameters)
    return lambda: (x * y + np.sin(x), [y + np.cos(x), x])


STEPS = 10


def babysqrt(lib, x):
    t = (1 + x) / 2
    for _ in range(STEPS):
        t = (t + x / t) / 2
    return t


def babysqrt_by_hand(parameters, data):
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


# W4: a polynomial fitted to 100 points


def polynomial(lib, a, b, c, d, x, y):
    error = ((d * x + c) * x + b) * x + a - y
    return lib.np.mean(error * error)


def polynomial_data():
    rng = _rng()
    x = np.linspace(-1, 1, 100)
    return [x, np.sin(3 * x) + 0.1 * rng.normal(size=100)]


def polynomial_by_hand(parameters, data):
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


# W5: a network that tells two moons apart


def moons(lib, w1, b1, w2, b2, w3, b3, x, targets):
    x = lib.relu(x @ w1 + b1)
    x = lib.relu(x @ w2 + b2)
    x = lib.relu(x @ w3 + b3)
    return lib.logit_cross_entropy(x, targets)


def _dense(rng, fan_in, fan_out):
    weight = (rng.random((fan_in, fan_out)) - 0.5) * np.sqrt(24 / (fan_in + fan_out))
    return [weight, 0.1 * rng.normal(size=fan_out)]


def moons_parameters():
    rng = _rng()
    return [*_dense(rng, 2, 16), *_dense(rng, 16, 16), *_dense(rng, 16, 2)]


def moons_data():
    rng = _rng()
    labels = np.repeat([0, 1], 100)
    angle = rng.uniform(0, np.pi, 200)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    x[100:] = [1, 0.5] - x[100:]
    return [x + 0.1 * rng.normal(size=x.shape), np.eye(2)[labels]]


def _cross_entropy_by_hand(logits, targets, work, column):
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


def moons_by_hand(parameters, data):
    w1, b1, w2, b2, w3, b3 = parameters
    x, targets = data
    n = len(x)
    h1, h2, h3 = np.empty((n, 16)), np.empty((n, 16)), np.empty((n, 2))
    g1, g2, work, column = np.empty((n, 16)), np.empty((n, 16)), np.empty((n, 2)), np.empty((n, 1))
    mask, mask_3 = np.empty((n, 16), bool), np.empty((n, 2), bool)
    bars = [np.empty_like(parameter) for parameter in parameters]
    w1_bar, b1_bar, w2_bar, b2_bar, w3_bar, b3_bar = bars
    ones = np.ones(n)

    def layer(x, w, b, out):
        np.dot(x, w, out=out)
        np.add(out, b, out=out)
        np.maximum(out, 0.0, out=out)

    def run():
        layer(x, w1, b1, h1)
        layer(h1, w2, b2, h2)
        layer(h2, w3, b3, h3)
        np.greater(h3, 0.0, out=mask_3)
        loss = _cross_entropy_by_hand(h3, targets, work, column)
        np.multiply(h3, mask_3, out=h3)
        np.dot(h2.T, h3, out=w3_bar)
        np.dot(ones, h3, out=b3_bar)
        np.dot(h3, w3.T, out=g2)
        np.greater(h2, 0.0, out=mask)
        np.multiply(g2, mask, out=g2)
        np.dot(h1.T, g2, out=w2_bar)
        np.dot(ones, g2, out=b2_bar)
        np.dot(g2, w2.T, out=g1)
        np.greater(h1, 0.0, out=mask)
        np.multiply(g1, mask, out=g1)
        np.dot(x.T, g1, out=w1_bar)
        np.dot(ones, g1, out=b1_bar)
        return loss, bars

    return run


# W6: the next character from the last three, with batch norm


VOCABULARY, BLOCK, EMBEDDING, HIDDEN, BATCH = 27, 3, 10, 64, 32
EPSILON = 1e-5


def characters(lib, table, w1, b1, gain, shift, w2, b2, letters, targets):
    x = lib.np.reshape(table[letters], (BATCH, BLOCK * EMBEDDING))
    x = x @ w1 + b1
    mean = lib.np.sum(x, 0) * (1 / BATCH)
    off = x - mean
    variance = lib.np.sum(off * off, 0) * (1 / (BATCH - 1))
    x = lib.np.tanh(gain * (off / lib.np.sqrt(variance + EPSILON)) + shift)
    return lib.logit_cross_entropy(x @ w2 + b2, targets)


def characters_parameters():
    rng = _rng()
    return [
        rng.normal(size=(VOCABULARY, EMBEDDING)),
        *_dense(rng, BLOCK * EMBEDDING, HIDDEN),
        1 + 0.1 * rng.normal(size=HIDDEN),
        0.1 * rng.normal(size=HIDDEN),
        *_dense(rng, HIDDEN, VOCABULARY),
    ]


def characters_data():
    rng = _rng()
    labels = rng.integers(0, VOCABULARY, BATCH)
    return [rng.integers(0, VOCABULARY, (BATCH, BLOCK)), np.eye(VOCABULARY)[labels]]


def characters_by_hand(parameters, data):
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
        loss = _cross_entropy_by_hand(logits, targets, work, column)
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


# W10: Rosenbrock's function by slices


def rosenbrock(lib, x):
    left, right = x[:-1], x[1:]
    return lib.np.sum(100.0 * (right - left * left) ** 2 + (1 - left) ** 2)


def rosenbrock_by_hand(parameters, data):
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


workloads = {
    workload.name: workload
    for workload in [
        Workload(
            "W1", "sum(X @ Y), 2x3 and 3x2", product,
            lambda: [_rng().normal(size=(2, 3)), _rng().normal(size=(3, 2))],
            _nothing, product_by_hand,
        ),
        Workload(
            "W2", "x * y + sin(x) of scalars", two_scalars,
            lambda: [np.array(2.0), np.array(3.0)], _nothing, two_scalars_by_hand,
        ),
        Workload(
            "W3", "square root by 10 steps of the Babylonians, a scalar", babysqrt,
            lambda: [np.array(2.0)], _nothing, babysqrt_by_hand,
        ),
        Workload(
            "W4", "polynomial of degree 3 on 100 points, mean squared error", polynomial,
            lambda: [np.array(v) for v in (0.1, 0.8, -0.3, 0.2)],
            polynomial_data, polynomial_by_hand,
        ),
        Workload(
            "W5", "two moons, 2-16-16-2 with relu, 200 points, cross entropy", moons,
            moons_parameters, moons_data, moons_by_hand,
        ),
        Workload(
            "W6", "characters with batch norm, batch 32, cross entropy", characters,
            characters_parameters, characters_data, characters_by_hand,
        ),
        Workload(
            "W10", "Rosenbrock by slices, n = 100", rosenbrock,
            lambda: [_rng().normal(size=100)], _nothing, rosenbrock_by_hand,
        ),
    ]
}  # fmt: skip
