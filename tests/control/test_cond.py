"""`nbgrad.cond`: one side runs, in every mode and in both tiers."""

import numba
import numpy as np
import pytest
from both_tiers import MODES as EVERY_MODE
from both_tiers import TIERS, assert_close, compiled_cases, in_tier

import nbgrad
from nbgrad import DimensionMismatch

POSITIVE = np.array([1.0, 2.0, -0.5])
NEGATIVE = -POSITIVE
W = np.array([0.3, -0.7, 1.1])


def quadratic(x):
    return np.sum(W * x * x)


def product(x):
    return np.prod(x) * np.sum(np.sin(W + x))


def choice(x):
    return nbgrad.cond(np.sum(x) > 0, quadratic, product, x)


def by_hand(x):
    return quadratic(x) if np.sum(x) > 0 else product(x)


def trees(x):
    """Two numbers, an array that is the argument itself, an integer and a truth."""
    a = np.exp(x[0])

    def f(p):
        return {"s": p["x"] * a, "t": (p["x"], 1, p["y"] > 0.0)}

    def g(p):
        return {"s": np.cos(p["x"]), "t": (p["x"][::-1], 2, p["y"] < 5.0)}

    out = nbgrad.cond(x[1] > x[0], f, g, {"x": x, "y": x[2]})
    s, (t, k, b) = out["s"], out["t"]
    return np.sum(s * t) * k + np.where(b, x[0], x[1])


def trees_by_hand(x):
    a = np.exp(x[0])
    if x[1] > x[0]:
        return np.sum(x * a * x) + np.where(x[2] > 0.0, x[0], x[1])
    return np.sum(np.cos(x) * x[::-1]) * 2 + np.where(x[2] < 5.0, x[0], x[1])


def nested(x):
    inner = lambda y: nbgrad.cond(y[0] > 1.5, np.sinh, np.tanh, y * x)  # noqa: E731
    return np.sum(nbgrad.cond(x[1] > 0.0, inner, lambda y: y / (1.0 + y * y), x))


def nested_by_hand(x):
    if x[1] <= 0.0:
        return np.sum(x / (1.0 + x * x))
    return np.sum(np.sinh(x * x) if x[0] > 1.5 else np.tanh(x * x))


def in_a_loop(x):
    """Even steps and odd ones, and a truth from the state."""

    def step(i, s):
        s = nbgrad.cond(i % 2 == 0, lambda s: np.sin(s * x), lambda s: s + x * i, s)
        return nbgrad.cond(np.sum(s) > 1.0, lambda s: s * 0.5, lambda s: s, s)

    return np.sum(nbgrad.loop(5, step, x))


def in_a_loop_by_hand(x):
    s = x
    for i in range(5):
        s = np.sin(s * x) if i % 2 == 0 else s + x * i
        s = s * 0.5 if np.sum(s) > 1.0 else s
    return np.sum(s)


FUNCTIONS = {
    "choice": (choice, by_hand),
    "trees": (trees, trees_by_hand),
    "nested": (nested, nested_by_hand),
    "in a loop": (in_a_loop, in_a_loop_by_hand),
}
MODES = {
    **EVERY_MODE,
    "vmap": lambda f: lambda x: nbgrad.vmap(f)(np.stack([x, -x, x * 2.0])),
    "vmap of grad": lambda f: lambda x: nbgrad.vmap(nbgrad.grad(f))(np.stack([x, -x, x * 2.0])),
    "grad of vmap": lambda f: nbgrad.grad(
        lambda x: np.sum(nbgrad.vmap(f)(np.stack([x, -x, x * 2.0])) ** 2)
    ),
    "vmap of vmap": lambda f: (
        lambda x: nbgrad.vmap(nbgrad.vmap(f))(np.stack([x, -x, x * 2.0, -x * 3.0]).reshape(2, 2, 3))
    ),
    "vmap of jvp": lambda f: (
        lambda x: nbgrad.vmap(lambda y: nbgrad.jvp(f, (y,), (y,)))(np.stack([x, -x]))
    ),
}


