"""Forward mode against differences and reverse mode; forward over reverse against differences of
gradients."""

import numpy as np
import pytest
from helpers.daily import pairs
from helpers.loops.calls import (
    Bent,
    Pulled,
    Pushed,
    copied,
    directions,
    dotted,
    is_array,
    kinds,
    moved,
)
from helpers.loops.kernels import kernels
from helpers.loops.programs import programs

from nbgrad.errors import NoRuleError
from nbgrad.loops.maker import Forward, Reverse

EVERY = [*kernels(), *programs()]


def names(cases):
    return [f"{f.__name__}{i}" for i, (f, _, _) in enumerate(cases)]


each = pytest.mark.parametrize(("function", "wrt", "args"), EVERY, ids=names(EVERY))


def ends(function, args):
    """Results of a function run as Python, and its arrays at the end."""
    args = copied(args)
    out = function(*args)
    return list(out) if isinstance(out, tuple) else [out], args


def close(x, y, tolerance, scale=None):
    scale = np.max(np.abs(y), initial=1.0) if scale is None else scale
    np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale)


@each
def test_tangents_agree_with_differences(function, wrt, args):
    v = directions(args, wrt)
    pushed = Pushed(Forward(function, kinds(args), wrt), args, v)
    values, arrays = ends(function, args)
    assert pushed.results == pytest.approx(values, rel=1e-14, abs=0)
    eps = 1e-6
    (up, up_arrays), (down, down_arrays) = (
        ends(function, moved(args, v, step)) for step in (eps, -eps)
    )
    for x, y, dot in zip(up, down, pushed.dots, strict=True):
        close(dot, (x - y) / (2 * eps), 1e-6)
    for i, x in enumerate(arrays):
        if is_array(x):
            close(pushed.arrays[i], x, 1e-14)
            close(pushed.array_dots[i], (up_arrays[i] - down_arrays[i]) / (2 * eps), 1e-6)


@pytest.mark.parametrize(("name", "dtype"), [
    *((name, np.float64) for name in names(EVERY)),
    *pairs(names(EVERY), [np.float32], of=5),
])  # fmt: skip
def test_tangents_and_cotangents_are_adjoint(name, dtype):
    """<J v, w> = <v, J' w>, where arrays that are written are results, too."""
    function, wrt, args = EVERY[names(EVERY).index(name)]
    args = [x.astype(dtype) if is_array(x) else x for x in args]
    v = directions(args, wrt)
    forward, reverse = Forward(function, kinds(args), wrt), Reverse(function, kinds(args), wrt)
    pushed = Pushed(forward, args, v)
    w = directions(args, [i for i in wrt if is_array(args[i])], 1)
    seeds = np.random.default_rng(2).normal(size=len(pushed.results))
    pulled = Pulled(reverse, args, seeds, w)
    left = float(np.dot(pushed.dots, seeds)) + dotted(w, pushed.array_dots)
    right = dotted(v, pulled.gradient)
    scale = sum(float(np.sum(np.abs(np.multiply(v[i], g)))) for i, g in pulled.gradient.items())
    close(left, right, 1e-12 if dtype == np.float64 else 1e-5, max(scale, 1.0))
    assert pulled.results == pytest.approx(pushed.results, rel=1e-14, abs=0)


SCALAR = [case for case in EVERY if case[0].__name__ != "two_results"]


def scalar(of):
    """One of every `of` programs each time, and the others with the long tests."""
    return pytest.mark.parametrize(
        ("function", "wrt", "args"),
        [
            pytest.param(*case, id=name, marks=() if i % of == 0 else pytest.mark.full)
            for i, (case, name) in enumerate(zip(SCALAR, names(SCALAR), strict=True))
        ],
    )


