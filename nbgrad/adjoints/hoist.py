"""Code that gives the same in every round of a loop, moved in front of the loop.

A load is moved if no store in the loop may be at its element; it stands under the condition that
the loop has a round. So the cotangent of the element is summed in a number while the loop runs.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ir.statements import Assign, For, If, Load, New, Position, Raise, Store, While
from ..ir.walk import inner, walk, with_inner
from .build import BOOL, INT, literal, names_of, operation
from .lengths import Shapes
from .positions import Access, Positions

__all__ = ["hoisted"]


@dataclass(eq=False)
class _Around:
    """A loop around statements."""

    statement: Any


def hoisted(
    body: Sequence[Any], shapes: Shapes, constants: Collection[str], variables: Collection[str],
    new: Callable[[str], str],
) -> list[Any]:  # fmt: skip
    """The statements with what does not change in loops in front of them."""
    positions = Positions(walk(body), shapes, constants, variables)
    return _Hoist(positions, variables, new).body(body, ())


class _Hoist:
    def __init__(self, positions: Positions, variables: Collection[str], new: Callable[[str], str]):
        self._positions, self._variables, self._new = positions, variables, new

    def body(self, statements: Sequence[Any], around: tuple[_Around, ...]) -> list[Any]:
        made: list[Any] = []
        for each in statements:
            if isinstance(each, (For, While)):
                here = (*around, _Around(each))
                each = replace(each, body=tuple(self.body(each.body, here)))
                made += self._loop(each, here) if isinstance(each, For) else [each]
            elif inner(each):
                made.append(with_inner(each, lambda body: tuple(self.body(body, around))))
            else:
                made.append(each)
        return made

    def _loop(self, loop: For, around: tuple[_Around, ...]) -> list[Any]:
        inside = walk(loop.body)
        changing = {loop.axis}
        for each in inside:
            changing |= {getattr(each, "target", None), *getattr(each, "results", ())}
        stores = list(_stores(loop.body, around))
        new = {each.target for each in inside if isinstance(each, New)}
        may_raise = any(isinstance(each, Raise) for each in inside)
        plain: list[Any] = []
        loads: list[Any] = []
        kept: list[Any] = []
        for each in loop.body:
            free = not names_of(each) & changing
            if (
                isinstance(each, Load)
                and free
                and not may_raise
                and each.buffer not in new
                and not any(self._meet(each, around, store, places) for store, places in stores)
            ):
                loads.append(each)
            elif free and self._is_index(each):
                (loads if names_of(each) & _targets(loads) else plain).append(each)
            else:
                kept.append(each)
                continue
            changing.discard(each.target)  # pyright: ignore
        whole = replace(loop, body=tuple(kept))
        if not loads:
            return [*plain, whole]
        return [*plain, *self._guarded(whole, loads)]

    def _is_index(self, each: Any) -> bool:
        """Whether it computes an integer. LLVM moves the other numbers."""
        if isinstance(each, Assign):
            return each.dtype.kind != "f" and each.target not in self._variables
        return isinstance(each, Position)

    def _guarded(self, loop: For, loads: list[Any]) -> list[Any]:
        """The loads and the loop, if it has a round."""
        if isinstance(loop.start, int) and isinstance(loop.stop, int):
            return [*loads, loop] if loop.start < loop.stop else []
        runs = self._new("runs")
        bounds = [literal(x, INT) if isinstance(x, int) else x for x in (loop.start, loop.stop)]
        return [operation(runs, "less", bounds, BOOL, INT), If(runs, (*loads, loop))]

    def _meet(
        self, load: Load, around: tuple[_Around, ...], store: Store, places: tuple[_Around, ...]
    ) -> bool:
        here = Access(load.buffer, load.at, around)  # pyright: ignore
        other = Access(store.buffer, store.at, places)  # pyright: ignore
        depth = len(around) - 1
        return any(
            self._positions.may_meet(x, y, later, depth)
            for x, y, later in ((here, other, False), (here, other, True), (other, here, True))
        )


def _targets(statements: Sequence[Any]) -> set[str]:
    return {each.target for each in statements}


def _stores(body: Sequence[Any], around: tuple[_Around, ...]) -> Any:
    """The stores, with the loops around them."""
    for each in body:
        if isinstance(each, Store):
            yield each, around
        here = (*around, _Around(each)) if isinstance(each, (For, While)) else around
        for part in inner(each):
            yield from _stores(part, here)
