"""The lowered program: values of few kinds, each expression once.

A `Value` is the result of one op of a small vocabulary, to which every row with a static form is
lowered (`lower.py`). The `Graph` that makes them rewrites at construction, so what a transformation
leaves behind (products with one, sums of broadcasts, views of views) never exists:

* `input`, `full` (one number), `iota` (positions along an axis)
* `map`: scalar code over arguments that broadcast
* `view`: each axis of the source is `start + step * axis` of the result, or `start` alone;
  slices, transposes, broadcasts, flips, new and dropped axes, diagonals
* `reshape` (never of single axes), `pad` (zeros around), `concat`
* `take` and `scatter`: by arrays of integers; the second adds to zeros, or adds to or writes over
  an array
* `reduce`: sum, max, min, prod over axes; `matmul`
* `call`: a device function on pointers; `item`: one result of a `loop`
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .algebra import simpler
from .values import BOOL, INT, Axis, Value, is_finite, number_of


class Graph:
    """Makes the values of one program."""

    def __init__(self):
        self._known: dict[tuple, Value] = {}
        self.notes: dict[int, Value] = {}  # exponentials of what logsoftmax gave
        self.inputs: list[Value] = []
        self.captured: list[np.ndarray] = []  # what the last inputs are
        self._constants: set[int] = set()  # those of them that nobody else has
        self.checks: list[tuple[Value, str]] = []  # what must hold, and what is raised if not
        self.line = ""  # of the user's code, for values made from now on

    def new(self, op: str, shape, dtype, args: Sequence[Value] = (), data: Any = None) -> Value:
        """The value of an op, rewritten only where it has no elements: then it is as good as zeros,
        and nothing is to be computed."""
        if 0 in shape and op not in ("input", "full"):
            return self.full(0, tuple(shape), dtype)
        key = (op, shape, dtype, tuple(map(id, args)), data)
        value = self._known.get(key)
        if value is None:
            value = Value(op, tuple(shape), np.dtype(dtype), tuple(args), data, self.line)
            self._known[key] = value
        return value

    def input(self, shape: tuple, dtype: Any) -> Value:
        """The next argument of the program."""
        value = self.new("input", shape, dtype, (), len(self.inputs))
        self.inputs.append(value)
        return value

    def capture(self, array: np.ndarray) -> Value:
        """An array that the function closes over: one more input, read at each call."""
        for value, known in zip(self.inputs[-len(self.captured) :], self.captured, strict=False):
            if known is array:
                return value
        self.captured.append(array)
        return self.input(array.shape, array.dtype)

    def constant(self, array: np.ndarray) -> Value:
        """An array that does not change, by its content: one more input too."""
        for known in self.captured:
            same = known.shape == array.shape and known.dtype == array.dtype
            if same and id(known) in self._constants and known.tobytes() == array.tobytes():
                return self.capture(known)
        self._constants.add(id(array))
        return self.capture(array)

    def full(self, number: Any, shape: tuple = (), dtype: Any = np.float64) -> Value:
        dtype = np.dtype(dtype)
        # The text tells 0.0 from -0.0 and one nan from no nan.
        return self.new("full", shape, dtype, (), repr(dtype.type(number).item()))

    # -- elementwise --------------------------------------------------------------------------

    def map(
        self, body: str, args: Sequence[Value], dtype: Any, shape: tuple | None = None
    ) -> Value:
        """Scalar code over `x`, `y`, `z`, the elements of `args`, which broadcast."""
        dtype = np.dtype(dtype)
        shape = np.broadcast_shapes(*(a.shape for a in args)) if shape is None else shape
        known = simpler(self, body, args, dtype, shape)
        if known is not None:
            return known
        args = [self.bare(arg, shape) for arg in args]
        if all(arg.shape == () for arg in args) and shape != ():
            return self.broadcast(self.map(body, args, dtype), shape)
        return self.new("map", shape, dtype, args, body)

    def bare(self, value: Value, shape: tuple) -> Value:
        """`value` without a broadcast that the op of `shape` does by itself."""
        while value.op == "view" and (source := self._broadcasts(value)) is not None:
            try:
                if np.broadcast_shapes(source.shape, shape) != shape:
                    break
            except ValueError:
                break
            value = source
        return value

    @staticmethod
    def _broadcasts(value: Value) -> Value | None:
        """The source of a view that only broadcasts."""
        (source,) = value.args
        lost = len(value.shape) - len(source.shape)
        for i, (axis, n) in enumerate(zip(value.data, source.shape, strict=True)):
            if n == 1 and axis.out is None:
                continue
            if axis != Axis(i + lost, 0, 1) or value.shape[i + lost] != n:
                return None
        return source

    def cast(self, value: Value, dtype: Any) -> Value:
        """`value` in another dtype."""
        return value if value.dtype == dtype else self.map("x", (value,), dtype)

    # -- layout -------------------------------------------------------------------------------

    def view(self, value: Value, axes: Sequence[Axis], shape: tuple) -> Value:
        """`value` seen through `axes`, one for each axis of `value`."""
        axes = tuple(
            Axis(None, axis.start, 0) if axis.out is None or shape[axis.out] == 1 else axis
            for axis in axes
        )
        if value.op == "full":
            return self.new("full", shape, value.dtype, (), value.data)
        if value.op == "view":
            return self.view(value.args[0], [_through(axis, axes) for axis in value.data], shape)
        if value.op == "concat" and (part := _part_seen(value, axes, shape)) is not None:
            source, start = part
            axis = value.data
            moved = axes[axis]._replace(start=axes[axis].start - start)
            return self.view(source, [*axes[:axis], moved, *axes[axis + 1 :]], shape)
        plain = tuple(
            Axis(None, 0, 0) if n == 1 else Axis(i, 0, 1) for i, n in enumerate(value.shape)
        )
        if shape == value.shape and axes == plain:
            return value
        return self.new("view", shape, value.dtype, (value,), axes)

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
        if value.op == "full":
            return self.new("full", shape, value.dtype, (), value.data)
        if value.op == "reshape":
            value = value.args[0]
        if shape == value.shape:
            return value
        if [n for n in shape if n != 1] == [n for n in value.shape if n != 1]:
            places = iter([i for i, n in enumerate(shape) if n != 1])
            axes = [Axis(None, 0, 0) if n == 1 else Axis(next(places), 0, 1) for n in value.shape]
            return self.view(value, axes, shape)
        if _is_even(value) and (maps := _maps_of(value)):
            # Of what is reshaped instead, so that the maps need no buffer.
            known: dict[Value, Value] = {}
            for each in maps:
                args = [
                    arg if arg.shape == () else known.get(arg) or self.reshape(arg, shape)
                    for arg in each.args
                ]
                known[each] = self.map(each.data, args, each.dtype, shape)
            return known[value]
        if value.op == "view" and (source := self._broadcasts(value)) and source.shape == ():
            return self.broadcast(source, shape)
        return self.new("reshape", shape, value.dtype, (value,))

    def pad(self, value: Value, starts: Sequence[int], shape: tuple) -> Value:
        """`value` at `starts` in zeros of `shape`."""
        if number_of(value) == 0.0 or not value.size:
            return self.full(0.0, shape, value.dtype)
        if shape == value.shape:
            return value
        return self.new("pad", shape, value.dtype, (value,), tuple(starts))

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        values = [v for v in values if v.shape[axis]] or list(values[:1])
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        return self.new("concat", tuple(shape), values[0].dtype, values, axis)

    def require(self, ok: Value, error: type, message: str) -> None:
        """Raise the error once the program has run, where `ok` is false."""
        if all(ok is not other for other, _ in self.checks):
            kind = "np.linalg.LinAlgError" if error is np.linalg.LinAlgError else error.__name__
            self.checks.append((ok, f"{kind}({message!r})"))

    def within(self, value: Value, low: int, high: int, message: str) -> Value:
        """Integers held to [low, high); those beyond raise IndexError once the program has run."""
        first, last = self.full(low, (), INT), self.full(high - 1, (), INT)
        if value.op != "full" and value.size:
            axes = range(len(value.shape))
            above = self.map("x >= y", (self.reduce("min", value, axes), first), BOOL)
            below = self.map("x <= y", (self.reduce("max", value, axes), last), BOOL)
            ok = self.map("x & y", (above, below), BOOL)
            self.require(ok, IndexError, message)
        return self.map("minimum(maximum(x, y), z)", (value, first, last), INT)

    # -- reductions and products ----------------------------------------------------------------

    def reduce(self, kind: str, value: Value, axes: Iterable[int]) -> Value:
        """`kind` (sum, max, min, prod) over `axes`, which go.

        Raises ValueError for the largest or least of nothing.
        """
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
        if kind == "sum":
            count = math.prod(value.shape[i] for i in gone)
            simpler = self._simpler_sum(value, gone, shape, count)
            if simpler is not None:
                return simpler
        if value.op == "full" and kind in ("max", "min"):
            return self.new("full", shape, value.dtype, (), value.data)
        kept = tuple(i for i in range(len(value.shape)) if i not in gone)
        n = len(value.shape)
        if gone != tuple(range(len(gone))) and gone != tuple(range(n - len(gone), n)):
            value = self.transpose(value, (*kept, *gone))
            gone = tuple(range(len(kept), n))
        return self.new("reduce", shape, value.dtype, (value,), (kind, gone))

    def _of_nothing(self, kind: str, value: Value, axes: Iterable[int]) -> Value:
        shape = tuple(n for i, n in enumerate(value.shape) if i not in set(axes))
        if kind in ("max", "min") and math.prod(shape):
            raise ValueError(f"{kind}: the array of shape {value.shape} is empty: it has none")
        return self.full(1 if kind == "prod" else 0, shape, value.dtype)

    def _simpler_sum(self, value, gone, shape, count) -> Value | None:
        if value.op == "full":
            return self.full(number_of(value) * count, shape, value.dtype)
        if value.op == "map" and value.data == "x * y":
            for factor, other in (value.args, value.args[::-1]):
                if is_finite(factor) and other.shape == value.shape:
                    total = self.reduce("sum", other, gone)
                    return self.map("x * y", (self.full(number_of(factor), (), value.dtype), total),
                                    value.dtype, shape)  # fmt: skip
        if value.op == "map" and value.data == "-x" and value.args[0].shape == value.shape:
            return self.map("-x", (self.reduce("sum", value.args[0], gone),), value.dtype, shape)
        if value.op == "view":
            (source,) = value.args
            axes: Any = value.data
            used = {axis.out for axis in axes}
            spread = [i for i in gone if i not in used]
            if spread:  # axes along which all is equal
                kept = [i for i in range(len(value.shape)) if i not in spread]
                places = {i: k for k, i in enumerate(kept)}
                index = [
                    axis if axis.out is None else Axis(places[axis.out], axis.start, axis.step)
                    for axis in axes
                ]
                rest = self.view(source, index, tuple(value.shape[i] for i in kept))
                times = math.prod(value.shape[i] for i in spread)
                total = self.reduce("sum", rest, [places[i] for i in gone if i not in spread])
                factor = self.full(float(times), (), value.dtype)
                return self.map("x * y", (factor, total), value.dtype, shape)
        return None

    def matmul(self, a: Value, b: Value) -> Value:
        """The product of matrices (…, m, k) and (…, k, n) whose leading axes are equal or gone."""
        (*_, m, k), n = a.shape, b.shape[-1]
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape, dtype = (*lead, m, n), a.dtype
        if not math.prod(shape) or not k:
            return self.full(0.0, shape, dtype)
        # Rows and columns of ones only sum; one term only multiplies; one element is a dot product.
        if number_of(a) is not None:
            total = self.reduce("sum", b, [len(b.shape) - 2])
            total = self.map("x * y", (self.full(number_of(a), (), dtype), total), dtype)
            return self.broadcast(self.reshape(total, (*b.shape[:-2], 1, n)), shape)
        if number_of(b) is not None:
            total = self.reduce("sum", a, [len(a.shape) - 1])
            total = self.map("x * y", (self.full(number_of(b), (), dtype), total), dtype)
            return self.broadcast(self.reshape(total, (*a.shape[:-1], 1)), shape)
        if k == 1:
            return self.map("x * y", (self.broadcast(a, shape), self.broadcast(b, shape)), dtype)
        if m == n == 1:
            row = self.reshape(a, (*a.shape[:-2], k))
            column = self.reshape(b, (*b.shape[:-2], k))
            product = self.map("x * y", (row, column), dtype)
            return self.reshape(self.reduce("sum", product, [len(lead)]), shape)
        return self.new("matmul", shape, dtype, (a, b))


# Through so many elementwise ops a reshape is moved; they may be computed twice then.
_MOVED = 32


def _is_even(value: Value) -> bool:
    """Whether it is scalar code over numbers and arrays of its own shape."""
    return value.op == "map" and all(arg.shape in ((), value.shape) for arg in value.args)


def _maps_of(value: Value) -> list[Value]:
    """The maps that `value` is made of, each after its arguments; none where there are many."""
    found: dict[Value, None] = {}
    stack = [value]
    while stack:
        last = stack.pop()
        found.pop(last, None)  # it comes after all that need it
        found[last] = None
        stack += [arg for arg in last.args if arg.shape != () and _is_even(arg)]
        if len(found) + len(stack) > _MOVED:
            return []
    return list(found)[::-1]


def _through(axis: Axis, axes: Sequence[Axis]) -> Axis:
    """The axis of a source seen through a second view."""
    if axis.out is None:
        return axis
    outer = axes[axis.out]
    return Axis(outer.out, axis.start + axis.step * outer.start, axis.step * outer.step)


def _part_seen(joined: Value, axes: Sequence[Axis], shape: tuple) -> tuple[Value, int] | None:
    """The one part of a `concat` that a view looks at, and where it begins."""
    out, first, step = axes[joined.data]
    last = first if out is None else first + step * (shape[out] - 1)
    start = 0
    for part in joined.args:
        stop = start + part.shape[joined.data]
        if start <= min(first, last) and max(first, last) < stop:
            return part, start
        start = stop
    return None
