"""`trace`, which records a program: it calls a function on symbols, and keeps the ops."""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...capi import gate
from ...core.array import Array
from ...core.memory import Argument
from ...core.primitive import Aval, Primitive, new_level
from ...core.symbols import Builder, Symbol, aval_of, recording, symbol_of
from ...errors import CapturedError, ComplexError, RecordingWarning, TraceError, require_unmasked
from ...kernels.shapes import require_axes
from ...rules.arithmetic import copy
from ...rules.dtypes import known
from ...rules.layout import transpose
from ...runtime.kinds import is_a
from ...runtime.lines import calling_line, level_of_user
from ...transforms import trees
from ...transforms.direct import callee
from ...transforms.objects import NUMBERS
from ...values.tracked import below
from .captured import Captures, one_of_each
from .closure import Fixed
from .made import formula_of, made_of_sizes
from .program import Operand, Program
from .rng_guard import Generators

# Recording so many ops takes about two seconds. It is not the time that counts, so that the same
# functions warn on all machines.
_LONG = 15_000

# Arguments of these classes are recorded as they are; others, such as lists, become arrays.
_KNOWN = (Array, float, int, np.generic)


def is_recording() -> bool:
    """Whether a function is being recorded in this thread."""
    return recording.recorder is not None


class Recorder(Builder):
    """A builder for programs. It makes captured arrays inputs, tracks which values are Python
    numbers, and stores the user's lines."""

    def __init__(self, level: int, most: int | None = None):
        super().__init__(level, hands_out=True)
        self._most = most  # ops that are recorded
        self._has_warned = False
        self.captured = Captures()
        self.fixed = Fixed()
        self.checked: dict[Symbol, None] = {}  # ops that raise for some positions
        # Inputs that must not share memory, as the function writes to one of them.
        self.apart: dict[tuple[Symbol, Symbol], str] = {}

    @property
    def recorded(self) -> bool:
        """Whether any op was applied; the results may be constants even so."""
        return bool(self._known)

    def symbols(self) -> list[Symbol]:
        """The results of ops, in the order in which they were recorded."""
        return list(self._known.values())

    def apply(self, primitive: Primitive, args: Sequence, params: dict) -> Any:
        symbols = []
        for x in args:
            self.fixed.has_numbers |= is_a(x, np.generic)
            symbols.append(symbol_of(x) if isinstance(x, _KNOWN) else self.capture(x))
        args = _as_floats(symbols) if primitive.takes_numbers else symbols
        params = {name: self._fixed_in(value) for name, value in params.items()}
        symbol = super().apply(primitive, args, params)
        if self._most is not None and len(self._known) > self._most:
            raise TraceError(
                f"it takes more than {self._most} ops, perhaps in a loop over elements"
            )
        if len(self._known) > _LONG and not self._has_warned:
            self._has_warned = True
            lines = Counter(x.line for x in self._known.values() if x.line)
            warnings.warn(
                f"compile: the function has recorded {_LONG} ops, each step of a Python loop anew: "
                "use nbgrad.scan or nbgrad.loop, which record one step, or nbgrad.njit for loops "
                f"over elements ({max(lines, key=lines.__getitem__, default='no line is known')})",
                RecordingWarning,
                stacklevel=level_of_user(),
            )
        if primitive.operator and isinstance(symbol, Symbol):
            symbol.weak = symbol.weak or all(map(_is_weak, args))
        if primitive.checks:
            self.checked[symbol] = None
        if isinstance(symbol, Symbol) and not symbol.line and symbol.primitive is not None:
            lines = (a.line for a in reversed(args) if isinstance(a, Symbol) and a.line)
            symbol.line = calling_line() or next(lines, "")
        return symbol

    def infer(self, primitive: Primitive, args: Sequence, params: dict) -> Aval:
        avals = map(_weak_aval if primitive.takes_numbers else aval_of, args)
        return primitive.infer(*avals, **params)

    def capture(self, array: np.ndarray) -> Symbol:
        """Return the symbol of an array that the function closes over, read at each call."""
        require_unmasked(array, "compile: a captured array")
        array = np.asarray(array)
        if array.dtype.kind == "c":
            raise ComplexError(f"an array of {array.dtype} meets real ones in a compiled function")
        made = made_of_sizes(super().apply, self, array)
        if made is not None:
            return made
        if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
            # The transpose of an array in C order, as in the pullback of a captured matrix.
            return super().apply(transpose, [self.capture(array.T)], {"axes": (1, 0)})
        return self.captured.symbol_for(array, self._new_capture)

    def _new_capture(self, array: np.ndarray) -> Symbol:
        if array.dtype.kind not in "fiub":
            raise CapturedError(
                f"an array of {array.dtype} is captured: compiled functions know floats, "
                "integers and bools"
            )
        require_axes(array.shape, "compile: a captured array")
        return self.input(Aval.of(array.shape, known(array.dtype)))

    def make_constant(self, symbol: Symbol, number: float) -> None:
        """Make an input, which ops may use already, a number that is part of the program."""
        filled = self.full(number, symbol.aval)
        symbol.primitive, symbol.params = filled.primitive, filled.params

    def held(self, value: Operand) -> Symbol:
        return self.apply(copy, [value], {})

    def fix(self, array: np.ndarray) -> np.ndarray:
        """Copy an array whose values are part of the program, such as an index."""
        return self.fixed.copy_of(array)

    def _fixed_in(self, param: object) -> object:
        if isinstance(param, tuple):
            return tuple(map(self._fixed_in, param))
        return self.fix(param) if is_a(param, np.ndarray) else param


