"""What stands beside the rows: functions that SciPy writes in Python, the walk over its namespace,
and SciPy's functions inside of compiled code."""

import re
import textwrap
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special
from helpers.children import run
from helpers.supported.of_special import special as entries
from helpers.supported.of_special import unknown_special

import nbgrad
from nbgrad import NoRuleError, special, track
from nbgrad.kernels.scalar import library
from nbgrad.rules.refused import REFUSED
from nbgrad.rules.special import gammas

X = np.array([[0.3, -1.2, 2.0], [0.0, 0.7, -0.4]])


# -- functions in Python --------------------------------------------------------------------------


_logsumexp: Any = scipy.special.logsumexp  # its annotations leave the arrays out


@pytest.mark.parametrize("axis", [None, 0, (0, 1), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_with_weights(axis, keepdims):
    b = np.array([[1.0, 0.0, 0.5], [2.0, 3.0, 0.1]])
    for weights in (None, b, b[0], 2.0):
        found = special.logsumexp(track(X), axis, b=weights, keepdims=keepdims)
        expected = _logsumexp(X, axis, b=weights, keepdims=keepdims)
        np.testing.assert_allclose(found.data, expected, 1e-14)
        assert found.shape == np.shape(expected)
    nbgrad.check_grads(lambda x, b: special.logsumexp(x, axis, b=b), (X, b + 0.1), order=2)
    compiled = nbgrad.compile(lambda x, b: special.logsumexp(x, axis, b=b))
    np.testing.assert_allclose(compiled(X, b), _logsumexp(X, axis, b=b), 1e-13)


def test_logsumexp_at_the_ends():
    inf = np.inf
    for x, b in (
        ([1000.0, -1000.0], [1.0, -1.0]), ([-inf, 0.0], [1.0, 1.0]), ([-inf, -inf], [1.0, 1.0]),
        ([inf, 0.0], [1.0, 1.0]), ([2000.0, 1.0], [0.0, 2.0]), ([1.0, 2.0], [-1.0, -1.0]),
    ):  # fmt: skip
        with np.errstate(all="ignore"):
            found = special.logsumexp(np.array(x), b=np.array(b), return_sign=True)
            expected = _logsumexp(x, b=b, return_sign=True)
        np.testing.assert_allclose(found, expected)
    with np.errstate(all="ignore"):
        assert np.isnan(special.logsumexp(np.array([1.0, 2.0]), b=-1.0))
    # A weight of 0 has a slope: that of the term which it leaves out.
    slope = nbgrad.grad(lambda b: special.logsumexp(np.array([2.0, 1.0]), b=b))
    np.testing.assert_allclose(slope(np.array([0.0, 1.0])), [np.e, 1.0])


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_softmax_has_scipys_axes(axis):
    for name in ("softmax", "log_softmax"):
        mine, theirs = getattr(special, name), getattr(scipy.special, name)
        np.testing.assert_allclose(mine(track(X), axis).data, theirs(X, axis), 1e-14)


def test_functions_of_scipy_in_python_that_take_tracked_arrays():
    x = np.array([0.3, 1.7])
    for f in (
        lambda x: scipy.special.zeta(x + 1), lambda x: scipy.special.zeta(x + 1, 0.4),
        lambda x: scipy.special.sinc(x),
        lambda x: scipy.special.jvp(1, x), lambda x: scipy.special.ivp(1, x),
        lambda x: scipy.special.kvp(1, x), lambda x: scipy.special.yvp(1, x),
        lambda x: scipy.special.kn(2, x), lambda x: scipy.special.yn(2, x),
        lambda x: scipy.special.jn(2, x), lambda x: scipy.special.digamma(x),
    ):  # fmt: skip
        found: Any = f(track(x))
        assert isinstance(found, nbgrad.TrackedArray)
        np.testing.assert_allclose(found.data, f(x), 1e-13)
    w: Any = scipy.special.lambertw(track(x))
    np.testing.assert_allclose(w.data, scipy.special.lambertw(x).real, 1e-14)
    np.testing.assert_array_equal(scipy.special.gammasgn(track(-x)), [-1.0, 1.0])


# -- the walk -------------------------------------------------------------------------------------


def test_nothing_of_scipy_special_is_unknown():
    missing = unknown_special()
    assert not missing, (
        f"SciPy {scipy.__version__} has {', '.join(missing)}, of which nbgrad says nothing: write "
        "each in nbgrad/rules/, or refuse it with the way round in rules/refused.py, or "
        "name it in tests/helpers/supported/of_special.py with why it has no gradient"
    )


def test_what_has_a_gradient_is_in_nbgrad_special():
    names = {
        name.rpartition(".")[2]
        for entry in entries()
        for name in (entry.name, *entry.others)
        if entry.kind == "yes"
    }
    aside = {"jvp", "ivp", "kvp", "yvp", "jn", "kn", "yn"}
    assert names - aside <= set(special.__all__)
    old = {"softplus"}  # SciPy 1.13 has none
    assert all(hasattr(scipy.special, name) for name in set(special.__all__) - old)


@pytest.mark.parametrize(
    "entry", [e for e in entries() if e.kind == "refused"], ids=lambda e: e.name
)
def test_refused_ufuncs_say_so_by_name(entry):
    f = getattr(scipy.special, entry.name.rpartition(".")[2])
    if isinstance(f, np.ufunc):
        with pytest.raises(NoRuleError, match=re.escape(f"{entry.name} has no derivative rule")):
            f(*[track(0.5)] * f.nin)


@pytest.mark.parametrize(
    "name", ["logsumexp", "softmax", "log_softmax", "polygamma", "multigammaln"]
)
def test_functions_in_python_name_ours(name):
    args = {"polygamma": (1, track(X)), "multigammaln": (track(X + 5), 2)}.get(name, (track(X),))
    with pytest.raises(nbgrad.UntrackedError, match=rf"write nbgrad\.special\.{name};"):
        getattr(scipy.special, name)(*args)


def test_ufuncs_of_a_later_scipy_are_refused():
    new = np.frompyfunc(lambda x: x, 1, 1)
    with pytest.raises(NoRuleError, match="compose it from functions that have one"):
        new(track(1.0))


def test_the_ways_round_mean_the_same():
    """Of those that are formulas in the parameters of the function."""
    values = {
        "k": 2.0, "n": 6.0, "p": 0.3, "v": 3.0, "x": 1.7, "a": 2.5, "b": 1.5, "z": 1.3, "m": 0.7,
        "y": 0.4, "d": 5.0, "s": 12.0,
    }  # fmt: skip
    orders = {
        "bdtr": "knp", "bdtrc": "knp", "chdtr": "vx", "chdtrc": "vx", "fdtr": "abx",
        "fdtrc": "abx", "gdtr": "abx", "gdtrc": "abx", "nbdtr": "knp", "nbdtrc": "knp",
        "pdtr": "km", "pdtrc": "km", "zetac": "x", "poch": "zm", "binom": "nk",
        "powm1": "xy", "exprel": "x", "sindg": "x", "cosdg": "x", "tandg": "x", "cotdg": "x",
        "radian": "dms", "wrightomega": "z", "diric": "xn",
    }  # fmt: skip
    scope: dict[str, Any] = {"np": np, "special": special, **values}
    formulas = {name: way for way, names in REFUSED.items() for name in names.split()}
    for name, order in orders.items():
        f = getattr(scipy.special, name)
        text = formulas[name].removeprefix("write ").partition(" for ")[0]
        expected = f(
            *(int(values[c]) if c in "kn" and name != "binom" else values[c] for c in order)
        )
        assert eval(text, scope) == pytest.approx(float(expected), rel=1e-12), name
    jn = special.jv(values["n"] + 0.5, 1.3) * np.sqrt(np.pi / 2.6)
    assert jn == pytest.approx(float(scipy.special.spherical_jn(6, 1.3)))


# -- SciPy's functions inside of compiled code ----------------------------------------------------


def test_addresses_are_those_of_doubles():
    import ctypes

    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int)
    assert kind(library.address("psi 1"))(2.5, 1) == scipy.special.psi(2.5)
    with pytest.raises(ImportError, match="no psi of 3 doubles"):
        library.address("psi 3")


CODE = """
f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(nbgrad.special.digamma(x)
    + nbgrad.special.jv(0.5, x))))
value, slope = f(np.array([1.0, 2.5]))
eager = nbgrad.grad(lambda x: np.sum(nbgrad.special.kve(2.0, x)))(np.array([1.0, 2.5]))
result = [float(value), slope.tolist(), eager.tolist()]
"""


@pytest.mark.full
def test_machine_code_holds_no_address(tmp_path):
    """Another process loads it, where SciPy lies somewhere else."""
    first = run(CODE, NBGRAD_CACHE_DIR=str(tmp_path))
    second = run(CODE, NBGRAD_CACHE_DIR=str(tmp_path))
    assert first.compiled > 0
    assert second.compiled == 0
    assert first.result == second.result
    x = np.array([1.0, 2.5])
    expected = scipy.special.psi(x) + scipy.special.jv(0.5, x)
    assert first.result[0] == pytest.approx(np.sum(expected), rel=1e-14)
    slopes = [
        float(mpmath.diff(lambda z: mpmath.digamma(z) + mpmath.besselj(0.5, z), z)) for z in x
    ]
    np.testing.assert_allclose(first.result[1], slopes, 1e-13)


@pytest.mark.full
def test_users_own_cached_functions_call_them(tmp_path):
    """Numba loads a user's function from its own cache, and SciPy is asked for then."""
    (tmp_path / "user.py").write_text(
        textwrap.dedent(
            """
            import nbgrad
            from numba import njit

            f = nbgrad.compile(lambda x: nbgrad.special.gammaln(x))
            f.variant(1.0)
            log_gamma = f.njit

            @njit(cache=True)
            def total(n):
                s = 0.0
                for i in range(n):
                    s += log_gamma(1.0 + i)
                return s
            """
        )
    )
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import user
result = user.total(5)
"""
    expected = sum(scipy.special.gammaln(1.0 + i) for i in range(5))
    for _ in range(2):
        found = run(code, NBGRAD_CACHE_DIR=str(tmp_path / "cache")).result
        assert found == pytest.approx(expected, rel=1e-14)


def test_special_is_imported_late():
    found = run("import sys\nresult = 'scipy.special' in sys.modules")
    assert found.result is False


def test_slopes_of_zeta_end_where_their_kernel_does():
    for last in (lambda s: gammas.riemann_row_of(s, 15), lambda s: gammas.zeta_row_of(s, 2.0, 15)):
        assert np.isfinite(last(track(3.0)).data)
        with pytest.raises(NoRuleError, match="up to order 15"):
            nbgrad.grad(last)(3.0)
