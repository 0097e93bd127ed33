"""Gradient descent by the lab's figures, and on nested arguments."""

import numpy as np
import pytest

import nbgrad


def g(x, y):
    return y * y + np.sin(x)


def test_one_step_moves_against_the_gradient():
    x, y = nbgrad.descend(g, 0.2, 1.0, 1.0)
    assert (float(x), float(y)) == (0.891939538826372, 0.6)
    assert float(g(x, y)) == pytest.approx(1.1382910542267546, rel=1e-15)


def test_the_lab_s_own_step_has_half_the_slope_in_y():
    """Its graph keeps one of the two edges from y to y * y, so it steps as for y * y / 2."""
    x, y = nbgrad.descend(lambda x, y: y * y / 2 + np.sin(x), 0.2, 1.0, 1.0)
    assert (float(x), float(y)) == (0.891939538826372, 0.8)
    assert float(g(x, y)) == pytest.approx(1.4182910542267546, rel=1e-15)


@pytest.mark.parametrize(
    ("start", "niters", "end", "near"),
    [((1.5, -2.4), 34, (-np.pi / 2, 0.0), 0.07), ((1.8, -2.4), 16, (3 * np.pi / 2, 0.0), 0.8)],
)
def test_two_neighbours_part(start, niters, end, near):
    """A ridge at pi / 2 lies between the two starts."""
    xs, ys = nbgrad.minimize(g, *start, niters=niters, lr=0.2)
    assert xs.shape == ys.shape == (niters,)
    assert (xs[0], ys[0]) == nbgrad.descend(g, 0.2, *start)
    values = g(xs, ys)
    assert (np.diff(values) < 0).all()
    assert np.hypot(xs[-1] - end[0], ys[-1] - end[1]) < near


def test_nested_arguments_give_nested_paths():
    def loss(p, shift):
        return np.sum((p["w"] - 1.0) ** 2) + p["n"] * (p["b"] - shift) ** 2

    start = {"w": np.zeros((2, 3), np.float32), "b": 0.0, "n": 2}
    path, shifts = nbgrad.minimize(loss, start, 0.5, niters=7, lr=0.1)
    assert path["w"].shape == (7, 2, 3) and path["w"].dtype == np.float32
    assert path["b"].shape == shifts.shape == (7,)
    np.testing.assert_array_equal(path["n"], 2)
    np.testing.assert_allclose(path["w"][-1], 1 - 0.8**7, rtol=1e-6)
    assert start["b"] == 0.0 and not start["w"].any(), "the start stays as it was"


def test_no_steps_give_empty_paths():
    (path,) = nbgrad.minimize(np.sum, np.ones(3), niters=0)
    assert path.shape == (0, 3)
    with pytest.raises(ValueError, match="niters"):
        nbgrad.minimize(np.sum, np.ones(3), niters=-1)


def test_a_descent_compiles_to_the_same_path():
    def paths(x, y):
        return nbgrad.minimize(g, x, y, niters=34, lr=0.2)

    for path, compiled in zip(paths(1.5, -2.4), nbgrad.compile(paths)(1.5, -2.4), strict=True):
        np.testing.assert_allclose(compiled, path, rtol=0, atol=1e-14)
    step = nbgrad.compile(lambda x, y: nbgrad.descend(g, 0.2, x, y))
    assert step(1.0, 1.0) == (0.891939538826372, 0.6)


def test_a_descent_is_differentiated_through():
    """How far the end moves with the start: the product of 1 - 0.2 f'' along the way."""

    def end(x):
        return nbgrad.minimize(g, x, -2.4, niters=34, lr=0.2)[0][-1]

    way = np.r_[1.5, nbgrad.minimize(g, 1.5, -2.4, niters=34, lr=0.2)[0][:-1]]
    moved = np.prod(1 + 0.2 * np.sin(way))
    assert nbgrad.grad(end)(1.5) == pytest.approx(moved, rel=1e-13)
    assert nbgrad.compile(nbgrad.grad(end))(1.5) == pytest.approx(moved, rel=1e-13)


def test_a_callback_logs_each_step():
    seen = []
    xs, ys = nbgrad.minimize(
        g, 1.0, 1.0, niters=3, lr=0.2, callback=lambda *step: seen.append(step)
    )
    assert seen == [(i, g(x, y), x, y) for i, x, y in zip((1, 2, 3), xs, ys, strict=True)]
    with pytest.raises(nbgrad.TraceError, match="callback"):
        nbgrad.compile(lambda x: nbgrad.minimize(g, x, 1.0, callback=print))(1.0)
