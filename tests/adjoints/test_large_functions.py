"""Programs of derivatives grow with the length of the function, and are compiled in parts."""

import re
import sys
from typing import Any

import numpy as np
import pytest
from fuzz.derivatives.checking import check, functions_of
from fuzz.derivatives.drawing import Drawn

import nbgrad
from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.compiler.front.functions import ArrayType, Function, entry_of
from nbgrad.compiler.llvm_function import FunctionModule, assembly
from nbgrad.compiler.llvm_parts import MOST_LOOPS
from nbgrad.compiler.llvm_writer import MOST_ACCESSES, MOST_LINES
from nbgrad.compiler.machine import optimized
from nbgrad.ir.statements import Load, Raise
from nbgrad.ir.walk import walk
from nbgrad.kernels import scalar
from nbgrad.threads import helpers

DOUBLE = np.dtype(np.float64)

# Lines of a function of an array x and numbers a and b; i is the number of the line.
BODIES = {
    "numbers": "a, b = a * b + {i}.5, math.sin(a)",
    "elements": "x[{i} % 3] = x[1] * x[2] + x[{i} % 3]",
    "loops": "for i in range(1, x.size):\n x[i] = 0.{i} * x[i] + 0.3 * x[i - 1]",
    "new arrays": "y = np.empty_like(x)\nfor i in range(x.size):\n y[i] = x[i]**2 + {i}.5\nx = y",
    "whole arrays": "x = x * x + {i}.5",
    "branches": "if a > 0.5:\n a = a * b\nelse:\n b = b + {i}.5 * a",
    "calls": "a = part(a, b) + {i}.5",
    "records": "for k in range(3):\n for i in range(1, x.size):\n  x[i] *= x[i - 1] + {i}.5",
}
PART = """
def part(a, b):
    for k in range(3):
        a = a * b + 0.5
    return a
"""


def text_of(body: str, count: int) -> str:
    lines = "\n".join(body.format(i=i) for i in range(count)).replace("\n", "\n ")
    return f"{PART}\ndef f(x, a, b):\n {lines}\n return x[0] + a + b\n"


def derivative(text: str) -> Function:
    function = entry_of(functions_of(text)["f"], (ArrayType(DOUBLE, 1), DOUBLE, DOUBLE)).function
    return value_and_cotangents(function, ["x", "a", "b"], ["x_n0"])


def found(name: str) -> Any:
    """A function that programs call by name."""
    return getattr(helpers if name == "spread" else scalar, name)


def sizes(text: str) -> tuple[int, int]:
    """The number of statements and of lines of LLVM assembly of a derivative."""
    made = derivative(text)
    module = FunctionModule(found)
    return len(walk(made.body)), assembly(made, "f", module).count("\n")


@pytest.mark.parametrize("kind", BODIES)
def test_programs_are_as_long_as_functions(kind):
    small, middle, large = (sizes(text_of(BODIES[kind], n)) for n in (36, 48, 60))
    for one, two, three in zip(small, middle, large, strict=True):
        assert abs((three - two) - (two - one)) <= 0.05 * (three - two)


