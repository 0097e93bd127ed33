"""Dual values: a primal with its tangent, for forward mode.

The pushforward of an op runs through the same `bind`: of an elementwise row from its partials, of
a linear row from the op itself, of a bilinear row from both.
"""

from collections.abc import Sequence
from typing import Any

from .array import Array
from .core import Aval, Primitive, bind, shape_of
from .operands import operand


class Dual(Array):
    """`primal` with `tangent`, of one shape and dtype, at one level of nesting."""

    __slots__ = ("aval", "level", "primal", "tangent")
    aval: Aval
    level: int

    def __init__(self, primal: Any, tangent: Any, level: int):
        self.primal, self.tangent, self.level = primal, tangent, level
        self.aval = Aval.of(shape_of(primal), primal.dtype)

    @classmethod
    def process(cls, level: int, primitive: Primitive, args: Sequence, params: dict):
        mine = [isinstance(arg, Dual) and arg.level == level for arg in args]
        primals = [
            arg.primal if dual else operand(arg, primitive)
            for arg, dual in zip(args, mine, strict=True)
        ]
        out = bind(primitive, *primals, **params)
        if not primitive.differentiable:
            return out
        tangents = [arg.tangent if dual else None for arg, dual in zip(args, mine, strict=True)]
        tangent = primitive.pushforward(tangents, out, primals, **params)
        return Dual(out, _fitted(tangent, out), level)

    @property
    def below(self) -> Any:
        return self.primal

    def __setitem__(self, index: Any, value: Any) -> None:
        """`y[i] = v`: y becomes `y.at[i].set(v)`."""
        new = self.at[index].set(value)
        if not isinstance(new, Dual) or new.level != self.level or new.dtype != self.dtype:
            raise TypeError(
                f"an array of dtype {self.dtype} cannot take values of dtype {new.dtype} or of an "
                "inner transformation in place: write y = y.at[i].set(v)"
            )
        self.primal, self.tangent = new.primal, new.tangent

    def __bool__(self) -> bool:
        return bool(self.primal)

    def __repr__(self):
        return f"{self.primal} (dual, tangent {self.tangent})"


def _fitted(tangent, out):
    """A tangent in the shape and dtype of the output: broadcast, where a partial was a constant."""
    if shape_of(tangent) != shape_of(out):
        tangent = bind(Primitive.registry["broadcast_to"], tangent, shape=shape_of(out))
    if tangent.dtype != out.dtype:
        tangent = bind(Primitive.registry["astype"], tangent, dtype=out.dtype.name)
    return tangent
