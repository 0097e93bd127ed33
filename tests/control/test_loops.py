"""`nbgrad.loop` and `nbgrad.scan`: the same in both tiers, differentiable, compiled as loops."""

import re
import time

import numpy as np
import optree
import pytest
from helpers import rows as rows_table

import nbgrad
from nbgrad import DimensionMismatch, TraceError

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(7, 3))
WEIGHTS = {
    "x": rng.normal(size=(4, 6)) * 0.3,
    "h": rng.normal(size=(6, 6)) * 0.3,
    "b": rng.normal(size=6),
}
SEQUENCE = rng.normal(size=(9, 5, 4))


def rnn(weights, xs):
    """A state of an array and a counter; two arrays of results."""

    def step(carry, x):
        h, k = carry
        new = np.tanh(x @ weights["x"] + h @ weights["h"] + weights["b"])
        return (new, k + 1), (np.sum(new, axis=0), h * k)

    (h, _), (sums, states) = nbgrad.scan(step, (np.zeros((5, 6)), 0), xs)
    return np.sum(h * h) + np.sum(sums) * np.sum(np.sin(states))


def waves(x):
    return np.sum(nbgrad.loop(5, lambda i, s: np.sin(s * x) + i * x, x))


def rows(x):
    return nbgrad.scan(lambda s, r: (np.tanh(s + r), s * np.sum(r)), np.zeros(3), x)


def nested(x):
    inner = lambda s, i: nbgrad.loop(2, lambda j, t: np.cos(t) * x + i + j, s)  # noqa: E731
    return np.sum(nbgrad.loop(3, lambda i, s: inner(s, i), x))


def mixed(x, w):
    """A state of floats, ints and bools; the length of a sample is that of w."""

    def step(i, s):
        h, k, _ = s
        return np.tanh(w @ h) + 0.1 * i, k + 1, h[0] > 0.2

    h, k, b = nbgrad.loop(4, step, (x, 0, False))
    return np.sum(h**2) + k + np.where(b, h[1], h[2])


def read(xs):
    """Samples of what a scan reads, and a state that all share."""
    return nbgrad.scan(lambda s, r: (np.tanh(s + r), s[:2] * r[0]), np.zeros(3), xs)


def sampled(x):
    return nbgrad.vmap(mixed, in_axes=(0, None))(x, np.tanh(ROWS[:3]))


CASES = {
    "scalar": (lambda x: nbgrad.loop(5, lambda i, s: s * x + i, x), 0.3),
    "rows": (rows, ROWS),
    "tree": (lambda x: nbgrad.scan(lambda s, r: ({"a": s["a"] * r}, (r, s)), {"a": x[0]}, x), ROWS),
    "gradient": (nbgrad.value_and_grad(waves), ROWS[0]),
    "gradient of a number": (nbgrad.value_and_grad(waves), 0.3),
    "gradient through ys": (nbgrad.value_and_grad(lambda x: np.sum(rows(x)[1])), ROWS),
    "gradient of both": (
        nbgrad.value_and_grad(lambda x: np.sum(rows(x)[1]) * np.sum(rows(x)[0] ** 2)), ROWS
    ),
    "nested": (nbgrad.value_and_grad(nested), ROWS[0]),
    "second derivative": (nbgrad.grad(nbgrad.grad(waves)), 0.3),
    "jvp": (lambda x: nbgrad.jvp(rows_sum, (x,), (x * x,)), ROWS),
    "hvp": (lambda x: nbgrad.jvp(nbgrad.grad(rows_sum), (x,), (np.cos(x),)), ROWS),
    "reverse over reverse": (
        nbgrad.grad(lambda x: np.sum(nbgrad.grad(rows_sum)(x * x) ** 2)), ROWS
    ),
    "index": (nbgrad.value_and_grad(lambda x: np.sum(nbgrad.loop(3, lambda i, s: s * x[i] + x, x))),
              ROWS[0]),
    "swap": (lambda x: nbgrad.loop(3, lambda i, s: (s[1], s[0]), (x, x * 2.0)), ROWS),
    "no steps": (lambda x: nbgrad.loop(0, lambda i, s: s * 2.0, x), ROWS),
    "one step": (nbgrad.value_and_grad(lambda x: np.sum(nbgrad.loop(1, lambda i, s: s * s, x))),
                 ROWS),
    "copies": (lambda x: nbgrad.scan(lambda s, _: (s, (s, s)), x, length=3), ROWS),
    "no ys": (lambda x: nbgrad.scan(lambda s, r: (s + r, None), np.zeros(3), x)[0], ROWS),
    "vmap": (sampled, ROWS),
    "gradients of samples": (
        lambda x: nbgrad.vmap(nbgrad.grad(mixed, argnums=(0, 1)), in_axes=(0, None))(x, x[:3]), ROWS
    ),
    "gradient of all samples": (nbgrad.grad(lambda x: np.sum(sampled(x) ** 2)), ROWS),
    "vmap of a scan": (
        lambda x: nbgrad.vmap(nbgrad.vmap(read))(x * np.arange(1.0, 9.0).reshape(2, 4, 1, 1)), ROWS
    ),
    "jacobian forward": (nbgrad.jacobian(lambda x: rows(x)[0], mode="forward"), ROWS[:2]),
    "jacobian reverse": (nbgrad.jacobian(lambda x: rows(x)[1], mode="reverse"), ROWS[:2]),
    "hessian": (nbgrad.hessian(nested), ROWS[0]),
    "float32": (
        nbgrad.value_and_grad(lambda x: np.sum(nbgrad.loop(5, lambda i, s: np.sin(s * x), x))),
        ROWS[0].astype(np.float32),
    ),
    "training": (
        lambda x: nbgrad.loop(
            4, lambda i, s: s - 0.1 * nbgrad.grad(lambda w: np.sum(np.cosh(w * x)))(s), x
        ), ROWS[0],
    ),
    "bools": (lambda x: nbgrad.scan(lambda s, r: (r > s, np.where(s, r, 0.0)), False, x), ROWS[0]),
}  # fmt: skip


