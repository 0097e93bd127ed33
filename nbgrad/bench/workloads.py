"""The workloads that speed is measured on: each written once, for every library.

A workload's function takes a `Library` first, then the arrays to differentiate, then data. The
hand-written version beside it gives value and gradients in plain NumPy, as good as its author
could make it: buffers made once and written in place wherever that pays. `hand_numba.py` holds the
same in Numba.

>>> from nbgrad.bench.libraries import nbgrad_library
>>> value, gradients = runner(workloads["W1"], nbgrad_library())()
>>> [gradient.shape for gradient in gradients]
[(2, 3), (3, 2)]
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from . import asian, hand_numpy, transformer
from .libraries import Library, as_float
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


@dataclass(frozen=True)
class Workload:
    """A function, what it is differentiated at, and the same by hand.

    `parameters()` and `data()` make the arguments; `by_hand(parameters, data)` makes a function
    without arguments that gives value and gradients, in buffers that its next call writes again.
    What `is_descent` is DESCENT_STEPS steps with DESCENT_RATE, and gives the last loss and the
    parameters. All results agree to `tolerance`, times an array's largest number. Number by number
    is not tried where the work is `large`.
    """

    name: str
    what: str
    function: Callable
    parameters: Callable[[], list]
    data: Callable[[], list]
    by_hand: Callable[[list, list], Callable[[], tuple]]
    is_descent: bool = False
    tolerance: float = 1e-10
    large: bool = False


def takes(library: Library, workload: Workload) -> bool:
    """Whether a library does a workload."""
    if library.name == "naive" and workload.large:
        return False
    if library.only is not None and workload.function.__name__ not in library.only:
        return False
    return library.descend is not None or not workload.is_descent


def runner(workload: Workload, library: Library) -> Callable[[], tuple]:
    """A function without arguments: one forward and backward pass of `workload`."""

    def function(*args):
        return workload.function(library, *args)

    parameters, data = workload.parameters(), workload.data()
    if not workload.is_descent:
        return library.prepare(function, parameters, data)
    assert library.descend is not None
    return library.descend(function, parameters, data, DESCENT_STEPS, DESCENT_RATE)


def numba_arguments(workload: Workload) -> list:
    """What the hand-written Numba of a workload takes, and its compiled form in `@njit` code."""
    return [*map(as_float, workload.parameters()), *workload.data()]


def numba_runner(workload: Workload, functions: dict[str, Callable]) -> Callable[[], tuple]:
    """The same by `functions`, hand-written in Numba; the gradients stand flat after the value."""
    function, given = functions[workload.name], numba_arguments(workload)
    return lambda: function(*given)


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


# W2, W3: scalars


def two_scalars(lib, x, y):
    return x * y + lib.np.sin(x)


def babysqrt(lib, x):
    t = (1 + x) / 2
    for _ in range(STEPS):
        t = (t + x / t) / 2
    return t


# W4: a polynomial fitted to 100 points


def polynomial(lib, a, b, c, d, x, y):
    error = ((d * x + c) * x + b) * x + a - y
    return lib.np.mean(error * error)


def polynomial_data():
    rng = _rng()
    x = np.linspace(-1, 1, 100)
    return [x, np.sin(3 * x) + 0.1 * rng.normal(size=100)]


# W5: a network that tells two moons apart


def moons(lib, w1, b1, w2, b2, w3, b3, x, targets):
    x = lib.relu(x @ w1 + b1)
    x = lib.relu(x @ w2 + b2)
    x = lib.relu(x @ w3 + b3)
    return lib.logit_cross_entropy(x, targets)


def _dense(rng, fan_in, fan_out, dtype: type = np.float64):
    weight = (rng.random((fan_in, fan_out)) - 0.5) * np.sqrt(24 / (fan_in + fan_out))
    return [weight.astype(dtype), (0.1 * rng.normal(size=fan_out)).astype(dtype)]


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


# W6: the next character from the last three, with batch norm


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


# W7: a network whose products are the work


def digits(lib, w1, b1, w2, b2, w3, b3, x, targets):
    x = lib.relu(x @ w1 + b1)
    x = lib.relu(x @ w2 + b2)
    return lib.logit_cross_entropy(x @ w3 + b3, targets)


def digits_parameters():
    rng, single = _rng(), np.float32
    first, second = _dense(rng, 784, 512, single), _dense(rng, 512, 512, single)
    return [*first, *second, *_dense(rng, 512, 10, single)]


def digits_data():
    rng = _rng()
    labels = rng.integers(0, 10, 128)
    return [rng.random((128, 784), np.float32), np.eye(10, dtype=np.float32)[labels]]


# W8: rows of a thousand numbers


def log_softmax(lib, x, w):
    return lib.np.sum(w * lib.logsoftmax(x))


# W9: elementary functions of a million numbers


def elementary(lib, x, a, b, c):
    np = lib.np
    return np.sum(np.tanh(a * x + b) * np.exp(-x * x) + np.sin(x) * c)


# W10: Rosenbrock's function by slices


def rosenbrock(lib, x):
    left, right = x[:-1], x[1:]
    return lib.np.sum(100.0 * (right - left * left) ** 2 + (1 - left) ** 2)


def _scalars(*numbers):
    return [np.array(number) for number in numbers]


def _draws(*shape):
    return _rng().standard_normal(shape)


workloads = {
    workload.name: workload
    for workload in [
        Workload(
            "W1", "sum(X @ Y), 2x3 and 3x2", product,
            lambda: [_draws(2, 3), _draws(3, 2)], _nothing, hand_numpy.product,
        ),
        Workload(
            "W2", "x * y + sin(x) of scalars", two_scalars,
            lambda: _scalars(2.0, 3.0), _nothing, hand_numpy.two_scalars,
        ),
        Workload(
            "W3", "square root by 10 steps of the Babylonians, a scalar", babysqrt,
            lambda: _scalars(2.0), _nothing, hand_numpy.babysqrt,
        ),
        Workload(
            "W4", "polynomial of degree 3 on 100 points, mean squared error", polynomial,
            lambda: _scalars(0.1, 0.8, -0.3, 0.2), polynomial_data, hand_numpy.polynomial,
        ),
        Workload(
            "W5", "two moons, 2-16-16-2 with relu, 200 points, cross entropy", moons,
            moons_parameters, moons_data, hand_numpy.network,
        ),
        Workload(
            "W5b", "200 steps of gradient descent on W5", moons,
            moons_parameters, moons_data, hand_numpy.descent,
            is_descent=True, tolerance=1e-6, large=True,
        ),
        Workload(
            "W6", "characters with batch norm, batch 32, cross entropy", characters,
            characters_parameters, characters_data, hand_numpy.characters,
        ),
        Workload(
            "W7", "784-512-512-10 with relu, batch 128, float32, cross entropy", digits,
            digits_parameters, digits_data, hand_numpy.digits, tolerance=1e-4, large=True,
        ),
        Workload(
            "W8", "sum(w * logsoftmax(x)), 4096 x 1000 float32", log_softmax,
            lambda: [_draws(4096, 1000).astype(np.float32)],
            lambda: [_rng().random((4096, 1000), np.float32)],
            hand_numpy.log_softmax, tolerance=1e-4, large=True,
        ),
        Workload(
            "W9", "tanh, exp and sin of a million numbers", elementary,
            lambda: [_draws(1_000_000), *_scalars(0.7, -0.2, 1.3)],
            _nothing, hand_numpy.elementary, large=True,
        ),
        Workload(
            "W10", "Rosenbrock by slices, n = 100", rosenbrock,
            lambda: [_draws(100)], _nothing, hand_numpy.rosenbrock,
        ),
        Workload(
            "W12", "a transformer block, 8 x 32 rows of 64, 4 heads", transformer.transformer,
            transformer.parameters, transformer.data, transformer.by_hand, large=True,
        ),
        Workload(
            "W13", "an Asian option by 10,000 paths of 50 steps", asian.asian,
            asian.parameters, asian.data, asian.by_hand, large=True,
        ),
    ]
}  # fmt: skip
workloads["W10k"] = replace(
    workloads["W10"],
    name="W10k",
    what="Rosenbrock by slices, n = 10,000",
    parameters=lambda: [_draws(10_000)],
    large=True,
)
for _name, _module in (("W12", transformer), ("W13", asian)):
    _single = {"parameters": partial(_module.parameters, np.float32),
               "data": partial(_module.data, np.float32)}  # fmt: skip
    _what = f"{workloads[_name].what}, float32"
    workloads[f"{_name}s"] = replace(
        workloads[_name], name=f"{_name}s", what=_what, tolerance=1e-3, **_single
    )
