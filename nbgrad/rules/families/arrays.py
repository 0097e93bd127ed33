"""Families of primitives that are given by functions of whole arrays."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.primitive import Primitive, bind, shape_of
from .. import batching, jacobian


class Written(Primitive):
    """A primitive given by `compute(*args, **params)` on plain arrays, and `infer` from Avals to an
    Aval. `fused`, with the signature of the family's rule, may compute the pullback on plain arrays
    by kernels.

    `along` names the parameter that holds the axes along which the primitive works, "" for none. It
    is independent along all other axes, from which its batching rule and the blocks of its Jacobian
    follow. For other primitives, `batch` is the batching rule (`rules/batching.py`), and `blocks`
    the structure of the Jacobian (`rules/jacobian.py`). The other facts are those of a `Primitive`.
    """

    def __init__(
        self,
        name: str,
        compute: Callable,
        infer: Callable,
        *,
        samples: Any,
        function: Any = None,
        kinks: Sequence[tuple] = (),
        along: str | None = None,
        batch: Callable | None = None,
        blocks: Callable[..., int] | None = None,
        **facts: Any,
    ):
        super().__init__(name, function, samples=samples, **facts)
        self.evaluate = compute
        self.infer = infer
        self.along = along
        if along is not None:
            batch = batch or batching.along(*filter(None, [along]))
            blocks = blocks or functools.partial(_blocks_along, along)
        if batch:
            self.batch = functools.partial(batch, self)
        if blocks:
            self.blocks = blocks
        self.kinks = tuple(kinks)


def _blocks_along(name: str, shapes: Sequence, i: int, out: tuple, **params) -> int:
    """The Jacobian blocks of a primitive along the axes in the parameter `name`."""
    return jacobian.before(params[name] if name else (), shapes[i])


class Linear(Written):
    """An op that is linear in all its array arguments together.

    `transpose(ct, args, **params)` returns the cotangents of all arguments; it may read their
    shapes and dtypes, not their values.
    """

    linear = True

    def __init__(
        self,
        name: str,
        compute: Callable,
        infer: Callable,
        transpose: Callable[..., Sequence],
        *,
        fused: Callable[..., Sequence] | None = None,
        **options: Any,
    ):
        super().__init__(name, compute, infer, **options)
        self.transpose = transpose
        self.fused = fused or transpose

    def pullback(self, ct, out, args, need, **params):
        cotangents = self.transpose(ct, args, **params)
        return [g if wanted else None for g, wanted in zip(cotangents, need, strict=True)]

    def fused_pullback(self, ct, out, args, need, **params):
        cotangents = self.fused(ct, args, **params)
        if len(need) == 1:
            return cotangents
        return [g if wanted else None for g, wanted in zip(cotangents, need, strict=True)]

    def pushforward(self, tangents, out, args, **params):
        filled = [
            zeros_like(arg) if tangent is None else tangent
            for tangent, arg in zip(tangents, args, strict=True)
        ]
        return bind(self, *filled, **params)

    def residuals(self, need, count, **params):
        return ()


class Bilinear(Written):
    """An op that is linear in each of two arguments: `left` and `right` are its transposes.

    `left(ct, x, y, **params)` is the cotangent of x, `right(ct, x, y, **params)` that of y.
    """

    def __init__(
        self,
        name: str,
        compute: Callable,
        infer: Callable,
        left: Callable,
        right: Callable,
        *,
        fused: Callable[..., Sequence] | None = None,
        **options: Any,
    ):
        super().__init__(name, compute, infer, **options)
        self.left = left
        self.right = right
        self.fused_pullback = fused or self.pullback

    def pullback(self, ct, out, args, need, **params):
        x, y = args
        return [
            self.left(ct, x, y, **params) if need[0] else None,
            self.right(ct, x, y, **params) if need[1] else None,
        ]

    def pushforward(self, tangents, out, args, **params):
        (x, y), (x_dot, y_dot) = args, tangents
        terms = []
        if x_dot is not None:
            terms.append(bind(self, x_dot, y, **params))
        if y_dot is not None:
            terms.append(bind(self, x, y_dot, **params))
        return sum(terms[1:], terms[0])

    def residuals(self, need, count, **params):
        return tuple(i for i in (0, 1) if need[1 - i])


class Custom(Written):
    """A primitive with an explicit pullback and pushforward, for ops of no other family.

    `rule(ct, out, args, need, **params)` and `push(tangents, out, args, **params)` are in NumPy
    terms. `reads` are the positions of the arguments that the rule reads; None means all.

    `slopes`, of a row of one argument, are kernels for the two passes of a second derivative:
    `(tangent, pullback)`. `tangent(x, out, x_dot, **params)` is that of the result, and
    `pullback(ct, out_dot, x, out, x_dot, **params)` the cotangent of x in it, None where that is 0
    (`values/dual.py`).
    """

    def __init__(
        self,
        name: str,
        compute: Callable,
        infer: Callable,
        rule: Callable[..., Sequence],
        push: Callable,
        *,
        fused: Callable[..., Sequence] | None = None,
        reads: Sequence[int] | None = None,
        slopes: tuple[Callable, Callable] | None = None,
        **options: Any,
    ):
        super().__init__(name, compute, infer, **options)
        self.slopes = slopes
        self.pullback = rule
        self.fused_pullback = fused or rule
        self.pushforward = push
        self._reads = reads

    def residuals(self, need, count, **params):
        return tuple(range(count)) if self._reads is None else tuple(self._reads)


class WithoutDerivative(Written):
    """An op whose values have no derivative, such as positions and signs."""

    differentiable = False


def zeros_like(x):
    """Plain zeros of the shape and dtype of any kind of array."""
    if isinstance(x, Array):
        return x.full_like(0.0)
    return np.zeros(shape_of(x), getattr(x, "dtype", np.float64))