def calls_of(text: str) -> int:
    """The number of Python functions that are called to derive a function."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        derivative(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", BODIES)
def test_work_is_proportional_to_the_length_of_functions(kind):
    small, large = (calls_of(text_of(BODIES[kind], n)) for n in (40, 80))
    assert large < 2.3 * small


def test_sums_of_many_terms_have_derivatives():
    terms = " + ".join(f"a * x[{i % 5}]" for i in range(600))
    f = nbgrad.njit(functions_of(f"def f(x, a):\n return {terms}\n")["f"])
    x = np.linspace(0.5, 1.5, 5)
    value, slope = nbgrad.value_and_grad(f, 1)(x, 0.5)
    assert np.isclose(value, 60.0 * np.sum(x)) and np.isclose(slope, 120.0 * np.sum(x))


def test_calls_that_are_nested_too_deeply_are_refused():
    parts = "".join(f"def p{i + 1}(a):\n return p{i}(a) * a\n" for i in range(300))
    text = f"def p0(a):\n return a\n{parts}def f(a):\n return p300(a)\n"
    with pytest.raises(nbgrad.NoRuleError, match="too deeply"):
        nbgrad.grad(nbgrad.njit(functions_of(text)["f"]))(0.5)


def test_functions_of_large_programs_have_few_loops():
    text = text_of(BODIES["loops"], MOST_LOOPS)
    module = FunctionModule(found)
    whole = assembly(derivative(text), "f", module)
    parts = re.findall(r"^define.*?^}", whole, re.DOTALL | re.MULTILINE)
    assert sum("nbgrad.part" in each.splitlines()[0] for each in parts) > MOST_LOOPS
    assert max(each.count(" = phi ") for each in parts) <= MOST_LOOPS


def vectors(count: int) -> tuple[int, int]:
    """How many times LLVM's code of a loop of so many lines computes with vectors of numbers, and
    how many loops are marked."""
    lines = "".join(f"  x[i] = x[i] * a + {i}.5\n" for i in range(count))
    text = f"def f(x, a):\n for i in range(x.size):\n{lines}"
    function = entry_of(functions_of(text)["f"], (ArrayType(DOUBLE, 1), DOUBLE)).function
    text = assembly(function, "f")
    module, _ = optimized(text, lambda: ())
    return len(re.findall(r" <\d+ x double>", str(module))), text.count("inaccessiblemem")


def test_loads_and_stores_of_large_loops_are_not_compared():
    """LLVM vectorizes the short loop only."""
    found, marks = vectors(4)
    assert found and not marks
    assert vectors(MOST_ACCESSES // 2 + 1) == (0, 1)


def test_long_blocks_are_cut():
    """They compute the same as a loop of short ones."""
    body = "".join("\n " + BODIES["elements"].format(i=i) for i in range(3))
    texts = text_of(BODIES["elements"], 501), text_of(f"for k in range(167):{body}", 1)
    long, short = (assembly(derivative(x), "f", FunctionModule(found)) for x in texts)
    lengths = [each.count("\n") for each in re.split(r"^\w+:$", long, flags=re.MULTILINE)]
    assert sum(lengths) > 3 * MOST_LINES and max(lengths) < 1.3 * MOST_LINES
    assert "aside" not in short
    x = np.array([0.5, 0.9, 0.02])
    (value, slope), (same, other) = (
        nbgrad.value_and_grad(nbgrad.njit(functions_of(text)["f"]))(x, 0.5, 0.1) for text in texts
    )
    assert value == same
    np.testing.assert_allclose(slope, other, rtol=1e-10)


ROUNDS = 12
ROUND = """
    y = np.sqrt(x + a)
    for i in range(1, x.size):
        if y[i] > 100.0:
            raise ValueError("large")
        x[i] = 0.9 * y[i] + 0.1 * x[i - 1] * y[i - 1]
        a += 0.01 * x[i]
    k = 0
    while k < count:
        b, k = 0.9 * b + 0.01 * x[k], k + 1
    count = 3 - count
"""


def repeated(is_long: bool) -> dict[str, Any]:
    """The function with ROUNDS rounds one behind the other, or in a loop."""
    lines = ROUND * ROUNDS
    if not is_long:
        lines = f"    for rounds in range({ROUNDS}):" + ROUND.replace("\n", "\n    ")
    head = "def f(x, a, b):\n    x, count = x.copy(), 1\n"
    return functions_of(f"{head}{lines}\n    return a * b + x[-1]\n")["f"]


def test_parts_of_large_functions_agree_with_loops():
    long, short = (
        nbgrad.value_and_grad(nbgrad.njit(repeated(x)), (0, 1, 2)) for x in (True, False)
    )
    x = np.linspace(0.2, 0.9, 7)
    (value, slopes), (same, others) = long(x, 0.5, 0.01), short(x, 0.5, 0.01)
    assert value == same
    for one, other in zip(slopes, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    for each in (long, short):
        with pytest.raises(ValueError, match="large"):
            each(x, 1e5, 0.01)


# -- slices ---------------------------------------------------------------------------------------


def messages(line: str) -> list[str]:
    made = derivative(f"def f(x, a, b):\n y = {line}\n x[2:] = y\n return y[0] + a + b\n")
    assert all(
        len(each.at.terms) <= 1
        for each in walk(made.body)
        if isinstance(each, Load) and each.buffer == "x"
    )
    return [each.message for each in walk(made.body) if isinstance(each, Raise)]


def test_slices_with_constant_bounds_have_equal_lengths_and_constant_starts():
    """No shape is checked at run time, and subscripts are a variable and a constant."""
    checked = [text for text in messages("x[1:-1] + x[:-1]") if "shape" in text]
    assert checked and not set(checked) & set(messages("x[1:-1] + x[:-2] * x[2:]"))


BOUNDS = ["", "1", "5", "-1", "-5", "n", "-n"]


@pytest.mark.full
@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_slices_of_short_arrays(size, n):
    """Bounds behind the end, before the start, and in the wrong order."""
    pairs = [(x, y) for x in BOUNDS for y in BOUNDS if (x, y) != ("", "1")]
    lines = [f"for y in a[{x}:{y}]:\n c += 0.1 * y\nk[0] += a[{x}:{y}].size\nc *= 0.9"
             for x, y in pairs]  # fmt: skip
    text = "\n".join(lines).replace("\n", "\n ")
    text = f"def drawn(a, k, n, c):\n {text}\n return c\n"
    arguments = {"a": np.arange(1.0, size + 1.0), "k": np.zeros(1, np.int64), "n": n, "c": 0.5}
    check(Drawn(1, text, arguments, ("a", "c")))
