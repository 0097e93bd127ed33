"""Other libraries as `Library`, for the same workloads. Importing one may fail: see `installed`."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np

from .libraries import Library


def autograd_library() -> Library:
    autograd, anp = import_module("autograd"), import_module("autograd.numpy")
    logsumexp = import_module("autograd.scipy.special").logsumexp

    def logsoftmax(x):
        return x - logsumexp(x, axis=1, keepdims=True)

    def cross_entropy(x, targets):
        return -anp.sum(targets * logsoftmax(x)) / len(targets)

    def prepare(f, parameters, data):
        both = autograd.value_and_grad(f, argnum=tuple(range(len(parameters))))
        return lambda: both(*parameters, *data)

    def softmax(x):
        return anp.exp(x - logsumexp(x, axis=-1, keepdims=True))

    return Library(
        "autograd", anp, lambda x: anp.maximum(x, 0.0), cross_entropy, logsoftmax, softmax, prepare
    )


def mygrad_library() -> Library:
    mygrad, nnet = import_module("mygrad"), import_module("mygrad.nnet")
    logsoftmax, relu = nnet.logsoftmax, nnet.relu

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

    return Library("mygrad", mygrad, relu, cross_entropy, logsoftmax, nnet.softmax, prepare)


def torch_library() -> Library:
    torch, functional = import_module("torch"), import_module("torch.nn.functional")

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

    def softmax(x):
        return functional.softmax(x, -1)

    return Library(
        "torch", torch, torch.relu, functional.cross_entropy, logsoftmax, softmax, prepare, descend
    )


def jax_library() -> Library:
    """jax with `jit`, compiled before it is measured, on arrays that it holds already."""
    jax = import_module("jax")
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
    names = (jax.numpy, relu, cross_entropy, logsoftmax, jax.nn.softmax)
    return Library("jax.jit", *names, prepare, descend)


def casadi_library() -> Library:
    """CasADi's symbolic graphs, of matrices that do not broadcast; built beforehand."""
    casadi = import_module("casadi")

    def total(x):
        return casadi.sum1(casadi.sum2(x))

    def prepare(f, parameters, data):
        symbols = [casadi.MX.sym(f"x{k}", *np.shape(x)) for k, x in enumerate(parameters)]
        out = f(*symbols, *data)
        bars = [casadi.gradient(out, symbol) for symbol in symbols]
        both = casadi.Function("both", symbols, [out, *bars])
        given = [casadi.DM(parameter) for parameter in parameters]
        shapes = [np.shape(parameter) for parameter in parameters]

        def run():
            value, *found = both.call(given)
            pairs = zip(found, shapes, strict=True)
            return float(value), [bar.full().reshape(shape) for bar, shape in pairs]

        return run

    numpy = SimpleNamespace(
        sum=total, mean=lambda x: total(x) / x.numel(), sin=casadi.sin, exp=casadi.exp,
        tanh=casadi.tanh,
    )  # fmt: skip
    return Library(
        "casadi", numpy, _left_out, _left_out, _left_out, _left_out, prepare,
        only=("product", "two_scalars", "babysqrt", "polynomial", "elementary", "rosenbrock"),
    )  # fmt: skip


def pytensor_library() -> Library:
    """PyTensor, compiled before it is measured."""
    pytensor, tensor = import_module("pytensor"), import_module("pytensor.tensor")
    special = import_module("pytensor.tensor.special")

    def cross_entropy(x, targets):
        return -tensor.sum(targets * logsoftmax(x)) / targets.shape[0]

    def logsoftmax(x):
        return special.log_softmax(x, axis=-1)

    def prepare(f, parameters, data):
        def symbol(x):
            return tensor.TensorType(np.asarray(x).dtype, np.shape(x))()

        leaves, held = [symbol(x) for x in parameters], [symbol(x) for x in data]
        out = f(*leaves, *held)
        both = pytensor.function(
            [*leaves, *held], [out, *pytensor.grad(out, leaves)], on_unused_input="ignore"
        )

        def run():
            value, *bars = both(*parameters, *data)
            return value, bars

        return run

    def softmax(x):
        return special.softmax(x, axis=-1)

    names = (tensor, lambda x: tensor.maximum(x, 0), cross_entropy, logsoftmax, softmax)
    return Library("pytensor", *names, prepare)


def _left_out(*_: Any) -> Any:
    raise NotImplementedError("no workload for this library")


peers: dict[str, Callable[[], Library]] = {
    "autograd": autograd_library,
    "mygrad": mygrad_library,
    "torch": torch_library,
    "jax": jax_library,
    "casadi": casadi_library,
    "pytensor": pytensor_library,
}
"""By the name of the package."""


def installed() -> list[str]:
    """The packages of `peers` that can be imported."""
    return [name for name in peers if find_spec(name)]


def as_numpy(result) -> tuple:
    """A runner's value and gradients as NumPy arrays."""
    value, gradients = result
    return (np.asarray(value), [np.asarray(gradient) for gradient in gradients])
