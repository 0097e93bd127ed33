"""The line of the user's code that is running, for messages and programs."""

import linecache
import os
import sys
from types import FrameType

_HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def calling_line(frame: FrameType | None = None) -> str:
    """The line of code outside of this package, and of NumPy and SciPy, that is running, here or in
    a frame: `file:line: text`, or ""."""
    frame = frame or sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        library = frame.f_globals.get("__name__", "").startswith(_LIBRARIES)
        if not (is_ours(frame) or library):
            text = linecache.getline(code.co_filename, frame.f_lineno).strip()
            place = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
            return f"{place}: {text}" if text else place
        if code.co_name == "trace" and code.co_filename.endswith(_TRACE):
            return ""
        frame = frame.f_back
    return ""


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of this package."""
    name = frame.f_code.co_filename
    return name.startswith(_HERE) and not name.startswith(_OUTSIDE)


# Programs that ship with the package are users of it.
_OUTSIDE = _HERE + "experiments" + os.sep
_LIBRARIES = "numpy.", "scipy."
_TRACE = os.path.join("static", "trace", "record.py")


def user_line(frame: FrameType | None = None) -> str:
    """`calling_line` to end a message with."""
    line = calling_line(frame)
    return f" ({line})" if line else ""
