"""Adjoints of stencils, which gather, for arrays of all small lengths: beside dual numbers, and
with private shadows beside those that are not."""

import numpy as np
import pytest
from checkers.functions import runnable
from fuzz.derivatives.checking import check, compiled
from fuzz.derivatives.drawing import Drawn

from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.ir.statements import If, Pointer, Store
from nbgrad.ir.walk import inner, walk

BURGERS = """
def drawn(u, w, n, dt):
    for t in range(n):
        for i in range(1, u.size - 1):
            w[i] = u[i] - dt * u[i] * (u[i + 1] - u[i - 1]) + 0.1 * (u[i + 1] - 2 * u[i] + u[i - 1])
        for i in range(1, u.size - 1):
            u[i] = w[i]
    return u[0] * u[1]
"""
COPIED = """
def drawn(u, w, n, dt):
    for t in range(n):
        for i in range(u.size):
            w[i] = u[i]
        for i in range(2, u.size - 1):
            u[i] = w[i] + dt * (w[i - 2] * w[i + 1] - w[i])
    return u[0] * u[-1]
"""
WAVE = """
def drawn(u, w, n, dt):
    for t in range(n):
        for i in range(1, u.size - 1):
            w[i] = 2.0 * u[i] - w[i] + dt * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        for i in range(1, u.size - 1):
            u[i], w[i] = w[i], u[i]
    return u[0] * u[1]
"""
BACKWARD = """
def drawn(u, w, n, dt):
    for t in range(n):
        for i in range(u.size - 2, 0, -1):
            w[u.size - 1 - i] = dt * u[i + 1] * u[i - 1] + u[u.size - 1 - i]
        for i in range(1, u.size):
            u[i] = 0.5 * w[i] + w[i - 1]
    return u[1]
"""
INTERIOR = """
def drawn(u, w, n, dt):
    for t in range(n):
        for i in range(3, u.size - 2):
            w[i] = u[i - 1] * dt + u[i + 1] * u[i]
        for i in range(1, u.size - 1):
            u[i] = w[i]
    return u[0] * u[1]
"""
LEFT = """
def drawn(u, w, n, dt):
    for t in range(n):
        for i in range(2, u.size):
            if w[i] > 0.9 - 0.1 * t:
                break
            w[i] += dt * u[i - 1] * u[i]
    return w[-1] + w[2]
"""
MADE = """
def drawn(u, w, n, dt):
    for t in range(n):
        v = np.zeros(u.size)
        for i in range(u.size):
            v[i] = u[i]
        for i in range(1, u.size - 1):
            u[i] = v[i] + dt * (math.exp(v[i - 1]) * v[i + 1] - v[i])
    return u[0] * u[-1]
"""
JACOBI = """
def drawn(u, w, n, dt):
    for t in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                w[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) * dt
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = w[i, j]
    return u[1, 1] * u[0, 1]
"""
CORNERS = """
def drawn(u, w, n, dt):
    for t in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(u.shape[1] - 2):
                w[i, j] = u[i - 1, j + 2] * dt + u[i + 1, j] * u[i, j + 1]
        for i in range(u.shape[0]):
            for j in range(1, u.shape[1]):
                u[i, j] = w[i, j] - w[i, j - 1]
    return u[1, 1] * u[0, 1]
"""
ONE = [
    (text, (n,))
    for text in (BURGERS, COPIED, WAVE, BACKWARD, INTERIOR, MADE)
    for n in (2, 3, 4, 5, 9)
] + [(LEFT, (n,)) for n in (3, 9)]
TWO = [(text, shape) for text in (JACOBI, CORNERS) for shape in ((2, 5), (3, 3), (4, 3), (6, 7))]


def program(text, shape, seed=3):
    rng = np.random.default_rng(seed)
    given = {"u": rng.uniform(-1, 1, shape), "w": rng.uniform(-1, 1, shape), "n": 3, "dt": 0.3}
    return Drawn(seed, text, given, ("u", "dt"))


@pytest.mark.parametrize(("text", "shape"), ONE + TWO)
def test_like_dual_numbers(text, shape):
    check(program(text, shape))


def cotangents(text, shape, private):
    """The cotangents of u and dt where those of w are 0 at the end."""
    given = program(text, shape).arguments
    function = compiled(program(text, shape)).function
    lengths = [name for name, _ in function.parameters if "_n" in name]
    made = value_and_cotangents(function, ("u", "dt"), lengths, private)
    passed = []
    for name, kind in made.parameters:
        own, _, bar = name.partition(".")
        if isinstance(kind, Pointer):
            fill = np.zeros(shape) if bar else given[own]
            if bar and own == "u":
                fill = np.full(shape, 0.7)
            passed.append(dict(enumerate(fill.ravel().tolist())))
        else:
            array, _, axis = own.partition("_n")
            passed.append(shape[int(axis)] if axis else given.get(array, 1.0))
    results = runnable(made)(*passed)
    bar = passed[[name for name, _ in made.parameters].index("u.bar")]
    return [*bar.values(), *results], made


@pytest.mark.parametrize(("text", "shape"), ONE + TWO)
def test_private_shadows_change_no_number(text, shape):
    found, _ = cotangents(text, shape, ("w",))
    expected, _ = cotangents(text, shape, ())
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def taken(body):
    """The statements that run where arrays are long."""
    for each in body:
        yield each
        for part in inner(each)[:1]:
            yield from taken(part)


def gathering(made):
    """The branches with the loops that gather."""
    branches = [each for each in walk(made.body) if isinstance(each, If)]
    return [each for each in branches if str(each.condition).startswith("long")]


def is_zero(each):
    return isinstance(each, Store) and getattr(each.value, "number", None) == 0


@pytest.mark.parametrize("text", [BURGERS, COPIED, JACOBI])
def test_elements_that_are_zero_are_set(text):
    shape = (6, 7) if text is JACOBI else (9,)
    _, private = cotangents(text, shape, ("w",))
    _, public = cotangents(text, shape, ())
    assert gathering(private) and gathering(public)
    stores = [each for each in taken(private.body) if getattr(each, "buffer", "") == "w.bar"]
    assert any(isinstance(each, Store) and each.kind is None for each in stores)
    assert not any(map(is_zero, stores))
    assert any(is_zero(x) for x in taken(public.body) if getattr(x, "buffer", "") == "w.bar")
