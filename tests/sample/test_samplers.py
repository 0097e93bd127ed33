"""`nbgrad.sample.nuts` and `hmc`: moments, equal draws for equal seeds, and errors."""

import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
from densities import EFFECTS, ERRORS, SCHOOLS, funnel, gaussian, neal, schools
from scipy.stats import norm

import nbgrad
from nbgrad import sample
from nbgrad.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    NoFloatError,
    SamplingWarning,
    TraceError,
    UntrackedError,
)
from nbgrad.sample.diagnostics import ess_mean
from nbgrad.sample.warm_up import windows

nuts: Any = sample.nuts  # some arguments have wrong types
hmc: Any = sample.hmc


def off(draws, exact):
    """Distances of means from exact values, in standard errors."""
    error = draws.std(axis=(0, 1)) / np.sqrt(ess_mean(draws))
    return np.abs(draws.mean(axis=(0, 1)) - exact) / error


def covariance_of(n, rng):
    a = rng.normal(size=(n, n))
    return a @ a.T / n + 0.1 * np.eye(n)


@pytest.mark.parametrize("mass", ["diagonal", "dense"])
def test_nuts_has_the_moments_of_a_gaussian(mass, rng):
    mean, covariance = rng.normal(size=6), covariance_of(6, rng)
    found = nuts(
        gaussian, np.zeros(6), args=(mean, np.linalg.inv(covariance)), mass=mass, draws=2000
    )
    centred = found.draws - mean
    assert off(found.draws, mean).max() < 4.5
    products = (centred[..., :, None] * centred[..., None, :]).reshape(4, 2000, 36)
    assert off(products, covariance.ravel()).max() < 4.5
    assert found.divergences == 0 and found.rhat.max() < 1.01
    assert 0.75 < found.stats.acceptance.mean() < 0.97


def test_a_dense_mass_matrix_makes_trajectories_short():
    precision = np.linalg.inv(np.array([[1.0, 0.995], [0.995, 1.0]]))
    steps = [
        nuts(gaussian, np.zeros(2), args=(np.zeros(2), precision), mass=mass).stats.steps.mean()
        for mass in ("diagonal", "dense")
    ]
    assert steps[1] < 0.5 * steps[0]


def test_hmc_has_the_moments_of_a_gaussian(rng):
    mean, covariance = rng.normal(size=3), covariance_of(3, rng)
    precision = np.linalg.inv(covariance)
    found = hmc(gaussian, np.zeros(3), steps=8, args=(mean, precision), draws=2000)
    assert off(found.draws, mean).max() < 4.5
    assert off((found.draws - mean) ** 2, np.diag(covariance)).max() < 4.5
    fixed = hmc(
        gaussian, np.zeros(3), steps=8, step_size=0.2, args=(mean, precision), draws=2000, warmup=50
    )
    assert off(fixed.draws, mean).max() < 4.5
    assert np.all(fixed.stats.step_size == 0.2) and np.all(fixed.stats.steps == 8)


def test_the_funnel_from_standard_normals():
    found = nuts(funnel, {"v": 0.0, "z": np.zeros(9)}, draws=2000)
    drawn = found.map(neal)
    assert drawn["x"].shape == (4, 2000, 9)
    assert off(drawn["v"][..., None], 0.0).max() < 4.5
    assert off(drawn["v"][..., None] ** 2, 9.0).max() < 4.5
    v = np.linspace(-8.0, 8.0, 4001)
    inside = np.sum(norm.pdf(v) * (2.0 * norm.cdf(np.exp(-1.5 * v)) - 1.0)) * (v[1] - v[0])
    assert off(np.abs(drawn["x"]) < 1.0, inside).max() < 4.5


def test_eight_schools():
    found = nuts(schools, SCHOOLS, args=(EFFECTS,), draws=2000)
    mean, log_spread = np.meshgrid(np.linspace(-25.0, 30.0, 601), np.linspace(-6.0, 6.0, 301))
    width = np.sqrt(np.exp(2.0 * log_spread)[..., None] + ERRORS**2)
    log = norm.logpdf(EFFECTS, mean[..., None], width).sum(axis=-1)
    weight = np.exp(log + norm.logpdf(mean, 0.0, 5.0) + norm.logpdf(log_spread, 1.0, 1.0) + 30.0)
    for name, grid in (("mean", mean), ("log_spread", log_spread)):
        for power in (1, 2):
            exact = np.sum(weight * grid**power) / np.sum(weight)
            assert off(found.draws[name][..., None] ** power, exact).max() < 4.5
    assert found.divergences == 0
    assert found.draws["z"].shape == (4, 2000, 8) and found.draws["mean"].shape == (4, 2000)


