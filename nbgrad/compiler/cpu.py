"""Rewriting of kernels for CPUs, which lets LLVM generate faster code.

`prepared` rewrites the statements of a kernel:

* LLVM vectorizes a short inner loop of known length across the rows, which is slower. The end of
  such a loop is made opaque. A few rounds would then be the scalar rest of a vectorized loop.
* LLVM turns a maximum over `select(mask, x, -inf)` into a conditional comparison, which it cannot
  vectorise. Such infinities are made opaque.
* Some functions have branch-free forms for most arguments: sin for those near 0, lgamma for those
  that are not negative. A kernel uses these, and runs again with the general forms if an argument
  was another one, which is rare.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ir.reductions import MAXIMUM, MINIMUM
from ..ir.scalar import NAMES, Apply, Number, arg, arguments, ordered, replaced
from ..ir.sizes import is_dynamic
from ..ir.statements import Accumulate, Assign, For, Literal, Operand, Pieces, Statement, Store
from ..ir.walk import inner, is_ranged, walk, with_inner

__all__ = ["Guarded", "OpaqueLoop", "OpaqueNumber", "guarded", "prepared"]

# A log-sum-exp of 5 numbers takes half the time with its length known, a minimum of 12 up to 1.6
# times; with 33 and more both are level.
_SHORT = range(9, 33)
_Names = dict[tuple[float, np.dtype], str]


@dataclass(frozen=True)
class OpaqueLoop:
    """A loop whose end LLVM does not know."""

    loop: For


@dataclass(frozen=True)
class OpaqueNumber:
    """`target` is a number that LLVM does not know."""

    target: str
    start: Literal


@dataclass(frozen=True)
class Guarded:
    """`body` with functions for arguments near 0; all of it again, with those for any argument,
    where one was far."""

    body: tuple[Statement, ...]


def prepared(body: tuple[Statement, ...]) -> tuple:
    """The statements as they are written."""
    if any(isinstance(s, Pieces) for s in body):  # whose parts are kernels of their own
        return body
    return guarded(tuple(_with_opaque_end(s, False) for s in _with_opaque_infinities(body)))


def guarded(body: tuple) -> tuple:
    """The statements, with forms for arguments near 0 where they call functions that have such."""
    return (Guarded(body),) if any(map(is_ranged, walk(body))) else body


def _with_opaque_end(statement: Statement, is_inside: bool) -> Statement:
    """The statement, with short loops whose end is opaque; `is_inside` of a loop."""
    is_loop = isinstance(statement, For)
    statement = with_inner(
        statement, lambda body: tuple([_with_opaque_end(s, is_inside or is_loop) for s in body])
    )
    if not isinstance(statement, For) or not is_inside:
        return statement
    length = statement.stop - statement.start
    is_short = not is_dynamic(length) and length in _SHORT
    if is_short and not any(map(inner, statement.body)):
        return OpaqueLoop(statement)  # pyright: ignore[reportReturnType]
    return statement


# -- infinities -----------------------------------------------------------------------------------


def _with_opaque_infinities(code: Sequence[Statement]) -> Sequence[Statement]:
    """The statements, with names for the infinities that are chosen from."""
    joins = [s for s in walk(code) if isinstance(s, (Accumulate, Store))]
    if not any(s.kind in (MAXIMUM, MINIMUM) for s in joins):
        return code
    names: _Names = {}
    named = [_with_names(statement, names) for statement in code]
    begins = [OpaqueNumber(name, Literal(x, dtype)) for (x, dtype), name in names.items()]
    return [*begins, *named]  # pyright: ignore[reportReturnType]


def _with_names(statement: Statement, names: _Names) -> Statement:
    if isinstance(statement, Assign):
        return _assign(statement, names)
    return with_inner(statement, lambda body: tuple(_with_names(s, names) for s in body))


def _assign(let: Assign, names: _Names) -> Assign:
    parts = ordered(let.body)
    if not any(isinstance(e, Apply) and e.function.name == "select" for e in parts):
        return let
    operands = [_named(x, names) for x in let.operands]
    body, taken = let.body, arguments(let.body)
    infinities = [e for e in parts if isinstance(e, Number) and _is_infinite(e.value)]
    free = [name for name in NAMES[len(operands) :] if name not in taken]
    for infinity, name in zip(infinities, free, strict=False):
        body = replaced(body, {infinity: arg(name)})
        operands.append(_named(Literal(infinity.value, let.inner), names))
    return replace(let, body=body, operands=tuple(operands))


def _named(operand: Operand, names: _Names) -> Operand:
    if isinstance(operand, str) or not _is_infinite(operand.number):
        return operand
    key = (float(operand.number), operand.dtype)
    return names.setdefault(key, f"infinity{len(names)}")


def _is_infinite(number: object) -> bool:
    return isinstance(number, float) and math.isinf(number)
