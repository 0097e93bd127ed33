"""Kernels over long arrays in pieces, on threads: which pieces, and how an eager op runs them.

The number of pieces depends on the size alone, never on that of threads, and each has sums of its
own, which are added in order: the numbers are the same on any machine.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.kernel import Kernel
from ..ir.reductions import CHUNK
from . import pool

__all__ = ["LIGHT", "InPieces", "by_rows", "cut", "cut_long", "is_large", "is_long", "rowwise"]

# Loops over fewer elements are not worth the few microseconds in which threads wake: at a
# nanosecond an element, 200,000 take 200.
LARGE = 200_000
# A piece has at least so many elements, some 15 microseconds of work: threads then end at nearly
# the same time, and claiming a piece costs nothing. There are no more than so many pieces.
PIECE, MOST = 16_384, 64
# Of an eager op Python calls each piece, and a helper waits for the GIL before it begins, some 50
# microseconds: so the op is longer (a product of 600,000 elements takes as long on two threads as
# on one), pieces are larger, and there are 2, 4, 8 or 16, so that two threads have as many.
LONG, LONG_PIECE, LONG_MOST = 800_000, 100_000, 16
# A sum reads only: so many elements take as long as one of another op.
LIGHT = 2


def is_large(elements: int) -> bool:
    """Whether a loop of a compiled program over so many elements runs in pieces."""
    return elements >= LARGE


def is_long(elements: int) -> bool:
    """Whether an eager op on so many elements does."""
    return elements >= LONG


def cut(rounds: int, elements: int) -> int:
    """How many rounds a piece has of a loop over `elements`; all of them where it is not cut."""
    count = min(MOST, rounds, elements // PIECE) if is_large(elements) else 1
    if count < 2:
        return rounds
    size = -(-rounds // count)
    return min(rounds, -(-size // CHUNK) * CHUNK) if rounds == elements else size


def cut_long(rounds: int, elements: int) -> int:
    """`cut` for an eager op."""
    count = min(LONG_MOST, rounds, elements // LONG_PIECE) if is_long(elements) else 1
    if count < 2:
        return rounds
    size = -(-rounds // 2 ** (count.bit_length() - 1))
    return -(-size // 8) * 8 if rounds == elements else size  # whole vectors


def by_rows(run: Callable[..., Any], rows: int, *operands: np.ndarray) -> None:
    """`run(rows, *operands)` on flat arrays that have each as many elements a row; in pieces where
    they are long."""
    size = cut_long(rows, max(operand.size for operand in operands))
    if size >= rows:
        run(rows, *operands)
        return
    widths = [operand.size // rows for operand in operands]

    def piece(k: int) -> None:
        first, last = k * size, min((k + 1) * size, rows)
        parts = [x[first * w : last * w] for x, w in zip(operands, widths, strict=True)]
        run(last - first, *parts)

    pool.in_pieces(-(-rows // size), piece)


def rowwise(kernel: Kernel, rows: int, columns: int, *operands: np.ndarray) -> None:
    """`kernel(*operands, rows, columns)`, as `by_rows`."""
    if not is_long(rows * columns):
        kernel(*operands, rows, columns)
        return
    kernel.calls += 1
    call = kernel.dispatcher
    by_rows(lambda n, *parts: call(*parts, n, columns), rows, *operands)


class InPieces:
    """A kernel of an elementwise op on long arrays, as `kernels/loops.py` makes them: it is
    called as the kernel is.

    `patterns` say how each operand lies in (rows, columns) elements; the last `written` ones are
    results, of which those that are sums have one for each piece. With `nested`, the kernel takes
    rows and columns; otherwise each element is a row.
    """

    def __init__(
        self,
        kernel: Kernel,
        patterns: Sequence[str],
        written: int,
        sizes: tuple[int, int],
        nested: bool,
    ):
        rows, columns = sizes
        self._kernel, self._nested, self._rows, self._columns = kernel, nested, rows, columns
        self._size = cut_long(rows, rows * columns)
        self._count = -(-rows // self._size)
        self._widths = [{"full": columns, "column": 1}.get(pattern, 0) for pattern in patterns]
        first = len(patterns) - written
        self._sums = [i for i in range(first, len(patterns)) if not self._widths[i]]

    def __call__(self, *operands: Any) -> None:
        call, size, rows, columns = self._kernel.dispatcher, self._size, self._rows, self._columns
        operands = operands[: len(self._widths)]
        sums = {i: np.empty((self._count, operands[i].size), operands[i].dtype) for i in self._sums}

        def piece(k: int) -> None:
            first, last = k * size, min((k + 1) * size, rows)
            parts = [
                sums[i][k] if i in sums else x[first * width : last * width] if width else x
                for i, (x, width) in enumerate(zip(operands, self._widths, strict=True))
            ]
            call(*parts, last - first, columns) if self._nested else call(*parts)

        pool.in_pieces(self._count, piece)
        for i, parts in sums.items():
            np.add.reduce(parts, axis=0, out=operands[i])
