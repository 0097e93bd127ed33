"""Our own front end and Numba's own give the same bits: a table of named cases, and random kernels
(`python -m tests.fuzz --only lean` draws more)."""

import numpy as np
import pytest
from fuzz import frontend, loop
from numba import TypingError

from nbgrad.compiler.kernel import DISABLED, kernel

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")
SEED = loop.seed_from_environment(2024)

# The body of a function of (x, k, out, n, s, flag), and the values of n that it is called with.
CASES: dict[str, tuple[str, tuple[int, ...]]] = {
    "set before a break": ("while True:\n v = n\n if v:\n  break\n v = 2\nreturn v", (1,)),
    "a step of 0": ("t = 0\nfor i in range(0, 9, n):\n t += i\nreturn t", (0, 2, -1)),
    "a constant step of 0": ("for i in range(0, n, 0):\n pass\nreturn 1", (0, 2)),
    "up to the end": ("t = n\nfor i in range(LAST - 7, LAST, 3):\n t += 1\nreturn t", (7,)),
    "down to the end": ("t = n\nfor i in range(9 - LAST, -LAST, -4):\n t += 1\nreturn t", (9,)),
    "a step of any size": ("t = 0\nfor i in range(n, 90, LAST):\n t += 1\nreturn t", (7, -2)),
    "a tuple from the end": ("return TABLE[n]", (-1, -3, 2)),
    "a tuple beyond its end": ("return TABLE[n]", (3, -4)),
    "a tuple at a global": ("return TABLE[TWO], TABLE[-1], PAIR[1]", (0,)),
    "sums beyond 2**63": ("return HUGE + HUGE, HUGE * 2, LAST + TWO, HUGE * NEGATIVE", (0,)),
    "quotients of large integers": ("return HUGE / 3, (HUGE + 1) / 3, LAST / HUGE", (0,)),
    "large integers beside floats": ("return HUGE + 1 == HUGE + 0.0, LAST < 1.0 * LAST", (0,)),
    "literals of 64 bits": ("return 9223372036854775807 + n", (0, 1)),
    "literals of 65 bits": ("return 9223372036854775808 + n", (1,)),
    "shifts by 62 and 63": ("return TWO << 62, TWO << 61, NEGATIVE >> 62, (TWO - 1) << 63", (0,)),
    "a literal negative power": ("return 2 ** -1, 10 ** -2", (0,)),
    "powers of variables": ("return n ** abs(n), s ** n", (2, 3)),
    "bools in arithmetic": ("return ~FLAG, -FLAG, +FLAG, FLAG + FLAG, FLAG / 2, FLAG * n", (3,)),
    "a chosen type": ("return 1 if FLAG else 0.5", (0,)),
    "a chosen type, computed": ("return 1 if 2 * TWO > 3 else 0.5", (0,)),
    "a type by branch": ("if TWO > 1:\n v = 1\nelse:\n v = 0.5\nreturn v", (0,)),
    "narrow constants": ("return np.uint8(300), np.uint8(-1), np.int32(2.7), np.int8(n)", (400,)),
    "sizes of bools": ("return abs(flag), abs(n > 2), abs(FLAG)", (0, 3)),
    "narrow integers change sign": ("return -np.uint8(n), ~np.uint32(n), -np.int8(n)", (3, -128)),
    "large integers as float32": ("return np.float32(HUGE + 2**38 + 1)", (0,)),
    "set in a loop": ("for i in range(n):\n v = 2\nreturn v", (1, 3)),
    "the variable of a loop": ("for i in range(n):\n pass\nreturn i", (1, 3)),
    "negative powers": ("return TWO ** NEGATIVE", (0, 1, 3)),
    "powers of integers": ("return n ** -1, n ** 2, n ** 3", (0, 1, 3)),
    "powers of floats": ("return s ** -1, s ** 3, PART ** 3, 1.1 ** 3", (0, 1, 3)),
    "a range of 32 bits": ("t = 0\nfor i in range(np.int32(3)):\n t += i << n\nreturn t", (0, 1)),
    "a result of two types": ("if n > 1:\n return 1\nreturn 2.5", (0, 1, 3)),
    "a loop over a tuple": ("t = 0\nfor i in (n, 3, n * 2):\n t += i\nreturn t", (0, 1, 3)),
}  # fmt: skip
# Bodies that are not read.
REFUSED = {
    "a tuple at a float": "return TABLE[s]",
    "a tuple at a bool": "return TABLE[flag]",
    "a tuple at a constant bool": "return TABLE[True]",
    "a shape at a bool": "return x.shape[False]",
    "literals of more bits": "return 1 << 70",
    "a literal shift by 63": "return 1 << 63",
    "a type by branch, kept": "v = TWO > 1\nif v:\n return 1\nreturn 0.5",
    "a type by branch, computed": "if TWO + 1 > 2:\n v = 1\nelse:\n v = 0.5\nreturn v",
    "and of constants": "return OFF and 0.5, FLAG and 0.5, 0 and flag",
    "identity of numbers": "return TWO is TWO, NONE is None",
    "two results, at times none": "if n > 1:\n return n",
}  # fmt: skip


def _text(body: str) -> str:
    return frontend.HEAD + "".join(f"    {line}\n" for line in body.splitlines())


def _calls(numbers: tuple[int, ...]) -> list[tuple]:
    x, k = np.array([0.5, -1.5, 3.0, 2.0]), np.array([1, -2, 3])
    return [(x, k, np.zeros(3), n, 0.75, flag) for n in numbers for flag in (True, False)]


@pytest.mark.parametrize("name", CASES)
def test_named_cases(name):
    body, numbers = CASES[name]
    assert frontend.compared(_text(body), _calls(numbers)) == (True, "")


@pytest.mark.parametrize("name", REFUSED)
def test_refused_cases(name):
    compiled = kernel(frontend.function_of(_text(REFUSED[name])))
    with pytest.raises(TypingError, match=r"in drawn\)"):
        compiled(*_calls((1,))[0])


@pytest.mark.parametrize("part", range(2))
def test_random_kernels(part):
    lean, seed = 0, SEED + part * 10**6
    while lean < 8:
        text, calls = frontend.draw(seed), frontend.arguments(seed)
        found = frontend.compared(text, calls)
        assert not found.told, f"# NBGRAD_FUZZ_SEED={SEED}\n{text}\n{found.told}"
        lean, seed = lean + found.is_lean, seed + 1
        assert seed < SEED + part * 10**6 + 200, "most are refused"


def test_an_array_that_is_not_aligned():
    def doubled(x, out):
        for i in range(x.size):
            out[i] = 2.0 * x[i]

    x, out = (np.zeros(65, np.uint8)[1:].view(np.float64) for _ in range(2))
    x[:] = np.arange(8.0)
    kernel(doubled)(x, out)
    assert out.tolist() == (2.0 * x).tolist()
