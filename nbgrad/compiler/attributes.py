"""Intrinsics that set LLVM function attributes.

A kernel calls them in its first lines. In plain Python they do nothing.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from .host import widen
from .kernel import instruction
from .numba_api import default_manager

__all__ = ["minsize", "noalias", "noinline", "wide_vectors"]

# Numba's names of the data pointers of array arguments end so.
_DATA = f".{default_manager.lookup(types.Array(types.float64, 1, 'C')).get_field_position('data')}"


def _attribute(write: Callable[[ir.Function], None]) -> Any:
    def generator(typingctx):
        def codegen(context, builder, signature, args):
            write(builder.function)
            return context.get_dummy_value()

        return types.void(), codegen

    return instruction(lambda: None, (write.__name__,))(generator)


@_attribute
def noalias(function: ir.Function) -> None:
    """No two array arguments overlap. Otherwise LLVM compares addresses before a loop, treats short
    arrays within a few vectors of each other as overlapping, and does not vectorize there: a sum
    would have other bits than elsewhere."""
    for argument in function.args:
        if argument.name.startswith("arg.") and argument.name.endswith(_DATA):
            argument.add_attribute("noalias")


@_attribute
def noinline(function: ir.Function) -> None:
    """Compile the function once, not once per call site."""
    function.attributes.add("noinline")


@_attribute
def minsize(function: ir.Function) -> None:
    """`noinline`, and do not vectorize loops: LLVM takes long for it and nothing is gained."""
    for name in ("noinline", "minsize", "optsize"):
        function.attributes.add(name)


@_attribute
def wide_vectors(function: ir.Function) -> None:
    """Allow 512-bit vectors, for loops that are limited by computation, not by memory."""
    widen(function)
