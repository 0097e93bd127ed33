"""The loop IR: what a kernel does to buffers, as small classes.

A `Kernel` takes buffers and numbers. Its statements are loops over integers, loads, scalar code,
stores and reductions. Names are of numbers; positions in buffers are affine in loop variables and
in integers that were loaded. No statement holds text of another language.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from .affine import Affine
from .functions import Constant
from .reductions import Reduction
from .scalar import NAMES, Expr, near_arguments
from .sizes import is_dynamic, names_in


@dataclass(frozen=True)
class Literal:
    """A constant operand. Two are equal where their text is: 0.0 is not -0.0, nan is nan."""

    number: Constant = field(compare=False)
    dtype: np.dtype
    text: str = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "text", repr(self.number))


Operand = str | Literal


@dataclass(frozen=True)
class Let:
    """`target` is scalar code over operands; `dtype` is that of the result, `inner` that of
    constants in the code."""

    target: str
    body: Expr
    operands: tuple[Operand, ...]
    dtype: np.dtype
    inner: np.dtype


@dataclass(frozen=True)
class Place:
    """`target` is a position: an integer."""

    target: str
    at: Affine


@dataclass(frozen=True)
class Begin:
    """`target`, which later statements change, begins with a number; a `hidden` one is not seen by
    the compiler below."""

    target: str
    start: Operand
    hidden: bool = False


@dataclass(frozen=True)
class Join:
    """`target` takes in one more element. `loose` sums may be added in any order."""

    target: str
    kind: Reduction
    value: Operand
    dtype: np.dtype
    loose: bool = False


@dataclass(frozen=True)
class Load:
    """`target` is the element of a buffer at a position."""

    target: str
    buffer: Hashable
    at: Affine
    dtype: np.dtype


@dataclass(frozen=True)
class Store:
    """An element of a buffer is set; with `kind`, joined with what is there."""

    buffer: Hashable
    at: Affine
    value: Operand
    dtype: np.dtype
    kind: Reduction | None = None
    loose: bool = False


@dataclass(frozen=True)
class Loop:
    """`body` for each integer from `start` to `stop`; where `hidden`, the optimizer is not to know
    how many. With `piece`, in a part of `Pieces`: only those of the piece that runs, so many."""

    axis: int
    start: int
    stop: int
    body: tuple["Statement", ...]
    hidden: bool = False
    piece: int = 0


@dataclass(frozen=True)
class Chunks:
    """A long loop in pieces of `size`, each with sums of its own, so that no running sum takes in
    too many small numbers: `before`, the loop over the piece, `after`."""

    loop: Loop
    size: int
    before: tuple["Statement", ...]
    after: tuple["Statement", ...]


@dataclass(frozen=True)
class Guarded:
    """`body` with functions for arguments near 0; all of it again, with those for any argument,
    where one was far."""

    body: tuple["Statement", ...]


@dataclass(frozen=True)
class Pieces:
    """A long loop in `count` pieces, which threads run in any order, or at once.

    `part` is a piece, a kernel of the same buffers, of numbers by the names that they have here,
    and of its own number, PIECE. What it returns, `joins` take in, piece after piece, each a result
    of that name.
    """

    part: "Kernel"
    count: int
    joins: tuple[Join, ...]


PIECE = "piece"
"""The number of the piece that runs."""


class Gemm(NamedTuple):
    """A product of matrices in buffers, c = op(a) @ op(b): op(a) is m x k, op(b) k x n; rows lie
    `strides` elements apart, those of c lie n apart. It is one of `products` such."""

    a: tuple[Hashable, Affine]
    b: tuple[Hashable, Affine]
    c: tuple[Hashable, Affine]
    sizes: tuple[int, int, int]
    turned: tuple[bool, bool]
    strides: tuple[int, int]
    dtype: np.dtype
    products: int = 1


Statement = Let | Place | Begin | Join | Load | Store | Loop | Chunks | Guarded | Pieces | Gemm


@dataclass(frozen=True)
class Kernel:
    """Statements over buffers 0, 1, ... of dtypes, and numbers; it returns `results`. `sizes` are
    the names of those that it is given at run time."""

    label: str
    buffers: tuple[np.dtype, ...]
    numbers: tuple[str, ...]
    body: tuple[Statement, ...]
    results: tuple[str, ...] = ()
    sizes: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "sizes", sizes_in(self.body))


def sizes_in(code: Any) -> tuple[str, ...]:
    """The sizes that statements are given at run time, by name."""
    found: set[str] = set()
    stack = [code]
    while stack:
        part = stack.pop()
        if is_dynamic(part):
            found |= names_in(part)
        elif isinstance(part, Let):
            stack += part.operands
        elif isinstance(part, Load):  # whose buffer may be a value of a graph
            stack.append(part.at)
        elif isinstance(part, Store):
            stack += [part.at, part.value]
        elif isinstance(part, Gemm):
            places = [at for _, at in (part.a, part.b, part.c)]
            stack += [part.sizes, part.strides, part.products, *places]
        elif isinstance(part, tuple):
            stack += part
        elif is_dataclass(part):
            stack += vars(part).values()
    return tuple(sorted(found))


def statements(body: tuple[Statement, ...], times: int = 1) -> Iterator[tuple[Statement, int]]:
    """All statements that are not loops, with how often each runs."""
    stack = [(statement, times) for statement in reversed(body)]
    while stack:
        statement, count = stack.pop()
        if isinstance(statement, Loop):
            inside = count * (statement.stop - statement.start)
            stack += [(s, inside) for s in reversed(statement.body)]
        elif isinstance(statement, Chunks):
            stack.append((statement.loop, count))
        elif isinstance(statement, Guarded):
            stack += [(s, count) for s in reversed(statement.body)]
        elif isinstance(statement, Pieces):  # all of them together
            stack += [(s, count) for s in reversed(statement.part.body)]
        else:
            yield statement, count


def is_ranged(statement: Statement) -> bool:
    """Whether it calls a function that has another form for arguments near 0."""
    if not isinstance(statement, Let):
        return False
    near = (NAMES.index(name) for name in near_arguments(statement.body))
    return any(isinstance(statement.operands[i], str) for i in near)


__all__ = [
    "PIECE", "Begin", "Chunks", "Gemm", "Guarded", "Join", "Kernel", "Let", "Literal", "Load",
    "Loop", "Operand", "Pieces", "Place", "Statement", "Store", "is_ranged", "sizes_in",
    "statements",
]  # fmt: skip
