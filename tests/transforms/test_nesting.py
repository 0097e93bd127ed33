"""Perturbations of nested derivatives are kept apart.

Examples of J. M. Siskind and B. A. Pearlmutter, "Perturbation confusion and referential
transparency" (2005), and of O. Manzyuk, B. A. Pearlmutter, A. A. Radul, D. R. Rush and
J. M. Siskind, "Perturbation confusion in forward automatic differentiation of higher-order
functions" (2019), with every way to take a derivative in every place.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import nbgrad


def forward(f: Callable) -> Callable:
    return lambda x: nbgrad.jvp(f, (x,), (1.0,))[1]


def reverse(f: Callable) -> Callable:
    return nbgrad.grad(f)


def linear(f: Callable) -> Callable:
    return lambda x: nbgrad.linearize(f, x)[1](1.0)


def transposed(f: Callable) -> Callable:
    return lambda x: nbgrad.linearize(f, x)[1].transpose(1.0)[0]


def batched(f: Callable) -> Callable:
    """Forward mode, with the point among samples."""
    return lambda x: nbgrad.vmap(forward(f))(np.stack([x, x + 1.0]))[0]


def batched_reverse(f: Callable) -> Callable:
    return lambda x: nbgrad.vmap(reverse(f))(np.stack([x - 1.0, x]))[1]


def jacobian(f: Callable) -> Callable:
    return nbgrad.jacobian(f, mode="forward")


WAYS = (forward, reverse, linear, transposed, batched, batched_reverse, jacobian)


def in_every_way(depth: int) -> Callable:
    """Decorator: the test gets `depth` ways to take a derivative, in all combinations."""
    chosen = WAYS if depth < 3 else WAYS[:4]
    names = [f"d{i}" for i in range(depth)]
    cases = [
        pytest.param(*ways, id="-".join(way.__name__ for way in ways))
        for ways in product(chosen, repeat=depth)
    ]
    return pytest.mark.parametrize(names, cases)


def close(found: Any, expected: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@in_every_way(2)
def test_a_sum_inside_of_a_product(d0, d1):
    """d/dx x (d/dy (x + y)) = 1, and not 2."""
    close(d0(lambda x: x * d1(lambda y: x + y)(1.0))(1.0), 1.0)


@in_every_way(2)
def test_a_product_inside_of_a_product(d0, d1):
    """d/dx x (d/dy x y) = 2 x, at any inner point."""
    close(d0(lambda x: x * d1(lambda y: x * y)(2.0))(3.0), 6.0)


@in_every_way(2)
def test_the_inner_point_is_the_outer_variable(d0, d1):
    """d/dx x (d/dy x y**2 at y = x) = d/dx 2 x**3."""
    close(d0(lambda x: x * d1(lambda y: x * y * y)(x))(2.0), 24.0)


@in_every_way(2)
def test_the_inner_function_does_not_see_the_outer_variable(d0, d1):
    close(d0(lambda x: x * d1(lambda y: y * y)(3.0))(2.0), 6.0)


@in_every_way(2)
def test_a_curried_function(d0, d1):
    """f(x)(y) = x**2 y**3, differentiated in x, then in y."""

    def f(x):
        return lambda y: x * x * y**3

    close(d1(lambda y: d0(lambda x: f(x)(y))(2.0))(3.0), 108.0)


@in_every_way(2)
def test_a_derivative_that_is_a_function(d0, d1):
    """The derivative at 0 of the shift s(u)(f)(x) = f(x + u), as a function of f, taken twice: the
    perturbation of the first must be gone when the second is at work. h'' of exp is exp."""

    def derivative(f):
        return lambda x: d0(lambda u: f(x + u))(0.0)

    def again(f):
        return lambda x: d1(lambda u: f(x + u))(0.0)

    close(again(derivative(np.exp))(1.0), np.exp(1.0))


@in_every_way(2)
def test_a_derivative_kept_and_used_later(d0, d1):
    """What the inner derivative gives is called again where another one is at work."""

    def outer(x):
        inner = d1(lambda y: np.sin(y) * x)
        return inner(x) + inner(2.0 * x)

    expected = np.cos(0.5) - 0.5 * np.sin(0.5) + np.cos(1.0) - 2 * 0.5 * np.sin(1.0)
    close(d0(outer)(0.5), expected)


@in_every_way(3)
def test_three_deep(d0, d1, d2):
    """d/dx x d/dy (x y d/dz (x y z + z**2)) with the inner points 1 and 1."""

    def outermost(x):
        def middle(y):
            return x * y * d2(lambda z: x * y * z + z * z)(1.0)

        return x * d1(middle)(1.0)

    # The middle one is x y (x y + 2): its slope is 2 x**2 y + 2 x, times x, at y = 1.
    close(d0(outermost)(3.0), 6 * 9.0 + 4 * 3.0)


@in_every_way(3)
def test_order_three(d0, d1, d2):
    close(d0(d1(d2(lambda x: x**4 + np.exp(x))))(0.5), 12.0 + np.exp(0.5))


@pytest.mark.parametrize("order", range(1, 8))
@pytest.mark.parametrize("way", WAYS[:4], ids=lambda way: way.__name__)
def test_orders(way, order):
    """The derivatives of x exp(x) are (x + n) exp(x)."""
    derivative = lambda x: x * np.exp(x)  # noqa: E731
    for _ in range(order):
        derivative = way(derivative)
    close(derivative(0.3), (0.3 + order) * np.exp(0.3))


@pytest.mark.parametrize("way", WAYS[:4], ids=lambda way: way.__name__)
def test_a_saddle_inside_of_a_minimum(way):
    """The best point of an inner descent, as a function of an outer variable: min over y of
    (y - x)**2 + y**2 is at x / 2."""

    def best(x):
        y = 0.0
        for _ in range(60):
            y = y - 0.2 * way(lambda y: (y - x) ** 2 + y * y)(y)
        return y

    for outer in WAYS[:4]:
        np.testing.assert_allclose(outer(lambda x: best(x) * x)(3.0), 3.0, rtol=1e-12)


@pytest.mark.parametrize("d0", WAYS[:4], ids=lambda way: way.__name__)
@pytest.mark.parametrize("d1", (forward, reverse), ids=lambda way: way.__name__)
def test_compiled(d0, d1):
    f = d0(lambda x: x * d1(lambda y: np.tanh(x * y) * y)(x))
    close(nbgrad.compile(f)(0.7), f(0.7))


def test_directions_of_an_inner_and_an_outer_function_that_share_an_array():
    x, u, v = np.array([1.0, 2.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0])

    def inner(y):
        return nbgrad.jvp(lambda z: np.sum(x * y * z * z), (x,), (v,))[1]

    # 2 x_1 * x_1 * y_1, along u in y: nothing; along v: 2 x_1 ** 2.
    close(nbgrad.jvp(inner, (x,), (u,))[1], 0.0)
    close(nbgrad.jvp(inner, (x,), (v,))[1], 8.0)


def test_a_tangent_that_is_the_outer_variable():
    close(nbgrad.jvp(lambda x: nbgrad.jvp(np.sin, (x,), (x,))[1], (0.5,), (1.0,))[1],
          np.cos(0.5) - 0.5 * np.sin(0.5))  # fmt: skip
    close(nbgrad.grad(lambda x: nbgrad.jvp(np.sin, (x,), (x,))[1])(0.5),
          np.cos(0.5) - 0.5 * np.sin(0.5))  # fmt: skip


def test_a_cotangent_that_is_the_outer_variable():
    for way in WAYS[:4]:
        close(way(lambda x: nbgrad.vjp(np.sin, x)[1](x)[0])(0.5), np.cos(0.5) - 0.5 * np.sin(0.5))
        push = lambda x: nbgrad.linearize(np.sin, x)[1]  # noqa: E731
        close(way(lambda x, push=push: push(x)(x))(0.5), np.cos(0.5) - 0.5 * np.sin(0.5))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_checkpoints_within(way):
    def inner(x):
        return way(lambda y: nbgrad.checkpoint(lambda z: np.sin(z * x))(y))(x)

    for outer in (forward, reverse):
        close(outer(nbgrad.checkpoint(inner))(0.5), np.cos(0.25) - 0.5 * np.sin(0.25))
