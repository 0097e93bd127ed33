"""Divergences and estimated traces, against exact traces, by fixed seeds."""

import numpy as np
import pytest

import nbgrad
from nbgrad import DimensionMismatch, TraceError, divergence, trace_estimate

METHODS = ("hutchinson", "hutch++")
PROBES = ("rademacher", "gaussian", "orthogonal")
N, ROUNDS = 12, 300


def rotated(spectrum, seed=0):
    """A symmetric matrix of that spectrum, in a basis drawn uniformly."""
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(spectrum),) * 2))[0]
    return basis @ np.diag(spectrum) @ basis.T


def skewed(n=N, seed=1):
    """A matrix that is not symmetric."""
    return np.random.default_rng(seed).normal(size=(n, n)) / n + np.eye(n)


def field(a):
    return lambda x: np.tanh(a @ x) * x


def jacobian(a, x):
    y = np.tanh(a @ x)
    return np.diag(y) + (x * (1 - y * y))[:, None] * a


class TestDivergence:
    def test_is_the_trace_of_the_jacobian(self, rng):
        a, x = skewed(), rng.normal(size=N)
        exact = np.trace(jacobian(a, x))
        np.testing.assert_allclose(divergence(field(a))(x), exact, rtol=1e-12)

    @pytest.mark.filterwarnings("ignore::nbgrad.errors.ConstantWarning")
    def test_of_fields_in_closed_form(self):
        rotation = lambda p: np.stack([-p[1], p[0]])  # noqa: E731
        assert divergence(rotation)(np.array([3.0, 4.0])) == 0.0
        source = lambda p: p / np.sum(p * p) ** 1.5  # noqa: E731
        assert divergence(source)(np.array([1.0, 2.0, -2.0])) == pytest.approx(0.0, abs=1e-15)
        assert divergence(np.square)(3.0) == 6.0
        assert divergence(lambda x: np.ones(3))(np.zeros(3)) == 0.0
        assert divergence(np.sin)(np.zeros(0)) == 0.0

    def test_any_shape_and_dtype(self, rng):
        x = rng.normal(size=(2, 3)).astype(np.float32)
        found = divergence(np.sin)(x)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, np.sum(np.cos(x)), rtol=1e-5)

    def test_differentiates_and_compiles(self, rng):
        a, x = skewed(4), rng.normal(size=4)
        exact = divergence(field(a))
        laplacian = divergence(nbgrad.grad(lambda x: np.sum(x**4)))
        np.testing.assert_allclose(laplacian(x), 12 * np.sum(x * x), rtol=1e-12)
        np.testing.assert_allclose(nbgrad.grad(laplacian)(x), 24 * x, rtol=1e-12)
        np.testing.assert_allclose(nbgrad.compile(exact)(x), exact(x), rtol=1e-12)
        nbgrad.check_grads(exact, (x,))

    def test_keeps_no_jacobian(self):
        """A block of columns at a time: what is live does not grow with the square of the size."""
        import tracemalloc

        x = np.ones(2000)
        divergence(np.sin)(x)
        tracemalloc.start()
        divergence(np.sin)(x)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 400 * x.nbytes < x.nbytes * len(x)


