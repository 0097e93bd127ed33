"""Functions and transformations for tests of compiled functions inside of transformations."""

from collections import namedtuple
from functools import wraps

import numpy as np

import nbgrad
from nbgrad import compile, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap

RNG = np.random.default_rng(0)
X = RNG.normal(size=3)
V = RNG.normal(size=3)
XS = RNG.normal(size=(4, 3))
A = RNG.normal(size=(3, 3))
LABELS = np.array([0, 2, 1])
Pair = namedtuple("Pair", "a b")


@nbgrad.custom_rule(pullback=lambda ct, out, x: 3.0 * ct * x)
def ruled(x):
    return x * x


def loop(x):
    return np.sum(nbgrad.loop(3, lambda i, y: np.tanh(A @ y) + x, x))


def scan(x):
    state, ys = nbgrad.scan(lambda s, r: (s * np.sin(r), s + r), x[0], x)
    return state + np.sum(ys * ys)


inner = compile(lambda y: np.sin(y) * y)

FUNCTIONS = {
    "layers": lambda x: np.sum(np.tanh(A @ np.tanh(A @ x)) ** 2),
    "captured": lambda x: np.mean(np.logaddexp(0.0, A @ x) - V * x),
    "shared slope": lambda x: np.log(np.sum(np.exp(x))) * np.exp(-x[0]),
    "where": lambda x: np.sum(np.where(x > 0.1, np.sqrt(np.abs(x)), x**3)),
    "gathered": lambda x: np.sum(x[LABELS] * np.arange(3.0)) + np.max(x) * x[1],
    "layout": lambda x: np.sum(np.cumsum(np.outer(x, x)[1:].T.reshape(-1)) * 0.5),
    "solve": lambda x: np.sum(np.linalg.solve(A + np.diag(x * x), x)),
    "stopped": lambda x: np.sum(x * nbgrad.stop_gradient(x) ** 2 * x),
    "ruled": lambda x: np.sum(ruled(np.sin(x))),
    "loop": loop,
    "scan": scan,
    "nested": lambda x: np.sum(inner(x) ** 2),
    "checkpoint": lambda x: np.sum(nbgrad.checkpoint(lambda y: np.tanh(y) * y)(x) * x),
    "gradient inside": lambda x: np.sum(grad(lambda y: np.sum(np.sin(y) * y))(x) ** 2),
}


def backward(f):
    x = nbgrad.track(X.copy())
    z = 2.0 * f(x * 1.5)
    z.backward()
    return z.data, x.grad


def accumulated(f):
    x = nbgrad.track(X.copy())
    y = np.sin(x)
    z = f(y) + np.sum(y)
    z.grad = 1.0
    return nbgrad.accum(x)


def twice(f):
    x = nbgrad.track(X.copy())
    f(x).backward(create_graph=True)
    np.sum(x.grad * V).backward()
    return x.grad.data


def linearized(f):
    value, push = nbgrad.linearize(lambda x: f(x) * x, X)
    several = vmap(push)(XS), jvp(push, (V,), (X,)), grad(lambda v: np.sum(push(v) ** 2))(V)
    return value, push(V), push.transpose(V), several


TRANSFORMS = {
    "grad": lambda f: grad(f)(X),
    "value_and_grad": lambda f: value_and_grad(f)(X),
    "vjp": lambda f: [vjp(f, X)[1](ct) for ct in (1.0, 2.0)],
    "jvp": lambda f: jvp(f, (X,), (V,)),
    "vmap": lambda f: vmap(f)(XS),
    "pullback": lambda f: nbgrad.pullback(f, X)[1](1.0)[1],
    "jacobian forward": lambda f: jacobian(f, mode="forward")(X),
    "jacobian reverse": lambda f: jacobian(lambda x: f(x) * x, mode="reverse")(X),
    "hessian": lambda f: hessian(f)(X),
    "hvp": lambda f: hvp(f)(X, V),
    "grad of vmap": lambda f: grad(lambda xs: np.sum(vmap(f)(xs) ** 2))(XS),
    "vmap of grad": lambda f: vmap(grad(f))(XS),
    "grad of grad": lambda f: grad(lambda x: np.sum(grad(f)(x) * V))(X),
    "grad of jvp": lambda f: grad(lambda x: jvp(f, (x,), (V,))[1])(X),
    "jvp of vmap of grad": lambda f: jvp(vmap(grad(f)), (XS,), (XS + 1.0,)),
    "linearize": linearized,
    "checkpoint": lambda f: grad(lambda x: nbgrad.checkpoint(f)(np.sin(x)))(X),
    "backward": backward,
    "accum": accumulated,
    "create_graph": twice,
}


def counted(f):
    """The function, and a list that gets an entry at each call of it by Python."""
    calls = []

    @wraps(f)
    def counting(*args, **options):
        calls.append(args)
        return f(*args, **options)

    return counting, calls


def close(one, other, rtol=1e-10):
    one, other = leaves(one), leaves(other)
    assert len(one) == len(other)
    for x, y in zip(one, other, strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol, 1e-12)


def runs_compiled(transform, f, rtol=1e-10):
    counting, calls = counted(f)
    fast = compile(counting)
    close(transform(fast), transform(f), rtol)
    calls.clear()
    close(transform(fast), transform(f), rtol)
    assert not calls


def drop(result):
    return result["value"], result["pair"].a


def leaves(tree):
    every = nbgrad.transforms.trees.flatten(tree)[0]
    return [x for x in every if x is not None and not isinstance(x, str)]
