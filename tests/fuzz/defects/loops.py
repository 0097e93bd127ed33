"""Defects of the loop nests of compiled programs."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from unittest.mock import patch

from nbgrad.static import ir, native, nest


@contextmanager
def inner_memo() -> Iterator[None]:
    """What is the same for each element of one piece of an inner loop is taken for all pieces."""

    def remember(self, key, name, level):
        depth = len(self._outer.loops)
        outer = level < depth or (level == depth and self.split)
        (self._outer_memo if outer else self._inner_memo)[key] = name

    with patch.object(nest.Nest, "remember", remember):
        yield


@contextmanager
def unwritten() -> Iterator[None]:
    """A reduction over nothing is a loop nest that never runs."""

    def reduce(self, kind, value, axes):
        gone = tuple(sorted(axes))
        shape = tuple(n for i, n in enumerate(value.shape) if i not in gone)
        if not value.size and shape:
            key = ("reduce", shape, value.dtype, (value,), (kind, gone))
            return ir.Value(*key, "")
        return whole(self, kind, value, axes)

    whole = ir.Graph.reduce
    with patch.object(ir.Graph, "reduce", reduce):
        yield


@contextmanager
def overlapping() -> Iterator[None]:
    """Results are written over the arrays that they are computed from."""
    with patch.object(native, "_meets", lambda frame: "False"):
        yield


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {
    "memo-of-an-inner-loop": inner_memo,
    "unwritten-of-nothing": unwritten,
    "out-over-arguments": overlapping,
}
