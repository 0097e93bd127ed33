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
from .llvm import Module, result_type
from .llvm_function import FunctionModule
from .numba_api import numpy_support
from .pipeline import Unfinished

__all__ = ["Linked", "numba_type"]


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
        made: Any = intrinsic(scope[self.name])
        numbers = tuple(None if isinstance(p, tuple) else np.dtype(p) for p in self._parameters)
        made.row = "linked", self._symbol, tuple(self._results), numbers
        EVERY[self._symbol] = self
        return made

    def library(self, context: Any) -> Any:
        """The library of the code, and of the functions of ours that it calls."""
        if self._library is None:
            library = Unfinished(context.codegen(), self._symbol)
            text, own = self._text, FunctionModule()
            for symbol, (name, kinds, _) in self._needs.items():
                function = function_of(self._find(name), list(map(_type, kinds)))
                text = text.replace(f'@"{symbol}"', f"@{own.name_without_status(function)}")
            declared = (self._declarations | own.intrinsics).values()
            whole = binding.parse_assembly("\n".join([*declared, *own.texts(), text]))
            whole.name = self._symbol
            library.add_llvm_module(whole)
            library.finalize()
            self._library = library
        return self._library


_DTYPES = {"double": "f8", "float": "f4", "i1": "?", "i64": "i8"}


def _type(text: str) -> Any:
    """The type of an argument, for functions of the IR; bools in memory are bytes."""
    if text.startswith("ptr "):
        return Pointer(np.dtype(text[4:].replace("b1", "u1")))
    if text == "i64 x 2":
        return np.dtype(np.int64), np.dtype(np.int64)
    return np.dtype(_DTYPES[text])
