"""The statements of a function while it is read: names, conversions, operations."""

import contextlib
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...ir.functions import FUNCTIONS
from ...ir.scalar import NAMES, Expr, apply, arg
from ...ir.statements import (
    Assign,
    If,
    Literal,
    Operand,
    Raise,
    Statement,
    Variable,
)
from ...runtime.lines import Line
from . import dtypes, operators
from .complex_numbers import complex_dtype, complex_operation, is_complex, parts_of
from .folding import constant_result
from .memory_statements import Memory, address_of
from .refusals import real_needed
from .syntax import Unsupported
from .values import (
    BOOL,
    DOUBLE,
    INT,
    Array,
    Known,
    Lazy,
    Number,
    Slice,
    Value,
    dtype_of,
    literal,
    part_dtype,
    rebuilt,
)
from .writes import Writes

_COPY = arg(NAMES[0])
_OPERAND = operator.attrgetter("operand")


@cache
def _body(name: str, arity: int) -> Expr:
    """The scalar code that only applies a function."""
    return apply(FUNCTIONS[name], [arg(each) for each in NAMES[:arity]])


class FunctionBuilder(Memory):
    """The body of one function: `body` is the sequence of statements that is written now, `top` are
    the variables that the function declares first."""

    def __init__(self):
        self.top: list[Variable] = []
        self.body: list[Statement] = []
        self.attributes: set[str] = set()
        self.buffers: list[str] = []  # on the heap, in the order in which they are made
        self.writes = Writes()
        self.held: list[Any] = []  # objects of Python whose memory it reads
        self.lines: dict[str, Line] = {}  # where names are defined
        self.bound: set[Operand] = set()  # intermediate values that variables stand for
        self._used: dict[str, int] = {}

    def name(self, hint: str = "") -> str:
        """A new name: `hint`, with a number where it is taken; intermediate values have no hint."""
        hint = hint.partition(".")[0]
        count = self._used[hint] = self._used.get(hint, 0) + 1
        return hint if hint and count == 1 else f"{hint}.{count}"

    def is_intermediate(self, name: str) -> bool:
        """Whether a value has no name yet and no variable stands for it."""
        return name.startswith(".") and name not in self.bound

    def add(self, statement: Statement) -> None:
        self.body.append(statement)

    @contextlib.contextmanager
    def block(self) -> Iterator[list[Statement]]:
        """Statements that are written apart, for the body of a loop or a branch."""
        outside, self.body = self.body, []
        try:
            yield self.body
        finally:
            self.body = outside

    def mark(self) -> tuple[list[Statement], int, int, int]:
        """Where the statements end, for `reset`."""
        return list(self.body), len(self.top), len(self.buffers), len(self.held)

    def reset(self, mark: tuple[list[Statement], int, int, int]) -> None:
        """Take back what was written since `mark` was called at the same place."""
        self.body[:], tops, buffers, held = mark
        del self.top[tops:], self.buffers[buffers:], self.held[held:]

    # -- values -----------------------------------------------------------------------------------

    def typed(self, value: Value) -> Number:
        """A number at run time."""
        if isinstance(value, Number):
            return value
        if isinstance(value, Known) and value.is_number:
            dtype = dtype_of(value.value)
            found = literal(value.value, dtype)
            assert found is not None
            return Number(found, dtype, natural=value.value >= 0)
        if is_complex(value):
            raise Unsupported(real_needed("a real one"))
        kinds = {tuple: "a tuple or a list", Known: getattr(value, "value", "")}
        raise Unsupported(f"{kinds.get(type(value), 'an array')} as a number")

    def dtype(self, value: Value) -> np.dtype:
        if is_complex(value):
            return complex_dtype(self, value)
        return value.dtype if isinstance(value, Number) else self.typed(value).dtype

    def cast(self, value: Value, dtype: np.dtype) -> Any:
        """A number in another dtype."""
        if isinstance(value, Number) and value.dtype == dtype:
            return value
        if dtype.kind == "c":
            return parts_of(self, value, part_dtype(dtype))
        if isinstance(value, Known) and value.is_number:
            found = literal(value.value, dtype)
            if found is not None:
                return Number(found, dtype, natural=value.value >= 0)
        here = self.typed(value)
        if here.dtype == dtype:
            return here
        if isinstance(here.operand, Literal) and dtype == DOUBLE:
            return Number(Literal(float(here.operand.number), dtype), dtype)
        if dtype == BOOL:
            return self.truth(here)
        name = self.name()
        self.add(Assign(name, _COPY, (here.operand,), dtype, dtype))
        return Number(name, dtype, here.natural and dtype.kind == "i")

    def settled(self, value: Value) -> Value:
        """A value that no later statement changes."""
        if isinstance(value, tuple):
            return rebuilt(value, map(self.settled, value))
        if isinstance(value, Number) and not value.lasting:
            name = self.name(str(value.operand))
            self.add(Assign(name, _COPY, (value.operand,), value.dtype, value.dtype))
            return replace(value, operand=name, lasting=True)
        if isinstance(value, Slice):
            bounds = (value.start, value.stop, value.step)
            return Slice(*(None if x is None else self.settled(x) for x in bounds))
        return value

    def truth(self, value: Value) -> Number:
        """Whether a number is not 0."""
        if is_complex(value):
            return self.truth(complex_operation(self, operator.ne, [value, Known(0)]))
        here = self.typed(value)
        if here.dtype == BOOL:
            return here
        return self.applied("not_equal", [here, self.cast(Known(0), here.dtype)], BOOL)

    def common(self, values: Sequence[Value]) -> np.dtype:
        """The dtype that takes numbers."""
        dtype = self.dtype(values[0])
        for value in values[1:]:
            dtype = dtypes.common(dtype, self.dtype(value))
        return dtype

    # -- operations -------------------------------------------------------------------------------

    def applied(self, name: str, operands: Sequence[Number], dtype: np.dtype) -> Number:
        """A function of scalar code of operands of one dtype."""
        body = _body(name, len(operands))
        target = self.name()
        inner = operands[-1].dtype
        self.body.append(Assign(target, body, tuple(map(_OPERAND, operands)), dtype, inner))
        return Number(target, dtype)

    def operation(self, function: Callable, *operands: Value) -> Value:
        """An operator of the module `operator`."""
        if any(isinstance(x, (Array, Lazy)) for x in operands):
            from .elementwise import array_operation  # which emits operations of elements

            return array_operation(self, function, operands)
        if any(map(is_complex, operands)):
            return complex_operation(self, function, operands)
        if isinstance(operands[0], Known):
            known = [x.value for x in operands if isinstance(x, Known) and x.is_number]
            result = constant_result(function, known) if len(known) == len(operands) else None
            if result is not None:
                return Known(result)
        if function is operator.not_:
            return self.applied("invert", [self.truth(operands[0])], BOOL)
        if len(operands) == 1:
            return self._unary(function, self.typed(operands[0]))
        from . import powers  # which emit operations

        x, y = operands
        if function is operator.pow and isinstance(y, Known) and isinstance(y.value, int):
            return powers.constant_power(self, x, y.value)
        dtype, result = dtypes.operand_dtypes(function, self.dtype(x), self.dtype(y))
        if function is operator.pow and result.kind == "f" and self.dtype(y).kind in "iu":
            return powers.whole_power(self, self.cast(x, result), self.typed(y))
        both = [self.cast(x, dtype), self.cast(y, dtype)]
        function_written = _WRITTEN.get((function, result.kind))
        if function_written is not None:
            return powers.called(self, function_written, both)
        found = self.applied(dtypes.NAMES[function], both, result)
        if result == INT and _is_natural(function, both):
            return replace(found, natural=True)
        return found

    def _unary(self, function: Callable, x: Number) -> Value:
        if x.dtype.kind == "f" or (function is operator.invert and x.dtype == BOOL):
            dtype = x.dtype
        else:
            dtype = dtypes.integer(x.dtype)
        if function is operator.pos:
            return self.cast(x, dtype)
        if function is operator.invert and dtype.kind == "f":
            raise Unsupported("the bits of a float")
        # Narrow integers wrap around in their own dtype, before they are widened.
        own = dtype if x.dtype == BOOL else x.dtype
        return self.cast(self.applied(dtypes.NAMES[function], [self.cast(x, own)], own), dtype)

    def extreme(self, function: Callable, operands: Sequence[Value]) -> Value:
        """Python's min or max: the first of equal ones, and of nan and another the first."""
        if len(operands) < 2:
            raise Unsupported("min or max of a sequence")
        if all(isinstance(x, Known) and x.is_python_number for x in operands):
            return Known(function(*[x.value for x in operands if isinstance(x, Known)]))
        dtype = self.common(operands)
        best, *rest = (self.cast(x, dtype) for x in operands)
        compare = operator.lt if function is min else operator.gt
        for other in rest:
            better = self.typed(self.operation(compare, other, best))
            natural = best.natural and other.natural
            best = replace(self.applied("select", [better, other, best], dtype), natural=natural)
        return best

    # -- branches ---------------------------------------------------------------------------------

    def branch(self, condition: Number, then: list[Statement], other: list[Statement]) -> None:
        if then or other:
            self.add(If(condition.operand, tuple(then), tuple(other)))

    def exception(self, kind: type, message: str) -> Raise:
        """The statement that ends the function with an exception."""
        home, name = kind.__module__, kind.__qualname__
        return Raise(name if home == "builtins" else f"{home}.{name}", message)


_WRITTEN = {
    (operator.mod, "f"): operators.modulo, (operator.floordiv, "f"): operators.floor_quotient,
    (operator.pow, "i"): operators.whole_power, (operator.pow, "u"): operators.unsigned_power,
}  # fmt: skip


def _is_natural(function: Callable, operands: Sequence[Number]) -> bool:
    """Whether a result cannot be below 0. Sums and products of lengths and axes do not wrap."""
    if operands[0].dtype != INT:
        return False
    first, *rest = (x.natural for x in operands)
    if function in (operator.add, operator.mul, operator.floordiv):
        return first and all(rest)
    if function is operator.and_:
        return first or any(rest)
    return (function is operator.mod and all(rest)) or (function is operator.rshift and first)


__all__ = ["FunctionBuilder", "address_of"]
