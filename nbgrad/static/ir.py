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
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

BOOL, INT = np.dtype(bool), np.dtype(np.int64)


class Axis(NamedTuple):
    """Where an axis of a source lies in a view: `start + step * (position along axis out)`; `out`
    None means `start` alone."""

    out: int | None
    start: int
    step: int


class Value:
    """One array of the program. Values are compared by identity."""

    __slots__ = ("args", "data", "dtype", "line", "op", "shape")

    def __init__(self, op: str, shape: tuple, dtype: np.dtype, args: tuple, data: Any, line: str):
        self.op, self.shape, self.dtype = op, shape, dtype
        self.args: tuple[Value, ...] = args
        self.data, self.line = data, line

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self):
        return f"<{self.op} {self.dtype}{list(self.shape)}>"


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
        """The value of an op, without rewriting."""
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
        simpler = self._simpler(body, args, dtype, shape)
        if simpler is not None:
            return simpler
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

    def _simpler(self, body, args, dtype, shape) -> Value | None:
        if args and all(arg.op == "full" for arg in args):
            number = _evaluate(body, args, dtype)
            return None if number is None else self.full(number, shape, dtype)
        if body == "x" and args[0].dtype == dtype:
            return self.broadcast(args[0], shape)
        if dtype.kind != "f":
            return None
        return self._simpler_float(body, args, dtype, shape)

    def _simpler_float(self, body, args, dtype, shape) -> Value | None:
        if body in (_SCALE, "x * y"):
            x, y = args
            if body == _SCALE:
                if _number(x) == 0.0:
                    return self.full(0.0, shape, dtype)
                if _number(x) is not None or _finite(y):
                    return self.map("x * y", args, dtype, shape)
                if y.op == "map" and y.data == _WHERE and _number(y.args[2]) == 0.0:
                    inner = self.map(_SCALE, (x, y.args[1]), dtype, shape)
                    zero = self.full(0.0, (), dtype)
                    return self.map(_WHERE, (y.args[0], inner, zero), dtype, shape)
                return self._power_scaled(x, y, dtype, shape)
            for one, other in ((x, y), (y, x)):
                if _number(one) == 1.0:
                    return self.broadcast(other, shape)
                if _number(one) == -1.0:
                    return self.map("-x", (other,), dtype, shape)
                if _finite(one) and other.op == "map" and other.data == "x * y":
                    for inner, rest in (other.args, other.args[::-1]):
                        if _finite(inner):
                            factor = self.full(_number(one) * _number(inner), (), dtype)
                            return self.map("x * y", (factor, rest), dtype, shape)
                if _finite(one) and other.op == "map" and other.data == "-x":
                    factor = self.full(-_number(one), (), dtype)
                    return self.map("x * y", (factor, other.args[0]), dtype, shape)
        if body == "x + y":
            if args[0] is args[1]:
                return self.map("x * y", (self.full(2.0, (), dtype), args[0]), dtype, shape)
            for zero, other in (args, args[::-1]):
                if _number(zero) == 0.0:
                    return self.broadcast(other, shape)
                if zero.op == "map" and zero.data == "-x":
                    return self.map("x - y", (other, zero.args[0]), dtype, shape)
        if body == "x - y":
            if _number(args[1]) == 0.0:
                return self.broadcast(args[0], shape)
            if args[1].op == "map" and args[1].data == "-x":
                return self.map("x + y", (args[0], args[1].args[0]), dtype, shape)
        if body == "x / y" and _finite(args[1]) and _number(args[1]):
            inverse = 1.0 / _number(args[1])
            if math.frexp(_number(args[1]))[0] in (0.5, -0.5):  # exact
                factor = self.full(inverse, (), dtype)
                return self.map("x * y", (factor, args[0]), dtype, shape)
        if body == "-x" and args[0].op == "map" and args[0].data == "-x":
            return self.broadcast(args[0].args[0], shape)
        if body == "-x" and args[0].op == "map" and args[0].data == "x * y":
            factor, rest = args[0].args
            if _finite(factor):
                negative = self.full(-_number(factor), (), dtype)
                return self.map("x * y", (negative, rest), dtype, shape)
        return None

    def _power_scaled(self, x: Value, y: Value, dtype, shape) -> Value | None:
        """Of what was scaled by the same factor before, which is 0 where its cotangent is or where
        the factor is, and then finite: one test serves all."""
        if x.op != "map":
            return None
        if x.data == _SCALE and x.args[1] is y:
            first, product = x.args[0], self.map("x * y", x.args, dtype, shape)
        elif x.data == _KEPT and x.args[1].data == "x * y" and x.args[1].args[1] is y:
            first, product = x.args
        else:
            return None
        return self.map(_KEPT, (first, self.map("x * y", (product, y), dtype)), dtype, shape)

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
        if value.op == "map" and all(a.shape in ((), value.shape) for a in value.args):
            args = [a if a.shape == () else self.reshape(a, shape) for a in value.args]
            return self.map(value.data, args, value.dtype, shape)
        if value.op == "view" and (source := self._broadcasts(value)) and source.shape == ():
            return self.broadcast(source, shape)
        return self.new("reshape", shape, value.dtype, (value,))

    def pad(self, value: Value, starts: Sequence[int], shape: tuple) -> Value:
        """`value` at `starts` in zeros of `shape`."""
        if _number(value) == 0.0 or not value.size:
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
        """`kind` (sum, max, min, prod) over `axes`, which go."""
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
        count = math.prod(value.shape[i] for i in gone)
        if kind == "sum":
            simpler = self._simpler_sum(value, gone, shape, count)
            if simpler is not None:
                return simpler
        if value.op == "full" and kind in ("max", "min") and count:
            return self.new("full", shape, value.dtype, (), value.data)
        kept = tuple(i for i in range(len(value.shape)) if i not in gone)
        n = len(value.shape)
        if gone != tuple(range(len(gone))) and gone != tuple(range(n - len(gone), n)):
            value = self.transpose(value, (*kept, *gone))
            gone = tuple(range(len(kept), n))
        return self.new("reduce", shape, value.dtype, (value,), (kind, gone))

    def _simpler_sum(self, value, gone, shape, count) -> Value | None:
        if value.op == "full":
            return self.full(_number(value) * count, shape, value.dtype)
        if value.op == "map" and value.data == "x * y":
            for factor, other in (value.args, value.args[::-1]):
                if _finite(factor) and other.shape == value.shape:
                    total = self.reduce("sum", other, gone)
                    return self.map("x * y", (self.full(_number(factor), (), value.dtype), total),
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
        if _number(a) is not None:
            total = self.reduce("sum", b, [len(b.shape) - 2])
            total = self.map("x * y", (self.full(_number(a), (), dtype), total), dtype)
            return self.broadcast(self.reshape(total, (*b.shape[:-2], 1, n)), shape)
        if _number(b) is not None:
            total = self.reduce("sum", a, [len(a.shape) - 1])
            total = self.map("x * y", (self.full(_number(b), (), dtype), total), dtype)
            return self.broadcast(self.reshape(total, (*a.shape[:-1], 1)), shape)
        if k == 1:
            return self.map("x * y", (self.broadcast(a, shape), self.broadcast(b, shape)), dtype)
        if m == n == 1:
            row = self.reshape(a, (*a.shape[:-2], k))
            column = self.reshape(b, (*b.shape[:-2], k))
            product = self.map("x * y", (row, column), dtype)
            return self.reshape(self.reduce("sum", product, [len(lead)]), shape)
        return self.new("matmul", shape, dtype, (a, b))


_SCALE = "select(x == 0.0, 0.0, x * y)"
_KEPT = "select(x == 0.0, 0.0, y)"
_WHERE = "select(x, y, z)"
_COSTS = re.compile(r"[A-Za-z_]\w*(?=\()|/|\*\*|[-+*<>=&|]+")
_DEAR = {"select": 1, "abs": 1, "sqrt": 6, "/": 4, "maximum": 2, "minimum": 2, "isfinite": 1}


def places_of(scatter: Value) -> tuple[Value, ...]:
    """The arrays of integers of a `scatter`."""
    return scatter.args[1 : 1 + sum(isinstance(axis, int) for axis in scatter.data[0])]


def below_of(scatter: Value) -> Value | None:
    """The array that a `scatter` adds to or writes over; None where it adds to zeros."""
    rest = scatter.args[1 + len(places_of(scatter)) :]
    return rest[0] if rest else None


def cost_of(body: str) -> int:
    """About how many arithmetic operations scalar code takes."""
    total = 0
    for found in _COSTS.findall(body):
        total += _DEAR.get(found, 12 if found[0].isalpha() or found == "**" else 1)
    return total


def _number(value: Value) -> Any:
    """The number of a `full`, else None."""
    return _read(value.data) if value.op == "full" else None


def number_of(value: Value) -> Any:
    return _number(value)


def _read(text: str) -> Any:
    return {"True": True, "False": False}[text] if text in ("True", "False") else (
        float(text) if any(c in text for c in ".einf") else int(text)
    )  # fmt: skip


def _finite(value: Value) -> bool:
    number = _number(value)
    return number is not None and math.isfinite(number)


_FOLDABLE: dict[str, Callable] = {
    "x": lambda x: x, "x + y": lambda x, y: x + y, "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y, "-x": lambda x: -x, "x * x": lambda x: x * x,
    _SCALE: lambda x, y: x * y if x else 0.0,
    "x / y": lambda x, y: x / y if y else None,
    "sqrt(x)": lambda x: math.sqrt(x) if x >= 0 else None,
}  # fmt: skip


def _evaluate(body: str, args: Sequence[Value], dtype: np.dtype) -> Any:
    fold = _FOLDABLE.get(body)
    if fold is None:
        return None
    numbers = [_number(arg) for arg in args]
    if not all(math.isfinite(number) for number in numbers):
        return None
    number = fold(*numbers)
    return None if number is None or not math.isfinite(number) else number


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


def topological(outputs: Iterable[Value]) -> list[Value]:
    """The values that `outputs` need, each after its arguments."""
    order: list[Value] = []
    seen: set[int] = set()
    stack = [(value, False) for value in list(outputs)[::-1]]
    while stack:
        value, done = stack.pop()
        if done:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack.extend((arg, False) for arg in reversed(value.args))
    return order
