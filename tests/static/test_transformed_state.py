"""Compiled functions inside of transformations: state, noise, errors, threads and memory."""

import gc
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from helpers.static.transformed import XS, A, V, X, close

import nbgrad
from nbgrad import compile, grad, jacobian, jvp, vmap
from nbgrad.core.primitive import Primitive


def test_what_changes_outside_is_recorded_again():
    scale = np.array([1.0, 2.0, 3.0])
    factor = 2.0

    def f(x):
        return factor * np.sum(scale * x * x)

    slope = grad(compile(f))
    close(slope(X), 4.0 * scale * X)
    scale[:] = 5.0
    close(slope(X), 4.0 * scale * X)
    scale = np.array([2.0, 2.0, 7.0])
    close(slope(X), 4.0 * scale * X)
    factor = 3.0
    for _ in range(40):
        close(slope(X), 6.0 * scale * X)
    factor = 0.5
    close(slope(X), scale * X)


def test_what_is_tracked_outside_gets_its_derivative():
    w = nbgrad.track(V.copy())
    f = compile(lambda x: np.sum(w * x * x))
    f(nbgrad.track(X.copy())).backward()
    close(w.grad, X * X)
    close(grad(lambda v: grad(compile(lambda x: np.sum(v * x * x * x)))(X) @ X)(V), 3 * X**3)
    close(vmap(lambda v: grad(compile(lambda x: np.sum(v * x * x)))(X))(XS), 2 * XS * X)
    close(
        jvp(lambda v: grad(compile(lambda x: np.sum(v * x * x)))(X), (V,), (X,)),
        (2 * V * X, 2 * X * X),
    )


def test_what_cannot_be_compiled_runs_as_it_is():
    def branches(x):
        return np.sum(x * x) if x[0] > 0 else np.sum(x)

    close(grad(compile(branches))(np.abs(X)), 2 * np.abs(X))
    close(grad(compile(branches))(-np.abs(X)), np.ones(3))
    f = compile(branches)
    for sign in (1, -1, 1):
        close(grad(f)(sign * np.abs(X)), grad(branches)(sign * np.abs(X)))


def item(x):
    return np.sum(x * x) * (1.0 if x[0].item() > 0.0 else 2.0)


def writes(x):
    x[0] = 0.0
    return np.sum(x * x)


def generator(x):
    return np.sum(x + 0.0 * GENERATOR.normal(size=3))


REFUSED = {
    "a branch": (lambda x: np.sum(x * x) if x[0] > 0 else np.sum(x), "TruthError: the truth"),
    "a number of a leaf": (item, "UntrackedError: "),
    "a write to the caller's array": (writes, "GraphError: "),
    "a generator": (generator, "DrawnError: a NumPy Generator"),
    "an array of the same graph": (
        lambda x: np.sum(x * OUTSIDE),
        "CapturedError: the function closes",
    ),
}
OUTSIDE = nbgrad.track(V.copy())
GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_functions_run_uncompiled_and_list_the_reason(name):
    f, reason = REFUSED[name]
    results, compiled = [], compile(f)
    for g in (f, compiled):
        for _ in range(2):
            x = nbgrad.track(X.copy())
            y = 2.0 * x
            g(y).backward()
            results.append((y.data, x.grad))
    close(results[2:], results[:2])
    (told,) = compiled.fallbacks
    assert told.startswith(reason), told


def test_a_missing_rule_is_an_error_only_if_it_is_needed():
    def pullback(ct, out, x):
        raise nbgrad.NoRuleError("no derivative here")

    square = nbgrad.custom_rule(pullback=pullback)(lambda x: x * x)
    f = compile(lambda x: np.sum(square(x)))
    y = f(nbgrad.track(X.copy()))
    close(y.data, X @ X)
    assert f.fallbacks == ("NoRuleError: no derivative here [NB-RULE]",)
    with pytest.raises(nbgrad.NoRuleError, match="no derivative here"):
        y.backward()


def test_a_static_argument_of_another_kind_runs_uncompiled():
    f = compile(lambda x, names: np.sum(x * len(names)))
    close(grad(f)(X, {1, 2}), np.full(3, 2.0))
    (told,) = f.fallbacks
    assert told.startswith("CompiledArgumentError: a static argument must be hashable")


def test_fallbacks_of_derivatives_of_derivatives_are_listed():
    f = compile(lambda x: np.sum(x**3) if x[0] > -9.0 else np.sum(x))
    close(nbgrad.hessian(f)(X), np.diag(6.0 * X))
    assert f.fallbacks and all(told.startswith("TruthError") for told in f.fallbacks)
    g = compile(lambda x: np.sum(x**3))
    nbgrad.hessian(g)(X)
    assert not g.fallbacks


TRANSFORMED = {
    "grad": lambda f: grad(f)(X),
    "leaf": lambda f: f(nbgrad.track(X)),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "vmap": lambda f: vmap(f)(XS),
    "linearize": lambda f: nbgrad.linearize(f, X),
    "hessian": lambda f: nbgrad.hessian(f)(X),
}


@pytest.mark.parametrize("transform", TRANSFORMED)
@pytest.mark.parametrize("error", [RuntimeError, ValueError, TypeError, AssertionError, KeyError])
def test_errors_of_rules_are_raised(transform, error, monkeypatch):
    tanh = Primitive.registry["tanh"]

    def broken(*args, **options):
        raise error("a broken rule")

    for rule in ("pullback", "pushforward", "batch"):
        monkeypatch.setattr(tanh, rule, broken)
    f = compile(lambda x: np.sum(np.tanh(x)))
    with pytest.raises(error, match="a broken rule"):
        TRANSFORMED[transform](f)
    assert not f.fallbacks


