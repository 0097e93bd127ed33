"""Times in which no garbage is collected: of imports and compilations, whose objects last."""

import contextlib
import gc
import sys
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
    ages = gc.isenabled() and not _is_frozen()
    with uncollected():
        yield
        if ages:
            gc.freeze()
            gc.unfreeze()


def _is_frozen() -> bool:
    """Whether a program has called `gc.freeze`, and wants what was frozen to stay so. Python 3.12
    begins with some objects of its own that are, and `sys.modules` is none of them."""
    return gc.get_freeze_count() > 0 and all(x is not sys.modules for x in gc.get_objects())
