"""Numba functions with loops under every transformation: values are Numba's, derivatives agree
with differences and with each other."""

import math
from typing import Any, cast

import numba
import numpy as np
import pytest
from helpers.daily import every_other
from helpers.loops.calls import copied, directions, dotted, moved
from helpers.loops.kernels import kernels
from helpers.loops.programs import programs

import nbgrad
from nbgrad.transforms.direct import callee

# All but the one that calls a function that Numba does not know.
EVERY = [case for case in (*kernels(), *programs()) if case[0].__name__ != "calling"]
each = pytest.mark.parametrize(
    ("function", "wrt", "args"),
    every_other(EVERY),
    ids=[f"{f.__name__}{i}" for i, (f, _, _) in enumerate(EVERY)],
)
SMOOTH = [case for case in kernels() if case[0].__name__ not in ("align", "barrier", "early")]
each_smooth = pytest.mark.parametrize(
    ("function", "wrt", "args"), SMOOTH, ids=[f.__name__ for f, _, _ in SMOOTH]
)


def of_floats(function, wrt, args):
    """A function of the arguments at some places, that writes to copies; and these arguments."""
    f = callee(nbgrad.njit(function))

    def of(*inputs):
        full = list(args)
        for i, x in zip(wrt, inputs, strict=True):
            full[i] = x
        return f(*full)

    return of, tuple(args[i] for i in wrt)


def flat(values):
    return np.concatenate([np.ravel(x) for x in values])


def weighted(result):
    """One number of a result."""
    if isinstance(result, tuple):
        return sum(x * (0.5 + i) for i, x in enumerate(result))
    return result


def slope(function, wrt, args, v, eps=1e-6):
    """The derivative along v by differences."""
    ends = [
        weighted(function(*copied(moved(args, v, by)))) for by in (eps, -eps)
    ]  # fmt: skip
    return (ends[0] - ends[1]) / (2 * eps)


@each
def test_values_are_those_of_numba(function, wrt, args):
    theirs: Any = numba.njit(function)
    wanted = theirs(*copied(args))
    of, xs = of_floats(function, wrt, args)
    value = nbgrad.vjp(of, *xs)[0]
    assert np.array_equal(flat(np.atleast_1d(value)), flat(np.atleast_1d(wanted)))
    assert nbgrad.njit(function)(*copied(args)) == wanted


@each
def test_gradients_agree_with_differences(function, wrt, args):
    of, xs = of_floats(function, wrt, args)
    before = copied(args)
    gradients = nbgrad.grad(lambda *xs: weighted(of(*xs)), tuple(range(len(xs))))(*xs)
    v = directions(args, wrt)
    assert dotted(dict(zip(wrt, gradients, strict=True)), v) == pytest.approx(
        slope(function, wrt, args, v), rel=1e-5, abs=1e-6
    )
    for x, y in zip(args, before, strict=True):
        assert np.array_equal(x, y)


@each
def test_tangents_agree_with_gradients(function, wrt, args):
    of, xs = of_floats(function, wrt, args)
    v = directions(args, wrt)
    value, tangent = nbgrad.jvp(of, xs, tuple(v.values()))
    assert np.array_equal(flat(np.atleast_1d(value)), flat(np.atleast_1d(of(*xs))))
    gradients = nbgrad.grad(lambda *xs: weighted(of(*xs)), tuple(range(len(xs))))(*xs)
    assert weighted(tangent) == pytest.approx(
        dotted(dict(zip(wrt, gradients, strict=True)), v), rel=1e-10, abs=1e-10
    )


@each_smooth
def test_second_derivatives(function, wrt, args):
    of, xs = of_floats(function, wrt, args)
    every = tuple(range(len(xs)))
    v = directions(args, wrt)
    gradients = nbgrad.grad(of, every)
    forward = nbgrad.jvp(gradients, xs, tuple(v.values()))[1]
    backward = nbgrad.grad(
        lambda *xs: sum(np.sum(g * d) for g, d in zip(gradients(*xs), v.values(), strict=True)),
        every,
    )(*xs)
    ends = [flat(gradients(*(moved(args, v, by)[i] for i in wrt))) for by in (1e-6, -1e-6)]
    wanted = (ends[0] - ends[1]) / 2e-6
    scale = max(1.0, np.max(np.abs(wanted)))
    np.testing.assert_allclose(flat(forward), wanted, rtol=0, atol=1e-4 * scale)
    np.testing.assert_allclose(flat(backward), flat(forward), rtol=0, atol=1e-10 * scale)


@each_smooth
def test_compiled_programs(function, wrt, args):
    f = nbgrad.njit(function)
    value, gradients = nbgrad.value_and_grad(f, wrt)(*args)
    compiled = nbgrad.compile(nbgrad.value_and_grad(f, wrt))
    own, found = compiled(*args)
    assert own == value
    np.testing.assert_allclose(flat(found), flat(gradients), rtol=1e-12, atol=1e-13)


def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


def energy(x):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += (x[i + 1] - x[i] * x[i]) ** 2 + x[i] * 0.1
    return total


