"""Kernels for callers in Python: their machine code for types of arguments, and the calls of it.

There is an entry for each set of types. Arguments that do not fit it go to the next one, and from
the last one to `Overloads.resolve`, which compiles the kernel for their types.
"""

import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from llvmlite import binding
from numba.core import errors

from ..ir.statements import Function, Literal, Pointer, Return
from .edge import exception_class
from .entry import Array, Number, Parameter, Result, entry
from .front import values
from .front.emit import FunctionBuilder
from .front.functions import ArrayType, entry_of, flattened
from .front.outside import word
from .front.syntax import Unsupported
from .front.values import BOOL, DOUBLE, INT, UINT, Known, Place, Value
from .instruction import LINKED
from .llvm_function import FunctionModule, assembly
from .machine import machine_code

__all__ = ["Code", "Overloads", "code_of", "kind_of_value", "run_function", "stored"]

_STATUS = np.dtype(np.int32)
_NAMES = "f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"
_DTYPES = frozenset(map(np.dtype, _NAMES))
_WIDE = {"f": DOUBLE, "i": INT, "u": UINT, "b": BOOL}


@dataclass(frozen=True)
class Code:
    """Machine code for types of arguments. `run` is that of an entry: the address of an array, its
    lengths and, if it is not contiguous, its strides are words, as are numbers."""

    run: int
    kinds: tuple[Any, ...]
    dtypes: list[np.dtype]
    result: Result
    errors: list[Exception]

    def entry(self, name: str, definition: Callable | None) -> Callable:
        """The function for arguments of these types; any others go to the definition."""
        return entry(
            name, self.run, *_parameters(self.kinds), self.dtypes, self.result, self.errors,
            count=len(self.kinds), may_overlap=True, definition=definition,
        )  # fmt: skip


def code_of(function: Callable, content: str, kinds: tuple[Any, ...]) -> Code:
    """The machine code of a function, which follows from `content`, for types of arguments: dtypes,
    `ArrayType` and tuples of these. Raises Unsupported."""
    parts = [part for kind in kinds for part in (kind if isinstance(kind, tuple) else (kind,))]
    for part in parts:
        if not isinstance(part, (np.dtype, ArrayType)):
            raise Unsupported(f"an argument of {part}")

    def write() -> tuple[str, Callable, Any]:
        found = entry_of(function, kinds)
        module, own = FunctionModule(found.find), found.function
        text = assembly(_run(own, kinds, module), "run", module)
        if module.needs:
            raise Unsupported("functions that are defined elsewhere")
        libraries = [LINKED[symbol].library for symbol in module.linked]
        dtypes = [_WIDE[dtype.kind].str for dtype in own.results]
        facts = dtypes, _numbered(found.result, count()), module.errors
        return text, lambda: (binding.parse_bitcode(each.bitcode) for each in libraries), facts

    content = f"{content}\0{kinds}"
    functions, (dtypes, result, errors) = machine_code(function.__name__, content, write)
    exceptions = [exception_class(name)(message) for name, message in errors]
    return Code(functions["run"], kinds, list(map(np.dtype, dtypes)), result, exceptions)


def _run(function: Function, kinds: Sequence[Any], module: FunctionModule) -> Function:
    """The function `i32 run(words, numbers)`, which calls another with the words."""

    def write(emit: FunctionBuilder, words: Place, *given: Value) -> Sequence[Any]:
        return emit.call(function, flattened(emit, given), function.results)

    attributes = function.attributes & {"wide"}  # as it is inlined here
    return run_function(_parameters(kinds)[0], write, module, attributes)


def run_function(
    parameters: Sequence[Parameter], write: Callable[..., Sequence[Any]], module: FunctionModule,
    attributes: frozenset[str] = frozenset(),
) -> Function:  # fmt: skip
    """The function `i32 run(words, numbers)` for the parameters of an entry: it stores the numbers
    that `write(emit, words, *arguments)` gives for them."""
    emit = FunctionBuilder()
    words, numbers = (Place(emit.name(name), INT) for name in ("words", "numbers"))
    given = [_loaded(emit, words, x) for x in parameters]
    for i, number in enumerate(write(emit, words, *given)):
        wide = INT if number.dtype == BOOL else stored(number.dtype)
        emit.store(emit.pointing(numbers, wide), word(i, wide), number)
    raises = module.raises(emit.body)
    if not raises:
        emit.add(Return((Literal(0, _STATUS),)))
    pointers = ("words", Pointer(INT)), ("numbers", Pointer(INT))
    results = () if raises else (_STATUS,)
    return Function("run", pointers, (*emit.top, *emit.body), results, attributes)


