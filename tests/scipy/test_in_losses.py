"""Functions of SciPy in a loss: refused by an error that names the function and the way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial

import nbgrad

X = np.array([1.0, 2.0, 3.0, 0.5])
T = np.arange(4.0)
S = scipy.sparse.csr_matrix(np.eye(4))
SOLVED, STEPS, CURVE, FILTER, PAIRS, SPARSE = (
    "custom_rule", r"nbgrad\.scan", r"np\.interp", r"np\.convolve|nbgrad\.scipy\.signal",
    r"np\.linalg\.norm", "sparse",
)  # fmt: skip
optimize, integrate, interpolate = scipy.optimize, scipy.integrate, scipy.interpolate


def at_first(f: Callable) -> Callable:
    """A function that is f at its first call. SciPy's brentq calls it again while the error of the
    first call is pending, and then a lookup of any attribute may fail, or lose that error: what is
    raised in the end says then that it was caught, and repeats it."""
    called = False

    def called_once(r: float) -> Any:
        nonlocal called
        if called:
            return r
        called = True
        return f(r)

    return called_once


CALLS: dict[str, tuple[Callable, str]] = {
    "optimize.brentq": (
        lambda x: optimize.brentq(at_first(lambda r: r * r - x[0]), 0.0, 5.0), SOLVED,
    ),
    "optimize.bisect": (lambda x: optimize.bisect(lambda r: r * r - 2.0, x[3], 5.0), SOLVED),
    "optimize.minimize_scalar": (
        lambda x: optimize.minimize_scalar(lambda r: (r - x[0]) ** 2).x, SOLVED,
    ),
    "optimize.minimize": (
        lambda x: optimize.minimize(lambda r: np.sum((r - x) ** 2), np.zeros(4)).x, SOLVED,
    ),
    "optimize.fsolve": (lambda x: optimize.fsolve(lambda r: r * r - x, np.ones(4)), SOLVED),
    "optimize.root": (lambda x: optimize.root(lambda r: r - x, np.ones(4)).x, SOLVED),
    "optimize.least_squares": (
        lambda x: optimize.least_squares(lambda r: r - x, np.ones(4)).x, SOLVED,
    ),
    "optimize.curve_fit": (lambda x: optimize.curve_fit(lambda t, a: a * t, T, x)[0], SOLVED),
    "sparse.linalg.spsolve": (lambda x: scipy.sparse.linalg.spsolve(S.tocsc(), x), SPARSE),
    "interpolate.interp1d": (lambda x: interpolate.interp1d(T, x)(1.5), CURVE),
    "interpolate.interp1d at": (lambda x: interpolate.interp1d(T, T)(x), CURVE),
    "interpolate.CubicSpline": (lambda x: interpolate.CubicSpline(T, x)(1.5), CURVE),
    "interpolate.CubicSpline at": (lambda x: interpolate.CubicSpline(T, T)(x), CURVE),
    "interpolate.PchipInterpolator": (lambda x: interpolate.PchipInterpolator(T, x)(1.5), CURVE),
    "signal.lfilter": (lambda x: scipy.signal.lfilter([1.0, 0.5], [1.0], x), FILTER),
    "signal.fftconvolve": (lambda x: scipy.signal.fftconvolve(x, [1.0, 2.0]), FILTER),
    "signal.savgol_filter": (lambda x: scipy.signal.savgol_filter(x, 3, 1), FILTER),
    "ndimage.gaussian_filter": (lambda x: scipy.ndimage.gaussian_filter(x, 1.0), FILTER),
    "spatial.distance.cdist": (
        lambda x: scipy.spatial.distance.cdist(x[:, None], x[:, None]), PAIRS,
    ),
    "spatial.distance.pdist": (lambda x: scipy.spatial.distance.pdist(x[:, None]), PAIRS),
    "integrate.solve_ivp": (
        lambda x: integrate.solve_ivp(lambda t, y: -x * y, (0.0, 1.0), np.ones(4)).y, STEPS,
    ),
    "integrate.solve_ivp from": (
        lambda x: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), x).y, STEPS,
    ),
    "integrate.odeint": (
        lambda x: integrate.odeint(lambda y, t: -x * y, np.ones(4), [0.0, 1.0]),
        r"nbgrad\.scipy\.integrate\.odeint has a derivative in y0, t and args.*nbgrad\.scan",
    ),
    "integrate.quad": (lambda x: integrate.quad(lambda t: x[0] * t, 0.0, 1.0)[0], SOLVED),
    "integrate.trapezoid": (lambda x: integrate.trapezoid(x), r"np\.trapezoid"),
    "fft.fft": (lambda x: scipy.fft.fft(x), "complex numbers"),
}  # fmt: skip

MODES: dict[str, Callable] = {
    "grad": lambda f: nbgrad.grad(f)(X),
    "jvp": lambda f: nbgrad.jvp(f, (X,), (X,)),
    "compiled": lambda f: nbgrad.compile(f)(X),
    "compiled grad": lambda f: nbgrad.compile(nbgrad.grad(f))(X),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CALLS)
def test_the_error_names_the_way(name: str, mode: str, capfd: pytest.CaptureFixture):
    call, way = CALLS[name]
    with pytest.raises((nbgrad.UntrackedError, nbgrad.TraceError), match=way) as caught:
        MODES[mode](lambda x: np.sum(call(x)))
    assert f"scipy.{name.split()[0]}" in str(caught.value)


@pytest.mark.parametrize("mode", MODES)
def test_an_attribute_that_scipy_asks_for_names_the_way(mode: str):
    with pytest.raises(AttributeError, match=r"scipy\.fftpack\.fft: .*nbgrad\.scipy\.fft.*'flags'"):
        MODES[mode](lambda x: np.sum(scipy.fftpack.fft(x)))


def test_the_ways_that_are_named():
    slope = nbgrad.grad(lambda x: np.sum(nbgrad.at(np.zeros(3))[np.array([0, 2])].add(x[:2]) ** 2))
    np.testing.assert_array_equal(slope(X), [2.0, 4.0, 0.0, 0.0])
    distances = nbgrad.grad(lambda x: np.linalg.norm(x[:, None] - x[None, :2], axis=-1).sum())
    np.testing.assert_array_equal(distances(X.reshape(2, 2)).shape, (2, 2))
