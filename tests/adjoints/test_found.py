"""Programs that random search has found, each with a wrong derivative or none when it was found."""

import numpy as np
import pytest
from fuzz.derivatives.checking import Different, check
from fuzz.derivatives.defects import kept_flags
from fuzz.derivatives.drawing import HEAD, Drawn

PART = "def part0(a, b, f0, i0):\n"

CASES: dict[str, tuple[str, str]] = {
    "a subscript that is computed in a branch": (
        "for p in range(3):\n if not c > 9.0:\n  m[p, 0] *= s", "ms"),
    "a subscript that is read in a branch": (
        "for p in range(3):\n if p != 1:\n  a[k[p]] *= a[k[p]]\n  k[p] = 0", "a"),
    "a store that nothing reads, in a branch": (
        "for p in range(n + 2):\n if a[p] > 0.9:\n  w[k[p]] = b[p] * b[p]\n b[p] *= a[p]\n"
        " k[p] = 0\nb[n] *= b[0]", "abw"),
    "integers that are overwritten": (
        "for p in range(3):\n b[p] /= a[k[n]]\nk[n] = 2", "ab"),
    "a variable that is read in a branch": (
        "b0 = flag\nfor p in range(1, 3):\n t = 0\n while t < 1:\n  t += 1\n  if b0:\n"
        "   if c > 9.0:\n    continue\n  b[p] *= 0.5", "b"),
    "a loop that runs no round": ("for p in range(k[0] - 2):\n b[p] = b[1] * b[1]", "b"),
    "a loop that is left in its first round": (
        "for p in range(3):\n b[n] *= m[n, p]\n break", "bm"),
    "a quotient that is loaded again, at a later subscript": (
        "if k[0] == 1:\n w[n] -= s\nelse:\n a[n] /= a[n]\n w[n], a[n] = a[n], w[n]\nb[n] = w[1]",
        "bsa"),
    "a value of another type": (
        "f1 = b[1]\nm[1, n] *= 1 if k[0] else w[n]\nreturn f1 - c", "b"),
    "an integer that is rounded from a float": (
        "t = 0\nwhile True:\n t += 1\n if t > 1:\n  break\n w[t] = a[n]\n"
        "if n == 5:\n return 0.5, int(w[n]), 1.5\nk[n] = 1 % k[0]\nreturn s, k[n], 0.5", "as"),
}  # fmt: skip
CALLING: dict[str, tuple[str, str, str]] = {
    "names of an inlined function": (
        "for p in range(1, a.shape[0] - 1):\n if i0 % 2 == 0:\n  break\n"
        "a[0] += max(b[-1], max(f0, b[1]))",
        "f1 = a[0]\na[0] += math.atan2(f1, 1.5 + m[0, n] * m[0, n])\npart0(a, b, a[n], 4)", "a"),
    "flags of an inlined function, in a loop": (
        "if f0 > 0.5:\n return 2.0 * f0\nfor p in range(2):\n if p == 5:\n  return f0\n"
        "return 0.25 * f0",
        "f0 = 0.5\nfor q in range(3):\n f0 += part0(w, b, s - q, -3)\nreturn f0 * a[0]",
        "as",
    ),
    "a branch that raises before a loop": (
        "for p in range(0, 1, i0):\n if p == 0:\n  break\nreturn b[1]",
        "f1 = 2.0\nfor p in range(n):\n f1 = part0(b, w, 0.0, 3)\na[0] = f1", "aw"),
    "the same array twice": (
        "for p in range(a.shape[0]):\n a[p] += b[a.shape[0] - 1 - p] * f0",
        "part0(a, a, s, 1)\npart0(b, a, c, 1)", "absc"),
}  # fmt: skip


def program(text, wrt):
    random = np.random.default_rng(5)
    arguments = {name: random.uniform(0.5, 1.5, 3) for name in "abw"}
    arguments |= {"m": random.uniform(0.5, 1.5, (3, 4)), "k": np.array([2, 0, 1]), "n": 1,
                  "s": 0.75, "c": -1.25, "flag": True}  # fmt: skip
    return Drawn(5, text, arguments, tuple(wrt))


def indented(body):
    return "".join(f"    {line}\n" for line in body.splitlines())


@pytest.mark.parametrize("name", CASES)
def test_program(name):
    body, wrt = CASES[name]
    check(program(HEAD + indented(body), wrt))


@pytest.mark.parametrize("name", CALLING)
def test_program_with_a_call(name):
    part, body, wrt = CALLING[name]
    check(program(PART + indented(part) + HEAD + indented(body), wrt))


def test_flags_that_are_kept_are_found():
    part, body, wrt = CALLING["flags of an inlined function, in a loop"]
    with kept_flags(), pytest.raises(Different, match="results"):
        check(program(PART + indented(part) + HEAD + indented(body), wrt))


def test_names_of_an_inlined_function_in_an_inlined_function():
    text = (
        "def part0(a, b, f0, i0):\n    for p in range(0, 3, 2):\n        b[p] += f0\n"
        "    return 0.5\n"
        "def part1(a, b, f0, i0):\n    if 0.5 < f0 < 1.0:\n        f0 = part0(a, a, 1.25 * f0, 3)\n"
        f"    return f0\n{HEAD}    for p in range(2):\n        f0 = part1(b, w, s, 1)\n"
        "    return f0\n"
    )
    check(program(text, "bs"))
