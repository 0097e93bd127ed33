"""Times in which no garbage is collected: of imports and compilations, whose objects last."""

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["lasting", "uncollected"]


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """In the body no garbage is collected: what it makes is needed until its end, and Python would
    look through all of Numba's objects, too, which takes as long as compiling a small program."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def lasting() -> Iterator[None]:
    """The same, where what there is in the end lasts as long as the process: it counts as old."""
    collects = gc.isenabled()
    with uncollected():
        yield
        if collects and not gc.get_freeze_count():  # else somebody wants it to stay frozen
            gc.freeze()
            gc.unfreeze()
