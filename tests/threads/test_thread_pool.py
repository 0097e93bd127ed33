"""Long loops in pieces on threads: the same bits for any number, and what can happen to threads."""

import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from helpers.children import run
from numba import njit

import nbgrad
from nbgrad.kernels import reduce
from nbgrad.runtime.cores import cores
from nbgrad.threads import pieces, pool
from nbgrad.threads.pieces import LARGE, cut

NUMBERS = (1, 2, 3, 7)
N = 3 * 10**5 + 17


@pytest.fixture(autouse=True)
def _default(monkeypatch):
    """Eager ops run in pieces where compiled loops do, so that arrays are small."""
    monkeypatch.setattr(pieces, "LONG", LARGE)
    monkeypatch.setattr(pieces, "LONG_PIECE", 30_000)
    monkeypatch.setattr(reduce, "LIGHT", 1)
    yield
    nbgrad.set_threads(None)


def ran() -> int:
    return sum(pool.pieces_run())


def arrays(count: int, *shape: int, dtype: type = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.normal(size=shape).astype(dtype) for _ in range(count)]


def chain(x, a, b, c):
    return np.sum(np.tanh(a * x + b) * np.exp(-x * x) + np.sin(x) * c)


def rows(x, w):
    return np.sum(w * nbgrad.logsoftmax(x))


def leaves(tree) -> list[np.ndarray]:
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    return [np.asarray(tree)]


FUNCTIONS = {
    "chain": (nbgrad.value_and_grad(chain, (0, 1, 2, 3)), arrays(4, N)),
    "rows32": (nbgrad.value_and_grad(rows, (0, 1)), arrays(2, 400, 1000, dtype=np.float32)),
    "slices": (
        nbgrad.value_and_grad(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)),
        arrays(1, N),
    ),
    "elementwise32": (
        nbgrad.value_and_grad(lambda x, y: np.sum((x * y + np.sin(x)) * (x > y)), (0, 1)),
        arrays(2, N, dtype=np.float32),
    ),
    "reductions": (
        lambda x: (np.sum(x), np.mean(x), np.max(x), np.min(x), np.linalg.norm(x)), arrays(1, N),
    ),
    "axes": (
        lambda x: (np.sum(x, 0), np.mean(x, 1), np.max(x, 0), np.linalg.norm(x, axis=1)),
        arrays(1, 3000, 101),
    ),
    "bias": (
        nbgrad.value_and_grad(lambda x, b, c: np.sum(np.tanh(x * c + b)), (0, 1, 2)),
        [*arrays(1, 3000, 101), *arrays(1, 101), *arrays(1, 3000, 1)],
    ),
    "softmax of a vector": (
        nbgrad.value_and_grad(lambda x: np.sum(nbgrad.softmax(x) ** 2)), arrays(1, N),
    ),
    "variance": (nbgrad.value_and_grad(lambda x: np.var(x) + np.std(x)), arrays(1, N)),
    "extremes": (nbgrad.grad(lambda x: np.sum(np.max(x, 1)) + np.min(x)), arrays(1, 3000, 101)),
}  # fmt: skip


# Each of these compiles kernels of its own where it is called eagerly.
EAGER = ("chain", "rows32", "elementwise32", "reductions", "axes", "bias", "extremes")


@pytest.mark.parametrize(
    ("name", "compiled"),
    [*((name, True) for name in FUNCTIONS), *((name, False) for name in EAGER)],
)
def test_the_bits_are_the_same_for_any_number_of_threads(name, compiled):
    function, args = FUNCTIONS[name]
    function = nbgrad.compile(function) if compiled else function
    found = []
    for number in NUMBERS:
        nbgrad.set_threads(number)
        before = ran()
        found.append([leaf.tobytes() for leaf in leaves(function(*args))])
        assert ran() > before or (name in ("reductions", "axes") and not compiled)
    assert all(bits == found[0] for bits in found)


