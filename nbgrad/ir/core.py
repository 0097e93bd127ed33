"""The core IR: the steps of a program, one after another, each a kernel or a line.

A `Core` takes buffers and numbers. Its steps run kernels on pointers, call device functions and
BLAS, compute numbers, and repeat the core of a loop's step.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .affine import Affine
from .statements import Address, Assign, Gemm, If, Kernel, Load, Operand, Position, Store, Variable


@dataclass(frozen=True, eq=False)
class Scratch:
    """A part of the scratch as a buffer: `size` bytes, `offset` bytes from the beginning."""

    size: int
    offset: int = 0


@dataclass(frozen=True)
class Slot:
    """An array of the caller's as a buffer: by its number among all of them, inputs before
    results. It stands where the number depends on the round of a `Repeat`."""

    at: Affine


@dataclass(frozen=True)
class RunKernel:
    """A kernel on pointers and numbers; it gives `results`."""

    kernel: Kernel
    pointers: tuple[Address, ...]
    numbers: tuple[Operand, ...] = ()
    results: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunDevice:
    """A device function, such as one of `nbgrad/kernels/`, on pointers and numbers: sizes, or
    floats. `extents` are the numbers of elements behind its pointers."""

    function: Callable
    pointers: tuple[Address, ...]
    sizes: tuple[int | float, ...]
    extents: tuple[int, ...]


@dataclass(frozen=True)
class RunCore:
    """The core of a loop's step, on pointers and numbers in the order of its parameters."""

    core: "Core"
    arguments: tuple[Address | Operand, ...]
    results: tuple[str, ...]


@dataclass(frozen=True)
class Repeat:
    """Steps for each number of a step, from 0 to n - 1 or back; no more than `count` of them, and
    none any more where `going` is false."""

    variable: str
    n: int
    reverse: bool
    body: tuple["CoreStep", ...]
    count: Operand | None = None
    going: str = ""


CoreStatement: TypeAlias = (
    RunKernel
    | RunDevice
    | RunCore
    | Repeat
    | If
    | Gemm
    | Assign
    | Load
    | Store
    | Variable
    | Position
)


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


def all_steps(core: Core) -> Iterator[CoreStep]:
    """All steps, those of repeated cores too."""
    stack = list(core.steps[::-1])
    while stack:
        step = stack.pop()
        yield step
        if isinstance(step.statement, Repeat):
            stack += step.statement.body[::-1]
        elif isinstance(step.statement, If):
            stack += [*step.statement.then, *step.statement.otherwise][::-1]
        elif isinstance(step.statement, RunCore):
            stack += step.statement.core.steps[::-1]
