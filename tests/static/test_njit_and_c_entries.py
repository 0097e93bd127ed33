"""How compiled programs are called from @njit code and from C."""

import ctypes
import gc
import sys

import numba
import numpy as np
import pytest
from helpers.calls import allocations, close, energy, example, large, loss, table
from scipy import LowLevelCallable, integrate

import nbgrad
from nbgrad.errors import TraceError

# -- from @njit code --------------------------------------------------------------------------


def test_njit_in_prange(rng):
    f = nbgrad.compile(nbgrad.value_and_grad(energy)).variant(np.ones(6)).njit

    @numba.njit(parallel=True)
    def each(xs, values, gradients):
        for i in numba.prange(len(xs)):
            value, gradient = f(xs[i])
            values[i] = value
            gradients[i] = gradient

    xs = rng.normal(size=(200, 6))
    values, gradients = np.empty(200), np.empty((200, 6))
    each(xs, values, gradients)
    np.testing.assert_allclose(values, np.sum(np.tanh(xs) * xs, axis=1), rtol=1e-12)
    close(gradients, nbgrad.grad(lambda x: np.sum(energy(x)))(xs))


def test_njit_refuses_another_shape_where_it_can_be_caught():
    f = nbgrad.compile(energy).variant(np.ones(3)).njit

    @numba.njit
    def guarded(x):
        try:
            return f(x)
        except Exception:
            return -1.0

    assert guarded(np.ones(4)) == -1.0
    assert guarded(np.ones(3)) == pytest.approx(3 * np.tanh(1))


@pytest.mark.parametrize("step", [1, 2])
def test_njit_holds_its_arguments_no_longer_than_the_call(step):
    x = np.ones(12)[::step]
    f = nbgrad.compile(energy).variant(x).njit
    f(x)
    held = sys.getrefcount(x)
    for _ in range(5):
        f(x)
    assert sys.getrefcount(x) == held


@pytest.mark.parametrize("size", [5, 300])
def test_njit_keeps_copies_of_strided_arrays_alive(rng, size):
    x = rng.normal(size=(size, 600))[:, ::2]
    f = nbgrad.compile(lambda x: np.sum(np.exp(x) @ np.sin(x).T)).variant(x).njit

    @numba.njit
    def twice(x):
        return f(x) + f(x)

    assert twice(x) == pytest.approx(2 * np.sum(np.exp(x) @ np.sin(x).T))


def test_njit_into_writes_and_allocates_nothing(rng):
    p, x = example(rng)
    variant = nbgrad.compile(nbgrad.value_and_grad(loss)).variant(p, x)
    into = variant.njit_into

    @numba.njit
    def many(b, w, x, db, dw, n):
        total = 0.0
        for _ in range(n):
            total += into(b, w, x, db, dw)
        return total

    db, dw = np.empty(4), np.empty((3, 4))
    many(p["b"], p["w"], x, db, dw, 1)
    before = allocations()
    many(p["b"], p["w"], x, db, dw, 1)
    once = allocations() - before
    value = many(p["b"], p["w"], x, db, dw, 100) / 100
    assert allocations() - before == 2 * once  # what Numba counts for the arguments
    expected, gradient = nbgrad.value_and_grad(loss)(p, x)
    close([value, db, dw], [expected, gradient["b"], gradient["w"]])
    with pytest.raises(ValueError, match=r"results float64\[4\], float64\[3, 4\]"):
        into(p["b"], p["w"], x, np.empty(5), dw)
    with pytest.raises(numba.TypingError, match=r"array of results, np\.empty\(x\.shape\)"):
        into(p["b"], p["w"], x, db, np.asfortranarray(dw))


def test_njit_into_copies_and_captures(rng):
    x, c = rng.normal(size=(2, 4))
    variant = nbgrad.compile(lambda x: (x, c * x, c * x)).variant(x)
    outs = [np.empty(4) for _ in range(3)]
    assert variant.njit_into(x, *outs) is None
    close(outs, [x, c * x, c * x])


def test_newton_in_njit():
    step = (
        nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.cosh(x))))
        .variant(np.ones(3))
        .njit_into
    )

    @numba.njit
    def minimise(x, steps):
        gradient = np.empty_like(x)
        value = 0.0
        for _ in range(steps):
            value = step(x, gradient)
            x -= 0.5 * gradient
        return value

    x = np.array([0.5, -0.25, 1.0])
    assert minimise(x, 60) == pytest.approx(3.0)
    np.testing.assert_allclose(x, 0.0, atol=1e-8)


# -- C functions ------------------------------------------------------------------------------


def test_address_from_ctypes(rng):
    c = rng.normal(size=4)

    def f(x, s, n):
        return np.sum(np.tanh(x * s + c)) * n, x, np.cumsum(x) * s

    x, s, n = rng.normal(size=4), np.array(0.5), np.array(3)
    variant = nbgrad.compile(f).variant(x, 0.5, 3)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(variant.address)
    results = [np.empty(()), np.empty(4), np.empty(4)]
    call(table([x, s, n]), table(results))
    close(results, f(x, 0.5, 3))
    gc.collect()
    call(table([x, s, n]), table(results))
    close(results, f(x, 0.5, 3))