def samples(f):
    """`vmap`, for a function that asks for truths: sample by sample."""
    return lambda x: np.stack([f(row) for row in x])


def expected(mode, by_hand, x):
    """The mode applied to Python's own `if`, which has no samples."""
    grad = nbgrad.grad(by_hand)
    three = np.stack([x, -x, x * 2.0])
    if mode == "vmap":
        return samples(by_hand)(three)
    if mode == "vmap of grad":
        return samples(grad)(three)
    if mode == "grad of vmap":
        scale = zip(three, (1.0, -1.0, 2.0), strict=True)
        return sum(2.0 * by_hand(row) * grad(row) * k for row, k in scale)
    if mode == "vmap of vmap":
        return samples(by_hand)(np.stack([x, -x, x * 2.0, -x * 3.0])).reshape(2, 2)
    if mode == "vmap of jvp":
        both = np.stack([x, -x])
        return samples(by_hand)(both), np.stack([np.sum(grad(row) * row) for row in both])
    return MODES[mode](by_hand)(x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_eager_is_an_if(name, mode):
    f, by_hand = FUNCTIONS[name]
    for x in (POSITIVE, NEGATIVE):
        assert_close(MODES[mode](f)(x), expected(mode, by_hand, x))


# What Numba compiles in every run; plain Python takes all.
COMPILED = {("trees", "gradient"), ("choice", "vmap of grad")}


@compiled_cases(FUNCTIONS, MODES, COMPILED)
def test_compiled_is_an_if(name, mode):
    f, by_hand = FUNCTIONS[name]
    compiled = nbgrad.compile(MODES[mode](f))
    for x in (POSITIVE, NEGATIVE):
        assert_close(compiled(x), expected(mode, by_hand, x))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_program_can_be_interpreted(name):
    f, by_hand = FUNCTIONS[name]
    program = nbgrad.compile(nbgrad.value_and_grad(f)).variant(POSITIVE).program
    program.check()
    for x in (POSITIVE, NEGATIVE):
        found = program.rebuild(program.interpret(x, *([] if len(program.inputs) == 1 else [1])))
        assert_close(found, nbgrad.value_and_grad(by_hand)(x))


def test_a_graph_is_walked():
    x = nbgrad.track(POSITIVE)
    choice(x).backward()
    np.testing.assert_allclose(x.grad, 2.0 * W * POSITIVE)


def test_only_one_side_runs():
    """The other one would raise: an index beyond the end, a matrix that is singular."""
    runs = []

    def f(x):
        runs.append("f")
        return x

    def g(x):
        runs.append("g")
        return -x

    assert nbgrad.cond(True, f, g, 1.0) == 1.0 and runs == ["f"]

    def solved(a):
        return nbgrad.cond(
            a[0, 0] > 0.0, lambda a: np.linalg.solve(a, np.ones(2)), lambda a: a[0], a
        )  # fmt: skip

    singular, fine = np.array([[-1.0, 1.0], [-1.0, 1.0]]), np.array([[2.0, 0.0], [0.0, 4.0]])
    compiled = nbgrad.compile(solved)
    np.testing.assert_allclose(compiled(fine), [0.5, 0.25])
    np.testing.assert_allclose(compiled(singular), [-1.0, 1.0])
    with pytest.raises(np.linalg.LinAlgError):
        compiled(-singular)
    text = compiled.variant(fine).source
    assert "\n    if t" in text and "\n    else:" in text


def test_a_static_truth_is_no_choice():
    f = nbgrad.compile(lambda x: nbgrad.cond(len(x) > 2, np.sum, np.negative, x))
    assert f(POSITIVE) == 2.5
    assert "if t" not in f.source


@pytest.mark.parametrize("tier", TIERS)
def test_nothing_comes_from_the_side_that_a_sample_does_not_take(tier):
    def root(x):
        return nbgrad.cond(x[0] > 0.0, lambda x: np.sqrt(x[0]) * x[1], lambda x: x[1] ** 2, x)

    def solved(a):
        return nbgrad.cond(
            a[0, 0] != 0.0, lambda a: np.sum(np.linalg.solve(a, np.ones(2))), np.sum, a
        )  # fmt: skip

    rows = np.array([[4.0, 3.0], [0.0, 5.0], [-1.0, 7.0]])
    matrices = np.stack([np.eye(2) * 2.0, np.zeros((2, 2))])
    wrap = in_tier(tier)
    values, slopes = wrap(nbgrad.vmap(nbgrad.value_and_grad(root)))(rows)
    np.testing.assert_allclose(values, [6.0, 25.0, 49.0])
    np.testing.assert_allclose(slopes, [[0.75, 2.0], [0.0, 10.0], [0.0, 14.0]])
    total = wrap(nbgrad.grad(lambda rows: np.sum(nbgrad.vmap(root)(rows))))(rows)
    np.testing.assert_allclose(total, slopes)
    none = wrap(nbgrad.vmap(nbgrad.grad(root)))(-np.abs(rows[1:]))
    np.testing.assert_allclose(none, [[0.0, -10.0], [0.0, -14.0]])
    value, slope = wrap(nbgrad.vmap(nbgrad.value_and_grad(solved)))(matrices)
    np.testing.assert_allclose(value, [1.0, 0.0])
    np.testing.assert_allclose(slope, [np.full((2, 2), -0.25), np.ones((2, 2))])


def test_a_step_of_numba_calls_it():
    soft = nbgrad.compile(
        nbgrad.value_and_grad(
            lambda x: nbgrad.cond(x > 0.0, np.log1p, lambda x: x * x, x)
        )
    )  # fmt: skip
    soft(1.0)
    step = soft.njit

    @numba.njit
    def walk(x):
        for _ in range(3):
            value, slope = step(x)
            x -= value * slope
        return x

    x = 1.3
    for _ in range(3):
        value, slope = (np.log1p(x), 1.0 / (1.0 + x)) if x > 0.0 else (x * x, 2.0 * x)
        x -= value * slope
    assert walk(1.3) == pytest.approx(x, rel=1e-12)


def test_float32():
    f = nbgrad.value_and_grad(choice)
    x = POSITIVE.astype(np.float32)
    for found in (nbgrad.compile(f)(x), f(x)):
        assert np.asarray(found[1]).dtype == np.float32
        np.testing.assert_allclose(found[1], 2.0 * W * x, rtol=1e-6)


def wide(x):
    return np.concatenate([x, x])


def whole(x):
    return np.argsort(x)


def pair(x):
    return x, x


def text(x):
    return "x"


@pytest.mark.parametrize(
    ("other", "error", "words"),
    [
        (wide, DimensionMismatch, r"first function \(negative\).*\(wide\).*\(3,\) and \(6,\)"),
        (whole, TypeError, r"\(negative\).*\(whole\).*float64 and int64"),
        (pair, TypeError, r"\(negative\).*\(pair\).*structures"),
        (text, TypeError, r"\(negative\).*\(text\).*structures"),
    ],
)
def test_sides_that_differ(other, error, words):
    with pytest.raises(error, match=words):
        nbgrad.compile(lambda x: nbgrad.cond(x[0] > 0.0, np.negative, other, x))(POSITIVE)
    with pytest.raises(error, match=words):
        nbgrad.vmap(lambda x: nbgrad.cond(x[0] > 0.0, np.negative, other, x))(POSITIVE[None])


def test_a_truth_with_axes():
    with pytest.raises(DimensionMismatch, match=r"shape \(3,\).*np.where"):
        nbgrad.cond(POSITIVE > 0, np.sin, np.cos, POSITIVE)


def test_an_if_of_python_names_the_remedy():
    with pytest.raises(nbgrad.TraceError, match=r"nbgrad\.cond"):
        nbgrad.compile(lambda x: x if x > 0.0 else -x)(1.0)
    with pytest.raises(nbgrad.UntrackedError, match=r"nbgrad\.cond"):
        nbgrad.vmap(lambda x: x if x > 0.0 else -x)(POSITIVE)
