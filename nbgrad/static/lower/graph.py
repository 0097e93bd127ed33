"""`Graph`, which makes the values of a lowered program: equal expressions are one value.

It rewrites values when they are made, so products with one, sums of broadcasts and views of views,
which transformations produce, never exist.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ...eager.emission import body_of
from ...errors import IndexOutOfBounds
from ...ir.affine import Axis
from ...ir.functions import Constant
from ...ir.naming import power_of, tagged
from ...ir.reductions import MAXIMUM, MINIMUM, Reduction
from ...ir.scalar import Expr, parse
from ...ir.sizes import is_dynamic, is_sum, require_least
from ...rules.dtypes import known
from ...runtime.kinds import is_a
from .algebra import CHOICE, OVER, SAME, TIMES, simpler
from .bounds_conditions import require_inside
from .buffered import DeviceCall, Scatter
from .layout import axis_through, broadcast_source, even_maps, is_even, seen_part
from .products import product
from .reductions import reduction
from .values import (
    BOOL,
    INT,
    Concat,
    Extent,
    Full,
    Input,
    Inset,
    Iota,
    Map,
    Pad,
    Reshape,
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
        self.captured: list[np.ndarray] = []  # what some of the last inputs are
        self._captures: list[Value] = []  # those inputs
        self._constants: set[int] = set()  # those of them that nobody else has
        # What must hold, and the class and message of the exception where it does not.
        self.checks: list[tuple[Value, tuple[type, str]]] = []
        self.chains: dict[Value, Value] = {}  # of writes: the last one, and what they begin with
        self.moved: dict[Value, Value] = {}  # maps that a reshape made, and those before it
        self.sources: dict[Value, Value] = {}  # of inputs that hold the transposed matrices
        self.line = ""  # of the user's code, for values made from now on

    def new(
        self, kind: Callable[..., Value], shape: Sequence[int], dtype: DTypeLike,
        args: Sequence[Value] = (), *fields: Any, label: str | None = None,
    ) -> Value:  # fmt: skip
        """The value of a kind with these fields, rewritten only where it has no elements: then it
        is as good as zeros, and nothing is to be computed. `label` stands for fields that do not
        compare as they should."""
        shape, fields = tagged(tuple(shape)), tagged(fields)
        if 0 in shape and kind not in (Input, Full):
            return self.full(0, tuple(shape), dtype)
        key = (kind, tuple(shape), dtype, tuple(map(id, args)), label or fields)
        value = self._known.get(key)
        if value is None:
            value = kind(tuple(shape), np.dtype(dtype), tuple(args), self.line, *fields)
            require_inside(value)
            self._known[key] = value
        return value

    def input(self, shape: tuple, dtype: DTypeLike) -> Value:
        """The next argument of the program."""
        value = self.new(Input, shape, dtype, (), len(self.inputs))
        self.inputs.append(value)
        return value

    def capture(self, array: np.ndarray) -> Value:
        """An array that the function closes over: one more input, read at each call."""
        for value, other in zip(self._captures, self.captured, strict=True):
            if other is array:
                return value
        self.captured.append(array)
        self._captures.append(self.input(array.shape, known(array.dtype)))
        return self._captures[-1]

    def constant(self, array: np.ndarray) -> Value:
        """An array that does not change, by its content: one more input too."""
        for other in self.captured:
            same = other.shape == array.shape and other.dtype == array.dtype
            if same and id(other) in self._constants and other.tobytes() == array.tobytes():
                return self.capture(other)
        self._constants.add(id(array))
        return self.capture(array)

    def full(self, number: Constant, shape: tuple = (), dtype: DTypeLike = np.float64) -> Value:
        dtype = np.dtype(dtype)
        size = self._size(tagged(number), dtype)
        if size is not None:
            return self.broadcast(size, shape)
        if dtype.kind in "iu" and isinstance(number, int):  # what does not fit wraps round
            number = int(np.array(number % 2**64, np.uint64).astype(dtype))
        number = dtype.type(number).item()
        # The text tells 0.0 from -0.0, 1 from True, and one nan is like another.
        return self.new(Full, shape, dtype, (), number, label=repr(number))

    def _size(self, number: Constant, dtype: np.dtype) -> Value | None:
        """A number that is made of sizes that are known at run time; None for others."""
        if is_dynamic(number):
            return self.cast(self.new(Extent, (), INT, (), number, label=repr(number)), dtype)
        found = power_of(number) if is_a(number, float) else None
        if found is None:
            return None
        c, size, power = found
        if power < 0 and is_sum(size):  # 1 / n is what a mean over nothing has, 1 / (n - 1) is not
            require_least(size, 1)
        value = self.full(size)
        if abs(power) == 0.5:
            value = self.map("sqrt(x)", (value,), np.float64)
        return self.cast(
            self.map(OVER if power < 0 else TIMES, (self.full(c), value), np.float64), dtype
        )

    # -- elementwise --------------------------------------------------------------------------

    def body_of(self, primitive: Any, params: dict, whole: bool) -> Expr:
        """The scalar code of an elementwise primitive; with `whole`, that for integers."""
        return body_of(primitive, params, whole)

    def map(
        self, body: Expr | str, args: Sequence[Value], dtype: DTypeLike, shape: tuple | None = None
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
        self, body: Expr | str, args: Sequence[Value], dtype: np.dtype, shape: tuple | None = None
    ) -> Value:
        """`map`, of integers and bools in 64 bits where they are narrower."""
        body = parse(body) if isinstance(body, str) else body
        if dtype.kind == "f" or dtype.itemsize == 8 or body is CHOICE:
            return self.map(body, args, dtype, shape)
        args = [self.cast(arg, INT) for arg in args]
        return self.cast(self.map(body, args, INT, shape), dtype)

    def bare(self, value: Value, shape: tuple) -> Value:
        """`value` without a broadcast that the op of `shape` does by itself."""
        while isinstance(value, View) and (source := broadcast_source(value)) is not None:
            try:
                if np.broadcast_shapes(source.shape, shape) != shape:
                    break
            except ValueError:
                break
            value = source
        return value

    def cast(self, value: Value, dtype: DTypeLike) -> Value:
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
            return self.view(value.source, [axis_through(axis, axes) for axis in value.axes], shape)
        if isinstance(value, Concat | Pad):
            seen = seen_part(self, value, axes, shape)
            if seen is not None:
                return seen
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

    def untransposed(self, value: Value) -> Value | None:
        """The matrices whose transposed ones these are; None where they are no such view or
        input."""
        if value in self.sources:
            return self.sources[value]
        last = len(value.shape) - 1
        source = self.transpose(value, (*range(last - 1), last, last - 1))
        return source if isinstance(value, View) and value.source is source else None

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
        if is_even(value) and (maps := even_maps(value)):
            # Their arguments are reshaped instead, so that the maps need no buffer.
            known: dict[Value, Value] = {}
            for each in maps:
                args = [
                    arg if arg.shape == () else known.get(arg) or self.reshape(arg, shape)
                    for arg in each.args
                ]
                known[each] = new = self.map(each.body, args, each.dtype, shape)
                if new is next(reversed(self._known.values())):
                    self.moved[new] = each
            return known[value]
        if isinstance(value, View) and (source := broadcast_source(value)) and source.shape == ():
            return self.broadcast(source, shape)
        return self.new(Reshape, shape, value.dtype, (value,))

    def pad(self, value: Value, starts: Sequence[int], shape: tuple) -> Value:
        """`value` at `starts` in zeros of `shape`."""
        if number_of(value) == 0.0 or not value.size:
            return self.full(0.0, shape, value.dtype)
        if shape == value.shape:
            return value
        if is_map(value, TIMES) and is_finite(first := value.args[0]):
            factor, rest = first, value.args[1]
            if rest.shape == value.shape and rest.dtype == value.dtype:
                number = self.full(factor.number, (), value.dtype)
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
            self.checks.append((ok, (error, message)))

    def require_all(self, holds: Value, error: type, message: str) -> None:
        """Raise the error once the program has run, where `holds` is false for any element."""
        if holds.size:
            number = self.cast(holds, INT)
            least = self.reduce(MINIMUM, number, range(len(holds.shape)))
            self.require(self.map("x != y", (least, self.full(0, (), INT)), BOOL), error, message)

    def within(
        self, value: Value, low: int, high: int, message: str, error: type = IndexOutOfBounds
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
        self, shape: tuple, dtype: DTypeLike, args: Sequence[Value], function: Callable,
        sizes: tuple,
    ) -> Value:  # fmt: skip
        """The result of the device function `function(args..., result, sizes...)`, on pointers."""
        return self.new(DeviceCall, shape, dtype, args, function, sizes)

    # -- reductions and products ----------------------------------------------------------------

    def reduce(self, kind: Reduction, value: Value, axes: Iterable[int]) -> Value:
        """The reduction over `axes`, which go. Raises ValueError for the largest or least of
        nothing."""
        return reduction(self, kind, value, tuple(axes))

    def matmul(self, a: Value, b: Value) -> Value:
        """The product of matrices (…, m, k) and (…, k, n) whose leading axes are equal or gone."""
        return product(self, a, b)
