"""`nbgrad.random`: explicit states, the same bits in both tiers, and numbers that look random."""

import numpy as np
import pytest
from scipy import stats

import nbgrad
from nbgrad import TraceError
from nbgrad.kernels import random as kernels
from nbgrad.random import choice, key, normal, permutation, uniform

N = 20_000
DRAWS = {
    "uniform": lambda s: uniform(s, (3, 5)),
    "uniform of a range": lambda s: uniform(s, 4, -1.0, 2.0),
    "one": lambda s: uniform(s),
    "none": lambda s: uniform(s, (0, 2)),
    "normal": lambda s: normal(s, 7, 1.0, 2.0),
    "normal of fractions": lambda s: normal(s, 7, 0.5, 0.3),
    "uniform of fractions": lambda s: uniform(s, 4, -0.25, 0.75),
    "many": lambda s: normal(s, 10_001),
    "permutation": lambda s: permutation(s, 6),
    "rows": lambda s: permutation(s, np.arange(12.0).reshape(4, 3)),
    "choice": lambda s: choice(s, 10, (2, 3)),
    "choice of rows": lambda s: choice(s, np.arange(12.0).reshape(4, 3), 2),
    "without replacement": lambda s: choice(s, 10, 4, replace=False),
    "in a loop": lambda s: nbgrad.scan(lambda c, _: normal(c, 3), s, length=6),
}


@pytest.mark.parametrize("name", DRAWS)
def test_both_tiers_give_the_same_bits(name):
    eager, compiled = DRAWS[name](key(3)), nbgrad.compile(DRAWS[name])(key(3))
    for a, b in zip(eager, compiled, strict=True):
        assert np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype


def test_the_published_answer():
    """philox4x32-10 for a key and a counter of 0, of the authors' Random123."""
    words = []
    state, out = key(0), np.empty(2)
    kernels.uniform(state, out, 0.0, 1.0)
    for low, high in ((0x6627E8D5, 0xE169C58D), (0xBC57AC4C, 0x9B00DBD8)):
        words.append((((high << 32) | low) >> 11) * 2.0**-53)
    assert out.tolist() == words


@pytest.mark.parametrize(("draw", "a", "b"), [(uniform, 0.0, 1.0), (normal, 0.3, 1.7)])
def test_each_number_has_its_bits_for_any_length(draw, a, b):
    """Vectors, the rest of a loop, a single number, loops and their derivatives give equal bits."""
    state = key(9)
    whole = draw(state, 300, a, b)[1]

    def first(state, n):
        return draw(state, n, a, b)[1]

    compiled = nbgrad.compile(first, static_argnames="n")
    for n in (*range(40), 63, 64, 65, 127, 129, 255, 299):
        assert np.array_equal(first(state, n), whole[:n])
    for n in (0, 1, 2, 7, 17, 65, 299):
        assert np.array_equal(compiled(state, n), whole[:n])

    @nbgrad.njit
    def product(x, state):
        total = 0.0
        out = draw(state, 33, a, b)[1]
        for i in range(33):
            total += x[i] * out[i]
        state, one = draw(state, (), a, b)
        return total + x[33] * one + x[34] * draw(state, (), a, b)[1]

    wanted = [*whole[:33], whole[0], whole[2]]
    assert nbgrad.grad(product)(np.ones(35), state).tolist() == wanted
    assert nbgrad.compile(nbgrad.grad(product))(np.ones(35), state).tolist() == wanted
    slopes = [nbgrad.jvp(product, (np.zeros(35), state), (row, None))[1] for row in np.eye(35)]
    assert slopes == wanted


def test_normal_numbers_are_those_of_the_formula():
    """Box and Muller's formula in extended precision."""
    u = uniform(key(4), N)[1].astype(np.longdouble)
    length, angle = np.sqrt(-2 * np.log(1 - u[::2])), 8 * np.arctan(np.longdouble(1)) * u[1::2]
    wanted = np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1).reshape(-1)
    z = normal(key(4), N)[1]
    assert np.abs(z - wanted).max() < 1e-15
    assert np.abs(z / wanted - 1).max() < 1e-13


def test_single_precision_rounds_the_same_numbers():
    def f(x, state):
        return np.sum(x * normal(state, 7)[1].astype(np.float32))

    x, wanted = np.ones(7, np.float32), normal(key(2), 7)[1].astype(np.float32)
    for slope in (nbgrad.grad(f), nbgrad.compile(nbgrad.grad(f))):
        got = slope(x, key(2))
        assert got.dtype == np.float32 and np.array_equal(got, wanted)


