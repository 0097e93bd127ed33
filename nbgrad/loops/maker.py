"""Kernels that are derivatives of Python functions, and derivatives of such kernels."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from ..adjoints.build import Names, unused
from ..adjoints.reverse import value_and_cotangents
from ..adjoints.tangent import tangents
from ..compiler.forks import with_open_properties
from ..compiler.front.functions import (
    ArrayType,
    Constant,
    Entry,
    array_results,
    entry_of,
    parameter_names,
)
from ..compiler.kernel import Kernel, kernel_from_ir
from ..errors import ArgumentTypeError
from ..ir.statements import Function, Pointer
from .library import with_library
from .rows import found

__all__ = ["Argument", "Forward", "Reverse"]

_INT = np.dtype(np.int64)


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel, its type, and the parameters that it stands for: those of an array
    are its pointer, its lengths and its strides; a shadow has the pointer alone. An array that the
    function returns is an argument, too."""

    name: str
    kind: Any
    parameters: tuple[str, ...]
    is_result: bool = False


@with_open_properties
@dataclass(frozen=True)
class _Derivative:
    """The kernel of the derivative of a function, of which `kinds` are the types of the arguments,
    or of another such kernel, with respect to its arguments at places `wrt`."""

    function: Any
    kinds: tuple[Any, ...]
    wrt: tuple[int, ...]

    _mode: ClassVar[str] = ""
    _gives_shadows: ClassVar[bool] = False  # those of results are results

    def __repr__(self) -> str:
        if isinstance(self.function, FunctionType):
            # With the values of the names from outside, which the function has as constants.
            digest = hashlib.sha256(repr(self.primal[0]).encode()).hexdigest()
            return f"{self._mode} {self.function.__qualname__} {digest} {self.wrt} {self.kinds}"
        return f"{self._mode} ({self.function!r}) {self.wrt}"

    @property
    def name(self) -> str:
        inner = self.function
        name = inner.__name__.strip("<>") if isinstance(inner, FunctionType) else inner.name
        return f"{name}_{self._mode}"

    @cached_property
    def primal(self) -> tuple[Function, tuple[Argument, ...]]:
        """The function of which this is a derivative, and its arguments."""
        if isinstance(self.function, _Derivative):
            return self.function.made, self.function.arguments
        entry = entry_of(self.function, self.kinds)
        function, results = entry.function, array_results(entry.result)
        passed = iter(name for name, _ in function.parameters)
        names = list(parameter_names(self.function))
        new = Names(names)
        names += [new.new("result").replace("#", "") for _ in results]
        count = len(self.kinds)
        kinds = [*self.kinds, *(each.kind for each in results)]
        return function, tuple(
            Argument(name, kind, tuple(next(passed) for _ in range(_count(kind))), i >= count)
            for i, (name, kind) in enumerate(zip(names, kinds, strict=True))
        )

    def _derived(self, primal: Function, wrt: list[str], lengths: list[str]) -> Function:
        raise NotImplementedError

    @cached_property
    def made(self) -> Function:
        """The derivative in the kernel IR."""
        primal, arguments = self.primal
        numbers = {name for name, kind in primal.parameters if not isinstance(kind, Pointer)}
        lengths: list[str] = []
        wrt: list[str] = []
        for i, each in enumerate(arguments):
            if isinstance(each.kind, ArrayType):
                lengths += [x for x in each.parameters[1 : 1 + each.kind.ndim] if x in numbers]
                is_result = each.is_result and each.kind.dtype.kind == "f"
                wrt += each.parameters[: i in self.wrt or is_result]
            elif i in self.wrt:
                wrt += each.parameters
        return self._derived(primal, wrt, lengths)

    @property
    def _suffix(self) -> str:
        """The suffix of parameters that belong to one of the primal."""
        return unused(".bar", self.primal[0])

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of the kernel: those of the primal, and those that the derivative has in
        addition."""
        primal, own = self.primal
        owners = {each.parameters[0]: each for each in own if each.parameters}
        names = Names(each.name for each in own)
        found = list(own)
        for parameter, kind in self.made.parameters[len(primal.parameters) :]:
            is_result = False
            if isinstance(kind, Pointer):
                owner = owners[parameter.removesuffix(self._suffix)]
                kind, is_result = owner.kind, owner.is_result and self._gives_shadows
            name = names.new(re.sub(r"\W", "_", parameter)).replace("#", "_")
            found.append(Argument(name, kind, (parameter,), is_result))
        return tuple(found)

    @cached_property
    def types(self) -> dict[str, Any]:
        """The types of the arguments by name."""
        return {each.name: each.kind for each in self.arguments}

    @cached_property
    def shadows(self) -> tuple[int, ...]:
        """The places of arguments of the primal that are arrays with a shadow: cotangents in
        reverse mode, tangents in forward mode. The shadows follow the arguments of the primal, in
        this order."""
        primal, own = self.primal
        added = {name for name, _ in self.made.parameters[len(primal.parameters) :]}
        return tuple(
            i for i, each in enumerate(own)
            if isinstance(each.kind, ArrayType) and each.parameters[0] + self._suffix in added
        )  # fmt: skip

    def kernel(self) -> Kernel:
        return kernel_from_ir(self)

    def entry(self, kinds: Iterable[Any]) -> Entry:
        made = self.made
        for each, kind in zip(self.arguments, kinds, strict=True):
            if kind != each.kind and not isinstance(each.kind, Constant):
                raise ArgumentTypeError(f"{self.name}: {each.name} is {kind}, not {each.kind}")
        kept = dict(made.parameters)
        parameters: list[tuple[str, Any]] = []
        for each in self.arguments:
            names = list(each.parameters)
            parameters += [(name, kept[name]) for name in names]
            for i in range(len(names), _count(each.kind)):  # the lengths of a shadow
                parameters.append((f"{names[0]}_{i}", _INT))
        result = made.results[0] if len(made.results) == 1 else (made.results or None)
        function = Function(made.name, tuple(parameters), made.body, made.results, made.attributes)
        return Entry(with_library(function), result, found)

    def text(self) -> str:
        raise NotImplementedError


class Reverse(_Derivative):
    """The kernel `f_vjp(arguments..., shadows..., cotangents...)`: see `value_and_cotangents`."""

    _mode: ClassVar[str] = "vjp"

    def _derived(self, primal: Function, wrt: list[str], lengths: list[str]) -> Function:
        return value_and_cotangents(primal, wrt, lengths)


class Forward(_Derivative):
    """The kernel `f_jvp(arguments..., shadows..., tangents of numbers...)`: see `tangents`.

    Of a `Reverse` it gives Hessian-vector products: its shadows are the tangents of the arguments
    and of the shadows of the reverse pass.
    """

    _mode: ClassVar[str] = "jvp"
    _gives_shadows: ClassVar[bool] = True

    def _derived(self, primal: Function, wrt: list[str], lengths: list[str]) -> Function:
        return tangents(primal, wrt, lengths)

    @property
    def _suffix(self) -> str:
        return unused(".dot", self.primal[0])


def _count(kind: Any) -> int:
    """The number of parameters of an argument of a type."""
    match kind:
        case Constant():
            return 0
        case tuple():
            return sum(map(_count, kind))
        case ArrayType(ndim=ndim, contiguous=contiguous):
            return 1 + ndim + (0 if contiguous else ndim)
    return 1
