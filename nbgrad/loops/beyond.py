"""Calls of functions that Numba refuses: our own front end compiles them, if it takes them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..adjoints.spreads import with_pieces
from ..compiler.forks import with_open_properties
from ..compiler.front.functions import Entry
from ..compiler.kernel import kernel_from_ir
from ..threads.pool import start_if_wanted
from .call import shapes_of_results
from .calls import Bound
from .library import with_library
from .rows import found
from .signature import Signature

__all__ = ["run"]


@with_open_properties
@dataclass(frozen=True)
class _Primal:
    """The kernel of a function itself: of its leaves, and of the arrays that it returns."""

    signature: Signature

    def __repr__(self) -> str:
        return f"primal {self.signature.digest}"

    @property
    def name(self) -> str:
        return f"{self.signature.name}_primal"

    @cached_property
    def types(self) -> dict[str, Any]:
        return dict.fromkeys(f"x{i}" for i in range(len(self.signature.leaves)))

    def entry(self, kinds: Iterable[Any]) -> Entry:
        of = self.signature
        primal = with_pieces(of.primal, of.lengths, keeps_order=True)
        return Entry(with_library(primal), of.results or None, found)

    def text(self) -> str:
        raise NotImplementedError


@lru_cache(maxsize=4096)
def _kernel(signature: Signature) -> Callable:
    return kernel_from_ir(_Primal(signature))


def run(f: Callable, args: tuple, options: dict[str, Any]) -> Any:
    """Call a function with plain arguments. Raises NoRuleError for one that our front end does not
    take."""
    bound = Bound(f, args, options)
    signature = bound.signature
    leaves = [
        leaf.dtype.type(x) if leaf.ndim is None else np.ascontiguousarray(x, leaf.dtype)
        for x, leaf in zip(bound.leaves, signature.arguments, strict=True)
    ]
    returned = [
        np.empty(shape, signature.leaves[i].dtype)
        for i, shape in zip(
            signature.returned, shapes_of_results(signature, bound.leaves), strict=True
        )
    ]
    numbers = _kernel(signature)(*leaves, *returned)
    start_if_wanted()
    for i in signature.written:
        if leaves[i] is not bound.leaves[i]:
            bound.leaves[i][...] = leaves[i]
    return signature.tree(iter(numbers or ()), iter(returned))
