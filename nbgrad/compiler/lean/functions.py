"""Functions of ours that others of the same LLVM module call.

They are emitted where they are first called, once for the types of their arguments. Most cannot
fail, and give their result as LLVM functions do; those that may raise are called as Numba's are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from ..numba_api import FastMathOptions
from .emit import Emitter, Raises
from .syntax import Unsupported
from .values import Known, Typed, Value


class Recursive(Exception):
    """A function calls itself. What it is part of is Numba's, which infers its result: an attempt
    to have it compiled alone would come here again."""


Walker = Callable[[Emitter, Callable, Sequence[Value]], Value]


@dataclass(frozen=True, eq=False)
class Inner:
    """A function of the module, whose calling convention allows it that it `may_raise`."""

    llvm: Any
    kinds: tuple[Any, ...]
    result: Any
    may_raise: bool
    raises: bool

    def call(self, emit: Emitter, values: Sequence[Any]) -> Typed:
        """Its result for LLVM values of its kinds."""
        builder, target = emit.builder, emit.target
        if not self.may_raise:
            given = target.get_arg_packer(self.kinds).as_arguments(builder, values)
            result = builder.call(self.llvm, given)
            if self.result == types.none:
                result = target.get_dummy_value()
            return Typed(self.result, result)
        emit.must_be_able_to_raise()
        status, result = target.call_conv.call_function(
            builder, self.llvm, self.result, self.kinds, values
        )
        with cgutils.if_unlikely(builder, status.is_error):
            target.call_conv.return_status_propagate(builder, status)
        return Typed(self.result, result)


class Functions:
    """The functions of one LLVM module, which `walk` emits."""

    def __init__(self, typing: Any, target: Any, library: Any, module: ir.Module, walk: Walker):
        self._context = typing, target, library
        self._module = module
        self._walk = walk
        self._known: dict[tuple, Inner | Exception] = {}

    def inner(self, dispatcher: Any, kinds: tuple[Any, ...]) -> Inner:
        """A compiled function of ours for types. Raises Unsupported where Numba has to compile
        it, and Recursive while it is emitted."""
        key = dispatcher, kinds
        if key not in self._known:
            self._known[key] = Recursive(dispatcher.__name__)
            try:
                self._known[key] = self._attempted(dispatcher, kinds)
            except Unsupported as refused:
                self._known[key] = refused
        found = self._known[key]
        if isinstance(found, Exception):
            raise found
        return found

    def every(self) -> Iterator[tuple[str, Any]]:
        """The functions that were emitted, with names that stand for their text and types."""
        for (dispatcher, kinds), found in self._known.items():
            if isinstance(found, Inner):
                function = dispatcher.py_func
                yield f"{function.__module__}.{function.__qualname__}{kinds}", found.llvm

    def _attempted(self, dispatcher: Any, kinds: tuple[Any, ...]) -> Inner:
        try:
            return self._inner(dispatcher, kinds, may_raise=False)
        except Raises:
            return self._inner(dispatcher, kinds, may_raise=True)

    def _inner(self, dispatcher: Any, kinds: tuple[Any, ...], may_raise: bool) -> Inner:
        _, target, _ = self._context
        # Not the bare name: LLVM takes a `cos` for that of the C library.
        name = self._module.get_unique_name(f"nbgrad.{dispatcher.__name__}")
        names = dispatcher.py_func.__code__.co_varnames
        packer = target.get_arg_packer(kinds)
        if may_raise:
            whole = target.call_conv.get_function_type(types.none, kinds)
        else:
            whole = ir.FunctionType(ir.VoidType(), packer.argument_types)
        llvm: Any = ir.Function(self._module, whole, name)
        llvm.linkage = "internal"
        if may_raise:
            target.call_conv.decorate_function(llvm, names[: len(kinds)], kinds)
        else:
            packer.assign_names(llvm.args, [f"arg.{each}" for each in names[: len(kinds)]])
        options = dispatcher.targetoptions
        if options.get("forceinline"):
            llvm.attributes.add("alwaysinline")
        try:
            return self.emitted(
                llvm, dispatcher.py_func, kinds, may_raise, options.get("fastmath", False)
            )
        except BaseException:
            del self._module.globals[name]
            raise

    def emitted(
        self, llvm: Any, function: Callable, kinds: tuple[Any, ...], may_raise: bool, fastmath: Any
    ) -> Inner:
        """The code of a function, as that of an LLVM function without any."""
        typing, target, library = self._context
        builder = ir.IRBuilder(llvm.append_basic_block("entry"))
        emit = Emitter(typing, target, library, builder, self, may_raise)
        if may_raise:
            target.call_conv.init_call_helper(builder)
            values = target.call_conv.decode_arguments(builder, kinds, llvm)
        else:
            values = target.get_arg_packer(kinds).from_arguments(builder, llvm.args)
        body = builder.append_basic_block("body")
        builder.branch(body)
        builder.position_at_end(body)
        given = [_given(kind, value) for kind, value in zip(kinds, values, strict=True)]
        result = emit.typed(self._walk(emit, function, given))
        if _holds_arrays(result.kind):
            raise Unsupported("a result that is an array")
        _end(emit, llvm, kinds, result)
        _mark(llvm, FastMathOptions(fastmath).flags)
        return Inner(llvm, kinds, result.kind, may_raise, emit.raises)


def _given(kind: Any, value: Any) -> Value:
    """An argument."""
    if isinstance(kind, types.Literal):
        return Known(kind.literal_value)
    if isinstance(kind, types.Omitted):
        return Known(kind.value)
    return Known(None) if isinstance(kind, types.NoneType) else Typed(kind, value)


def _holds_arrays(kind: Any) -> bool:
    parts = getattr(kind, "types", ())
    return isinstance(kind, types.Array) or any(map(_holds_arrays, parts))


def _end(emit: Emitter, llvm: Any, kinds: Sequence[Any], result: Typed) -> None:
    """Return the result. Only here is known what that is, and so the type of the function."""
    target, builder = emit.target, emit.builder
    if emit.may_raise:
        whole = target.call_conv.get_function_type(result.kind, kinds)
        llvm.args[0].type = whole.args[0]
    else:
        value = ir.VoidType() if result.kind == types.none else result.ir.type
        whole = ir.FunctionType(value, llvm.ftype.args)
        llvm.return_value.type = value
    llvm.ftype, llvm.type = whole, whole.as_pointer()
    if emit.may_raise:
        value = target.get_return_value(builder, result.kind, result.ir)
        target.call_conv.return_value(builder, value)
    elif result.kind == types.none:
        builder.ret_void()
    else:
        builder.ret(result.ir)


_BY_FLAGS = frozenset(["fadd", "fsub", "fmul", "fdiv", "frem", "fcmp"])


def _mark(llvm: Any, flags: set[str]) -> None:
    """Let a function's operations be rounded as `flags` allow, but those that say it themselves."""
    for block in llvm.blocks if flags else ():
        for each in block.instructions:
            if each.opname in _BY_FLAGS:
                if not each.flags:
                    each.flags.extend(flags)
            elif each.opname == "call" and isinstance(each.type, (ir.FloatType, ir.DoubleType)):
                each.fastmath.update(flags)
