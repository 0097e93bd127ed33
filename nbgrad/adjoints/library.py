"""The derivatives of loops that are calls of a library: see `ir/library.py`.

The sweeps write calls for the loops. The adjoint of a product is two products, that of a Fourier
transform one transform.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import LoopError
from ..ir.library import (
    CONSTANT,
    DFT,
    FOREIGN,
    FOURIER,
    HALF_TO_REAL,
    PRODUCT,
    REAL_TO_HALF,
    RULE,
)
from ..ir.statements import Address, Call, For, Function, Literal
from ..ir.walk import with_inner
from .partials import without_derivative

__all__ = [
    "SIZES", "ArrayRule", "adjoints_of_call", "call_without", "computes_the_same",
    "declare_array_rule", "pullback_of", "tangents_of_call", "with_calls",
]  # fmt: skip

SIZES = 12
"""The number of arguments of one product."""

Shadow = Callable[[Any], Any]


def with_calls(body: Sequence[Any]) -> tuple[Any, ...]:
    """The statements with calls in place of the loops that have one."""
    return tuple(
        each.call if isinstance(each, For) and each.call else with_inner(each, with_calls)
        for each in body
    )


def adjoints_of_call(call: Call, shadow: Shadow) -> list[Call]:
    """The calls that add to the shadows of what a call reads; `shadow` gives that of a buffer, or
    None."""
    return _OF[call.function][0](call.arguments, shadow)


def tangents_of_call(call: Call, dot: Shadow) -> list[Call]:
    """The calls that add to the tangent of the result; `dot` gives the tangent of a buffer, or
    None."""
    return _OF[call.function][1](call.arguments, dot)


def call_without(call: Call, buffers: Collection[Any]) -> Call | None:
    """The call without results in these buffers; None for one that has no others."""
    if call.function in (CONSTANT, PRODUCT, RULE):
        return None if call.arguments[0].buffer in buffers else call
    if call.function == FOREIGN:
        return call
    found = _transform(*_parts(call.arguments, lambda x: None if x in buffers else x))
    return found[0] if found else None


def computes_the_same(call: Call) -> bool:
    """True if the loops that stand for a call compute the same. Raises LoopError for others, which
    only say what the call reads and writes."""
    if call.function not in (PRODUCT, FOURIER):
        raise LoopError(f"a loop that stands for a call of {call.function} would be recorded")
    return True


def _of(x: Address, shadow: Shadow) -> Address | None:
    buffer = shadow(x.buffer)
    return None if buffer is None else replace(x, buffer=buffer)


# -- products -------------------------------------------------------------------------------------


def _adjoints_of_product(arguments: Sequence[Any], shadow: Shadow) -> list[Call]:
    c, a, b, m, n, k, c0, c1, a0, a1, b0, b1, *rounds = arguments
    made = []
    if (g := _of(c, shadow)) is None:
        return []
    by_a, by_b = [], []
    if rounds:
        count, dc, da, db, dm, dn, dk = rounds
        by_a, by_b = (count, da, dc, db, dm, dk, dn), (count, db, da, dc, dk, dn, dm)
    if (bar := _of(a, shadow)) is not None:
        made.append(Call(PRODUCT, (bar, g, b, m, k, n, a0, a1, c0, c1, b1, b0, *by_a)))
    if (bar := _of(b, shadow)) is not None:
        made.append(Call(PRODUCT, (bar, a, g, k, n, m, b0, b1, a1, a0, c0, c1, *by_b)))
    return made


def _tangents_of_product(arguments: Sequence[Any], dot: Shadow) -> list[Call]:
    c, a, b, *rest = arguments
    if (to := _of(c, dot)) is None:
        return []
    pairs = (_of(a, dot), b), (a, _of(b, dot))
    return [Call(PRODUCT, (to, x, y, *rest)) for x, y in pairs if x is not None and y is not None]


# -- Fourier transforms ---------------------------------------------------------------------------

_TRANSPOSED = {DFT: DFT, REAL_TO_HALF: HALF_TO_REAL, HALF_TO_REAL: REAL_TO_HALF}


def _adjoints_of_transform(arguments: Sequence[Any], shadow: Shadow) -> list[Call]:
    """The transposed transform. That of a complex one is the inverse: both with the real and the
    imaginary parts exchanged."""
    parts, (kind, *sizes) = _parts(arguments, shadow)
    y, x = parts[:2], parts[2:]
    if kind.number == DFT:
        y, x = y[::-1], x[::-1]
    other = replace(kind, number=_TRANSPOSED[kind.number])
    return _transform([*x, *y], [other, *sizes])


def _tangents_of_transform(arguments: Sequence[Any], dot: Shadow) -> list[Call]:
    return _transform(*_parts(arguments, dot))


def _parts(arguments: Sequence[Any], shadow: Shadow) -> tuple[list[Address | None], list[Any]]:
    """The shadows of the parts, None for those without, and the other arguments."""
    present = arguments[4].number
    pointers = enumerate(arguments[:4])
    parts = [_of(x, shadow) if present >> i & 1 else None for i, x in pointers]
    return parts, list(arguments[5:])


def _transform(parts: Sequence[Address | None], rest: Sequence[Any]) -> list[Call]:
    """A call for parts that there may be or not."""
    there = [x for x in parts if x is not None]
    if not any(parts[:2]) or not any(parts[2:]):
        return []
    present = sum(1 << i for i, x in enumerate(parts) if x is not None)
    kind = rest[0]
    given = [there[0] if x is None else x for x in parts]
    return [Call(FOURIER, (*given, Literal(present, kind.dtype), *rest))]


# -- constants ------------------------------------------------------------------------------------


def _of_constant(arguments: Sequence[Any], shadow: Shadow) -> list[Call]:
    """None: what a constant is computed from has no derivative."""
    result, source = arguments[:2]
    if _of(result, shadow) is not None and _of(source, shadow) is not None:
        raise LoopError("a kernel for matrices has no derivative in compiled loops")
    return []


# -- rules of users -------------------------------------------------------------------------------


class ArrayRule(NamedTuple):
    """The derivatives of a function of vectors, which also take sizes and numbers, made when they
    are asked for: the pullback of `y_bar, y, x, x_bar` adds to `x_bar`; the pushforward of
    `y, x, x_dot, y_dot` adds to `y_dot`."""

    pullback: Callable[[], Function]
    pushforward: Callable[[], Function]


_RULES: dict[int, ArrayRule] = {}


def declare_array_rule(number: int, rule: ArrayRule) -> None:
    """Have calls of `RULE` with a number differentiated by a rule."""
    _RULES[number] = rule


def pullback_of(call: Call) -> Function | None:
    """The pullback that the adjoint of a call calls; None for a call without a rule of a user."""
    return _RULES[call.arguments[2].number].pullback() if call.function == RULE else None


def _adjoints_of_rule(arguments: Sequence[Any], shadow: Shadow) -> list[Call]:
    y, x, number, *numbers = arguments
    y_bar, x_bar = _of(y, shadow), _of(x, shadow)
    if y_bar is None or x_bar is None:
        return []
    return [Call(_RULES[number.number].pullback(), (y_bar, y, x, x_bar, *numbers))]


def _tangents_of_rule(arguments: Sequence[Any], dot: Shadow) -> list[Call]:
    y, x, number, *numbers = arguments
    y_dot, x_dot = _of(y, dot), _of(x, dot)
    if y_dot is None or x_dot is None:
        return []
    return [Call(_RULES[number.number].pushforward(), (y, x, x_dot, y_dot, *numbers))]


# -- C functions ----------------------------------------------------------------------------------


def _of_foreign(arguments: Sequence[Any], shadow: Shadow) -> list[Call]:
    pointers = [x for x in arguments if isinstance(x, Address)]
    count = arguments[len(pointers) + 1].number
    if any(_of(x, shadow) for x in pointers[:count]) and any(_of(x, shadow) for x in pointers):
        raise LoopError(without_derivative("foreign "))
    return []


_OF = {
    CONSTANT: (_of_constant, _of_constant),
    PRODUCT: (_adjoints_of_product, _tangents_of_product),
    FOREIGN: (_of_foreign, _of_foreign),
    RULE: (_adjoints_of_rule, _tangents_of_rule),
    FOURIER: (_adjoints_of_transform, _tangents_of_transform),
}
