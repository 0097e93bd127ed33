"""Kernels that fill the vectors of derivatives."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..compiler.front.functions import Entry
from ..compiler.kernel import Kernel, kernel_from_ir
from .packed import Derivative
from .status import error_of

__all__ = ["device_of", "kernel_of"]


@dataclass(frozen=True)
class _Maker:
    """The kernel of a derivative for arrays and numbers; `by_address`, the device function that
    compiled programs call."""

    derivative: Derivative
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
        of = self.derivative
        names = [f"x{i}" for i in range(len(of.signature.leaves))]
        names += ["ct"] if of.takes_cotangent else []
        names += [f"d{k}_{i}" for k, moving in enumerate(of.along) for i in moving]
        return dict.fromkeys([*names, "out", *([] if self.by_address else ["status"])])

    def entry(self, kinds: Iterable[Any]) -> Entry:
        return Entry(self.derivative.packed(self.by_address), None, _find)

    def text(self) -> str:
        raise NotImplementedError


def _find(name: str) -> Any:
    from ..kernels import scalar

    return getattr(scalar, name)


@lru_cache(maxsize=4096)
def kernel_of(derivative: Derivative) -> Kernel:
    """The kernel of a derivative: `kernel(leaves..., cotangent, directions..., vector)`."""
    return kernel_from_ir(_Maker(derivative, False))


@lru_cache(maxsize=4096)
def device_of(derivative: Derivative) -> Any:
    """The same as a function of pointers, and of the lengths of the leaves."""
    return kernel_from_ir(_Maker(derivative, True)).function


def filled(derivative: Derivative, size: int, arguments: list[Any]) -> np.ndarray:
    """The vector for arguments of the kernel. Raises what the function raises."""
    out, status = np.empty(size, derivative.dtype), np.zeros(1, np.int64)
    kernel_of(derivative)(*arguments, out, status)
    if number := status.item():
        kind, message = error_of(derivative.signature.errors[number - 1])
        raise kind(message)
    return out
