"""Loops over `nbgrad.steps`: the same derivatives as without checkpoints, and less memory."""

# ruff: noqa: B007

import math
import subprocess
import sys
from functools import cache
from typing import Any

import numba
import numpy as np
import pytest
from checkers import arithmetic
from checkers.functions import runnable
from helpers.children import environment
from helpers.daily import pairs
from helpers.loops.calls import Bent, Pulled, directions, is_array, kinds
from helpers.loops.checkpointed import checkpointed

import nbgrad
from nbgrad.errors import NoRuleError
from nbgrad.loops.maker import Forward, Reverse
from nbgrad.loops.steps import kept

PLAIN = checkpointed(None, False)
SCHEDULES = {
    "sqrt": checkpointed("sqrt", False),
    "binomial": checkpointed("binomial", False),
    "equal": checkpointed(None, True),
    "kept": checkpointed(None, True, kept),
}
NAMES = [f.__name__ for f, _, _ in PLAIN]
LENGTHS = (0, 1, 2, 3, 10, 131, 300)


made = cache(Reverse)


def reverse(case, count):
    function, wrt, args = case
    return made(function, kinds([*args, 1, 1]), wrt), [*args, count, 1]


def same(x, y):
    """Cotangents of elements that do not change in a loop are summed from segment to segment."""
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-13 * np.max(np.abs(y), initial=1.0))


def differentiated(case, n, k):
    maker, args = reverse(case, n)
    args[-1] = k
    return Pulled(maker, args)


@pytest.mark.parametrize(("name", "schedule"), pairs(NAMES, [*SCHEDULES], 4))
def test_gradients_are_those_without_checkpoints(name, schedule):
    i = NAMES.index(name)
    for n in LENGTHS:
        expected = differentiated(PLAIN[i], n, 1)
        for k in (1, 2, 3, 7, 50, 1000) if schedule in ("equal", "kept") else (1,):
            found = differentiated(SCHEDULES[schedule][i], n, k)
            assert found.results == expected.results
            for place in expected.gradient:
                same(found.gradient[place], expected.gradient[place])
            assert all(np.all(np.isfinite(x)) for x in expected.gradient.values())


@pytest.mark.parametrize(
    ("name", "schedule"), pairs(["numbers", "stencil", "arrays_made", "outer"], [*SCHEDULES], 4)
)
def test_second_derivatives(name, schedule):
    """Forward over reverse, and reverse over forward, which has the tangents in its states."""
    n, i = 11, NAMES.index(name)
    _, wrt, _ = PLAIN[i]
    u = None
    found = []
    for case in (PLAIN[i], SCHEDULES[schedule][i]):
        maker, args = reverse(case, n)
        args[-1] = 3
        u = u or directions(args, wrt)
        bent = Bent(Forward(maker, (), wrt), args, u)
        forward = Forward(case[0], maker.kinds, wrt)
        dots = [u.get(place, np.zeros_like(args[place])) for place in forward.shadows]
        numbers = [u[place] for place in sorted(wrt) if not is_array(args[place])]
        back = Pulled(Reverse(forward, (), wrt), [*args, *dots, *numbers], (0.0, 1.0))
        found.append((bent, back))
    (bent, back), (own_bent, own_back) = found
    for place in wrt:
        same(own_bent.gradient[place], bent.gradient[place])
        same(own_bent.product[place], bent.product[place])
        same(own_back.gradient[place], back.gradient[place])


def interpreted(case, n, k, monkeypatch):
    """The cotangents by the interpreter, which refuses to read words that are not written, and how
    many words of the record were written."""
    maker, args = reverse(case, n)
    args[-1] = k
    words = []
    monkeypatch.setitem(arithmetic.SPACE, "freed", lambda key: words.append(freed(key)))
    shadows = [np.zeros_like(args[i]) for i in maker.shadows]
    given = []
    for x in [*args, *shadows, 1.0]:
        if is_array(x):
            given.append(dict(enumerate(x.ravel().tolist())))
            given += x.shape if len(given) <= len(maker.primal[0].parameters) else ()
        else:
            given.append(x)
    given = given[: len(maker.made.parameters) - len(shadows) - 1]
    bars = [dict(enumerate(x.ravel().tolist())) for x in shadows]
    arithmetic.begin(10**6)
    runnable(maker.made)(*given, *bars, 1.0)
    return [np.array(list(x.values())) for x in bars], words[0]


