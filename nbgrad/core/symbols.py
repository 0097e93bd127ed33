"""Symbols: values that record the ops applied to them.

A `Symbol` is a node of an expression graph: an input, or a primitive applied to symbols and
numbers. Equal expressions are one object (hash-consing), so a recorded program is in single
assignment form without common subexpressions. Compare symbols by identity: `==` is an op.
"""

import sys
import threading
from collections.abc import Callable, Container, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..errors import StaticError, TraceError, TruthError
from ..ir.naming import naming, tagged
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from . import leaks
from .array import Array
from .assertions import checked
from .conversions import SPACE, asking, unpicklable
from .functions import compared, in_scipy
from .keys import number_key, static_key
from .primitive import Aval, Primitive
from .proxy import Proxy
from .refusals import refused

# How to make a value static.
_STATIC = (
    "name the argument in static_argnames, or the attributes of its class that hold arrays in "
    "nbgrad.register(fields=...)"
)
_JOINING = (
    f"with {SPACE} arrays take traced values, as those made with like=x do; use np functions on it "
    "and nbgrad.at(plain)[x].get() for elements at positions x"
)


class Symbol(Array):
    """An input of a program (no primitive), or the result of one op."""

    __hash__ = object.__hash__
    __slots__ = ("args", "aval", "builder", "level", "line", "params", "primitive", "weak")
    aval: Aval
    level: int
    builder: "Builder"
    line: str  # of the user's code, if known
    weak: bool  # a Python number, which does not promote dtypes
    primitive: Primitive | None
    args: tuple[Any, ...]
    params: dict[str, Any]

    @classmethod
    def process(cls, level: int, primitive: Primitive, args: Sequence, params: dict):
        builder = next(a.builder for a in args if isinstance(a, Symbol) and a.level == level)
        if primitive.inlines:
            inline = primitive.inline_step if builder.is_step else primitive.inline  # pyright: ignore
            return inline(*args, **params)
        return builder.handed(builder.apply(primitive, [*map(Proxy.memory, args)], params))

    def __repr__(self):
        if leaks.over(self):
            return leaks.shown(self)
        return f"<symbol {self.primitive.name if self.primitive else 'input'} {self.aval}>"

    place = property(lambda self: f" ({self.line})" if self.line else "")

    def full_like(self, number: float):
        return self.builder.handed(self.builder.full(number, self.aval))

    def _snapshot(self) -> "Symbol":  # symbols are immutable
        return self

    def _fresh(self) -> "Symbol":
        return self.builder.handed(self)

    def constant(self, value: Any):
        return self.builder.handed(self.builder.constant(value))

    def settled(self):
        """This value with a dtype that promotes others, as differentiated values have."""
        return np.copy(self) if self.weak else self

    @property
    def below(self) -> Any:
        self._require_open()
        raise TraceError(
            "the numbers of a traced value were asked for while the function is recorded: keep it "
            "an array and use np functions" + user_line()
        )

    data = below

    def _detached(self, what: str) -> Exception:
        self._require_open()
        return refused(
            f"{what} of a traced value: it has no numbers while the function is recorded; keep it "
            f"an array and use np functions{user_line()}",
            TraceError,
        )

    def __bool__(self):
        self._require_open()
        if (truth := checked(self, sys._getframe(1))) is not None:
            return truth
        raise refused(
            f"{in_scipy(sys._getframe(1))}the truth of a traced value is not known while the "
            "function is recorded: use np.where(condition, x, y), nbgrad.cond(condition, f, g, "
            "*args), which runs one of two functions, nbgrad.while_loop in place of while, or "
            f"{_STATIC}{user_line()}",
            TruthError,
        )

    def __reduce__(self):
        raise TraceError(unpicklable("a traced value"))

    def __float__(self):
        self._require_open()
        ask, inside = asking(sys._getframe(1)), in_scipy(sys._getframe(1))
        way = ask.way if ask.op else "keep it an array and use np functions"
        raise refused(
            f"{inside or ask.prefix}float() of a traced value: it has no number while the function "
            f"is recorded; {way}{user_line(ask.frame)}",
            TraceError,
            noted=self._is_one,
        )

    def __int__(self):
        self._require_open()
        raise refused(
            "int() of a traced value: it has no number while the function is recorded; "
            f"{_STATIC}, or use nbgrad.loop in place of range{user_line()}",
            StaticError,
            noted=self._is_one,
        )

    __index__ = __int__

    def __array__(self, dtype=None, copy=None):
        self._require_open()
        if (answer := compared(self, None, sys._getframe(1))) is not None:
            return answer
        ask, inside = asking(sys._getframe(1)), in_scipy(sys._getframe(1))
        raise refused(
            f"{inside or ask.prefix}a traced value cannot become a plain array: it has no numbers "
            f"while the function is recorded; {ask.way if ask.op else _JOINING}"
            f"{user_line(ask.frame)}",
            TraceError,
        )


