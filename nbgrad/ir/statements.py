"""The kernel IR: what a kernel does to buffers, as small frozen classes.

A `Function` has typed parameters, numbers and pointers to buffers. Its statements are structured:
loops, branches, loads, scalar code, stores, reductions, calls. Each name has one dtype and is
assigned once, but for a `Variable`. A position in a buffer is affine in integers: loop variables
and names. Nothing in it is about one target.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from .affine import Affine
from .functions import Constant
from .reductions import Reduction
from .scalar import Expr
from .sizes import Size, names_in


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
class Pointer:
    """The type of a parameter that points to elements of a buffer; bools are bytes."""

    dtype: np.dtype


Type = np.dtype | Pointer


@dataclass(frozen=True)
class Assign:
    """`target` is scalar code over operands; `dtype` is that of the result, `inner` that of
    constants in the code."""

    target: str
    body: Expr
    operands: tuple[Operand, ...]
    dtype: np.dtype
    inner: np.dtype


@dataclass(frozen=True)
class Position:
    """`target` is a position: an integer."""

    target: str
    at: Affine


@dataclass(frozen=True)
class Variable:
    """`target`, which later statements may assign, starts as a number. Without `dtype` it has that
    of the number."""

    target: str
    start: Operand
    dtype: np.dtype | None = None


@dataclass(frozen=True)
class Accumulate:
    """Combine `target` with one more element. A `loose` reduction may be reassociated."""

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
    """Set an element of a buffer; with `kind`, combine it with its old value."""

    buffer: Hashable
    at: Affine
    value: Operand
    dtype: np.dtype
    kind: Reduction | None = None
    loose: bool = False


@dataclass(frozen=True)
class For:
    """`body` for each integer from `start` up to, not including, `stop`, as Python's `range`. With
    `piece`, in a part of `Pieces`: only those of the piece that runs, so many.

    `axis` is the loop variable: a number in a loop nest, else a name. Bounds are integers or names.
    `checkpoint` and `snapshots` say which states a reverse pass keeps: see `adjoints/segments.py`;
    `ends` are the addresses behind the buffers that the body makes again: `adjoints/ends.py`.
    A `parallel` loop is one of `prange`. `call` is a call of a library function that may
    replace the loop: see `adjoints/library.py`.
    """

    axis: Any
    start: Any
    stop: Any
    body: tuple["Statement", ...]
    piece: int = 0
    step: Any = 1
    checkpoint: str = ""
    snapshots: Operand | None = None
    ends: tuple[Any, ...] = ()
    parallel: bool = False
    call: "Call | None" = None


@dataclass(frozen=True)
class While:
    """Repeat `body` until a `Break`, `Return` or `Raise` in it."""

    body: tuple["Statement", ...]


@dataclass(frozen=True)
class Break:
    """Leave the innermost loop."""


@dataclass(frozen=True)
class Continue:
    """Continue with the next iteration of the innermost loop."""


@dataclass(frozen=True)
class If:
    """`then` where a number is true, else `otherwise`. One that `is_skip` only saves time: `then`
    adds 0 where the number is false."""

    condition: Operand
    then: tuple[Any, ...]  # statements, or steps of a core
    otherwise: tuple[Any, ...] = ()
    is_skip: bool = False


@dataclass(frozen=True)
class Address:
    """A pointer to an element of a buffer."""

    buffer: Hashable
    at: Affine
    dtype: np.dtype


@dataclass(frozen=True)
class Call:
    """Call a function on pointers and numbers in the order of its parameters; it gives `results`.

    `function` is a `Function`, or the name of a function that the target knows; in a core, a
    `Kernel`, the `Core` of a step or a `Device`. A function as an argument is its address.
    """

    function: Any
    arguments: tuple[Any, ...]  # each an Address, an Operand or a Function
    results: tuple[str, ...] = ()
    dtypes: tuple[np.dtype, ...] = ()  # of the results

    @property
    def pointers(self) -> tuple[Address, ...]:
        """The arguments that are pointers."""
        return tuple(x for x in self.arguments if isinstance(x, Address))

    @property
    def numbers(self) -> tuple[Operand, ...]:
        """The arguments that are numbers."""
        return tuple(x for x in self.arguments if isinstance(x, (str, Literal)))


@dataclass(frozen=True)
class Allocate:
    """`target` is a new buffer of so many elements on the stack, not initialized."""

    target: str
    count: int
    dtype: np.dtype


@dataclass(frozen=True)
class New:
    """`target` is a buffer of at least `count` elements on the heap, whose contents are undefined;
    the function frees it where it ends. Executed again, it gives the same buffer, larger where more
    elements are asked for. Elements of one that is `cleared` are 0 where they are allocated. With a
    `shape`, its elements are those of an array of these lengths, row by row."""

    target: str
    count: Operand
    dtype: np.dtype
    cleared: bool = False
    shape: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class PointTo:
    """`target` is a pointer to elements at an address: a number, or a place in another buffer,
    whose bytes are read as elements of this dtype."""

    target: str
    address: Operand | Address
    dtype: np.dtype


@dataclass(frozen=True)
class Return:
    """End the function, which returns these numbers."""

    values: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Raise:
    """End the function with an exception: the name of its class, and its message."""

    error: str
    message: str


@dataclass(frozen=True)
class Chunks:
    """A long loop in chunks of `size`: for each chunk `before`, the loop over the chunk, `after`. A
    chunk has its own sums, as a long running sum loses accuracy."""

    loop: For
    size: int
    before: tuple["Statement", ...]
    after: tuple["Statement", ...]


@dataclass(frozen=True)
class Pieces:
    """A long loop in `count` pieces, which threads run in any order, or at once.

    `part` is the kernel of a piece. It takes the same buffers, numbers by the same names, and the
    number of the piece, PIECE. `joins` combine its results by name, in the order of the pieces.
    """

    part: "Kernel"
    count: int
    joins: tuple[Accumulate, ...]


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


@dataclass(frozen=True)
class Function:
    """A function of typed parameters, which returns numbers of `results`: each way through its body
    ends with a `Return` or a `Raise`, or falls off its end where there are none.

    `attributes` are requests to the target: "inline" to put it into its callers, "noinline" not to,
    "exact" to round each operation as written, "small" to keep its code short, "wide" to use the
    widest vectors; or promises: "noalias" that no two of its pointers lead to the same element,
    "repeatable" that it gives the same when it runs again, since it reads nothing that it writes.
    """

    name: str
    parameters: tuple[tuple[str, Type], ...]
    body: tuple["Statement", ...]
    results: tuple[np.dtype, ...] = ()
    attributes: frozenset[str] = frozenset()


Statement = (
    Assign | Position | Variable | Accumulate | Load | Store | For | While | Break | Continue | If
    | Call | Allocate | New | PointTo | Return | Raise | Chunks | Pieces | Gemm
)  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """Statements over buffers 0, 1, ... of dtypes, and numbers of `dtypes`; it returns `results`.
    `sizes` are the names of those that it is given at run time."""

    label: str
    buffers: tuple[np.dtype, ...]
    numbers: tuple[str, ...]
    body: tuple[Statement, ...]
    results: tuple[str, ...] = ()
    dtypes: tuple[np.dtype, ...] = ()
    sizes: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "sizes", sizes_in(self.body))


def sizes_in(code: Any) -> tuple[str, ...]:
    """The sizes that statements are given at run time, by name."""
    found: set[str] = set()
    stack = [code]
    while stack:
        part = stack.pop()
        if isinstance(part, Size):
            found |= names_in(part)
        elif isinstance(part, tuple):
            stack += part
        elif is_dataclass(part):  # a buffer may be a value of a graph
            stack += [x for name, x in vars(part).items() if name != "buffer"]
    return tuple(sorted(found))


__all__ = [
    "PIECE", "Accumulate", "Address", "Allocate", "Assign", "Break", "Call", "Chunks", "Continue",
    "For", "Function", "Gemm", "If", "Kernel", "Literal", "Load", "New", "Operand", "Pieces",
    "PointTo", "Pointer", "Position", "Raise", "Return", "Statement", "Store", "Type", "Variable",
    "While", "sizes_in",
]  # fmt: skip