def freed(key):
    """Free a record; how many words were written."""
    count = len(arithmetic._memory[key]) if key else 0
    arithmetic.freed(key)
    return count


@pytest.mark.parametrize("name", ["stencil", "in_place", "twice", "outer"])
def test_no_word_is_read_that_is_not_written(name, monkeypatch):
    i = NAMES.index(name)
    expected, _ = interpreted(PLAIN[i], 20, 1, monkeypatch)
    for schedule, cases in SCHEDULES.items():
        found, _ = interpreted(cases[i], 20, 3 if schedule == "equal" else 1, monkeypatch)
        for x, y in zip(found, expected, strict=True):
            same(x, y)


def test_words_of_the_record(monkeypatch):
    """The state is two arrays of 9 elements; a step records 7 elements and their cosines."""
    i, n = NAMES.index("stencil"), 400

    def words(schedule, k=1):
        return interpreted(SCHEDULES[schedule][i], n, k, monkeypatch)[1]

    assert interpreted(PLAIN[i], n, 1, monkeypatch)[1] == 14 * n
    assert words("sqrt") == 20 * 18 + 20 * 14
    assert words("equal", 8) == 8 * 18 + 50 * 14
    assert words("equal", n) == n * 18 + 14
    # Nine states, each with the number of its segment of 9 steps, and the number of states.
    assert words("binomial") == 1 + 9 * (18 + 1) + 9 * 14


@pytest.mark.parametrize(("schedule", "most"), [("sqrt", 1), ("equal", 1), ("binomial", 3)])
def test_how_often_steps_run_again(schedule, most, monkeypatch):
    """A step of the forward pass computes 7 cosines, and the backward pass none again."""
    i, calls = NAMES.index("stencil"), []

    def cosine(x):
        calls.append(x)
        return math.cos(x)

    monkeypatch.setitem(arithmetic.LIBM, "cos", cosine)
    for n in (1, 10, 100, 1000, 3000):
        interpreted(PLAIN[i], n, 1, monkeypatch)
        once = len(calls)
        calls.clear()
        interpreted(SCHEDULES[schedule][i], n, 5, monkeypatch)
        assert 7 * n <= len(calls) - once <= most * 7 * n
        calls.clear()


def test_a_record_larger_than_memory_is_refused_before_the_loop():
    with pytest.raises(MemoryError, match="no memory for the record of a reverse pass"):
        differentiated(PLAIN[NAMES.index("stencil")], 10**13, 1)


def decay(x, n):
    for t in nbgrad.steps(n):
        x = x - 0.001 * x * x
    return x


def decay_by_binomial(x, n):
    for t in nbgrad.steps(n, checkpoint="binomial"):
        x = x - 0.001 * x * x
    return x


def decay_by_count(x, n):
    for t in nbgrad.steps(n, 20):
        x = x - 0.001 * x * x
    return x


@pytest.mark.parametrize("function", [decay, decay_by_binomial, decay_by_count])
def test_functions_of_numba(function):
    expected = decay(1.5, 1000)
    theirs: Any = numba.njit(function)
    assert theirs(1.5, 1000) == expected
    assert nbgrad.njit(function)(1.5, 1000) == expected
    value, slope = nbgrad.value_and_grad(nbgrad.njit(function))(1.5, 1000)
    assert value == expected
    eps = 1e-6
    assert slope == pytest.approx((decay(1.5 + eps, 1000) - decay(1.5 - eps, 1000)) / (2 * eps))
    bent = nbgrad.hessian(nbgrad.njit(function))(1.5, 1000)
    slopes = [nbgrad.grad(nbgrad.njit(function))(1.5 + e, 1000) for e in (eps, -eps)]
    assert bent == pytest.approx((slopes[0] - slopes[1]) / (2 * eps), rel=1e-6)


