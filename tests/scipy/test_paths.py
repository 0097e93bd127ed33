"""SciPy's modules by the paths of `autograd.scipy`: the same names, with derivatives."""

import copy
import pickle
from typing import Any

import nbgrad.scipy.stats.multivariate_normal as mvn  # pyright: ignore[reportMissingImports]
import nbgrad.scipy.stats.norm as norm  # pyright: ignore[reportMissingImports]
import numpy as np
import pytest
import scipy.integrate
import scipy.signal
import scipy.special
import scipy.stats
from nbgrad.scipy.stats.t import logpdf as t_logpdf  # pyright: ignore[reportMissingImports]

import nbgrad
import nbgrad.numpy as gnp
import nbgrad.scipy.integrate as integrate
import nbgrad.scipy.linalg as linalg
import nbgrad.scipy.special as special
import nbgrad.scipy.stats as stats
from nbgrad.scipy.misc import logsumexp
from nbgrad.scipy.signal import convolve

BOTH = ("reverse", "forward")
X = np.array([0.3, 0.8, 1.7])
A = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, -0.4], [0.0, 0.1, 1.2]])

CALLS: dict[str, Any] = {
    "special.expit": lambda x: special.expit(x),
    "special.gammaln": lambda x: special.gammaln(x),
    "special.polygamma": lambda x: special.polygamma(1, x),
    "special.logsumexp": lambda x: special.logsumexp(x, axis=0, b=np.array([1.0, 2.0, 3.0])),
    "special.jn": lambda x: special.jn(2, x),
    "special.multigammaln": lambda x: special.multigammaln(x + 1.0, 2),
    "misc.logsumexp": lambda x: logsumexp(x),
    "norm.logpdf": lambda x: norm.logpdf(x, 0.1, 1.0 + x),
    "norm.cdf": lambda x: stats.norm.cdf(x),
    "t.logpdf": lambda x: t_logpdf(x, 3.0),
    "mvn.logpdf": lambda x: mvn.logpdf(x, np.zeros(3), np.eye(3) + np.outer(x, x)),
    "poisson.pmf": lambda x: stats.poisson.pmf(np.arange(3), x),
    "linalg.expm": lambda x: linalg.expm(A * x),
    "linalg.solve_triangular": lambda x: linalg.solve_triangular(A, x),
    "signal.convolve": lambda x: convolve(x, X, mode="same"),
    "filled": lambda x: special.expit(filled(x)) + norm.logpdf(filled(x)),
}
ONES = {
    "linalg.sqrtm": lambda x: linalg.sqrtm(A + x * np.eye(3)),
    "linalg.solve_sylvester": lambda x: linalg.solve_sylvester(A, A.T + x, x * A),
    "odeint": lambda x: integrate.odeint(falling, x, [0.0, 0.4], (2.0,)),
}


def filled(x):
    y = gnp.ones(3)  # pyright: ignore
    y[0] = x[1]
    return y


def falling(y, t, rate):
    return -rate * y + np.sin(t)


@pytest.mark.parametrize("name", [*CALLS, *ONES])
def test_names_by_these_paths_have_derivatives(name):
    f = (CALLS | ONES)[name]
    # What integrates to 1e-8 agrees with differences no closer.
    rtol = 1e-4 if name == "odeint" else 1e-6
    nbgrad.check_grads(f, (X,), BOTH, rtol=rtol)
    assert np.allclose(nbgrad.vmap(f)(np.stack([X, X]))[1], f(X), rtol=1e-7)
    loss = nbgrad.grad(lambda x: np.sum(f(x)))
    if name in CALLS:
        assert np.allclose(nbgrad.compile(loss)(X), loss(X), rtol=1e-12)
    else:
        with pytest.raises(nbgrad.TraceError, match=name.rpartition(".")[2]):
            nbgrad.compile(loss)(X)


