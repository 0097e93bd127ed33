"""Functions for types of their arguments: what they return, and which arrays they write to."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np

from ..adjoints.activity import active_names
from ..adjoints.build import Names
from ..adjoints.ends import CHANGES
from ..adjoints.inline import inlined
from ..adjoints.library import pullback_of
from ..compiler.forks import with_open_properties
from ..compiler.front.functions import (
    ArrayResult,
    ArrayType,
    Constant,
    Entry,
    array_results,
    entry_of,
)
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import Pair
from ..errors import LoopError
from ..ir.statements import Address, Call, For, Function, Pointer, PointTo, Raise, Store
from ..ir.walk import walk
from ..runtime.gc_freeze import uncollected
from .complex_values import instance_of, write_back
from .divisions import with_checked_divisions
from .status import names_in

__all__ = ["Leaf", "Signature"]


@dataclass(frozen=True)
class Leaf:
    """An array or a number among the arguments: its parameter of the function of the kernel IR, the
    name of the user's parameter, dtype and number of axes, None for a number."""

    name: str
    label: str
    dtype: np.dtype
    ndim: int | None

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"


@with_open_properties
@dataclass(frozen=True, eq=False)
class Signature:
    """A function and the types of its arguments."""

    function: FunctionType
    kinds: tuple[Any, ...]
    checked: Callable | None = None
    """The dispatcher, if it was made to check that indices are within bounds."""
    checks_divisions: bool = True
    """Whether integers divided by zero raise: the error model of Python, Numba's default."""

    def run(self, f: Callable, leaves: Sequence) -> Any:
        """Call the function with plain leaves."""
        rest = iter([
            leaf.dtype.type(x) if leaf.ndim is None else x
            for x, leaf in zip(leaves, self.arguments, strict=True)
        ])  # fmt: skip

        def rebuilt(kind: Any) -> Any:
            if isinstance(kind, tuple):
                return instance_of(kind, map(rebuilt, kind))
            return kind.value if hasattr(kind, "value") else next(rest)

        given = list(map(rebuilt, self.kinds))
        result = f(*given)
        if self.written and self.has_complex:
            write_back(self.kinds, tuple(given), leaves)
        return result

    @cached_property
    def has_complex(self) -> bool:
        """Whether an argument is complex."""

        def is_pair(kind: Any) -> bool:
            is_tuple = isinstance(kind, tuple)
            return isinstance(kind, Pair) or (is_tuple and any(map(is_pair, kind)))

        return is_pair(self.kinds)

    def check_bounds(self, leaves: Sequence) -> None:
        """Raise IndexError for an index out of bounds if the dispatcher does: kernels do not check
        indices, so the function runs on copies before."""
        if self.checked is not None:
            self.run(self.checked, [np.array(x) for x in leaves])

    @cached_property
    def gradients(self) -> dict[Any, Any]:
        """Plans of gradients, by the places of the arguments that they are taken to."""
        return {}

    @property
    def name(self) -> str:
        return self.function.__name__.strip("<>")  # of a lambda expression

    @property
    def place(self) -> str:
        """The function, with its file and line."""
        code = self.function.__code__
        return f"{self.function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"

    @cached_property
    def entry(self) -> Entry:
        """The function in the kernel IR. Raises NoRuleError for a function that cannot be read."""
        try:
            with uncollected():
                return entry_of(self.function, self.kinds)
        except Unsupported as refused:
            raise self.refusal(str(refused)) from None
        except RecursionError:
            raise self.refusal("it nests calls or expressions too deeply") from None
        except ImportError:  # the source is asked for
            raise self.refusal("its source is not known") from None

    def refusal(self, why: str) -> LoopError:
        """The error for a function that cannot be differentiated."""
        return LoopError(
            f"{self.place} cannot be differentiated: {why}. Write this part with numbers, arrays "
            "and loops, give the function a derivative with nbgrad.custom_rule, or call its plain "
            "Python function on tracked arrays",
            code="NB-LOOP",
        )

    @cached_property
    def primal(self) -> Function:
        """The function in the kernel IR."""
        function = self.entry.function
        return with_checked_divisions(function) if self.checks_divisions else function

    @cached_property
    def digest(self) -> str:
        """A hash of the function in the kernel IR: the functions that it calls and the values that
        it closes over are parts of it."""
        with uncollected():
            return hashlib.sha256(repr(self.primal).encode()).hexdigest()

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The arrays and numbers among the arguments, in order, and then the arrays that the
        function returns, which are arguments of the function in the kernel IR."""
        returned = [
            Leaf(each.name, "the result", each.kind.dtype, each.kind.ndim)
            for each in array_results(self.entry.result)
        ]
        return (*self.arguments, *returned)

    @property
    def returned(self) -> range:
        """The places of the arrays that the function returns among the leaves."""
        return range(len(self.arguments), len(self.leaves))

    @cached_property
    def arguments(self) -> tuple[Leaf, ...]:
        """The arrays and numbers among the arguments, in order."""
        code = self.function.__code__
        parameters = iter(self.primal.parameters)
        found: list[Leaf] = []

        def visit(label: str, kind: Any) -> None:
            if isinstance(kind, tuple):
                for each in kind:
                    visit(label, each)
            elif isinstance(kind, ArrayType):
                name, _ = next(parameters)
                found.append(Leaf(name, label, kind.dtype, kind.ndim))
                for _ in range(kind.ndim * (1 if kind.contiguous else 2)):
                    next(parameters)
            elif not isinstance(kind, Constant):
                found.append(Leaf(next(parameters)[0], label, kind, None))

        for label, kind in zip(code.co_varnames, self.kinds, strict=False):
            visit(label, kind)
        return tuple(found)

    @cached_property
    def lengths(self) -> list[str]:
        """The parameters that are lengths of arrays."""
        names = {leaf.name for leaf in self.leaves}
        return [n for n, k in self.primal.parameters if not isinstance(k, Pointer)
                and n not in names]  # fmt: skip

    @cached_property
    def _body(self) -> Any:
        return inlined(self.primal, Names(names_in(self.primal)))

    @cached_property
    def written(self) -> frozenset[int]:
        """The arguments that the function writes to."""
        return frozenset(i for i in self.overwritten if i < len(self.arguments))

    @cached_property
    def overwritten(self) -> frozenset[int]:
        """The leaves that the function writes to."""
        buffers = {each.buffer for each in walk(self._body.body) if isinstance(each, Store)}
        for each in walk(self._body.body):  # what other code is given may be written to
            if isinstance(each, (Call, PointTo)):
                passed = each.arguments if isinstance(each, Call) else (each.address,)
                buffers |= {x.buffer for x in passed if isinstance(x, Address)}
        return frozenset(i for i, leaf in enumerate(self.leaves) if leaf.name in buffers)

    def varied(self, moving: Sequence[int]) -> set[int]:
        """The arrays whose written elements depend on floats at places `moving`."""
        dtypes = {leaf.name: leaf.dtype for leaf in self.leaves}
        dtypes |= {each.target: each.dtype for each in self._body.declared}
        for each in walk(self._body.body):
            if hasattr(each, "dtype") and isinstance(getattr(each, "target", None), str):
                dtypes[each.target] = each.dtype  # pyright: ignore
            for name, dtype in zip(
                getattr(each, "results", ()), getattr(each, "dtypes", ()), strict=False
            ):
                dtypes[name] = dtype
        names = {self.leaves[i].name for i in moving}
        outs = [self.leaves[i].name for i in self.written]
        integer = np.dtype(np.int64)
        active = active_names(
            self._body.body, names, outs,
            lambda x: dtypes.get(x, integer) if isinstance(x, str) else x.dtype,
        )  # fmt: skip
        leaves = self.leaves
        return {i for i in self.written if leaves[i].name in active and leaves[i].is_float}

    @cached_property
    def errors(self) -> tuple[tuple[str, str], ...]:
        """The exceptions that the function raises, and those of its derivatives: classes by name,
        and messages. The last one is for lack of memory."""
        every = walk(self._body.body)
        calls = [x.call for x in every if isinstance(x, For) and x.call]
        rules = [rule for call in calls if (rule := pullback_of(call))]
        inside = [x for f in rules for x in walk(inlined(f, Names(names_in(f))).body)]
        raised = [(x.error, x.message) for x in (*every, *inside) if isinstance(x, Raise)]
        if any(isinstance(x, For) and x.checkpoint for x in every):
            raised.append(CHANGES)
        text = (
            f"no memory for a derivative of {self.name}: loop over nbgrad.steps(n), which keeps "
            "few states"
        )
        return (*dict.fromkeys(raised), ("MemoryError", text))

    @cached_property
    def results(self) -> tuple[np.dtype, ...]:
        """The numbers that the function returns."""
        return self.primal.results

    def tree(self, numbers: Iterator[Any], arrays: Iterator[Any]) -> Any:
        """The result of the function made of numbers and arrays."""

        def built(result: Any) -> Any:
            if isinstance(result, tuple):
                return instance_of(result, map(built, result))
            if isinstance(result, ArrayResult):
                return next(arrays)
            return None if result is None else next(numbers)

        return built(self.entry.result)

    @cached_property
    def dtype(self) -> np.dtype:
        """The dtype of packed values and cotangents: the widest float."""
        floats = [leaf.dtype for leaf in self.leaves if leaf.is_float]
        floats += [dtype for dtype in self.results if dtype.kind == "f"]
        return np.result_type(*floats) if floats else np.dtype(np.float64)