def test_steps_are_a_range_in_python():
    assert nbgrad.steps(7) == nbgrad.steps(7, "binomial") == nbgrad.steps(7, 3) == range(7)
    refused: list[Any] = ["square", 0, -1, True, 2.5]
    for wrong in refused:
        with pytest.raises(ValueError, match="give 'sqrt', 'binomial', a positive integer or None"):
            nbgrad.steps(7, checkpoint=wrong)


def left_by_break(x, n):
    for t in nbgrad.steps(n):
        if x > 2.0:
            break
        x = x * 1.1
    return x


def left_by_return(x, n):
    for t in nbgrad.steps(n):
        for i in range(3):
            if x > 2.0:
                return x
        x = x * 1.1
    return x


def no_schedule(x, n):
    for t in nbgrad.steps(n, "cubic"):
        x = x * 1.1
    return x


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (left_by_break, "break in a loop over nbgrad.steps"),
        (left_by_return, "return in a loop over nbgrad.steps"),
        (no_schedule, "give 'sqrt', 'binomial'"),
    ],
)
def test_refused_by_name_and_line(function, text):
    with pytest.raises(NoRuleError, match=rf"{text}.*test_steps\.py:\d+, in {function.__name__}"):
        nbgrad.grad(nbgrad.njit(function))(1.0, 3)


def test_arrays_whose_size_is_not_known_are_refused():
    @nbgrad.njit
    def several(x, n):
        if x > 1.0:
            v = np.zeros(3)
        else:
            v = np.zeros(4)
        for t in nbgrad.steps(n):
            v[0] = x * v[1] + x
            v[1] = v[0] * x
        return v[0]

    with pytest.raises(NoRuleError, match=r"nbgrad\.steps: .* made in several places"):
        nbgrad.grad(several)(1.5, 3)


def test_a_break_of_a_loop_inside_is_allowed():
    @nbgrad.njit
    def inside(x, n):
        for t in nbgrad.steps(n):
            for i in range(5):
                if x > 2.0:
                    break
                x = x * 1.1
        return x

    assert nbgrad.grad(inside)(1.0, 3) == pytest.approx(1.1**8)


LONG = """
import resource
import numpy as np
import nbgrad

@nbgrad.njit
def burgers(u, w, n, c):
    for t in nbgrad.steps(n, {how!r}):
        for i in range(1, u.shape[0] - 1):
            w[i] = u[i] - c * u[i] * (u[i + 1] - u[i - 1]) + 0.05 * (u[i + 1] - 2 * u[i] + u[i - 1])
        for i in range(1, u.shape[0] - 1):
            u[i] = w[i]
    return np.sum(u * u)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

gradient = nbgrad.grad(burgers, (0, 3))
u = np.sin(np.arange(200.0))
gradient(u, np.zeros(200), 2, 0.01)
before = peak()
slopes = gradient(u, np.zeros(200), {n}, 0.01)
print(peak() - before, float(np.sum(slopes[0])), float(slopes[1]))
"""


def long_run(how, n, folder):
    """The megabytes that a gradient takes in a new process, and sums of its parts."""
    path = folder / f"long_{how}_{n}.py"
    path.write_text(LONG.format(how=how, n=n))
    child = subprocess.run(
        [sys.executable, path], env=environment({}), capture_output=True, text=True, timeout=300
    )
    assert child.returncode == 0, child.stderr
    words = child.stdout.split()
    return int(words[0]) / 1000, np.array(words[1:], float)


@pytest.mark.full
@pytest.mark.parametrize("how", ["sqrt", "binomial", 1000])
def test_a_million_steps_take_few_megabytes(how, tmp_path):
    """The record of all steps would take 1.6 GB."""
    megabytes, slopes = long_run(how, 10**6, tmp_path)
    assert megabytes < 60
    assert np.all(np.isfinite(slopes))


@pytest.mark.full
def test_long_runs_have_the_same_gradients(tmp_path):
    _, expected = long_run(None, 30_000, tmp_path)
    for how in ("sqrt", "binomial", 100):
        megabytes, found = long_run(how, 30_000, tmp_path)
        assert megabytes < 10
        np.testing.assert_allclose(found, expected, rtol=1e-12)
