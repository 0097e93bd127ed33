"""The core of a program as LLVM assembly, for Python's entry and for code that Numba compiles."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

from .bitcode import Need, internalize, modules, numba_type
from .forks import with_open_properties
from .llvm import Module, result_type
from .numba_api import cpu_target
from .pipeline import Unfinished

__all__ = ["EVERY", "Linked"]

EVERY: "WeakValueDictionary[str, Linked]" = WeakValueDictionary()
"""By symbol."""


@with_open_properties
class Linked:
    """A function of a module of LLVM code, callable from compiled code.

    `parameters` are dtypes of numbers, or `("ptr", dtype)`; `find` gives the compiled functions of
    ours that the code calls by name, beside device functions. `text` is the assembly of the module,
    in which those are declared, and the function is internal.
    """

    def __init__(
        self, name: str, module: Module, parameters: Sequence[Any], find: Callable[[str], Any]
    ):
        self.name, self._find, self._devices = module.cores[name], find, module.devices
        self._needs = {symbol: Need(*need) for symbol, need in module.needs.items()}
        self.parameters, self.results = parameters, module.results[self.name]
        declared = [need.declaration(symbol) for symbol, need in self._needs.items()]
        lines = [*declared, *module.intrinsics.values(), *module.texts(), ""]
        self.text = "\n".join(lines)
        self.digest = hashlib.sha256(self.text.encode()).hexdigest()[:24]
        self._symbol = f"nbgrad_{self.name}_{self.digest}"

    def modules(self) -> Iterator[Any]:
        """LLVM modules with the functions that the text declares."""
        return modules(self._needs, lambda name: self._devices.get(name) or self._find(name))

    @cached_property
    def function(self) -> Any:
        """The function for Numba's code."""
        kinds = [
            types.CPointer(numba_type(p[1], in_memory=True)) if isinstance(p, tuple)
            else numba_type(p) for p in self.parameters
        ]  # fmt: skip
        names = [f"x{i}" for i in range(len(kinds))]
        results = types.Tuple([numba_type(dtype) for dtype in self.results])
        signature = (results if self.results else types.none)(*kinds)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            context.active_code_library.add_linking_library(self.library)
            values = [context.get_value_type(numba_type(dtype)) for dtype in self.results]
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
        numbers = tuple(None if isinstance(p, tuple) else np.dtype(p) for p in self.parameters)
        made.row = "linked", self._symbol, tuple(self.results), numbers
        EVERY[self._symbol] = self
        return made

    @cached_property
    def library(self) -> Any:
        """The library of the code, and of the functions of ours that it calls."""
        context: Any = cpu_target.target_context  # pyright: ignore[reportAttributeAccessIssue]
        library = Unfinished(context.codegen(), self._symbol)
        kind = result_type(self.results)
        text = self.text.replace(
            f"define internal {kind} @{self.name}(", f"define {kind} @{self._symbol}("
        )
        whole = binding.parse_assembly(text)
        whole.name = self._symbol
        for other in self.modules():
            whole.link_in(other)
        internalize(whole, [self._symbol])
        library.add_llvm_module(whole)
        library.finalize()
        return library
