"""Adjoints of loops down columns, which run along rows: beside dual numbers."""

import numpy as np
import pytest
from fuzz.derivatives.checking import check, compiled
from fuzz.derivatives.drawing import Drawn

from nbgrad.adjoints.interchange import interchanged
from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.ir.statements import For, Store
from nbgrad.ir.walk import walk

CHOLESKY = """
def drawn(m, w, n, s):
    for j in range(m.shape[0]):
        for k in range(j):
            for i in range(j, m.shape[0]):
                m[i, j] -= m[i, k] * m[j, k]
        d = math.sqrt(4.0 + m[j, j])
        for i in range(j, m.shape[0]):
            m[i, j] /= d
    return m[-1, -1] + m[1, 0]
"""
COLUMNS = """
def drawn(m, w, n, s):
    for k in range(m.shape[1]):
        for i in range(m.shape[0]):
            w[i] += s * m[i, k] * m[i, k] * m[0, k]
    return w[0]
"""
# The elements that are read are those that are added to; the inner loop runs along rows already.
MEETING = """
def drawn(m, w, n, s):
    for k in range(1, m.shape[1]):
        for i in range(m.shape[0]):
            m[i, k] += s * m[i, k - 1]
    return m[0, 2] * m[1, 1]
"""
ROWS = """
def drawn(m, w, n, s):
    for i in range(m.shape[0]):
        for k in range(m.shape[1]):
            w[i] += s * m[i, k] * m[0, k]
    return w[0] * w[1]
"""


@pytest.mark.parametrize("shape", [(4, 4), (1, 1), (0, 0)])
@pytest.mark.parametrize(
    ("text", "count"), [(CHOLESKY, 2), (COLUMNS, 2), (MEETING, 0), (ROWS, 0)]
)  # fmt: skip
def test_interchanged(text, count, shape, monkeypatch):
    made = []

    def noted(*args):
        made.append(interchanged(*args))
        return made[-1]

    monkeypatch.setattr("nbgrad.adjoints.gather.interchanged", noted)
    rng = np.random.default_rng(3)
    given = {"m": rng.uniform(0.5, 1, shape), "w": rng.uniform(0.3, 1, shape[0]), "n": 3, "s": 0.9}
    drawn = Drawn(3, text, given, ("m", "w"))
    if min(shape) > 3:
        check(drawn)
    function = compiled(drawn).function
    made.clear()
    value_and_cotangents(function, drawn.wrt, [x for x, _ in function.parameters if "_n" in x])
    rows = [
        x for found in made if found for x in walk(found)
        if isinstance(x, For) and all(not isinstance(one, For) for one in x.body)
    ]  # fmt: skip
    assert len(rows) == count
    for row in rows:
        store = next(x for x in row.body if isinstance(x, Store))
        assert (row.axis, 1) in store.at.terms
