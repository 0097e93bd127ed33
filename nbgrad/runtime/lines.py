"""Lines of the user's code, for messages and programs: the running one, and those of functions."""

import linecache
import os
import sys
from functools import cache
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

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
            place = f"{file_name(code.co_filename)}:{frame.f_lineno}"
            return f"{place}: {text}" if text else place
        if code.co_name == "trace" and code.co_filename.endswith(_TRACE):
            return ""
        frame = frame.f_back
    return ""


def ipython() -> Any:
    """The shell of IPython that runs this process, or None."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def file_name(path: str) -> str:
    """The name of a file without its folder; of a cell of a notebook, its number: `In [5]`."""
    cells = getattr(getattr(ipython(), "compile", None), "_filename_map", {})
    return f"In [{cells[path]}]" if path in cells else os.path.basename(path)


class Line(NamedTuple):
    """A line of a function, counted from its definition: a function may be moved in its file."""

    code: CodeType
    offset: int

    @property
    def number(self) -> int:
        return self.code.co_firstlineno + self.offset

    @property
    def text(self) -> str:
        """The line without its indentation; "" if the file is not found."""
        return linecache.getline(self.code.co_filename, self.number).strip()


def is_users(function: FunctionType) -> bool:
    """Whether a function is none of this package, Numba, NumPy or SciPy."""
    home = f"{function.__module__}."
    return not (home.startswith(_COMPILED) or _is_in_package(function.__code__.co_filename))


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of this package."""
    return _is_in_package(frame.f_code.co_filename)


def level_of_user() -> int:
    """The `stacklevel` with which a warning of the caller points at the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_ours(frame):
        level, frame = level + 1, frame.f_back
    return level


@cache
def _is_in_package(path: str) -> bool:
    return path.startswith((_HERE, "<nbgrad")) and not path.startswith(_OUTSIDE)


@cache
def is_inner(path: str) -> bool:
    """Whether a file is of this package or of a library that it calls or is called by: NumPy,
    SciPy, Numba, Python's own."""
    if _is_in_package(path) or path.startswith("<frozen"):
        return True
    if f"{os.sep}site-packages{os.sep}" in path:
        return any(f"{os.sep}site-packages{os.sep}{name}{os.sep}" in path for name in _CALLED)
    return path.startswith(_PYTHONS)


# The experiments are users' code.
_OUTSIDE = _HERE + "experiments" + os.sep
_LIBRARIES = "numpy.", "scipy."
_CALLED = "numpy", "scipy", "numba", "llvmlite", "optree", "opt_einsum"
_PYTHONS = os.path.dirname(os.__file__) + os.sep
_COMPILED = *_LIBRARIES, "numba."
_TRACE = os.path.join("static", "trace", "record.py")


def user_line(frame: FrameType | None = None) -> str:
    """`calling_line` in parentheses, as the end of a message."""
    line = calling_line(frame)
    return f" ({line})" if line else ""