def rows_sum(x):
    state, ys = rows(x)
    return np.sum(state * state) + np.sum(ys * ys)


def same(found, wanted, tolerance=1e-12):
    left, right = (optree.tree_flatten(tree, none_is_leaf=True) for tree in (found, wanted))
    assert len(left[0]) == len(right[0])
    for a, b in zip(left[0], right[0], strict=True):
        if a is None or b is None:
            assert a is b
            continue
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype.kind == b.dtype.kind
        if a.dtype == bool:
            assert np.array_equal(a, b)
        else:
            scale = np.max(np.abs(b), initial=0) + 1e-300
            assert np.max(np.abs(a - b), initial=0) <= tolerance * scale


# What Numba compiles in every run: one for each thing that a loop can be. Plain Python takes all.
COMPILED = {
    "scalar", "rows", "tree", "gradient of both", "nested", "second derivative", "hvp", "vmap",
    "gradients of samples", "jacobian forward", "float32", "training", "bools",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=rows_table.marks(n in COMPILED)) for n in CASES]
)
def test_compiled_is_eager(name):
    f, x = CASES[name]
    same(nbgrad.compile(f)(x), f(x), 1e-5 if name == "float32" else 1e-12)


@pytest.mark.parametrize("name", ["rows", "gradient", "tree", "index"])
def test_the_program_can_be_interpreted(name):
    f, x = CASES[name]
    program = nbgrad.compile(f).variant(x).program
    program.check()
    found = program.rebuild(program.interpret(x))
    same(found, f(x))


def test_a_recurrent_network():
    f = nbgrad.value_and_grad(rnn, argnums=(0, 1))
    same(nbgrad.compile(f)(WEIGHTS, SEQUENCE), f(WEIGHTS, SEQUENCE))


def test_eager_values_are_tracked():
    x = nbgrad.track(2.0)
    z = nbgrad.loop(3, lambda i, s: s * x, x)
    z.backward()
    assert x.grad == 32.0


def test_the_text_does_not_depend_on_the_length():
    short, long = (
        nbgrad.compile(nbgrad.value_and_grad(rnn)).variant(WEIGHTS, np.zeros((n, 5, 4))).source
        for n in (100, 5_000)
    )
    assert abs(len(short.splitlines()) - len(long.splitlines())) <= 4
    assert "for t" in long


