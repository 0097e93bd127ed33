"""How many threads run the pieces of long loops, and where they come from."""

import ctypes
import operator
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise

import numpy as np

from ..compiler.kernel import DISABLED, Kernel
from ..errors import ArgumentError, ArgumentTypeError
from ..runtime.cores import cores
from ..runtime.layout import prototype
from .helpers import (
    ACQUIRE,
    BUSY,
    CHOSEN,
    DONE,
    END,
    FUNCTION,
    GO,
    HELPERS,
    LIMIT,
    MAIN,
    MOST,
    PIECES,
    PYTHON,
    RAN,
    RELEASE,
    STOP,
    TAKE,
    WAKE,
    WORDS,
    help_others,
    job_of_python,
)

__all__ = ["get_threads", "in_pieces", "pieces_run", "ready", "set_threads", "start_if_wanted"]

_INT = np.dtype(np.int64)
_KINDS = {help_others: (_INT,), job_of_python: (_INT, _INT)}
_VARIABLE = "NBGRAD_NUM_THREADS"
# MPI's launchers set these to the number of processes of a job on this machine.
_NEIGHBOURS = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")

_new_lock = prototype("PyThread_allocate_lock", ctypes.c_void_p)
# These give the GIL away while they wait.
_acquire = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(WORDS[ACQUIRE])
_release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(WORDS[RELEASE])


def _given() -> int | None:
    """The number in NBGRAD_NUM_THREADS."""
    text = os.environ.get(_VARIABLE, "").strip()
    if not text:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise ArgumentError(f"{_VARIABLE} is {text!r}: it takes a whole number from 1 to {MOST}")
    return int(text)


class _Pool:
    """The helpers of this process."""

    def __init__(self):
        self.chosen: int | None = None  # by set_threads
        self.helpers: list[threading.Thread] = []
        self.job: _Job | None = None
        self.ready = False  # as many helpers wait as are wanted
        self.reset()

    def reset(self) -> None:
        """No helpers, and locks of this process; the default is found again."""
        self.ready, self.helpers = False, []
        WORDS[HELPERS] = WORDS[LIMIT] = WORDS[CHOSEN] = 0
        ctypes.memset(ctypes.addressof(WORDS) + WAKE * 8, 0, 2 * MOST * 8)
        WORDS[MAIN], WORDS[BUSY] = threading.main_thread().ident or 0, _new_lock()

    def settle(self) -> None:
        """Find how many threads may run."""
        chosen = self.chosen or _given()
        wanted = chosen or _default()
        WORDS[CHOSEN], WORDS[LIMIT] = chosen is not None, 1 if DISABLED else wanted

    def start(self) -> None:
        """As many helpers as are wanted, or as can be had. Later, where they are busy: their job
        may need a lock that the caller has, as that of the compiler."""
        if not _acquire(WORDS[BUSY], 0):
            return
        try:
            self.settle()
            if WORDS[LIMIT] > 1:
                _compile(help_others)
            with suppress(RuntimeError):  # no more threads, or the process ends
                for i in range(len(self.helpers), WORDS[LIMIT] - 1):
                    self._add(i)
            self.ready = True
        finally:
            _release(WORDS[BUSY])

    def _add(self, i: int) -> None:
        for locks in (WAKE, DONE):
            WORDS[locks + i] = WORDS[locks + i] or _new_lock()
            _acquire(WORDS[locks + i], 0)
        thread = threading.Thread(target=_helper, args=(i,), name=f"nbgrad-{i + 1}", daemon=True)
        thread.start()
        self.helpers.append(thread)
        WORDS[HELPERS] = i + 1

    def stop(self) -> None:
        """End the helpers, of which none has a job."""
        WORDS[FUNCTION] = STOP
        for i, thread in enumerate(self.helpers):
            _release(WORDS[WAKE + i])
            thread.join()
        self.helpers.clear()
        WORDS[HELPERS], self.ready = 0, False


