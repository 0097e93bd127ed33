"""Threads and processes of this machine, by `concurrent.futures`, and any executor like those."""

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

from ..errors import NbgradError, WorkerError
from ..runtime.cores import cores
from .engines import Alone, Rows, Tell
from .kept import Kept, Packed
from .stored import Piece, store
from .work import Part, Share, Tree


class Given(Alone):
    """An executor that belongs to the user."""

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
            # Some more are under way than can run, and a sum is kept in place of its parts: data in
            # many pieces never is in memory as a whole.
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
                future.result()  # raises at once what an item raised
                tell(done)
            return [future.result() for _, future in futures]

    def close(self) -> None:
        """The executor is the user's to end."""


class Threads(Given):
    """Threads of this process, new ones in each step: compiled programs let others run beside them,
    and nothing is left that a fork could miss."""

    def __init__(self, workers: int | None):
        super().__init__(None, workers)

    @contextmanager
    def _pool(self) -> Iterator[Executor]:
        with ThreadPoolExecutor(self.workers, "nbgrad") as pool:
            yield pool


class Processes(Given):
    """Processes that are started at the first step and kept. They are spawned, not forked: a forked
    child of a process with threads may hang."""

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
        """In files that all map, but for arrays that are mapped already: of those rows are sent."""
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
    """A process that Ctrl-C does not reach before `_leave_interrupts` runs in it: imports would end
    in a traceback."""

    def start(self) -> None:
        if sys.platform == "win32":
            return super().start()
        ensure_running()  # which would unblock the signal
        # The new process inherits the mask.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    Process = _Worker


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the caller's is the one that answers."""
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
    """Futures under way, by number; where the body fails or is interrupted, none of them begins."""
    futures: deque[tuple[int, Future]] = deque()
    try:
        yield futures
    except BaseException:
        for _, future in futures:
            future.cancel()
        raise


@contextmanager
def _named(futures: deque[tuple[int, Future]], every: Sequence[Any], what: str) -> Iterator[None]:
    """In place of an executor's word that a worker died, which of the shards may have done it."""
    try:
        yield
    except BrokenExecutor as broken:
        numbers = [str(i) for i, future in futures if future.exception() is not None]
        raise WorkerError(
            f"parallel: a worker died; without a result of the {len(every)} are {what} "
            f"{', '.join(numbers) or 'none'}. It may have been killed for want of memory, or have "
            'crashed; in a script, stand what starts workers under if __name__ == "__main__":'
        ) from broken


def _part_of(share: bytes, params: bytes, index: int, shard: Any) -> Part:
    return Packed(share)(index, shard, pickle.loads(params))


def _require_sent(*given: Any) -> list[bytes]:
    """What is sent to another process. Raises TypeError for what cannot be, before it comes to a
    pool of processes: that may wait for ever after it."""
    sent = []
    for x in given:
        try:
            sent.append(pickle.dumps(x))
        except NbgradError:  # a value inside of a transformation
            raise
        except Exception as error:
            x = x.function if isinstance(x, Kept) else x
            name = getattr(x, "__qualname__", f"a {type(x).__name__}")
            raise TypeError(
                f"parallel: {name} cannot be sent to another process ({error}): define it, and the "
                "functions in it, at the top of a module, with what they need as arguments"
            ) from error
    return sent