def test_states_that_nobody_reads_are_not_stored():
    f = nbgrad.compile(lambda x: nbgrad.loop(100_000, lambda i, s: s * 0.5 + i, x))
    start = time.perf_counter()
    assert f(np.zeros(1000)).shape == (1000,)
    assert f.plan.scratch <= 4 * 8000
    assert time.perf_counter() - start < 60


def test_large_scratch_is_right():
    x = np.linspace(0.0, 1.0, 20_000)
    f = nbgrad.value_and_grad(lambda x: np.sum(nbgrad.loop(20, lambda i, s: np.sin(s * x), x)))
    same(nbgrad.compile(f)(x), f(x))


def changes_shape(i, s):
    return np.concatenate([s, s])


def changes_dtype(i, s):
    return s + 0.5


def changes_tree(i, s):
    return (s, s)


@pytest.mark.parametrize("tier", ["eager", "compiled"])
@pytest.mark.parametrize(
    ("body", "start", "error", "words"),
    [
        (changes_shape, np.zeros(3), DimensionMismatch, r"changes_shape.*\(3,\) to \(6,\)"),
        (changes_dtype, 0, TypeError, "changes_dtype.*int64 to float64.*0.0 for 0"),
        (changes_tree, np.zeros(3), TypeError, "changes_tree.*structure"),
    ],
)
def test_a_body_that_changes_its_state(tier, body, start, error, words):
    def f(x):
        return x * nbgrad.loop(3, body, start)

    with pytest.raises(error, match=words):
        (nbgrad.compile(f) if tier == "compiled" else f)(1.0)


def test_wrong_lengths():
    with pytest.raises(ValueError, match="-1 steps"):
        nbgrad.loop(-1, lambda i, s: s, 0.0)
    with pytest.raises(DimensionMismatch, match="3, 4"):
        nbgrad.scan(lambda s, x: (s, x), 0.0, np.zeros(3), length=4)
    with pytest.raises(DimensionMismatch, match="length=n"):
        nbgrad.scan(lambda s, x: (s, x), 0.0)
    with pytest.raises(DimensionMismatch, match="first axis"):
        nbgrad.scan(lambda s, x: (s, x), 0.0, 3.0)
    with pytest.raises(TypeError, match="not a pair"):
        nbgrad.scan(lambda s, x: s, 0.0, np.zeros(3))
    with pytest.raises(TraceError, match="static_argnames"):
        nbgrad.compile(lambda n: nbgrad.loop(n, lambda i, s: s, 0.0) * n)(3)


@pytest.mark.parametrize("tier", ["eager", "compiled"])
def test_the_number_of_a_step_keeps_float32(tier):
    x = ROWS[0].astype(np.float32)

    def f(x):
        return np.sum(nbgrad.loop(3, lambda i, s: s + i * x, x))

    both = nbgrad.value_and_grad(f)
    value, gradient = (nbgrad.compile(both) if tier == "compiled" else both)(x)
    assert gradient.dtype == np.float32 and np.asarray(value).dtype == np.float32
    np.testing.assert_allclose(gradient, 4.0)


@pytest.mark.parametrize("tier", ["eager", "compiled"])
def test_none_inside_of_xs_and_ys(tier):
    def f(x):
        return nbgrad.scan(lambda s, r: (s + r["a"], (s, None, {"b": r["c"]})), 0.0,
                           {"a": x, "c": None, "d": x})  # fmt: skip

    state, (states, none, nested) = (nbgrad.compile(f) if tier == "compiled" else f)(np.ones(3))
    assert state == 3 and none is None and nested == {"b": None}
    assert states.tolist() == [0, 1, 2]


def sources(f, *args):
    return nbgrad.compile(f).variant(*args).source


def reading(x):
    """Reads rows of a loop-invariant array, in two places."""
    return nbgrad.loop(len(x), lambda i, s: s * 0.9 + np.sin(x[i]) * x[-1 - i] + x[i], np.zeros(3))


def test_a_row_read_in_a_loop_is_one_row_in_the_gradient(rng=rng):
    x = rng.normal(size=(500, 3))
    f = nbgrad.value_and_grad(lambda x: np.sum(reading(x) ** 2))
    same(nbgrad.compile(f)(x), f(x))
    steps = re.findall(r"def (?:compiled|_lambda_)?\w*step\d+_core.*?return", sources(f, x), re.S)
    kernels = dict(re.findall(r"\ndef (loop\d+)(.*?)\n\n", sources(f, x), re.S))
    called = {name for step in steps for name in re.findall(r"loop\d+", step)}
    assert called and not any("1500" in kernels[name] for name in called)


