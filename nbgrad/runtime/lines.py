"""The running line of the user's code, for messages and programs."""

import linecache
import os
import sys
from functools import cache
from types import FrameType

_HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def calling_line(frame: FrameType | None = None) -> str:
    """The innermost running line outside of this package, NumPy and SciPy, as `file:line: text`, or
    ""; `frame` is where to start."""
    frame = frame or sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        library = frame.f_globals.get("__name__", "").startswith(_LIBRARIES)
        if not (_is_in_package(code.co_filename) or library):
            text = linecache.getline(code.co_filename, frame.f_lineno).strip()
            place = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
            return f"{place}: {text}" if text else place
        if code.co_name == "trace" and code.co_filename.endswith(_TRACE):
            return ""
        frame = frame.f_back
    return ""


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of this package."""
    return _is_in_package(frame.f_code.co_filename)


@cache
def _is_in_package(path: str) -> bool:
    return path.startswith(_HERE) and not path.startswith(_OUTSIDE)


# The experiments are users' code.
_OUTSIDE = _HERE + "experiments" + os.sep
_LIBRARIES = "numpy.", "scipy."
_TRACE = os.path.join("static", "trace", "record.py")


def user_line(frame: FrameType | None = None) -> str:
    """`calling_line` in parentheses, as the end of a message."""
    line = calling_line(frame)
    return f" ({line})" if line else ""