def test_equal_seeds_give_equal_draws_with_any_number_of_threads():
    options = {"args": (EFFECTS,), "draws": 100, "warmup": 200}
    try:
        nbgrad.set_threads(1)
        one = nuts(schools, SCHOOLS, **options)
        nbgrad.set_threads(3)
        three = nuts(schools, SCHOOLS, **options)
    finally:
        nbgrad.set_threads(None)
    np.testing.assert_array_equal(one.flat, three.flat)
    fewer = nuts(schools, SCHOOLS, chains=2, **options)
    np.testing.assert_array_equal(one.flat[:2], fewer.flat)
    other = nuts(schools, SCHOOLS, seed=1, **options)
    assert np.all(one.flat != other.flat) and len(np.unique(one.flat[:, 0, 0])) == 4


def test_functions_in_python_give_the_draws_of_compiled_ones():
    options = {"args": (np.ones(2), np.eye(2)), "draws": 5, "warmup": 5, "chains": 2}
    np.testing.assert_allclose(
        nuts(gaussian, np.zeros(2), compile=False, **options).flat,
        nuts(gaussian, np.zeros(2), **options).flat,
        rtol=1e-9,
    )
    compiled = nbgrad.compile(gaussian)
    np.testing.assert_array_equal(
        nuts(compiled, np.zeros(2), **options).flat, nuts(gaussian, np.zeros(2), **options).flat
    )


def test_functions_with_loops():
    @nbgrad.njit
    def steps_of(x, data):
        total, at = 0.0, 0.0
        for i in range(len(data)):
            at = 0.5 * at + x[0]
            total -= 0.5 * (data[i] - at) ** 2
        return total - 0.5 * x[1] ** 2

    found = nuts(steps_of, np.zeros(2), args=(np.linspace(1.0, 2.0, 20),), draws=300)
    assert found.divergences == 0 and abs(found.draws[..., 0].mean() - 0.78) < 0.1


def test_what_a_start_may_be():
    def density(x):
        return -0.5 * np.sum(x**2)

    short = {"draws": 6, "warmup": 4, "chains": 1}
    assert nuts(density, 0.5, **short).draws.shape == (1, 6)
    assert nuts(density, [0, 0], **short).draws.shape == (1, 6, 2)
    assert nuts(density, np.zeros((2, 3), np.float32), **short).draws.dtype == np.float32
    found = nuts(lambda p: -0.5 * p["a"] ** 2 * p["n"], {"a": 0.5, "n": 3}, **short)
    assert found.draws["n"] == 3 and found.draws["a"].shape == (1, 6)
    spread = nuts(density, np.zeros(2), spread=10.0, draws=1, warmup=0, chains=3)
    assert np.ptp(spread.draws[:, 0]) > 1.0
    none = nuts(density, np.zeros(2), draws=3, warmup=0)
    assert np.all(none.stats.step_size == 1.0)


def test_a_start_outside_of_the_support_is_refused():
    def positive(x):
        return np.where(x[0] > 0.0, np.log(x[0]) - x[0], -np.inf)

    with pytest.raises(ArgumentError, match=r"nuts: the log density is -inf at the start of chain"):
        nuts(positive, np.array([-1.0]))
    with pytest.raises(ArgumentError, match=r"the log density is nan"):
        hmc(lambda x: np.log(x[0]), np.array([-1.0]), compile=False)
    with pytest.raises(ArgumentError, match=r"the gradient of the log density is .* element 1"):
        nuts(lambda x: np.sqrt(x[1]) - x[0] ** 2, np.zeros(2))
    with pytest.warns(SamplingWarning):  # at the edge, where the density jumps
        found = nuts(positive, np.array([1.0]), draws=100)
    assert np.all(found.draws > 0.0)


def test_divergences_are_counted_and_warned_of():
    def steep(x):
        return -(x[0] ** 2) / 18.0 - 0.5 * x[1] ** 2 * np.exp(-x[0]) - 0.5 * x[0]

    with pytest.warns(SamplingWarning, match=r"nuts: \d+ of 2000 transitions diverged") as caught:
        found = nuts(steep, np.zeros(2), draws=500)
    assert caught[0].filename == __file__
    assert found.divergences == found.stats.divergent.sum() > 0
    assert "divergent" in repr(found.summary())


