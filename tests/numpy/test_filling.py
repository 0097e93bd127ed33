"""Tracked numbers put into arrays of `nbgrad.numpy`, in every mode, against differences."""

import numpy
import pytest
from helpers.daily import pairs
from helpers.numpy.filling import PROGRAMS

import nbgrad

X = numpy.array([1.1, 1.7, 0.6])
AXES = numpy.eye(3)


def _backward(f):
    x = nbgrad.track(X)
    f(x).backward()
    return x.grad


def _in_loop(f):
    """Half of twice the function, in the body of a loop."""
    return lambda x: nbgrad.loop(2, lambda i, s: (s[0], s[1] + f(s[0]) * 0.5), (x, 0.0))[1]


MODES = {
    "grad": lambda f: nbgrad.grad(f)(X),
    "backward": _backward,
    "jvp": lambda f: [nbgrad.jvp(f, (X,), (axis,))[1] for axis in AXES],
    "vmap of grad": lambda f: nbgrad.vmap(nbgrad.grad(f))(numpy.stack([2.0 * X, X]))[1],
    "grad of vmap": lambda f: nbgrad.grad(lambda z: numpy.sum(nbgrad.vmap(f)(z)))(
        numpy.stack([2.0 * X, X])
    )[1],
    "jacobian": lambda f: nbgrad.jacobian(f)(X),
    "checkpoint": lambda f: nbgrad.grad(lambda x: nbgrad.checkpoint(f)(x))(X),
    "loop": lambda f: nbgrad.grad(_in_loop(f))(X),
    "compiled": lambda f: nbgrad.compile(nbgrad.grad(f))(X),
    "compiled loop": lambda f: nbgrad.compile(nbgrad.grad(_in_loop(f)))(X),
}


def _differences(f, x, step):
    moves = step * numpy.eye(3)
    return numpy.array([(f(x + move) - f(x - move)) / (2.0 * step) for move in moves])


@pytest.mark.parametrize(("name", "mode"), pairs([*PROGRAMS], [*MODES]))
def test_gradients_are_those_of_differences(name, mode):
    f = PROGRAMS[name]
    numpy.testing.assert_allclose(MODES[mode](f), _differences(f, X, 1e-6), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_hessians_are_those_of_differences(name):
    f = PROGRAMS[name]
    want = _differences(nbgrad.grad(f), X, 1e-5)
    numpy.testing.assert_allclose(nbgrad.hessian(f)(X), want, rtol=1e-5, atol=1e-5)
