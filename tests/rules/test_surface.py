"""The surface of NumPy: what becomes of each of its functions on tracked arrays.

The walk over NumPy's own namespaces says that nothing is forgotten, and each call of
`surface_calls` is held against NumPy: values, dtypes, derivatives, samples, compiled programs.
"""

import ast
import collections
import inspect
import re
import warnings
from typing import Any

import numpy as np
import pytest
from helpers.daily import daily
from helpers.planes import check_in_a_plane
from helpers.rows import PLAIN_PYTHON
from helpers.supported.of_numpy import surface, unknown
from helpers.surface_calls import CALLS, DATA, function_of, results

import nbgrad
from nbgrad.core.array import functions

ENTRIES = list(surface())
DEPRECATED = {
    getattr(np, name): target
    for name, target in (("row_stack", np.vstack), ("trapz", np.trapezoid))
    if hasattr(np, name)
}


def test_nothing_of_numpy_is_unknown():
    missing = unknown()
    assert not missing, (
        f"NumPy {np.__version__} has {', '.join(missing)}, of which nbgrad says nothing: write "
        "each as a function with @implements in nbgrad/rules/, or refuse it with an alternative in "
        "nbgrad/rules/refused.py, or name it in tests/helpers/supported/of_numpy.py with why "
        "it has no gradient"
    )


def test_most_functions_have_a_gradient():
    counts = collections.Counter(entry.kind for entry in ENTRIES)
    print(dict(counts))
    assert counts["yes"] >= 220
    assert counts["refused"] <= 45


def test_every_function_with_a_gradient_is_called():
    """Those that are rows are called by the tests of rows, deprecated ones are others."""
    assert all(functions.get(alias) is functions[target] for alias, target in DEPRECATED.items())
    text = "\n".join(CALLS)
    for entry in ENTRIES:
        deprecated = entry.name in {f"np.{alias.__name__}" for alias in DEPRECATED}
        if entry.kind == "yes" and not entry.what.startswith("the row") and not deprecated:
            names = "|".join(re.escape(name) for name in (entry.name, *entry.others))
            assert re.search(rf"({names})[.(]", text), f"surface_calls has no call of {entry.name}"


def _data(names, dtype=None):
    return [DATA[name] if dtype is None else DATA[name].astype(dtype) for name in names]


def _plain(value):
    return value.data if isinstance(value, nbgrad.TrackedArray) else value


def _assert_equal(found, expected, rtol, atol):
    found, expected = results(found), results(expected)
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        mine, theirs = np.asarray(_plain(mine)), np.asarray(theirs)
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine, theirs, rtol, atol)


every_call = pytest.mark.parametrize("call", CALLS)


@every_call
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
def test_values_are_numpys(call, dtype):
    f, names = function_of(call)
    args = _data(names, dtype)
    tolerances = (1e-11, 1e-13) if dtype == np.float64 else (2e-4, 1e-5)
    _assert_equal(f(*map(nbgrad.track, args)), f(*args), *tolerances)


SMOOTH = [call for call in CALLS if "xn" not in call]


