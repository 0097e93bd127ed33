"""Calls of what is known at compile time: instructions, device functions, what Numba knows."""

import builtins
import inspect
import math
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import errors, types

from ..numba_api import Dispatcher, _Intrinsic, numpy_support
from .elements import attribute, parts
from .emit import Emitter
from .syntax import Foreign, Unsupported
from .values import Known, Typed, Value

# Not those of ctypes, which Numba knows too.
_OF_NUMBERS = (BuiltinFunctionType, FunctionType, np.ufunc)
_FLOAT_FUNCTIONS: dict[Any, str] = {
    abs: "llvm.fabs",
    math.fabs: "llvm.fabs",
    math.sqrt: "llvm.sqrt",
}


def call(emit: Emitter, function: Any, operands: Sequence[Value]) -> Value:
    """A call of what is known at compile time."""
    if isinstance(function, _Intrinsic):
        return _instruction(emit, function, operands)
    if isinstance(function, Dispatcher):
        return _device(emit, function, operands)
    if function is builtins.min or function is builtins.max:
        return emit.extreme(function, operands)
    if function is np.empty:
        raise Foreign("an allocation")
    if len(operands) == 1:
        (operand,) = operands
        if function is builtins.len:
            return parts(emit, attribute(emit, operand, "shape"))[0]
        if (kind := _number_class(function)) is not None:
            return _converted(emit, operand, kind)
        if isinstance(function, _OF_NUMBERS) and function in _FLOAT_FUNCTIONS:
            x = emit.typed(operand)
            if isinstance(x.kind, types.Float):
                return _float_function(emit, _FLOAT_FUNCTIONS[function], x)
    if not (isinstance(function, _OF_NUMBERS) or function is int or function is float):
        raise Unsupported(f"a call of {function!r}")
    return emit.library_call(function, [emit.typed(x) for x in operands])


def _float_function(emit: Emitter, name: str, x: Typed) -> Typed:
    """A function that LLVM knows."""
    kind = ir.FunctionType(x.ir.type, [x.ir.type])
    function = emit.builder.module.declare_intrinsic(name, [x.ir.type], kind)
    return Typed(x.kind, emit.builder.call(function, [x.ir]))


def _number_class(function: Any) -> Any:
    """The type that a function converts to."""
    if isinstance(function, types.Type):
        return function
    if isinstance(function, type):
        if function is bool:
            return types.boolean
        if issubclass(function, np.generic):
            return numpy_support.from_dtype(np.dtype(function))  # pyright: ignore
    return None


def _converted(emit: Emitter, value: Value, kind: Any) -> Value:
    here = emit.typed(value)
    if here.kind == kind:
        return here
    if kind == types.boolean:
        return Typed(kind, emit.truth(here))
    if not isinstance(here.kind, (types.Number, types.Boolean)):
        raise Unsupported(f"{here.kind} as {kind}")
    if isinstance(value, Known) and not isinstance(kind, types.Float):
        value = Known(int(value.value))
    return emit.cast(value, kind)


def _instruction(emit: Emitter, function: Any, operands: Sequence[Value]) -> Value:
    """A code generator of ours, asked with types first and with literals where it wants some,
    as Numba asks."""
    kinds = [_kind(emit, x, literal=False) for x in operands]
    signature, codegen = _generator(emit, function, kinds)
    if signature is None:
        kinds = [_kind(emit, x, literal=True) for x in operands]
        signature, codegen = _generator(emit, function, kinds)
        if signature is None:
            raise Unsupported(f"{function} of {kinds}")
    wanted = signature.args
    rest: list[Any] = []
    if wanted and isinstance(wanted[-1], (types.StarArgTuple, types.StarArgUniTuple)):
        packed, wanted = wanted[-1], wanted[:-1]
        members = [
            _operand(emit, x, kind)
            for x, kind in zip(operands[len(wanted) :], packed.types, strict=True)
        ]
        rest = [emit.target.make_tuple(emit.builder, packed, members)]
    values = [_operand(emit, x, k) for x, k in zip(operands[: len(wanted)], wanted, strict=True)]
    result = codegen(emit.target, emit.builder, signature, [*values, *rest])
    kind = signature.return_type
    if isinstance(kind, types.Array):
        # Nothing is freed here: an argument that comes back is held by who gave it.
        if not any(result is value for value in values):
            raise Foreign(f"{function}, which makes an array")
        emit.target.nrt.decref(emit.builder, kind, result)
    return Typed(kind, result)


def _kind(emit: Emitter, value: Value, literal: bool) -> Any:
    if isinstance(value, Known):
        known = value.value
        if isinstance(known, str) or (literal and value.is_number):
            return types.literal(known)
        if not value.is_number and known is not None:
            return emit.resolved(known)
    return emit.typed(value).kind


def _operand(emit: Emitter, value: Value, kind: Any) -> Any:
    if isinstance(kind, types.Literal):
        if isinstance(kind, (types.StringLiteral,)):
            return emit.target.get_dummy_value()
        return emit.typed(value).ir
    if isinstance(value, Known) and not value.is_number:
        return emit.target.get_dummy_value()
    return emit.cast(value, kind).ir


def _generator(emit: Emitter, function: Any, kinds: Sequence[Any]) -> tuple[Any, Any]:
    try:
        return function._defn(emit.typing, *kinds) or (None, None)
    except errors.TypingError:
        return None, None


def _device(emit: Emitter, dispatcher: Any, operands: Sequence[Value]) -> Value:
    """A compiled function of ours."""
    function = dispatcher.py_func
    code = function.__code__
    takes_rest = bool(code.co_flags & inspect.CO_VARARGS)
    rest = tuple(operands[code.co_argcount :])
    if takes_rest:
        operands = operands[: code.co_argcount]
    missing = code.co_argcount - len(operands)
    defaults = function.__defaults__ or ()
    if not 0 <= missing <= len(defaults):
        raise Unsupported("a call with arguments left out")
    operands = [*operands, *map(Known, defaults[len(defaults) - missing :])]
    if takes_rest:
        operands.append(rest)
    kinds = tuple(types.unliteral(emit.typed(x).kind) for x in operands)
    if dispatcher.targetoptions.get("error_model") != "numpy":  # one of a user, with own options
        return _linked(emit, dispatcher, kinds, operands)
    try:
        inner = emit.functions.inner(dispatcher, kinds)
    except Unsupported:
        if takes_rest:
            raise
        return _linked(emit, dispatcher, kinds, operands)
    return inner.call(emit, [emit.cast(x, k).ir for x, k in zip(operands, kinds, strict=True)])


def _linked(emit: Emitter, dispatcher: Any, kinds: tuple, operands: Sequence[Value]) -> Value:
    """A function that Numba has compiled."""
    emit.must_be_able_to_raise()
    if kinds not in dispatcher.overloads:
        dispatcher.compile(kinds)
    compiled = dispatcher.overloads[kinds]
    signature = compiled.signature
    values = [emit.cast(x, k).ir for x, k in zip(operands, signature.args, strict=True)]
    emit.library.add_linking_library(compiled.library)
    result = emit.target.call_internal(emit.builder, compiled.fndesc, signature, values)
    return Typed(signature.return_type, result)
