"""Threads and processes of this machine, by `concurrent.futures`, and any executor like those."""

import multiprocessing
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from typing import Any

from ..errors import WorkerError
from .engines import Tell
from .work import Part, Share, Tree


class Given:
    """An executor that belongs to the user."""

    def __init__(self, executor: Executor | None = None):
        self._executor = executor

    @contextmanager
    def _pool(self) -> Iterator[Executor]:
        assert self._executor is not None
        yield self._executor

    def step(self, share: Share, params: Any, shards: Sequence[Any]) -> Part:
        tree = Tree()
        rest = iter(range(len(shards)))
        with self._pool() as pool, _cancelled() as futures, _named(futures, len(shards), "shard"):
            if not isinstance(pool, ThreadPoolExecutor):
                _require_sent(share)
            # Some more are under way than can run, and a sum is kept in place of its parts: data in
            # many pieces never is in memory as a whole.
            ahead = 2 * _workers(pool)
            while True:
                while len(futures) < ahead and (i := next(rest, None)) is not None:
                    futures.append((i, pool.submit(share, i, shards[i], params)))
                if not futures:
                    return tree.sum()
                tree.add(futures[0][1].result())
                futures.popleft()

    def map(self, f: Callable, items: Sequence[Any], tell: Tell) -> list[Any]:
        with self._pool() as pool, _cancelled() as futures, _named(futures, len(items), "item"):
            if not isinstance(pool, ThreadPoolExecutor):
                _require_sent(f)
            futures.extend((i, pool.submit(f, item)) for i, item in enumerate(items))
            for done, future in enumerate(as_completed([one for _, one in futures]), start=1):
                future.result()  # raises at once what an item raised
                tell(done)
            return [future.result() for _, future in futures]

    def close(self) -> None:
        """The executor is the user's to end."""


class Threads(Given):
    """Threads of this process, new ones in each step: compiled programs let others run beside them,
    and nothing is left that a fork could miss."""

    def __init__(self, workers: int | None):
        super().__init__()
        self._workers = workers or cores()

    @contextmanager
    def _pool(self) -> Iterator[Executor]:
        with ThreadPoolExecutor(self._workers, "nbgrad") as pool:
            yield pool


class Processes(Given):
    """Processes that are started at the first step and kept. They are spawned, not forked: a forked
    child of a process with threads may hang."""

    def __init__(self, workers: int | None):
        super().__init__()
        self._workers = workers or cores()

    @contextmanager
    def _pool(self) -> Iterator[Executor]:
        if self._executor is None:
            spawn = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(self._workers, spawn, _leave_interrupts)
        try:
            yield self._executor
        except WorkerError as error:
            if isinstance(error.__cause__, BrokenExecutor):
                self.close()  # the next step starts new ones
            raise

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the caller's is the one that answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _workers(pool: Executor) -> int:
    for name in ("num_workers", "_max_workers"):
        found = getattr(pool, name, None)
        if isinstance(found, int):
            return max(found, 1)
    return cores()


@contextmanager
def _cancelled() -> Iterator[deque[tuple[int, Future]]]:
    """Futures under way, by number; where the body fails or is interrupted, none of them begins."""
    futures: deque[tuple[int, Future]] = deque()
    try:
        yield futures
    except BaseException:
        for _, future in futures:
            future.cancel()
        raise


@contextmanager
def _named(futures: deque[tuple[int, Future]], count: int, what: str) -> Iterator[None]:
    """In place of an executor's word that a worker died, which of the shards may have done it."""
    try:
        yield
    except BrokenExecutor as broken:
        numbers = [str(i) for i, future in futures if future.exception() is not None]
        raise WorkerError(
            f"parallel: a worker died; without a result of the {count} are {what} "
            f"{', '.join(numbers) or 'none'}. It may have been killed for want of memory, or have "
            'crashed; in a script, stand what starts workers under if __name__ == "__main__":'
        ) from broken


def _require_sent(work: Any) -> None:
    """Raise TypeError for a function that no other process can be given."""
    try:
        pickle.dumps(work)
    except Exception as error:
        loss = getattr(work, "loss", work)
        raise TypeError(
            f"parallel: {getattr(loss, '__qualname__', loss)} cannot be sent to another process "
            f"({error}): define it at the top of a module, with what it needs as arguments"
        ) from error
