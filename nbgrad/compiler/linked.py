"""Functions of the kernel IR for Numba: code that is linked into whatever calls it."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

from ..ir.statements import Pointer
from .front import function_of
from .lean.functions import Functions
from .lean.syntax import Unsupported
from .lean.values import Value
from .lean.walk import Walk
from .llvm import Module, result_type
from .llvm_function import FunctionModule
from .numba_api import numpy_support
from .pipeline import Unfinished

__all__ = ["Linked", "numba_type"]

_KINDS: dict[str, Any] = {
    "double": types.float64, "float": types.float32, "i1": types.boolean, "i64": types.int64,
    "i64 x 2": types.UniTuple(types.int64, 2),
}  # fmt: skip


def _kind(text: str) -> Any:
    """Numba's type for the type of an argument."""
    if text.startswith("ptr "):
        return types.CPointer(numba_type(np.dtype(text[4:]), in_memory=True))
    return _KINDS[text]


def numba_type(dtype: np.dtype, in_memory: bool = False) -> Any:
    """Numba's type for a number; that of an element in memory, where bools are bytes."""
    if dtype.kind == "b":
        return types.uint8 if in_memory else types.boolean
    return numpy_support.from_dtype(dtype)  # pyright: ignore[reportAttributeAccessIssue]


EVERY: "WeakValueDictionary[str, Linked]" = WeakValueDictionary()
"""By symbol."""


class Linked:
    """A function of a module of LLVM code, callable from compiled code.

    `parameters` are dtypes of numbers, or `("ptr", dtype)`; `find` gives the compiled functions of
    ours that the code calls by name.
    """

    def __init__(
        self, name: str, module: Module, parameters: Sequence[Any], find: Callable[[str], Any]
    ):
        self.name, self._find = module.cores[name], find
        name = self.name
        self._needs = dict(module.needs)
        self._declarations = dict(module.intrinsics)
        text = "\n".join(module.texts())
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:24]
        self._symbol = f"nbgrad_{name}_{self.digest}"
        self._text = text.replace(
            f"define internal {result_type(module.results[name])} @{name}(",
            f"define {result_type(module.results[name])} @{self._symbol}(",
        )
        self._results, self._parameters = module.results[name], parameters
        self._kinds = [
            types.CPointer(numba_type(p[1], in_memory=True)) if isinstance(p, tuple)
            else numba_type(p) for p in parameters
        ]  # fmt: skip
        self._library: Any = None
        self.function = self._intrinsic()

    def _intrinsic(self) -> Any:
        names = [f"x{i}" for i in range(len(self._kinds))]
        results = types.Tuple([numba_type(dtype) for dtype in self._results])
        signature = (results if self._results else types.none)(*self._kinds)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            context.active_code_library.add_linking_library(self.library(context))
            values = [context.get_value_type(numba_type(dtype)) for dtype in self._results]
            kind: Any = ir.VoidType()
            if values:
                kind = values[0] if len(values) == 1 else ir.LiteralStructType(values)
            whole = ir.FunctionType(kind, [x.type for x in args])
            function = builder.module.globals.get(self._symbol)
            function = function or ir.Function(builder.module, whole, self._symbol)
            result = builder.call(function, args)
            if not values:
                return context.get_dummy_value()
            members = [result]
            if len(values) > 1:
                members = [builder.extract_value(result, i) for i in range(len(values))]
            return context.make_tuple(builder, signature.return_type, members)

        scope: dict[str, Any] = {"signature": signature, "codegen": codegen}
        text = f"def {self.name}({', '.join(['typing', *names])}): return signature, codegen"
        exec(text, scope)
        made = intrinsic(scope[self.name])
        numbers = tuple(None if isinstance(p, tuple) else np.dtype(p) for p in self._parameters)
        made.row = "linked", self._symbol, tuple(self._results), numbers
        EVERY[self._symbol] = self
        return made

    def library(self, context: Any) -> Any:
        """The library of the code, and of the functions of ours that it calls."""
        if self._library is None:
            library = Unfinished(context.codegen(), self._symbol)
            with context.push_code_library(library):
                module = library.create_ir_module(f"{self._symbol}_library")
                functions = Functions(context.typing_context, context, library, module, _walked)
                text, own = self._text, FunctionModule()
                for symbol, (name, kinds, _) in self._needs.items():
                    found = _own(own, self._find(name), kinds)
                    if found:
                        text = text.replace(f'@"{symbol}"', f"@{found}")
                        continue
                    inner = functions.inner(self._find(name), tuple(map(_kind, kinds)))
                    found = _quiet(context, module, inner) if inner.may_raise else inner.llvm
                    text = text.replace(f'@"{symbol}"', f'@"{found.name}"')
                declared = [
                    text
                    for name, text in (self._declarations | own.intrinsics).items()
                    if name not in module.globals
                ]
                texts = [str(module), *declared, *own.texts(), text]
                whole = binding.parse_assembly("\n".join(texts))
                whole.name = self._symbol
                library.add_llvm_module(whole)
            library.finalize()
            self._library = library
        return self._library


def _own(module: FunctionModule, function: Any, kinds: Sequence[str]) -> str:
    """The name of a function of ours in a module; "" where it has to be compiled by Numba's
    contexts."""
    try:
        made = function_of(function, [_type(kind) for kind in kinds])
        return module.name_without_status(made)
    except Unsupported:
        return ""


_DTYPES = {"double": "f8", "float": "f4", "i1": "?", "i64": "i8"}


def _type(text: str) -> Any:
    """The type of an argument, for functions of the IR; bools in memory are bytes."""
    if text.startswith("ptr "):
        return Pointer(np.dtype(text[4:].replace("b1", "u1")))
    if text == "i64 x 2":
        return np.dtype(np.int64), np.dtype(np.int64)
    return np.dtype(_DTYPES[text])


def _quiet(context: Any, module: ir.Module, inner: Any) -> ir.Function:
    """A function that calls one with Numba's calling convention, and raises nothing."""
    packer = context.get_arg_packer(inner.kinds)
    result = ir.VoidType() if inner.result == types.none else context.get_value_type(inner.result)
    whole = ir.FunctionType(result, packer.argument_types)
    function = ir.Function(module, whole, module.get_unique_name(f"{inner.llvm.name}.quiet"))
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    values = packer.from_arguments(builder, function.args)
    _, value = context.call_conv.call_function(
        builder, inner.llvm, inner.result, inner.kinds, values
    )
    if inner.result == types.none:
        builder.ret_void()
    else:
        builder.ret(value)
    return function


def _walked(emit: Any, function: Callable, arguments: Sequence[Value]) -> Value:
    return Walk(emit, function, arguments).run()
