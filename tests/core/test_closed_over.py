"""Tracked arrays that a transformed function closes over: results depend on them."""

from collections.abc import Callable

import numpy as np
import pytest

import nbgrad
from nbgrad import track

V, U = np.array([1.0, 2.0]), np.array([0.5, -1.0])
ROWS, STEPS = np.stack([V, U]), np.arange(3.0)


def summed(f: Callable) -> Callable:
    return lambda x: np.sum(f(x))


def looped(f: Callable) -> Callable:
    return lambda x: np.sum(nbgrad.loop(3, lambda i, s: s * f(x), V))


def scanned(f: Callable) -> Callable:
    return lambda x: np.sum(nbgrad.scan(lambda s, y: (s * f(x), s), V, STEPS)[0])


def chosen(f: Callable) -> Callable:
    return lambda x: np.sum(nbgrad.cond(True, lambda v: f(v) * v, lambda v: v, x))


def repeated(f: Callable) -> Callable:
    under = lambda s: np.sum(s) < 50  # noqa: E731
    return lambda x: np.sum(nbgrad.while_loop(under, lambda s: s + np.abs(f(x)), V, 9))


WAYS: dict[str, Callable] = {
    "gradient": lambda f: nbgrad.gradient(f, V)[0],
    "grad": lambda f: nbgrad.grad(f)(V),
    "value": lambda f: nbgrad.value_and_grad(f)(V)[0],
    "value_and_grad": lambda f: nbgrad.value_and_grad(f)(V)[1],
    "aux": lambda f: nbgrad.grad(lambda v: (np.sum(v * v), f(v)), has_aux=True)(V)[1],
    "grad of grad": lambda f: nbgrad.grad(summed(nbgrad.grad(f)))(V),
    "elementwise_grad": lambda f: nbgrad.elementwise_grad(lambda v: f(v) * v)(V),
    "vjp value": lambda f: nbgrad.vjp(f, V)[0],
    "vjp": lambda f: nbgrad.vjp(f, V)[1](2.0)[0],
    "vjp aux": lambda f: nbgrad.vjp(lambda v: (np.sum(v), f(v)), V, has_aux=True)[2],
    "pullback value": lambda f: nbgrad.pullback(f, V)[0],
    "pullback": lambda f: nbgrad.pullback(f, V)[1](2.0)[1],
    "jvp value": lambda f: nbgrad.jvp(f, (V,), (U,))[0],
    "jvp": lambda f: nbgrad.jvp(f, (V,), (U,))[1],
    "jvp aux": lambda f: nbgrad.jvp(lambda v: (v, f(v)), (V,), (U,), has_aux=True)[2],
    "hessian": lambda f: nbgrad.hessian(f)(V),
    "reverse": lambda f: nbgrad.jacobian(lambda v: f(v) * v, mode="reverse")(V),
    "forward": lambda f: nbgrad.jacobian(lambda v: f(v) * v, mode="forward")(V),
    "optimal": lambda f: nbgrad.jacobian(lambda v: f(v) * v, mode="optimal")(V),
    "hvp": lambda f: nbgrad.hvp(f)(V, U),
    "linearize value": lambda f: nbgrad.linearize(f, V)[0],
    "linearize": lambda f: nbgrad.linearize(f, V)[1](U),
    "transpose": lambda f: nbgrad.linearize(f, V)[1].transpose(2.0)[0],
    "linear_transpose": lambda f: nbgrad.linear_transpose(lambda v: v * f(U), V)(U)[0],
    "vmap": lambda f: nbgrad.vmap(f)(ROWS),
    "vmap of grad": lambda f: nbgrad.vmap(nbgrad.grad(f))(ROWS),
    "grad of vmap": lambda f: nbgrad.grad(summed(nbgrad.vmap(f)))(ROWS),
    "checkpoint": lambda f: nbgrad.checkpoint(f)(V),
    "grad of checkpoint": lambda f: nbgrad.grad(nbgrad.checkpoint(f))(V),
    "compiled inside": lambda f: nbgrad.grad(nbgrad.compile(f))(V),
    **{
        f"{name}{body.__name__}": lambda f, way=way, body=body: way(body(f))
        for body in (looped, scanned, chosen, repeated)
        for name, way in (("", lambda f: f(V)), ("grad of ", lambda f: nbgrad.grad(f)(V)))
    },
}


def cubes(a):
    return lambda v: np.sum(a * v * v * v)


@pytest.mark.parametrize("kind", ["leaf", "computed", "part of it"])
@pytest.mark.parametrize("way", WAYS)
def test_results_depend_on_what_is_closed_over(way: str, kind: str):
    def value(a):
        return np.sum(WAYS[way](cubes(a)) * 1.0)

    a = track(1.3)
    held = {"leaf": a, "computed": a * 1.0, "part of it": np.stack([a, a])[0]}[kind]
    result = value(held)
    np.testing.assert_allclose(result.data, value(1.3), rtol=1e-12)
    result.backward()
    expected = (value(1.3 + 1e-5) - value(1.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(a.grad, expected, rtol=1e-6)


def test_only_the_value_depends_on_it():
    a = track(3.0)
    for f in (lambda v: np.sum(v * v) + a, lambda v: a + 0.0 * v[0], lambda v: a * v[0] ** 0):
        value, slope = nbgrad.value_and_grad(f)(V)
        nbgrad.reset(a)
        (nbgrad.value_and_grad(f)(V)[0]).backward()
        assert a.grad == 1.0 and value.shape == slope.shape[:0]


def test_a_compiled_function_names_it():
    a = track(2.0)
    for f in (cubes(a), nbgrad.grad(cubes(a)), looped(cubes(a))):
        with pytest.raises(nbgrad.TraceError, match=r"tracked array|leaf"):
            nbgrad.compile(f)(V)
