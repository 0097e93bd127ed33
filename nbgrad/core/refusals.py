"""Refused conversions of tracked values to plain ones.

C code may replace such an error by one of its own, which is then explained. The user's code may
catch it by `except (TypeError, ValueError)` and take another branch than for plain numbers; then
the error is raised again at the end of the transformation.
"""

import threading
from typing import NamedTuple

from ..errors import NbgradError, TraceError, UntrackedError
from ..runtime.lines import calling_line
from . import modes

_MOST = 100  # notes that a thread keeps; one is enough for an error

# Errors that NumPy and Python raise in place of ours: `x.flat[0] = v`, `"%d" % v`.
_REPLACED = ("Error setting single item of array", "%d format: a real number", "%i format: a real")

Kind = type[UntrackedError | TraceError]


class _Note(NamedTuple):
    number: int
    kind: Kind
    message: str
    line: str


class _Total:
    """The number of refused conversions of all threads. A transformation first compares this."""

    __slots__ = ("count",)


total = _Total()
total.count = 0


class _Refusals(threading.local):
    """The last refused conversion of this thread, and notes of those that have not reached the end
    of a transformation. The errors themselves would keep the user's arrays alive."""

    number = 0
    kind: Kind = UntrackedError
    message = ""

    def __init__(self):
        self.noted: list[_Note] = []


_refusals = _Refusals()


def refused(message: str, kind: Kind = UntrackedError, *, noted: bool = True) -> Exception:
    """The error for a refused conversion. It is `noted` unless NumPy raises a TypeError for the
    same conversion of a plain value: then code may catch it."""
    total.count += 1
    _refusals.number, _refusals.kind, _refusals.message = total.count, kind, message
    notes = _refusals.noted
    if noted and modes.innermost() is not None:
        del notes[: max(0, len(notes) + 1 - _MOST)]  # perhaps of code that has ended
        notes.append(_Note(total.count, kind, message, calling_line()))
    return kind(message)


def settle(before: int, error: BaseException | None) -> None:
    """At the end of a function that began after `before` refusals: raise a refusal that it caught,
    or explain an `error` of C code, such as "Unable to parse arguments" of SciPy."""
    mine = forget(before)
    if error is None and mine:
        note = mine[0]
        total.count += 1
        _refusals.noted.append(note._replace(number=total.count))
        where = f" at {note.line}" if note.line else ""
        raise note.kind(
            f"an error was caught{where}, and the function went on without the number that it "
            "asked for, where plain numbers take another way: let the error pass, or write that "
            f"way in np functions. The error: {note.message}",
            code="NB-CAUGHT",
        )
    if isinstance(error, Exception) and _refusals.number > before:
        _explain(error)


def forget(before: int) -> list[_Note]:
    """Remove and return the notes of this thread since `before` refusals, for callers that handle
    them."""
    notes = _refusals.noted
    mine = [note for note in notes if note.number > before]
    if mine:
        notes[:] = [note for note in notes if note.number <= before]
    return mine


def forget_here() -> None:
    """Remove the latest notes of the user's current line, which is handled in another way."""
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


ELSEWHERE = {
    "as_integer_ratio": "fractions are plain numbers: compute with x itself",
    **dict.fromkeys(("numpy", "detach"), "x.data is the plain array"),
    "view": "x[...] is a view; a library that asks for more, such as pandas, is given x.data",
    "requires_grad": "what nbgrad.track made has a gradient",
    "zero_grad": "write x.grad = None, or nbgrad.reset(x)",
}
"""Attributes of arrays in other libraries, and what to write instead."""
