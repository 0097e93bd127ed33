"""Programs with a named size of every kind of op, values and gradients, held against the function.

A program that can be compiled for a fixed size can be compiled for a named one. Programs in
`ALONE` depend on the size in a way that has no formula: a program is compiled for each length, and
a warning names the user's line. All of them run in plain Python, in a separate process; a few run
with Numba.
"""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers import rows
from helpers.children import environment
from helpers.daily import daily
from helpers.named_programs import ALL, EAGER, NamedProgram
from helpers.rows import PLAIN_PYTHON

import nbgrad
from nbgrad.errors import NoRuleError, TraceError

SIZES = (8, 9, 3, 1, 0)
ALONE = {
    "maximum.accumulate", "logaddexp.accumulate", "tril_indices", "sin arange", "vander", "lstsq",
    "pad reflect", "insert", "log n", "for", "for len", "for rows", "for zip", "for enumerate",
    "comprehension",
}  # fmt: skip
ALONE_IN_GRADIENTS = {*ALONE, "power by n", "size"}
COMPILED = {"cumprod", "tril", "median", "at add", "cholesky", "reshape halves", "two halves"}


def _outcome(f, args):
    """The leaves of the result, or the exception that is raised."""
    try:
        with np.errstate(all="ignore"):
            return nbgrad.transforms.trees.flatten(f(*args))[0]
    except Exception as error:
        return error


def _slope(program: NamedProgram):
    def slope(*args):
        return nbgrad.grad(lambda *a: np.sum(np.sin(program.f(*a))), program.floats)(*args)

    names = ", ".join(program.arguments)
    return eval(f"lambda {names}: slope({names})", {"slope": slope})


def _agrees(program: NamedProgram, f, rng, is_alone: bool) -> None:
    named, told = nbgrad.compile(f, dynamic=program.dynamic), []
    for n in SIZES:
        args = program.draw(n, rng)
        expected = _outcome(f, args)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = _outcome(named, args)
        told += [str(w.message) for w in caught if "takes a compilation" in str(w.message)]
        if PLAIN_PYTHON and isinstance(found, ZeroDivisionError):
            continue  # compiled, a division by zero gives inf
        if isinstance(expected, Exception) or isinstance(found, Exception):
            fixed = _outcome(nbgrad.compile(f), args)
            assert isinstance(fixed, Exception) == isinstance(found, Exception), (n, fixed, found)
            continue
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            assert np.shape(x) == np.shape(y)
            np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9, err_msg=f"n = {n}")
    each = [text for text in told if text.startswith("each length n")]
    assert bool(each) == is_alone, told
    # An op of the backward pass has the line that asked for the gradient.
    place = "(named_programs.py:" if f is program.f else "named_programs.py:"
    assert all(place in text for text in each), each


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not PLAIN_PYTHON, reason="in a process of its own")
@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_program_in_plain_python(program, rng):
    _agrees(program, program.f, rng, program.name in ALONE)
    _agrees(program, _slope(program), rng, program.name in ALONE_IN_GRADIENTS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EAGER)
def test_what_no_program_has_is_refused(name, rng):
    program = NamedProgram(name, EAGER[name])
    refused = pytest.raises((TraceError, NoRuleError), match=r"eager only|bools|rfft|numbers")
    with refused:
        nbgrad.compile(program.f, dynamic=program.dynamic)(*program.draw(8, rng))


@pytest.mark.skipif(PLAIN_PYTHON, reason="starts itself")
@pytest.mark.parametrize("part", daily(range(10), 1))
def test_all_in_plain_python(part):
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", "-k", "plain",
         "--part", f"{part}/10", str(Path(__file__))],
        env=environment({"NUMBA_DISABLE_JIT": 1}), capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout[-3000:]
    assert "passed" in answer.stdout


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(PLAIN_PYTHON, reason="in plain Python all are")
@pytest.mark.parametrize(
    "program", [pytest.param(p, id=p.name, marks=rows.marks(p.name in COMPILED)) for p in ALL]
)
def test_program_compiled(program, rng):
    _agrees(program, program.f, rng, program.name in ALONE)
    _agrees(program, _slope(program), rng, program.name in ALONE_IN_GRADIENTS)
