"""Signal handlers are deferred during compilation.

Numba keeps registries, counters and callbacks into LLVM that an exception from a signal handler,
such as KeyboardInterrupt, leaves in an inconsistent state: nothing compiles in the process after
that. Handlers in Python are therefore called after the compilation.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["held_back"]

_SIGNALS = sorted(signal.valid_signals())


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Defer signal handlers to the end of the block. Only the main thread runs handlers, so this
    does nothing in others. Blocks may be nested; the outermost calls the handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: dict[int, None] = {}

    def note(number: int, frame: FrameType | None) -> None:
        came[number] = None

    def restore(number: int, handler: Callable) -> None:
        if signal.getsignal(number) is note:
            signal.signal(number, handler)

    def deliver() -> None:
        with contextlib.ExitStack() as each:
            for number in reversed(came):
                each.callback(signal.raise_signal, number)

    # An ExitStack calls all of them, last first, whatever the others raise.
    with contextlib.ExitStack() as after:
        after.callback(deliver)
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                after.callback(restore, number, handler)
                with contextlib.suppress(ValueError):  # in a sub-interpreter
                    signal.signal(number, note)
        yield