def test_numbers_look_random():
    _, u = uniform(key(1), N)
    _, z = normal(key(2), N)
    assert u.min() >= 0 and u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 0.01
    assert stats.kstest(z, "norm").pvalue > 0.01
    assert abs(z.mean()) < 0.03 and abs(z.std() - 1) < 0.03
    assert abs(stats.skew(z)) < 0.1 and abs(stats.kurtosis(z)) < 0.2
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.03


def test_keys_and_states_are_not_correlated():
    draws = np.stack([normal(key(seed), 500)[1] for seed in range(40)])
    correlations = np.corrcoef(draws)[np.triu_indices(40, 1)]
    assert np.abs(correlations).max() < 0.25 and abs(correlations.mean()) < 0.01
    state, first = normal(key(0), 500)
    _, second = normal(state, 500)
    assert not set(first) & set(second)


def test_choices_have_equal_chances():
    _, picked = choice(key(5), 7, N)
    assert stats.chisquare(np.bincount(picked, minlength=7)).pvalue > 0.01
    state, places = key(6), []
    for _ in range(600):
        state, order = permutation(state, 4)
        assert sorted(order) == [0, 1, 2, 3]
        places.append(order[0])
    assert stats.chisquare(np.bincount(places)).pvalue > 0.01
    _, some = choice(key(7), 50, 50, replace=False)
    assert len(set(some)) == 50


def test_parameters_have_gradients():
    def f(mean, std):
        return np.sum(normal(key(0), 5, mean, std)[1])

    wanted = 5.0, normal(key(0), 5)[1].sum()
    assert np.allclose(nbgrad.gradient(f, 1.0, 2.0), wanted, rtol=1e-14)
    compiled = nbgrad.compile(nbgrad.grad(f, argnums=(0, 1)))
    assert np.allclose(compiled(1.0, 2.0), wanted, rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: uniform(3), TypeError, "a int.*key"),
        (lambda: uniform(np.zeros(2)), TypeError, "ndarray of shape"),
        (lambda: normal(np.random.default_rng(0), 3), TypeError, "NumPy Generator"),
        (lambda: uniform(key(0), 1.5), TypeError, "a shape"),
        (lambda: uniform(key(0), (-1,)), ValueError, "negative"),
        (lambda: uniform(key(0), 3, np.zeros(2)), ValueError, "broadcast"),
        (lambda: choice(key(0), 3, 4, replace=False), ValueError, "4 draws of 3"),
        (lambda: choice(key(0), 0, 4), ValueError, "nothing"),
        (lambda: key(1.5), TypeError, "integer"),  # pyright: ignore[reportArgumentType]
        (lambda: key(2**64), ValueError, "64 bits"),
    ],
)
def test_wrong_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_numpy_generator_is_refused_while_recording():
    generator = np.random.default_rng(0)

    def noisy(x):
        return x + generator.normal(size=3)

    def made(x):
        return x + np.random.default_rng().normal(size=3)

    def given(x, g):
        return x + g.normal(size=3)

    def named(x):
        if np.ndim(x) > 1:
            x = x + np.random.default_rng().normal(size=3)
        return 2.0 * x

    np.testing.assert_array_equal(nbgrad.compile(named)(np.ones(3)), [2.0, 2.0, 2.0])
    for f, args in ((noisy, ()), (made, ()), (given, (generator,))):
        with pytest.raises(TraceError, match=r"nbgrad\.random"):
            nbgrad.compile(f, static_argnames="g" if args else ())(np.ones(3), *args)
    with pytest.raises(TraceError, match=r"test_random\.py.*generator\.normal"):
        nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(noisy(x))))(np.ones(3))


def test_generators_with_a_seed_draw_the_same_compiled_or_not():
    def f(x):
        weights = np.random.RandomState(3).normal(size=3)
        return np.sum(np.sin(x) * weights * np.random.default_rng(1).random(3))

    x = np.ones(3)
    np.testing.assert_allclose(nbgrad.compile(f)(x), f(x), rtol=1e-15)
    np.testing.assert_allclose(nbgrad.compile(nbgrad.grad(f))(x), nbgrad.grad(f)(x), rtol=1e-15)
    for seed in (None, 5):  # not written as a number
        with pytest.raises(TraceError, match="Generator"):
            nbgrad.compile(lambda x: x * np.random.RandomState(seed).normal())(x)  # noqa: B023
