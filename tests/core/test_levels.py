"""What is tracked inside of a transformed function is a constant of it."""

import numpy as np
import pytest

import nbgrad
from nbgrad import track


def scaled(x):
    """2 x, with a factor that is tracked inside."""
    return track(2.0) * x


def square(x):
    return track(np.ones(np.shape(x))) * x * x


WAYS = {
    "grad": lambda f, x: nbgrad.grad(f)(x),
    "gradient": lambda f, x: nbgrad.gradient(f, x)[0],
    "value_and_grad": lambda f, x: nbgrad.value_and_grad(f)(x)[1],
    "elementwise_grad": lambda f, x: nbgrad.elementwise_grad(f)(x),
    "pullback": lambda f, x: nbgrad.pullback(f, x)[1](1.0)[1],
    "vjp": lambda f, x: nbgrad.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f, x: nbgrad.jvp(f, (x,), (1.0,))[1],
    "linearize": lambda f, x: nbgrad.linearize(f, x)[1](1.0),
    "transpose": lambda f, x: nbgrad.linearize(f, x)[1].transpose(1.0)[0],
    "forward": lambda f, x: nbgrad.jacobian(f, mode="forward")(x),
    "reverse": lambda f, x: nbgrad.jacobian(f, mode="reverse")(x),
    "optimal": lambda f, x: nbgrad.jacobian(f, mode="optimal")(x),
    "vmap": lambda f, x: nbgrad.vmap(nbgrad.grad(f))(np.full(2, x))[1],
    "checkpoint": lambda f, x: nbgrad.grad(nbgrad.checkpoint(f))(x),
    "compiled": lambda f, x: nbgrad.compile(nbgrad.grad(f))(x),
    "compiled jvp": lambda f, x: nbgrad.compile(lambda x: nbgrad.jvp(f, (x,), (1.0,))[1])(x),
    "compiled inside": lambda f, x: nbgrad.grad(nbgrad.compile(f))(x),
}


def assert_plain(found, expected):
    assert not isinstance(found, nbgrad.TrackedArray)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("way", WAYS)
def test_an_array_tracked_inside_is_a_constant(way):
    assert_plain(WAYS[way](scaled, 3.0), 2.0)
    assert_plain(WAYS[way](lambda x: x * track(1.0) * x, 3.0), 6.0)


def test_values_beside_the_derivative_are_plain_too():
    for value, _ in (
        nbgrad.value_and_grad(scaled)(2.0),
        nbgrad.jvp(scaled, (2.0,), (1.0,)),
        nbgrad.vjp(scaled, 2.0),
        nbgrad.linearize(scaled, 2.0),
    ):
        assert_plain(value, 4.0)
    (_, aux), _ = nbgrad.value_and_grad(lambda x: (x, {"w": track(3.0)}), has_aux=True)(2.0)
    assert_plain(aux["w"], 3.0)


def test_second_derivatives():
    assert_plain(nbgrad.hessian(square)(3.0), 2.0)
    assert_plain(nbgrad.hvp(square)(3.0, 1.0), 2.0)
    assert_plain(nbgrad.grad(nbgrad.grad(square))(3.0), 2.0)


def test_values_of_vmap_and_compile():
    rows = np.array([1.0, 2.0])
    assert_plain(nbgrad.vmap(scaled)(rows), 2 * rows)
    assert_plain(nbgrad.compile(scaled)(3.0), 6.0)
    assert_plain(nbgrad.linear_transpose(scaled, 1.0)(3.0)[0], 6.0)


def test_a_carry_that_is_tracked():
    def by_scan(x):
        return nbgrad.scan(lambda s, t: (s * x, s * t), track(1.0), np.arange(3.0))[0]

    def by_loop(x):
        return nbgrad.loop(3, lambda i, s: s * x * track(1.0), track(1.0))

    for f in (by_scan, by_loop):
        for way in ("grad", "jvp", "compiled", "linearize"):
            assert_plain(WAYS[way](f, 2.0), 12.0)


def test_a_minimum():
    found = nbgrad.scipy.minimize(lambda x: np.sum((track(1.0) * x - 2.0) ** 2), np.zeros(2))
    np.testing.assert_allclose(found.x, 2.0, rtol=1e-6)


def test_what_is_passed_goes_on():
    """The derivative of 2 c x in x = 5 is 2 c; its own one in c is 2."""
    for slope_of in (
        lambda c: nbgrad.grad(lambda x, c: 2.0 * c * x)(5.0, c),
        lambda c: nbgrad.grad(lambda x, c: 2.0 * c * x)(5.0, c=c),
        lambda c: nbgrad.jacobian(lambda x, c: 2.0 * c * x, mode="forward")(5.0, c),
        lambda c: nbgrad.jacobian(lambda x, c: 2.0 * c * x, mode="reverse")(5.0, c),
        lambda c: nbgrad.hvp(lambda x, c: c * x * x)(5.0, c, 1.0),
        lambda c: nbgrad.vjp(lambda x, c: 2.0 * c * x, 5.0, c)[1](1.0)[0],
        lambda c: nbgrad.jvp(lambda x: 2.0 * x, (5.0,), (c,))[1],
    ):
        c = track(3.0)
        slope = slope_of(c)
        slope.backward()
        assert slope.item() in (6.0,) and c.grad == 2.0


def test_a_cotangent_that_is_tracked_goes_on():
    _, pull = nbgrad.vjp(lambda x: 2.0 * x, 5.0)
    ct = track(3.0)
    (slope,) = pull(ct)
    slope.backward()
    assert (slope.item(), ct.grad) == (6.0, 2.0)


def test_an_outer_transformation_goes_on_through_an_inner_one():
    """d/dw of (d/dx w x x at x = 2)**2 = (4 w)**2 is 32 w."""
    for inner in ("grad", "jvp", "vjp", "linearize", "forward", "vmap"):
        for outer in ("grad", "jvp", "compiled", "transpose"):
            way = WAYS[inner]
            found = WAYS[outer](lambda w, way=way: way(lambda x: w * x * x, 2.0) ** 2, 3.0)
            assert_plain(found, 96.0)


def test_leaves_of_an_outer_function_are_constants_of_an_inner_one():
    def outer(x):
        u = track(3.0)
        inner = (
            nbgrad.grad(lambda y: u * y * x)(1.0)
            + nbgrad.jvp(lambda y: y * u * x, (1.0,), (1.0,))[1]
        )
        return inner * x

    for way in ("grad", "jvp", "linearize", "compiled", "vmap"):
        assert_plain(WAYS[way](outer, 2.0), 24.0)


def test_a_leaf_that_was_tracked_in_another_transformation():
    kept = []
    nbgrad.grad(lambda x: (kept.append(track(5.0)), x * x)[1])(1.0)
    (leaf,) = kept
    for way in ("grad", "value_and_grad", "vjp", "jvp", "linearize", "transpose", "reverse"):
        for f in (lambda x: leaf * x, lambda x: x * leaf):
            found = WAYS[way](f, 2.0)
            assert (found.item() if isinstance(found, nbgrad.TrackedArray) else found) == 5.0
    (leaf * leaf).backward()
    assert leaf.grad == 10.0


def test_training_by_leaves_inside_of_a_derivative():
    """A step of descent on leaves of its own, as a function of the rate."""

    def after(rate):
        w = track(2.0)
        (w * w).backward()
        return (w.data - rate * w.grad) ** 2

    assert nbgrad.grad(after)(0.1) == pytest.approx(2 * 1.6 * -4.0)
    assert nbgrad.jvp(after, (0.1,), (1.0,))[1] == pytest.approx(2 * 1.6 * -4.0)