def _default() -> int:
    """1 inside of a worker of any pool, else the cores that this process may use."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        return 1
    if any(os.environ.get(name, "1") != "1" for name in _NEIGHBOURS):
        return 1
    return min(cores(), MOST)


@contextmanager
def held() -> Iterator[None]:
    """The helpers have no job, and get none."""
    while not _acquire(WORDS[BUSY], 0):
        time.sleep(1e-4)
    try:
        yield
    finally:
        _release(WORDS[BUSY])


def _helper(i: int) -> None:
    while help_others.dispatcher(i) == PYTHON:
        assert _pool.job is not None
        WORDS[PIECES + i] += _pool.job.work_off(i + 1)
        _release(WORDS[DONE + i])


def set_threads(n: int | None) -> None:
    """Choose how many threads run the pieces of long loops, for this process.

    Loops over some 200,000 elements and more run in pieces, in compiled programs and in eager ops.
    Pieces, and the order in which sums are added, depend on the size alone: the numbers are the
    same for any number of threads. What is shorter runs on the thread that calls. BLAS has threads
    of its own.

    Arguments:
        n: From 1 to 256. None is the default: what `NBGRAD_NUM_THREADS` says, else 1 inside a
            worker of any pool, else the cores that the process may use by its affinity and the CPU
            quota of its container. A worker is a thread that is not the main one, a process that
            `multiprocessing` started (so those of `concurrent.futures` and Dask), and one of
            several MPI ranks on a machine. A number that was chosen holds for all threads of the
            process, and not for its children.

    Raises TypeError where n is no integer, ValueError where it is out of bounds.

    >>> nbgrad.set_threads(2)
    >>> nbgrad.get_threads()
    2
    >>> nbgrad.set_threads(None)
    """
    if n is not None:
        try:
            n = operator.index(n)
        except TypeError:
            raise ArgumentTypeError(
                f"set_threads takes a whole number from 1 to {MOST}, or None, not {n!r}",
                code="NB-INTEGER",
            ) from None
        if not 1 <= n <= MOST:
            raise ArgumentError(f"set_threads takes a whole number from 1 to {MOST}, not {n}")
    with held():
        _pool.stop()
        _pool.chosen, WORDS[LIMIT] = n, 0
    _pool.settle()
    _pool.start()


def get_threads() -> int:
    """How many threads may run the pieces of a long loop that the calling thread comes to.

    >>> nbgrad.get_threads() >= 1
    True
    """
    most = most_threads()
    return most if WORDS[CHOSEN] or threading.get_ident() == WORDS[MAIN] else 1


def most_threads() -> int:
    """How many threads may run for any thread that calls."""
    if not WORDS[LIMIT]:
        _pool.settle()
    return WORDS[LIMIT]


def ready() -> None:
    """Start the helpers, unless they wait already."""
    if not _pool.ready:
        _pool.start()


def start_if_wanted() -> None:
    """Start the helpers if pieces have run without any."""
    if not _pool.ready and WORDS[RAN]:
        _pool.start()


def in_pieces(count: int, piece: Callable[[int], object]) -> None:
    """Call `piece` with 0 to count - 1, on this thread and on the helpers.

    If a piece raises, no others are started, and the error is raised when the running ones have
    ended.
    """
    ready()
    wanted = min(get_threads(), count) - 1
    if wanted > 0:
        _compile(job_of_python)  # now, not in the middle of a job
    try:
        if wanted < 1 or not _step(TAKE):
            job = _Job(count, piece, 1)
            WORDS[RAN] += job.work_off(0)
        else:
            helpers = min(wanted, WORDS[HELPERS])
            job = _pool.job = _Job(count, piece, helpers + 1)
            _step(GO, helpers)
            WORDS[RAN] += job.work_off(0)
    finally:
        if wanted > 0:
            _step(END)
    job.piece = _nothing  # The pool knows the job until the next one: not its arrays.
    if job.errors:
        raise job.errors[0]


@cache
def _compile(kernel: Kernel) -> None:
    kernel.prepare(_KINDS[kernel])


def _step(step: int, helpers: int = 0) -> bool:
    return job_of_python.dispatcher(step, helpers)


class _Job:
    """Pieces that any thread may take."""

    def __init__(self, count: int, piece: Callable[[int], object], team: int):
        ends = [i * count // team for i in range(team + 1)]
        self.shares = [deque(range(a, b)) for a, b in pairwise(ends)]
        self.piece = piece
        self.errors: list[BaseException] = []

    def work_off(self, i: int) -> int:
        """Run pieces until there are none left, from share i on; how many."""
        ran = 0
        try:
            for share in [*self.shares[i:], *self.shares[:i]]:
                while (k := _taken(share)) is not None:
                    self.piece(k)
                    ran += 1
        except BaseException as error:
            self.errors.append(error)
            for share in self.shares:
                share.clear()
        return ran


def _nothing(k: int) -> None:
    pass


def _taken(share: deque[int]) -> int | None:
    try:
        return share.popleft()
    except IndexError:
        return None


def pieces_run() -> list[int]:
    """How many pieces ran in this process: on threads that called, on helper 1, on helper 2, ..."""
    counts = WORDS[PIECES : PIECES + MOST]
    return [WORDS[RAN], *counts[: max((i + 1 for i, n in enumerate(counts) if n), default=0)]]


def _before_fork() -> None:
    # A child has no helpers. The parent starts its own again, so that the child is made where no
    # other thread of ours runs; a loop of another thread is not waited for.
    if _pool.helpers and _acquire(WORDS[BUSY], 0):
        _pool.stop()
        _release(WORDS[BUSY])


def _in_child() -> None:
    _pool.chosen = None
    _pool.reset()


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)
