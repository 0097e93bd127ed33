"""Records that are larger than the memory that there is, and how large they are."""

import re

import numba
import numpy as np
import pytest

import nbgrad
from nbgrad import njit
from nbgrad.loops import execute
from nbgrad.loops.kernels import runs_of
from nbgrad.loops.status import ALLOWED
from nbgrad.runtime import available


@njit
def decays(u, n):
    for _ in range(n):
        for i in range(u.size):
            u[i] = u[i] - 0.01 * u[i] * u[i]
    return np.sum(u)


@njit
def decays_in_steps(u, n):
    for _ in nbgrad.steps(n):
        for i in range(u.size):
            u[i] = u[i] - 0.01 * u[i] * u[i]
    return np.sum(u)


@njit
def doubled(x, most):
    while x < most:
        x = x + 1e-9 * x * x
    return x


@njit(parallel=True)
def rotated(u, n):
    total = 0.0
    for i in numba.prange(u.size):
        x = u[i]
        k = 0
        while k < n * (1 + i % 3):
            x = 1.01 * np.sin(x) + 0.1
            k += 1
        total += x * u[i]
    return total


U = np.linspace(0.5, 1.0, 20)


def test_a_record_that_is_too_large_is_refused_before_the_loop():
    first = decays.py_func.__code__.co_firstlineno
    with pytest.raises(MemoryError) as error:
        nbgrad.grad(decays)(U, 10**13)
    text = str(error.value)
    assert re.match(rf"decays: the record of a loop \({first + 2}: for _ in range\(n\):\)", text)
    assert "needs more than 1000 TB for a derivative, and " in text
    assert text.endswith("are available: loop over nbgrad.steps(n), which keeps few states")


@pytest.mark.parametrize("n", [2**59, 2**60 + 1, 2**61, 2**62, 2**63 - 1])
def test_sizes_beyond_all_integers_are_refused(n):
    with pytest.raises(MemoryError, match=r"needs more than 1000 TB"):
        nbgrad.grad(decays)(U, n)


def test_the_message_says_what_steps_would_keep(monkeypatch):
    monkeypatch.setattr(available, "_limit", [10**8])
    with pytest.raises(MemoryError, match=r"needs 160 MB .* 100 MB are available: .* about 320 kB"):
        nbgrad.grad(decays)(U, 10**6)
    with pytest.raises(MemoryError, match=r"needs 320 MB .* 100 MB are available: .* about 641 kB"):
        nbgrad.hvp(lambda u: decays(u.copy(), 10**6))(U, U)
    with pytest.raises(MemoryError, match=r"needs 160 MB"):
        nbgrad.vmap(nbgrad.grad(decays), (0, None))(np.stack([U, U]), 10**6)


def test_records_that_grow_are_refused(monkeypatch):
    monkeypatch.setattr(available, "_limit", [10**8])
    with pytest.raises(MemoryError, match=r"a while loop needs at least 100 MB"):
        nbgrad.grad(doubled)(1.0, 10.0)


def test_compiled_programs_refuse_what_the_machine_does_not_have():
    gradient = nbgrad.compile(nbgrad.grad(decays))
    np.testing.assert_allclose(gradient(U, 3), nbgrad.grad(decays)(U, 3))
    with pytest.raises(MemoryError, match=r"derivative of decays: loop over nbgrad\.steps"):
        gradient(U, 10**13)


def test_large_records_run_again_with_the_memory_that_there_is(monkeypatch):
    """A record of more than 64 MB; how much memory there is is asked once for each run."""
    asked = []
    monkeypatch.setattr(
        "nbgrad.loops.execute.available", lambda: asked.append(1) or available.available()
    )
    f = njit(lambda u, n: decays(u, n))
    small = nbgrad.value_and_grad(f)(U, 1000)
    assert not asked
    large = nbgrad.value_and_grad(f)(U, 500_000)
    assert len(asked) == 1
    expected = nbgrad.value_and_grad(decays_in_steps)(U, 500_000)
    assert large[0] == expected[0] and np.array_equal(large[1], expected[1])
    again = [nbgrad.value_and_grad(f)(U, 1000) for _ in range(2)][-1]
    assert len(asked) == 2
    assert small[0] == again[0] and np.array_equal(small[1], again[1])


def test_the_plan_tells_the_bytes_of_the_latest_run():
    f = njit(lambda u, n: decays(u, n))
    nbgrad.grad(f)(U, 1000)
    assert f.plan.splitlines()[3] == "the latest run kept 160 kB"
    nbgrad.grad(f)(U, 100_000)
    assert f.plan.splitlines()[3] == "the latest run kept 16 MB"
    nbgrad.grad(decays_in_steps)(U, 100_000)
    found = re.search(r"latest run kept (\d+) kB, in place of 16 MB", decays_in_steps.plan)
    assert found is not None
    assert 100 <= int(found[1]) <= 300


def test_records_of_pieces_and_of_samples_are_refused(monkeypatch):
    """Each piece on a thread has the memory that is allowed, and notes what it needs, alone."""
    points, directions = np.linspace(0.1, 0.9, 64), np.ones(64)

    def of_samples():
        return nbgrad.vmap(lambda u: nbgrad.grad(rotated)(u, 300))(np.stack([points] * 40))

    want, samples = nbgrad.grad(rotated)(points, 300), of_samples()
    assert "several threads, forward and then backward" in rotated.plan
    start = execute._START.copy()
    start[ALLOWED] = 1 << 10
    monkeypatch.setattr(execute, "_START", start)
    runs_of.cache_clear()
    np.testing.assert_array_equal(nbgrad.grad(rotated)(points, 300), want)
    np.testing.assert_array_equal(of_samples(), samples)
    monkeypatch.setattr(available, "_limit", [1 << 10])
    for run in (
        lambda: nbgrad.grad(rotated)(points, 300),
        lambda: nbgrad.hvp(lambda u: rotated(u, 300))(points, directions),
        of_samples,
    ):
        with pytest.raises(MemoryError, match=r"rotated: the record needs at least 1 kB .* 1 kB"):
            run()