def _as_floats(args: list) -> list:
    """The arguments of an op that computes in floats if one of them is one: so 1 and 1.0 give the
    same op."""
    if any(isinstance(x, Symbol) and x.dtype.kind == "f" for x in args):
        return [float(x) if type(x) is int else x for x in args]
    return args


def _is_weak(x: Operand) -> bool:
    return x.weak if isinstance(x, Symbol) else type(x) in (float, int, bool)


def _weak_aval(x: Operand) -> Aval | float:
    """Return the argument of `infer` for a value: a number for a weak symbol."""
    if isinstance(x, Symbol) and x.weak:
        return 1 if x.dtype.kind == "i" else 1.0
    return aval_of(x)


def argument(recorder: Builder, symbol: Symbol, op: str) -> Symbol:
    """Return an input as the argument of the function. It is the caller's: writes to it raise."""
    handle = recorder.handed(symbol)
    if symbol.shape or not symbol.weak:
        handle.origin = Argument(op, TraceError)
    return handle


def trace(
    f: Callable, name: str, avals: Sequence[Aval], weak: Sequence[bool], rebuild: Callable,
    most: int | None = None, recorder_class: "type[Recorder]" = Recorder,
) -> Program:  # fmt: skip
    """Record `f` for arguments with these avals; `weak` says which are Python numbers, `most` how
    many ops there may be.

    `rebuild` makes the positional and keyword arguments from symbols. Raises TraceError if the
    function needs a value, or returns something else than arrays.
    """
    _traced = gate.traced
    with new_level(None, "compile", f) as level:
        recorder = recorder_class(level, most)
        inputs = [recorder.input(*pair) for pair in zip(avals, weak, strict=True)]
        args, options = rebuild([argument(recorder, x, "the compiled function") for x in inputs])
        held = [x for x in trees.flatten((args, options))[0] if not isinstance(x, NUMBERS)]
        outer, recording.recorder = recording.recorder, recorder
        try:
            with Generators(f, [*args, *options.values()]):
                result = callee(f)(*args, **options)
        finally:
            recording.recorder = outer
        # Strings, None, and static arguments such as functions are part of the result's structure.
        constants = {id(x) for x in held}
        outputs, rebuild_outputs = trees.flatten_values(
            result, lambda x: x is None or isinstance(x, str) or id(x) in constants
        )
        outputs = [symbol_of(below(output, level)) for output in outputs]
    results = []
    for output in outputs:
        if is_a(output, np.ndarray) and output.dtype.kind in "fiub":
            output = recorder.apply(copy, [output], {})
        if isinstance(output, Symbol) and output.level == level:
            results.append(output)
        elif is_a(output, (float, int, np.generic)):
            results.append(output)
        else:
            raise _unfit(name, f"a {type(output).__name__}")
    if not results:
        raise _unfit(name, "None" if result is None else "no array")
    if not recorder.recorded and not any(isinstance(output, Symbol) for output in results):
        raise TraceError(
            f"{name}: nothing that the function returns depends on its arguments; return arrays "
            "computed from them",
            code="NB-RESULT",
        )
    captured = recorder.captured.pairs()
    del args, options, result
    fixed, numbers, new = recorder.fixed.held(f, (array for _, array in captured))
    captured = one_of_each(captured, new)
    for i in numbers:
        recorder.make_constant(captured[i][0], captured[i][1].item())
    captured = tuple([pair for i, pair in enumerate(captured) if i not in numbers])
    program = Program(
        name, tuple(inputs), captured, tuple(results), rebuild_outputs, fixed,
        tuple(recorder.checked),
        apart=tuple([(*pair, why) for pair, why in recorder.apart.items()]),
    )  # fmt: skip
    numbers = {x for e in program.equations for x in e.args if type(x) is float}
    program.formulas.update((x, text) for x in numbers if (text := formula_of(x)))
    return program


def _unfit(name: str, description: str) -> TraceError:
    return TraceError(
        f"{name}: a compiled function returns arrays that depend on its arguments, and numbers; "
        f"this one returned {description}",
        code="NB-RESULT",
    )
