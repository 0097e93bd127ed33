"""Loops whose rounds compute a sum of products each, as a product of a vector and a matrix.

In `for j: y[j] += np.dot(x, a[:, j])`, each round reads a column. The loop over the terms of the
sums becomes the outer one, and runs along rows. The sums may be added in any order, as those of
library functions.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..ir.affine import ZERO, variable
from ..ir.library import PRODUCT
from ..ir.reductions import SUM
from ..ir.scalar import Apply
from ..ir.statements import (
    Accumulate,
    Address,
    Assign,
    Call,
    For,
    Literal,
    Load,
    New,
    Position,
    Store,
)
from .build import COPY, INT, literal, operation
from .integers import Integers

__all__ = ["Dots", "dots"]


@dataclass(frozen=True)
class Dots:
    """A loop as the statements `before` a product, the `product`, which adds to the vector that
    `made` makes and `clear` sets to 0, and a loop that reads this."""

    before: tuple[Any, ...]
    made: New
    clear: For
    product: For
    loop: For


def dots(
    loop: For, outer: For, integers: Integers, reads: Callable[[str], int],
    new: Callable[[str], str],
) -> Dots | None:  # fmt: skip
    """The parts of a loop in the body of an outer one, None for another loop. `reads` is the number
    of statements that read a variable."""
    sums = [x for x in loop.body if isinstance(x, For)]
    if len(sums) != 1 or (loop.start, loop.step, loop.parallel) != (0, 1, False):
        return None
    found = _terms(sums[0])
    if found is None:
        return None
    (x, y), add = found
    total, axes = add.target, (outer.axis, loop.axis, sums[0].axis)
    place = loop.body.index(sums[0])
    start = [x for x in loop.body[:place] if getattr(x, "target", None) == total]
    end = [x for x in loop.body[place:] if isinstance(x, Assign) and x.operands == (total,)]
    if len(start) != 1 or len(end) != 1 or reads(total) != 1 or end[0].body is not COPY:
        return None
    match start[0]:
        case Assign(operands=(Literal(number=0),)) if start[0].body is COPY:
            pass
        case _:
            return None
    if integers.degree(x.at, (loop.axis,)) != 0:
        x, y = y, x
    if integers.degree(x.at, (loop.axis,)) != 0 or integers.degree(y.at, (loop.axis,)) != 1:
        return None
    bounds = integers.degree(loop.stop, axes), integers.degree(sums[0].stop, axes[1:])
    if bounds != (0, 0) or any(integers.degree(each.at, axes) not in (0, 1) for each in (x, y)):
        return None
    return _written(loop, sums[0], (x, y), total, end[0].target, outer, integers, new)


def _terms(loop: For) -> tuple[tuple[Load, Load], Accumulate] | None:
    """The factors of the products that a loop adds up, and the sum."""
    loads = [x for x in loop.body if isinstance(x, Load)]
    rest = [x for x in loop.body if not isinstance(x, (Load, Position))]
    rest = [x for x in rest if not (isinstance(x, Assign) and x.dtype == INT)]
    if loop.start != 0 or loop.step != 1 or loop.call or len(loads) != 2 or len(rest) != 2:
        return None
    product, add = rest
    match product, add:
        case (
            Assign(target=target, body=Apply(function=function), operands=operands, dtype=dtype),
            Accumulate(kind=kind, value=value, loose=True),
        ) if kind is SUM and value == target and function.name == "multiply":
            x, y = loads
            same = {x.dtype, y.dtype, dtype, add.dtype} == {dtype} and dtype.kind == "f"
            if same and sorted(operands, key=str) == sorted((x.target, y.target)):
                return (x, y), add
    return None


def _written(
    loop: For, inner: For, factors: tuple[Load, Load], total: str, value: str, outer: For,
    integers: Integers, new: Callable[[str], str],
) -> Dots:  # fmt: skip
    j, p = loop.axis, inner.axis
    dtype = factors[0].dtype
    n, k = (literal(x, INT) if isinstance(x, int) else x for x in (loop.stop, inner.stop))
    first = literal(outer.start, INT) if isinstance(outer.start, int) else outer.start
    zero, one = literal(0, INT), literal(1, INT)
    before: list[Any] = []
    addresses = [Address(each.buffer, each.at, dtype) for each in factors]
    at = integers.at({j: zero, p: zero}, [*addresses, k], before)
    a, b = map(at, addresses)

    def step(address: Address, axis: str) -> Any:
        """The distance of the elements of two rounds, which is the same in all."""
        values = {outer.axis: first, j: zero, p: zero}
        x, y = (integers.at({**values, axis: i}, [address], before)(address) for i in (zero, one))
        return integers.difference(x, y, before)

    steps = step(addresses[0], p), step(addresses[1], p), step(addresses[1], j)
    made = new("sums")
    axes = {name: new("i") for name in (j, p, "row", "cleared")}
    row, vector = For(axes["row"], 0, 1, ()), variable(axes[j])

    def copied(wanted: Load, values: dict[str, Any]) -> list[Any]:
        own: list[Any] = []
        address = Address(wanted.buffer, wanted.at, dtype)
        at = integers.at(values, [address], own)(address).at
        return [*own, Load(new("factor"), wanted.buffer, at, dtype)]

    left = copied(factors[0], {p: axes[p]})
    right = copied(factors[1], {p: axes[p], j: axes[j]})
    pair = left[-1].target, right[-1].target
    product = operation(new("product"), "multiply", pair, dtype)
    add = Store(made, vector, product.target, dtype, SUM)
    columns = For(axes[j], 0, loop.stop, (*right, product, add))
    terms = For(axes[p], 0, _bound(at(k)), (*left, columns))
    sizes = one, n, at(k), zero, one, zero, *steps
    c = Address(made, ZERO, dtype)
    cleared = Store(made, variable(axes["cleared"]), literal(0.0, dtype), dtype)
    reading = Load(value, made, variable(j), dtype)
    body = [x for x in loop.body if x is not inner and getattr(x, "target", None) != total]
    return Dots(
        tuple(before),
        New(made, n, dtype, shape=(n,)),
        For(axes["cleared"], 0, loop.stop, (cleared,)),
        replace(row, body=(terms,), call=Call(PRODUCT, (c, a, b, *sizes))),
        replace(loop, body=tuple(
            reading if getattr(x, "target", None) == value else x for x in body
        )),
    )  # fmt: skip


def _bound(x: Any) -> Any:
    return x.number if isinstance(x, Literal) else x