@scalar(1)
def test_hessian_vector_products(function, wrt, args):
    """Against differences of gradients, against reverse over forward, and symmetric."""
    u, v = directions(args, wrt), directions(args, wrt, 1)
    reverse = Reverse(function, kinds(args), wrt)
    second = Forward(reverse, (), wrt)
    bent, other = Bent(second, args, u), Bent(second, args, v)
    plain = Pulled(reverse, args)
    eps = 1e-6
    up, down = (Pulled(reverse, moved(args, u, step)).gradient for step in (eps, -eps))
    for i in wrt:
        close(bent.gradient[i], plain.gradient[i], 1e-13)
        close(bent.product[i], (up[i] - down[i]) / (2 * eps), 1e-5)
    assert bent.slope == pytest.approx(dotted(plain.gradient, u), rel=1e-11, abs=1e-11)
    left, right = dotted(bent.product, v), dotted(other.product, u)
    scale = sum(float(np.sum(np.abs(np.multiply(v[i], x)))) for i, x in bent.product.items())
    close(left, right, 1e-11, max(scale, 1.0))


@scalar(2)
def test_reverse_over_forward_is_forward_over_reverse(function, wrt, args):
    u = directions(args, wrt)
    forward = Forward(function, kinds(args), wrt)
    expected = Bent(Forward(Reverse(function, kinds(args), wrt), (), wrt), args, u).product
    dots = [u.get(i, np.zeros_like(args[i])) for i in forward.shadows]
    numbers = [u[i] for i in sorted(wrt) if not is_array(args[i])]
    back = Pulled(Reverse(forward, (), wrt), [*args, *dots, *numbers], (0.0, 1.0))
    for i in wrt:
        close(back.gradient[i], expected[i], 1e-11)


@scalar(3)
def test_third_derivatives(function, wrt, args):
    u = directions(args, wrt)
    second = Forward(Reverse(function, kinds(args), wrt), (), wrt)
    third = Forward(second, (), wrt)
    inner = second.function
    shadows = [np.zeros_like(args[i]) for i in inner.shadows]
    given = [*args, *shadows, 1.0]
    dots = [u.get(i, np.zeros_like(given[i])) for i in second.shadows]
    numbers = [u[i] for i in sorted(wrt) if not is_array(args[i])]
    pushed = Pushed(third, [*given, *dots, *numbers], u)
    eps = 1e-5
    up, down = (Bent(second, moved(args, u, step), u).product for step in (eps, -eps))
    found = dict(zip(inner.shadows, range(len(args), len(given)), strict=False))
    places = {place: len(given) + k for k, place in enumerate(second.shadows)}
    count = len(inner.made.results)
    tail = iter(pushed.dots[count + len(inner.primal[0].results) :])
    for i in wrt:
        if is_array(args[i]):
            at = places.get(found[i], -1)
            dot = pushed.array_dots.get(at, np.zeros_like(args[i]))
        else:
            dot = next(tail)
        close(dot, (up[i] - down[i]) / (2 * eps), 2e-5)


@scalar(1)
def test_reverse_over_reverse(function, wrt, args):
    """The same as forward over reverse, or refused by name where there is a record."""
    u = directions(args, wrt)
    reverse = Reverse(function, kinds(args), wrt)
    n = len(args)
    shadows = [np.zeros_like(args[i]) for i in reverse.shadows]
    places = dict(zip(reverse.shadows, range(n, n + len(shadows)), strict=True))
    second = Reverse(reverse, (), (*wrt, *places.values()))
    try:
        _ = second.made
    except NoRuleError as refused:
        assert "take forward mode of it" in str(refused)
        assert function.__name__ not in ("jacobi", "gauss_seidel", "products")
        return
    expected = Bent(Forward(reverse, (), wrt), args, u).product
    seeds = [0.0, *(u[i] for i in wrt if not is_array(args[i]))]
    cotangents = {places[i]: u[i] for i in wrt if is_array(args[i])}
    pulled = Pulled(second, [*args, *shadows, 1.0], seeds, cotangents)
    for i in wrt:
        close(pulled.gradient[i], expected[i], 1e-11)
