"""Named sizes: one program for any batch size gives what the function gives for each."""

import dataclasses
import inspect
import pickle

import numba
import numpy as np
import pytest

import nbgrad
from nbgrad.errors import DimensionMismatch, TraceError

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 64, 100, 127, 200, 333, 512, 1000)
BATCH = {"x": ("n", None), "y": ("n",)}


def network(p, x, y):
    """The mean squared error of a network with one hidden layer."""
    h = np.tanh(x @ p["w"] + p["b"])
    return np.mean((h @ p["v"] - y) ** 2)


def parameters(rng, width=8):
    return {
        "w": rng.normal(size=(3, width)),
        "b": rng.normal(size=width),
        "v": rng.normal(size=width),
    }


def batch(rng, n):
    return rng.normal(size=(n, 3)), rng.normal(size=n)


def close(found, expected):
    """Equal trees up to rounding, nan where nan is expected."""
    mine, theirs = (nbgrad.transforms.trees.flatten(tree)[0] for tree in (found, expected))
    assert len(mine) == len(theirs)
    for x, y in zip(mine, theirs, strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_twenty_sizes_take_one_compilation(rng):
    both = nbgrad.value_and_grad(network)
    f = nbgrad.compile(both, dynamic=BATCH)
    p = parameters(rng)
    for n in SIZES:
        x, y = batch(rng, n)
        close(f(p, x, y), both(p, x, y))
        out = nbgrad.transforms.trees.flatten(both(p, x, y))
        places = out[1]([np.empty_like(leaf) for leaf in out[0]])
        close(f(p, x, y, out=places), both(p, x, y))
    (variant,) = f._variants.values()
    assert variant.sizes == ("n",)


def test_njit_code_calls_it_for_all_sizes(rng):
    both = nbgrad.value_and_grad(lambda w, x, y: np.mean((np.tanh(x @ w) - y) ** 2))
    f = nbgrad.compile(both, dynamic={"x": ("n", None), "y": ("n",)})
    w, (x, y) = rng.normal(size=3), batch(rng, 12)
    f.variant(w, x, y)
    step, into = f.njit, f.njit_into

    @numba.njit
    def sums(w, x, y, slope):
        total = 0.0
        for n in range(1, len(x) + 1):
            value, new = step(w, x[:n], y[:n])
            total += value + new.sum() + into(w, x[:n], y[:n], slope) + slope.sum()
        return total

    pairs = [both(w, x[:n], y[:n]) for n in range(1, 13)]
    expected = 2 * sum(value + slope.sum() for value, slope in pairs)
    assert sums(w, x, y, np.empty(3)) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(DimensionMismatch, match=r"axis 0 of y .* n is the length of axis 0 of x"):
        step(w, x, y[:3])


def test_sizes_that_disagree_name_both_arguments(rng):
    f = nbgrad.compile(network, dynamic=BATCH)
    p, (x, y) = parameters(rng), batch(rng, 5)
    for _ in range(2):  # compiled or not
        with pytest.raises(DimensionMismatch, match=r"n is 5 in x of shape \(5, 3\) and 4 in y"):
            f(p, x, y[:4])
        f(p, x, y)
    with pytest.raises(DimensionMismatch, match=r"x has the shape \(5,\).*names 2 sizes"):
        f(p, x[:, 0], y)


def test_a_spec_holds_for_the_leaves_of_a_tree(rng):
    f = nbgrad.compile(lambda d: np.sum(d["a"] * d["b"]), dynamic={"d": ("n",)})
    for n in (3, 0, 8):
        a, b = rng.normal(size=(2, n))
        assert f({"a": a, "b": b}) == pytest.approx(np.sum(a * b))
    with pytest.raises(DimensionMismatch, match=r"d\['a'\].*d\['b'\]"):
        f({"a": np.ones(2), "b": np.ones(3)})
    assert len(f._variants) == 1


def test_what_dynamic_refuses():
    with pytest.raises(ValueError, match="z is no argument of the function; it has x"):
        nbgrad.compile(lambda x: x, dynamic={"z": ("n",)})
    with pytest.raises(ValueError, match="the sizes of x are given as a tuple of names"):
        nbgrad.compile(lambda x: x, dynamic={"x": "n"})  # pyright: ignore[reportArgumentType]


def test_a_loop_of_any_length(rng):
    def recurrent(w, xs):
        state, ys = nbgrad.scan(lambda s, x: (np.tanh(s @ w + x), np.sum(s * x)), np.zeros(2), xs)
        return np.sum(state) + np.sum(ys**2)

    both = nbgrad.value_and_grad(recurrent, (0, 1))
    f = nbgrad.compile(both, dynamic={"xs": ("steps", None)})
    w = rng.normal(size=(2, 2))
    for n in (4, 0, 1, 9, 300):
        xs = rng.normal(size=(n, 2))
        close(f(w, xs), both(w, xs))
    assert len(f._variants) == 1
    assert "steps" in f.source


def test_transformations_of_any_order(rng):
    def twice(w, x):
        inner = nbgrad.grad(lambda w, x: np.mean(np.tanh(x @ w) ** 3))
        return nbgrad.grad(lambda w: np.sum(inner(w, x) ** 2))(w)

    every = nbgrad.vmap(nbgrad.grad(lambda x: np.sum(np.sin(x) * x)))
    second = nbgrad.compile(twice, dynamic={"x": ("n", None)})
    batched = nbgrad.compile(lambda x: every(x), dynamic={"x": ("n", None)})
    w = rng.normal(size=3)
    for n in (5, 1, 2, 40):
        x = rng.normal(size=(n, 3))
        close(second(w, x), twice(w, x))
        close(batched(x), every(x))
    assert len(second._variants) == len(batched._variants) == 1


def test_two_names(rng):
    def plain(x, y):
        return np.mean(np.exp(-((x[:, None] - y[None, :]) ** 2)))

    f = nbgrad.compile(nbgrad.grad(plain), dynamic={"x": ("n",), "y": ("m",)})
    for n, m in ((4, 7), (1, 1), (7, 4), (5, 5), (0, 3)):
        x, y = rng.normal(size=n), rng.normal(size=m)
        close(f(x, y), nbgrad.grad(plain)(x, y) if n * m else np.zeros(n))
    assert len(f._variants) == 1


def test_sizes_beyond_a_condition_have_programs_of_their_own(rng):
    f = nbgrad.compile(lambda x: x[1:] - x[:-1], dynamic={"x": ("n",)})
    for n in (5, 0, 1, 2):
        x = rng.normal(size=n)
        close(f(x), x[1:] - x[:-1])
    assert list(f.variant(np.ones(4)).signature.conditions) == ["n >= 1"]
    with pytest.raises(ValueError, match=r"compiled for n >= 1 \(test_dynamic.py"):
        f.njit(np.ones(0))


def test_a_branch_on_a_size_is_a_condition():
    f = nbgrad.compile(
        lambda x: np.sum(x) if x.shape[0] > 10 else np.sum(x**2), dynamic={"x": ("n",)}
    )
    assert f(np.full(11, 3.0)) == 33.0
    assert f(np.full(10, 3.0)) == 90.0
    assert list(f.only_variant("source").signature.conditions) == ["n > 10"]


def test_a_size_is_compared_with_a_float():
    f = nbgrad.compile(
        lambda x: np.sum(x) if x.shape[0] > 2.5 else np.sum(x**2), dynamic={"x": ("n",)}
    )
    assert f(np.full(3, 3.0)) == 9.0
    assert f(np.full(2, 3.0)) == 18.0
    assert list(f.variant(np.ones(3)).signature.conditions) == ["n > 2"]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x) if 0.5 * x.shape[0] > 10 else np.sum(x**2),
        lambda x: np.sum(x) if int(x.shape[0]) % 16 else np.sum(x**2),
        lambda x: np.sum(x[: int(0.5 * x.shape[0])]),
        lambda x: sum(x[i] for i in range(x.shape[0])),
        lambda x: sum(row for row in x),
        lambda x: x[np.array([True, False, True, True])],
        lambda x: x * np.sin(np.arange(x.shape[0])),
    ],
)
def test_what_has_no_formula_has_a_program_for_each_length_and_names_its_line(f):
    compiled = nbgrad.compile(f, dynamic={"x": ("n",)})
    with pytest.warns(UserWarning, match="each length n .*(test_dynamic.py|made while)"):
        close(compiled(np.arange(4.0)), f(np.arange(4.0)))
    if "True" not in inspect.getsource(f):
        close(compiled(np.arange(5.0)), f(np.arange(5.0)))


