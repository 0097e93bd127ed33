"""States that every step returns unchanged are constants of a loop, and so are ys of constants."""

import numpy as np
import pytest

import nbgrad

RNG = np.random.default_rng(11)
TABLE, START = RNG.normal(size=(6, 4)), RNG.normal(size=4)


def scanned(table, x):
    def step(state, t):
        h, kept = state
        return (np.tanh(h + kept[0] * t), kept), (h[0], kept[1], kept[2] * 2.0)

    (h, after), (a, b, c) = nbgrad.scan(step, (x, table), np.arange(5.0))
    return np.sum(h**2) + np.sum(after * table) + np.sum(a) + np.sum(b * b) + np.sum(c)


def looped(table, x):
    h, after = nbgrad.loop(5, lambda i, s: (np.sin(s[0]) + s[1][i] * i, s[1]), (x, table))
    return np.sum(h * after)


def checkpointed(table, x):
    def step(i, s):
        return (np.sin(s[0]) + s[1][1], s[1])

    return np.sum(nbgrad.loop(5, step, (x, table), checkpoint=2)[0] ** 2)


def repeated_while(table, x):
    def step(s):
        return s[0] * 0.5 + s[1][0] * 0.01, s[1], s[2] + 1

    h, after, _ = nbgrad.while_loop(lambda s: s[2] < 4, step, (x, table, 0), 9)
    return np.sum(h**2) + np.sum(after)


def nested(table, x):
    def inner(i, s):
        return s[0] * 0.9 + s[1][i], s[1]

    def step(s, t):
        h, kept = nbgrad.loop(3, inner, s)
        return (np.tanh(h) * t, kept), None

    (h, after), _ = nbgrad.scan(step, (x, table), np.arange(1.0, 4.0))
    return np.sum(h * after[0])


def with_a_number(table, x):
    h, rate = nbgrad.loop(4, lambda i, s: (s[0] - s[1] * np.sin(s[0]), s[1]), (x, 0.25))
    return np.sum(h * table) * rate


def with_a_plain_array(table, x):
    def step(i, s):
        return s[0] + s[1] * table[i], s[1]

    h, ones = nbgrad.loop(4, step, (x, np.ones(4)))
    ones[1:3] += h[:2]  # the state is a copy
    return np.sum(h * ones)


def nothing_changes(table, x):
    kept, ys = nbgrad.scan(lambda s, _: (s, s * 2.0), table, length=3)
    return np.sum(kept * ys) * x[0]


PROGRAMS = {
    f.__name__: f
    for f in (
        scanned, looped, checkpointed, repeated_while, nested, with_a_number, with_a_plain_array,
        nothing_changes,
    )
}  # fmt: skip
by_program = pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)


@by_program
def test_values_and_gradients_are_those_of_eager_code(f):
    both = nbgrad.value_and_grad(f, (0, 1))
    value, slopes = nbgrad.compile(both)(TABLE, START)
    expected, others = both(TABLE, START)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    for slope, other in zip(slopes, others, strict=True):
        np.testing.assert_allclose(slope, other, rtol=1e-12, atol=1e-13)


@by_program
def test_forward_mode_and_samples(f):
    dots = RNG.normal(size=TABLE.shape), RNG.normal(size=START.shape)
    slopes = nbgrad.grad(f, (0, 1))(TABLE, START)
    _, dot = nbgrad.compile(lambda *args: nbgrad.jvp(f, args, dots))(TABLE, START)
    expected = sum(np.sum(d * g) for d, g in zip(dots, slopes, strict=True))
    np.testing.assert_allclose(dot, expected, rtol=1e-11)
    starts = RNG.normal(size=(3, 4))
    many = nbgrad.compile(nbgrad.vmap(nbgrad.grad(f), in_axes=(None, 0)))(TABLE, starts)
    for slope, start in zip(many, starts, strict=True):
        np.testing.assert_allclose(slope, nbgrad.grad(f)(TABLE, start), rtol=1e-11, atol=1e-12)


def bodies(f, *args):
    """The loops of a compiled program."""
    equations = nbgrad.compile(f).variant(*args).program.equations
    return [e.params["body"] for e in equations if "body" in e.params]


@pytest.mark.parametrize("f", [scanned, looped, checkpointed, nested])
def test_no_loop_of_a_gradient_carries_or_stores_what_does_not_change(f):
    for body in bodies(nbgrad.value_and_grad(f, 1), TABLE, START):
        assert all(x.shape != TABLE.shape for x in body.program.outputs)


def test_cotangents_to_which_no_step_adds_are_not_carried():
    def f(table, x):
        h, after = nbgrad.loop(5, lambda i, s: (np.sin(s[0]), s[1]), (x, table))
        return np.sum(h) + np.sum(after**2)

    for body in bodies(nbgrad.grad(f, (0, 1)), TABLE, START):
        assert all(x.shape == START.shape for x in body.program.outputs)


def test_states_that_change_places_are_no_constants():
    def f(x, y):
        a, b = nbgrad.loop(5, lambda i, s: (s[1], s[0]), (x, y))
        return a - 2.0 * b

    x, y = START, 2.0 * START
    np.testing.assert_array_equal(nbgrad.compile(f)(x, y), y - 2.0 * x)


def test_loops_without_steps():
    def f(x):
        kept, ys = nbgrad.scan(lambda s, t: (s, s + 1.0), x, np.zeros((0, 2)))
        return kept, ys

    kept, ys = nbgrad.compile(f)(START)
    np.testing.assert_array_equal(kept, START)
    assert ys.shape == (0, 4)


def test_results_are_no_views_of_the_arguments():
    f = nbgrad.compile(lambda x: nbgrad.scan(lambda s, _: (s, s), x, length=2))
    x = START.copy()
    kept, ys = f(x)
    kept[0] = ys[0, 1] = 7.0
    np.testing.assert_array_equal(x, START)
    assert ys[1, 1] == START[1]


def test_positions_are_checked_though_nothing_else_changes():
    def f(x, places):
        def step(s, i):
            nbgrad.at(s)[i].get()
            return s, None

        return nbgrad.scan(step, x, places)[0]

    run = nbgrad.compile(f)
    np.testing.assert_array_equal(run(START, np.array([0, 3])), START)
    with pytest.raises(IndexError):
        run(START, np.array([0, 4]))
