"""Batched arrays for `vmap`: all samples of an argument, which a function treats as one.

An op runs once for all samples, by the batch rule of its primitive.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import leaks
from ..core.array import Array
from ..core.functions import mapped
from ..core.levels import Level
from ..core.primitive import Aval, Primitive, shape_of
from ..core.refusals import refused
from ..core.symbols import lifted
from ..errors import ResultError, UntrackedError, coded
from .operands import in_kind, operand


def _operand(x: Any, primitive: Primitive) -> Any:
    """An argument shared by all samples. An int is not converted, as it does not promote dtypes."""
    return x if type(x) is int else np.asarray(x) if type(x) is bool else operand(x, primitive)


class Batched(Array):
    """`value`, whose first axis is that of the samples, at a level. Shape and dtype are those of
    one sample, which may be integers or bools."""

    __slots__ = ("aval", "level", "value")
    value_slots = ("value",)
    aval: Aval
    level: Level
    is_batch = True

    def __init__(self, value: Any, level: Level):
        self.value, self.level = value, level
        self.aval = Aval.of(shape_of(value)[1:], value.dtype)
        self.origin = self.views = None

    def _snapshot(self) -> "Batched":
        """An array that keeps this value when the array is written to."""
        self._require_open()
        return Batched(self.value, self.level)

    @property
    def count(self) -> int:
        """The number of samples."""
        return shape_of(self.value)[0]

    @classmethod
    def process(cls, level: Level, primitive: Primitive, args: Sequence, params: dict):
        if level.over:
            raise leaks.leaked_among(args, level)
        args = lifted(args)
        mine = [isinstance(arg, Batched) and arg.level == level for arg in args]
        values = [
            arg.value if batched else _operand(arg, primitive)
            for arg, batched in zip(args, mine, strict=True)
        ]
        count = next(arg.count for arg, batched in zip(args, mine, strict=True) if batched)
        return Batched(primitive.batch(count, values, mine, **params), level)

    def each(self, f: Callable, args: Sequence, options: dict) -> "Batched":
        """Call `f` for each sample and stack the results, which must have the same shape. Arguments
        may be lists of batched arrays."""

        def sample(x: Any, i: int) -> Any:
            if not (isinstance(x, Batched) and x.level == self.level):
                return x
            return x.value[i] if self.count else np.zeros(x.shape, x.dtype)

        def result(i: int) -> Any:
            given, named = mapped(lambda x: sample(x, i), [args, list(options.values())])
            return f(*given, **dict(zip(options, named, strict=True)))

        # Without samples, call it once with zeros for the shape and dtype.
        results = [result(i) for i in range(self.count or 1)]
        if any(isinstance(result, (tuple, str)) for result in results):
            raise ResultError(
                f"vmap: {f.__name__} gives a {type(results[0]).__name__}, not an array of one "
                "shape for all samples; call it outside of vmap"
            )
        if len({shape_of(result) for result in results}) > 1:
            raise UntrackedError(
                f"vmap: the shape of what {f.__name__} gives differs from sample to sample: call "
                "it outside of vmap",
                code="NB-BRANCH",
            )
        return Batched(np.stack(results)[: self.count], self.level)

    @property
    def below(self) -> Any:
        return self.value

    @property
    def data(self) -> Any:
        """Raises UntrackedError, as there is a value for each sample."""
        raise UntrackedError(
            "the numbers of a batched value differ from sample to sample: keep it an array and use "
            "np functions inside of vmap",
            code="NB-BRANCH",
        )

    def full_like(self, number: float) -> Any:
        if isinstance(self.value, Array):
            return Batched(self.value.full_like(number), self.level)
        return np.full(self.shape, number, self.dtype)

    def constant(self, value: Any) -> "Batched":
        value = np.broadcast_to(value, (self.count, *shape_of(value)))
        return Batched(in_kind(self.value, value), self.level)

    def __bool__(self) -> bool:
        """The truth value of all samples. Raises UntrackedError if they differ."""
        self._require_open()
        if self.size == 1:
            if bool(np.all(self.value)):
                return True
            if not bool(np.any(self.value)):
                return False
        way = (
            "the truth of a batched value differs from sample to sample: use "
            "np.where(condition, x, y) or nbgrad.cond(condition, f, g, *args) inside of vmap, and "
            "nbgrad.while_loop in place of while"
        )
        raise refused(coded(way, "NB-BRANCH"))

    def __repr__(self) -> str:
        if self.level.over:
            return leaks.shown(self)
        return f"<{self.count} samples of {self.aval}>"
