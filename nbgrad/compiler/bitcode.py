"""The functions of ours that LLVM assembly calls, as bitcode.

Each is compiled once, with the functions that it calls. The disk cache keeps them, so that a
process that compiles a program seldom reads their definitions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding

from ..ir.statements import Pointer
from .cache import file_name, loaded, save
from .front import function_of
from .llvm_function import FunctionModule

__all__ = ["Need", "internalize", "modules"]

_PASSED = {"i64 x 2": "i64, i64"}
_known: dict[str, bytes] = {}


class Need(NamedTuple):
    """A function that is called: its name, and types of its arguments and of its result."""

    name: str
    kinds: tuple[str, ...]
    result: str

    def declaration(self, symbol: str) -> str:
        """The line that declares it."""
        kinds = [
            "ptr" if kind.startswith("ptr ") else _PASSED.get(kind, kind) for kind in self.kinds
        ]
        return f'declare {self.result} @"{symbol}"({", ".join(kinds)})'


def modules(needs: Mapping[str, Need], find: Callable[[str], Any]) -> Iterator[Any]:
    """LLVM modules with these functions, by their symbols; `find` gives a function by its name."""
    for symbol, need in needs.items():
        if symbol not in _known:
            file = file_name(symbol, repr(need))
            code = loaded(file, bytes, is_counted=False)
            if code is None:
                code = _compiled(symbol, need, find)
                save(file, lambda code=code: (code,), is_counted=False)
            _known[symbol] = code
        yield binding.parse_bitcode(_known[symbol])


def internalize(module: Any, symbols: Sequence[str]) -> None:
    """Let all functions of a module but these be inlined and dropped."""
    for each in module.functions:
        if not each.is_declaration and each.name not in symbols:
            each.linkage = "internal"


def _compiled(symbol: str, need: Need, find: Callable[[str], Any]) -> bytes:
    """The code of a function, and of those that it calls, which only it sees."""
    made = function_of(find(need.name), list(map(_type, need.kinds)))
    own = FunctionModule(find)
    name = own.name_without_status(made).strip('"')
    module = binding.parse_assembly("\n".join([*own.intrinsics.values(), *own.texts()]))
    main = module.get_function(name)
    main.name, main.linkage = symbol, "external"
    return module.as_bitcode()


_DTYPES = {"double": "f8", "float": "f4", "i1": "?", "i64": "i8"}


def _type(text: str) -> Any:
    """The type of an argument, for functions of the IR; bools in memory are bytes."""
    if text.startswith("ptr "):
        return Pointer(np.dtype(text[4:].replace("b1", "u1")))
    if text == "i64 x 2":
        return np.dtype(np.int64), np.dtype(np.int64)
    return np.dtype(_DTYPES[text])
