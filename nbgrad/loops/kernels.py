"""Kernels that fill the vectors of derivatives."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..adjoints.build import names_of
from ..compiler.forks import with_open_properties
from ..compiler.front.functions import Entry, array_results
from ..compiler.kernel import kernel_from_ir
from ..ir.statements import Address, Call, Function
from ..ir.walk import walk
from ..runtime.heap import room
from ..threads.pool import start_if_wanted
from .execute import Runs
from .packed import Derivative
from .rows import found
from .samples import Samples
from .shapes import shape_function
from .signature import Signature

__all__ = ["device_of", "filled", "runs_of", "shapes_of"]


@with_open_properties
@dataclass(frozen=True)
class _Maker:
    """The kernel of a derivative for arrays and numbers; `by_address`, the device function that
    compiled programs call."""

    derivative: Derivative | Samples
    by_address: bool

    def __repr__(self) -> str:
        return f"{self.derivative!r} {self.by_address}"

    @cached_property
    def name(self) -> str:
        """Compiled programs know device functions by their names, so these differ if the functions
        do."""
        digest = hashlib.sha256(repr(self).encode()).hexdigest()
        return f"{self.derivative.name}_{digest[:12]}"

    @cached_property
    def types(self) -> dict[str, Any]:
        """The names of the arguments of the kernel: leaves, cotangent, directions, vector."""
        names = self.derivative.names
        return dict.fromkeys([*names, "out", *([] if self.by_address else ["status"])])

    def entry(self, kinds: Iterable[Any]) -> Entry:
        return Entry(self.derivative.packed(self.by_address), None, found)

    def text(self) -> str:
        raise NotImplementedError


@with_open_properties
@dataclass(frozen=True)
class _Shapes:
    """The kernel that writes the lengths of the arrays that a function returns into a vector."""

    signature: Signature

    def __repr__(self) -> str:
        return f"shapes {self.signature.digest}"

    @property
    def name(self) -> str:
        return f"{self.signature.name}_shapes"

    @cached_property
    def types(self) -> dict[str, Any]:
        return dict.fromkeys([*(f"x{i}" for i in range(len(self.signature.arguments))), "shapes"])

    @cached_property
    def function(self) -> Function:
        results = array_results(self.signature.entry.result)
        return shape_function(self.signature.primal, results)

    def entry(self, kinds: Iterable[Any]) -> Entry:
        return Entry(self.function, None, found)

    def text(self) -> str:
        raise NotImplementedError

    @cached_property
    def reads(self) -> frozenset[int]:
        """The arguments whose elements or values the shapes depend on."""
        used = {name for each in walk(self.function.body) for name in names_of(each)}
        used |= {getattr(each, "buffer", None) for each in walk(self.function.body)}
        used |= {
            x.buffer for each in walk(self.function.body) if isinstance(each, Call)
            for x in each.arguments if isinstance(x, Address)
        }  # fmt: skip
        return frozenset(i for i, leaf in enumerate(self.signature.arguments) if leaf.name in used)


@lru_cache(maxsize=4096)
def shapes_of(signature: Signature) -> _Shapes:
    """The kernel of the shapes of what the function returns."""
    return _Shapes(signature)


@lru_cache(maxsize=4096)
def runs_of(derivative: Derivative | Samples) -> Runs:
    """The kernel of a derivative: `run(leaves..., cotangent, directions..., vector)`."""
    return Runs(derivative, kernel_from_ir(_Maker(derivative, False)))


@lru_cache(maxsize=4096)
def device_of(derivative: Derivative | Samples) -> Any:
    """The same as a function of pointers, of the numbers of samples and the lengths of leaves."""
    function: Any = kernel_from_ir(_Maker(derivative, True)).function
    function.in_pieces = True  # perhaps: to know it takes as long as to write the program
    return function


def filled(
    derivative: Derivative | Samples, shape: tuple[int, ...], arguments: list[Any],
    record: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """The vector for arguments of the kernel, or those of all samples; with the status of a run
    that kept its record, backward. Raises what the function raises."""
    signature = derivative.signature
    if signature.checked is not None:
        count = len(signature.arguments)
        for each in derivative.each(arguments):
            signature.check_bounds(each[:count])
    out = room(shape, derivative.dtype)
    runs_of(derivative)(*arguments, out, record=record)
    start_if_wanted()
    return out
