"""Kernels that are derivatives of Python functions."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any

from ..adjoints.reverse import value_and_cotangents
from ..compiler.front.functions import Entry, entry_of
from ..compiler.kernel import Kernel, kernel_from_ir
from ..compiler.sources import of_code
from ..ir.statements import Function, Pointer

__all__ = ["Reverse"]


@dataclass(frozen=True)
class Reverse:
    """The kernel `f_vjp(arguments..., shadows..., cotangents...)` for the arguments at places
    `wrt`, of which `kinds` are the types."""

    function: FunctionType
    kinds: tuple[Any, ...]
    wrt: tuple[int, ...]

    def __repr__(self) -> str:
        code = of_code(self.function.__code__)
        return f"vjp {self.function.__qualname__} {code} {self.wrt} {self.kinds}"

    @property
    def name(self) -> str:
        return f"{self.function.__name__}_vjp"

    @cached_property
    def types(self) -> dict[str, Any]:
        """The types of the arguments by name."""
        found = dict(zip(self._names, self.kinds, strict=True))
        for i in self.shadows:
            found[f"{self._names[i]}_bar"] = self.kinds[i]
        for name, kind in self._made.parameters:
            if name.startswith("cotangent"):
                found[name.replace("#", "")] = kind
        return found

    @property
    def _names(self) -> tuple[str, ...]:
        code = self.function.__code__
        return code.co_varnames[: code.co_argcount]

    @cached_property
    def _made(self) -> Function:
        primal = entry_of(self.function, self.kinds).function
        lengths = [name for name, _ in primal.parameters if "_n" in name]
        return value_and_cotangents(primal, [self._names[i] for i in self.wrt], lengths)

    @cached_property
    def shadows(self) -> tuple[int, ...]:
        """The places of arrays that have cotangents."""
        passed = {name for name, _ in self._made.parameters}
        return tuple(i for i, name in enumerate(self._names) if f"{name}.bar" in passed)

    def kernel(self) -> Kernel:
        return kernel_from_ir(self)

    def entry(self, kinds: Iterable[Any]) -> Entry:
        made = self._made
        parameters: list[Any] = []
        for name, kind in made.parameters:
            parameters.append((name, kind))
            if name.endswith(".bar") and isinstance(kind, Pointer):
                rank = self.types[f"{name[:-4]}_bar"].ndim
                parameters += [(f"{name}_n{i}", _INT) for i in range(rank)]
        result = made.results[0] if len(made.results) == 1 else (made.results or None)
        function = Function(made.name, tuple(parameters), made.body, made.results)
        return Entry(function, result, _find)

    def text(self) -> str:
        raise NotImplementedError


def _find(name: str) -> Any:
    from ..kernels import scalar

    return getattr(scalar, name)


import numpy as np  # noqa: E402

_INT = np.dtype(np.int64)