def test_what_no_program_has_is_refused_as_without_names():
    f = nbgrad.compile(lambda s: nbgrad.linalg.sqrtm(s), dynamic={"s": ("n", "n")})
    with pytest.raises(TraceError, match="sqrtm is eager only"):
        f(np.eye(3))


def test_programs_for_lengths_of_one_remainder(rng):
    f = nbgrad.compile(lambda x: x.reshape(x.shape[0] // 2, 2).sum(axis=1), dynamic={"x": ("n",)})
    for n in (8, 2, 0, 100):
        x = rng.normal(size=n)
        close(f(x), x.reshape(n // 2, 2).sum(axis=1))
    (variant,) = f._variants.values()
    assert list(variant.signature.conditions) == ["n == (n // 2) * 2"]
    for n in (7, 1):
        with pytest.raises(DimensionMismatch, match=f"reshape: {n} elements"):
            f(np.ones(n))
    with pytest.raises(ValueError, match=r"was compiled for n == \(n // 2\) \* 2"):
        variant.njit(np.ones(7))
    halves = nbgrad.compile(lambda x: x[::2].sum() * x[1::2].sum(), dynamic={"x": ("n",)})
    for n in (8, 5, 3, 2, 9, 1, 0):
        x = rng.normal(size=n)
        close(halves(x), x[::2].sum() * x[1::2].sum())
    assert sum(bool(variant.sizes) for variant in halves._variants.values()) <= 2


def test_specs_of_nested_arguments(rng):
    @dataclasses.dataclass
    class Data:
        x: object
        y: object

    def total(d, pair):
        return np.sum(d["a"].x * d["a"].y) + np.sum(pair[0]) + np.sum(pair[1])

    spec = {"d": {"a": Data(("n", None), ("n", None))}, "pair": (("n",), None)}
    for a in (spec["d"]["a"], {"x": ("n", None), "y": ("n", None)}):
        f = nbgrad.compile(total, dynamic={**spec, "d": {"a": a}})
        for n in (3, 1, 0, 9):
            x, y = rng.normal(size=(2, n, 2))
            args = {"a": Data(x, y)}, (x[:, 0], np.ones(5))
            close(f(*args), total(*args))
        assert len(f._variants) == 1
    with pytest.raises(DimensionMismatch, match=r"n is 9 in d\['a.x'\].*8 in pair\['0'\]"):
        f(args[0], (np.ones(8), np.ones(5)))
    g = nbgrad.compile(total, dynamic={"d": {"b": ("n",)}})
    with pytest.raises(ValueError, match=r"dynamic names sizes of d\['b'\], which is no part"):
        g(*args)


def test_errors_of_the_function_stay_what_they_are():
    with pytest.raises(DimensionMismatch, match="matmul"):
        nbgrad.compile(lambda x: x @ np.ones(4), dynamic={"x": ("n", None)})(np.ones((2, 3)))
    f = nbgrad.compile(lambda x: np.max(x), dynamic={"x": ("n",)})
    assert f(np.arange(3.0)) == 2.0
    with pytest.raises(ValueError, match="empty"):
        f(np.ones(0))


def test_arrays_and_numbers_that_are_made_of_sizes(rng):
    def shares(x, labels):
        n = x.shape[0]
        logs = nbgrad.logsoftmax(x, axis=1)[np.arange(n), labels]
        ramp = logs * np.linspace(0.0, 1.0, n) * np.ones(n) + logs * (0.1 * np.arange(n))
        return -np.sum(ramp) / n + np.sum(x) * 0.5 / (n - 1) + np.sum(x**2) / np.sqrt(n)

    both = nbgrad.value_and_grad(shares)
    f = nbgrad.compile(both, dynamic={"x": ("n", None), "labels": ("n",)})
    for n in (6, 2, 3, 50):
        x, labels = rng.normal(size=(n, 4)), rng.integers(0, 4, n)
        close(f(x, labels), both(x, labels))
    assert len(f._variants) == 2  # of 2 rows, n - 1 is a factor of 1, which no program has


def test_many_arrays_in_a_table(rng):
    f = nbgrad.compile(lambda xs: [x * 2.0 for x in xs], dynamic={"xs": ("n",)})
    for n in (3, 0, 5):
        xs = list(rng.normal(size=(20, n)))
        for _ in range(2):
            close(f(xs), [x * 2.0 for x in xs])
        close(f(xs, out=[np.empty(n) for _ in xs]), [x * 2.0 for x in xs])
    assert len(f._variants) == 1
    with pytest.raises(DimensionMismatch):
        f([*xs[:-1], np.ones(4)])


@nbgrad.compile(dynamic={"x": ("n",)})
def decorated(x):
    return np.sum(np.sin(x))


def test_pickles_and_texts():
    f = pickle.loads(pickle.dumps(decorated))
    assert f(np.arange(3.0)) == pytest.approx(np.sum(np.sin(np.arange(3.0))))
    again = nbgrad.compile(decorated.function, dynamic={"x": ("n",)})
    again(np.ones(2))
    assert "range(0, n, 4096)" in again.source
    assert "def loop0(p0, n):" in again.source
    for stage in (again.program, again.lowered, again.schedule, again.loops, again.plan):
        assert "1009" not in str(stage)
    assert "float64[n]" in str(again.program)
    with pytest.raises(TraceError, match="no sizes: compile it without dynamic="):
        again.cfunc("quad")


@pytest.mark.parametrize("name", ["i", "x", "n1", "sum", "length", "lambda_", "alone", "r"])
def test_names_of_all_kinds(name):
    f = nbgrad.compile(lambda a: np.mean(np.cumsum(a) * 2.0), dynamic={"a": (name,)})
    variant = f.variant(np.ones(3))
    compile(variant.source, "a program", "exec")
    if name == "i":
        assert f(np.ones(3)) == 4.0
        assert f(np.ones(1)) == 2.0


def test_literal_lengths_that_are_stand_ins(rng):
    f = nbgrad.compile(lambda x, w: np.tanh(x @ w), dynamic={"x": ("n", None)})
    w = rng.normal(size=(1009, 2040)) / 1009
    x = rng.normal(size=(3, 1009))
    close(f(x, w), np.tanh(x @ w))
    assert len(f._variants) == 1
