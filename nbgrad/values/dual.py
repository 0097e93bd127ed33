"""Dual values: a primal with its tangent, for forward mode.

A pushforward is made of ops, which pass `bind` again: those of an elementwise primitive come from
its partials, of a linear one from the op itself, of a bilinear one from both. An elementwise one of
several steps becomes an op itself, a `Pushforward`: one loop, and one in its pullback.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..core import modes
from ..core.array import Array
from ..core.primitive import Aval, Primitive, bind, new_level, shape_of
from ..core.symbols import is_recorded, lifted
from ..eager import emission
from ..rules.families import Elementwise, reals
from ..rules.layout import astype, broadcast_to
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
        args = lifted(args)
        mine = [isinstance(arg, Dual) and arg.level == level for arg in args]
        primals = [
            arg.primal if dual else operand(arg, primitive)
            for arg, dual in zip(args, mine, strict=True)
        ]
        out = bind(primitive, *primals, **params)
        if not primitive.differentiable:
            return out
        tangents = [arg.tangent if dual else None for arg, dual in zip(args, mine, strict=True)]
        if modes.active and modes.untracked(level):
            return Dual(out, np.zeros(shape_of(out), out.dtype), level)
        tangent = pushed(primitive, tangents, out, primals, params)
        return Dual(out, _fitted(tangent, out), level)

    @property
    def below(self) -> Any:
        return self.primal

    def __setitem__(self, index: Any, value: Any) -> None:
        """`y[i] = v`: y becomes `y.at[i].set(v)`."""
        new = self._replaced(index, value)
        self.primal, self.tangent = new.primal, new.tangent

    def __bool__(self) -> bool:
        return bool(self.primal)

    def __repr__(self):
        return f"{self.primal} (dual, tangent {self.tangent})"


class Pushforward(Elementwise):
    """The pushforward of an elementwise primitive, as a primitive. Its arguments are those of that
    one, the result, and the tangents of the arguments that `moves` names."""

    registered = False

    def __init__(self, primitive: Elementwise, moves: tuple[bool, ...], params: dict):
        self.primitive, self.moves, self.params = primitive, moves, params
        arity = primitive.arity + 1 + sum(moves)
        body, used, self.steps = emission.expression(self.value, arity)
        super().__init__(
            None,
            body,
            [partial(self.slope, i) if emission.NAMES[i] in used else None for i in range(arity)],
            domains=[reals] * arity,
            conditions=primitive.conditions,
            name=f"{primitive.name}_pushforward",
        )

    def value(self, *args):
        """The tangent of the result, by the rule of the primitive."""
        n = self.primitive.arity
        rest = iter(args[n + 1 :])
        tangents = [next(rest) if moves else None for moves in self.moves]
        return self.primitive.pushforward(tangents, args[n], args[:n], **self.params)

    def slope(self, i: int, *args):
        """The derivative of `value` with respect to argument i; the last argument is the result."""
        operands = list(args[:-1])
        x = operands[i]
        with new_level() as level:
            one = x.full_like(1.0) if isinstance(x, Array) else np.ones(shape_of(x), x.dtype)
            operands[i] = Dual(x, one, level)
            out = self.value(*operands)
        return out.tangent if isinstance(out, Dual) and out.level == level else 0.0


def pushed(primitive: Primitive, tangents: Sequence, out: Any, args: Sequence, params: dict) -> Any:
    """The tangent of a result."""
    if isinstance(primitive, Elementwise) and not any(map(is_recorded, (out, *args, *tangents))):
        moves = tuple(t is not None for t in tangents)
        op = _pushforward_of(primitive, moves, tuple(params.items()))
        if op is not None:
            return bind(op, *args, out, *(t for t in tangents if t is not None))
    return primitive.pushforward(tangents, out, args, **params)


@lru_cache(maxsize=4096)
def _pushforward_of(primitive: Elementwise, moves: tuple[bool, ...], params: tuple) -> Any:
    """The pushforward as a primitive; None where the rule is as good, as it takes one step only, or
    too many arguments."""
    if primitive.arity + 1 + sum(moves) > len(emission.NAMES):
        return None
    try:
        op = Pushforward(primitive, moves, dict(params))
    except OverflowError:
        return None
    return op if op.steps > 1 else None


def _fitted(tangent, out):
    """A tangent in the shape and dtype of the output: broadcast, where a partial was a constant."""
    if shape_of(tangent) != shape_of(out):
        tangent = bind(broadcast_to, tangent, shape=shape_of(out))
    if tangent.dtype != out.dtype:
        tangent = bind(astype, tangent, dtype=out.dtype.name)
    return tangent
