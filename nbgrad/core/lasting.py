"""Objects that last as long as the process, as those that imports make: nothing is collected."""

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["lasting"]


@contextlib.contextmanager
def lasting() -> Iterator[None]:
    """In the body no garbage is collected, and what there is after it counts as old: Python would
    look through it at once, with all of Numba's, which takes as long as half of our import."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        if not gc.get_freeze_count():  # else somebody wants it to stay frozen
            gc.freeze()
            gc.unfreeze()
    finally:
        gc.enable()
