"""What a workload asks of a library, and nbgrad's ways of answering: eager in three ways, compiled,
and number by number as in the lab."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Library:
    """What a workload needs of a library beyond operators, indexing and slices.

    `np` has NumPy's names. `prepare(f, parameters, data)` gives a function without arguments that
    runs `f` once, forward and backward, and gives its value and gradients in the library's terms.
    `descend(f, parameters, data, steps, rate)` gives one that takes so many steps of gradient
    descent from `parameters`, and gives the last loss and the parameters; None: it is left out.
    `only` names the functions that a library can do, where it cannot do all.
    """

    name: str
    np: Any
    relu: Callable
    logit_cross_entropy: Callable
    logsoftmax: Callable
    softmax: Callable
    prepare: Callable[[Callable, list, list], Callable[[], tuple]]
    descend: Callable[[Callable, list, list, int, float], Callable[[], tuple]] | None = None
    only: tuple[str, ...] | None = None


def _names() -> dict[str, Any]:
    """What nbgrad's libraries share."""
    import nbgrad

    return {
        "np": np,
        "relu": nbgrad.relu,
        "logit_cross_entropy": nbgrad.logit_cross_entropy,
        "logsoftmax": nbgrad.logsoftmax,
        "softmax": nbgrad.softmax,
    }


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

    def descend(f, parameters, data, steps, rate):
        def run():
            leaves = [nbgrad.track(parameter) for parameter in parameters]
            loss = 0.0
            for _ in range(steps):
                out = f(*leaves, *data)
                out.backward()
                for leaf in leaves:
                    leaf.data -= rate * leaf.grad
                loss = out.data
                nbgrad.reset(*leaves)
            return loss, [leaf.data for leaf in leaves]

        return run

    return Library("nbgrad", prepare=prepare, descend=descend, **_names())


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

    return Library("nbgrad, tracked anew", prepare=prepare, **_names())


def nbgrad_function_library() -> Library:
    """nbgrad through `value_and_grad`, from plain arrays to plain arrays."""
    import nbgrad

    def prepare(f, parameters, data):
        both = nbgrad.value_and_grad(f, tuple(range(len(parameters))))
        return lambda: both(*parameters, *data)

    return Library("nbgrad value_and_grad", prepare=prepare, **_names())


def nbgrad_compiled_library() -> Library:
    """nbgrad compiled: `compile(value_and_grad(f))`, from plain arrays to plain arrays."""
    import nbgrad

    def prepare(f, parameters, data):
        both = nbgrad.compile(nbgrad.value_and_grad(f, tuple(range(len(parameters)))))
        given = [*map(as_float, parameters), *data]
        return lambda: both(*given)

    def descend(f, parameters, data, steps, rate):
        both = nbgrad.value_and_grad(f, tuple(range(len(parameters))))

        @nbgrad.compile
        def train(parameters, data):
            def step(_, state):
                loss, bars = both(*state[1], *data)
                new = [p - rate * p_bar for p, p_bar in zip(state[1], bars, strict=True)]
                return loss, new

            return nbgrad.loop(steps, step, (0.0, parameters))

        return lambda: train(parameters, data)

    return Library("nbgrad compiled", prepare=prepare, descend=descend, **_names())


def naive_library() -> Library:
    """The lab's way: every number tracks itself. For workloads of few numbers only."""
    from nbgrad import naive

    def as_array(x):
        """A tracked number as an array, which broadcasts."""
        if isinstance(x, np.ndarray):
            return x
        array = np.empty((), dtype=object)
        array[()] = x
        return array

    def relu(x):
        return x * np.array([[float(e.data > 0) for e in row] for row in x])

    def logsoftmax(x):
        x = x - np.array([[max(e.data for e in row)] for row in x])
        return x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))

    def cross_entropy(x, targets):
        return -np.sum(targets * logsoftmax(x)) / len(x)

    def prepare(f, parameters, data):
        def run():
            leaves = [naive.track(parameter) for parameter in parameters]
            out = f(*map(as_array, leaves), *data)
            out.grad = 1.0
            return out.data, [naive.accum(leaf) for leaf in leaves]

        return run

    def softmax(x):
        return np.exp(logsoftmax(x))

    return Library("naive", np, relu, cross_entropy, logsoftmax, softmax, prepare)


def as_float(x: np.ndarray) -> Any:
    """Arrays without axes as the floats that a caller has, in their dtype."""
    if x.shape:
        return x
    return x.item() if x.dtype == np.float64 else x[()]
