"""The text of the produced program, and what it records."""

from types import FunctionType

import numpy as np
import pytest
from helpers.loops.kernels import burgers, garch, gauss_seidel

import nbgrad


def uncalled(kernel):
    """A function of ours of the same code, which no other test has called."""
    return nbgrad.njit(FunctionType(kernel.__code__, kernel.__globals__, kernel.__name__))


def test_the_source_has_the_lines_of_the_user():
    f = uncalled(gauss_seidel)
    with pytest.raises(nbgrad.TraceError, match="call it"):
        _ = f.source
    f(np.ones((3, 4)), 2)
    first = gauss_seidel.__code__.co_firstlineno
    assert f"# {first + 1}: for _ in range(sweeps):" in f.source
    assert f"# {first + 4}: a[i, j] = (a[i - 1, j] + a[i + 1, j]" in f.source
    compile(f.source, "source", "exec")
    assert "a_bar[" in f.source


def test_the_plan_says_what_is_recorded():
    f = uncalled(gauss_seidel)
    nbgrad.grad(f)(np.ones((3, 4)), 2)
    line = gauss_seidel.__code__.co_firstlineno
    assert f.plan.splitlines()[1:] == [
        "nothing is recorded: the reverse sweep finds all that it reads",
        "rounds of _ run on one thread: they may read and write the same element of a "
        f"({line + 1}: for _ in range(sweeps):)",
        "rounds of i run on one thread: each may add several times to total: add once, or use "
        f"prange, which may change the order of the sum ({line + 6}: for i in range(a.shape[0]):)",
    ]
    f = uncalled(garch)
    nbgrad.grad(f, argnums=(0, 1))(np.full(3, 0.2), np.ones(4))
    assert f.plan.splitlines() == [
        "garch: gradient with respect to p, r",
        "each round of t: 8 bytes",
        "    h: what it is computed from is overwritten",
        "the latest run kept 32 bytes",
        "rounds of t run on one thread: they are too short "
        f"({garch.__code__.co_firstlineno + 3}: for t in range(r.shape[0]):)",
    ]
    f = uncalled(burgers)
    nbgrad.grad(f)(np.ones(9), np.zeros(9), 3, 0.1)
    line = burgers.__code__.co_firstlineno
    assert f.plan.splitlines()[1] == "each round of _, i: 8 bytes"
    assert "the element of u that is overwritten, which is read before" in f.plan
    assert f"({line + 6}: " in f.plan


def grown(x, r):
    for t in range(1, x.size):
        x[t] = r * x[t - 1] + x[t] * x[t]
    return x


def last(x, r):
    return grown(x, r)[-1] + np.median(x)


@pytest.mark.full
def test_lines_of_called_functions_have_their_names():
    """Those of NumPy have the line of the call."""
    f = nbgrad.njit(last)
    nbgrad.grad(f)(np.full(5, 0.1), 0.5)
    line = grown.__code__.co_firstlineno
    text = "x[t] = r * x[t - 1] + x[t] * x[t]"
    assert f"read before (grown, {line + 2}: {text})" in f.plan
    assert f"# grown, {line + 2}: {text}" in f.source
    notes = [x.partition("  # ")[2] for x in f.source.splitlines() if "  # " in x]
    own = f"{last.__code__.co_firstlineno + 1}: return grown(x, r)[-1] + np.median(x)"
    assert own in notes
    assert all(x == own or x.startswith("grown, ") for x in notes)


def test_the_plan_says_what_steps_keep():
    @nbgrad.njit
    def powers(u, n):
        total = 0.0
        for _ in nbgrad.steps(n):
            for i in range(u.size):
                u[i] = u[i] * u[i]
                total += u[i]
        return total

    nbgrad.grad(powers)(np.ones(9), 30)
    lines = powers.plan.splitlines()
    assert lines[1].startswith("each segment of ") and lines[1].endswith(": a copy of the state")
    assert "    u: 8 bytes an element" in lines
    assert any(line.endswith("8 bytes, for one segment of _ at a time") for line in lines)
    assert lines[-2] == "a loop over range keeps the bytes of all its rounds, and no copies"
    # Five segments of six rounds; with a number, which may be a part of the state.
    assert lines[-1].startswith("the latest run kept ")
    assert lines[-1].endswith(", in place of 2.2 kB for loops over range")
