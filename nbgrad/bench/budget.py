"""A limit for what a contestant may take before it is timed: some libraries compile for minutes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class GaveUp(BaseException):  # what catches every Exception is not to go on
    """The seconds were over."""


@contextmanager
def budget(seconds: float) -> Iterator[None]:
    """GaveUp is raised inside of the block after so many seconds, between two steps of Python:
    where a library is in code of another language, once it comes back.

    It is raised again each second, should a library take it for an error of its own, and what a
    library makes of it is GaveUp too. Nothing is limited in a thread, nor where the system has no
    timers.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not is_main:
        yield
        return
    over = []

    def stop(*_: object) -> None:
        over.append(True)
        raise GaveUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    except Exception as error:
        if over:
            raise GaveUp from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
