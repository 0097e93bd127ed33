"""NumPy's floating-point error state, for ops on tracked values: `np.errstate`, `np.seterr`, and
filters that make RuntimeWarnings errors.

Kernels report nothing, so in NumPy's default state an op only compares some pointers. Where the
state or a filter asks for reports, NumPy itself computes the call from the plain values first, and
what it finds is reported as the state says. nbgrad then computes the call, all errors ignored.
"""

import ctypes
import operator
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from functools import partial
from types import CodeType, FrameType
from typing import Any

import numpy as np
from numpy._core import umath  # pyright: ignore[reportAttributeAccessIssue]

from ..capi.error_state import Asked as AskedWriter
from ..capi.replaceable import replaceable
from ..runtime import layout
from .functions import mapped

__all__ = ["CURRENT", "Asked", "asked", "checked", "entries", "operator_checked", "quiet"]

CURRENT = umath._extobj_contextvar
"""NumPy's context variable: each state that is set is another object."""
_state = CURRENT.get
_KINDS = {
    "divide by zero": "divide",
    "overflow": "over",
    "underflow": "under",
    "invalid value": "invalid",
}
_OPERATORS = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.matmul: operator.matmul,
}
_HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_FOLDERS = (_HERE, os.path.dirname(np.__file__) + os.sep)
_ARRAYS = (*(_HERE + room + os.sep for room in ("core", "eager", "values", "numpy")), _FOLDERS[1])
_OWN = tuple(
    _HERE + room for room in ("rules", "nn", "stats", "special", "linalg", "scipy", "optim")
)

entries: set[CodeType] = set()
"""The code of NumPy's protocols and of methods, which catch `Asked`."""


class Asked(BaseException):
    """Raised by an op inside a call of a NumPy function, which is to be checked as a whole."""


class _Quiet:
    """States that ask for no report, with the filters of warnings: the list, its length and its
    first item, as each change of the filters changes one of those. `words` has them for C code."""

    def __init__(self):
        self.default = self.last = Context().run(_state)
        self.filters: Any = None
        self.first: Any = None
        self.count = -1
        self.words = np.zeros(7, np.int64)

    def note(self, state: Any, filters: Any) -> None:
        self.last, self.filters = state, filters
        self.count, self.first = len(filters), filters[0]
        if layout.IS_KNOWN and (place := layout.version_place()) is not None:
            version, items = id(vars(warnings)) + place, id(filters) + layout.HEAD
            seen = ctypes.c_size_t.from_address(version).value
            states = id(self.default), id(state)
            self.words[:] = *states, version, seen, items, self.count, id(self.first)


quiet = _Quiet()


@replaceable(lambda: AskedWriter(CURRENT, quiet.words))
def asked() -> bool:
    """Whether NumPy's state or a filter of warnings asks for reports."""
    state, filters = _state(), warnings.filters
    if (
        (state is quiet.default or state is quiet.last)
        and filters is quiet.filters
        and len(filters) == quiet.count
        and filters[0] is quiet.first
    ):
        return False
    if np.geterrcall() is _nothing:
        return False
    if filters_ask(filters):
        return True
    for kind, mode in np.geterr().items():
        if mode != "ignore" and (mode != "warn" or kind == "under"):
            return True
    if filters:
        quiet.note(state, filters)
    return False


def ignored() -> np.errstate:
    """The state in which nothing is reported, whatever filters there are."""
    return np.errstate(all="ignore", call=_nothing)


def _nothing(kind: str, flag: int) -> None:
    pass


def filters_ask(filters: Sequence) -> bool:
    """Whether a filter names RuntimeWarnings, so that they are errors or shown."""
    for action, message, category, module, line in filters:
        if issubclass(RuntimeWarning, category):
            if action != "ignore":
                return True
            if message is None and module is None and not line:
                return False
    return False


def checked(call: Callable, args: Sequence, options: dict) -> np.errstate:
    """Report the errors of NumPy's `call` on the plain values; the state to compute it in again.

    Raises what the state asks for, and Asked inside of another call.
    """
    frame: Any = sys._getframe(2)
    if frame.f_code.co_name == "__array_ufunc__":  # of a subclass, for the same call
        frame = frame.f_back
    if _is_users(frame):
        _report(_events(call, args, options))
    return ignored()


