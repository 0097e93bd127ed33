"""Every transformation takes every kind of Numba function, every kind of argument, and refuses the
rest by name."""

import copy
import pickle
import threading
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
import pytest
from scipy import LowLevelCallable, integrate

import nbgrad
from nbgrad.scipy.integrate import odeint

X, V, K = np.array([0.3, -0.2, 0.9]), np.array([1.0, 2.0, -1.0]), 1.5


def misfit(x, k=1.5):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += k * (x[i + 1] - x[i] * x[i]) ** 2 + x[i] * 0.1
    return total


def wanted(x, k=1.5):
    return k * np.sum((x[1:] - x[:-1] ** 2) ** 2) + 0.1 * np.sum(x[:-1])


SLOPE, CURVE = nbgrad.grad(wanted)(X), nbgrad.hessian(wanted)(X)
KINDS = {
    "numba": numba.njit(misfit),
    "nbgrad": nbgrad.njit(misfit),
    "of numba": nbgrad.njit(numba.njit(misfit)),
    "fastmath": nbgrad.njit(fastmath=True)(misfit),
    "boundscheck": nbgrad.njit(boundscheck=True)(misfit),
    "error model": nbgrad.njit(error_model="numpy")(misfit),
    "cache": nbgrad.njit(cache=True)(misfit),
    "inline": nbgrad.njit(inline="always")(misfit),
    "nogil": nbgrad.njit(nogil=True)(misfit),
    "signature": nbgrad.njit("float64(float64[:], float64)")(misfit),
    "signatures": nbgrad.njit(["float64(float64[:], float64)"])(misfit),
    "copied": copy.copy(nbgrad.njit(misfit)),
    "pickled": pickle.loads(pickle.dumps(nbgrad.njit(misfit))),
    "partial": partial(nbgrad.njit(misfit), k=K),
}
EAGER = {
    "call": (lambda f: f(X, k=K), wanted(X)),
    "grad": (lambda f: nbgrad.grad(f)(X, k=K), SLOPE),
    "value_and_grad": (lambda f: nbgrad.value_and_grad(f)(X, k=K)[1], SLOPE),
    "vjp": (lambda f: nbgrad.vjp(f, X, k=K)[1](1.0)[0], SLOPE),
    "pullback": (lambda f: nbgrad.pullback(f, X, k=K)[1](1.0)[1], SLOPE),
    "jvp": (lambda f: nbgrad.jvp(lambda x: f(x, k=K), (X,), (V,))[1], SLOPE @ V),
    "jacobian": (lambda f: nbgrad.jacobian(f)(X, k=K), SLOPE),
    "forward": (lambda f: nbgrad.jacobian(f, mode="forward")(X, k=K), SLOPE),
    "hessian": (lambda f: nbgrad.hessian(f)(X, k=K), CURVE),
    "hvp": (lambda f: nbgrad.hvp(f)(X, V, k=K), CURVE @ V),
    "vmap": (lambda f: nbgrad.vmap(f)(np.stack([X, V]), k=K), [wanted(X), wanted(V)]),
    "map": (lambda f: nbgrad.map(lambda x: f(x, k=K), np.stack([X, V])), [wanted(X), wanted(V)]),
    "linearize": (lambda f: nbgrad.linearize(f, X, k=K)[1](V), SLOPE @ V),
    "checkpoint": (lambda f: nbgrad.grad(nbgrad.checkpoint(f))(X, k=K), SLOPE),
    "tracked": (lambda f: backward(f, nbgrad.track(X)), SLOPE),
    "loop": (lambda f: nbgrad.grad(looped)(X, f), 6.0 * SLOPE),
    "scan": (lambda f: nbgrad.grad(scanned)(X, f), 3.0 * SLOPE),
    "while": (lambda f: nbgrad.grad(repeated)(X, f), 2.0 * SLOPE),
    "cond": (lambda f: nbgrad.grad(branched)(X, f), 2.0 * SLOPE),
}
COMPILED = {
    "compile": (lambda f: nbgrad.compile(f)(X, k=K), wanted(X)),
    "gradient": (lambda f: nbgrad.compile(nbgrad.grad(f))(X, k=K), SLOPE),
    "inside": (lambda f: nbgrad.grad(nbgrad.compile(f))(X, k=K), SLOPE),
    "loops": (lambda f: nbgrad.compile(nbgrad.grad(lambda x: controlled(x, f)))(X), 13.0 * SLOPE),
}


def backward(f, x):
    (2.0 * f(x, k=K)).backward()
    return x.grad / 2.0


def looped(x, f):
    return nbgrad.loop(3, lambda i, total: total + f(x, k=K) * (i + 1.0), 0.0)


