"""Rows of complex matrices: real rows whose matrices have their real and imaginary parts along an
axis before the last two.

The functions of a row are written for complex matrices. On plain arrays they are NumPy's, which
calls LAPACK; on others they are compositions of real rows, so that a rule can be differentiated
again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import Aval, bind
from ..rules import batching
from ..rules.dtypes import float_type
from ..rules.families import Custom
from .pair import ComplexArray, joined, parts_of, plain_join

__all__ = ["ComplexRow", "adjoint", "apart", "by_parts_of", "halves", "together", "whole"]


def whole(z: Any) -> ComplexArray:
    """Any operand as a complex array of two parts of one shape."""
    return joined(*parts_of(z))


def together(z: Any) -> Any:
    """The parts of complex matrices along an axis before the last two."""
    return np.stack([z.real, z.imag], axis=-3)


def halves(x: Any) -> tuple[Any, Any]:
    """The parts that `together` stacked."""
    return x[..., 0, :, :], x[..., 1, :, :]


def apart(x: Any) -> Any:
    """Complex matrices of stacked parts; plain ones of plain parts."""
    real, imag = halves(x)
    return ComplexArray(real, imag) if isinstance(x, Array) else plain_join(real, imag)


def by_parts_of(function: Callable, z: Any, *args: Any) -> Any:
    """A linear function of the parts, plain for plain z."""
    real, imag = function(z.real, *args), function(z.imag, *args)
    return ComplexArray(real, imag) if isinstance(real, Array) else plain_join(real, imag)


def adjoint(z: Any) -> Any:
    """The conjugate transposed matrices."""
    return np.conjugate(np.swapaxes(z, -1, -2))


class ComplexRow(Custom):
    """A row given by functions of complex matrices.

    `compute(*matrices)` is that of plain ones, `shape(*shapes)` gives the last two lengths of the
    result. `rule` and `push` are as in `Custom`, with complex values; a cotangent is dL/dx + i
    dL/dy.
    """

    registered = False  # the tests of complex matrices test it, not those of real rows
    has_plain_params = True

    def __init__(
        self, name: str, compute: Callable, shape: Callable, rule: Callable, push: Callable,
        **facts: Any,
    ):  # fmt: skip
        def evaluate(*args: Any, **params: Any) -> Any:
            with np.errstate(all="ignore"):
                return together(np.asarray(compute(*map(apart, args), **params)))

        def infer(*args: Any, **params: Any) -> Aval:
            lead = np.broadcast_shapes(*(x.shape[:-3] for x in args))
            return Aval.of((*lead, 2, *shape(*(x.shape[-2:] for x in args))), float_type(*args))

        def pullback(ct: Any, out: Any, args: Sequence, need: Sequence, **params: Any) -> list:
            cotangents = rule(apart(ct), apart(out), [*map(apart, args)], need, **params)
            return [None if g is None else together(g) for g in cotangents]

        def pushforward(tangents: Sequence, out: Any, args: Sequence, **params: Any) -> Any:
            directions = [None if t is None else apart(t) for t in tangents]
            return together(push(directions, apart(out), [*map(apart, args)], **params))

        super().__init__(
            name, evaluate, infer, pullback, pushforward, samples=[], batch=batching.broadcast,
            **facts,
        )  # fmt: skip

    def __call__(self, *matrices: Any, **params: Any) -> ComplexArray:
        """The row of complex operands."""
        out = bind(self, *(together(whole(z)) for z in matrices), **params)
        return ComplexArray(*halves(out))
