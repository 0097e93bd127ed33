"""A call of a user's function as one op of the graph.

The primitive takes the float leaves of all arguments and gives one array. Several results are
joined to one vector and taken apart again, since an op has one value.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import Primitive, Unplanned, bind, shape_of
from ..errors import NoFloatError
from . import trees


class FunctionCall:
    """One call: a function with the structure of its arguments, and of its result once it ran."""

    def __init__(self, op: str, f: Callable, args: tuple, options: dict[str, Any]):
        self.op, self.f = op, f
        self.rule: Any = None  # the `CustomRule`, if there is one
        self.leaves, self.rebuild = trees.flatten((list(args), options))
        self.positional = list(args)
        self.places = [i for i, x in enumerate(self.leaves) if trees.is_differentiable(x)]
        self._result: tuple[list, Callable] | None = None

    @property
    def name(self) -> str:
        return getattr(self.f, "__name__", type(self.f).__name__)

    @property
    def arrays(self) -> list[Any]:
        """The float leaves: the arguments of the primitive."""
        return [self.leaves[i] for i in self.places]

    def arguments(self, arrays: Sequence) -> tuple[list, dict]:
        """Rebuild the arguments of the function with other float leaves."""
        filled = list(self.leaves)
        for i, x in zip(self.places, arrays, strict=True):
            filled[i] = x
        return self.rebuild(filled)

    def leaves_of(self, tree: Sequence) -> list[Any]:
        """Return the float leaves of a list with the structure of the positional arguments."""
        leaves, _ = trees.flatten((list(tree), self.rebuild(self.leaves)[1]))
        return [leaves[i] for i in self.places]

    def apply(self, *arrays) -> Any:
        """Call the function on arrays of any kind and join its results."""
        args, options = self.arguments(arrays)
        return self.pack(self.f(*args, **options))

    def pack(self, result: Any) -> Any:
        leaves, rebuild = trees.flatten(result)
        self._result = [Part(x) for x in leaves], rebuild
        parts = [x for x in leaves if trees.is_differentiable(x)]
        if not parts:
            raise NoFloatError(
                f"{self.op}: {self.name} gave no float array: its result has no derivative"
            )
        if len(parts) == 1:
            return parts[0]
        dtype = np.result_type(*(getattr(x, "dtype", np.float64) for x in parts))
        flat = [np.reshape(x, -1) for x in parts]
        return np.concatenate([x if x.dtype == dtype else x.astype(dtype) for x in flat])

    def unpack(self, packed: Any) -> Any:
        """Split the joined results and rebuild their structure."""
        assert self._result is not None
        parts, rebuild = self._result
        floats = [part for part in parts if part.is_float]
        leaves, at = [], 0
        for part in parts:
            if not part.is_float:
                leaves.append(part.value)
                continue
            x = packed if len(floats) == 1 else packed[at : at + prod(part.shape)]
            at += prod(part.shape)
            x = np.reshape(x, part.shape) if shape_of(x) != part.shape else x
            x = x.astype(part.dtype) if x.dtype != part.dtype else x
            leaves.append(trees.scalar(x))
        return rebuild(leaves)


class Part:
    """One leaf of a result: the shape and dtype of a float array, the value of anything else."""

    __slots__ = ("dtype", "is_float", "shape", "value")

    def __init__(self, x: Any):
        self.is_float = trees.is_differentiable(x)
        self.value = None if self.is_float else x
        self.shape, self.dtype = shape_of(x), getattr(x, "dtype", np.dtype(np.float64))


class CallPrimitive(Primitive):
    """Base class of primitives that call a function; subclasses add the derivative rules."""

    inlines = True
    registered = False

    def __init__(self, name: str):
        super().__init__(name)
        self.plans = Unplanned()

    def inline(self, *args, call: FunctionCall) -> Any:
        """Record the ops of the function instead of the call."""
        return call.apply(*args)

    def inline_step(self, *args, call: FunctionCall) -> Any:
        """The same inside the body of a loop or a branch of `cond`."""
        return self.inline(*args, call=call)


def called(primitive: CallPrimitive, call: FunctionCall) -> Any:
    """Evaluate a call: as one op if a float leaf is an Array, directly otherwise."""
    arrays = call.arrays
    if not any(isinstance(x, Array) for x in arrays):
        args, options = call.arguments(arrays)
        return call.f(*args, **options)
    return call.unpack(bind(primitive, *arrays, call=call))