def scanned(x, f):
    return nbgrad.scan(lambda c, s: (c + f(x, k=K) * s, c), 0.0, np.ones(3))[0]


def repeated(x, f):
    once = wanted(X)
    return nbgrad.while_loop(
        lambda t: t < 1.5 * once, lambda t: t + f(x, k=K), 0.0 * x[0], max_steps=9
    )


def branched(x, f):
    return nbgrad.cond(x[0] < 0.0, lambda x: f(x, k=K), lambda x: 2.0 * f(x, k=K), x)


def controlled(x, f):
    return looped(x, f) + scanned(x, f) + repeated(x, f) + branched(x, f)


@pytest.mark.parametrize("kind", KINDS)
def test_transformations(kind):
    ways = EAGER if kind == "boundscheck" else EAGER | COMPILED
    for name, (way, value) in ways.items():
        np.testing.assert_allclose(way(KINDS[kind]), value, rtol=1e-10, atol=1e-12, err_msg=name)


def test_what_is_refused():
    with pytest.raises(nbgrad.NoRuleError, match="boundscheck=True"):
        nbgrad.compile(KINDS["boundscheck"])(X)
    signed = numba.njit("float64(float64[:], float64)")(misfit)
    np.testing.assert_allclose(nbgrad.grad(signed)(X, K), SLOPE)
    with pytest.raises(nbgrad.UntrackedError, match=r"wrap it by nbgrad.njit\(misfit\)"):
        signed(nbgrad.track(X), K)

    @numba.vectorize
    def product(x, y):
        return x * y

    with pytest.raises(nbgrad.NoRuleError, match="product has no derivative rule"):
        nbgrad.grad(lambda x: np.sum(product(x, x)))(X)
    for f, message in (
        (product, "product is of type DUFunc"),
        (3, "not a function but a value of type int"),
        (partial(misfit, k=K), "is of type partial"),
    ):
        with pytest.raises(TypeError, match=f"njit: .*{message}"):
            nbgrad.njit(f)


def squares(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


class Subclass(np.ndarray):
    pass


def read_only(x):
    x.flags.writeable = False
    return x


def test_arrays_of_all_layouts(tmp_path):
    f, base = nbgrad.njit(squares), np.arange(1.0, 7.0)
    on_disk = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=(6,))
    on_disk[:] = base
    swapped = base.astype(base.dtype.newbyteorder())
    unaligned = np.frombuffer(b"x" + base.tobytes(), np.uint8)[1:].view(np.float64)
    for x in (
        base[::-1], base[::2], read_only(base.copy()), on_disk, base.view(Subclass), base[:0],
        base.astype(np.float32), swapped, unaligned, np.broadcast_to(2.0, (3,)),
    ):  # fmt: skip
        for way in (
            nbgrad.grad, lambda f: nbgrad.compile(nbgrad.grad(f)), nbgrad.jacobian,
            lambda f: lambda z: nbgrad.vmap(nbgrad.grad(f))(np.stack([z, z]))[1],
        ):  # fmt: skip
            np.testing.assert_allclose(way(f)(x), 2.0 * np.asarray(x, float))
    for x, kind, message in (
        (base.astype(np.float16), nbgrad.NoRuleError, "squares: an argument of dtype float16"),
        (base.astype(np.clongdouble), nbgrad.NoRuleError, "an argument of dtype complex256"),
        ([1.0, 2.0], nbgrad.NoRuleError, "squares: an argument of type list"),
        (np.ma.array(base), TypeError, "a masked array, whose mask would be lost"),
        (base.astype(int), TypeError, "holds no float to differentiate"),
    ):
        with pytest.raises(kind, match=message):
            nbgrad.grad(f)(x)


class Pair(NamedTuple):
    a: np.ndarray
    b: float


def of_pairs(p, q):
    return p.a[0] * p.b + q[0][1] * q[1]


def scaled(x, *rest):
    for r in rest:
        x = x * r
    return x


def test_nested_and_starred_arguments():
    p, q = Pair(np.array([2.0, 1.0]), 3.0), ((1.0, 2.0), 5.0)
    for way in (lambda f: f, nbgrad.compile):
        by_p, by_q = way(nbgrad.grad(nbgrad.njit(of_pairs), (0, 1)))(p, q)
        assert isinstance(by_p, Pair) and list(by_p.a) == [3.0, 0.0] and by_p.b == 2.0
        assert by_q == ((0.0, 5.0), 2.0)
    f = nbgrad.njit(scaled)
    assert nbgrad.grad(f, (0, 2))(2.0, 3.0, 4.0) == (12.0, 6.0)
    assert nbgrad.grad(f)(2.0) == 1.0
    x = nbgrad.track(2.0)
    f(x, 3.0, x).backward()
    assert float(x.grad) == 12.0


