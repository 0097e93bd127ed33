"""Ctrl-C at the command line: exit code 130 and one line, from the first import to the end.

Python's own answer is a traceback, and an exception in the middle of somebody's import can come out
as another one, or be dropped. Only a process that is the command `nbgrad` is changed here: from the
import of this module on, Ctrl-C ends it at once, and in `noticed` it interrupts. Where the caller
ignores Ctrl-C, as `nohup` and shells in the background do, so does the command.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator

__all__ = ["STOPPED", "noticed"]

STOPPED = 130
"""The exit code of what Ctrl-C stopped."""


@contextlib.contextmanager
def noticed() -> Iterator[list[int]]:
    """In the body Ctrl-C is a KeyboardInterrupt, and stands in the list even where somebody turned
    that into another exception. After the body the command only has to end, and is left alone."""
    came: list[int] = []
    if signal.getsignal(signal.SIGINT) is not _leave:
        yield came
        return

    def interrupt(number, frame):
        came.append(number)
        raise KeyboardInterrupt

    def dropped(unraisable):
        # In a destructor or a callback, from where no exception gets out.
        if unraisable.exc_type is KeyboardInterrupt:
            _leave()
        sys.__unraisablehook__(unraisable)

    sys.unraisablehook = dropped
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_command() -> bool:
    """Whether this process runs `nbgrad`, or `python -m nbgrad`, and not somebody's program."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # as it is while Python looks for the module
        return any(word in ("nbgrad", "nbgrad.cli", "-mnbgrad") for word in sys.orig_argv)
    return os.path.basename(program).removesuffix(".exe") == "nbgrad"


def _leave(*_) -> None:
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.write(2, b"nbgrad: stopped\n")
    os._exit(STOPPED)


# As early as can be: the rest of the package and what it needs are imported after this.
if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)