@pytest.mark.parametrize("room", ["special", "linalg", "stats", "signal", "integrate"])
def test_all_names_of_scipy_are_there(room):
    ours, theirs = getattr(nbgrad.scipy, room), getattr(scipy, room)
    assert set(theirs.__all__) <= set(dir(ours))
    assert set(ours.__all__) >= set(theirs.__all__)
    with pytest.raises(AttributeError):
        getattr(ours, "no_such_name")  # noqa: B009


def test_plain_numbers_go_to_scipys_own_functions():
    assert special.expit is scipy.special.expit
    assert linalg.lu is scipy.linalg.lu
    assert np.array_equal(linalg.svd(A)[0], scipy.linalg.svd(A)[0])
    assert stats.uniform is scipy.stats.uniform
    assert norm.ppf(0.3) == scipy.stats.norm.ppf(0.3)
    assert norm(1.0, 2.0).pdf(0.5) == scipy.stats.norm(1.0, 2.0).pdf(0.5)  # pyright: ignore
    assert norm.rvs(size=2, random_state=1).shape == (2,)
    found = integrate.odeint(falling, X, [0.0, 1.0], args=(1.0,), full_output=True)
    assert found[1]["message"]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda x: norm.ppf(x), r"scipy\.stats\.norm\.ppf"),
        (lambda x: norm(x).logpdf(0.0), r"scipy\.stats\.norm\.logpdf"),  # pyright: ignore
        (lambda x: linalg.lu(x * np.eye(2))[2], r"scipy\.linalg\.lu: np\.linalg"),
        (lambda x: linalg.qr(x * A[:, :2])[0], r"qr: mode='complete' has no derivative rule"),
        (lambda x: special.ellipk(x), r"scipy\.special\.ellipk has no derivative rule"),
        (lambda x: integrate.odeint(lambda y, t: x * y, [1.0], [0.0, 1.0]), r"pass tracked values"),
        (lambda x: integrate.odeint(falling, x, [0.0, 1.0], (1.0,), full_output=True), "omit it"),
    ],
)
def test_what_has_no_derivative_is_refused_by_name(call, named):
    with pytest.raises((nbgrad.UntrackedError, nbgrad.NoRuleError), match=named):
        nbgrad.grad(call)(0.3)