@pytest.mark.filterwarnings("ignore::nbgrad.errors.ConstantWarning")  # of norm(v, 0)
@pytest.mark.parametrize("call", daily(SMOOTH, len(SMOOTH) // 3))
def test_gradients_are_those_of_differences(call, rng):
    f, names = function_of(call)
    check_in_a_plane(f, _data(names), rng, rtol=2e-6)


BY_VALUE = ("np.trim_zeros", "np.extract", "np.polydiv", "np.compress")
"""What gives shapes that depend on values."""


def _is_by_value(call: str) -> bool:
    return call.startswith(BY_VALUE) and "[True" not in call


@pytest.mark.parametrize("call", [call for call in CALLS if not _is_by_value(call)])
def test_samples_are_computed_together(call):
    f, names = function_of(call)
    stacked = [np.stack([z, z * 1.0625]) for z in _data(names)]
    expected = [results(f(*(z[i] for z in stacked))) for i in range(2)]
    found = results(nbgrad.vmap(f)(*stacked))
    for mine, theirs in zip(found, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(mine, np.stack(theirs), 1e-11, 1e-13)


@pytest.mark.parametrize("call", [call for call in CALLS if _is_by_value(call)])
def test_shapes_by_value_are_refused_for_samples(call):
    f, names = function_of(call)
    if call.startswith("np.polydiv") and call.endswith("[1]"):
        return  # nothing is divided
    with pytest.raises(nbgrad.UntrackedError, match="differ from sample to sample"):
        nbgrad.vmap(f)(*(np.stack([z, z]) for z in _data(names)))


# -- compiled -------------------------------------------------------------------------------------

EAGER_ONLY = {"np.linalg.lstsq", "np.polyfit", "np.frexp", "np.nextafter"}
"""Functions that are eager only for some of their arguments."""


def _weighted(f, args, rng):
    """The sum of what a function gives, with random weights."""
    weights = [rng.normal(size=np.shape(out)) for out in results(f(*args))]
    return lambda *args: sum(
        np.sum(out * weight) for out, weight in zip(results(f(*args)), weights, strict=True)
    )


@pytest.mark.skipif(not PLAIN_PYTHON, reason="in a process of its own: test_static_rows.py")
@every_call
def test_compiled_is_eager(call, rng):
    f, names = function_of(call)
    args = _data(names)
    try:
        found = nbgrad.compile(f)(*args)
    except nbgrad.TraceError as refused:
        assert "eager only" in str(refused)
        assert _is_by_value(call) or call.startswith(tuple(EAGER_ONLY))
        return
    _assert_equal(found, f(*args), 1e-11, 1e-13)
    slope = nbgrad.grad(_weighted(f, args, rng), tuple(range(len(args))))
    expected = slope(*args)
    _assert_equal(nbgrad.compile(slope)(*args), expected, 1e-9, 1e-11)


@pytest.mark.skipif(PLAIN_PYTHON, reason="once is enough")
@pytest.mark.parametrize(
    "call",
    ["np.median(x, axis=1)", "np.linalg.qr(x.T)[1]", "np.convolve(v, w)", "np.i0(x)",
     "np.interp(v, np.array([.1, .5, .7, 1.3]), w, period=1.57)"],
)  # fmt: skip
def test_kernels_of_their_own_are_compiled(call):
    f, names = function_of(call)
    args = _data(names)
    _assert_equal(nbgrad.compile(f)(*args), f(*args), 1e-12, 1e-14)


# -- edges ----------------------------------------------------------------------------------------


ERRORS = (ValueError, TypeError, IndexError, ZeroDivisionError, NotImplementedError)


@pytest.mark.parametrize("call", [call for call in CALLS if "xn" not in call])
def test_small_shapes_are_numpys_or_refused(call):
    """Without axes, of one element, and empty: what NumPy gives, or an error of a clear kind."""
    f, names = function_of(call)
    for shape in ((), (1,), (0,), (0, 3), (1, 1)):
        args = [np.full(shape, 0.7 + 0.1 * i) for i, _ in enumerate(names)]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = f(*map(nbgrad.track, args))
            except ERRORS as refused:
                assert str(refused)
                continue
            try:
                expected = f(*args)
            except ERRORS:
                continue
        _assert_equal(found, expected, 1e-11, 1e-13)


def _with_option(call: str, option: str) -> str:
    """The call with another keyword."""
    tree: Any = ast.parse(call, mode="eval").body
    while not isinstance(tree, ast.Call):
        tree = tree.value if hasattr(tree, "value") else tree.left
    name, value = option.split("=")
    tree.keywords.append(ast.keyword(name, ast.parse(value, mode="eval").body))
    return ast.unparse(tree)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.kind == "yes"], ids=lambda e: e.name)
def test_unknown_keywords_are_named(entry):
    calls = [call for call in CALLS if call.startswith(f"{entry.name}(")]
    for call in calls[:1]:
        f, names = function_of(_with_option(call, "nonsense=1"))
        with pytest.raises((TypeError, ValueError), match="nonsense"):
            f(*map(nbgrad.track, _data(names)))


@pytest.mark.parametrize("call", [call for call in CALLS if "axis=1)" in call and "xn" not in call])
def test_axes_that_are_none_are_refused(call):
    f, names = function_of(call.replace("axis=1)", "axis=7)"))
    with pytest.raises((ValueError, IndexError), match="7"):
        f(*map(nbgrad.track, _data(names)))


# -- keywords and names ---------------------------------------------------------------------------


def test_parameters_are_called_as_numpy_calls_them():
    """What a call names, and in what order, is what NumPy says."""
    wrong = []
    for target, function in functions.items():
        no_names = isinstance(target, (str, np.ufunc)) or hasattr(function, "__wrapped__")
        if no_names or not callable(target):
            continue
        try:
            theirs = inspect.signature(target).parameters
        except ValueError:
            continue
        mine = inspect.signature(function).parameters
        names = list(theirs)
        positional = [
            name for name, p in mine.items()
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)
        ]  # fmt: skip
        known = set(names) | {"kwargs", "options", "more", "args", "kw"}
        if positional != names[: len(positional)] or not set(mine) <= known:
            wrong.append(f"{target.__name__}{inspect.signature(function)}: {names}")
    assert not wrong, "\n".join(wrong)
