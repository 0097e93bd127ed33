"""NumPy's floating-point error state for ops on tracked values: `np.errstate`, `np.seterr`, and
warning filters that turn a RuntimeWarning into an error.

Kernels do not detect floating-point errors. If the state or a filter asks for reports, a call is
therefore computed twice: by NumPy from the plain values, whose errors are reported, and then by
nbgrad with all errors ignored. In NumPy's default state an op only tests that nothing has changed.
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
"""NumPy's context variable. Each state that is set is a new object."""
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
"""The code of functions that catch `Asked`: NumPy's protocols and methods of arrays."""


class Asked(BaseException):
    """Raised by an op inside of a NumPy function, which is then checked as a whole."""


class _Quiet:
    """Error states and warning filters for which `asked` returned False.

    A change of the filters changes the list, its length or its first item. `words` has the same
    for the C version of `asked`.
    """

    def __init__(self):
        self.default = self.last = Context().run(_state)
        self.filters: Any = None
        self.first: Any = None
        self.count = -1
        self.words = np.zeros(7, np.int64)

    def note(self, state: Any, filters: Any) -> None:
        self.last, self.filters = state, filters
        self.count, self.first = len(filters), filters[0]
        if layout.IS_KNOWN:
            version, seen = id(filters), 0
            if (place := layout.version_place()) is not None:
                version = id(vars(warnings)) + place
                seen = ctypes.c_size_t.from_address(version).value
            states, items = (id(self.default), id(state)), id(filters) + layout.HEAD
            self.words[:] = *states, version, seen, items, self.count, id(self.first)


quiet = _Quiet()


@replaceable(lambda: AskedWriter(CURRENT, quiet.words))
def asked() -> bool:
    """Whether NumPy's error state or a warning filter asks for reports."""
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
    """The state in which nothing is reported, with any warning filters."""
    return np.errstate(all="ignore", call=_nothing)


def _nothing(kind: str, flag: int) -> None:
    pass


def filters_ask(filters: Sequence) -> bool:
    """Whether a filter shows a RuntimeWarning or makes it an error."""
    for action, message, category, module, line in filters:
        if issubclass(RuntimeWarning, category):
            if action != "ignore":
                return True
            if message is None and module is None and not line:
                return False
    return False


def checked(call: Callable, args: Sequence, options: dict) -> np.errstate:
    """Report the errors of NumPy's `call` on the plain values, and return the state in which nbgrad
    computes it. Raises Asked inside of another NumPy function.
    """
    frame: Any = sys._getframe(2)
    if frame.f_code.co_name == "__array_ufunc__":  # of a subclass, for the same call
        frame = frame.f_back
    if _is_users(frame):
        _report(_events(call, args, options))
    return ignored()


def operator_checked(primitive: Any, args: Sequence, params: dict) -> np.errstate:
    """`checked` for a primitive; only operators and ufuncs are reported."""
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
    """Whether a frame was called by the user rather than by nbgrad's own functions of SciPy, layers
    and the like, which discard invalid elements with masks.

    Raises Asked inside of another NumPy function, unless that calls functions of the user, whose
    ops are checked one by one.
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
    """Collects the errors of a call, as the log or the callback of an error state. An error that
    occurs in several samples is kept once."""

    def __init__(self):
        self.events: dict[tuple[str, int, int], None] = {}
        self.times: Counter[str] = Counter()

    def write(self, message: str) -> None:
        self(message, 0)

    def __call__(self, text: str, flag: int) -> None:
        self.times[text] += 1
        self.events[text, flag, self.times[text]] = None


def _events(call: Callable, args: Sequence, options: dict) -> list[tuple[str, int, int]]:
    """The floating-point errors of a call on plain values, for all samples. Exceptions are ignored:
    nbgrad's own function raises them with a better message."""
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
    """Raise, warn, call, print or log, as NumPy's error state says."""
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
    """The `stacklevel` of the user's code."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDERS):
        depth, frame = depth + 1, frame.f_back
    return depth


class _Samples:
    """Plain values of many samples, with a leading axis for each level of `vmap`."""

    def __init__(self, values: np.ndarray, levels: list[int]):
        self.values, self.levels = values, levels


def _samples(nested: list) -> Iterator[list]:
    """The arguments of a call as plain copies, for each sample."""
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
