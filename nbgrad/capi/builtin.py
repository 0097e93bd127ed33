"""Compiles the function that an `Emitter` has built."""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import llvmlite.binding as llvm

from ..compiler.kernel import undisturbed
from ..runtime.vectorcall import builtin
from .emitter import Emitter

__all__ = ["c_function", "compiled", "slots"]


@cache
def _engine(level: int) -> Any:
    """LLVM's compiler at an optimization level. Level 0 takes a third of the time, and is as good
    for code without loops."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=level, jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


_kept: list[Any] = []


def compiled(emitter: Emitter, level: int = 0) -> int:
    """Compile a function and return its address. The code, and the objects whose addresses it
    contains, live as long as the process."""
    _kept.extend(emitter.kept)
    with undisturbed():
        engine = _engine(level)
        engine.add_module(llvm.parse_assembly(str(emitter.module)))
        engine.finalize_object()
        return engine.get_function_address(emitter.function.name)


def c_function(write: Callable[[], Emitter], general: Callable) -> Callable:
    """Compile the function that an emitter writes, which calls `general` for arguments that it does
    not handle."""
    return builtin(general.__name__, compiled(write()), (general,))


def slots(kind: type, *names: str) -> dict[str, int]:
    """The offsets of slots in instances of a class, found by setting them."""
    x: Any = cast(Any, kind).__new__(kind)
    found = {}
    words = (ctypes.c_size_t * (kind.__basicsize__ // 8)).from_address(id(x))
    for name in names:
        mark = object()
        setattr(x, name, mark)
        found[name] = 8 * list(words).index(id(mark))
    return found
