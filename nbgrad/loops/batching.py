"""The op of a derivative for many samples: one kernel runs the loop over them.

Its own derivatives are those of the op of one sample, for all samples.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.primitive import Aval, Primitive, Unplanned, bind, shape_of
from ..transforms.batching import vmap
from .kernels import filled
from .primitive import called, contiguous, derived, whole
from .samples import Samples, samples_of

__all__ = ["mapped", "whole_mapped"]


class _Mapped(Primitive):
    """`Samples` as an op: the arguments are those of `derived` with axes of samples."""

    registered = False

    def __init__(self, op: Primitive):
        super().__init__(op.name)
        self._op, self.differentiable = op, op.differentiable
        self.plans = Unplanned()

    def infer(self, *avals, samples: Samples, record: Any = None):
        shapes = [shape_of(x) for x in avals]
        return Aval.of(_shape(samples, shapes), samples.dtype)

    def evaluate(self, *args, samples: Samples, record: Any = None):
        numbers = samples.of.numbers
        given = [
            kind.type(x) if i in numbers and not samples.axes(i) else contiguous(x, kind)
            for i, (x, kind) in enumerate(zip(args, samples.dtypes, strict=True))
        ]
        shape = _shape(samples, [shape_of(x) for x in args])
        return filled(samples, shape, given, None if record is None else record.status)

    def batch(self, size: int, args: Sequence, batched: Sequence[bool], **params):
        samples: Samples = params["samples"]
        levels = (tuple(batched), *samples.levels)
        return bind(self, *args, **{**params, "samples": samples_of(samples.of, levels)})

    def pullback(self, ct, out, args, need, **params):
        samples: Samples = params["samples"]
        found: list[Any] = [None] * len(args)
        wanted = [i for i, needs in enumerate(need) if needs]

        def of_sample(op: Primitive, own: dict, ct: Any, out: Any, *args: Any) -> list[Any]:
            every = op.pullback(ct, out, args, need, **own)
            return [every[i] for i in wanted]

        rows = _over_samples(samples, self._op, of_sample, [ct, out], args)
        for i, row in zip(wanted, rows, strict=True):
            found[i] = row if row is None or samples.levels[0][i] else np.sum(row, axis=0)
        return found

    def pushforward(self, tangents, out, args, **params):
        moving = [i for i, x in enumerate(tangents) if x is not None]
        samples: Samples = params["samples"]

        def of_sample(op: Primitive, own: dict, out: Any, *given: Any) -> Any:
            dots: list[Any] = [None] * len(args)
            for i, x in zip(moving, given[len(args) :], strict=True):
                dots[i] = x
            return op.pushforward(dots, out, given[: len(args)], **own)

        more = [tangents[i] for i in moving]
        return _over_samples(samples, self._op, of_sample, [out], args, moving, more)

    def form(self, graph, symbol, *args):
        samples: Samples = symbol.params["samples"]
        shapes = [x.shape for x in args]
        own = samples.of_sample(shapes)[: len(samples.signature.leaves)]
        lengths = [*samples.counts(shapes), *(n for shape in own for n in shape)]
        return called(graph, samples, args, lengths, symbol.shape)


def _shape(samples: Samples, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of the value."""
    return (*samples.counts(shapes), samples.of.size(samples.of_sample(shapes)))


def _over_samples(
    samples: Samples, op: Primitive, rule: Callable, first: Sequence, args: Sequence,
    places: Sequence[int] = (), more: Sequence = (),
) -> Any:  # fmt: skip
    """`rule(op, params, *first, *args, *more)` for the samples of the outermost level. All of
    `first` have an axis of samples; `more` have it where the arguments at `places` have it."""
    level, *others = samples.levels
    own: dict[str, Any] = {"of": samples.of}
    if others:
        op = whole_mapped if op is whole else mapped
        own = {"samples": samples_of(samples.of, tuple(others))}
    is_batched = [*(True for _ in first), *level, *(level[i] for i in places)]
    axes = tuple([0 if batched else None for batched in is_batched])
    return vmap(lambda *given: rule(op, own, *given), axes)(*first, *args, *more)


mapped, whole_mapped = _Mapped(derived), _Mapped(whole)
