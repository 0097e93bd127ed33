"""What is emitted for numbers: variables, conversions, operations, whatever Numba knows."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from llvmlite import ir
from numba.core import errors, types

from .syntax import Unsupported
from .values import SIMPLE, Known, Typed, Value, constant, folded, kind_of_number, simple_operation

_REFUSED = (errors.NumbaError, NotImplementedError, KeyError)


class Raises(Exception):
    """A function that was to give its result as LLVM functions do may raise."""


class Slot:
    """A variable: memory on the stack, which LLVM makes registers of."""

    def __init__(self, kind: Any, pointer: Any):
        self.kind = kind
        self.pointer = pointer


class Emitter:
    """Emits code into one LLVM function with Numba's contexts: what types mean and how they are
    laid out is theirs. `functions` are those of the same module."""

    _signatures: ClassVar[dict[tuple, Any]] = {}

    def __init__(
        self, typing: Any, target: Any, library: Any, builder: ir.IRBuilder, functions: Any,
        may_raise: bool,
    ):  # fmt: skip
        self.typing = typing
        self.target = target
        self.library = library
        self.builder = builder
        self.functions = functions
        self.may_raise = may_raise
        self.raises = False

    # -- values -----------------------------------------------------------------------------------

    def typed(self, value: Value) -> Typed:
        """A value at run time."""
        if isinstance(value, Typed):
            return value
        if isinstance(value, Known):
            if value.is_number:
                kind = kind_of_number(value.value)
                return Typed(kind, constant(value.value, kind))
            if value.value is None:
                return Typed(types.none, self.target.get_dummy_value())
            kind = self.resolved(value.value)
            if not isinstance(kind, (types.Callable, types.Opaque)):
                raise Unsupported(f"a constant of {kind}")
            return Typed(kind, self.target.get_dummy_value())
        parts = [self.typed(part) for part in value]
        kind = types.Tuple(tuple(part.kind for part in parts))
        return Typed(kind, self.target.make_tuple(self.builder, kind, [p.ir for p in parts]))

    def cast(self, value: Value, kind: Any) -> Typed:
        """A value in a type, as Numba converts it."""
        if isinstance(value, Known) and value.is_number:
            try:
                return Typed(kind, constant(value.value, kind))
            except Unsupported:
                pass
        here = self.typed(value)
        if here.kind == kind:
            return here
        if not self.typing.can_convert(here.kind, kind):
            raise Unsupported(f"{here.kind} as {kind}")
        return Typed(kind, self.target.cast(self.builder, here.ir, here.kind, kind))

    def truth(self, value: Value) -> Any:
        """Whether a value at run time is true, as LLVM's bit."""
        here = self.typed(value)
        if here.kind == types.boolean:
            return here.ir
        if not isinstance(here.kind, types.Number):
            raise Unsupported(f"the truth of {here.kind}")
        return self.target.is_true(self.builder, here.kind, here.ir)

    def common(self, values: Sequence[Value]) -> Any:
        """The type that takes values."""
        kinds = {self.typed(value).kind for value in values}
        if len(kinds) == 1:
            return kinds.pop()
        kind = self.typing.unify_types(*kinds)
        if kind is None or not isinstance(kind, types.Number):
            raise Unsupported(f"{kinds} in one variable")
        return kind

    def blocks(self, *names: str) -> list[Any]:
        """New basic blocks."""
        return [self.builder.append_basic_block(name) for name in names]

    def must_be_able_to_raise(self) -> None:
        """Said before an exception is emitted, which Numba's calling convention takes along.
        Raises Raises where the function has another."""
        if not self.may_raise:
            raise Raises
        self.raises = True

    # -- variables --------------------------------------------------------------------------------

    def variable(self, kind: Any) -> Slot:
        with self.builder.goto_entry_block():
            return Slot(kind, self.builder.alloca(self.target.get_value_type(kind)))

    def store(self, value: Value, slot: Slot) -> None:
        self.builder.store(self.cast(value, slot.kind).ir, slot.pointer)

    def load(self, slot: Slot) -> Typed:
        return Typed(slot.kind, self.builder.load(slot.pointer))

    # -- operations -------------------------------------------------------------------------------

    def operation(self, function: Callable, *operands: Value) -> Value:
        """An operator of the module `operator`."""
        if all(isinstance(x, Known) and x.is_python_number for x in operands):
            try:
                result = folded(function, [x.value for x in operands if isinstance(x, Known)])
            except ArithmeticError:
                raise Unsupported("a constant that is no number") from None
            if result is not None:
                return Known(result)
        values = [self.typed(x) for x in operands]
        if function is operator.pow and isinstance(operands[1], Known):
            # Numba makes products, which are the power for integers only.
            if not isinstance(values[0].kind, types.Integer) or operands[1].value < 0:
                raise Unsupported("a power")
        if len(values) == 2:
            x, y = values
            if function in SIMPLE and {x.kind, y.kind} == {types.int64, types.float64}:
                x, y = (self.cast(operand, types.float64) for operand in operands)
            if x.kind == y.kind:
                simple = simple_operation(self.builder, function, x, y)
                if simple is not None:
                    return simple
        elif function is operator.neg and isinstance(values[0].kind, types.Float):
            return Typed(values[0].kind, self.builder.fneg(values[0].ir))
        return self.library_call(function, values)

    def extreme(self, function: Callable, operands: Sequence[Value]) -> Value:
        """Python's min or max: the first of equal ones, and of nan and another the first."""
        if len(operands) < 2:
            raise Unsupported("the extreme of a sequence")
        kind = self.common(operands)
        best, *rest = (self.cast(x, kind) for x in operands)
        compare = operator.lt if function is min else operator.gt
        for other in rest:
            better = self.truth(self.operation(compare, other, best))
            best = Typed(kind, self.builder.select(better, other.ir, best.ir))
        return best

    # -- what Numba knows --------------------------------------------------------------------------

    def resolved(self, function: Any) -> Any:
        try:
            kind = self.typing.resolve_value_type(function)
        except errors.NumbaError:
            kind = None
        if kind is None:
            raise Unsupported(f"{function!r} in compiled code")
        return kind

    def library_call(self, function: Any, values: Sequence[Typed]) -> Value:
        """Whatever else Numba knows of numbers: it is asked for the types, and for the code."""
        kinds = tuple(x.kind for x in values)
        if not all(isinstance(k, (types.Number, types.Boolean)) for k in kinds):
            raise Unsupported(f"{function} of {kinds}")
        try:
            if (function, kinds) not in self._signatures:
                named = self.resolved(function)
                resolved = self.typing.resolve_function_type(named, kinds, {})
                self._signatures[function, kinds] = named, resolved
            named, signature = self._signatures[function, kinds]
            if signature is None:
                raise Unsupported(f"{function} of {kinds}")
            generated = self.target.get_function(named, signature)
            operands = [self.cast(x, k).ir for x, k in zip(values, signature.args, strict=True)]
            result = generated(self.builder, operands)
            if any(isinstance(block.terminator, ir.Ret) for block in self.builder.function.blocks):
                self.must_be_able_to_raise()
        except (*_REFUSED, TypeError) as refused:
            raise Unsupported(f"{function} of {kinds}: {refused}") from None
        for other in getattr(generated, "libs", ()):
            self.library.add_linking_library(other)
        if not isinstance(signature.return_type, (types.Number, types.Boolean)):
            raise Unsupported(f"{function} gives {signature.return_type}")
        return Typed(signature.return_type, result)
