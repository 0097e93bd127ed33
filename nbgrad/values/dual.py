"""Dual arrays, a primal with its tangent, for forward mode.

A pushforward consists of ops, which are applied by `bind`. That of an elementwise primitive follows
from its partials, that of a linear one is the op itself, and that of a bilinear one has two terms.
An elementwise pushforward of several steps is made an op, a `Pushforward`, with one loop and one
loop for its pullback; so is the pushforward of a row with its own kernels, a `Slope`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

import numpy as np

from ..core import leaks, memory, modes
from ..core.array import Array, apply
from ..core.levels import Level
from ..core.primitive import Aval, Primitive, bind, new_level, shape_of
from ..core.steps import Index, Path
from ..core.symbols import Symbol, is_recorded, lifted
from ..eager import emission
from ..rules.families import Custom, Elementwise, Written, is_finite, reals
from ..rules.families.arrays import zeros_like
from ..rules.families.scalar import scale, scaled
from ..rules.layout import astype, broadcast_to
from ..runtime.kinds import is_a
from . import writing
from .operands import aval_of, in_kind, operand
from .tracked import TrackedArray


class Dual(Array):
    """`primal` and `tangent`, of the same shape and dtype, at a level."""

    __slots__ = ("aval", "level", "primal", "tangent")
    value_slots = ("primal", "tangent")
    aval: Aval
    level: Level

    def __init__(self, primal: Any, tangent: Any, level: Level):
        self.primal, self.tangent, self.level = primal, tangent, level
        self.aval = aval_of(primal)
        self.origin = self.views = None

    def _write(self, path: Path, value: Any, what: str) -> None:
        """Write to the primal and the tangent in place, if they are plain arrays."""
        self._require_open()
        if isinstance(value, Dual) and value.level == self.level and value.dtype == self.dtype:
            constant = modes.active and modes.untracked(self.level)
            parts = value.primal, 0.0 if constant else value.tangent
        else:
            parts = value, 0.0
        parts = [np.asarray(x) if is_a(x, np.generic) else x for x in parts]
        arrays = [self.primal, self.tangent, *(x for x in parts if type(x) is not float)]
        if not all(type(x) is np.ndarray for x in arrays):
            return super()._write(path, value, what)
        index, primal = writing.placed(path, self.primal, parts[0], what)
        tangent = parts[1]
        if type(tangent) is np.ndarray:
            tangent = tangent.reshape(primal.shape)
        del arrays, parts, value
        memory.invalidate_views(self)
        writing.change(self, "primal", path, index, primal)
        writing.change(self, "tangent", path, index, tangent)

    def _snapshot(self) -> "Dual":
        """An array that keeps this value when the array is written to."""
        self._require_open()
        return Dual(self.primal, self.tangent, self.level)

    @classmethod
    def process(cls, level: Level, primitive: Primitive, args: Sequence, params: dict):
        if level.over:
            raise leaks.leaked_among(args, level)
        primals, tangents = [], []
        for arg in lifted(args):
            if isinstance(arg, Dual) and arg.level == level:
                primals.append(arg.primal)
                tangents.append(arg.tangent)
            else:
                primals.append(operand(arg, primitive))
                tangents.append(None)
        out = apply(primitive, *primals, **params)
        if not primitive.differentiable:
            return out
        if modes.active and modes.untracked(level):
            return Dual(out, np.zeros(shape_of(out), out.dtype), level)
        tangent = _fitted(pushed(primitive, tangents, out, primals, params), out)
        if modes.active and modes.watching():
            modes.watch_pushforward(primitive.name, out, tangent)
        return Dual(out, tangent, level)

    @property
    def below(self) -> Any:
        return self.primal

    def constant(self, value: Any) -> "Dual":
        zeros = np.broadcast_to(np.zeros((), value.dtype), shape_of(value))
        return Dual(in_kind(self.primal, value), in_kind(self.primal, zeros), self.level)

    def __getitem__(self, index: Any) -> Any:
        basic = type(index) is slice or type(index) is int
        if not basic or self.level.over or (modes.active and modes.untracked(self.level)):
            return super().__getitem__(index)
        out = Dual(_part(self.primal, index), _part(self.tangent, index), self.level)
        if out.shape:
            memory.link(self, out, Index(index))
        return out

    def __bool__(self) -> bool:
        self._require_open()
        return bool(self.primal)

    def __repr__(self):
        if self.level.over:
            return leaks.shown(self)
        return f"{self.primal} (dual, tangent {self.tangent})"


class Pushforward(Elementwise):
    """The pushforward of an elementwise primitive, as a primitive. Its arguments are those of the
    primitive, the result, and the tangents of the arguments for which `moves` is true."""

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
        """The tangent of the result by the rule of the primitive."""
        n = self.primitive.arity
        rest = iter(args[n + 1 :])
        tangents = [next(rest) if moves else None for moves in self.moves]
        return self.primitive.pushforward(tangents, args[n], args[:n], **self.params)

    def slope(self, i: int, *args):
        """The derivative of `value` with respect to argument i. The last of `args` is the
        result."""
        operands = list(args[:-1])
        x = operands[i]
        with new_level() as level:
            one = x.full_like(1.0) if isinstance(x, Array) else np.ones(shape_of(x), x.dtype)
            operands[i] = Dual(x, one, level)
            out = self.value(*operands)
        return out.tangent if isinstance(out, Dual) and out.level == level else 0.0


class Slope(Written):
    """The pushforward of a row with its own kernels, as a primitive of `(x, out, x_dot)`.

    `out` is the result of the row for x. It gets no cotangent; x gets the total one. As second
    derivatives are symmetric, this is the derivative of the row's pullback along x_dot.
    """

    registered = False

    def __init__(self, row: Custom):
        self.row = row
        super().__init__(f"{row.name}_slope", self.value, self.like, samples=None, along=row.along)

    def value(self, x, out, x_dot, **params):
        assert self.row.slopes
        slope = self.row.slopes[0](x, out, x_dot, **params)
        return slope if is_finite(slope) else self.row.pushforward((x_dot,), out, (x,), **params)

    def like(self, x, out, x_dot, **params) -> Aval:
        return out

    def fused_pullback(self, ct, out, args, need, **params):
        assert self.row.slopes
        if not is_finite(ct):
            return self.pullback(ct, out, args, need, **params)
        x, of_x, x_dot = args
        x_bar = self.row.slopes[1](ct, out, x, of_x, x_dot, **params) if need[0] else None
        pulled = self.row.fused_pullback
        return x_bar, None, *(pulled(ct, of_x, (x,), (True,), **params) if need[2] else (None,))

    def pullback(self, ct, out, args, need, **params):
        x, of_x, x_dot = args
        with new_level() as level:
            point = Dual(x, x_dot, level), Dual(of_x, out, level)
            (x_bar,) = self.row.pullback(ct, point[1], point[:1], (True,), **params)
        moves = isinstance(x_bar, Dual) and x_bar.level == level
        return (
            x_bar.tangent if moves and need[0] else None,
            None,
            (x_bar.primal if moves else x_bar) if need[2] else None,
        )

    def pushforward(self, tangents, out, args, **params):
        with new_level() as level:
            x, of_x, x_dot = (
                arg if tangent is None else Dual(arg, tangent, level)
                for arg, tangent in zip(args, tangents, strict=True)
            )
            slope = self.row.pushforward((x_dot,), of_x, (x,), **params)
        if isinstance(slope, Dual) and slope.level == level:
            return slope.tangent
        return zeros_like(out)

    def residuals(self, need, count, **params):
        return 0, 1, 2


@lru_cache(maxsize=256)
def _slope_of(row: Custom) -> Slope:
    return Slope(row)


def pushed(primitive: Primitive, tangents: Sequence, out: Any, args: Sequence, params: dict) -> Any:
    """The tangent of a result."""
    if isinstance(primitive, Elementwise):
        moves, moving, recorded = [], [], _is_recorded(out)
        for tangent in tangents:
            moves.append(tangent is not None)
            if tangent is not None:
                moving.append(tangent)
                recorded = recorded or _is_recorded(tangent)
        if not recorded:
            push = _pushforward_of(primitive, tuple(moves), tuple(params.items()))
            if push is not None:
                return push((*args, out, *moving))
    elif isinstance(primitive, Custom) and primitive.slopes:
        (x,), (x_dot,) = args, tangents
        if not (_is_recorded(out) or _is_recorded(x_dot)) and is_finite(out):
            return bind(_slope_of(primitive), x, out, x_dot, **params)
    return primitive.pushforward(tangents, out, args, **params)


def _is_recorded(x: Any) -> bool:
    """`is_recorded`, with a fast path for plain data."""
    return type(x) is not TrackedArray and type(x) is not np.ndarray and is_recorded(x)


@lru_cache(maxsize=4096)
def _pushforward_of(primitive: Elementwise, moves: tuple[bool, ...], params: tuple) -> Any:
    """The pushforward as a function of one list: the arguments, the result, and the tangents for
    which `moves` is true. A rule of several steps becomes one primitive. None if the rule itself
    must be called: there are too many arguments or steps, or the derivative is zero."""
    arity = primitive.arity + 1 + sum(moves)
    if arity > len(emission.NAMES):
        return None
    try:
        op = Pushforward(primitive, moves, dict(params))
    except OverflowError:
        return None
    if op.steps > 1:
        return lambda values: bind(op, *values)
    result, inputs = emission.recorded(op.value, arity)
    place_of = {symbol: i for i, symbol in enumerate(inputs)}
    if result in place_of:
        return itemgetter(place_of[result])
    return _step(result, place_of) if op.steps else None


def _step(step: Symbol, place_of: dict[Symbol, int]) -> Callable[[Sequence], Any]:
    """A function that applies one op to items of a list of values, and to numbers."""
    operands = [
        (place_of.get(x), x.params.get("number")) if isinstance(x, Symbol) else (None, x)
        for x in step.args
    ]
    op = scaled if step.primitive is scale else partial(apply, step.primitive, **step.params)
    return lambda values: op(*[number if i is None else values[i] for i, number in operands])


def _part(x: Any, index: int | slice) -> Any:
    """`x[index]`; a copy if x is a plain array."""
    return x[index] if isinstance(x, Array) else np.array(x[index])


def _fitted(tangent, out):
    """A tangent with the shape and dtype of the output; a constant partial gives a scalar."""
    if aval_of(tangent) is aval_of(out):
        return tangent
    if shape_of(tangent) != shape_of(out):
        tangent = bind(broadcast_to, tangent, shape=shape_of(out))
    if tangent.dtype != out.dtype:
        tangent = bind(astype, tangent, dtype=out.dtype.name)
    return tangent
