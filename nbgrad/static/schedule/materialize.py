"""The decision which values have a buffer, and which are computed where they are read.

A value with a buffer is *materialized*: results, operands of products, sources of gathers,
reductions, expensive values that several others read, and those that would split a loop too often.
"""

from collections.abc import Sequence

from ..lower import rolls
from ..lower.algebra import priced
from ..lower.buffered import DeviceCall, Matmul, Nested, Scatter
from ..lower.halo import MANY
from ..lower.values import Concat, Full, Input, Inset, Map, Pad, Reshape, Take, Value, View
from .buffers import behind_views, buffer_of, operand_of, window_of
from .edges import NONE, Edges, domain_edges, inner_edges, pieces

# Computing a value again, up to this price, is cheaper than a store and a load: an addition costs
# one, a division four, an exponential twelve.
CHEAP = 8
# For each element that is kept, so much work done again costs more than a store and loads.
AGAIN = 28
# A value of this price has a buffer even if one other reads it, and a loop nest is no dearer:
# kernels of bounded length compile in linear time, and equal ones once. A chain of 100 sines took
# 6.3 s to compile without a bound, 2.3 with ten in a nest and a fifth less with five; the largest
# benchmark has 127.
DEAR = 127
# Loops are cut into at most so many pieces, and hold at most so many operations in all of them:
# each is written out. The gradient of a sum of 40 joins takes 5.3 s to compile and 1.6 microseconds
# to run; without the second bound 6.2 and 2.2.
PIECES, WRITTEN_OUT = 48, 250


class BufferPolicy:
    """The values with a buffer, and what the others cost and where they split loops."""

    def __init__(self, order: list[Value], outputs: Sequence[Value]):
        self.order = order
        self.materialized = {v for v in order if v.buffered and not isinstance(v, Nested)}
        self.prices: dict[Value, int] = {}
        self.edges: dict[Value, Edges] = {}
        self._required(outputs)
        self._worthwhile()
        # A value that is one number everywhere needs a buffer only behind a pointer.
        numbers = {v for v in self.materialized if isinstance(v, Full) and v.shape == ()}
        self.materialized = {v for v in self.materialized - numbers if not isinstance(v, Input)}
        self.materialized.update(v for v in outputs if v.shape != () and not isinstance(v, Input))
        self._seldom_split()

    def __contains__(self, value: Value) -> bool:
        return value in self.materialized

    def _required(self, outputs: Sequence[Value]) -> None:
        """Find the values that a step reads through a pointer, and scalars, which are lines."""
        materialized = self.materialized
        # Parts that only loops and choices read, through a pointer into the buffer of the whole.
        pointed = {arg for value in self.order if isinstance(value, Nested) for arg in value.args}
        pointed -= {a for v in self.order if not isinstance(v, Nested) for a in v.args}
        pointed -= set(outputs)
        for value in self.order:
            if value.shape == () and not isinstance(value, (Input, Full, Nested)):
                materialized.add(value)
            if isinstance(value, Matmul):
                materialized.update(operand_of(value, arg) for arg in value.args)
            elif isinstance(value, DeviceCall):
                materialized.update(buffer_of(arg) for arg in value.args)
            elif isinstance(value, Nested):
                materialized.update(window_of(arg)[0] for arg in value.args)
            elif isinstance(value, Reshape) and value not in pointed:
                materialized.add(buffer_of(value.source))
            elif isinstance(value, Scatter) and value.below is not None:
                materialized.add(buffer_of(value.below))  # which is copied as a whole
                if value.positions or not value.adds:
                    # Written in order, so that the last of equal positions wins.
                    materialized.add(buffer_of(value.block))
            elif isinstance(value, Take):
                source = buffer_of(behind_views(value.source))
                if not isinstance(source, Full):
                    materialized.add(source)
        views: dict[Value, int] = {}
        for value in self.order:
            if isinstance(value, View) and isinstance(value.source, (Pad, Concat)):
                views[value.source] = views.get(value.source, 0) + 1
        many = {Pad: MANY, Inset: MANY, Concat: rolls.MANY}
        materialized.update(block for block, count in views.items() if count >= many[type(block)])

    def _worthwhile(self) -> None:
        """Find the values that are expensive to compute again."""
        readers: dict[Value, int] = {}
        latest: dict[Value, Value] = {}
        for value in reversed(self.order):
            for arg in dict.fromkeys(value.args):
                count = 1
                if isinstance(value, (View, Reshape)):
                    count = readers.get(value, 0)
                elif readers.get(value) == 1 and {type(value), type(latest[value])} == {Map}:
                    # If the only reader of the value reads arg too, it computes arg once.
                    count = int(arg not in latest[value].args or latest[value].shape != value.shape)
                readers[arg] = readers.get(arg, 0) + count
                latest[arg] = value
        for value in self.order:
            own, args = priced(value)
            args = [arg for arg in dict.fromkeys(args) if arg not in self.materialized]
            price = own + sum(self.prices[arg] for arg in args)
            if isinstance(value, (Map, Take)):
                if price >= DEAR or (price >= CHEAP and readers.get(value, 0) > 1):
                    self.materialized.add(value)
            if isinstance(value, Map):
                self.materialized.update(arg for arg in value.args if self._repeated(arg, value))
            self.prices[value] = price

    def _repeated(self, arg: Value, value: Map) -> bool:
        """Whether reading `arg` would compute it anew for each of many rows, or at some expense for
        each of a few."""
        if not isinstance(arg, Map) or arg.shape == () or self.prices[arg] < CHEAP // 2:
            return False
        again = value.size - arg.size
        return arg.shape[-1] == value.shape[-1] > 1 and again * self.prices[arg] >= AGAIN * arg.size

    def _seldom_split(self) -> None:
        """Buffers where a loop would be cut too small: for the argument with most pieces."""
        for value in self.order:
            self.prices[value] = self._price(value)
            if value.buffered or value in self.materialized:
                while is_shattered(domain_edges(value, self.edges), self.prices[value]):
                    worst = max(self._inlined(value), key=lambda arg: pieces(self.edges[arg]),
                                default=None)  # fmt: skip
                    if worst is None:
                        break
                    self._keep(worst, value)
                continue
            edges = inner_edges(value, self.edges)
            if is_shattered(edges, self.prices[value]) and isinstance(value, Map):
                worst = max(value.args, key=lambda arg: pieces(self.edges.get(arg, NONE)))
                self._keep(worst, value)
                edges = inner_edges(value, self.edges)
            if edges:
                self.edges[value] = edges

    def _inlined(self, value: Value) -> list[Value]:
        """Arguments that are computed where they are read and have edges."""
        return [arg for arg in value.args if self.edges.get(arg)]

    def _keep(self, value: Value, reader: Value) -> None:
        self.materialized.add(value)
        self.edges.pop(value, None)
        self.prices[reader] = self._price(reader)

    def _price(self, value: Value) -> int:
        """About how many operations an element takes, with what is computed where it is read."""
        own, args = priced(value)
        return own + sum(0 if a in self.materialized else self.prices[a] for a in args)


def is_shattered(edges: Edges, price: int) -> bool:
    """Whether loops cut at these edges, of so many operations, would be cut too small."""
    count = pieces(edges)
    return count > PIECES or (count > 1 and count * price > WRITTEN_OUT)
