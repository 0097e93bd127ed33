"""The arguments of a call that is recorded: what stands for arrays and for lengths."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ..compiler.front.arrays import in_memory, is_one, shape_of
from ..compiler.front.complex_calls import has_complex, part_of
from ..compiler.front.elementwise import dtype_of_elements
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import INT, Array, Complex, Known, Lazy, Number, Slice, Value
from ..compiler.front.values import NamedTuple as NamedTupleValue
from ..complex.pair import ComplexArray, joined
from ..core.primitive import Aval
from ..ir.scalar import NAMES, arg
from ..ir.statements import Assign, Literal
from ..runtime.kinds import is_a

__all__ = ["Given", "RealImag", "in_parts"]


class RealImag(NamedTuple):
    """The parts of a complex result."""

    real: Any
    imag: Any


def in_parts(result: Any) -> Any:
    """The result of a call, with the parts of each complex array in place of it."""
    if type(result) is ComplexArray:
        return RealImag(*result.parts)
    if type(result) in (list, tuple):
        return type(result)(map(in_parts, result))
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(in_parts, result))
    return result


_unlike = count()
_TOLD = (bool, int, float, complex, str, type(None), type, np.dtype)


class Given:
    """The arguments of a call: `leaves` are those that are known at run time. Lengths that are
    constants are named as others are if `names_constants`. Leaves at the places `results` have the
    shape that `infer` gives for that of the last leaf."""

    def __init__(
        self, emit: FunctionBuilder, operands: Sequence[Value], named: Mapping[str, Value],
        names_constants: bool = False, results: Sequence[int] = (),
        infer: Callable[[Aval], Aval] | None = None,
    ):  # fmt: skip
        self._emit, self._results, self._infer = emit, results, infer
        self.leaves: list[Any] = []
        self.sizes: dict[str, Number] = {}  # integers that are arguments, and lengths
        self.axes: dict[str, int] = {}  # of these, counted from the last one
        self._told: list[str] = []  # what the parts are, without names
        self._tree = (
            [self._part(x) for x in operands],
            {k: self._part(x) for k, x in named.items()},
        )
        self.leaves = [in_memory(emit, x) if isinstance(x, Lazy) else x for x in self.leaves]
        if names_constants:
            self.leaves = [self._with_names(x) for x in self.leaves]
        lengths = [n for x in self.leaves for n in shape_of(x) if not is_one(n)]
        constant = [isinstance(n.operand, Literal) for n in lengths]
        self.is_mixed = any(constant) and not all(constant)
        for i, x in enumerate(self.leaves):
            for axis, n in enumerate(reversed(shape_of(x) if i not in results else ())):
                if not isinstance(n.operand, Literal):
                    self.sizes[str(n.operand)] = n
                    self.axes.setdefault(str(n.operand), axis)

    def _with_names(self, x: Any) -> Any:
        if not isinstance(x, Array):
            return x
        lengths = []
        for n in x.shape:
            if isinstance(n.operand, Literal) and not is_one(n):
                name = self._emit.name()
                self._emit.add(Assign(name, arg(NAMES[0]), (n.operand,), INT, INT))
                n = Number(name, INT, True)
            lengths.append(n)
        return replace(x, shape=tuple(lengths))

    @property
    def rank(self) -> int:
        """The largest number of axes."""
        return max((len(shape_of(x)) for x in self.leaves), default=0)

    @property
    def key(self) -> tuple:
        """All that the recorded program depends on, except the names of lengths."""
        places = {name: f"[{i}]" for i, name in enumerate(self.sizes)}
        shapes = [
            tuple(places.get(str(n.operand), str(n.operand)) for n in shape_of(x))
            for x in self.leaves
        ]
        dtypes = [str(dtype_of_elements(self._emit, x)) for x in self.leaves]
        return (*self._told, *self._tree[1], *shapes, *dtypes, *self.axes.values())

    def _part(self, value: Any) -> Any:
        """A part of the arguments: a function of what stands for the leaves and for the sizes."""
        kind = value.value if isinstance(value, Known) else ""
        self._told.append(f"{type(value).__name__} {type(kind).__name__} {kind!r}")
        if isinstance(value, Known):
            if not is_a(kind, _TOLD):
                self._told.append(str(next(_unlike)))  # its text may not tell everything
            return lambda leaves, sizes: value.value
        if has_complex(value) and (isinstance(value, Complex) or not isinstance(value, tuple)):
            sides = [self._part(part_of(self._emit, value, i)) for i in range(2)]
            return lambda leaves, sizes: joined(*(side(leaves, sizes) for side in sides))
        if isinstance(value, tuple):
            self._told.append(str(len(value)))
            parts = [self._part(x) for x in value]
            if isinstance(value, NamedTupleValue):
                raise Unsupported("a named tuple as an argument")
            make: Any = list if _has_runtime(value) else tuple
            return lambda leaves, sizes: make([part(leaves, sizes) for part in parts])
        if isinstance(value, Slice):
            ends = [Known(None) if x is None else x for x in (value.start, value.stop, value.step)]
            parts = [self._part(x) for x in ends]
            return lambda leaves, sizes: slice(*(part(leaves, sizes) for part in parts))
        if isinstance(value, Number) and value.dtype.kind in "iu" and value.natural:
            name = str(value.operand)
            self.sizes[name], self.axes[name] = value, -1
            self._told.append(f"[{list(self.sizes).index(name)}]")
            return lambda leaves, sizes: sizes[name]
        if isinstance(value, (Number, Array, Lazy)):
            place = len(self.leaves)
            self.leaves.append(self._emit.settled(value))
            return lambda leaves, sizes: leaves[place]
        raise Unsupported("such an argument")

    def avals(self, sizes: Mapping[str, int]) -> list[Aval]:
        """What the leaves are, for these sizes."""
        found = []
        for x in self.leaves:
            lengths: list[Any] = [getattr(n.operand, "number", n.operand) for n in shape_of(x)]
            shape = tuple(sizes.get(n, 0) if isinstance(n, str) else n for n in lengths)
            found.append(Aval.of(shape, dtype_of_elements(self._emit, x)))
        for i in self._results:
            assert self._infer is not None
            found[i] = Aval.of(self._infer(found[-1]).shape, found[i].dtype)
        return found

    def rebuilt(self, leaves: Sequence[Any], sizes: Mapping[str, int]) -> tuple[list, dict]:
        """The arguments of the call."""
        operands, named = self._tree
        return [part(leaves, sizes) for part in operands], {
            key: part(leaves, sizes) for key, part in named.items()
        }


def _has_runtime(value: tuple) -> bool:
    """Whether a number or an array in a tuple is known at run time: then it was a list."""
    return any(
        _has_runtime(x) if isinstance(x, tuple) else isinstance(x, (Array, Lazy, Number))
        for x in value
    )
