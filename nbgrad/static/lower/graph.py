"""What makes the values of a lowered program, each expression once.

The `Graph` rewrites at construction, so what a transformation leaves behind (products with one,
sums of broadcasts, views of views) never exists.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np

from ...codegen.affine import Axis
from ...codegen.loops import MAXIMUM, MINIMUM, SUM, Reduction
from ...codegen.scalar import Expr, parse
from ...rules.dtypes import known
from .algebra import CHOICE, NEGATIVE, SAME, TIMES, simpler
from .values import (
    BOOL,
    INT,
    Call,
    Concat,
    Full,
    Input,
    Inset,
    Iota,
    Map,
    Matmul,
    Pad,
    Reduce,
    Reshape,
    Scatter,
    Take,
    Value,
    View,
    is_finite,
    is_map,
    number_of,
)


class Graph:
    """Makes the values of one program."""

    def __init__(self):
        self._known: dict[tuple, Value] = {}
        self.inputs: list[Value] = []
        self.captured: list[np.ndarray] = []  # what the last inputs are
        self._constants: set[int] = set()  # those of them that nobody else has
        self.checks: list[tuple[Value, str]] = []  # what must hold, and what is raised if not
        self.line = ""  # of the user's code, for values made from now on

    def new(
        self, kind: type[Value], shape: Sequence[int], dtype: Any, args: Sequence[Value] = (),
        *fields: Any, label: Any = None,
    ) -> Any:  # fmt: skip
        """The value of a kind with these fields, rewritten only where it has no elements: then it
        is as good as zeros, and nothing is to be computed. `label` stands for fields that do not
        compare as they should."""
        if 0 in shape and kind not in (Input, Full):
            return self.full(0, tuple(shape), dtype)
        key = (kind, tuple(shape), dtype, tuple(map(id, args)), label or fields)
        value = self._known.get(key)
        if value is None:
            value = kind(tuple(shape), np.dtype(dtype), tuple(args), self.line, *fields)
            self._known[key] = value
        return value

    def input(self, shape: tuple, dtype: Any) -> Value:
        """The next argument of the program."""
        value = self.new(Input, shape, dtype, (), len(self.inputs))
        self.inputs.append(value)
        return value

    def capture(self, array: np.ndarray) -> Value:
        """An array that the function closes over: one more input, read at each call."""
        for value, other in zip(self.inputs[-len(self.captured) :], self.captured, strict=False):
            if other is array:
                return value
        self.captured.append(array)
        return self.input(array.shape, known(array.dtype))

    def constant(self, array: np.ndarray) -> Value:
        """An array that does not change, by its content: one more input too."""
        for other in self.captured:
            same = other.shape == array.shape and other.dtype == array.dtype
            if same and id(other) in self._constants and other.tobytes() == array.tobytes():
                return self.capture(other)
        self._constants.add(id(array))
        return self.capture(array)

    def full(self, number: Any, shape: tuple = (), dtype: Any = np.float64) -> Value:
        dtype = np.dtype(dtype)
        if dtype.kind in "iu" and isinstance(number, int):  # what does not fit wraps round
            number = np.array(number % 2**64, np.uint64).astype(dtype)
        number = dtype.type(number).item()
        # The text tells 0.0 from -0.0, 1 from True, and one nan is like another.
        return self.new(Full, shape, dtype, (), number, label=repr(number))

    # -- elementwise --------------------------------------------------------------------------

    def map(
        self, body: Expr | str, args: Sequence[Value], dtype: Any, shape: tuple | None = None
    ) -> Value:
        """Scalar code over `x`, `y`, `z`, the elements of `args`, which broadcast."""
        body = parse(body) if isinstance(body, str) else body
        dtype = np.dtype(dtype)
        shape = np.broadcast_shapes(*(a.shape for a in args)) if shape is None else shape
        known = simpler(self, body, args, dtype, shape)
        if known is not None:
            return known
        args = [self.bare(arg, shape) for arg in args]
        if all(arg.shape == () for arg in args) and shape != ():
            return self.broadcast(self.map(body, args, dtype), shape)
        return self.new(Map, shape, dtype, args, body)

    def whole(
        self, body: Expr | str, args: Sequence[Value], dtype: Any, shape: tuple | None = None
    ) -> Value:
        """`map`, of integers and bools in 64 bits where they are narrower."""
        body = parse(body) if isinstance(body, str) else body
        if dtype.kind == "f" or dtype.itemsize == 8 or body is CHOICE:
            return self.map(body, args, dtype, shape)
        args = [self.cast(arg, INT) for arg in args]
        return self.cast(self.map(body, args, INT, shape), dtype)

    def bare(self, value: Value, shape: tuple) -> Value:
        """`value` without a broadcast that the op of `shape` does by itself."""
        while isinstance(value, View) and (source := self._broadcasts(value)) is not None:
            try:
                if np.broadcast_shapes(source.shape, shape) != shape:
                    break
            except ValueError:
                break
            value = source
        return value

    @staticmethod
    def _broadcasts(value: View) -> Value | None:
        """The source of a view that only broadcasts."""
        source = value.source
        lost = len(value.shape) - len(source.shape)
        for i, (axis, n) in enumerate(zip(value.axes, source.shape, strict=True)):
            if n == 1 and axis.out is None:
                continue
            if axis != Axis(i + lost, 0, 1) or value.shape[i + lost] != n:
                return None
        return source

    def cast(self, value: Value, dtype: Any) -> Value:
        """`value` in another dtype."""
        return value if value.dtype == dtype else self.map(SAME, (value,), dtype)

    # -- layout -------------------------------------------------------------------------------

    def view(self, value: Value, axes: Sequence[Axis], shape: tuple) -> Value:
        """`value` seen through `axes`, one for each axis of `value`."""
        axes = tuple(
            Axis(None, axis.start, 0) if axis.out is None or shape[axis.out] == 1 else axis
            for axis in axes
        )
        if isinstance(value, Full):
            return self.full(value.number, shape, value.dtype)
        if isinstance(value, View):
            return self.view(value.source, [_through(axis, axes) for axis in value.axes], shape)
        if isinstance(value, Concat) and (part := _part_seen(value, axes, shape)) is not None:
            source, start = part
            axis = value.axis
            moved = axes[axis]._replace(start=axes[axis].start - start)
            return self.view(source, [*axes[:axis], moved, *axes[axis + 1 :]], shape)
        plain = tuple(
            Axis(None, 0, 0) if n == 1 else Axis(i, 0, 1) for i, n in enumerate(value.shape)
        )
        if shape == value.shape and axes == plain:
            return value
        return self.new(View, shape, value.dtype, (value,), axes)

    def broadcast(self, value: Value, shape: tuple) -> Value:
        lost = len(shape) - len(value.shape)
        axes = [
            Axis(None, 0, 0) if n == 1 and shape[i + lost] != 1 else Axis(i + lost, 0, 1)
            for i, n in enumerate(value.shape)
        ]
        return self.view(value, axes, tuple(shape))

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        shape = tuple(value.shape[i] for i in order)
        places = {axis: i for i, axis in enumerate(order)}
        return self.view(value, [Axis(places[i], 0, 1) for i in range(len(order))], shape)

    def reshape(self, value: Value, shape: tuple) -> Value:
        shape = tuple(shape)
        if isinstance(value, Full):
            return self.full(value.number, shape, value.dtype)
        if isinstance(value, Reshape):
            value = value.source
        if shape == value.shape:
            return value
        if [n for n in shape if n != 1] == [n for n in value.shape if n != 1]:
            places = iter([i for i, n in enumerate(shape) if n != 1])
            axes = [Axis(None, 0, 0) if n == 1 else Axis(next(places), 0, 1) for n in value.shape]
            return self.view(value, axes, shape)
        if is_even(value) and (maps := _maps_of(value)):
            # Of what is reshaped instead, so that the maps need no buffer.
            known: dict[Value, Value] = {}
            for each in maps:
                args = [
                    arg if arg.shape == () else known.get(arg) or self.reshape(arg, shape)
                    for arg in each.args
                ]
                known[each] = self.map(each.body, args, each.dtype, shape)
            return known[value]
        if isinstance(value, View) and (source := self._broadcasts(value)) and source.shape == ():
            return self.broadcast(source, shape)
        return self.new(Reshape, shape, value.dtype, (value,))

    def pad(self, value: Value, starts: Sequence[int], shape: tuple) -> Value:
        """`value` at `starts` in zeros of `shape`."""
        if number_of(value) == 0.0 or not value.size:
            return self.full(0.0, shape, value.dtype)
        if shape == value.shape:
            return value
        if is_map(value, TIMES) and is_finite(value.args[0]):
            factor, rest = value.args
            if rest.shape == value.shape and rest.dtype == value.dtype:
                number = self.full(number_of(factor), (), value.dtype)
                return self.map(TIMES, (number, self.pad(rest, starts, shape)), value.dtype)
        return self.new(Pad, shape, value.dtype, (value,), tuple(starts))

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        values = [v for v in values if v.shape[axis]] or list(values[:1])
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        return self.new(Concat, shape, values[0].dtype, values, axis)

    def require(self, ok: Value, error: type, message: str) -> None:
        """Raise the error once the program has run, where `ok` is false."""
        if all(ok is not other for other, _ in self.checks):
            kind = "np.linalg.LinAlgError" if error is np.linalg.LinAlgError else error.__name__
            self.checks.append((ok, f"{kind}({message!r})"))

    def require_all(self, holds: Value, error: type, message: str) -> None:
        """Raise the error once the program has run, where `holds` is false for any element."""
        if holds.size:
            number = self.cast(holds, INT)
            least = self.reduce(MINIMUM, number, range(len(holds.shape)))
            self.require(self.map("x != y", (least, self.full(0, (), INT)), BOOL), error, message)

    def within(
        self, value: Value, low: int, high: int, message: str, error: type = IndexError
    ) -> Value:
        """Integers held to [low, high); those beyond raise the error once the program has run."""
        first, last = self.full(low, (), INT), self.full(high - 1, (), INT)
        if not isinstance(value, Full) and value.size:
            axes = range(len(value.shape))
            above = self.map("x >= y", (self.reduce(MINIMUM, value, axes), first), BOOL)
            below = self.map("x <= y", (self.reduce(MAXIMUM, value, axes), last), BOOL)
            ok = self.map("x & y", (above, below), BOOL)
            self.require(ok, error, message)
        return self.map("minimum(maximum(x, y), z)", (value, first, last), INT)

    # -- elements at positions, and calls --------------------------------------------------------

    def iota(self, shape: tuple, axis: int) -> Value:
        """The position along an axis, as an integer."""
        return self.new(Iota, shape, INT, (), axis)

    def take(
        self, value: Value, positions: Sequence[Value], axes: tuple, shape: tuple, place: int,
        joint: int,
    ) -> Value:  # fmt: skip
        """Elements of `value` at positions, as `Take` has them."""
        return self.new(Take, shape, value.dtype, (value, *positions), axes, place, joint)

    def scatter(
        self, block: Value, positions: Sequence[Value], axes: tuple, shape: tuple, place: int,
        joint: int,
    ) -> Value:  # fmt: skip
        """Zeros of `shape` with `block` added at positions, as `Scatter` has them."""
        return self.new(Scatter, shape, block.dtype, (block, *positions), axes, place, joint, True)

    def written(
        self, value: Value, block: Value, positions: Sequence[Value], axes: tuple, place: int,
        joint: int,
    ) -> Value:  # fmt: skip
        """`value` with `block` written over it at positions; the last of equal ones stays."""
        args = (block, *positions, value)
        return self.new(Scatter, value.shape, value.dtype, args, axes, place, joint, False)

    def inset(self, value: Value, block: Value, starts: Sequence[int]) -> Value:
        """`value` with `block` written over it from `starts` on."""
        return self.new(Inset, value.shape, value.dtype, (value, block), tuple(starts))

    def call(
        self, shape: tuple, dtype: Any, args: Sequence[Value], function: str, sizes: tuple
    ) -> Value:
        """What the device function of a name gives, on pointers to args and to the result."""
        return self.new(Call, shape, dtype, args, function, sizes)

    # -- reductions and products ----------------------------------------------------------------

    def reduce(self, kind: Reduction, value: Value, axes: Iterable[int]) -> Value:
        """The reduction over `axes`, which go. Raises ValueError for the largest or least of
        nothing."""
        if not math.prod(value.shape[i] for i in axes):
            return self._of_nothing(kind, value, axes)
        gone = tuple(sorted(i for i in axes if value.shape[i] != 1))
        dropped = set(axes) - set(gone)
        if dropped:
            kept = [i for i in range(len(value.shape)) if i not in dropped]
            places = {i: k for k, i in enumerate(kept)}
            index = [
                Axis(None, 0, 0) if i in dropped else Axis(places[i], 0, 1)
                for i in range(len(value.shape))
            ]
            value = self.view(value, index, tuple(value.shape[i] for i in kept))
            gone = tuple(places[i] for i in gone)
        if not gone:
            return value
        shape = tuple(n for i, n in enumerate(value.shape) if i not in gone)
        if kind is SUM:
            count = math.prod(value.shape[i] for i in gone)
            simpler = self._simpler_sum(value, gone, shape, count)
            if simpler is not None:
                return simpler
        if isinstance(value, Full) and kind in (MAXIMUM, MINIMUM):
            return self.full(value.number, shape, value.dtype)
        kept = tuple(i for i in range(len(value.shape)) if i not in gone)
        n = len(value.shape)
        if gone != tuple(range(len(gone))) and gone != tuple(range(n - len(gone), n)):
            value = self.transpose(value, (*kept, *gone))
            gone = tuple(range(len(kept), n))
        return self.new(Reduce, shape, value.dtype, (value,), kind, gone)

    def _of_nothing(self, kind: Reduction, value: Value, axes: Iterable[int]) -> Value:
        shape = tuple(n for i, n in enumerate(value.shape) if i not in set(axes))
        if kind in (MAXIMUM, MINIMUM):
            if math.prod(shape):
                raise ValueError(f"{kind.name}: an array of shape {value.shape} is empty")
            return self.full(0, shape, value.dtype)
        return self.full(kind.neutral(value.dtype), shape, value.dtype)

    def _simpler_sum(self, value, gone, shape, count) -> Value | None:
        if isinstance(value, Full):
            return self.full(value.number * count, shape, value.dtype)
        if is_map(value, TIMES):
            for factor, other in (value.args, value.args[::-1]):
                if is_finite(factor) and other.shape == value.shape:
                    total = self.reduce(SUM, other, gone)
                    number = self.full(number_of(factor), (), value.dtype)
                    return self.map(TIMES, (number, total), value.dtype, shape)
        if is_map(value, NEGATIVE) and value.args[0].shape == value.shape:
            return self.map(NEGATIVE, (self.reduce(SUM, value.args[0], gone),), value.dtype, shape)
        if isinstance(value, View):
            used = {axis.out for axis in value.axes}
            spread = [i for i in gone if i not in used]
            if spread:  # axes along which all is equal
                kept = [i for i in range(len(value.shape)) if i not in spread]
                places = {i: k for k, i in enumerate(kept)}
                index = [
                    axis if axis.out is None else Axis(places[axis.out], axis.start, axis.step)
                    for axis in value.axes
                ]
                rest = self.view(value.source, index, tuple(value.shape[i] for i in kept))
                times = math.prod(value.shape[i] for i in spread)
                total = self.reduce(SUM, rest, [places[i] for i in gone if i not in spread])
                factor = self.full(float(times), (), value.dtype)
                return self.map(TIMES, (factor, total), value.dtype, shape)
        return None

    def matmul(self, a: Value, b: Value) -> Value:
        """The product of matrices (…, m, k) and (…, k, n) whose leading axes are equal or gone."""
        (*_, m, k), n = a.shape, b.shape[-1]
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape, dtype = (*lead, m, n), a.dtype
        if not math.prod(shape) or not k:
            return self.full(0.0, shape, dtype)
        if dtype.kind != "f":  # BLAS knows floats
            n_axes = len(shape)
            rows = self.view(
                a, [*_spread(a, lead), Axis(n_axes - 2, 0, 1), Axis(n_axes, 0, 1)], (*shape, k)
            )
            columns = self.view(
                b, [*_spread(b, lead), Axis(n_axes, 0, 1), Axis(n_axes - 1, 0, 1)], (*shape, k)
            )
            product = self.map(TIMES, (rows, columns), dtype, (*shape, k))
            return self.reduce(SUM, product, [n_axes])
        # Rows and columns of ones only sum; one term only multiplies; one element is a dot product.
        if number_of(a) is not None:
            total = self.reduce(SUM, b, [len(b.shape) - 2])
            total = self.map(TIMES, (self.full(number_of(a), (), dtype), total), dtype)
            return self.broadcast(self.reshape(total, (*b.shape[:-2], 1, n)), shape)
        if number_of(b) is not None:
            total = self.reduce(SUM, a, [len(a.shape) - 1])
            total = self.map(TIMES, (self.full(number_of(b), (), dtype), total), dtype)
            return self.broadcast(self.reshape(total, (*a.shape[:-1], 1)), shape)
        if k == 1:
            return self.map(TIMES, (self.broadcast(a, shape), self.broadcast(b, shape)), dtype)
        if m == n == 1:
            row = self.reshape(a, (*a.shape[:-2], k))
            column = self.reshape(b, (*b.shape[:-2], k))
            product = self.map(TIMES, (row, column), dtype)
            return self.reshape(self.reduce(SUM, product, [len(lead)]), shape)
        return self.new(Matmul, shape, dtype, (a, b))


def _spread(matrices: Value, lead: tuple) -> list[Axis]:
    """How the leading axes of matrices lie in a result that has `lead`."""
    return [
        Axis(i + len(lead) - len(matrices.shape) + 2, 0, 1) for i in range(len(matrices.shape) - 2)
    ]


# Through so many elementwise ops a reshape is moved; they may be computed twice then.
_MOVED = 32


def is_even(value: Value) -> TypeGuard[Map]:
    """Whether it is scalar code over numbers and arrays of its own shape."""
    return isinstance(value, Map) and all(arg.shape in ((), value.shape) for arg in value.args)


def _maps_of(value: Map) -> list[Map]:
    """The maps that `value` is made of, each after its arguments; none where there are many."""
    found: dict[Map, None] = {}
    stack = [value]
    while stack:
        last = stack.pop()
        found.pop(last, None)  # it comes after all that need it
        found[last] = None
        stack += [arg for arg in last.args if arg.shape != () and is_even(arg)]
        if len(found) + len(stack) > _MOVED:
            return []
    return list(found)[::-1]


def _through(axis: Axis, axes: Sequence[Axis]) -> Axis:
    """The axis of a source seen through a second view."""
    if axis.out is None:
        return axis
    outer = axes[axis.out]
    return Axis(outer.out, axis.start + axis.step * outer.start, axis.step * outer.step)


def _part_seen(joined: Concat, axes: Sequence[Axis], shape: tuple) -> tuple[Value, int] | None:
    """The one part of a `concat` that a view looks at, and where it begins."""
    out, first, step = axes[joined.axis]
    last = first if out is None else first + step * (shape[out] - 1)
    start = 0
    for part in joined.args:
        stop = start + part.shape[joined.axis]
        if start <= min(first, last) and max(first, last) < stop:
            return part, start
        start = stop
    return None
