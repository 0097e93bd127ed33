"""A loop with a product of matrices in each round, as a loop of products and a loop without them.

The vectors of all rounds are the rows of one array. This is right if no round stores an element
that products of later rounds read. It takes no more memory than the loop itself, if it stores what
follows from the vectors in other elements in each round.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ir.affine import ZERO, Affine, affine_of, variable
from ..ir.library import PRODUCT
from ..ir.statements import (
    Address,
    Assign,
    Call,
    For,
    If,
    Literal,
    Load,
    New,
    Operand,
    Position,
    Raise,
    Store,
)
from ..ir.walk import walk
from .build import BOOL, INT, buffers_of, defined_names, literal, names_of, operation, renamed
from .dead import without_dead
from .fusion import Around, accesses
from .integers import Integers
from .positions import Positions

__all__ = ["Product", "Split", "is_one"]

_ZERO, _ONE = literal(0, INT), literal(1, INT)
_CHECKS = (Assign, If, Position, Raise)


@dataclass(frozen=True)
class Product:
    """A product in the body of a loop, whose result is a vector of `count` numbers that the body
    makes and sets to 0."""

    made: New
    clear: For
    nest: For
    count: Any


class Split:
    """A loop and a product in its body."""

    def __init__(
        self, loop: For, product: Product, around: tuple[Around, ...], positions: Positions,
        variables: Collection[str], new: Callable[[str], str],
    ):  # fmt: skip
        self._loop, self._product, self._around = loop, product, around
        self._positions, self._new = positions, new
        self._integers = Integers(loop.body, variables, new)
        self._vector = product.made.target
        self._made = {x.target for x in walk(loop.body) if isinstance(x, New)}
        self._pitch = new("pitch")
        self._buffer = new("products")
        self._arguments = self._of_product()
        self._checks: list[Any] | None = None

    # -- whether it is possible -------------------------------------------------------------------

    def is_possible(self) -> bool:
        if not (self._is_linear() and self._reads_what_was_there() and self._stores_all()):
            return False
        self._checks = self._raising()
        return self._checks is not None

    def _is_linear(self) -> bool:
        """Whether the places and the lengths change by the same distance in each round."""
        a, b, *sizes = self._arguments
        degrees = [self._integers.degree(x, (self._loop.axis,)) for x in (a, b, *sizes)]
        return (
            not self._made & {a.buffer, b.buffer}
            and all(x in (0, 1) for x in degrees[:5])
            and not any(x != 0 for x in degrees[5:])
        )

    def _of_product(self) -> list[Any]:
        """The arguments of the product but c. Steps along an axis of length 1 are 0."""
        call = self._product.nest.call
        assert call is not None
        _, a, b, *sizes = call.arguments
        m, n, k = map(is_one, sizes[:3])
        pairs = zip((m, n, m, k, k, n), sizes[3:], strict=True)
        steps = [_ZERO if is_short else x for is_short, x in pairs]
        return [a, b, *map(self._integers.plain, sizes[:3]), *steps]

    def _reads_what_was_there(self) -> bool:
        """Whether the rounds store no element that products of later rounds read, or of the same
        one."""
        here, depth = (*self._around, Around(self._loop)), len(self._around)
        every = [x for each in self._loop.body for x in accesses([[each]], here)]
        reads = [x for is_load, x in accesses([[self._product.nest]], here) if is_load]
        buffers = {x.buffer for x in reads}
        meet = self._positions.may_meet
        return not any(
            meet(x, load, later=True, depth=depth) or meet(x, load, later=False)
            for is_load, x in every if not is_load and x.buffer in buffers
            for load in reads
        )  # fmt: skip

    def _stores_all(self) -> bool:
        """Whether what follows from the vector is stored in other elements in each round."""
        follows = {self._vector}
        is_whole = False
        for loop in self._loop.body:
            if not isinstance(loop, For) or loop is self._product.nest:
                continue
            if not follows.intersection(x.buffer for x in walk([loop]) if isinstance(x, Load)):
                continue
            is_whole = is_whole or self._is_over_vector(loop)
            here = Around(self._loop)
            for is_load, access in accesses([[loop]], (*self._around, here)):
                if is_load or not is_whole:
                    continue
                if access.buffer in self._made:
                    follows.add(access.buffer)
                elif not self._positions.meet_in_rounds(access, access, here):  # pyright: ignore
                    return True
        return False

    def _is_over_vector(self, loop: For) -> bool:
        """Whether a loop has a round for each number of the vector. Lengths are equal where another
        one raises an exception."""
        plain = self._integers.plain
        same = {_bound(plain(self._product.count))}
        for each in self._loop.body:
            if isinstance(each, If) and any(isinstance(x, Raise) for x in each.then):
                pair = set(map(plain, self._integers.differing(each.condition)))
                same |= pair if pair & same else set()
        return loop.start == 0 and plain(loop.stop) in same

    def _raising(self) -> list[Any] | None:
        """The statements of a round that may raise an exception, and what they need; None where
        this is more than its variable and integers."""
        found = without_dead(_raising(self._loop.body, self._new), ())
        known = {*defined_names(found), self._loop.axis}
        inside = set(defined_names(self._loop.body)) - known
        is_known = all(isinstance(x, _CHECKS) and not names_of(x) & inside for x in walk(found))
        return found if is_known else None

    # -- the loops --------------------------------------------------------------------------------

    def before(self) -> list[Any]:
        """The statements before the loop: an array for the vectors, and loops of what may raise an
        exception, and of the products."""
        made: list[Any] = []
        rows, pitch = self._lengths(made), self._pitch
        made.append(operation(count := self._new("count"), "multiply", (rows, pitch), INT))
        dtype = self._product.made.dtype
        made.append(New(self._buffer, count, dtype, shape=(rows, pitch)))
        i, j = self._new("i"), self._new("i")
        place = self._new("place")
        zero = Store(self._buffer, affine_of(0, {place: 1, j: 1}), literal(0.0, dtype), dtype)
        columns = For(j, 0, _bound(pitch), (zero,))
        made.append(For(i, 0, _bound(rows), (_product_of(place, pitch, i), columns)))
        if self._checks:
            names = {x: self._new("check") for x in defined_names(self._checks)}
            names[self._loop.axis] = i = self._new("i")
            copies = tuple(_renamed(x, names) for x in self._checks)
            made.append(For(i, self._loop.start, self._loop.stop, copies))
        return [*made, *self._series(rows)]

    @property
    def _bounds(self) -> tuple[Operand, Operand]:
        """The bounds of the loop."""
        return _operand(self._loop.start), _operand(self._loop.stop)

    def _lengths(self, made: list[Any]) -> str:
        """The number of rounds, and as the pitch the greatest length of a vector."""
        start, stop = self._bounds
        axis, at = self._loop.axis, self._integers.at
        made.append(operation(rounds := self._new("rounds"), "subtract", (stop, start), INT))
        made.append(operation(last := self._new("last"), "subtract", (stop, _ONE), INT))
        count = self._integers.plain(self._product.count)
        ends = [at({axis: x}, [count], made)(count) for x in (start, last)]
        made.append(operation(most := self._new("most"), "maximum", ends, INT))
        made.append(operation(self._pitch, "maximum", (most, _ZERO), INT))
        made.append(operation(rows := self._new("rows"), "maximum", (rounds, _ZERO), INT))
        return rows

    def _series(self, rows: Operand) -> list[Any]:
        """The loop of products, behind the numbers that it needs."""
        made: list[Any] = []
        body: list[Any] = []
        start, _ = self._bounds
        axis, at = self._loop.axis, self._integers.at
        arguments = self._arguments
        made.append(operation(second := self._new("second"), "add", (start, _ONE), INT))
        firsts = list(map(at({axis: start}, arguments, made), arguments))
        seconds = list(map(at({axis: second}, arguments, made), arguments))
        pairs = zip(firsts[:5], seconds[:5], strict=True)
        a_round, b_round, *sizes = [self._integers.difference(x, y, made) for x, y in pairs]
        c = Address(self._buffer, ZERO, self._product.made.dtype)
        nest, i = self._product.nest, self._new("i")
        own = set(defined_names([nest]))
        wanted = sorted({x for each in walk([nest]) for x in names_of(each)} - own)
        value = at({axis: i}, wanted, body)
        row = self._row(i, body)
        body.append(renamed(nest, value, self._place(row), str))
        product = (c, *firsts, rows, self._pitch, a_round, b_round, *sizes)
        series = For(i, self._loop.start, self._loop.stop, tuple(body), call=Call(PRODUCT, product))
        return [*made, series]

    def _row(self, i: str, made: list[Any]) -> str:
        """The place of the vector of a round."""
        if self._loop.start != 0:
            pair = i, self._bounds[0]
            made.append(operation(i := self._new("row"), "subtract", pair, INT))
        made.append(_product_of(place := self._new("place"), self._pitch, i))
        return place

    def _place(self, row: str) -> Callable[[Any], tuple[Any, Affine]]:
        vector = self._vector
        return lambda x: (self._buffer, variable(row)) if x == vector else (x, ZERO)

    def rest(self) -> For:
        """The loop without the product."""
        own = self._product
        body: list[Any] = []
        place = self._place(self._row(self._loop.axis, body))
        for each in self._loop.body:
            if each is own.made or each is own.clear or each is own.nest:
                continue
            reads = any(x == self._vector for one in walk([each]) for x in buffers_of(one))
            body.append(renamed(each, str, place, str) if reads else each)
        return replace(self._loop, body=tuple(body))


def _raising(body: Sequence[Any], new: Callable[[str], str]) -> list[Any]:
    """The statements that may raise an exception, and integers. Those of an inner loop are in a
    branch that says whether it runs."""
    made: list[Any] = []
    for each in body:
        is_number = isinstance(each, Assign) and each.dtype.kind != "f"
        if is_number or isinstance(each, Position):
            made.append(each)
        elif any(isinstance(x, Raise) for x in walk([each])):
            if isinstance(each, For) and each.step == 1:
                bounds = _operand(each.start), _operand(each.stop)
                made.append(operation(runs := new("runs"), "less", bounds, BOOL, INT))
                each = If(runs, tuple(_raising(each.body, new)))
            made.append(each)
    return made


def is_one(x: Any) -> bool:
    """Whether a size is the number 1."""
    return isinstance(x, Literal) and x.number == 1


def _product_of(target: str, x: Operand, y: Operand) -> Assign:
    return operation(target, "multiply", (x, y), INT)


def _operand(x: Any) -> Operand:
    return literal(x, INT) if isinstance(x, int) else x


def _bound(x: Any) -> Any:
    return x.number if isinstance(x, Literal) else x


def _renamed(statement: Any, names: Mapping[str, str]) -> Any:
    def own(name: str) -> str:
        return names.get(name, name)

    return renamed(statement, own, lambda buffer: (buffer, ZERO), own)
