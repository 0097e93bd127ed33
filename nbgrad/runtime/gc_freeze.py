"""Context managers without garbage collection, for imports and compilations."""

import contextlib
import gc
import sys
from collections.abc import Iterator

__all__ = ["into_oldest_generation", "uncollected"]


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection in the block. Its objects are needed until its end, and a
    collection visits all objects of Numba, too, which takes as long as compiling a small
    program."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def into_oldest_generation() -> Iterator[None]:
    """Disable garbage collection in the block, and move all objects to the oldest generation at its
    end, as they live as long as the process."""
    ages = gc.isenabled() and not _is_frozen()
    with uncollected():
        yield
        if ages:
            gc.freeze()
            gc.unfreeze()


def _is_frozen() -> bool:
    """Whether a program has called `gc.freeze`, so that `gc.unfreeze` must not be called. Python
    3.12 starts with some frozen objects of its own, but `sys.modules` is not one of them."""
    return gc.get_freeze_count() > 0 and all(x is not sys.modules for x in gc.get_objects())