def test_pieces_are_counted_and_right():
    """Values against NumPy; how many pieces, which the size alone decides."""
    nbgrad.set_threads(2)
    (x, a, b, c) = arrays(4, 10**6)
    expected = np.sum(np.tanh(a * x + b) * np.exp(-x * x) + np.sin(x) * c)
    slope = (1 - np.tanh(a * x + b) ** 2) * np.exp(-x * x) * x
    f = nbgrad.compile(nbgrad.value_and_grad(chain, (1,)))
    before = ran()
    value, (found,) = f(x, a, b, c)
    assert ran() - before == -(-(10**6) // cut(10**6, 10**6)) == 49
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(found, slope, rtol=1e-10, atol=1e-14)
    before = ran()
    f(*(array[: LARGE - 1].copy() for array in (x, a, b, c)))
    assert ran() == before


# -- what can happen to threads -------------------------------------------------------------------


def test_pieces_run_on_several_threads_at_once():
    """A job of Python's, and a compiled one until a helper was there in time."""
    nbgrad.set_threads(2)
    meeting, names = threading.Barrier(2, timeout=60), []

    def piece(k):
        meeting.wait()
        names.append(threading.current_thread().name)

    pool.in_pieces(2, piece)
    assert sorted(names) == sorted([threading.current_thread().name, "nbgrad-1"])
    f, (x,) = nbgrad.compile(np.sin), arrays(1, N)
    f(x)
    before = pool.pieces_run()
    for _ in range(10_000):
        f(x)
        if pool.pieces_run()[1] > before[1]:
            return
    pytest.fail("no helper took a piece of 10,000 calls")


def test_compiled_code_hands_out_pieces_too():
    f, (x,) = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.exp(x)))), arrays(1, N)
    inner = f.variant(x).njit

    @njit
    def outer(x):
        value, slope = inner(x)
        return value + slope[0]

    nbgrad.set_threads(2)
    before = ran()
    np.testing.assert_allclose(outer(x), np.sum(np.exp(x)) + np.exp(x[0]), rtol=1e-12)
    assert ran() - before == -(-N // cut(N, N))


def test_an_error_in_a_piece_reaches_the_caller():
    nbgrad.set_threads(3)

    def piece(k):
        if k == 5:
            raise ArithmeticError("piece five")
        if k == 6:
            signal.raise_signal(signal.SIGINT)

    for _ in range(3):
        with pytest.raises((ArithmeticError, KeyboardInterrupt)):
            pool.in_pieces(8, piece)
    found = []
    pool.in_pieces(8, found.append)  # nothing of the failed job is left
    assert sorted(found) == list(range(8))


def test_a_job_without_helpers_gives_the_pool_back(monkeypatch):
    """As where no thread could be started: the next who wants helpers does not wait for ever."""
    nbgrad.set_threads(2)
    with pool.held():
        pool._pool.stop()
    monkeypatch.setattr(pool._pool, "ready", True)
    found = []
    pool.in_pieces(4, found.append)
    assert sorted(found) == list(range(4))
    assert pool._acquire(pool.WORDS[pool.BUSY], 0)
    pool._release(pool.WORDS[pool.BUSY])


def test_arrays_of_a_job_that_ended_are_let_go():
    nbgrad.set_threads(2)
    held = np.ones(3)
    count, found = sys.getrefcount(held), []
    pool.in_pieces(4, lambda k, x=held: found.append(x[0] + k))
    assert sorted(found) == [1.0, 2.0, 3.0, 4.0]
    assert sys.getrefcount(held) == count


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_threads_that_enter_at_once(compiled):
    """Whoever finds the helpers busy runs alone: nobody waits, and the bits are the same."""
    nbgrad.set_threads(2)
    function, args = FUNCTIONS["bias"]
    function = nbgrad.compile(function) if compiled else function
    expected = [leaf.tobytes() for leaf in leaves(function(*args))]

    def again(_):
        return [[leaf.tobytes() for leaf in leaves(function(*args))] for _ in range(10)]

    with ThreadPoolExecutor(4) as threads:
        for results in threads.map(again, range(4)):
            assert all(found == expected for found in results)


def test_the_default_is_one_in_workers():
    """The rule: threads that are not the main one, processes of a pool, several ranks of MPI."""
    assert nbgrad.get_threads() == cores()
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(nbgrad.get_threads).result() == 1
        nbgrad.set_threads(3)
        assert threads.submit(nbgrad.get_threads).result() == 3
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        assert processes.submit(nbgrad.get_threads).result() == 1
    count = "result = nbgrad.get_threads()"
    assert run(count, OMPI_COMM_WORLD_LOCAL_SIZE=2).result == 1
    assert run(count, NBGRAD_NUM_THREADS=5, OMPI_COMM_WORLD_LOCAL_SIZE=2).result == 5


@pytest.mark.parametrize("wrong", [0, -1, 257, 1.5, "two", [2]])
def test_rubbish_is_refused(wrong):
    with pytest.raises((ValueError, TypeError), match="set_threads takes a whole number from 1"):
        nbgrad.set_threads(wrong)


@pytest.mark.parametrize("wrong", ["two", "0", "-1", "1.5", "1000"])
def test_rubbish_in_the_environment_is_refused(wrong, monkeypatch):
    monkeypatch.setenv("NBGRAD_NUM_THREADS", wrong)
    with pytest.raises(ValueError, match=f"NBGRAD_NUM_THREADS is '{wrong}'"):
        nbgrad.set_threads(None)
    monkeypatch.delenv("NBGRAD_NUM_THREADS")
    nbgrad.set_threads(None)


FORKS = """
import os, threading, time
from nbgrad.threads import pieces, pool
pieces.LONG, pieces.LONG_PIECE = 200000, 30000

def loss(x, b):
    return np.sum(np.tanh(x + b) ** 2)

x, b = np.linspace(-1, 1, 210000).reshape(700, 300), np.linspace(0, 1, 300)
eager = nbgrad.value_and_grad(loss, (0, 1))
compiled = nbgrad.compile(eager)

def bits():
    values = []
    for f in (eager, compiled):
        value, slopes = f(x, b)
        values += [np.asarray(each).tobytes() for each in (value, *slopes)]
    return values

nbgrad.set_threads(2)
expected, stopped, wrong = bits(), False, []

def busy():
    while not stopped:
        time.sleep(1e-3)
        wrong.extend(a for a, b in zip(bits(), expected) if a != b)

others = [threading.Thread(target=busy) for _ in range(2)]
[thread.start() for thread in others]
codes = []
for chosen in (0, 3, 2):
    child = os.fork()
    if not child:
        if chosen:
            nbgrad.set_threads(chosen)
        good = bits() == expected and bits() == expected
        os._exit(0 if good and nbgrad.get_threads() == (chosen or cores()) else 1)
    codes.append(os.waitpid(child, 0)[1])
    wrong += [1] * (bits() != expected)
stopped = True
[thread.join() for thread in others]
result = codes, len(wrong), nbgrad.get_threads(), sum(pool.pieces_run()) > 0
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_loops_run():
    """Children have helpers of their own, and the parent has its again."""
    assert run(FORKS).result == [[0] * 3, 0, 2, True]


PLAIN = """
from nbgrad.threads import pieces
pieces.LARGE, pieces.PIECE, pieces.LONG, pieces.LONG_PIECE = 100, 20, 100, 20
nbgrad.set_threads(4)
f = nbgrad.value_and_grad(lambda x: np.sum(np.tanh(x) * x))
x = np.linspace(-1, 1, 500)
one, two = f(x), nbgrad.compile(f)(x)
result = [float(one[0]), float(two[0]), float(np.sum(np.tanh(x) * x)), nbgrad.get_threads()]
"""


def test_without_numba_pieces_run_one_after_another():
    eager, compiled, expected, threads = run(PLAIN, NUMBA_DISABLE_JIT=1).result
    np.testing.assert_allclose([eager, compiled], expected, rtol=1e-13)
    assert threads == 1
