"""Functions with many loops in parts, as LLVM assembly.

Passes of LLVM that work on one loop look at the whole function around it, so its time is quadratic
in the number of loops. Nests of large functions are therefore functions of their own.
"""

from collections.abc import Sequence
from typing import Any

from ..ir.spread import Spread
from ..ir.statements import Address, Allocate, For, New, PointTo, Return, Variable, While
from ..ir.walk import walk
from .llvm_function import STATUS, BodyWriter
from .llvm_inner import InnerWriter

__all__ = ["MOST_LOOPS", "Parts"]

MOST_LOOPS = 32
"""A function with more loops is written in parts, none of which has more."""

# A part has neither buffers nor variables of its own that others could read.
_KEPT = (Allocate, New, Return, Spread, Variable)


class Parts:
    """Writes nests of a function as functions, for a body with more loops than MOST_LOOPS."""

    def __init__(self, body: Sequence[Any], attributes: str):
        self._attributes = f" noinline{attributes}"
        # The memory of such buffers is read through other pointers, too.
        self._shared = {
            each.address.buffer for each in walk(body)
            if isinstance(each, PointTo) and isinstance(each.address, Address)
        }  # fmt: skip

    @staticmethod
    def are_needed(body: Sequence[Any]) -> bool:
        """Whether a function is large."""
        return _loops_in(body) > MOST_LOOPS

    def write(self, writer: BodyWriter, nest: Any) -> bool:
        """Write a nest of loops as a function, and its call; False for a nest that is too large, or
        another statement, of which nothing is written."""
        if not isinstance(nest, (For, While)) or _loops_in([nest]) > MOST_LOOPS:
            return False
        inside = walk([nest])
        if any(isinstance(each, _KEPT) for each in inside):
            return False
        targets = dict.fromkeys(getattr(each, "target", None) for each in inside)
        targets |= dict.fromkeys(x for each in inside for x in getattr(each, "results", ()))
        changed = [x for x in targets if isinstance(x, str) and writer.slot_of(x) is not None]
        dtypes = [writer.operand(name).dtype for name in changed]
        part = InnerWriter(writer, [nest], dtypes, self._shared)
        part.body([nest])
        part.finish([part.operand(name) for name in changed])
        module = writer.functions
        results = [STATUS] * part.raises + dtypes
        text = part.text(part.parameters, results, self._attributes)
        name = module.functions.setdefault(text, f'"nbgrad.part.{len(module.functions)}"')
        found = writer.results_of(name, part.given, results)
        if part.raises:
            writer.leave_if(found.pop(0).text)
        for each, value in zip(changed, found, strict=True):
            writer.define(each, value)
        return True


def _loops_in(body: Sequence[Any]) -> int:
    return sum(isinstance(each, (For, While, Spread)) for each in walk(body))
