"""Ctrl-C in the command `nbgrad`: exit code 130 and one line instead of a traceback.

The default KeyboardInterrupt is not enough: raised inside an import, it may be replaced by another
exception or be dropped. In a process of the command, Ctrl-C ends the process at once after this
module is imported, and raises KeyboardInterrupt inside `noticed`. Other processes are not affected,
nor is a process that ignores SIGINT, as with `nohup` and shells in the background.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator

__all__ = ["STOPPED", "noticed"]

STOPPED = 130
"""The exit code after Ctrl-C."""


@contextlib.contextmanager
def noticed() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt on Ctrl-C in the body, and ignore Ctrl-C afterwards.

    Yields a list that receives each signal, also if other code catches the exception.
    """
    came: list[int] = []
    if signal.getsignal(signal.SIGINT) is not _leave:
        yield came
        return

    def interrupt(number, frame):
        came.append(number)
        raise KeyboardInterrupt

    def dropped(unraisable):
        # Exceptions do not leave destructors and callbacks.
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
    """Return whether this process is `nbgrad` or `python -m nbgrad`, not a user's program."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # while Python searches for the module
        return any(word in ("nbgrad", "nbgrad.cli", "-mnbgrad") for word in sys.orig_argv)
    return os.path.basename(program).removesuffix(".exe") == "nbgrad"


def _leave(*_) -> None:
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.write(2, b"nbgrad: stopped\n")
    os._exit(STOPPED)


# Installed early: importing the rest of the package and its dependencies takes long.
if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)