def stored(dtype: np.dtype) -> np.dtype:
    """The dtype in which a number of a result is stored."""
    return _WIDE[dtype.kind]


def _loaded(emit: FunctionBuilder, words: Place, x: Any) -> Value:
    """The value of a parameter, from its slots."""

    def load(slot: int, dtype: np.dtype = INT) -> Any:
        return emit.load(emit.pointing(words, dtype), word(slot, dtype))

    if isinstance(x, Number):
        return load(x.slot, x.dtype)
    place = emit.pointing(load(x.slot), x.dtype)
    numbers = [load(~n) if n < 0 else emit.typed(Known(n)) for n in x.lengths]
    if not x.has_strides:
        return values.Array(place, tuple(numbers))
    size, ndim = Known(x.dtype.itemsize), len(numbers) // 2
    steps = (emit.typed(emit.operation(operator.floordiv, n, size)) for n in numbers[ndim:])
    return values.Array(place, tuple(numbers[:ndim]), tuple(steps))


def _parameters(kinds: Sequence[Any]) -> tuple[list[Parameter], int]:
    """The parameters of an entry for types, and the number of words."""
    found: list[Parameter] = []
    slot = 0
    for i, whole in enumerate(kinds):
        for j, kind in enumerate(whole if isinstance(whole, tuple) else (whole,)):
            place, slots = (i, j) if isinstance(whole, tuple) else (i,), range(0)
            if isinstance(kind, ArrayType):
                slots = range(slot + 1, slot + 1 + kind.ndim * (2 - kind.contiguous))
                array = Array(kind.dtype, tuple(~k for k in slots), slot, kind.mutable, place)
                found.append(replace(array, has_strides=not kind.contiguous, is_aligned=False))
            else:
                found.append(Number(kind, slot, place))
            slot += 1 + len(slots)
    return found, slot


def _numbered(result: Any, numbers: Iterator[int]) -> Result:
    """The result of an entry for a tree of dtypes."""
    if isinstance(result, tuple):
        return tuple(_numbered(part, numbers) for part in result)
    return None if result is None else next(numbers)


class Overloads:
    """A kernel for the types that it was called with: `install` gets the entry that is tried
    first."""

    def __init__(self, kernel: Any, install: Callable[[Callable], None]):
        self._kernel, self._install = kernel, install
        self._known: dict[tuple[Any, ...], Callable] = {}
        self._first: Callable = self.resolve
        install(self.resolve)

    def resolve(self, *args: Any) -> Any:
        """Call the kernel with arguments of new types."""
        name, code = self._kernel.name, self._kernel.function.__code__
        if len(args) != code.co_argcount and not code.co_flags & inspect.CO_VARARGS:
            raise TypeError(f"{name} takes {code.co_argcount} arguments, not {len(args)}")
        args = tuple(x.view(np.ndarray) if isinstance(x, np.ndarray) else x for x in args)
        kinds = tuple(map(kind_of_value, args))
        known = self._known.get(kinds)
        if known is None:
            try:
                made = self._kernel.code(kinds)
            except Unsupported as refused:
                raise errors.TypingError(f"{name}: {refused}") from refused
            self._first = made.entry(name, self._first)
            # For a thread that came second, and for arguments that the entry refuses.
            known = self._known[kinds] = made.entry(name, None)
            self._install(self._first)
        return known(*args)


def kind_of_value(x: Any) -> Any:
    """The type of an argument; a text that names it where the kernel IR has none."""
    if type(x) is tuple:
        return tuple(map(kind_of_value, x))
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype in _DTYPES:
        if isinstance(x, np.generic):
            return x.dtype
        if type(x) is np.ndarray:
            return ArrayType(x.dtype, x.ndim, x.flags.c_contiguous, x.flags.writeable)
    if isinstance(x, (bool, float)):
        return BOOL if isinstance(x, bool) else DOUBLE
    if isinstance(x, int) and abs(x) < 2**63:
        return INT
    return str(x.dtype) if type(x) is np.ndarray else type(x).__name__
