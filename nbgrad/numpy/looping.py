"""`vectorize`, `nditer` and other NumPy functions that call Python for each element."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.fillable import Fillable, highest
from ..core.functions import functions
from ..errors import NoRuleError
from ..runtime.kinds import is_a

__all__ = [
    "apply_along_axis",
    "apply_over_axes",
    "frompyfunc",
    "ndenumerate",
    "nditer",
    "vectorize",
]


class vectorize(np.vectorize):  # pyright: ignore[reportIncompatibleVariableOverride]
    """`np.vectorize`, which calls its function with tracked elements if an argument is tracked.

    >>> import nbgrad
    >>> step = vectorize(lambda a, b: a * b if b > 0 else b)
    >>> nbgrad.grad(lambda x: np.sum(step(x, np.array([1.0, -1.0]))))(np.array([2.0, 3.0]))
    array([1., 0.])
    """

    def __call__(self, *args, **options):
        if highest(*args, *options.values()) is None:
            return super().__call__(*args, **options)
        if self.signature is not None:
            raise NoRuleError(
                "np.vectorize(signature=...) of tracked arrays: write nbgrad.vmap(f)(x)"
            )
        excluded = self.excluded or set()
        names = [name for name in options if name not in excluded]
        places = [i for i in range(len(args)) if i not in excluded]
        values = [args[i] for i in places] + [options[name] for name in names]

        def call(*items):
            given = list(args)
            for i, item in zip(places, items, strict=False):
                given[i] = item
            own = dict(zip(names, items[len(places) :], strict=True))
            return self.pyfunc(*given, **{**options, **own})

        return _each(call, values)


def frompyfunc(function: Callable, /, nin: int, nout: int, **options: Any) -> Callable:
    """`np.frompyfunc`, whose result also takes tracked arrays, for which it returns floats."""
    plain = np.frompyfunc(function, nin, nout, **options)

    def call(*args):
        return plain(*args) if highest(*args) is None else _each(function, list(args))

    return call


def _each(function: Callable, values: list) -> Any:
    """Apply a function to each element of broadcast arrays."""
    arrays = np.broadcast_arrays(*map(functions["given"], values))
    shape = arrays[0].shape
    found = [function(*[x[index] for x in arrays]) for index in np.ndindex(shape)]
    if found and isinstance(found[0], tuple):
        return tuple(_shaped(list(items), shape) for items in zip(*found, strict=True))
    return _shaped(found, shape)


def _shaped(items: list, shape: tuple[int, ...]) -> Any:
    return np.reshape(functions["given"](items), shape)


def apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **options: Any) -> Any:
    """`np.apply_along_axis`, for tracked arrays and functions that return tracked values."""
    out = functions[np.apply_along_axis](func1d, axis, arr, *args, **options)
    if isinstance(out, Array):
        return out
    return np.apply_along_axis(func1d, axis, arr, *args, **options)


def apply_over_axes(func: Callable, a: Any, axes: Any) -> Any:
    """`np.apply_over_axes`, for tracked arrays."""
    return functions[np.apply_over_axes](func, a, axes)


class ndenumerate(np.ndenumerate):
    """`np.ndenumerate`, with tracked elements for a tracked array."""

    def __new__(cls, arr: Any) -> Any:
        return _pairs(arr) if isinstance(arr, Array) else np.ndenumerate(arr)


def _pairs(x: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    return ((index, x[index]) for index in np.ndindex(x.shape))


class nditer:
    """`np.nditer`, with elements of tracked arrays as views that can be written to. For plain
    arrays it is NumPy's class."""

    operands: list[Any]
    shape: tuple[int, ...]
    itersize: int

    def __new__(cls, op: Any, *args: Any, **options: Any) -> Any:
        ops = op if isinstance(op, (list, tuple)) else [op]
        if highest(ops) is None and not any(isinstance(x, Fillable) for x in ops):
            return np.nditer(op, *args, **options)
        self = super().__new__(cls)
        arrays = [x if is_a(x, np.ndarray) else functions["given"](x) for x in ops]
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        arrays = [x if x.shape == shape else np.broadcast_to(x, shape) for x in arrays]
        self.operands, self.shape, self.itersize = arrays, shape, math.prod(shape)
        self.iterindex, self._begun = 0, False
        return self

    @property
    def finished(self) -> bool:
        return self.iterindex >= self.itersize

    @property
    def multi_index(self) -> tuple[int, ...]:
        return tuple(map(int, np.unravel_index(self.iterindex, self.shape)))

    @property
    def value(self) -> Any:
        items = tuple([self[i] for i in range(len(self))])
        return items[0] if len(items) == 1 else items

    def iternext(self) -> bool:
        """Go to the next element. Return whether there is one."""
        self.iterindex += 1
        return not self.finished

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.iterindex += self._begun
        self._begun = True
        if self.finished:
            raise StopIteration
        return self.value

    def __len__(self) -> int:
        return len(self.operands)

    def __getitem__(self, i: int) -> Any:
        return self.operands[i][(*self.multi_index, ...)]

    def __setitem__(self, i: int, value: Any) -> None:
        self[i][...] = value

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        pass
