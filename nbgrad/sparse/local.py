"""Patterns of single ops: on which elements of their arguments the elements of results depend.

The row of an op states its `pattern` (`nbgrad/rules/patterns.py`), or it follows from what else the
row states: partials, the axes along which the op works, or the blocks of its Jacobian. The result
of any other op depends on all elements. Rules read values of constants only.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ..core.primitive import shape_of
from ..core.symbols import Symbol
from . import labels
from .labels import Pattern, Shape


class Op:
    """A recorded call. `patterns` has the pattern of each argument, None for a constant;
    `value(i)` is the value of argument i if it is known before the program runs, else None."""

    def __init__(self, symbol: Symbol, patterns: Sequence[Pattern | None], value: Callable):
        assert symbol.primitive is not None
        self.symbol, self.primitive, self.params = symbol, symbol.primitive, symbol.params
        # Empty arguments are constants.
        self.patterns = [None if x is None or not x.shape[0] else x for x in patterns]
        self.value = value
        self.out: Shape = symbol.shape
        self.size: int = symbol.size
        self.shapes: list[Shape] = [shape_of(x) for x in symbol.args]

    @property
    def moving(self) -> list[tuple[int, Pattern]]:
        """The arguments that depend on the input, with their patterns."""
        return [(i, x) for i, x in enumerate(self.patterns) if x is not None]

    taken = staticmethod(labels.taken)
    joined = staticmethod(labels.joined)
    united = staticmethod(labels.united)

    def all_of(self, pattern: Pattern) -> Pattern:
        """The pattern of a result each of whose elements depends on all elements of an argument."""
        return labels.all_of(pattern, self.size)

    def by_pairs(self, pattern: Pattern, places: np.ndarray, sources: np.ndarray) -> Pattern:
        """The pattern of a result whose elements at `places` depend on the elements `sources` of an
        argument."""
        labels.require_room(places.size)
        shape = self.size, pattern.shape[0]
        return labels.matrix(places.ravel(), sources.ravel(), shape) @ pattern

    def elementwise(self, used: Callable[[int], Any] = lambda i: None) -> Pattern | None:
        """The pattern of a result each of whose elements depends on those at its place, to which
        the arguments are broadcast: where `used(i)`, if it is an array, is true."""
        parts = []
        for i, x in self.moving:
            rows, mask = np.broadcast_to(labels.numbers(self.shapes[i]), self.out), used(i)
            parts.append(labels.taken(x, rows if mask is None else np.where(mask, rows, -1)))
        return labels.united(parts)

    def of_numbered(self, move: Callable[[list], Any]) -> Pattern:
        """The pattern of elements that a function of the arguments moves. It is applied to numbers
        of their elements, which begin with 1; constants are 0."""
        arrays, parts, at = [], [], 1
        for shape, pattern in zip(self.shapes, self.patterns, strict=True):
            if pattern is None:
                arrays.append(np.zeros(shape))
                continue
            arrays.append(np.asarray(labels.numbers(shape) + float(at)))
            parts.append(pattern)
            at += pattern.shape[0]
        found = np.asarray(move(arrays)).astype(np.intp) - 1
        every = parts[0] if len(parts) == 1 else scipy.sparse.vstack(parts, format="csr")
        return labels.taken(every, found)


def pattern_of(op: Op) -> Pattern | None:
    """Return the pattern of the result of a call, None if it does not depend on the input."""
    row = op.primitive
    if not row.differentiable or op.symbol.dtype.kind != "f" or not (op.moving and op.size):
        return None
    if row.pattern is not None:
        return row.pattern(op)
    if hasattr(row, "partials"):
        return _by_partials(op)
    if isinstance(along := getattr(row, "along", None), str) and len(op.shapes) == 1:
        axes = op.params[along] if along else ()
        return _along(op, axes if isinstance(axes, tuple) else (axes,))
    return labels.united([_in_blocks(op, i, x) for i, x in op.moving])


def _by_partials(op: Op) -> Pattern | None:
    """Elementwise, in arguments whose partial is not 0, as that of np.floor is."""
    row: Any = op.primitive
    for i, _ in op.moving:
        if row.partials[i] is None or row.constant(i, **op.params) == 0:
            op.patterns[i] = None
    return op.elementwise()


def _along(op: Op, axes: tuple[int, ...]) -> Pattern:
    """Each element depends on all elements of its line along the axes."""
    ((_, pattern),), (shape,) = op.moving, op.shapes
    kept = tuple(1 if i in axes else n for i, n in enumerate(shape))
    lines = labels.numbers(kept)
    whole = labels.joined(pattern, np.broadcast_to(lines, shape), lines.size)
    of_out = np.broadcast_to(lines, op.out) if len(op.out) == len(shape) else lines
    return labels.taken(whole, of_out)


def _in_blocks(op: Op, i: int, pattern: Pattern) -> Pattern:
    """The diagonal blocks that the row states; one block is a dense Jacobian."""
    blocks = max(op.primitive.blocks(op.shapes, i, op.out, **op.params), 1)
    size = pattern.shape[0]
    if blocks == 1 or size % blocks or op.size % blocks:
        return op.all_of(pattern)
    whole = labels.joined(pattern, np.repeat(np.arange(blocks), size // blocks), blocks)
    return labels.taken(whole, np.repeat(np.arange(blocks), op.size // blocks))
