"""Independent rounds of loops on several threads: the same bits for any number of threads."""

import numba
import numpy as np
import pytest
from helpers.loops.threads import batch, forces, gain, knocked_out, logarithm

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
