"""Whether a program means the same on NumPy and here: its inputs stay, and it lies in C order."""

import warnings
from typing import Any

import numpy as np

from ..programs import Program
from ..reference import Reference


class _OutOfOrder(Exception):
    pass


def is_sound(program: Program) -> bool:
    """Whether NumPy runs it on inputs that cannot be written to, and puts what it computes in C
    order. Programs that write nothing are sound."""
    if not any(step.writes for step in program.steps):
        return True
    held = [_closed(x.make()) for x in program.inputs]

    def look(op: str, x: Any, *args: Any) -> Any:
        if isinstance(x, np.ndarray) and not x.flags.c_contiguous:
            raise _OutOfOrder
        return x

    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args = [held[i] for i in program.arguments]
            program.function(Reference(), captured=held, shake=look)(*args)
    except Exception:
        return False
    return True


def _closed(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        x.flags.writeable = False
    return x
