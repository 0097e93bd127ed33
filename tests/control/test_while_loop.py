"""`nbgrad.while_loop`: as many steps as it takes, in every mode and in both tiers."""

import numba
import numpy as np
import pytest
from both_tiers import MODES, TIERS, assert_close, compiled_cases, in_tier

import nbgrad
from nbgrad import DimensionMismatch, TraceError

X = np.array([0.9, 1.7, -0.4])
ROWS = np.stack([X, X * 3.0, X * 0.1, X + 20.0])


def root(a):
    """Newton's steps for a square root, whose number depends on a."""
    step = lambda x: 0.5 * (x + a / x)  # noqa: E731
    return nbgrad.while_loop(lambda x: abs(x * x - a) > 1e-13 * a, step, 1.0 + 0.0 * a, 60)


def shrink(x):
    """Arrays, a counter, a truth; a captured array; a test of the counter and of a sum."""
    w = np.cos(x)

    def step(state):
        h, (k, odd) = state
        return np.tanh(h) * w + 0.1 * k, (k + 1, np.logical_not(odd))

    goes_on = lambda state: np.logical_and(np.sum(state[0] ** 2) > 0.6, state[1][0] < 9)  # noqa: E731
    h, (k, odd) = nbgrad.while_loop(goes_on, step, (x, (0, np.asarray(False))), 20)
    return np.sum(h * h) * (1 + k) + np.where(odd, h[0], h[1])


def shrink_by_hand(x):
    w, h, k = np.cos(x), x, 0
    while np.sum(h**2) > 0.6 and k < 9:
        h, k = np.tanh(h) * w + 0.1 * k, k + 1
    return np.sum(h * h) * (1 + k) + (h[0] if k % 2 else h[1])


def nested(x):
    """A loop that ends by itself in a loop of a number of steps, and another way round."""
    inner = lambda s: nbgrad.while_loop(  # noqa: E731
        lambda t: np.max(t) > 0.5, lambda t: t * 0.7 * np.cos(x), s, 100
    )
    s = nbgrad.loop(2, lambda i, s: inner(s + 0.5) + x * i, x)
    outer = lambda s: nbgrad.loop(2, lambda i, t: 0.8 * np.sin(t) + 0.01 * x, s)  # noqa: E731
    return np.sum(nbgrad.while_loop(lambda s: np.sum(s) > 0.2, outer, s, 100) ** 2)


def nested_by_hand(x):
    s = x
    for i in range(2):
        t = s + 0.5
        while np.max(t) > 0.5:
            t = t * 0.7 * np.cos(x)
        s = t + x * i
    steps = 0
    while np.sum(s) > 0.2 and steps < 100:
        for _ in range(2):
            s = 0.8 * np.sin(s) + 0.01 * x
        steps += 1
    return np.sum(s**2)


def none(x):
    return np.sum(nbgrad.while_loop(lambda s: s[0] > 1e9, lambda s: s * x, x, 5) ** 2)