def test_elementary_functions_in_compiled_programs():
    def waves(v):
        return np.cos(v[0]) * np.exp(v[1]) + math.erf(v[0]) + v[0] ** v[1]

    f = nbgrad.njit(waves)
    x = np.array([0.3, 0.4])
    value, slope = nbgrad.compile(nbgrad.value_and_grad(f))(x)
    assert value == pytest.approx(f(x), rel=1e-15)
    np.testing.assert_allclose(slope, nbgrad.grad(f)(x), rtol=1e-14)


def test_any_order():
    f = nbgrad.njit(power)
    g = f
    for order in range(1, 5):
        g = nbgrad.grad(g)
        wanted = np.prod([6.0 - k for k in range(order)]) * 1.3 ** (6 - order)
        assert g(1.3, 6) == pytest.approx(wanted, rel=1e-12)
    h = lambda x: nbgrad.jvp(nbgrad.grad(nbgrad.grad(f)), (x, 6), (1.0, None))[1]  # noqa: E731
    assert h(1.3) == pytest.approx(120 * 1.3**3, rel=1e-12)


def test_hessians():
    f, x = nbgrad.njit(energy), np.array([0.3, -0.2, 0.9])
    hessian = nbgrad.hessian(f)(x)
    wanted = nbgrad.jacobian(nbgrad.grad(energy_of))(x)
    np.testing.assert_allclose(hessian, wanted, rtol=1e-12, atol=1e-12)
    v = np.array([1.0, 2.0, -1.0])
    np.testing.assert_allclose(nbgrad.hvp(f)(x, v), wanted @ v, rtol=1e-12)
    compiled = nbgrad.compile(nbgrad.hessian(f))
    np.testing.assert_allclose(compiled(x), wanted, rtol=1e-12, atol=1e-12)


def energy_of(x):
    return np.sum((x[1:] - x[:-1] ** 2) ** 2 + 0.1 * x[:-1])


def test_other_transformations():
    f, x = nbgrad.njit(energy), np.array([0.3, -0.2, 0.9])
    slope = nbgrad.grad(energy_of)(x)
    close = lambda y: np.testing.assert_allclose(y, slope, rtol=1e-12)  # noqa: E731
    close(nbgrad.jacobian(f)(x))
    close(nbgrad.jacobian(f, mode="forward")(x))
    close(nbgrad.grad(nbgrad.checkpoint(f))(x))
    close(nbgrad.linearize(f, x)[1].transpose(1.0)[0])
    close(nbgrad.pullback(f, x)[1](1.0)[1])
    close(nbgrad.grad(numba.njit(energy))(x))
    nbgrad.check_grads(f, (x,), order=2)
    loop = lambda x: nbgrad.loop(3, lambda i, total: total + f(x) * (i + 1.0), 0.0)  # noqa: E731
    np.testing.assert_allclose(nbgrad.grad(loop)(x), 6.0 * slope, rtol=1e-12)
    np.testing.assert_allclose(nbgrad.compile(nbgrad.grad(loop))(x), 6.0 * slope, rtol=1e-12)


def test_minimize():
    found = nbgrad.scipy.minimize(nbgrad.njit(energy), np.zeros(4), method="BFGS")
    assert found.success
    assert np.max(np.abs(nbgrad.grad(energy_of)(found.x))) < 1e-4


def test_entries_of_compiled_programs():
    f, x = nbgrad.njit(energy), np.array([0.3, -0.2, 0.9])
    compiled = nbgrad.compile(nbgrad.value_and_grad(f))
    value, slope = compiled(x)

    @numba.njit
    def twice(x):
        value, slope = entry(x)
        return 2.0 * value, 2.0 * slope

    entry = compiled.njit
    found = twice(x)
    assert found[0] == 2.0 * value
    assert np.array_equal(found[1], 2.0 * slope)
    room = np.empty(3)
    nbgrad.compile(nbgrad.grad(f))(x, out=room)
    np.testing.assert_allclose(room, slope, rtol=1e-14)


def test_a_tracked_call_is_one_op():
    f = nbgrad.njit(energy)
    x = nbgrad.track(np.array([0.3, -0.2, 0.9]))
    value = f(x)
    assert type(value) is nbgrad.TrackedArray
    (2.0 * value).backward()
    np.testing.assert_allclose(x.grad, 2.0 * nbgrad.grad(energy_of)(x.data), rtol=1e-12)


def test_errors_of_calls_name_the_function_and_the_way_round():
    @nbgrad.njit
    def powers(x, n, table=None):
        s = 0.0
        for i in range(n):
            s += x[i] ** 2 if table is None else table[i]
        return s

    x, slope = np.ones(3), cast(Any, nbgrad.grad(powers))
    with pytest.raises(TypeError, match=r"powers: missing a required argument: 'n' \("):
        slope(x)
    with pytest.raises(TypeError, match="powers: too many positional arguments"):
        slope(x, 2, None, 4)
    with pytest.raises(TypeError, match=r"argument 1 holds no float.* by keyword, as a constant"):
        nbgrad.vjp(powers, x, 2)
    np.testing.assert_array_equal(nbgrad.vjp(powers, x, n=2)[1](1.0)[0], [2.0, 2.0, 0.0])
    with pytest.raises(nbgrad.NoRuleError, match="an element of 'abc', which is no array or tuple"):
        nbgrad.grad(powers)(x, 2, "abc")
