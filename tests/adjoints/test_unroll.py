"""Loops of few rounds, which are written out."""

import numpy as np
import pytest
from fuzz.derivatives.checking import check, compiled
from fuzz.derivatives.drawing import Drawn

import nbgrad
from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.ir.statements import For
from nbgrad.ir.walk import walk

COORDINATES = """
def drawn(u, w, n, dt):
    a = np.zeros(3)
    for t in range(n):
        for i in range(u.shape[0]):
            for k in range(3):
                a[k] = 0.0
            for j in range(u.shape[0]):
                r = 0.5
                for k in range(3):
                    d = u[j, k] - u[i, k]
                    r += d * d
                for k in range(2, -1, -1):
                    a[k] += (u[j, k] - u[i, k]) / r
            for k in range(3):
                w[i, k] += dt * a[k]
                u[i, k] += dt * w[i, k]
    return u[0, 0] * u[1, 1] + d * k
"""
STENCIL = """
def drawn(u, w, n, dt):
    total = 0.0
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            for p in range(-1, 2):
                for q in range(-1, 2):
                    if p != q:
                        w[i, j] += dt * u[i + p, j + q] * (2 * p + q)
            total += w[i, j] * w[i, j]
    return total
"""
LEFT = """
def drawn(u, w, n, dt):
    total = 0.0
    for i in range(u.shape[0]):
        for k in range(3):
            if u[i, k] > 0.6:
                break
            total += u[i, k] * w[i, k] * dt
        for k in range(0):
            total = w[k, 0]
        for k in range(1):
            total = total * w[i, k]
    return total
"""
LONG = """
def drawn(u, w, n, dt):
    total = dt
    for i in range(u.shape[0]):
        for k in range(5):
            total = total * u[i, k % 3] + w[i, 0]
    return total
"""


def program(text):
    rng = np.random.default_rng(4)
    arrays = {name: rng.uniform(-1, 1, (5, 4)) for name in ("u", "w")}
    return Drawn(4, text, {**arrays, "n": 2, "dt": 0.3}, ("u", "w", "dt"))


@pytest.mark.parametrize("text", [COORDINATES, STENCIL, LEFT, LONG])
def test_like_dual_numbers(text):
    check(program(text))


@pytest.mark.parametrize(("text", "count"), [(COORDINATES, 0), (STENCIL, 0), (LEFT, 1), (LONG, 2)])
def test_loops_of_few_rounds_are_written_out(text, count):
    function = compiled(program(text)).function
    lengths = [name for name, _ in function.parameters if "_n" in name]
    made = value_and_cotangents(function, ("u", "w", "dt"), lengths)
    loops = [x for x in walk(made.body) if isinstance(x, For)]
    assert len([x for x in loops if isinstance(x.stop, int)]) == count


def turned(angles, x):
    """Products of small matrices that each round makes: elements of them are known, and a product
    reads them from memory."""
    total = np.zeros((angles.size, 2))
    for i in range(angles.size):
        turn = np.eye(2)
        turn[0, 0] = turn[1, 1] = np.cos(angles[i])
        turn[0, 1] = np.sin(angles[i])
        point = np.zeros((1, 2))
        point[0, 0] = x[i]
        total[i, :] = (point @ turn)[0]
    return np.sum(total)


def scaled(angles, x):
    total = np.zeros((angles.size, 1))
    for i in range(angles.size):
        one = np.zeros((1, 1))
        one[0, 0] = x[i]
        factor = np.zeros((1, 1))
        factor[0, 0] = angles[i]
        total[i, :] = (one @ factor)[0]
    return np.sum(total)


def test_products_of_matrices_that_each_round_makes():
    angles, x = np.array([0.3, 0.6, 0.9]), np.array([1.0, -0.5, 2.0])
    sines, cosines = np.sin(angles), np.cos(angles)
    slopes = nbgrad.grad(nbgrad.njit(turned), (0, 1))(angles, x)
    np.testing.assert_allclose(slopes[0], x * (cosines - sines), rtol=1e-13)
    np.testing.assert_allclose(slopes[1], cosines + sines, rtol=1e-13)
    slopes = nbgrad.grad(nbgrad.njit(scaled), (0, 1))(angles, x)
    np.testing.assert_allclose(slopes, [x, angles], rtol=1e-13)
