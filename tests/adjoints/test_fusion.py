"""Loops that become one: beside dual numbers, and how many arrays remain."""

import numpy as np
import pytest
from fuzz.derivatives.checking import check, compiled
from fuzz.derivatives.drawing import Drawn

from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.ir.statements import New
from nbgrad.ir.walk import walk

# Statements, and the number of arrays that the reverse pass makes, without shadows.
PROGRAMS = {
    "elementwise": (["u = a * b", "v = u + a", "f = np.sum(v * u)"], 0),
    "three arrays": (["u = a * b", "v = u * u", "w = np.sin(v) + u", "f = np.sum(w)"], 0),
    "rows": (
        ["u = np.sin(m)", "f = 0.0", "for i in range(m.shape[0]):",
         "    for j in range(m.shape[1]):", "        f += u[i, j] * u[i, 0]"], 1,
    ),
    "two axes": (["u = m * m", "v = u + m", "f = np.sum(v * u)"], 0),
    "neighbours": (["u = a * b", "v = u[1:] - u[:-1]", "f = np.sum(v * v)"], 1),
    "write between": (["u = a * 2.0", "a[:] = b * b", "v = u + a", "f = np.sum(v * u)"], 1),
    "write behind": (["u = a * 2.0", "v = u + b", "a[:] = v", "f = np.sum(a * u)"], 0),
    "own elements": (
        ["u = np.zeros(a.size)", "for i in range(a.size - 1):", "    u[i] = a[i + 1] * b[i]",
         "for i in range(a.size - 1):", "    a[i] = u[i] * a[i]", "f = np.sum(a * a)"], 0,
    ),
    "earlier elements": (
        ["u = np.zeros(a.size)", "for i in range(1, a.size):", "    u[i] = a[i - 1] * b[i]",
         "for i in range(1, a.size):", "    a[i] = u[i] * a[i]", "f = np.sum(a * a)"], 1,
    ),
    "later elements": (
        ["u = np.zeros(a.size)", "for i in range(a.size - 1):", "    u[i + 1] = a[i] * b[i]",
         "for i in range(a.size - 1):", "    b[i] = u[i] * a[i + 1]", "f = np.sum(b * b)"], 1,
    ),
    "a sum that is read": (
        ["u = a * b", "f = 1.0", "for i in range(a.size):", "    f += u[i] * f"], 0,
    ),
    "a sum before it ends": (
        ["u = np.zeros(a.size)", "f = 0.0", "for i in range(a.size):", "    f += a[i]",
         "    u[i] = f * f", "for i in range(a.size):", "    b[i] = u[i] * f", "f = np.sum(b)"], 1,
    ),
    "in a loop": (
        ["for t in range(3):", "    u = a * b", "    v = u + np.sin(a)", "    a[:] = v * 0.5",
         "f = np.sum(a * a)"], 0,
    ),
}  # fmt: skip


def program(name: str, length: int) -> Drawn:
    rng = np.random.default_rng(length)
    lines = "".join(f"    {line}\n" for line in [*PROGRAMS[name][0], "return f"])
    arguments = {"a": rng.random(length), "b": rng.random(length), "m": rng.random((length, 3))}
    return Drawn(length, f"def drawn(a, b, m):\n{lines}", arguments, ("a", "b", "m"))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_values_and_derivatives_are_those_of_dual_numbers(name, length):
    check(program(name, length))


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_array_that_is_read_where_it_is_made_is_no_array(name):
    function = compiled(program(name, 3)).function
    lengths = [name for name, _ in function.parameters if "_n" in name]
    body = value_and_cotangents(function, ("a", "b", "m"), lengths).body
    made = {each.target for each in walk(body) if isinstance(each, New)}
    assert len([x for x in made if not x.endswith(".bar")]) == PROGRAMS[name][1]
