"""`checkpoint=` of `loop` and `scan`: the same numbers, gradients to the last bit, in the memory of
a few states."""

import gc
import tracemalloc
from typing import Any

import numpy as np
import optree
import pytest
from helpers import rows as rows_table

import nbgrad

rng = np.random.default_rng(7)
WEIGHTS = {"h": rng.normal(size=(3, 3)) * 0.4, "b": rng.normal(size=3)}
START = rng.normal(size=3)
LENGTHS = (0, 1, 7, 16, 17)
KINDS = ("sqrt", "log", 1, 4, 1000)


def network(checkpoint, which=2):
    """A state of floats, an integer and a float that nothing moves; ys that are the state, a number
    and an old state; a captured array that is a y too. `which` of the results count."""

    def f(weights, start, xs):
        def step(state, x):
            h, k, v = state
            m = h * x
            new = np.tanh(m @ weights["h"] + weights["b"] * k + v[0]) * np.sin(h) + x
            return (new, k + 1, v), (new, np.sum(m * h), v, weights["b"])

        (h, k, _), ys = nbgrad.scan(
            step, (start, 0, start[:2] * 1.0), xs, checkpoint=checkpoint
        )  # fmt: skip
        end = np.sum(h * h) + k
        if which == 0:
            return end
        a, b, c, d = ys
        rows = np.sum(np.sin(a) * a) + np.sum(b) * np.sum(c**2) + np.sum(a * d)
        return rows if which == 1 else end * rows

    return f


def number(checkpoint, which=2):
    """A state that is a number; a product that is a y and part of the next state."""

    def f(weights, start, xs):
        def step(s, x):
            m = s * x[0]
            return np.sin(m + weights["b"][0]) + 0.5 * s, m

        s, ys = nbgrad.scan(step, start[0], xs, checkpoint=checkpoint)
        return s * s + which * np.sum(ys * ys)

    return f


def shifted(checkpoint, which=2):
    """A line of states in which each moves on, all of them ys: one array counts in many steps."""

    def f(weights, start, xs):
        def step(state, x):
            a, b, c = state
            new = np.tanh(a * x + b * c + weights["b"])
            return (new, a, b), (new, a, b, new, a, c)

        state, ys = nbgrad.scan(step, (start, start * 2.0, start), xs, checkpoint=checkpoint)
        return sum(np.sum(np.cos(y) * (k + 1.0)) for k, y in enumerate((*state, *ys)))

    return f


def twice(checkpoint, which=2):
    """A loop of a state that stands there twice, with the number of the step."""

    def f(weights, start, xs):
        def step(i, state):
            a, b = state
            new = np.sin(a * b + i * weights["b"]) + weights["b"]
            return new, new

        a, b = nbgrad.loop(len(xs), step, (start, start), checkpoint=checkpoint)
        return np.sum(a * b)

    return f


FUNCTIONS = {"network": network, "number": number, "shifted": shifted, "twice": twice}


def assert_equal_bits(found, wanted):
    left, right = optree.tree_leaves(found), optree.tree_leaves(wanted)
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


def arguments(n, dtype: type[np.floating] = np.float64):
    xs = np.random.default_rng(n).normal(size=(n, 3))
    weights = {name: x.astype(dtype) for name, x in WEIGHTS.items()}
    return weights, START.astype(dtype), xs.astype(dtype)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_eager_gradients_have_the_bits_of_the_stored_ones(name, n):
    make = FUNCTIONS[name]
    for which in range(3):
        stored = nbgrad.value_and_grad(make(None, which), argnums=(0, 1, 2))(*arguments(n))
        for kind in KINDS:
            both = nbgrad.value_and_grad(make(kind, which), argnums=(0, 1, 2))
            assert_equal_bits(both(*arguments(n)), stored)


# What Numba compiles in every run; plain Python takes all.
COMPILED = {("number", 17, 4), ("twice", 17, "sqrt")}


@pytest.mark.parametrize(
    ("name", "n", "kind"),
    [
        pytest.param(name, n, kind, marks=rows_table.marks((name, n, kind) in COMPILED))
        for name in FUNCTIONS for n in (1, 16, 17) for kind in ("sqrt", "log", 4)
    ],
)  # fmt: skip
def test_compiled_gradients_have_the_bits_of_the_stored_ones(name, n, kind):
    make = FUNCTIONS[name]
    stored, both = (
        nbgrad.compile(nbgrad.value_and_grad(make(c), argnums=(0, 1, 2))) for c in (None, kind)
    )
    assert_equal_bits(both(*arguments(n)), stored(*arguments(n)))


def test_float32():
    args = arguments(17, np.float32)
    stored = nbgrad.grad(network(None))(*args)
    for kind in ("sqrt", "log", 3):
        assert_equal_bits(nbgrad.grad(network(kind))(*args), stored)


def of_tracked(f, *args):
    """The gradient by a graph and `backward`, and by `accum`."""
    leaves = [nbgrad.track(x) for x in args]
    f({"h": leaves[0], "b": leaves[1]}, leaves[2], leaves[3]).backward()
    return [x.grad for x in leaves]


