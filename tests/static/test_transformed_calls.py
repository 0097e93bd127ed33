"""Compiled functions inside of transformations: the function's own numbers, by machine code.

A function that runs compiled does not run in Python again, once it was recorded: that is counted.
"""

import gc
import threading
import warnings
import weakref
from collections import namedtuple
from functools import wraps

import numpy as np
import pytest

import nbgrad
from nbgrad import compile, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap

RNG = np.random.default_rng(0)
X = RNG.normal(size=3)
V = RNG.normal(size=3)
XS = RNG.normal(size=(4, 3))
A = RNG.normal(size=(3, 3))
LABELS = np.array([0, 2, 1])
Pair = namedtuple("Pair", "a b")


@nbgrad.custom_rule(pullback=lambda ct, out, x: 3.0 * ct * x)
def ruled(x):
    return x * x


def loop(x):
    return np.sum(nbgrad.loop(3, lambda i, y: np.tanh(A @ y) + x, x))


def scan(x):
    state, ys = nbgrad.scan(lambda s, r: (s * np.sin(r), s + r), x[0], x)
    return state + np.sum(ys * ys)


inner = compile(lambda y: np.sin(y) * y)

FUNCTIONS = {
    "layers": lambda x: np.sum(np.tanh(A @ np.tanh(A @ x)) ** 2),
    "captured": lambda x: np.mean(np.logaddexp(0.0, A @ x) - V * x),
    "shared slope": lambda x: np.log(np.sum(np.exp(x))) * np.exp(-x[0]),
    "where": lambda x: np.sum(np.where(x > 0.1, np.sqrt(np.abs(x)), x**3)),
    "gathered": lambda x: np.sum(x[LABELS] * np.arange(3.0)) + np.max(x) * x[1],
    "layout": lambda x: np.sum(np.cumsum(np.outer(x, x)[1:].T.reshape(-1)) * 0.5),
    "solve": lambda x: np.sum(np.linalg.solve(A + np.diag(x * x), x)),
    "stopped": lambda x: np.sum(x * nbgrad.stop_gradient(x) ** 2 * x),
    "ruled": lambda x: np.sum(ruled(np.sin(x))),
    "loop": loop,
    "scan": scan,
    "nested": lambda x: np.sum(inner(x) ** 2),
    "checkpoint": lambda x: np.sum(nbgrad.checkpoint(lambda y: np.tanh(y) * y)(x) * x),
    "gradient inside": lambda x: np.sum(grad(lambda y: np.sum(np.sin(y) * y))(x) ** 2),
}


def backward(f):
    x = nbgrad.track(X.copy())
    z = 2.0 * f(x * 1.5)
    z.backward()
    return z.data, x.grad


def accumulated(f):
    x = nbgrad.track(X.copy())
    y = np.sin(x)
    z = f(y) + np.sum(y)
    z.grad = 1.0
    return nbgrad.accum(x)


def twice(f):
    x = nbgrad.track(X.copy())
    f(x).backward(create_graph=True)
    np.sum(x.grad * V).backward()
    return x.grad.data


def linearized(f):
    value, push = nbgrad.linearize(lambda x: f(x) * x, X)
    several = vmap(push)(XS), jvp(push, (V,), (X,)), grad(lambda v: np.sum(push(v) ** 2))(V)
    return value, push(V), push.transpose(V), several


TRANSFORMS = {
    "grad": lambda f: grad(f)(X),
    "value_and_grad": lambda f: value_and_grad(f)(X),
    "vjp": lambda f: [vjp(f, X)[1](ct) for ct in (1.0, 2.0)],
    "jvp": lambda f: jvp(f, (X,), (V,)),
    "vmap": lambda f: vmap(f)(XS),
    "pullback": lambda f: nbgrad.pullback(f, X)[1](1.0)[1],
    "jacobian forward": lambda f: jacobian(f, mode="forward")(X),
    "jacobian reverse": lambda f: jacobian(lambda x: f(x) * x, mode="reverse")(X),
    "hessian": lambda f: hessian(f)(X),
    "hvp": lambda f: hvp(f)(X, V),
    "grad of vmap": lambda f: grad(lambda xs: np.sum(vmap(f)(xs) ** 2))(XS),
    "vmap of grad": lambda f: vmap(grad(f))(XS),
    "grad of grad": lambda f: grad(lambda x: np.sum(grad(f)(x) * V))(X),
    "grad of jvp": lambda f: grad(lambda x: jvp(f, (x,), (V,))[1])(X),
    "jvp of vmap of grad": lambda f: jvp(vmap(grad(f)), (XS,), (XS + 1.0,)),
    "linearize": linearized,
    "checkpoint": lambda f: grad(lambda x: nbgrad.checkpoint(f)(np.sin(x)))(X),
    "backward": backward,
    "accum": accumulated,
    "create_graph": twice,
}


def counted(f):
    """The function, and a list that gets an entry at each call of it by Python."""
    calls = []

    @wraps(f)
    def counting(*args, **options):
        calls.append(args)
        return f(*args, **options)

    return counting, calls


def close(one, other, rtol=1e-10):
    one, other = leaves(one), leaves(other)
    assert len(one) == len(other)
    for x, y in zip(one, other, strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol, 1e-12)


