"""Recurrences whose last value has a cotangent of 0 are not run backward: beside dual numbers."""

import numpy as np
import pytest
from fuzz.derivatives.checking import check, compiled
from fuzz.derivatives.drawing import Drawn

from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.ir.statements import If
from nbgrad.ir.walk import walk

LEFT = """
def drawn(u, w, n, dt):
    total = 0.0
    for i in range(u.size):
        s = 1.0
        for t in range(w.size):
            s = s * (w[t] * dt + u[i])
            if s > 0.5:
                break
        if u[i] > 0.0:
            total += s * u[i]
    return total * total  # so that the rounds are not fused with their adjoints
"""
WHOLE = """
def drawn(u, w, n, dt):
    total = 0.0
    for i in range(u.size):
        s = u[i]
        r = 1.0
        for t in range(w.size):
            s = s * w[t] * dt + r
            r = r * dt + 0.1 * s * s
        if u[i] > 0.0:
            total += s * u[i]
        else:
            total += u[i]
    return total * total  # so that the rounds are not fused with their adjoints
"""
# The last value counts in all rounds, and a round adds to it: nothing is skipped.
ADDED = """
def drawn(u, w, n, dt):
    for i in range(u.size):
        s = 1.0
        for t in range(w.size):
            s = s * w[t] * dt
            u[i] = u[i] * w[t] + s
    return u[0]
"""


def program(text, seed=5):
    rng = np.random.default_rng(seed)
    given = {"u": rng.uniform(-1, 1, 6), "w": rng.uniform(0.3, 1, 5), "n": 3, "dt": 0.9}
    return Drawn(seed, text, given, ("u", "w", "dt"))


@pytest.mark.parametrize(("text", "is_skipped"), [(LEFT, True), (WHOLE, True), (ADDED, False)])
def test_skipped(text, is_skipped):
    drawn = program(text)
    check(drawn)
    function = compiled(drawn).function
    lengths = [name for name, _ in function.parameters if "_n" in name]
    made = value_and_cotangents(function, drawn.wrt, lengths)
    assert is_skipped == any(isinstance(x, If) and x.is_skip for x in walk(made.body))
