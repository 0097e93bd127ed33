"""Each defect of the graph that is put back is seen by the smallest program that shows it."""

import asyncio
import copy
import threading
from collections.abc import Callable

import numpy as np
import pytest

import nbgrad
from nbgrad import track

from .defects.graph import DEFECTS


def buffer_order() -> None:
    x = np.ones((2, 3))
    found = nbgrad.grad(lambda x: np.sum(x[np.array([0, 0])]) + np.sum(x.T * np.ones((3, 2))))(x)
    np.testing.assert_array_equal(found, [[3.0] * 3, [1.0] * 3])


def level_inside() -> None:
    assert nbgrad.grad(lambda x: track(1.0) * x)(2.0) == 1.0


def memo_lost() -> None:
    x = track(2.0)
    y = x * x
    z = y * 3.0
    z.grad = 1.0
    nbgrad.accum(x)
    del z
    assert nbgrad.accum(y) == 3.0


def unlocked_leaves() -> None:
    for _ in range(40):
        w, barrier = track(np.ones(200_000)), threading.Barrier(8)

        def work(w=w, barrier=barrier):
            barrier.wait()
            for _ in range(5):
                np.sum(w * 2.0).backward()

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(w.grad, np.full(200_000, 80.0))


def detached_copies() -> None:
    found = nbgrad.grad(lambda p: np.sum(copy.deepcopy(p) ** 2))(np.ones(2))
    np.testing.assert_array_equal(found, [2.0, 2.0])


def index_not_copied() -> None:
    x, index = track(np.arange(3.0)), np.array([0, 0])
    y = np.sum(x[index])
    index[:] = 2
    y.backward()
    np.testing.assert_array_equal(x.grad, [2.0, 0.0, 0.0])


def modes_of_all_tasks() -> None:
    async def quiet():
        with nbgrad.no_tracking():
            await asyncio.sleep(0)

    async def slope():
        x = track(2.0)
        y = x * x
        await asyncio.sleep(0)
        (y * x).backward()
        return x.grad

    async def both():
        return await asyncio.gather(quiet(), slope(), quiet())

    assert asyncio.run(both())[1] == 12.0


PROGRAMS: dict[str, Callable[[], None]] = {
    "buffer-order": buffer_order,
    "level-inside": level_inside,
    "memo-lost": memo_lost,
    "unlocked-leaves": unlocked_leaves,
    "detached-copies": detached_copies,
    "index-not-copied": index_not_copied,
    "modes-of-all-tasks": modes_of_all_tasks,
}


@pytest.mark.filterwarnings("ignore::nbgrad.errors.ConstantWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_defect_is_seen(name):
    assert PROGRAMS.keys() == DEFECTS.keys()
    PROGRAMS[name]()
    with DEFECTS[name](), pytest.raises((AssertionError, TypeError, ValueError, nbgrad.GraphError)):
        PROGRAMS[name]()
    PROGRAMS[name]()
