"""Products of matrices that a loop computes round by round, in a loop of their own before it.

In `for i: c = x[i] @ a; y[i] = c + b`, a round reads a whole matrix for one vector. The rounds of a
loop that does nothing but products are a few products of larger matrices (`kernels/series.py`),
and so are those of its adjoint. `adjoints/split_products.py` says when that is possible.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from ..ir.library import PRODUCT
from ..ir.statements import (
    Accumulate,
    Assign,
    Call,
    For,
    If,
    Load,
    New,
    Position,
    Raise,
    Store,
)
from ..ir.walk import walk, with_inner
from .build import INT, buffers_of, names_of
from .dots import dots
from .fusion import Around
from .integers import Integers
from .lengths import Shapes
from .library import SIZES
from .partials import only_computes
from .positions import Positions
from .split_products import Product, Split, is_one

__all__ = ["with_products_apart"]

_PLAIN = (Accumulate, Assign, For, If, Load, New, Position, Raise, Store)


def with_products_apart(
    body: Sequence[Any], shapes: Shapes, constants: Collection[str], variables: Collection[str],
    new: Callable[[str], str],
) -> list[Any]:  # fmt: skip
    """The statements with products in loops of their own."""
    positions = Positions(walk(body), shapes, constants, variables)
    return _Apart(body, positions, variables, new).body(body, ())


class _Apart:
    def __init__(
        self, body: Sequence[Any], positions: Positions, variables: Collection[str],
        new: Callable[[str], str],
    ):  # fmt: skip
        self._positions, self._variables, self._new = positions, variables, new
        self._reads: dict[Any, int] = {}
        for each in walk(body):
            for name in {*buffers_of(each), *names_of(each)}:
                self._reads[name] = self._reads.get(name, 0) + 1

    def body(self, statements: Sequence[Any], around: tuple[Around, ...]) -> list[Any]:
        made: list[Any] = []
        for each in statements:
            here = (*around, Around(each)) if isinstance(each, For) else around
            each = with_inner(each, lambda body, here=here: tuple(self.body(body, here)))
            made += self._split(each, around) if isinstance(each, For) else [each]
        return made

    def _split(self, loop: For, around: tuple[Around, ...]) -> list[Any]:
        """The loop, and before it loops of the products that it need not compute itself."""
        if any(x.checkpoint or x.ends for x in (loop, *(each.statement for each in around))):
            return [loop]
        if loop.call or loop.parallel or loop.step != 1:
            return [loop]
        nests = [x for x in loop.body if isinstance(x, For)]
        if not nests or not all(map(_is_plain, walk(loop.body))):
            return [loop]
        integers = Integers(loop.body, self._variables, self._new)
        for nest in nests:
            found = self._product(loop, nest) if nest.call else self._dots(loop, nest, integers)
            if found is None:
                continue
            split = Split(*found, around, self._positions, self._variables, self._new)
            if split.is_possible() and self._is_local(*found):
                return [*split.before(), *self._split(split.rest(), around)]
        return [loop]

    def _product(self, loop: For, nest: For) -> tuple[For, Product] | None:
        """The loop, and the product of a nest, if its result is a vector that the loop makes."""
        call = nest.call
        if call is None or call.function != PRODUCT or len(call.arguments) != SIZES:
            return None
        c, _, _, m, n, *_ = call.arguments
        count = n if is_one(m) else m if is_one(n) else None
        before = loop.body[: loop.body.index(nest)]
        own = [x for x in before if _touches(x, c.buffer)]
        if count is None or not c.at.is_zero or len(own) != 2:
            return None
        made, clear = own
        if isinstance(made, New) and isinstance(clear, For) and _clears(clear, c.buffer):
            return loop, Product(made, clear, nest, count)
        return None

    def _dots(self, loop: For, nest: For, integers: Integers) -> tuple[For, Product] | None:
        """The loop with a product for the sums of a nest, and this product."""
        found = dots(nest, loop, integers, lambda x: self._reads.get(x, 0), self._new)
        if found is None:
            return None
        made = (*found.before, found.made, found.clear, found.product, found.loop)
        place = loop.body.index(nest)
        self._positions.change(walk(made))
        self._reads[found.made.target] = _uses(made, found.made.target)
        whole = replace(loop, body=(*loop.body[:place], *made, *loop.body[place + 1 :]))
        return whole, Product(found.made, found.clear, found.product, found.made.count)

    def _is_local(self, loop: For, product: Product) -> bool:
        """Whether nothing outside of a loop uses the vector."""
        buffer = product.made.target
        return _uses(loop.body, buffer) == self._reads.get(buffer, 0)


def _is_plain(each: Any) -> bool:
    return isinstance(each, _PLAIN) or (isinstance(each, Call) and only_computes(each.function))


def _clears(loop: For, buffer: Any) -> bool:
    """Whether a loop sets elements of a buffer to 0, and does no more."""
    return all(
        isinstance(x, (For, Position)) or (isinstance(x, Assign) and x.dtype == INT)
        if not isinstance(x, Store)
        else x.buffer == buffer and x.kind is None and getattr(x.value, "number", None) == 0
        for x in walk([loop])
    )


def _touches(statement: Any, buffer: Any) -> bool:
    """Whether a statement, or one inside of it, makes, reads or writes a buffer."""
    return any(
        buffer in buffers_of(x) or (isinstance(x, New) and x.target == buffer)
        for x in walk([statement])
    )


def _uses(body: Sequence[Any], buffer: Any) -> int:
    return sum(buffer in {*buffers_of(x), *names_of(x)} for x in walk(body))
