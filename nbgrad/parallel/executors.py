"""The engines for threads, processes and other executors of `concurrent.futures`."""

import pickle
import signal
import sys
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
from functools import partial
from mmap import mmap
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.resource_tracker import ensure_running
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..errors import ArgumentTypeError, NbgradError, WorkerError
from ..runtime.cores import cores
from .engines import Engine, Rows, Tell
from .kept import Kept, Packed
from .stored import Piece, store
from .work import Part, Share, Tree


class Given(Engine):
    """An executor that the user provides."""

    def __init__(self, executor: Executor | None, workers: int | None):
        self._executor = executor
        self.workers = workers or (cores() if executor is None else _workers(executor))

    @contextmanager
    def _pool(self) -> Iterator[Executor]:
        assert self._executor is not None
        yield self._executor

    def step(self, share: Share, params: Any, shards: Sequence[Any]) -> Part:
        tree = Tree()
        rest = iter(range(len(shards)))
        with self._pool() as pool, _cancelled() as futures, _named(futures, shards, "shard"):
            work: Callable = partial(share, params=params)
            if isinstance(pool, ProcessPoolExecutor):
                work = partial(_part_of, *_require_sent(share, params))  # once for all shards
                shards = [Packed(*_require_sent(x)) if callable(x) else x for x in shards]
            # Only some shards are submitted ahead, and sums replace their parts, so that data in
            # many shards is never in memory as a whole.
            ahead = 2 * self.workers
            while True:
                while len(futures) < ahead and (i := next(rest, None)) is not None:
                    futures.append((i, pool.submit(work, i, shards[i])))
                if not futures:
                    return tree.sum()
                tree.add(futures[0][1].result())
                futures.popleft()

    def map(self, f: Callable, items: Sequence[Any], tell: Tell) -> list[Any]:
        with self._pool() as pool, _cancelled() as futures, _named(futures, items, "item"):
            if isinstance(pool, ProcessPoolExecutor):
                f = Packed(*_require_sent(f, *items)[:1])
            futures.extend((i, pool.submit(f, item)) for i, item in enumerate(items))
            for done, future in enumerate(as_completed([one for _, one in futures]), start=1):
                future.result()  # raises the error of an item at once
                tell(done)
            return [future.result() for _, future in futures]


class Threads(Given):
    """Threads of this process, started in each step, so that a fork between steps is safe."""

    def __init__(self, workers: int | None):
        super().__init__(None, workers)

    @contextmanager
    def _pool(self) -> Iterator[Executor]:
        with ThreadPoolExecutor(self.workers, "nbgrad") as pool:
            yield pool


class Processes(Given):
    """Processes, started at the first step.

    They are spawned, because a forked child of a process with threads may deadlock.
    """

    copies = True

    def __init__(self, workers: int | None):
        super().__init__(None, workers)
        self._folders: list[TemporaryDirectory] = []

    @contextmanager
    def _pool(self) -> Iterator[Executor]:
        if self._executor is None:
            self._executor = ProcessPoolExecutor(self.workers, _Context(), _leave_interrupts)
        try:
            yield self._executor
        except WorkerError as error:
            if isinstance(error.__cause__, BrokenExecutor):
                self._end()  # the next step starts new ones
            raise

    def held(self, arrays: tuple[np.ndarray, ...]) -> Callable[[Rows], Any]:
        """Store arrays in memory-mapped files. Rows of arrays already mapped are sent instead."""
        if any(isinstance(x.base, (np.memmap, mmap)) for x in arrays):
            return super().held(arrays)
        self._folders.append(folder := TemporaryDirectory(prefix="nbgrad-"))
        (stored,) = store(folder.name, [arrays])
        return partial(Piece, stored)

    def close(self) -> None:
        self._end()
        while self._folders:
            self._folders.pop().cleanup()

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


class _Worker(SpawnProcess):
    """A process in which Ctrl-C is blocked until `_leave_interrupts` runs.

    Otherwise Ctrl-C during its imports would print a traceback.
    """

    def start(self) -> None:
        if sys.platform == "win32":
            return super().start()
        ensure_running()  # otherwise started by super().start(), which would unblock the signal
        # The new process inherits the mask.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    Process = _Worker


def _leave_interrupts() -> None:
    """Ignore Ctrl-C, which reaches all processes of a terminal, and leave it to the caller."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _workers(pool: Executor) -> int:
    for name in ("num_workers", "_max_workers"):
        found = getattr(pool, name, None)
        if isinstance(found, int):
            return max(found, 1)
    return cores()


@contextmanager
def _cancelled() -> Iterator[deque[tuple[int, Future]]]:
    """Yield a queue of (number, future); cancel the futures if the body fails."""
    futures: deque[tuple[int, Future]] = deque()
    try:
        yield futures
    except BaseException:
        for _, future in futures:
            future.cancel()
        raise


@contextmanager
def _named(futures: deque[tuple[int, Future]], every: Sequence[Any], what: str) -> Iterator[None]:
    """Replace BrokenExecutor by a WorkerError that names the shards without a result."""
    try:
        yield
    except BrokenExecutor as broken:
        numbers = [str(i) for i, future in futures if future.exception() is not None]
        raise WorkerError(
            f"parallel: a worker died; of {len(every)} there is no result of {what} "
            f"{', '.join(numbers) or 'none'}. It may have crashed, or been killed for lack of "
            'memory; in a script, start workers under if __name__ == "__main__":'
        ) from broken


def _part_of(share: bytes, params: bytes, index: int, shard: Any) -> Part:
    return Packed(share)(index, shard, pickle.loads(params))


def _require_sent(*given: Any) -> list[bytes]:
    """Pickle values for another process. Raises TypeError if that fails.

    They are pickled here because a process pool may deadlock after a failure.
    """
    sent = []
    for x in given:
        try:
            sent.append(pickle.dumps(x))
        except NbgradError:  # a value inside of a transformation
            raise
        except Exception as error:
            x = x.function if isinstance(x, Kept) else x
            name = getattr(x, "__qualname__", f"a {type(x).__name__}")
            raise ArgumentTypeError(
                f"parallel: {name} cannot be sent to another process ({error}): define it, and the "
                "functions that it uses, at the top level of a module, and pass data as arguments",
                code="NB-PICKLE",
            ) from error
    return sent
