"""What a kernel says of itself to LLVM, in its first lines.

Their twins for plain Python do nothing.
"""

from typing import Any

from llvmlite import ir
from numba.core import types

from .host import is_wide
from .kernel import instruction
from .numba_api import default_manager

__all__ = ["alone", "apart", "inside", "small", "tuned", "wide"]


@instruction(lambda: None)
def tuned(typingctx):
    """Said first in a kernel: its pointers lead to different buffers, and vectors may be wide."""

    def codegen(context, builder, signature, args):
        for argument in _arguments(builder.function):
            if isinstance(argument.type, ir.PointerType):
                argument.add_attribute("noalias")
        widen(builder.function)
        return context.get_dummy_value()

    return types.void(), codegen


# Where the address of the first element stands among the parts of an array's argument.
_DATA = f".{default_manager.lookup(types.Array(types.float64, 1, 'C')).get_field_position('data')}"


@instruction(lambda: None)
def apart(typingctx):
    """Said first in a kernel of arrays: what it writes is in no other argument. Else LLVM compares
    addresses before a loop, takes short arrays that lie within some vectors of each other for ones
    that overlap, and does not vectorise there: a sum would have other bits than elsewhere."""

    def codegen(context, builder, signature, args):
        for argument in _arguments(builder.function):
            if argument.name.endswith(_DATA):
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return types.void(), codegen


@instruction(lambda: None)
def alone(typingctx):
    """Said first in a kernel: it is not written into its callers, where it would be optimized and
    made machine code of for each call."""

    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


@instruction(lambda: None)
def small(typingctx):
    """Said first in a kernel: `alone`, and its loops stay as they are written: LLVM takes long to
    make vectors of them, and they gain nothing."""

    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        builder.function.attributes.add("minsize")
        builder.function.attributes.add("optsize")
        return context.get_dummy_value()

    return types.void(), codegen


@instruction(lambda: None)
def inside(typingctx):
    """Said first in a step that gives numbers: it is written into its loop, so that they need not
    pass through memory."""

    def codegen(context, builder, signature, args):
        builder.function.attributes.add("alwaysinline")
        return context.get_dummy_value()

    return types.void(), codegen


@instruction(lambda: None)
def wide(typingctx):
    """Said first in a kernel: vectors may be wide. For loops with so much to compute that memory
    does not keep them waiting."""

    def codegen(context, builder, signature, args):
        widen(builder.function)
        return context.get_dummy_value()

    return types.void(), codegen


def _arguments(function: ir.Function) -> list[Any]:
    """The arguments of a function: Numba has others, where the result and where an error go."""
    return [argument for argument in function.args if argument.name.startswith("arg.")]


def widen(function: ir.Function) -> None:
    if is_wide():
        set.add(function.attributes, '"prefer-vector-width"="512"')
