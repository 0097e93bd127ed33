"""Functions whose source is that of a notebook cell, which uses modules of other cells."""

import linecache

import numpy as np
import pytest

import nbgrad

BODY = """
def f(x):
    total = 0.0
    for i in range(x.size):
        total += np.cos(x[i]) * math.sin(1.0)
    return total
"""


@pytest.mark.parametrize(
    "imports", ["", "import numpy as np", "import math", "import math\nimport numpy as np"]
)
def test_modules_of_other_cells(imports):
    name = f"<cell {imports!r}>"
    space: dict = {}
    exec("import math\nimport numpy as np", space)
    text = imports + BODY
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)
    slope = nbgrad.grad(nbgrad.njit(space["f"]))(np.ones(3))
    assert slope == pytest.approx(np.full(3, -(np.sin(1.0) ** 2)))
