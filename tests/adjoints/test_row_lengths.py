"""Loops over short rows, whose versions for rows of one length give the same numbers."""

import numpy as np
import pytest
from fuzz.derivatives.checking import check, compiled
from fuzz.derivatives.drawing import Drawn

from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.ir.statements import For, If, Load, Store
from nbgrad.ir.walk import walk

BODIES = """
def drawn(u, w, n, dt):
    for t in range(n):
        for i in range(u.shape[0]):
            a = 0.0
            for j in range(u.shape[0]):
                dx = u[j, 0] - u[i, 0]
                dy = u[j, 1] - u[i, 1]
                r = dx * dx + dy * dy + 0.5
                a += (dx - 2.0 * dy) / r
            w[i, 0] += dt * a
            w[i, 1] -= dt * a * a
        for i in range(u.shape[0]):
            u[i, 0] += dt * w[i, 0]
            u[i, 1] += dt * w[i, 1] * u[i, 0]
    return u[0, 0] * u[1, 1]
"""
NEAR = """
def drawn(u, w, n, dt):
    total = 0.0
    for i in range(u.shape[0]):
        for j in range(i):
            r = (u[j, 0] - u[i, 0]) ** 2 + (u[j, 1] - u[i, 1]) ** 2
            if r < 1.0:
                total += (1.0 - r) ** 2 * w[i, 1]
            if total > 3.0:
                break
    return total * dt
"""
BESIDE = """
def drawn(u, w, n, dt):
    total = 0.0
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            w[i, 0] += u[i, j] * w[i, 1] * dt
    for i in range(1, u.shape[0]):
        total += w[i, 0] * w[i, 1]
    return total
"""
CHOSEN = [(BODIES, {"u_n1", "w_n1"}), (NEAR, {"u_n1", "w_n1"}), (BESIDE, {"w_n1"})]


def program(text, columns):
    rng = np.random.default_rng(4)
    arrays = {name: rng.uniform(-1, 1, (5, columns)) for name in ("u", "w")}
    return Drawn(4, text, {**arrays, "n": 2, "dt": 0.3}, ("u", "w", "dt"))


@pytest.mark.parametrize("text", [BODIES, NEAR, BESIDE])
@pytest.mark.parametrize("columns", [2, 3])
def test_like_dual_numbers(text, columns):
    check(program(text, columns))


def names(loop):
    """The names in the positions of elements, and those that these are computed from."""
    found = {name for x in walk([loop]) if isinstance(x, (Load, Store)) for name, _ in x.at.terms}
    return found | {y for x in walk([loop]) for y in getattr(x, "operands", ())}


@pytest.mark.parametrize(("text", "expected"), CHOSEN)
def test_loops_have_a_version_for_rows_of_one_length(text, expected):
    function = compiled(program(text, 2)).function
    lengths = [name for name, _ in function.parameters if "_n" in name]
    made = value_and_cotangents(function, ("u", "w", "dt"), lengths)
    chosen: set = set()
    for each in walk(made.body):
        if isinstance(each, If) and str(each.condition).startswith("short"):
            (short,), (plain,) = each.then, each.otherwise
            assert isinstance(short, For) and isinstance(plain, For)
            assert len(walk([short])) == len(walk([plain]))
            chosen |= (names(plain) - names(short)) & {"u_n1", "w_n1"}
    assert chosen == expected
