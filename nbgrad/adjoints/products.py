"""Products of matrices as calls of a library.

The front end writes c += a @ b as a nest of loops, whose outermost loop names the arguments of the
call that does the same: addresses of c, a and b, the sizes m, n and k, and for each matrix the
steps to the next row and to the next column. All analyses read the loops. The sweeps write calls:
the adjoint of one product is two. A loop of products has one call, too, with
further arguments: the number of rounds, the distances of the addresses of two rounds, and of the
sizes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..ir.statements import Address, Call, For
from ..ir.walk import with_inner

__all__ = [
    "PRODUCT",
    "SIZES",
    "adjoints_of_product",
    "call_of",
    "tangents_of_product",
    "with_calls",
]

PRODUCT = "product"
"""The name of the function."""
SIZES = 12
"""The number of arguments of one product."""

Shadow = Callable[[Any], Any]


def call_of(loop: For) -> Call:
    """The call that does the same as a nest."""
    return Call(PRODUCT, loop.product)


def with_calls(body: Sequence[Any]) -> tuple[Any, ...]:
    """The statements with calls for the nests of products."""
    return tuple(
        call_of(each) if isinstance(each, For) and each.product else with_inner(each, with_calls)
        for each in body
    )


def adjoints_of_product(arguments: Sequence[Any], shadow: Shadow) -> list[Call]:
    """The calls that add to the shadows of a and b; `shadow` gives that of a buffer, or None."""
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


def tangents_of_product(arguments: Sequence[Any], dot: Shadow) -> list[Call]:
    """The calls that add to the tangent of c; `dot` gives the tangent of a buffer, or None."""
    c, a, b, *rest = arguments
    if (to := _of(c, dot)) is None:
        return []
    pairs = (_of(a, dot), b), (a, _of(b, dot))
    return [Call(PRODUCT, (to, x, y, *rest)) for x, y in pairs if x is not None and y is not None]


def _of(x: Address, shadow: Shadow) -> Address | None:
    buffer = shadow(x.buffer)
    return None if buffer is None else replace(x, buffer=buffer)
