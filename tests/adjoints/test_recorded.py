"""The values that reverse mode records, and those that it finds again."""

import numpy as np
import pytest
from fuzz.derivatives.checking import check, functions_of
from fuzz.derivatives.drawing import Drawn
from helpers.loops.calls import kinds

import nbgrad
from nbgrad.adjoints import unroll
from nbgrad.adjoints.told import recorded
from nbgrad.compiler.front.functions import entry_of

# What is recorded in a round of which loop: the buffer of the element, or the name of the value.
CASES = {
    "a result of exp": (
        "for p in range(3):\n t = math.exp(a[p])\n m[n, p] = t + a[p] * t", "am", [("", "p")]),
    "a result of exp that is stored": (
        "for p in range(3):\n b[p] = math.exp(a[p])", "a", []),
    "a variable that is stored": (
        "for p in range(3):\n t = a[p]\n for q in range(2):\n  t += w[q]\n"
        " b[p] = t\n s += t * t\nreturn s", "aw", []),
    "a variable that a loop does not change": (
        "for p in range(2):\n t = 0.0\n for q in range(3):\n  t += a[q]\n"
        " for q in range(3):\n  m[p, q] = t * w[q]\n t = 0.0", "amw", [("t", "p")]),
    "the least of three, and where it is": (
        "for p in range(3):\n if a[p] < s:\n  s = a[p]\n  n = p\n if w[p] < b[p]:\n  w[p] = b[p]\n"
        " else:\n  w[p] = -w[p]\nreturn s * m[0, n] * w[1]", "abmsw", [("s", "p"), ("w", "p")]),
    "a path": (
        "for p in range(1, 3):\n for q in range(1, 3):\n  t = m[p - 1, q] + a[p]\n"
        "  u = m[p, q - 1] * b[q]\n  if t < u:\n   m[p, q] = t\n  else:\n   m[p, q] = u\n"
        "return m[2, 2]", "abm", []),
    "a search for an index": (
        "for p in range(3):\n q = 0\n while q < 2 and b[q] < a[p]:\n  q += 1\n"
        " w[p] = m[p, q] * w[p]\nreturn w[0] * w[1]", "mw", [("q", "p"), ("w", "p")]),
    "elements that are cleared, then summed": (
        "for p in range(2):\n for q in range(3):\n  b[q] = 0.0\n  for r in range(3):\n"
        "   b[q] += m[q, r] * a[r]\n for q in range(3):\n  a[q] = b[q] * b[q]", "abm",
        [("b", "pq"), ("a", "pq")]),
    "elements that are read while they are summed": (
        "for p in range(2):\n b[n] = 0.0\n for q in range(3):\n  a[q] = b[n] * b[n]\n"
        "  b[n] += w[q]", "abw", [("b", "p"), ("b", "pq")]),
    "elements that are read between two writes": (
        "for p in range(2):\n b[n] = s\n for q in range(3):\n  w[q] = b[q] * b[q]\n"
        " for q in range(3):\n  b[n] += a[q] * a[q]", "abws", [("b", "p"), ("b", "pq")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_recorded(name, monkeypatch):
    monkeypatch.setattr(unroll, "_MOST_ROUNDS", 0)
    body, wrt, expected = CASES[name]
    random = np.random.default_rng(5)
    given = {each: random.uniform(0.5, 1.5, 3) for each in "abw"}
    given |= {"m": random.uniform(0.5, 1.5, (3, 3)), "n": 1, "s": 0.75}
    text = f"def drawn({', '.join(given)}):\n" + "".join(f"    {x}\n" for x in body.splitlines())
    check(Drawn(5, text, given, tuple(wrt)))
    function = entry_of(functions_of(text)["drawn"], kinds(given.values())).function
    lengths = [each for each, _ in function.parameters if "_n" in each]
    found, *_ = recorded(function, tuple(wrt), lengths)
    names = [(each.buffer or each.name.partition("#")[0]).partition(".")[0] for each in found]
    loops = ["".join(loop.axis[0] for loop in each.loops) for each in found]
    assert list(zip(names, loops, strict=True)) == expected


def shortest(a, c):
    for i in range(1, c.shape[0]):
        for j in range(1, c.shape[1]):
            c[i, j] = a[i, j] + min(c[i - 1, j], c[i, j - 1])
    return c[-1, -1] ** 2


def test_a_cotangent_of_0_has_a_tangent():
    a = np.array([[0.0, 0.0, 0.0], [0.0, -2.0, 3.0], [0.0, 1.0, 1.0]])
    f = nbgrad.njit(shortest)
    value, slope = nbgrad.value_and_grad(f)(a, np.zeros((3, 3)))
    assert value == 0.0 and not slope.any()
    assert "!= 0.0" in f.source
    on_path = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    along = np.arange(9.0).reshape(3, 3)
    bent = nbgrad.hvp(f)(a, np.zeros((3, 3)), along)
    assert np.array_equal(bent, 2.0 * np.sum(along * on_path) * on_path)