@pytest.mark.parametrize("transform", TRANSFORMED)
def test_errors_of_the_compiler_are_raised(transform, monkeypatch):
    def broken(*args):
        raise NotImplementedError("a broken compiler")

    monkeypatch.setattr("nbgrad.static.variant.emit", broken)
    f = compile(lambda x: np.sum(np.tanh(x)))
    with pytest.raises(NotImplementedError, match="a broken compiler"):
        TRANSFORMED[transform](f)
    assert not f.fallbacks


def test_random_numbers_are_drawn_at_each_call():
    rng = np.random.default_rng(0)
    f = compile(lambda x: np.sum(x * rng.normal(size=3)))
    tangent = lambda xs: jvp(f, (xs[0],), (xs[1],))[1]  # noqa: E731
    for transform in (lambda xs: grad(f)(xs[0]), vmap(f), tangent):
        draws = [transform(XS) for _ in range(3)]
        assert not np.allclose(draws[0], draws[1]) and not np.allclose(draws[1], draws[2])


def test_modes_look_at_each_op():
    f = compile(lambda x: np.sum(np.log(x)))
    with nbgrad.detect_nan(), pytest.raises(nbgrad.NanError, match="log gave nan"):
        grad(f)(-np.ones(3))
    with nbgrad.no_tracking():
        close(grad(f)(X + 9.0), 1.0 / (X + 9.0))
    with np.errstate(all="raise"):  # which compiled functions ignore
        assert np.all(np.isinf(grad(f)(np.zeros(3))))


@pytest.mark.full
def test_what_a_function_keeps_is_leaked():
    kept = []

    def f(x):
        kept.append(x)
        return np.sum(x * x)

    for transform in (grad(compile(f)), vmap(compile(f))):
        transform(XS)
        with pytest.raises(nbgrad.LeakedValueError, match="compile of f"):
            _ = kept[-1] + 1.0


def test_positions_are_checked():
    f = compile(lambda x, i: np.sum(x[i] ** 2))
    close(grad(f)(X, np.array([0, 1])), 2 * X * [1, 1, 0])
    for _ in range(2):
        with pytest.raises(IndexError):
            grad(f)(X, np.array([0, 7]))


def test_methods_and_models():
    class Model:
        def __init__(self, w):
            self.w = w

        @compile
        def __call__(self, x):
            return np.sum(self.w * x * x)

    model: Any = Model(V.copy())
    close(grad(model)(X), 2 * V * X)
    close(grad(lambda m: m(X))(model).w, X * X)
    model.w = A[0]
    close(grad(model)(X), 2 * A[0] * X)


def test_threads_share_a_function():
    f = compile(lambda x: np.sum(np.tanh(x) ** 2))
    found = {}

    def run(k):
        found[k] = [grad(f)(np.full(n, 0.5)) for n in range(1, 5)]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        close(found[k], [grad(f.function)(np.full(n, 0.5)) for n in range(1, 5)])


def test_errors_name_the_line_of_the_user():
    f = compile(lambda x: np.sum(x @ np.ones((4, 2))))
    with pytest.raises(ValueError, match="4") as wrong:
        grad(f)(X)
    assert any("ones((4, 2))" in str(entry.statement) for entry in wrong.traceback)


def test_a_constant_result_is_constant():
    f = compile(lambda x: np.sum(A) + 0.0 * len(x))
    g = compile(lambda x: (np.sum(x), np.sum(V) + 1.0))
    assert isinstance(g(nbgrad.track(X))[1], float | np.floating)
    with pytest.warns(nbgrad.ConstantWarning):
        assert not np.any(grad(lambda x: g(x)[1])(X))
    with pytest.raises(Exception):  # noqa: B017
        f(X)


def test_residuals_are_kept_from_writes():
    f = compile(lambda x: np.exp(x) * x)
    x = nbgrad.track(X.copy())
    y = f(x)
    y[0] = 5.0
    np.sum(y * y).backward()
    expected = 2 * np.exp(X) * X * np.exp(X) * (1 + X)
    expected[0] = 0.0
    close(x.grad, expected)


def test_memory_falls_with_the_graph_and_the_function():
    f = compile(lambda x: np.tanh(x) * x)
    x = nbgrad.track(X.copy())
    y = f(x)
    np.sum(y).backward(keep_graph=True)
    results = jvp(f, (X,), (V,)), vmap(f)(XS), nbgrad.linearize(f, X)[1](V), jacobian(f)(X)
    assert all(x is not None for x in results)
    node, function = weakref.ref(y.node), weakref.ref(f)
    gc.disable()
    try:
        del y
        assert node() is None
        del f
        assert function() is None
    finally:
        gc.enable()


def test_programs_are_bounded():
    f = compile(lambda x: np.sum(x * x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(1, 80):
            jvp(f, (np.ones(n),), (np.ones(n),))
    (nesting,) = f.nestings.values()
    (derived,) = nesting._derived.values()
    assert len(derived._variants) <= 64


def test_one_program_of_a_compiled_gradient():
    f = compile(lambda x: np.sum(np.tanh(x) ** 2))
    one, other = compile(grad(f)), compile(grad(f.function))
    close(one(X), other(X))
    assert one.plan.steps == other.plan.steps if hasattr(one.plan, "steps") else True
    assert not f.nestings