def runs_compiled(transform, f, rtol=1e-10):
    counting, calls = counted(f)
    fast = compile(counting)
    close(transform(fast), transform(f), rtol)
    calls.clear()
    close(transform(fast), transform(f), rtol)
    assert not calls


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_compiled_function_runs_compiled_in_each_transformation(f, transform):
    runs_compiled(TRANSFORMS[transform], FUNCTIONS[f])


P = {"w": A, "b": [V, 0.5], "kind": "tanh"}


def of_trees(p, x, kind=None):
    h = np.tanh(p["w"] @ x + p["b"][0]) if p["kind"] == "tanh" else p["w"] @ x
    value = np.sum(h) * p["b"][1]
    return {"value": value, "pair": Pair(h, np.argmax(h)), "kind": p["kind"], "none": kind}


TREES = {
    "gradients of several": lambda f: grad(lambda p, x: f(p, x)["value"], (0, 1))(P, X),
    "a result that is used twice": lambda f: grad(
        lambda p, x: f(p, x)["value"] * np.sum(f(p, x)["pair"].a)
    )(P, X),
    "all results": lambda f: vjp(lambda p: drop(f(p, X)), P)[1]((2.0, V)),
    "has_aux": lambda f: leaves(
        value_and_grad(lambda p, x: (f(p, x)["value"], f(p, x)), has_aux=True)(P, X)
    ),
    "samples": lambda f: leaves(vmap(lambda x: (*drop(f(P, x, kind=None)), f(P, x)["pair"].b))(XS)),
    "tangents": lambda f: jvp(lambda x: drop(f(P, x)), (X,), (V,)),
    "keyword": lambda f: grad(lambda x: f(P, x=x, kind=None)["value"])(X),
    "hessian": lambda f: hessian(lambda x: np.sum(drop(f(P, x))[1]))(X),
}


def drop(result):
    return result["value"], result["pair"].a


def leaves(tree):
    every = nbgrad.transforms.trees.flatten(tree)[0]
    return [x for x in every if x is not None and not isinstance(x, str)]


@pytest.mark.parametrize("name", TREES)
def test_nested_arguments_and_results_run_compiled(name):
    runs_compiled(TREES[name], of_trees)
    result = grad(lambda x: _noted(compile(of_trees)(P, x)))(X)
    assert result.shape == (3,)


def _noted(result):
    assert result["kind"] == "tanh" and result["none"] is None and result["pair"].b in range(3)
    return result["value"]


def test_static_arguments_are_part_of_programs():
    def power(x, n, how):
        y = x
        for _ in range(n - 1):
            y = y * x
        return how(y)

    counting, calls = counted(power)
    f = compile(counting, static_argnames="n")
    for n in (2, 3, 2):
        close(grad(f)(X, n, np.sum), n * X ** (n - 1))
    calls.clear()
    for n in (2, 3):
        close(grad(f)(X, n, np.sum), n * X ** (n - 1))
    assert not calls


NAMED = {
    "gradient": lambda f, w, x: grad(lambda w: np.sum(f(w, x)))(w),
    "gradient of samples": lambda f, w, x: grad(lambda x: np.sum(f(w, x) ** 2))(x),
    "pullback": lambda f, w, x: vjp(f, w, x)[1](x @ w),
    "jvp": lambda f, w, x: jvp(f, (w, x), (w, x)),
    "vmap": lambda f, w, x: vmap(f, in_axes=(None, 0))(w, np.stack([x, x + 1.0])),
    "hvp": lambda f, w, x: hvp(lambda w: np.sum(f(w, x) ** 2))(w, w),
}


@pytest.mark.parametrize("name", NAMED)
def test_one_program_for_all_sizes_that_have_names(name):
    def layer(w, x):
        return np.tanh(x @ w)

    counting, calls = counted(layer)
    f = compile(counting, dynamic={"x": ("n", None)})
    for n in (4, 5, 7, 60):
        x = RNG.normal(size=(n, 3))
        close(NAMED[name](f, A, x), NAMED[name](layer, A, x))
        assert bool(calls) == (n == 4)
        calls.clear()


def test_sizes_of_one_name_are_equal():
    f = compile(lambda x, y: np.sum(x) * np.sum(y), dynamic={"x": ("n",), "y": ("n",)})
    with pytest.raises(nbgrad.DimensionMismatch, match=r"size n is 3 in x.* and 2 in y"):
        grad(f)(X, X[:2])


def test_float32_stays_float32():
    f = compile(lambda x: np.sum(np.sin(x) * 2.0))
    x = X.astype(np.float32)
    slope = grad(f)(x)
    assert slope.dtype == np.float32
    close(slope, grad(lambda x: np.sum(np.sin(x) * 2.0))(x), 1e-6)
    value, tangent = jvp(f, (x,), (x,))
    assert value.dtype == tangent.dtype == np.float32


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


def test_what_a_function_keeps_is_leaked():
    kept = []

    def f(x):
        kept.append(x)
        return np.sum(x * x)

    for transform in (grad(compile(f)), vmap(compile(f))):
        transform(XS)
        with pytest.raises(nbgrad.LeakedValueError, match="compile of f"):
            kept[-1] + 1.0


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

    model = Model(V.copy())
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
