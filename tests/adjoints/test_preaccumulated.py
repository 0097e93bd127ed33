"""Recurrences whose partial derivatives are multiplied before their cotangent: beside dual numbers,
and at cotangents of 0."""

import numpy as np
import pytest
from fuzz.derivatives.checking import check, compiled
from fuzz.derivatives.drawing import Drawn

import nbgrad
from nbgrad.adjoints.preaccumulate import preaccumulated
from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.adjoints.told import recorded
from nbgrad.ir.scalar import Apply
from nbgrad.ir.statements import Assign, For, Store, While
from nbgrad.ir.walk import inner, walk

# A division stands between the cotangents of two rounds.
SOFT = """
def drawn(u, w, n, dt):
    for i in range(1, u.size):
        a = u[i - 1] / dt
        b = w[i] / dt
        most = max(a, b)
        u[i] += math.log(math.exp(a - most) + math.exp(b - most)) - 1.0 / (1.5 + a * a)
    return u[-1] * u[2]
"""
ROOTS = """
def drawn(u, w, n, dt):
    total = 0.0
    for i in range(u.size):
        x = 1.5
        while abs(x * x - w[i]) > 1e-3:
            x = x - (x * x - w[i]) / (2.0 * x)
        total += x * u[i]
    return total
"""
CONTINUED = """
def drawn(u, w, n, dt):
    x = 1.0
    for i in range(u.size):
        x = -dt / (w[i] - x * u[i])
    return x * x
"""
# Both cotangents of a round wait for one another, or a sum and a product are all that waits.
TWO = """
def drawn(u, w, n, dt):
    x = 1.0
    y = 0.5
    for i in range(u.size):
        x, y = x + y / (w[i] + x), y - x / (w[i] + y)
    return x * y
"""
SHORT = """
def drawn(u, w, n, dt):
    x = 1.0
    for i in range(u.size):
        x = x * dt + u[i] / w[i]
    return x * x
"""
# No round waits for the cotangent of another one: what is added to, earlier rounds do not read.
TREE = """
def drawn(u, w, n, dt):
    for k in range(u.size - 1, 0, -1):
        for i in range(k):
            u[i] = 1.0 / (1.5 + w[i] * u[i + 1] / dt + u[i] * u[i])
    return u[0]
"""


def program(text, seed=3):
    rng = np.random.default_rng(seed)
    given = {"u": rng.uniform(-1, 1, 6), "w": rng.uniform(2.5, 4, 6), "n": 3, "dt": 0.9}
    return Drawn(seed, text, given, ("u", "w", "dt"))


def reverse_of(drawn):
    function = compiled(drawn).function
    lengths = [name for name, _ in function.parameters if "_n" in name]
    return value_and_cotangents(function, drawn.wrt, lengths), function, lengths


def divisions(loop):
    bodies = [x.body for x in walk([loop]) if isinstance(x, Assign) and isinstance(x.body, Apply)]
    return sum(body.function.name == "divide" for body in bodies)


@pytest.mark.parametrize(
    ("text", "is_preaccumulated"),
    [(SOFT, True), (ROOTS, True), (CONTINUED, True), (TWO, False), (SHORT, False), (TREE, False)],
)
def test_preaccumulated(text, is_preaccumulated, monkeypatch):
    found = []

    def noted(*args):
        found.append(preaccumulated(*args))
        return found[-1]

    monkeypatch.setattr("nbgrad.adjoints.reverse.preaccumulated", noted)
    check(program(text))
    assert is_preaccumulated == any(x is not None for x in found)


def test_the_backward_sweep_divides_nothing():
    drawn = program(SOFT)
    made, function, lengths = reverse_of(drawn)
    inside = [x for x in walk(made.body) if isinstance(x, For) and not any(map(inner, x.body))]
    backward = [x for x in inside if x.axis.startswith("back")]
    assert backward and not any(map(divisions, backward))
    found, *_ = recorded(function, drawn.wrt, lengths)
    assert any(x.name and x.name.startswith("slope") for x in found)


def test_the_last_test_of_a_while_loop_is_no_round():
    """A round that only tests has no adjoint, so no condition is tested backward."""
    made, *_ = reverse_of(program(ROOTS))
    loop = next(x for x in walk(made.body) if isinstance(x, While))
    place = next(i for i, x in enumerate(loop.body) if inner(x))
    assert not any(isinstance(x, Store) for x in loop.body[: place + 1])
    back = next(x for x in walk(made.body) if isinstance(x, For) and x.axis.startswith("back"))
    assert not any(map(inner, back.body))


def poles(x, n):
    s = 0.0
    for i in range(x.size):
        s = np.sqrt(s) + np.log(1.0 + s / (2.0 + x[i]))
    return s


def test_a_cotangent_of_0_is_0_at_a_pole():
    """s stays 0, where the derivative of its root is infinite, and nothing flows back to it."""

    def loss(x):
        return 0.0 * nbgrad.njit(poles)(x, 3) + np.sum(x * x)

    x = np.ones(4)
    assert np.array_equal(nbgrad.grad(loss)(x), 2.0 * x)
    assert np.array_equal(nbgrad.hessian(loss)(x), 2.0 * np.eye(4))


def continued(x):
    s = 1.0
    for i in range(x.size):
        s = x[i] / (2.0 + s)
    return s


def test_a_cotangent_of_0_has_a_second_derivative():
    def loss(x):
        return (nbgrad.njit(continued)(x) - 1.0 / 3.0) ** 2

    x = np.array([0.5, 1.0])  # 0.5 / 3 = 1 / 6
    x[1] = (2.0 + 0.5 / 3.0) / 3.0
    slope = nbgrad.grad(nbgrad.njit(continued))(x)
    np.testing.assert_allclose(nbgrad.hessian(loss)(x), 2.0 * np.outer(slope, slope), rtol=1e-12)