def test_a_state_that_can_be_written_over_has_one_buffer(rng=rng):
    def descend(w):
        def step(i, state):
            w, v = state
            v = 0.9 * v + nbgrad.grad(lambda w: np.sum(np.cosh(w @ w)))(w)
            return w - 0.01 * v, v

        return nbgrad.loop(50, step, (w, np.zeros_like(w)))

    w = rng.normal(size=(4, 4)) * 0.3
    same(nbgrad.compile(descend)(w), descend(w))
    assert "& 1" not in sources(descend, w)


WRITTEN_OVER = {
    "swap": lambda x: nbgrad.loop(5, lambda i, s: (s[1] * 2.0, s[0] + 1.0), (x, -x)),
    "shifted": lambda x: nbgrad.loop(5, lambda i, s: np.concatenate([s[1:], s[:1]]) + s, x),
    "row sums": lambda x: nbgrad.loop(5, lambda i, s: s / np.sum(s * s, axis=1, keepdims=True), x),
    "read after": lambda x: nbgrad.loop(5, lambda i, s: (s[0] * 0.5, s[1] + s[0].T @ s[0]),
                                        (x, np.zeros((3, 3)))),
    "turned": lambda x: nbgrad.loop(5, lambda i, s: s.T * 0.5 + s, x[:3]),
    "far": lambda x: nbgrad.loop(5, lambda i, s: np.sin(s) + x * 1e5, x),
    "same": lambda x: nbgrad.loop(5, lambda i, s: (s[0], s[0] + s[1]), (x, x)),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=rows_table.marks(n in ("swap", "read after"))) for n in WRITTEN_OVER],
)
def test_states_are_written_over_only_where_nothing_reads_them_later(name):
    f = WRITTEN_OVER[name]
    same(nbgrad.compile(f)(ROWS), f(ROWS))
    g = nbgrad.value_and_grad(lambda x: sum(np.sum(np.sin(a)) for a in optree.tree_leaves(f(x))))
    same(nbgrad.compile(g)(ROWS), g(ROWS), 1e-11)


LOOPS_WITH_AT = {
    "loop": lambda x, zeros: nbgrad.loop(3, lambda i, s: s.at[0].add(2.0), zeros),
    "scan": lambda x, zeros: nbgrad.scan(
        lambda s, e: (s.at[0].add(e), None), zeros, np.full(3, 2.0)
    )[0],
    "of x": lambda x, zeros: nbgrad.loop(2, lambda i, s: s.at[i].set(3.0 * x[i]), zeros),
}


@pytest.mark.filterwarnings("ignore::nbgrad.errors.ConstantWarning")  # two do not depend on x
@pytest.mark.parametrize("name", LOOPS_WITH_AT)
def test_a_plain_carry_has_at_inside_of_transformations(name):
    end = LOOPS_WITH_AT[name]
    x = np.array([2.0, 5.0])
    state, slope = ([6.0, 15.0], [3.0, 3.0]) if name == "of x" else ([6.0, 0.0], [0.0, 0.0])
    f = lambda x: end(x, np.zeros(2))  # noqa: E731
    same(nbgrad.jvp(f, (x,), (np.ones(2),)), (np.array(state), np.array(slope)))
    same(nbgrad.vmap(f)(np.stack([x, x])), np.array([state, state]))
    gradient = nbgrad.grad(lambda x: np.sum(x * f(x)))
    same(gradient(x), np.array(state) + x * slope)
    same(nbgrad.compile(gradient)(x), np.array(state) + x * slope)


@pytest.mark.parametrize("name", LOOPS_WITH_AT)
def test_a_plain_carry_without_at_is_told_of_the_function(name):
    with pytest.raises(AttributeError, match=r"nbgrad\.at\(x\)\[i\]\.set"):
        LOOPS_WITH_AT[name](np.ones(2), np.zeros(2))


def test_a_body_that_asks_for_another_attribute_says_so():
    with pytest.raises(AttributeError, match="'att'"):
        nbgrad.loop(3, lambda i, s: s.att, np.zeros(2))
