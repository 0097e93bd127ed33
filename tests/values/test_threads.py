"""Threads that share parameters: the numbers of one thread, to the last bit."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.caches import cached
from helpers.children import run

import nbgrad
from nbgrad import track

THREADS = 8


def together(work: Callable[[int], object]) -> list:
    """`work(k)` in each of eight threads, begun at the same moment."""
    barrier = threading.Barrier(THREADS)

    def begin(k: int):
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result() for future in [pool.submit(begin, k) for k in range(THREADS)]]


def test_separate_graphs_over_one_parameter_give_the_numbers_of_one_thread():
    w = track(np.linspace(-1.0, 1.0, 16).reshape(4, 4), "w")

    def work(k: int):
        rng = np.random.default_rng(k)
        found = []
        for _ in range(40):
            x, bias = track(rng.normal(size=(3, 4))), track(rng.normal(size=4))
            z = np.sum(np.tanh(x @ w + bias) * x)
            z.backward()
            found.append((z.item(), x.grad.tolist(), bias.grad.tolist()))
        return found

    alone = [work(k) for k in range(THREADS)]
    assert together(work) == alone


def test_outputs_of_all_threads_are_children_of_the_parameter():
    w = track(2.0)
    outputs = together(lambda k: [w * float(k) for _ in range(500)])
    assert len(w.children) == THREADS * 500
    for output in (output for of_thread in outputs for output in of_thread):
        output.grad = 1.0
    assert float(nbgrad.accum(w)) == 500 * sum(range(THREADS))


@pytest.mark.parametrize("rounds", [50, pytest.param(1000, marks=pytest.mark.full)])
def test_the_first_children_of_a_parameter_are_not_lost(rounds):
    for _ in range(rounds):
        w = track(2.0)
        outputs = together(lambda k, w=w: w * 3.0)
        assert len(w.children) == len(outputs) == THREADS


def test_levels_belong_to_a_thread():
    second = nbgrad.grad(nbgrad.grad(lambda x: np.tanh(x) * x))

    def work(k: int):
        points = np.linspace(0.1, 0.9, 20) + k
        return [float(second(float(point))) for point in points]

    alone = [work(k) for k in range(THREADS)]
    assert together(work) == alone
    x = 0.3
    t = np.tanh(x)
    assert float(second(x)) == pytest.approx(2 * (1 - t * t) * (1 - t * x), rel=1e-12)


def test_a_shared_leaf_gets_the_contributions_of_all_threads():
    for _ in range(10):
        w = track(np.ones(100_000))

        def work(k: int, w=w):
            for _ in range(5):
                np.sum(w * float(k)).backward()

        together(work)
        np.testing.assert_array_equal(w.grad, np.full(100_000, 5.0 * sum(range(THREADS))))


def deep(w, steps: int = 30):
    z = w
    for _ in range(steps):
        z = np.sin(z) + w
    return np.sum(z)


@pytest.mark.parametrize("keep_graph", [True, False])
def test_walks_of_one_graph_are_right_or_say_that_it_was_freed(keep_graph):
    """Those that kept the graph are all right; of those that free it, some may find it freed."""
    point = np.linspace(0.0, 1.0, 500)
    expected = nbgrad.grad(deep)(point)
    done = []
    for _ in range(30):
        w = track(point)
        z = deep(w)

        def work(k: int, z=z):
            try:
                z.backward(keep_graph=keep_graph)
            except nbgrad.GraphError:
                return 0
            return 1

        done.append(sum(together(work)))
        np.testing.assert_allclose(w.grad if done[-1] else 0.0, done[-1] * expected, rtol=1e-12)
    assert min(done) == THREADS if keep_graph else max(done) > 0


def test_accum_of_one_graph_by_several_threads():
    for _ in range(30):
        w = track(np.ones(100))
        z = deep(w)
        z.grad = 1.0
        found = together(lambda k, w=w: nbgrad.accum(w).copy())
        for gradient in found:
            np.testing.assert_allclose(gradient, nbgrad.grad(deep)(np.ones(100)), rtol=1e-12)


COLD = """
import threading
w = nbgrad.track(np.linspace(-1.0, 1.0, 16).reshape(4, 4))
barrier = threading.Barrier(8)
answers = [None] * 8
def work(k):
    x = nbgrad.track(np.arange(12.0).reshape(3, 4) / (k + 9))
    z = np.sum(np.exp(x @ w) * x)
    z.backward()
    return [z.item(), x.grad.tolist()]
def begin(k):
    barrier.wait()
    answers[k] = work(k)
threads = [threading.Thread(target=begin, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
result = [answers, [work(k) for k in range(8)]]
"""


def test_threads_may_meet_at_the_first_compilation(tmp_path):
    cold = run(COLD, NBGRAD_CACHE_DIR=tmp_path)
    threads, alone = cold.result
    assert None not in threads and threads == alone
    assert not cold.warnings
    assert len(cached(tmp_path)) == cold.compiled > 0, "each kernel was compiled once"
    warm = run(COLD, NBGRAD_CACHE_DIR=tmp_path)
    assert (warm.compiled, warm.loaded, warm.result) == (0, cold.compiled, cold.result)
