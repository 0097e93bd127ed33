"""Recording: a function is run once on symbols, and what it does to them is its program."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import Aval, Primitive, new_level
from ..errors import TraceError
from ..symbols import Builder, Symbol, calling_line
from ..transforms import trees
from .frozen import Generators
from .program import Program

_INT = np.dtype(np.int64)
# What integers of Python stay integers under.
_WHOLE = {"add", "subtract", "multiply", "floor_divide", "remainder", "negative", "absolute",
          "maximum", "minimum", "square", "sign", "copy", "where", "clip", "sum", "max", "min",
          "prod", "cumsum", "diff"}  # fmt: skip
# What keeps the dtype of its arguments, bools too.
_MOVES = {"reshape", "transpose", "broadcast_to", "concatenate", "stack", "flip", "roll", "index",
          "gather"}  # fmt: skip


class _Mine(threading.local):
    depth = 0


_mine = _Mine()


def is_recording() -> bool:
    """Whether a function is being recorded in this thread."""
    return _mine.depth > 0


class Recorder(Builder):
    """A builder for whole programs: it takes in captured arrays, keeps integers whole, and notes
    the user's lines."""

    def __init__(self, level: int):
        super().__init__(level)
        self.captured: dict[int, tuple[Symbol, np.ndarray]] = {}

    @property
    def recorded(self) -> bool:
        """Whether any op was applied: a derivative may be a constant all the same."""
        return bool(self._known)

    def apply(self, primitive: Primitive, args: Sequence, params: dict) -> Any:
        args = [self._captured(a) if isinstance(a, np.ndarray) else a for a in args]
        symbol = super().apply(primitive, args, params)
        if isinstance(symbol, Symbol) and not symbol.line and symbol.primitive is not None:
            lines = (a.line for a in reversed(args) if isinstance(a, Symbol) and a.line)
            symbol.line = calling_line() or next(lines, "")
        return symbol

    def infer(self, primitive: Primitive, args: Sequence, params: dict) -> Aval:
        aval = super().infer(primitive, args, params)
        if primitive.name in _WHOLE and aval.dtype != _INT:
            start = 1 if primitive.name == "where" else 0
            if all(_is_whole(arg) for arg in args[start:]):
                return Aval.of(aval.shape, _INT)
        if primitive.name in _MOVES and args[0].dtype.kind not in "f":
            moved = args[:1] if primitive.name == "gather" else args
            return Aval.of(aval.shape, np.result_type(*(arg.dtype for arg in moved)))
        return aval

    def _captured(self, array: np.ndarray) -> Symbol:
        if id(array) not in self.captured:
            if array.dtype.kind not in "fiub":
                raise TraceError(
                    f"an array of {array.dtype} is captured: compiled functions know floats, "
                    "integers and bools"
                )
            self.captured[id(array)] = (self.input(Aval.of(array.shape, array.dtype)), array)
        return self.captured[id(array)][0]


def _is_whole(x: Any) -> bool:
    if isinstance(x, Symbol):
        return x.dtype.kind in "iu"
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def trace(f: Callable, name: str, avals: Sequence[Aval], rebuild: Callable) -> Program:
    """Record `f` called with `rebuild(symbols)`, positional and keyword arguments, for symbols of
    the given avals. None among the results, as gradients have it beside what is static, stays None.

    Raises TraceError where the function needs a value, or gives something else than arrays.
    """
    with new_level(minimum=1) as level:
        recorder = Recorder(level)
        inputs = [recorder.input(aval) for aval in avals]
        args, options = rebuild(inputs)
        generators = Generators(f, [*args, *options.values()])
        _mine.depth += 1
        try:
            result = f(*args, **options)
        finally:
            _mine.depth -= 1
        generators.check()
    outputs, rebuild_outputs = trees.flatten(result)
    places = [i for i, output in enumerate(outputs) if output is not None] or range(len(outputs))

    def rebuilt(results: Sequence) -> Any:
        filled: list[Any] = [None] * len(outputs)
        for i, x in zip(places, results, strict=True):
            filled[i] = x
        return rebuild_outputs(filled)

    found = []
    for output in (outputs[i] for i in places):
        if isinstance(output, np.ndarray) and output.dtype.kind in "fiub":
            output = recorder.apply(Primitive.registry["copy"], [output], {})
        if isinstance(output, Symbol) and output.level == level:
            found.append(output)
        elif isinstance(output, (float, int, np.generic)):
            found.append(output)
        else:
            raise TraceError(
                f"{name}: a compiled function returns arrays that depend on its arguments, and "
                f"numbers; this one returned {_article(type(output).__name__)}"
            )
    if not recorder.recorded and not any(isinstance(output, Symbol) for output in found):
        raise TraceError(
            f"{name}: nothing that the function returns depends on its arguments; return arrays "
            "computed from them"
        )
    captured = tuple(recorder.captured.values())
    return Program(name, tuple(inputs), captured, tuple(found), rebuilt)


def _article(name: str) -> str:
    return "None" if name == "NoneType" else f"a {name}"
