"""What conversions of this thread have refused: C code replaces such an error by one of its own,
and `except (TypeError, ValueError)` goes on without one, into another branch than plain numbers do.
"""

import threading
from typing import NamedTuple

from ..errors import NbgradError, TraceError, UntrackedError
from ..runtime.lines import calling_line
from . import modes

_MOST = 100  # notes that a thread keeps: one of them is enough for an error

# Errors of NumPy and Python in place of ours: of `x.flat[0] = v` and of `"%d" % v`.
_REPLACED = ("Error setting single item of array", "%d format: a real number", "%i format: a real")

Kind = type[UntrackedError | TraceError]


class _Note(NamedTuple):
    number: int
    kind: Kind
    message: str
    line: str


class _Total:
    """How many conversions all threads have refused: the one thing that is looked at by functions
    that ask for none."""

    __slots__ = ("count",)


total = _Total()
total.count = 0


class _Refusals(threading.local):
    """The last conversion that this thread refused, and those that were not yet raised to the end
    of a transformation. The errors are not kept, as their tracebacks hold the arrays of the user's
    function."""

    number = 0
    kind: Kind = UntrackedError
    message = ""

    def __init__(self):
        self.noted: list[_Note] = []


_refusals = _Refusals()


def refused(message: str, kind: Kind = UntrackedError, *, noted: bool = True) -> Exception:
    """The error for a conversion. It is `noted` where a plain value would have been converted:
    otherwise NumPy raises a TypeError as well, and code that catches it is right."""
    total.count += 1
    _refusals.number, _refusals.kind, _refusals.message = total.count, kind, message
    notes = _refusals.noted
    if noted and len(notes) < _MOST and modes.innermost() is not None:
        notes.append(_Note(total.count, kind, message, calling_line()))
    return kind(message)


def settle(before: int, error: BaseException | None) -> None:
    """At the end of a function that began after `before` refusals: raise one that it went on after,
    or explain an `error` that C code of SciPy raised in its place, such as "Unable to parse
    arguments"."""
    mine = forget(before)
    if error is None and mine:
        note = mine[0]
        total.count += 1
        _refusals.noted.append(note._replace(number=total.count))  # whatever catches this one, too
        where = f" at {note.line}" if note.line else ""
        raise note.kind(
            f"an error was caught{where}, and the function went on without the number that it "
            "asked for, where plain numbers take another way: let the error pass, or write that "
            f"way in np functions. The error: {note.message}"
        )
    if isinstance(error, Exception) and _refusals.number > before:
        _explain(error)


def forget(before: int) -> list[_Note]:
    """The notes of this thread since `before` refusals, which are dropped: for what tries another
    way that is right."""
    notes = _refusals.noted
    mine = [note for note in notes if note.number > before]
    if mine:
        notes[:] = [note for note in notes if note.number <= before]
    return mine


def forget_here() -> None:
    """Drop the latest notes of the user's line that runs: another way is tried there."""
    notes = _refusals.noted
    line = calling_line() if notes else ""
    while notes and notes[-1].line == line:
        notes.pop()


def _explain(error: Exception) -> None:
    traceback = error.__traceback__
    if isinstance(error, NbgradError) or traceback is None:
        return
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    # A SystemError comes of C code that runs on beside an exception: anywhere.
    module = traceback.tb_frame.f_globals.get("__name__") or ""
    ours = isinstance(error, SystemError) or str(error).startswith(_REPLACED)
    if ours or module.split(".")[0] == "scipy":
        raise _refusals.kind(_refusals.message) from error
