"""Functions of the kernel IR behind Numba's calling convention, for callers that Numba compiles and
for the entry from Python."""

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types

from ..ir.statements import Pointer
from .front.functions import ArrayType, Constant, Entry, entry_of, kind_of
from .front.syntax import Unsupported
from .host import widen
from .instruction import LINKED
from .llvm_function import FunctionModule
from .numba_api import numpy_support
from .numba_arrays import part_of

__all__ = ["Edge", "exception_class"]


class Edge:
    """A function for types of Numba. Raises Unsupported for those that the IR does not have."""

    def __init__(self, function: Callable, kinds: Sequence[Any], attributes: Collection[str]):
        if any(isinstance(kind, types.Array) and not kind.aligned for kind in kinds):
            raise Unsupported("an array that is not aligned")
        self._kinds = tuple(kinds)
        self._types = tuple(map(kind_of, kinds))
        self._entry: Entry = entry_of(function, self._types)
        body = self._entry.function
        self._function = replace(body, attributes=body.attributes.union(attributes))
        self._module = FunctionModule(self._entry.find)
        self._name = self._module.name_of_function(self._function)
        if self._module.needs:
            raise Unsupported("functions that are defined elsewhere")
        self.result = _numba_result(self._entry.result)

    def describe(self, target: Any, module: Any, described: Any) -> None:
        """Add the function with Numba's calling convention to a module: it calls ours."""
        llvm, name = target.declare_function(module, described), described.qualname
        if "wide" in self._function.attributes:  # as it is inlined here
            widen(llvm)
        self._target = target
        builder = ir.IRBuilder(llvm.append_basic_block("entry"))
        target.call_conv.init_call_helper(builder)
        values = target.call_conv.decode_arguments(builder, self._kinds, llvm)
        given = [
            part
            for kind, ours, value in zip(self._kinds, self._types, values, strict=True)
            for part in _parts(target, builder, kind, ours, value)
        ]
        function = self._function
        dtypes = self._module.results_of(function)
        results = [target.get_value_type(numpy_support.from_dtype(dtype)) for dtype in dtypes]
        whole: Any = ir.VoidType()
        if results:
            whole = results[0] if len(results) == 1 else ir.LiteralStructType(results)
        callee = ir.Function(
            module, ir.FunctionType(whole, [x.type for x in given]), self._name.strip('"')
        )
        found = builder.call(callee, given)
        parts = [found] if len(results) == 1 else [
            builder.extract_value(found, i) for i in range(len(results))
        ]  # fmt: skip
        if self._module.may_raise(function):
            status, *parts = parts
            for i, (kind, message) in enumerate(self._module.errors):
                failed = builder.icmp_signed("==", status, status.type(i + 1))
                with cgutils.if_unlikely(builder, failed):
                    target.call_conv.return_user_exc(
                        builder, exception_class(kind), (message,), loc=None, func_name=name
                    )
        value = _tree(target, builder, self._entry.result, iter(parts))
        target.call_conv.return_value(builder, target.get_return_value(builder, self.result, value))

    def add_to(self, library: Any, module: Any) -> None:
        """Add the LLVM code of a module, and of the functions that it calls, to a library."""
        for symbol in self._module.linked:
            library.add_linking_library(LINKED[symbol].library)
        lines = "\n".join(self._module.intrinsics.values()).splitlines()
        texts = [line for line in lines if _declared_name(line) not in module.globals]
        head = str(module).replace(f"declare {self._declared(module)}", "; ")
        whole = binding.parse_assembly("\n".join([head, *texts, *self._module.texts()]))
        whole.name = module.name
        library.add_llvm_module(whole)

    def _declared(self, module: Any) -> str:
        text = str(module.globals[self._name.strip('"')])
        return text.removeprefix("declare ").strip()


def _declared_name(line: str) -> str:
    """The function that a line declares; "" for another line."""
    return line.partition("@")[2].partition("(")[0] if line.startswith("declare ") else ""


def exception_class(name: str) -> type:
    """The class of an exception, named after its module."""
    module, _, own = name.rpartition(".")
    return getattr(sys.modules[module or "builtins"], own)


def _numba_result(result: Any) -> Any:
    if isinstance(result, tuple):
        return types.Tuple(tuple(map(_numba_result, result)))
    return types.none if result is None else numpy_support.from_dtype(result)


def _tree(target: Any, builder: Any, result: Any, parts: Any) -> Any:
    """A result as Numba has it."""
    if isinstance(result, tuple):
        members = [_tree(target, builder, each, parts) for each in result]
        return target.make_tuple(builder, _numba_result(result), members)
    return target.get_dummy_value() if result is None else next(parts)


def _parts(target: Any, builder: Any, kind: Any, ours: Any, value: Any) -> list[Any]:
    """An argument as our functions take it."""
    match ours:
        case Constant():
            return []
        case tuple():
            members = cgutils.unpack_tuple(builder, value)
            every = zip(kind.types, ours, members, strict=True)
            return [part for x in every for part in _parts(target, builder, *x)]
        case ArrayType(dtype, _, contiguous):
            data, shape, strides = (
                part_of(target, builder, kind, value, name) for name in ("data", "shape", "strides")
            )
            parts = [data, *cgutils.unpack_tuple(builder, shape)]
            if not contiguous:
                size = ir.Constant(ir.IntType(64), dtype.itemsize)
                parts += [builder.sdiv(stride, size, flags=["exact"])
                          for stride in cgutils.unpack_tuple(builder, strides)]  # fmt: skip
            return parts
        case Pointer() | np.dtype():
            return [value]
    raise Unsupported(f"an argument of {kind}")