SPD = A @ A.T
SOLVERS: dict[str, Any] = {
    "cholesky": lambda x: linalg.cholesky(SPD + np.diag(x), lower=True, check_finite=False),
    "cholesky, upper": lambda x: linalg.cholesky(SPD + np.diag(x)),
    "det": lambda x: linalg.det(x * A),
    "eigh": lambda x: linalg.eigh(SPD + np.diag(x), lower=True)[0],
    "eigvalsh": lambda x: linalg.eigvalsh(SPD + np.diag(x)),
    "inv": lambda x: linalg.inv(np.diag(x) + A, overwrite_a=True),
    "lstsq": lambda x: linalg.lstsq(A[:, :2] * x[:2], x)[0],
    "norm": lambda x: linalg.norm(A * x, "fro"),
    "pinv": lambda x: linalg.pinv(A * x),
    "qr": lambda x: linalg.qr(A * x)[1],
    "qr, economic": lambda x: linalg.qr(A[:, :2] + x[:, None], mode="economic")[0],
    "qr, r": lambda x: linalg.qr(A * x, mode="r")[0],
    "solve": lambda x: linalg.solve(SPD * x[0], x, assume_a="pos"),
    "svd": lambda x: linalg.svd(A * x)[1],
    "svd, economic": lambda x: linalg.svd(A[:, :2] * x[:2], full_matrices=False)[1],
    "svdvals": lambda x: linalg.svdvals(A * x),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_functions_that_numpy_has_too_are_scipys(name):
    f = SOLVERS[name]
    assert np.allclose(nbgrad.vjp(f, X)[0], f(X), rtol=1e-12, atol=1e-12)
    nbgrad.check_grads(f, (X,), BOTH)


def test_options_that_mean_more_are_refused_with_tracked_arrays():
    assert linalg.eigh(SPD, eigvals_only=True).shape == (3,)
    with pytest.raises(TypeError, match="eigvals_only"):
        nbgrad.grad(lambda x: linalg.eigh(x * SPD, eigvals_only=True)[0])(1.0)


def test_distributions_are_modules_and_objects():
    assert stats.norm is norm is copy.deepcopy(norm) is pickle.loads(pickle.dumps(norm))
    assert nbgrad.scipy.stats.t.logpdf(0.3, 2.0) == t_logpdf(0.3, 2.0)
    assert np.isclose(mvn.entropy(None, 2.0), scipy.stats.multivariate_normal.entropy(None, 2.0))  # pyright: ignore


# -- odeint ---------------------------------------------------------------------------------------


def swinging(y, t, p, factor):
    return [y[1], -p["k"] * y[0] * factor + 0.1 * t]


def test_odeint_has_derivatives_in_states_times_and_arguments():
    times = np.array([0.0, 0.3, 0.7])

    def f(y0, t, k):
        return integrate.odeint(swinging, y0, t, ({"k": k}, 2), rtol=1e-10, atol=1e-10)

    expected = scipy.integrate.odeint(swinging, [1.0, 0.5], times, ({"k": 2.0}, 2))
    assert np.allclose(f(np.array([1.0, 0.5]), times, 2.0), expected, 1e-6)
    nbgrad.check_grads(f, (np.array([1.0, 0.5]), times, 2.0), BOTH, order=2)


def test_odeint_takes_the_time_first_and_numbers():
    def f(k):
        out = integrate.odeint(lambda t, y: -y, k, [0, 1, 2], tfirst=True)
        return out[-1, 0]

    assert np.isclose(nbgrad.grad(f)(1.0), np.exp(-2.0), rtol=1e-6)
    assert np.isclose(nbgrad.jvp(f, (1.0,), (1.0,))[1], np.exp(-2.0), rtol=1e-6)


# -- convolve -------------------------------------------------------------------------------------

SHAPES = [((5,), (3,)), ((3,), (5,)), ((4, 5), (2, 3)), ((2, 3), (4, 5)), ((1,), (4,))]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_convolutions_are_scipys(mode, shapes):
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=shape) for shape in shapes)
    assert np.allclose(convolve(a, b, mode=mode), scipy.signal.convolve(a, b, mode))
    assert np.allclose(convolve(a, b, mode), scipy.signal.convolve(a, b, mode))
    nbgrad.check_grads(lambda a, b: convolve(a, b, mode=mode), (a, b), BOTH, order=2)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_images_with_channels(mode):
    rng = np.random.default_rng(4)
    images, filters = rng.normal(size=(2, 3, 6, 5)), rng.normal(size=(3, 4, 2, 3))

    def f(images, filters):
        return convolve(images, filters, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode=mode)

    expected = [
        [sum(scipy.signal.convolve(x[c], filters[c, k], mode) for c in range(3)) for k in range(4)]
        for x in images
    ]
    assert np.allclose(f(images, filters), expected)
    if mode == "valid":  # the filters may come first
        other = convolve(filters, images, axes=[(2, 3)] * 2, dot_axes=[(0,), (1,)], mode=mode)
        assert np.allclose(np.swapaxes(other, 0, 1), expected)
    loss = nbgrad.grad(lambda f_: np.sum(f(images, f_) ** 2))
    assert np.allclose(nbgrad.compile(loss)(filters), loss(filters))


def test_convolutions_that_do_not_fit_are_refused():
    with pytest.raises(nbgrad.DimensionMismatch, match=r"neither is the larger one"):
        convolve(np.ones((3, 4)), np.ones((4, 3)), mode="valid")
    with pytest.raises(nbgrad.DimensionMismatch, match="two lists"):
        convolve(np.ones((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match="mode='some'"):
        convolve(X, X, "some")
