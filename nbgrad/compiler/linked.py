"""The core of a program as LLVM assembly, for Python's entry and for functions of the IR."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from llvmlite import binding

from .bitcode import Need, internalize, modules
from .forks import with_open_properties
from .llvm import Module, result_type
from .numba_api import cpu_target
from .pipeline import Unfinished

__all__ = ["Linked"]


@with_open_properties
class Linked:
    """A function of a module of LLVM code, callable from functions that the front end reads.

    `parameters` are dtypes of numbers, or `("ptr", dtype)`; `find` gives the compiled functions of
    ours that the code calls by name, beside device functions. `text` is the assembly of the module,
    in which those are declared, and the function is internal.
    """

    def __init__(
        self, name: str, module: Module, parameters: Sequence[Any], find: Callable[[str], Any]
    ):
        self.name, self._find, self._devices = module.cores[name], find, module.devices
        self._needs = {symbol: Need(*need) for symbol, need in module.needs.items()}
        self.results = module.results[self.name]
        declared = [need.declaration(symbol) for symbol, need in self._needs.items()]
        lines = [*declared, *module.intrinsics.values(), *module.texts(), ""]
        self.text = "\n".join(lines)
        self.digest = hashlib.sha256(self.text.encode()).hexdigest()[:24]
        self.symbol = f"nbgrad_{self.name}_{self.digest}"
        self.numbers = [None if isinstance(p, tuple) else np.dtype(p) for p in parameters]

    def modules(self) -> Iterator[Any]:
        """LLVM modules with the functions that the text declares."""
        return modules(self._needs, lambda name: self._devices.get(name) or self._find(name))

    def __repr__(self) -> str:
        return f"<{self.symbol}>"

    @property
    def row(self) -> tuple:
        """The row in the front end's table of instructions."""
        return "linked", self

    @cached_property
    def library(self) -> Any:
        """The library of the code, and of the functions of ours that it calls."""
        context: Any = cpu_target.target_context  # pyright: ignore[reportAttributeAccessIssue]
        library = Unfinished(context.codegen(), self.symbol)
        kind = result_type(self.results)
        text = self.text.replace(
            f"define internal {kind} @{self.name}(", f"define {kind} @{self.symbol}("
        )
        whole = binding.parse_assembly(text)
        whole.name = self.symbol
        for other in self.modules():
            whole.link_in(other)
        internalize(whole, [self.symbol])
        library.add_llvm_module(whole)
        library.finalize()
        return library
