"""Defects of the loop nests of compiled programs."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from unittest.mock import patch

from nbgrad.compiler import entry
from nbgrad.static.entry import bodies
from nbgrad.static.loops import nest
from nbgrad.static.lower.buffered import Reduce
from nbgrad.static.lower.graph import Graph


@contextmanager
def inner_memo() -> Iterator[None]:
    """What is the same for each element of one piece of an inner loop is taken for all pieces."""

    def memo(self, position):
        return self._outer_memo if self.split else self._inner_memo

    with patch.object(nest.Nest, "memo", memo):
        yield


@contextmanager
def unwritten() -> Iterator[None]:
    """A reduction over nothing is a loop nest that never runs."""

    def reduce(self, kind, value, axes):
        gone = tuple(sorted(axes))
        shape = tuple(n for i, n in enumerate(value.shape) if i not in gone)
        if not value.size and shape:
            return Reduce(shape, value.dtype, (value,), "", kind, gone)
        return whole(self, kind, value, axes)

    whole = Graph.reduce
    with patch.object(Graph, "reduce", reduce):
        yield


@contextmanager
def overlapping() -> Iterator[None]:
    """Results are written over the arrays that they are computed from."""
    with (
        patch.object(bodies, "meets", lambda signature, do, *arrays: False),
        patch.object(entry, "_compared", lambda parameters: range(0)),
    ):
        yield


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {
    "memo-of-an-inner-loop": inner_memo,
    "unwritten-of-nothing": unwritten,
    "out-over-arguments": overlapping,
}
