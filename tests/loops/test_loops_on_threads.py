"""Independent rounds of loops on several threads: the same bits for any number of threads."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest
from helpers.loops.threads import (
    batch,
    forces,
    gain,
    histogram,
    knocked_out,
    logarithm,
    long_sum,
    orbit,
    spread_out,
)

import nbgrad
from nbgrad.threads.pool import pieces_run


@pytest.fixture(autouse=True)
def default_threads():
    yield
    nbgrad.set_threads(None)


def cases():
    rng = np.random.default_rng(7)
    z = rng.normal(size=(1500, 60))
    weights = rng.normal(size=(16, 8)) * 0.3, rng.normal(size=16)
    samples = rng.normal(size=(700, 8)), rng.normal(size=700)
    bodies = rng.normal(size=(120, 2)), rng.normal(size=(120, 2)), 2
    return [
        (knocked_out, (z, 100.0, 0.4, 95.0), (0, 1, 2), True),
        (logarithm, (z, 100.0, 0.4, 95.0), (1, 2), False),
        (batch, (*weights, *samples), (0, 1), True),
        (forces, bodies, (0, 1), False),
    ]


def bits(value, gradients):
    return [np.asarray(x).tobytes() for x in (value, *gradients)]


@pytest.mark.parametrize(
    ("function", "args", "places", "is_fused"), cases(), ids=lambda x: getattr(x, "__name__", None)
)
def test_values_and_gradients(function, args, places, is_fused):
    f = nbgrad.njit(function)
    both = nbgrad.value_and_grad(f, places)
    found = []
    for count in (1, 2, 3):
        nbgrad.set_threads(count)
        before = sum(pieces_run())
        value, gradients = both(*args)
        assert sum(pieces_run()) - before > 2
        found.append(bits(value, gradients))
    assert found[0] == found[1] == found[2]
    assert value == f(*(x.copy() if isinstance(x, np.ndarray) else x for x in args))
    rng = np.random.default_rng(3)
    step, forward, backward = 1e-6, list(args), list(args)
    slope = 0.0
    for i, gradient in zip(places, gradients, strict=True):
        along = rng.normal(size=np.shape(args[i]))
        forward[i], backward[i] = args[i] + step * along, args[i] - step * along
        slope += np.sum(along * gradient)
    copies = [
        [x.copy() if isinstance(x, np.ndarray) else x for x in y] for y in (forward, backward)
    ]
    difference = (f(*copies[0]) - f(*copies[1])) / (2.0 * step)
    assert abs(slope - difference) < 1e-6 * max(1.0, abs(slope))
    assert ("several threads, forward and then backward" in f.plan) == is_fused
    assert "run on several threads" in f.plan


def test_short_loops_run_on_one_thread():
    rng = np.random.default_rng(5)
    nbgrad.set_threads(2)
    both = nbgrad.value_and_grad(nbgrad.njit(knocked_out), (1, 2))
    before = sum(pieces_run())
    both(rng.normal(size=(4, 5)), 100.0, 0.4, 95.0)
    assert sum(pieces_run()) == before


def test_products_with_hessians():
    """Records of the pieces, and their tangents."""
    rng = np.random.default_rng(9)
    z = rng.normal(size=(1500, 60))
    f = nbgrad.njit(logarithm)

    def of(p):
        return f(z, p[0], p[1], 95.0)

    p, along = np.array([100.0, 0.4]), np.array([0.3, -0.2])
    found = []
    for count in (1, 2):
        nbgrad.set_threads(count)
        found.append(nbgrad.hvp(of)(p, along))
    assert found[0].tobytes() == found[1].tobytes()
    slope, step = nbgrad.grad(of), 1e-5
    difference = (slope(p + step * along) - slope(p - step * along)) / (2.0 * step)
    np.testing.assert_allclose(found[0], difference, rtol=1e-4)


def test_inside_of_compiled_programs():
    rng = np.random.default_rng(11)
    z = rng.normal(size=(1500, 60))
    f = nbgrad.njit(knocked_out)

    def doubled(s, sigma):
        return 2.0 * f(z, s, sigma, 95.0)

    step = nbgrad.compile(nbgrad.value_and_grad(doubled, (0, 1)))
    expected = nbgrad.value_and_grad(doubled, (0, 1))(100.0, 0.4)
    step(100.0, 0.4)
    inner = step.njit

    @numba.njit
    def user(s, sigma):
        return inner(s, sigma)

    for count in (1, 2):
        nbgrad.set_threads(count)
        value, slopes = step(100.0, 0.4)
        assert (value, *slopes) == (expected[0], *expected[1])
        assert user(100.0, 0.4) == (value, *slopes)


def on_threads(call) -> tuple[Any, int]:
    """The bits of what a call gives, and the number of pieces; with 1, 2 and 3 threads."""
    found, counts = [], []
    for count in (1, 2, 3):
        nbgrad.set_threads(count)
        before = sum(pieces_run())
        leaves = call()
        counts.append(sum(pieces_run()) - before)
        leaves = leaves if isinstance(leaves, tuple) else (leaves,)
        found.append([np.asarray(x).tobytes() for x in leaves])
    assert found[0] == found[1] == found[2]
    assert counts[0] == counts[1] == counts[2]
    return leaves, counts[0]


def tracked(f):
    def call(p):
        return f(nbgrad.track(p)).data

    return call


TRANSFORMED = {
    "value": lambda f: lambda p: nbgrad.vjp(f, p)[0],
    "tracked": tracked,
    "compiled": lambda f: nbgrad.compile(f),
    "jvp": lambda f: lambda p: nbgrad.jvp(f, (p,), (np.ones(2),)),
    "linearize": lambda f: lambda p: nbgrad.linearize(f, p)[1](np.ones(2)),
    "hvp": lambda f: lambda p: nbgrad.hvp(f)(p, np.ones(2)),
    "hessian": nbgrad.hessian,
}


@pytest.mark.parametrize("kind", TRANSFORMED)
def test_what_runs_in_pieces(kind):
    z = np.random.default_rng(13).normal(size=(1500, 60))
    f = nbgrad.njit(logarithm)
    transformed = TRANSFORMED[kind](lambda p: f(z, p[0], p[1], 95.0))
    (found, *_), pieces = on_threads(lambda: transformed(np.array([100.0, 0.4])))
    assert pieces > 2
    if kind in ("value", "tracked", "compiled", "jvp"):
        assert found == f(z, 100.0, 0.4, 95.0)


def test_functions_that_numba_refuses():
    @nbgrad.njit
    def spreads(x, w):
        for i in range(x.shape[0]):
            w[i] = x[i].std(axis=0) + np.sum(np.exp(x[i]) * np.sin(x[i]))

    x = np.random.default_rng(2).normal(size=(500, 100))

    def call():
        w = np.zeros(500)
        spreads(x, w)
        return w

    (found,), pieces = on_threads(call)
    assert pieces > 2
    np.testing.assert_allclose(found, x.std(axis=1) + np.sum(np.exp(x) * np.sin(x), 1), rtol=1e-12)


SAMPLES = {
    "values": lambda f, n: nbgrad.vmap(lambda p: f(p, n)),
    "gradients": lambda f, n: nbgrad.vmap(nbgrad.grad(lambda p: f(p, n))),
    "jvp": lambda f, n: (
        lambda p: nbgrad.vmap(lambda q: nbgrad.jvp(lambda r: f(r, n), (q,), (q,))[1])(p)
    ),
    "hessians": lambda f, n: nbgrad.vmap(nbgrad.hessian(lambda p: f(p, n))),
    "compiled": lambda f, n: nbgrad.compile(nbgrad.vmap(nbgrad.grad(lambda p: f(p, n)))),
    "two levels": lambda f, n: (
        lambda p: nbgrad.vmap(nbgrad.vmap(lambda q: f(q, n)))(p.reshape(3, 100, 2)).reshape(300)
    ),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_samples_in_pieces(kind):
    f = nbgrad.njit(orbit)
    points = np.random.default_rng(17).uniform(1.0, 2.0, size=(300, 2))
    of_samples = SAMPLES[kind](f, 500)
    (found,), pieces = on_threads(lambda: of_samples(points))
    assert pieces > 2
    if kind == "compiled":
        of_samples = SAMPLES["gradients"](f, 500)
    one = np.concatenate([of_samples(points[[i, i, i]].repeat(100, 0))[:1] for i in (0, 157, 299)])
    np.testing.assert_array_equal(found[[0, 157, 299]], one)


@pytest.mark.parametrize("kind", ["values", "gradients", "compiled"])
def test_the_first_error_of_samples_is_raised(kind):
    f = nbgrad.njit(orbit)
    points = np.random.default_rng(17).uniform(1.0, 2.0, size=(300, 2))
    of_samples = SAMPLES[kind](f, 500)
    for first, second in ((20, 290), (290, 20)):
        points[:, 0] = 1.5
        points[first, 0], points[second, 0] = 50.0, -50.0
        expected = (ValueError, "grows") if first < second else (ArithmeticError, "shrinks")
        for count in (1, 2, 3):
            nbgrad.set_threads(count)
            with pytest.raises(expected[0], match=expected[1]):
                of_samples(points)


def test_rounds_that_add_to_the_same_elements():
    """Each piece has a copy of the array, which is added to it in the order of the pieces."""
    rng = np.random.default_rng(23)
    x, w, places = rng.normal(size=40_000), 0.7, rng.integers(0, 50, 40_000)
    f = nbgrad.njit(histogram)
    both: Any = nbgrad.value_and_grad(f, (0, 1))
    (value, by_x, by_w), pieces = on_threads(lambda: (lambda v, g: (v, *g))(*both(x, w, places)))
    assert pieces > 2
    np.testing.assert_allclose(value, f(x, w, places), rtol=1e-13)
    sums = np.bincount(places, np.sin(x) * w, 50)
    np.testing.assert_allclose(by_x, 2.0 * sums[places] * np.cos(x) * w, rtol=1e-11)
    np.testing.assert_allclose(by_w, 2.0 * np.sum(sums**2) / w, rtol=1e-11)
    moved, _ = on_threads(lambda: nbgrad.jvp(lambda w: f(x, w, places), (w,), (1.0,)))
    np.testing.assert_allclose(moved[1], by_w, rtol=1e-12)


def test_places_that_are_data_are_not_trusted():
    """`out[places[i]] = x` in a loop over `prange`: the last round must win, as in Numba."""
    f = nbgrad.njit(spread_out)
    x, places = np.linspace(0.0, 1.0, 40_000), np.zeros(40_000, int)
    value, slope = nbgrad.value_and_grad(f)(x, places)
    assert value == f(x, places) and slope[-1] == np.cos(1.0) and not slope[:-1].any()
    assert "they write to depends on data" in f.plan


def test_sums_over_prange_are_those_of_blocks():
    x = np.random.default_rng(29).normal(size=50_001)
    f = nbgrad.njit(long_sum)
    (value, slope), pieces = on_threads(lambda: nbgrad.value_and_grad(f)(x))
    assert pieces > 2
    np.testing.assert_allclose(slope, 2.0 * x * np.exp(x * x * 0.1) * (1.0 + 0.1 * x * x))
    blocks = [f(x[i : i + 13]) for i in range(0, x.size, 13)]
    total = 0.0
    for each in blocks:
        total += each
    assert value == total
    assert nbgrad.jvp(f, (x,), (x,))[0] == nbgrad.vjp(f, x)[0] == value
    assert nbgrad.vjp(f, x[:4000])[0] == f(x[:4000])  # a block has one round


def test_in_threads_of_the_user():
    rng = np.random.default_rng(31)
    z = rng.normal(size=(1500, 60))
    f = nbgrad.njit(knocked_out)
    points = rng.uniform(1.0, 2.0, size=(300, 2))
    both = nbgrad.value_and_grad(f, (1, 2))
    orbits = nbgrad.vmap(nbgrad.grad(lambda p: nbgrad.njit(orbit)(p, 500)))
    nbgrad.set_threads(3)
    value, slopes = both(z, 100.0, 0.4, 95.0)
    expected = bits(value, slopes), orbits(points).tobytes()

    def work(_):
        value, slopes = both(z, 100.0, 0.4, 95.0)
        return bits(value, slopes), orbits(points).tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(work, range(24)))


ALL = {
    "gradient": lambda f: nbgrad.grad(f),
    "value": lambda f: lambda x: nbgrad.vjp(f, x)[0],
    "jvp": lambda f: lambda x: nbgrad.jvp(f, (x,), (x,)),
    "hvp": lambda f: lambda x: nbgrad.hvp(f)(x, x),
    "compiled": lambda f: nbgrad.compile(nbgrad.grad(f)),
}


@pytest.mark.parametrize("kind", ALL)
def test_the_error_of_the_first_round_is_raised(kind):
    @nbgrad.njit
    def remainders(x, n, limit):
        total = 0.0
        for i in range(x.shape[0]):
            s = 0.0
            for j in range(x.shape[1]):
                s += x[i, j] ** 2
            if n[i] > limit:
                raise ValueError("too large")
            total += gain(s) * (i % n[i])
        return total

    x, n = np.ones((2000, 50)), np.full(2000, 3)
    call = ALL[kind](lambda x: remainders(x, n, 100))
    for count in (1, 2, 3):
        nbgrad.set_threads(count)
        n[:] = 3
        before = sum(pieces_run())
        call(x)
        assert sum(pieces_run()) - before > 2
        n[900], n[1500] = 0, 101
        with pytest.raises(ZeroDivisionError):
            call(x)
        n[900], n[1500] = 101, 0
        with pytest.raises(ValueError, match="too large"):
            call(x)


def test_arrays_after_errors():
    """What a function that Numba refuses has written when it raises is the same, too."""

    @nbgrad.njit
    def checked(x, w):
        for i in range(x.shape[0]):
            w[i] = x[i].std(axis=0) + np.sum(np.exp(x[i]) * np.sin(x[i]))
            if w[i] > 1e6:
                raise ValueError("too large")

    x = np.random.default_rng(2).normal(size=(500, 100))
    x[300, 0] = 52.0
    for count in (1, 3):
        nbgrad.set_threads(count)
        w = np.zeros(500)
        with pytest.raises(ValueError, match="too large"):
            checked(x, w)
        assert w[:301].all() and not w[301:].any()


def test_errors_of_pieces():
    @nbgrad.njit
    def remainders(x, n):
        total = 0.0
        for i in range(x.shape[0]):
            s = 0.0
            for j in range(x.shape[1]):
                s += x[i, j] ** 2
            total += gain(s) * (i % n[i])
        return total

    x, n = np.ones((2000, 50)), np.full(2000, 3)
    both = nbgrad.value_and_grad(remainders)
    for count in (1, 2):
        nbgrad.set_threads(count)
        n[1234] = 3
        value, slope = both(x, n)
        assert value == remainders(x, n) and slope.shape == x.shape
        n[1234] = 0
        with pytest.raises(ZeroDivisionError):
            both(x, n)


@nbgrad.njit
def lagged(lags, x):
    out = np.empty_like(lags)
    for k in range(lags.size):
        total = 0.0
        for j in range(x.size):
            for i in range(j, x.size):
                total += x[i] * x[j] * lags[k]
        out[k] = total
    return out


def test_rounds_may_hold_triangles_of_other_loops():
    x = np.linspace(0.1, 1.0, 5)
    slope = nbgrad.grad(lambda lags: np.sum(lagged(lags, x)))(np.ones(3))
    assert "rounds of k run on several threads" in lagged.plan
    assert np.allclose(slope, np.sum(np.tril(np.outer(x, x))))
