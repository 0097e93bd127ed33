"""Compiled functions under threads, forks, interruptions and small stacks."""

import concurrent.futures
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.calls import close, energy
from helpers.children import run
from helpers.rows import PLAIN_PYTHON
from helpers.static.kinds import FUNCTIONS, RTOL, by_kind, mapped, prepared

import nbgrad


def together(count: int, work: Callable[[int], Any]) -> None:
    """Run `work` in so many threads that start at once."""
    barrier = threading.Barrier(count)

    def started(i: int) -> None:
        barrier.wait()
        work(i)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        list(pool.map(started, range(count)))


# -- threads --------------------------------------------------------------------------------------


@by_kind
def test_eight_threads_compile_one_function_at_once(rng, kind):
    f, both, arguments = prepared(kind, rng)
    expected = both(*arguments)
    together(8, lambda i: close(f(*arguments), expected, RTOL))
    assert len(f._variants) == 1


@by_kind
def test_eight_threads_call_one_function_300_times(rng, kind):
    f, both, _ = prepared(kind, rng)
    every = [FUNCTIONS[kind][1](rng) for _ in range(8)]
    expected = [both(*arguments) for arguments in every]
    f(*every[0])
    outs = [mapped(np.empty_like, e) for e in expected]

    def work(i):
        for call in range(300):
            out = (0.0, outs[i][1]) if call % 2 else None
            found = f(*every[i], out=out) if out else f(*every[i])
            if call % 30 < 2:
                close(found, expected[i], RTOL)

    together(8, work)


def test_threads_of_different_shapes(rng):
    f = nbgrad.compile(nbgrad.value_and_grad(energy))
    xs = [rng.normal(size=n) for n in range(1, 7)]

    def work(i):
        for _ in range(50):
            close(f(xs[i]), nbgrad.value_and_grad(energy)(xs[i]))

    together(6, work)


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
def test_threads_that_bring_other_layouts_at_once(rng):
    """Each read-only array is another type for Numba, and compiles; so does none unforeseen."""
    f = nbgrad.compile(lambda x, y, z: np.sum(np.sin(x) * y) + z)
    given = rng.normal(size=(3, 5))
    expected = f(*given)

    def work(i):
        rows = [row.copy() for row in given]
        for k, row in enumerate(rows):
            row.flags.writeable = not (i + 1) >> k & 1
        for _ in range(3):
            close(f(*rows), expected)

    together(7, work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@by_kind
def test_fork_after_use(rng, kind):
    f, _, arguments = prepared(kind, rng)
    expected = f(*arguments)
    child = os.fork()
    if child == 0:
        try:
            close(f(*arguments), expected, RTOL)
            close(nbgrad.compile(np.tanh)(0.5), np.tanh(0.5))  # and compiles
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    close(f(*arguments), expected, RTOL)


# -- interruptions --------------------------------------------------------------------------------


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_after_an_error_while_the_cache_is_written_the_next_call_is_right(rng, monkeypatch, error):
    def failing(*_):
        raise error

    x = rng.normal(size=5)
    both = nbgrad.value_and_grad(lambda x: np.sum(np.tanh(x) * len(error.__name__)))
    f = nbgrad.compile(both)
    with monkeypatch.context() as patched:
        patched.setattr("nbgrad.compiler.machine.save", failing)
        with pytest.raises(error):
            f(x)
    close(f(x), both(x))


# -- small stacks ---------------------------------------------------------------------------------


@pytest.mark.skipif(PLAIN_PYTHON, reason="scratch is an array")
@pytest.mark.parametrize("n", [90, 400, 1500])
def test_threads_with_a_stack_of_64_kib(n):
    """In a child process: what fails here ends it. With 90 scratch still lies on the stack."""
    code = f"""
import threading
n = {n}

def f(x):
    rows = nbgrad.softmax(np.exp(x[:, None] - x[None, : n // 50 + 1]), axis=1)
    y = nbgrad.loop(3, lambda i, s: np.cumsum(s * 0.5) + rows[:, 0], x)
    return np.sum(np.cumsum(np.tanh(y)) * x) + np.sum((rows.T @ rows) ** 2)

compiled = nbgrad.compile(nbgrad.value_and_grad(f))
x = np.linspace(0.0, 1.0, n)
value, slope = compiled(x)
found = []
threading.stack_size(65536)
thread = threading.Thread(target=lambda: found.append(compiled(x)))
thread.start()
thread.join()
same = found[0][0] == value and bool((found[0][1] == slope).all())
result = [same, compiled.only_variant("plan").signature.memory.size]
"""
    same, scratch = run(code).result
    assert same
    assert 10_000 < scratch < 32_768 if n == 90 else scratch > 100_000