def test_a_graph_has_the_bits_too():
    weights, start, xs = arguments(17)
    flat = (weights["h"], weights["b"], start, xs)
    assert_equal_bits(of_tracked(network("sqrt"), *flat), of_tracked(network(None), *flat))
    b = nbgrad.track(weights["b"])
    z = network("log")({"h": weights["h"], "b": b}, start, xs)
    z.grad = 1.0
    np.testing.assert_allclose(nbgrad.accum(b), nbgrad.grad(network(None))(weights, start, xs)["b"])


def directional(f) -> Any:
    return lambda w, s, x: nbgrad.jvp(f, (w, s, x), (w, s * 2.0, x))


MODES = {
    "jvp": directional,
    "reverse over forward": lambda f: lambda *args: nbgrad.grad(
        lambda *args: directional(f)(*args)[1], argnums=(0, 1, 2)
    )(*args),
    "hvp": lambda f: lambda w, s, x: nbgrad.jvp(
        nbgrad.grad(f, argnums=1), (w, s, x), (w, np.cos(s), x)
    ),
    "reverse over reverse": lambda f: nbgrad.grad(
        lambda w, s, x: np.sum(nbgrad.grad(f, argnums=1)(w, s, x) ** 2), argnums=(0, 1, 2)
    ),
    "vjp": lambda f: lambda *args: nbgrad.vjp(f, *args)[1](2.0),
    "linearize": lambda f: lambda *args: nbgrad.linearize(f, *args)[1](*args),
    "vmap of grad": lambda f: lambda w, s, x: nbgrad.vmap(
        nbgrad.grad(f, argnums=(0, 1)), in_axes=(None, 0, None)
    )(w, np.stack([s, s * 0.5]), x),
    "grad of vmap": lambda f: nbgrad.grad(
        lambda w, s, x: np.sum(
            nbgrad.vmap(f, in_axes=(None, None, 0))(w, s, np.stack([x, x * 0.5]))
        ),
        argnums=(0, 1, 2),
    ),
    "jacobian": lambda f: lambda w, s, x: nbgrad.jacobian(
        lambda s: nbgrad.grad(f, argnums=0)(w, s, x)["b"]
    )(s),
}  # fmt: skip


@pytest.mark.parametrize("tier", ["eager", "interpreted"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode(mode, tier):
    transform = MODES[mode]
    args: Any = arguments(7)
    if tier == "eager":
        found = transform(network("sqrt"))(*args)
    else:
        if mode == "linearize":
            pytest.skip("a linear map is no array")
        program = nbgrad.compile(transform(network(3))).variant(*args).program
        program.check()
        flat = optree.tree_leaves(args)
        found = program.rebuild(program.interpret(*flat))
    wanted = transform(network(None))(*args)
    for a, b in zip(optree.tree_leaves(found), optree.tree_leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def logistic(checkpoint, n):
    def f(r, s):
        step = lambda s, _: (r * s * (1.0 - s) + 0.01 * np.sin(s), None)  # noqa: E731
        return nbgrad.scan(step, s, length=n, checkpoint=checkpoint)[0]

    return nbgrad.value_and_grad(f, argnums=(0, 1))


def test_scratch_grows_like_the_root():
    sizes = {}
    for n in (10_000, 1_000_000):
        compiled = nbgrad.compile(logistic("sqrt", n))
        variant = compiled.variant(3.2, 0.3)
        sizes[n] = variant.plan.scratch
        assert len(variant.source.splitlines()) < 120
    assert sizes[1_000_000] <= 10.5 * sizes[10_000] <= 10.5 * 3 * 8 * 100
    assert nbgrad.compile(logistic("log", 1_000_000)).variant(3.2, 0.3).plan.scratch < 8 * 8 * 24
    stored = nbgrad.compile(logistic(None, 1_000_000)).variant(3.2, 0.3)
    assert stored.plan.scratch >= 8 * 1_000_000


@pytest.mark.full
def test_the_graph_grows_like_the_root():
    peaks = {}
    for kind, n in (("sqrt", 64), ("sqrt", 576), (None, 576)):
        for _ in range(2):  # what is made for ops that come often is made
            logistic(kind, n)(3.2, 0.3)
        gc.collect()
        tracemalloc.start()
        logistic(kind, n)(3.2, 0.3)
        peaks[kind, n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks["sqrt", 576] < 4 * peaks["sqrt", 64]
    assert peaks["sqrt", 576] < peaks[None, 576] / 5


def test_the_body_runs_at_most_once_more():
    runs = []

    def step(i, s):
        runs.append(i)
        return np.sin(s)

    nbgrad.grad(lambda x: nbgrad.loop(100, step, x, checkpoint="sqrt"))(0.3)
    assert len(runs) == 200 and sorted(set(runs)) == list(range(100))
    runs.clear()
    nbgrad.grad(lambda x: nbgrad.loop(512, step, x, checkpoint="log"))(0.3)
    assert len(runs) <= 3 * 512


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [(0, ValueError, "checkpoint=0"), (-2, ValueError, "positive"), ("root", TypeError, "sqrt"),
     (True, TypeError, "True"), (2.0, TypeError, "2.0")],
)  # fmt: skip
def test_what_is_no_checkpoint(kind, error, words):
    with pytest.raises(error, match=words):
        nbgrad.loop(3, lambda i, s: s, 1.0, checkpoint=kind)
    with pytest.raises(error, match=words):
        nbgrad.scan(lambda s, x: (s, x), 1.0, np.ones(3), checkpoint=kind)