FUNCTIONS = {
    "shrink": (shrink, shrink_by_hand),
    "none": (none, lambda x: np.sum(x**2)),
}
SAMPLES = {
    "vmap": (lambda f: nbgrad.vmap(f), lambda f: f),
    "vmap of grad": (lambda f: nbgrad.vmap(nbgrad.grad(f)), nbgrad.grad),
    "vmap of jvp": (
        lambda f: nbgrad.vmap(lambda y: nbgrad.jvp(f, (y,), (y,))[1]),
        lambda f: lambda y: nbgrad.jvp(f, (y,), (y,))[1],
    ),
    "vmap of hessian": (lambda f: nbgrad.vmap(nbgrad.hessian(f)), nbgrad.hessian),
    "grad of vmap": (
        lambda f: nbgrad.grad(lambda rows: np.sum(nbgrad.vmap(f)(rows) ** 2)),
        lambda f: lambda y: 2.0 * f(y) * nbgrad.grad(f)(y),
    ),
    "vmap of vmap": (
        lambda f: lambda rows: np.reshape(
            nbgrad.vmap(nbgrad.vmap(f))(np.reshape(rows, (2, 2, 3))), 4
        ),
        lambda f: f,
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_eager_is_a_while(name, mode):
    f, by_hand = FUNCTIONS[name]
    for x in (X, X * 0.1):
        assert_close(MODES[mode](f)(x), MODES[mode](by_hand)(x))


# What Numba compiles in every run; plain Python takes all.
COMPILED = {("shrink", "gradient"), ("none", "vmap of grad")}


@compiled_cases(FUNCTIONS, MODES, COMPILED)
def test_compiled_is_a_while(name, mode):
    f, by_hand = FUNCTIONS[name]
    compiled = nbgrad.compile(MODES[mode](f))
    for x in (X, X * 0.1, X * 3.0):
        assert_close(compiled(x), MODES[mode](by_hand)(x))


@pytest.mark.parametrize("mode", SAMPLES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_sample_runs_to_its_own_end(name, mode):
    f, by_hand = FUNCTIONS[name]
    all_samples, one = SAMPLES[mode]
    assert_close(all_samples(f)(ROWS), np.stack([one(by_hand)(row) for row in ROWS]))


@compiled_cases(FUNCTIONS, SAMPLES, COMPILED)
def test_each_compiled_sample_runs_to_its_own_end(name, mode):
    f, by_hand = FUNCTIONS[name]
    all_samples, one = SAMPLES[mode]
    wanted = np.stack([one(by_hand)(row) for row in ROWS])
    assert_close(nbgrad.compile(all_samples(f))(ROWS), wanted)


@pytest.mark.parametrize("tier", TIERS)
def test_loops_in_loops(tier):
    wrap = in_tier(tier)
    for x in (X, X * 0.1):
        assert_close(wrap(nbgrad.value_and_grad(nested))(x),
                     nbgrad.value_and_grad(nested_by_hand)(x))  # fmt: skip


@pytest.mark.parametrize("tier", TIERS)
def test_a_root(tier):
    """Against the closed form, whose derivative is 1 / (2 sqrt(a))."""
    wrap = in_tier(tier)
    a = np.array([2.0, 9.0, 1.0, 4e6])
    both = wrap(nbgrad.value_and_grad(root))
    for x in a:
        value, slope = both(float(x))
        assert value == pytest.approx(np.sqrt(x), rel=1e-12)
        if x != 1.0:  # which takes no step
            assert slope == pytest.approx(0.5 / np.sqrt(x), rel=1e-6)
    values, slopes = wrap(nbgrad.vmap(nbgrad.value_and_grad(root)))(a)
    np.testing.assert_allclose(values, np.sqrt(a), rtol=1e-12)
    np.testing.assert_allclose(slopes[a != 1.0], 0.5 / np.sqrt(a[a != 1.0]), rtol=1e-6)


@pytest.mark.parametrize("tier", TIERS)
def test_samples_that_have_ended_give_no_nan(tier):
    """A step at the end of another sample would divide by zero."""

    def f(x):
        step = lambda s: (s[0] - 1.0, s[1] + np.log(s[0]) / s[0])  # noqa: E731
        return nbgrad.while_loop(lambda s: s[0] > 0.0, step, (x, 0.0 * x), 50)[1]

    def by_hand(x):
        total = 0.0
        while x > 0.0:
            x, total = x - 1.0, total + np.log(x) / x
        return total

    x = np.array([1.0, 5.0, 3.0, 0.0])
    wrap = in_tier(tier)
    values, slopes = wrap(nbgrad.vmap(nbgrad.value_and_grad(f)))(x)
    np.testing.assert_allclose(values, [by_hand(float(v)) for v in x])
    terms = [sum((1.0 - np.log(t)) / t**2 for t in np.arange(1.0, v + 1.0)) for v in x]
    np.testing.assert_allclose(slopes, terms)
    np.testing.assert_allclose(wrap(nbgrad.grad(lambda x: np.sum(nbgrad.vmap(f)(x))))(x), terms)


def doubles(limit, most):
    return lambda x: nbgrad.while_loop(lambda s: s < limit, lambda s: s * 2.0, x, most)


@pytest.mark.parametrize("tier", TIERS)
def test_the_most_steps(tier):
    wrap = in_tier(tier)
    assert wrap(doubles(100.0, 7))(1.0) == 128.0
    assert wrap(nbgrad.grad(doubles(100.0, 7)))(1.0) == 128.0
    for f in (doubles(100.0, 6), nbgrad.grad(doubles(100.0, 6)), doubles(100.0, 0)):
        with pytest.raises(RuntimeError, match=r"test still holds after max_steps=\d steps.*count"):
            wrap(f)(1.0)
    assert wrap(doubles(1.0, 0))(3.0) == 3.0
    with pytest.raises(RuntimeError, match="max_steps=6"):
        wrap(nbgrad.vmap(doubles(100.0, 6)))(np.array([99.0, 1.0]))
    np.testing.assert_array_equal(
        wrap(nbgrad.vmap(doubles(100.0, 7)))(np.array([99.0, 1.0, 200.0])), [198.0, 128.0, 200.0]
    )


def test_numba_calls_it_and_sees_the_error():
    f = nbgrad.compile(nbgrad.value_and_grad(doubles(100.0, 7)))
    f(1.0)
    step = f.njit

    @numba.njit
    def total(n):
        s = 0.0
        for i in range(1, n):
            value, slope = step(float(i))
            s += value * slope
        return s

    def by_hand(x):
        count = max(int(np.ceil(np.log2(100.0 / x))), 0)
        return x * 2.0**count * 2.0**count

    assert total(120) == sum(by_hand(float(i)) for i in range(1, 120))
    with pytest.raises(RuntimeError, match="max_steps=7"):
        step(0.1)


def test_the_loop_ends_where_the_test_says():
    """Of a program with room for a million steps, few run."""
    f = nbgrad.compile(doubles(1e300, 10**6))
    assert f(1e290) > 1e300
    assert "break" in f.source and f.plan.scratch < 64
    body = lambda s: (np.sin(s[0]) + 1.0, s[1] + 1)  # noqa: E731
    count = nbgrad.compile(
        lambda x: nbgrad.while_loop(lambda s: s[1] < 5, body, (x, 0), 10**9)
    )(0.3)  # fmt: skip
    assert count[1] == 5


def test_without_samples():
    assert nbgrad.vmap(doubles(100.0, 7))(np.zeros(0)).shape == (0,)


def test_float32():
    x = X.astype(np.float32)
    f = nbgrad.value_and_grad(
        lambda x: np.sum(nbgrad.while_loop(lambda s: s[1] < 5.0, lambda s: s * x, x, 20))
    )
    for found in (f(x), nbgrad.compile(f)(x)):
        steps = next(k for k in range(20) if x[1] ** (k + 1) >= 5.0)
        assert np.asarray(found[1]).dtype == np.float32
        np.testing.assert_allclose(found[1], (steps + 1) * x**steps, rtol=1e-5)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("test", "body", "error", "words"),
    [
        (lambda s: s > 0.0, lambda s: s, DimensionMismatch, r"condition of shape \(3,\).*np.any"),
        (lambda s: s[0] > 0.0, lambda s: s[:2], DimensionMismatch, r"\(3,\) to \(2,\)"),
        (lambda s: s[0] > 0.0, lambda s: (s, s), TypeError, "structure"),
        (lambda s: s[0] > 0.0, lambda s: s > 0.0, TypeError, "float64 to bool"),
    ],
)
def test_what_does_not_fit(tier, test, body, error, words):
    wrap = in_tier(tier)
    with pytest.raises(error, match=words):
        wrap(lambda x: nbgrad.while_loop(test, body, x, 5))(np.ones(3))


def test_a_number_of_steps_that_is_none():
    with pytest.raises(ValueError, match="-1 steps"):
        nbgrad.while_loop(lambda s: False, lambda s: s, 0.0, -1)
    with pytest.raises(TraceError, match="fixed bound"):
        nbgrad.compile(lambda n: nbgrad.while_loop(lambda s: False, lambda s: s, 0.0, n) * n)(3)