@pytest.mark.parametrize("probes", PROBES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("samples", [3, 7, 10])
def test_unbiased_with_an_honest_standard_error(method, probes, samples):
    a, x = skewed(), np.linspace(-1.0, 1.0, N)
    exact = np.trace(jacobian(a, x))
    found = [
        trace_estimate(field(a), x, method, samples=samples, rng=seed, probes=probes)
        for seed in range(ROUNDS)
    ]
    values = np.array([one.value for one in found])
    error = values.std() / np.sqrt(ROUNDS)
    assert abs(values.mean() - exact) < 4 * error
    told = [one.standard_error**2 for one in found]
    if np.isfinite(told).all():
        assert np.sqrt(np.mean(told)) == pytest.approx(values.std(), rel=0.2)
    else:  # a single probe is left for the rest, and tells nothing
        assert method == "hutch++" and samples == 3 and np.isnan(told).all()


@pytest.mark.parametrize("probes", PROBES)
def test_hutch_pp_has_the_smaller_error_where_the_spectrum_decays(probes):
    n, samples = 60, 24
    a = rotated(1.0 / np.arange(1, n + 1) ** 2)
    errors = {
        method: np.sqrt(
            np.mean(
                [
                    (trace_estimate(a.dot, n, method, samples=samples, rng=seed, probes=probes,
                                    linear=True).value - np.trace(a)) ** 2
                    for seed in range(100)
                ]
            )
        )
        for method in METHODS
    }  # fmt: skip
    assert errors["hutch++"] < 0.2 * errors["hutchinson"]


@pytest.mark.parametrize("probes", PROBES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("samples", [3, 4, 8, 9, 11])
def test_samples_count_products_in_all(method, probes, samples):
    calls = []

    def product(v):
        calls.append(v)
        return skewed(40) @ v

    found = trace_estimate(product, 40, method, samples=samples, rng=0, probes=probes, linear=True)
    assert len(calls) == samples
    of_field = trace_estimate(product, np.zeros(40), method, samples=samples, rng=0, probes=probes)
    np.testing.assert_allclose(of_field, found, rtol=1e-12, err_msg="the same with a Jacobian")


def test_exact_where_the_products_determine_the_trace():
    a = skewed(5)
    for samples in (5, 17):
        found = trace_estimate(a.dot, 5, samples=samples, rng=0, probes="orthogonal", linear=True)
        assert found == (pytest.approx(np.trace(a), rel=1e-12), 0.0)
    for probes in PROBES:
        found = trace_estimate(a.dot, 5, "hutch++", samples=15, rng=0, probes=probes, linear=True)
        assert found == (pytest.approx(np.trace(a), rel=1e-12), 0.0)
    low = np.outer(np.ones(50), np.arange(50.0))  # of rank one
    found = trace_estimate(low.dot, 50, "hutch++", samples=9, rng=0, linear=True)
    assert found.value == pytest.approx(np.trace(low), rel=1e-12)
    assert found.standard_error == pytest.approx(0.0, abs=1e-9)


def test_one_probe_has_no_spread():
    value, error = trace_estimate(np.sin, np.zeros(4), samples=1, rng=0)
    assert value == 4.0 and np.isnan(error)
    assert trace_estimate(np.sin, np.zeros(0), samples=1) == (0.0, 0.0)
    assert trace_estimate(np.sin, 0.0, samples=1, probes="orthogonal") == (pytest.approx(1.0), 0.0)


def test_shapes_dtypes_and_seeds():
    x = np.ones((2, 3), np.float32)
    found = trace_estimate(np.square, x, rng=0)
    assert found.value == pytest.approx(12.0) and found.value.dtype == np.float32
    seen = []

    def product(v):
        seen.append((v.shape, v.dtype))
        return 2 * v

    assert trace_estimate(product, x, samples=2, rng=0, linear=True).value == pytest.approx(12.0)
    assert seen == [((2, 3), np.float32)] * 2, "x gives shape and dtype"
    a = skewed()
    by_seed = trace_estimate(a.dot, N, rng=3, linear=True)
    assert by_seed == trace_estimate(a.dot, N, rng=np.random.default_rng(3), linear=True)
    assert by_seed != trace_estimate(a.dot, N, linear=True), "the default differs"
    generator = np.random.default_rng(3)
    first, second = (trace_estimate(a.dot, N, rng=generator, linear=True) for _ in range(2))
    assert first == by_seed and second != by_seed, "a generator goes on"


@pytest.mark.parametrize("method", METHODS)
def test_the_derivative_is_that_of_the_trace(method):
    """Unbiased, so over many seeds it is the derivative of the exact trace."""
    x, a = np.linspace(-1.0, 1.0, 6), skewed(6)

    def estimate(a, seed):
        return trace_estimate(field(a), x, method, samples=6, rng=seed).value

    slopes = np.array([nbgrad.grad(estimate)(a, seed) for seed in range(200)])
    exact = nbgrad.grad(lambda a: divergence(field(a))(x))(a)
    errors = slopes.std(axis=0) / np.sqrt(len(slopes))
    assert np.all(np.abs(slopes.mean(axis=0) - exact) < 4.5 * errors + 1e-12)


def test_compiles_with_a_seed():
    a, x = skewed(4), np.linspace(-1.0, 1.0, 4)
    f = lambda x: trace_estimate(field(a), x, samples=5, rng=2)  # noqa: E731
    np.testing.assert_allclose(nbgrad.compile(f)(x), f(x), rtol=1e-12)
    with pytest.raises(TraceError, match="pass a seed as rng"):
        nbgrad.compile(lambda x: trace_estimate(field(a), x).value)(x)
    with pytest.raises(TraceError, match="hutchinson"):
        nbgrad.compile(lambda x: trace_estimate(field(a), x, "hutch++", rng=0).value)(x)


def test_errors():
    x, estimate = np.ones(3), trace_estimate
    with pytest.raises(TypeError, match="divergence: not a function"):
        divergence(3.0)  # pyright: ignore
    with pytest.raises(TypeError, match="trace_estimate: not a function"):
        estimate(np.eye(3), x, linear=True)  # pyright: ignore
    for op in (divergence(lambda x: x[:2]), lambda x: estimate(lambda x: x[:2], x)):
        with pytest.raises(DimensionMismatch, match=r"\(2,\) for an argument of shape \(3,\)"):
            op(x)
        with pytest.raises(TypeError, match="complex"):
            op(x * 1j)
    with pytest.raises(TypeError, match=r"list, not an array: .*np.stack"):
        divergence(lambda x: [x[0], x[1], x[2]])(x)
    with pytest.raises(DimensionMismatch, match="product has shape"):
        estimate(lambda v: v[:2], 3, linear=True)
    with pytest.raises(TypeError, match="complex"):
        estimate(lambda v: v * 1j, 3, linear=True)
    with pytest.raises(TypeError, match="object"):
        estimate(lambda v: None, 3, linear=True)
    with pytest.raises(ValueError, match="size is -1"):
        estimate(lambda v: v, -1, linear=True)
    with pytest.raises(ValueError, match=r"method is 'hutch'; .*'hutch\+\+'"):
        estimate(np.sin, x, "hutch")  # pyright: ignore
    with pytest.raises(ValueError, match=r"probes is 'sign'; .*'rademacher'"):
        estimate(np.sin, x, probes="sign")  # pyright: ignore
    with pytest.raises(ValueError, match="samples is 0; hutchinson needs at least 1"):
        estimate(np.sin, x, samples=0)
    with pytest.raises(ValueError, match=r"samples is 2; hutch\+\+ needs at least 3"):
        estimate(np.sin, x, "hutch++", samples=2)
    with pytest.raises(TypeError, match="samples must be an integer, not a float"):
        estimate(np.sin, x, samples=2.5)  # pyright: ignore
    for rng in ("seed", -1, 0.5):
        with pytest.raises(TypeError, match="pass a NumPy Generator or"):
            estimate(np.sin, x, rng=rng)  # pyright: ignore
