"""Other libraries as `Library`, for the same workloads. Importing one may fail: see `installed`."""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from libraries import Library


def autograd_library() -> Library:
    import autograd
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp

    def logsoftmax(x):
        return x - logsumexp(x, axis=1, keepdims=True)

    def cross_entropy(x, targets):
        return -anp.sum(targets * logsoftmax(x)) / len(targets)

    def prepare(f, parameters, data):
        both = autograd.value_and_grad(f, argnum=tuple(range(len(parameters))))
        return lambda: both(*parameters, *data)

    return Library(
        "autograd", anp, lambda x: anp.maximum(x, 0.0), cross_entropy, logsoftmax, prepare
    )


def mygrad_library() -> Library:
    import mygrad
    from mygrad.nnet import logsoftmax, relu

    def cross_entropy(x, targets):
        return -mygrad.sum(targets * logsoftmax(x)) / len(targets)

    def prepare(f, parameters, data):
        leaves = [mygrad.tensor(parameter) for parameter in parameters]

        def run():
            out = f(*leaves, *data)
            out.backward()
            gradients = [leaf.grad for leaf in leaves]
            for leaf in leaves:
                leaf.null_grad()
            return out.data, gradients

        return run

    return Library("mygrad", mygrad, relu, cross_entropy, logsoftmax, prepare)


def torch_library() -> Library:
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)

    def prepare(f, parameters, data):
        leaves = [torch.tensor(parameter, requires_grad=True) for parameter in parameters]
        given = [torch.from_numpy(array) for array in data]

        def run():
            out = f(*leaves, *given)
            out.backward()
            gradients = [leaf.grad for leaf in leaves]
            for leaf in leaves:
                leaf.grad = None
            return out.detach(), gradients

        return run

    def descend(f, parameters, data, steps, rate):
        given = [torch.from_numpy(array) for array in data]

        def run():
            leaves = [torch.tensor(parameter, requires_grad=True) for parameter in parameters]
            out = torch.zeros(())
            for _ in range(steps):
                out = f(*leaves, *given)
                out.backward()
                with torch.no_grad():
                    for leaf in leaves:
                        leaf -= rate * leaf.grad
                        leaf.grad = None
            return out.detach(), [leaf.detach() for leaf in leaves]

        return run

    def logsoftmax(x):
        return functional.log_softmax(x, -1)

    return Library(
        "torch", torch, torch.relu, functional.cross_entropy, logsoftmax, prepare, descend
    )


def jax_library() -> Library:
    """jax with `jit`, compiled before it is measured, on arrays that it holds already."""
    import jax

    jax.config.update("jax_enable_x64", True)

    def cross_entropy(x, targets):
        return -jax.numpy.sum(targets * jax.nn.log_softmax(x)) / len(targets)

    def prepare(f, parameters, data):
        both = jax.jit(jax.value_and_grad(f, tuple(range(len(parameters)))))
        given = [jax.numpy.asarray(array) for array in [*parameters, *data]]
        return lambda: jax.block_until_ready(both(*given))

    def descend(f, parameters, data, steps, rate):
        both = jax.value_and_grad(f, tuple(range(len(parameters))))
        given = [jax.numpy.asarray(array) for array in data]

        def step(carry, _):
            _, present = carry
            loss, bars = both(*present, *given)
            return (loss, [p - rate * b for p, b in zip(present, bars, strict=True)]), None

        start = [jax.numpy.asarray(parameter) for parameter in parameters]
        train = jax.jit(lambda start: jax.lax.scan(step, (0.0, start), None, steps)[0])
        return lambda: jax.block_until_ready(train(start))

    relu: Callable = jax.nn.relu
    logsoftmax: Callable = jax.nn.log_softmax
    return Library("jax.jit", jax.numpy, relu, cross_entropy, logsoftmax, prepare, descend)


peers: dict[str, Callable[[], Library]] = {
    "autograd": autograd_library,
    "mygrad": mygrad_library,
    "torch": torch_library,
    "jax": jax_library,
}
"""By the name of the package."""


def installed() -> list[str]:
    """The packages of `peers` that can be imported."""
    return [name for name in peers if find_spec(name)]


def as_numpy(result) -> tuple:
    """A runner's value and gradients as NumPy arrays."""
    value, gradients = result
    return (np.asarray(value), [np.asarray(gradient) for gradient in gradients])
