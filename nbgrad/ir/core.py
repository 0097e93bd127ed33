"""The core IR: the steps of a program in order.

A `Core` takes buffers and numbers. A step calls a kernel, a device function or BLAS, repeats the
core of a loop's step, or computes a number.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .affine import Affine
from .statements import Assign, Call, Gemm, If, Load, Operand, Position, Store, Variable


@dataclass(frozen=True, eq=False)
class Scratch:
    """A part of the scratch memory as a buffer: `size` bytes, from byte `offset` on."""

    size: int
    offset: int = 0


@dataclass(frozen=True)
class Slot:
    """An array of the caller's as a buffer: by its number among all of them, inputs before
    results. It stands where the number depends on the round of a `Repeat`."""

    at: Affine


@dataclass(frozen=True)
class Device:
    """A device function, such as one of `nbgrad/kernels/`: compiled with the core that calls it, on
    pointers and then numbers. `extents` are the numbers of elements behind the pointers."""

    function: Callable
    extents: tuple[int, ...]


@dataclass(frozen=True)
class Repeat:
    """Repeat `body` for `variable` = 0, ..., n - 1, or backward with `reverse`; at most `count`
    times, and only as long as the number `going` is true."""

    variable: str
    n: int
    reverse: bool
    body: tuple["CoreStep", ...]
    count: Operand | None = None
    going: str = ""


CoreStatement: TypeAlias = Call | Repeat | If | Gemm | Assign | Load | Store | Variable | Position


@dataclass(frozen=True)
class CoreStep:
    """A statement of a core, and the user's lines that it comes from."""

    statement: CoreStatement
    lines: tuple[str, ...] = ()


@dataclass(eq=False)
class Core:
    """A program or the step of a loop. Its parameters, in order, are `buffers` and `numbers` as
    `order` has them, and scratch where it `takes_scratch`, and `sizes`; it returns `results`."""

    name: str
    parameters: tuple[Hashable, ...]
    steps: list[CoreStep]
    results: tuple[Operand, ...]
    scratch: int
    takes_scratch: bool  # of its caller, and makes none
    is_step: bool = False  # of a loop: it gives the same numbers wherever it is entered
    sizes: tuple[str, ...] = ()  # that are known at run time
    dtypes: tuple[np.dtype, ...] = ()  # of the numbers among the parameters