def test_methods():
    class Model:
        def __init__(self):
            self.w = 3.0

        @staticmethod
        @nbgrad.njit
        def product(x, y):
            return x * y

        def __call__(self, x):
            return self.product(x, self.w)

    assert nbgrad.grad(Model())(2.0) == 3.0
    assert nbgrad.grad(Model().product, 1)(2.0, 3.0) == 2.0


def test_programs_of_several_calls_and_shapes():
    f = nbgrad.njit(misfit)

    def program(f, x, w):
        return 2.0 * f(x, 1.0) + f(np.exp(w * x), w) + np.sum(np.sin(x)) * f(x[1:], 1.0)

    for options in ({}, {"dynamic": {"x": ("n",)}}):
        step = nbgrad.compile(
            nbgrad.value_and_grad(lambda x, w: program(f, x, w), (0, 1)), **options
        )
        for n in (3, 5, 2):
            x = np.linspace(0.1, 0.9, n)
            value, slopes = step(x, 0.5)
            other, known = nbgrad.value_and_grad(lambda x, w: program(wanted, x, w), (0, 1))(x, 0.5)
            np.testing.assert_allclose(value, other, rtol=1e-12)
            for found, each in zip(slopes, known, strict=True):
                np.testing.assert_allclose(found, each, rtol=1e-11)


def integrand(s, a):
    y = 0.0
    for _ in range(3):
        y = y * s + a
    return y


def decay(y, t, k):
    out = np.empty_like(y)
    for i in range(y.size):
        out[i] = -k * y[i]
    return out


def residuals(p, t, y):
    out = np.empty(t.size)
    for i in range(t.size):
        out[i] = p[0] * np.exp(-p[1] * t[i]) - y[i]
    return out


def test_solvers():
    t = np.linspace(0.0, 1.0, 9)
    args = (t, 2.0 * np.exp(-1.5 * t))
    fit = nbgrad.scipy.least_squares(nbgrad.njit(residuals), np.ones(2), args=args)
    np.testing.assert_allclose(fit.x, [2.0, 1.5], rtol=1e-6)
    root = nbgrad.scipy.root(nbgrad.njit(lambda z, c: z * z - c), np.ones(2), args=(2.0,))
    np.testing.assert_allclose(root.x, np.sqrt([2.0, 2.0]))
    least = nbgrad.scipy.minimize(nbgrad.njit(squares), np.ones(2))
    np.testing.assert_allclose(least.x, np.zeros(2), atol=1e-6)
    rate, times = nbgrad.njit(decay), np.array([0.0, 1.0])
    end = lambda k: odeint(rate, np.ones(1), times, (k,))[-1, 0]  # noqa: E731
    np.testing.assert_allclose(nbgrad.grad(end)(2.0), -np.exp(-2.0), rtol=1e-5)
    slope = nbgrad.compile(nbgrad.grad(nbgrad.njit(integrand), 1))
    slope(0.5, 2.0)
    found = integrate.quad(LowLevelCallable(slope.cfunc("quad").ctypes), 0.0, 1.0, args=(2.0,))
    np.testing.assert_allclose(found[0], 11.0 / 6.0)


def test_entries_of_a_program():
    step = nbgrad.compile(nbgrad.value_and_grad(nbgrad.njit(misfit)))
    assert step(X, K)[0] == pytest.approx(wanted(X))
    room, into = np.empty(3), step.njit_into
    step(X, K, out=(0.0, room))
    np.testing.assert_allclose(room, SLOPE)
    room[:] = 0.0

    @numba.njit
    def descend(x, k, room):
        return into(x, k, room)

    assert descend(X, K, room) == pytest.approx(wanted(X))
    np.testing.assert_allclose(room, SLOPE)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(step))(X, K)[1], SLOPE)
    np.testing.assert_allclose(copy.deepcopy(step)(X, K)[1], SLOPE)


def test_threads_share_a_derivative():
    slope = nbgrad.grad(nbgrad.njit(lambda x: np.sum(np.exp(x) * x)))
    xs = np.random.default_rng(0).normal(size=(16, 5))
    found, barrier = np.zeros((16, 5)), threading.Barrier(4)

    def work(first):
        barrier.wait()
        for i in range(first, 16, 4):
            found[i] = slope(xs[i])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(found, np.exp(xs) * (1.0 + xs), rtol=1e-12)


def test_losses_of_shards():
    loss = nbgrad.njit(misfit)
    with nbgrad.parallel.value_and_grad(loss, reduce="sum") as both:
        value, slope = both(X, [(1.0,), (2.0,)])
    np.testing.assert_allclose(value, wanted(X, 1.0) + wanted(X, 2.0))
    np.testing.assert_allclose(slope, 2.0 * SLOPE)