class Handle(Symbol):
    """A mutable array of a recorded function. It refers to a symbol, and to another one after a
    write. Equal expressions share a symbol, but have separate handles."""

    __slots__ = ("symbol",)
    __hash__ = Array.__hash__
    value_slots = ("symbol", "primitive", "args", "params", "line", "weak")
    symbol: Symbol

    def __init__(self, symbol: Symbol):
        self.symbol = symbol
        self.builder, self.level, self.aval = symbol.builder, symbol.level, symbol.aval
        self.primitive, self.args, self.params = symbol.primitive, symbol.args, symbol.params
        self.line, self.weak = symbol.line, symbol.weak
        self.origin = self.views = None

    @classmethod
    def process(cls, level: int, primitive: Primitive, args: Sequence, params: dict):
        for x in args:
            if type(x) is Handle:  # transformations of programs use symbols themselves
                x._require_open()
        return super().process(level, primitive, args, params)

    def _snapshot(self) -> Symbol:
        self._require_open()
        return self.symbol

    def _fresh(self) -> "Symbol":
        return Handle(self._snapshot())


def symbol_of(x: Any) -> Any:
    """The symbol of a handle; anything else is returned as it is."""
    return x.symbol if type(x) is Handle else x


def is_recorded(x: Any) -> bool:
    """Whether there is a symbol below a value, so that ops on it are recorded."""
    while isinstance(x, Array):
        if isinstance(x, Symbol):
            return True
        x = x.below
    return False


class _Recording(threading.local):
    """The recorder of the function that this thread is recording."""

    recorder: Any = None


recording = _Recording()


def lifted(args: Sequence) -> Sequence:
    """Convert the arguments of an op with recorded values: a plain array is captured by the
    recorder, as the function closes over it, so that ops of rules on it are recorded, too."""
    recorder = recording.recorder
    if recorder is None or not any(map(is_recorded, args)):
        return args
    return [recorder.capture(x) if type(x) is np.ndarray else x for x in map(Proxy.memory, args)]


def noted(x: Any) -> Any:
    """x, after noting that the recorded program depends on its values."""
    if recording.recorder is not None and is_a(x, np.ndarray):
        recording.recorder.fix(x)
    return x