def test_arguments_are_checked():
    def density(x):
        return -0.5 * np.sum(x**2)

    x = np.zeros(2)
    for options in (
        {"draws": 0}, {"chains": 0}, {"warmup": -1}, {"target": 1.0}, {"mass": "full"},
        {"max_depth": 0}, {"spread": -1.0}, {"max_depth": 30},
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=next(iter(options))):
            nuts(density, x, **options)
    for options in ({"draws": 10.0}, {"seed": 0.5}):
        with pytest.raises(ArgumentTypeError):
            nuts(density, x, **options)
    with pytest.raises(ArgumentError, match="step_size"):
        hmc(density, x, step_size=0.0)
    with pytest.raises(ArgumentError, match="steps"):
        hmc(density, x, steps=0)
    with pytest.raises(ArgumentTypeError, match="pass the function itself"):
        nuts(density(x), x)
    with pytest.raises(NoFloatError):
        nuts(density, {"n": 3})
    with pytest.raises(nbgrad.DimensionMismatch):
        nuts(lambda x: -0.5 * x * x, x)
    with pytest.raises(TraceError):
        nuts(lambda x: -x[0] if x[0] > 0.0 else x[0], np.ones(1))


def test_densities_that_are_none_are_refused():
    x = np.zeros(2)
    with pytest.raises(ArgumentError, match="improper"):
        nuts(lambda x: 0.0 * np.sum(x), x)
    with pytest.raises(EmptyError, match="no numbers"):
        nuts(lambda x: -0.5 * np.sum(x**2), np.zeros(0))
    square = lambda x, m: -0.5 * np.sum((x - m) ** 2)  # noqa: E731
    with pytest.raises(UntrackedError, match="draws have no derivatives"):
        nbgrad.grad(lambda m: np.mean(nuts(square, x, args=(m,)).draws))(x)
    with pytest.raises(UntrackedError, match="draws have no derivatives"):
        nuts(square, nbgrad.track(x), args=(x,))


def test_an_exception_of_the_density_is_raised():
    def refuses(x):
        if abs(x[0]) > 0.5:
            raise ValueError("far away")
        return -0.5 * x[0] ** 2

    with pytest.raises(ValueError, match="far away"):
        nuts(refuses, np.zeros(1), compile=False)
    with pytest.raises(ValueError):
        nuts(refuses, np.zeros(1))
    with pytest.raises(ValueError):
        nuts(refuses, np.ones(1))


def test_an_interrupt_ends_all_chains(monkeypatch):
    from nbgrad.sample import samplers

    real, begun = samplers.wait, time.monotonic()

    def interrupted(*args, **options):
        real(*args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(samplers, "wait", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        nuts(lambda x: -0.5 * np.sum(x**2), np.zeros(50), draws=10**6)
    assert time.monotonic() - begun < 20.0 and threading.active_count() <= before + 1


def test_windows_are_those_of_stan():
    assert windows(1000) == [
        (75, False), (25, True), (50, True), (100, True), (200, True), (500, True), (50, False)
    ]  # fmt: skip
    assert windows(100) == [(15, False), (65, True), (20, False)]
    assert windows(10) == [(10, False)] and windows(0) == []
    assert all(sum(n for n, _ in windows(total)) == total for total in range(0, 700, 7))


@pytest.mark.full
@pytest.mark.parametrize("sampler", [nuts, hmc])
def test_ranks_of_the_truth_are_uniform(sampler):
    """Simulation-based calibration (Talts and others, 2018)."""
    rng, times = np.random.default_rng(4), np.linspace(0.0, 2.0, 8)

    def density(p, data):
        miss = data - p[0] * np.exp(-np.exp(p[1]) * times)
        return -0.5 * np.sum(p**2) - 0.5 * np.sum((miss / 0.3) ** 2)

    ranks = []
    for seed in range(400):
        truth = rng.normal(size=2)
        data = truth[0] * np.exp(-np.exp(truth[1]) * times) + 0.3 * rng.normal(size=8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SamplingWarning)
            found = sampler(
                density, np.zeros(2), args=(data,), chains=1, draws=630, warmup=500, seed=seed,
                target=0.95,
            )  # fmt: skip
        ranks.append((found.flat[0, ::10] < truth).sum(axis=0))
    counts = np.stack([np.histogram(r, 16, (0, 64))[0] for r in np.transpose(ranks)])
    chi2 = np.sum((counts - 25.0) ** 2 / 25.0, axis=1)
    assert np.all(chi2 < 40.0), "15 degrees of freedom"