def operator_checked(primitive: Any, args: Sequence, params: dict) -> np.errstate:
    """`checked` for a primitive, where that is an operator."""
    function = primitive.function
    if primitive.operator:
        call = primitive.reference if params else _OPERATORS.get(function)
    else:
        call = function if isinstance(function, np.ufunc) else None
    if _is_users(sys._getframe(2)) and call is not None:
        _report(_events(call, args, params))
    return ignored()


_CALLING = (np.apply_along_axis, np.apply_over_axes, np.piecewise)


def _is_users(frame: FrameType | None) -> bool:
    """Whether the user calls what runs in a frame, and not one of nbgrad's own functions, which
    mask what they compute.

    Raises Asked inside of another call of NumPy. One that calls functions of the user does not
    count: those are checked on their own.
    """
    caller = None
    while frame is not None and (name := frame.f_code.co_filename).startswith(_FOLDERS):
        if frame.f_code in entries and frame.f_locals.get("func") not in _CALLING:
            raise Asked
        if caller is None and not name.startswith(_ARRAYS):
            caller = name
        frame = frame.f_back
    return caller is None or not caller.startswith(_OWN)


class _Report:
    """Takes the errors of a call: messages as of a log, or kinds with their flags. Those of a
    sample that another one had before count once."""

    def __init__(self):
        self.events: dict[tuple[str, int, int], None] = {}
        self.times: Counter[str] = Counter()

    def write(self, message: str) -> None:
        self(message, 0)

    def __call__(self, text: str, flag: int) -> None:
        self.times[text] += 1
        self.events[text, flag, self.times[text]] = None


def _events(call: Callable, args: Sequence, options: dict) -> list[tuple[str, int, int]]:
    """The errors of a call on plain values, for all samples that those stand for. Any other error
    is that of nbgrad's own function, too, which tells it better."""
    report, states = _Report(), {}
    for kind, mode in np.geterr().items():
        called = mode == "call" and np.geterrcall() is not None
        states[kind] = mode if mode == "ignore" else "call" if called else "log"
    with np.errstate(**states, call=report):
        try:
            for given, named in _samples([list(args), list(options.values())]):
                report.times.clear()
                call(*given, **dict(zip(options, named, strict=True)))
        except Warning:
            raise
        except Exception:
            pass
    return list(report.events)


def _report(events: list[tuple[str, int, int]]) -> None:
    """Raise, warn, call, print or log as NumPy's state says."""
    modes = np.geterr()
    handler: Any = np.geterrcall()
    for message, flag, _ in events:
        text = message.removeprefix("Warning: ").rstrip("\n")
        kind, _, name = text.partition(" encountered in ")
        match modes[_KINDS[kind]]:
            case "raise":
                raise FloatingPointError(text)
            case "warn":
                warnings.warn(text, RuntimeWarning, stacklevel=_depth())
            case "print":
                os.write(2, message.encode())
            case "call" if handler is not None:
                handler(kind, flag)
            case "log" if handler is not None:
                handler.write(message)
            case "call":
                raise NameError(
                    f"python callback specified for {kind} (in  {name}) but no function found."
                )
            case "log":
                raise NameError(
                    f"log specified for {kind} (in {name}) but no object with write method found."
                )


def _depth() -> int:
    """The level of the caller's stack at which the user's code is."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDERS):
        depth, frame = depth + 1, frame.f_back
    return depth


class _Samples:
    """Plain values for many samples: a leading axis for each level of `vmap`."""

    def __init__(self, values: np.ndarray, levels: list[int]):
        self.values, self.levels = values, levels


def _samples(nested: list) -> Iterator[list]:
    """The arguments of a call as plain copies, for each sample that they stand for."""
    counts: dict[int, int] = {}

    def plain(x: Any) -> Any:
        levels: list[int] = []
        x = getattr(x, "held", x) if issubclass(type(x), np.ndarray) else x
        while hasattr(type(x), "below"):
            if x.is_batch:
                levels.insert(0, x.level)
            x = x.below
        if not issubclass(type(x), np.ndarray):
            return x
        counts.update(zip(levels, x.shape, strict=False))
        return _Samples(np.array(x), levels)

    nested = mapped(plain, nested)
    for place in np.ndindex(*counts.values()):
        at = dict(zip(counts, place, strict=True))
        yield mapped(partial(_at, at), nested)


def _at(place: dict[int, int], x: Any) -> Any:
    if type(x) is not _Samples:
        return x
    return x.values[tuple([place[level] for level in x.levels])]