class Builder:
    """Makes the symbols of one level, one for each expression."""

    is_step = False
    """Whether it records the body of a loop or a branch, which is differentiated as a program."""

    def __init__(self, level: int, hands_out: bool = False):
        self.level = level
        self.hands_out = hands_out
        self._known: dict[tuple, Symbol] = {}

    def handed(self, x: Any) -> Any:
        """A symbol for the recorded function: a handle if it may write to it."""
        return Handle(symbol_of(x)) if self.hands_out and isinstance(x, Symbol) else x

    def input(self, aval: Aval, weak: bool = False) -> Symbol:
        symbol = self._symbol(aval, None, (), {})
        symbol.weak = weak
        return symbol

    def full(self, number: float, aval: Aval) -> Symbol:
        """An array filled with a number."""
        params = {"number": float(number), "shape": aval.shape, "dtype": aval.dtype.name}
        return self.apply(full, (), params)

    def constant(self, value: Any) -> Symbol:
        """A plain array, or an array of a lower level, as a symbol."""
        if is_a(value, np.ndarray) and value.size and not any(value.strides):
            return self.full(value.flat[0].item(), Aval.of(value.shape, value.dtype))
        return self.held(value)

    def held(self, value: Any) -> Symbol:
        """An array of different numbers as a constant of the program."""
        raise TraceError("an array of plain numbers has no place in a formula")

    def apply(self, primitive: Primitive, args: Sequence, params: dict) -> Any:
        """The symbol of `primitive(*args, **params)`, or of a simpler expression."""
        params = {name: tagged(value) for name, value in params.items()}
        args = [symbol_of(arg) for arg in args]
        if primitive.simplify is not None:
            simpler = primitive.simplify(self, args, **params)
            if simpler is not None:
                return symbol_of(simpler)
        key = (
            primitive,
            tuple([id(arg) if isinstance(arg, Symbol) else number_key(arg) for arg in args]),
            tuple([(name, static_key(params[name])) for name in sorted(params)]),
        )
        symbol = self._known.get(key)
        if symbol is None:
            aval = self.infer(primitive, args, params)
            symbol = self._known[key] = self._symbol(aval, primitive, tuple(args), params)
        return symbol

    def infer(self, primitive: Primitive, args: Sequence, params: dict) -> Aval:
        """The shape and dtype of a result."""
        return primitive.infer(*map(aval_of, args), **params)

    def _symbol(self, aval, primitive, args, params) -> Symbol:
        if naming() is not None:
            aval = Aval.of(tagged(aval.shape), aval.dtype)
        symbol = Symbol()
        symbol.builder, symbol.level, symbol.aval, symbol.line = self, self.level, aval, ""
        symbol.primitive, symbol.args, symbol.params, symbol.weak = primitive, args, params, False
        symbol.origin = symbol.views = None
        return symbol


class _Full(Primitive):
    """An array filled with a number, in place of a constant array."""

    differentiable = False

    def form(self, graph, symbol):
        return graph.full(symbol.params["number"], symbol.shape, symbol.dtype)

    def evaluate(self, *args, **params):
        return np.full(params["shape"], params["number"], params["dtype"])

    def infer(self, *avals, **params) -> Aval:
        return Aval.of(params["shape"], np.dtype(params["dtype"]))

    def pullback(self, ct, out, args, need, **params):
        return []


full = _Full("full", notes="a constant of a program, without arguments to have samples of")


def is_full(x) -> bool:
    return isinstance(x, Symbol) and x.primitive is full


def aval_of(x) -> Any:
    """The argument of `infer` for a value: an Aval, or a Python number itself."""
    if isinstance(x, Array):
        return x.aval
    if is_a(x, (np.ndarray, np.generic)):
        return Aval.of(x.shape, x.dtype)
    return x


def topological(
    outputs: Iterable[Any], known: Container[Any] = frozenset(), level: int | None = None,
    args_of: Callable[[Symbol], Sequence[Any]] = attrgetter("args"),
) -> list[Symbol]:  # fmt: skip
    """The symbols on which `outputs` depend, in topological order and in order of first use; with
    `level`, only those of that level. A symbol depends on `args_of(symbol)`.

    The arguments of symbols in `known` are not visited. It is a set or dict, as `in` a list would
    call `==`.
    """
    order: list[Symbol] = []
    seen: set[int] = set()
    stack: list[tuple[Any, bool]] = [(x, False) for x in outputs][::-1]
    while stack:
        symbol, done = stack.pop()
        if done:
            order.append(symbol)
        elif (
            isinstance(symbol, Symbol) and id(symbol) not in seen and level in (None, symbol.level)
        ):
            seen.add(id(symbol))
            stack.append((symbol, True))
            if symbol not in known:
                stack += [(x, False) for x in reversed(args_of(symbol))]
    return order
