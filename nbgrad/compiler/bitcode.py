"""The functions of ours that LLVM assembly calls, as bitcode.

Each is compiled once, with the functions that it calls. The disk cache keeps them, so that a
process that compiles a program seldom reads their definitions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir
from numba.core import types

from ..ir.statements import Pointer
from .cache import file_name, loaded, save
from .front import function_of
from .front.syntax import Unsupported
from .llvm_function import FunctionModule
from .numba_api import cpu_target, numpy_support
from .pipeline import Unfinished

__all__ = ["Need", "internalize", "modules", "numba_type"]

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
                code = _compiled(symbol, find(need.name), need)
                save(file, lambda code=code: (code,), is_counted=False)
            _known[symbol] = code
        yield binding.parse_bitcode(_known[symbol])


def internalize(module: Any, symbols: Sequence[str]) -> None:
    """Let all functions of a module but these be inlined and dropped."""
    for each in module.functions:
        if not each.is_declaration and each.name not in symbols:
            each.linkage = "internal"


def _compiled(symbol: str, function: Any, need: Need) -> bytes:
    """The code of a function, and of those that it calls, which only it sees."""
    try:
        made = function_of(function, list(map(_type, need.kinds)))
    except Unsupported:  # such as that of an installation without sources
        return _by_numba(symbol, function, tuple(map(_kind, need.kinds)))
    own = FunctionModule()
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


def _by_numba(symbol: str, function: Any, kinds: tuple[Any, ...]) -> bytes:
    """Return the bitcode of a function that Numba compiles. Its exceptions are ignored."""
    function.compile(kinds)
    found = function.overloads[kinds]
    context: Any = cpu_target.target_context  # pyright: ignore[reportAttributeAccessIssue]
    library = Unfinished(context.codegen(), symbol)
    module = library.create_ir_module(symbol)
    packer, returned = context.get_arg_packer(kinds), found.signature.return_type
    result = ir.VoidType() if returned == types.none else context.get_value_type(returned)
    wrapper = ir.Function(module, ir.FunctionType(result, packer.argument_types), symbol)
    builder = ir.IRBuilder(wrapper.append_basic_block("entry"))
    _, value = context.call_conv.call_function(
        builder, context.declare_function(module, found.fndesc), returned, kinds,
        packer.from_arguments(builder, wrapper.args),
    )  # fmt: skip
    if returned == types.none:
        builder.ret_void()
    else:
        builder.ret(value)
    library.add_linking_library(found.library)
    library.add_ir_module(module)
    library.finalize()
    return library.bitcode


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