def test_address_of_a_gradient_with_large_scratch(rng):
    x = rng.uniform(size=(300, 300))
    variant = nbgrad.compile(nbgrad.value_and_grad(large)).variant(x)
    assert variant.signature.large
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(variant.address)
    results = [np.empty(()), np.empty((300, 300))]
    call(table([x]), table(results))
    close(results, nbgrad.value_and_grad(large)(x), rtol=1e-9)


def test_integrators_call_it():
    def f(x, a):
        return np.exp(-a * x * x)

    slope = nbgrad.compile(nbgrad.grad(f, 1)).variant(0.0, 1.0).cfunc("quad")
    found = integrate.quad(LowLevelCallable(slope.ctypes), -np.inf, np.inf, args=(2.0,))[0]
    assert found == pytest.approx(-0.5 * np.sqrt(np.pi) * 2.0**-1.5)
    vector = nbgrad.compile(lambda v: np.sum(v * v)).variant(np.ones(2)).cfunc("quad")
    found = integrate.nquad(LowLevelCallable(vector.ctypes), [[0, 1], [0, 1]])[0]
    assert found == pytest.approx(2 / 3)


def test_metropolis_in_njit_and_the_same_means_by_quadrature():
    """Langevin steps with acceptance: draws from exp(-energy), whose means quad knows too."""

    def height(x):
        return x**4 / 4 - x * x / 2 + 0.3 * x

    both = nbgrad.compile(nbgrad.value_and_grad(height)).variant(0.0).njit

    @numba.njit
    def walk(steps, h, random):
        x, total, of_slopes = 0.0, 0.0, 0.0
        energy, slope = both(x)
        for _ in range(steps):
            new = x - h * slope + np.sqrt(2 * h) * random.normal()
            new_energy, new_slope = both(new)
            forth = (new - x + h * slope) ** 2 / (4 * h)
            back = (x - new + h * new_slope) ** 2 / (4 * h)
            if np.log(random.random()) < energy - new_energy + forth - back:
                x, energy, slope = new, new_energy, new_slope
            total += x
            of_slopes += x * slope
        return total / steps, of_slopes / steps

    def mean(f):
        made = nbgrad.compile(f).variant(0.0).cfunc("quad")
        return integrate.quad(LowLevelCallable(made.ctypes), -8.0, 8.0)[0]

    whole = mean(lambda x: np.exp(-height(x)))
    first = mean(lambda x: x * np.exp(-height(x))) / whole
    second = mean(lambda x: x * nbgrad.grad(height)(x) * np.exp(-height(x))) / whole
    assert second == pytest.approx(1.0, rel=1e-9)  # integration by parts
    assert walk(400_000, 0.2, np.random.default_rng(3)) == pytest.approx((first, second), abs=0.02)


def test_right_hand_sides():
    def f(t, u, p):
        return np.stack([u[1] * p[0], -u[0] * p[1] + t])

    u, p = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    made = nbgrad.compile(f).variant(0.5, u, p).cfunc("ode")
    du = np.empty(2)
    made.ctypes(0.5, *(a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (u, du, p)))
    close(du, f(0.5, u, p))
    same = nbgrad.compile(lambda t, u: u).variant(0.0, u).cfunc("ode")
    same.ctypes(0.5, *(a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (u, du, p)))
    close(du, u)
    other = nbgrad.compile(lambda t, u, p: p).variant(0.0, u, p).cfunc("ode")
    other.ctypes(0.5, *(a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (u, du, p)))
    close(du, p)


def test_c_functions_with_large_scratch(rng):
    def f(x):
        return np.sum(np.exp(x @ x) @ x)

    x = rng.normal(size=(300, 300)) / 300
    variant = nbgrad.compile(f).variant(x)
    assert variant.signature.large
    table = lambda *arrays: (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))  # noqa: E731
    out = np.zeros(1)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(variant.address)(table(x), table(out))
    close(out[0], f(x))
    made = variant.cfunc("quad").ctypes
    place = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    close(made(x.size, place, None), f(x))
    assert np.isnan(made(x.size - 1, place, None))


def test_c_functions_say_what_they_are_for():
    vector = nbgrad.compile(lambda x: x * 2.0).variant(np.ones(2))
    with pytest.raises(TraceError, match="return one number"):
        vector.cfunc("quad")
    with pytest.raises(TraceError, match="f\\(t, u\\)"):
        vector.cfunc("ode")
    with pytest.raises(TraceError, match="float64"):
        nbgrad.compile(lambda n: n * 2.0).variant(3).cfunc("quad")
    with pytest.raises(ValueError, match="quad"):
        vector.cfunc("spline")
