"""Functions of arrays with rules of users, in functions with loops.

The result of the function counts as a constant. A library call, `RULE`, then adds 0 to it: its
adjoint is the user's pullback, and its tangent the pushforward. Both are read as code; they take
all arguments as one vector, and all results as another one.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from ..adjoints.library import ArrayRule, declare_array_rule
from ..adjoints.reverse import value_and_cotangents
from ..compiler.front.arrays import assign, fresh, in_memory, nest, position_of
from ..compiler.front.calls import call, not_read, record_arrays
from ..compiler.front.emit import FunctionBuilder, address_of
from ..compiler.front.functions import written
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import (
    INT,
    KNOWN_0,
    KNOWN_1,
    Array,
    Known,
    Number,
    Place,
    Value,
    rebuilt,
)
from ..errors import LoopError, NoRuleError
from ..ir.library import RULE
from ..ir.reductions import SUM
from ..ir.statements import Assign, Call, Function, Literal, Pointer, Store
from ..rules.nondiff import stop_row
from ..runtime.kinds import is_a
from ..transforms.custom import CustomRule
from .flat_values import (
    add_values,
    dtype_of,
    layout_of,
    numbers_of,
    unpacked,
    vector_of,
)
from .library import with_call
from .recorded import has_array
from .rows import scalar_code

__all__ = ["call_with_rule", "link"]


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    every = [*operands, *named.values()]
    return (
        call_with_rule if isinstance(function, CustomRule) and any(map(has_array, every)) else None
    )


@not_read
def call_with_rule(
    emit: FunctionBuilder, rule: CustomRule, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """A call of a function with a rule."""
    name = rule._name
    given = tuple(_read_only(emit.settled(in_memory(emit, x))) for x in operands)
    if any(not isinstance(x, Known) for x in named.values()):
        raise Unsupported(f"a call of {name} with arguments by name: pass them by position")
    out = in_memory(emit, call(emit, rule.f, given, named))
    return link(emit, rule, named, given, out)


def link(
    emit: FunctionBuilder, rule: Any, named: Mapping[str, Value], given: tuple[Value, ...],
    out: Value,
) -> Any:  # fmt: skip
    """The result `out` of a function of the arguments `given`, with the derivative that a rule
    gives it: its pullback and pushforward are functions that are called."""
    name = rule._name
    layouts = (
        tuple(layout_of(x, f"an argument of {name}") for x in given),
        layout_of(out, f"a result of {name}"),
    )
    if dtype_of(layouts[0]) is None or dtype_of(layouts[1]) is None:
        return out
    x, y = vector_of(emit, given, layouts[0]), _stopped(emit, vector_of(emit, out, layouts[1]))
    numbers = [*numbers_of(given, layouts[0]), *numbers_of(out, layouts[1])]
    operands = list(dict.fromkeys(n.operand for n in numbers))
    distinct = [next(n for n in numbers if n.operand == x) for x in operands]
    places = [operands.index(n.operand) for n in numbers]
    rule_number = _Derivatives(rule, named, *layouts).declared(distinct, places)
    _add_rule(emit, x, y, rule_number, distinct)
    result = fresh(emit, y.shape, y.place.dtype)
    assign(emit, result, y)
    lengths = iter(numbers_of(out, layouts[1]))
    return unpacked(emit, layouts[1], result.place, lengths, mutable=True)


def _read_only(value: Any) -> Any:
    if isinstance(value, tuple):
        return rebuilt(value, map(_read_only, value))
    return replace(value, mutable=False) if isinstance(value, Array) else value


def _stopped(emit: FunctionBuilder, y: Array) -> Array:
    """A vector of the same elements, which are constants."""
    dtype, made = y.place.dtype, fresh(emit, y.shape, y.place.dtype)
    with nest(emit, y.shape) as (i,):
        old = emit.load(y.place, position_of(emit, [KNOWN_1], [i]))
        name = emit.name()
        emit.add(Assign(name, scalar_code(stop_row, ()), (old.operand,), dtype, dtype))
        emit.store(made.place, position_of(emit, [KNOWN_1], [i]), Number(name, dtype))
    return made


def _add_rule(
    emit: FunctionBuilder, x: Array, y: Array, rule: Literal, numbers: Sequence[Number]
) -> None:
    """Give the elements of y the derivative that a rule gives them for those of x. The loops say
    that the rule reads all elements of both."""
    dtype = y.place.dtype
    with nest(emit, y.shape) as (i,):
        own = emit.load(y.place, position_of(emit, [KNOWN_1], [i]))
        with nest(emit, x.shape) as (k,):
            each = emit.load(x.place, position_of(emit, [KNOWN_1], [k]))
            square = emit.applied("multiply", [each, each], x.place.dtype)
            term = emit.applied("multiply", [emit.cast(square, dtype), own], dtype)
            at = y.place.at.plus(position_of(emit, [KNOWN_1], [i]))
            emit.add(Store(y.place.buffer, at, term.operand, dtype, SUM))
    sizes = [size.operand for size in (*x.shape, *y.shape, *numbers)]
    addresses = [address_of(each.place) for each in (y, x)]
    with_call(emit, Call(RULE, (*addresses, rule, *sizes)))


class _Derivatives:
    """The pullback and the pushforward of a rule as functions of vectors, for layouts of the
    arguments and of the result."""

    def __init__(self, rule: Any, named: Mapping[str, Value], given: Any, out: Any):
        self._rule, self._named, self._given, self._out = rule, named, given, out
        self._pointers = Pointer(_known(dtype_of(given))), Pointer(_known(dtype_of(out)))

    def declared(self, numbers: Sequence[Number], places: Sequence[int]) -> Literal:
        """The number of the rule, which calls have as an argument, as they have the numbers at
        these places."""
        self._places = places
        self._kinds = [INT, INT, *(x.dtype for x in numbers)]  # sizes of the vectors come first
        pull = cache(self._pullback)
        transposed = partial(self._transposed, pull)
        push = cache(self._pushforward if self._rule.pushforward else transposed)
        digest = getattr(self._rule, "digest", None)  # of one whose code is not that of a user
        told: Any = digest, self._given, self._out, self._kinds, places
        if digest is None:
            told = pull(), push() if self._rule.pushforward else None
        number = int(hashlib.sha256(repr(told).encode()).hexdigest()[:15], 16)
        declare_array_rule(number, ArrayRule(pull, push))
        return Literal(number, INT)

    def _function(self, what: str, names: Sequence[str], write: Callable) -> Function:
        x, y = self._pointers
        kinds = [{"x": x, "y": y}[name[0]] for name in names]
        numbers = [f"n{i}" for i in range(len(self._kinds))]
        name = f"{self._rule._name}_{what}"
        return written(name, [*names, *numbers], [*kinds, *self._kinds], write).function

    def _values(self, emit: FunctionBuilder, x: Place, y: Place, numbers: Sequence[Number]) -> Any:
        self._numbers = [numbers[2 + i] for i in self._places]
        rest = iter(self._numbers)
        given: Any = unpacked(emit, self._given, x, rest)
        self._rest = list(rest)
        return given, unpacked(emit, self._out, y, iter(self._rest))

    def _is_one_tree(self, found: tuple) -> bool:
        """Whether cotangents are those of the only argument, which is a tuple."""
        return isinstance(self._given[0], tuple) and len(found) == len(self._given[0]) != 1

    def _pullback(self) -> Function:
        """x_bar += J^T y_bar."""
        name = self._rule._name

        def write(
            emit: FunctionBuilder, y_bar: Place, y: Place, x: Place, x_bar: Place, *numbers: Number
        ) -> Value:
            given, out = self._values(emit, x, y, numbers)
            cotangent = unpacked(emit, self._out, y_bar, iter(self._rest))
            found = call(emit, self._rule.pullback, [cotangent, out, *given], self._named)
            if len(given) == 1 and (not isinstance(found, tuple) or self._is_one_tree(found)):
                found = (found,)
            if not isinstance(found, tuple) or len(found) != len(given):
                raise Unsupported(
                    f"a pullback of {name} that gives {_counted(found, 'cotangent')} for "
                    f"{_counted(given, 'argument')}: return a tuple with one for each"
                )
            what = f"a cotangent of {name}"
            add_values(emit, x_bar, given, self._given, found, what)
            return Known(None)

        return self._function("pullback", ("y_bar", "y", "x", "x_bar"), write)

    def _pushforward(self) -> Function:
        """y_dot += J x_dot."""
        rule = self._rule

        def write(
            emit: FunctionBuilder, y: Place, x: Place, x_dot: Place, y_dot: Place, *numbers: Number
        ) -> Value:
            given, out = self._values(emit, x, y, numbers)
            moving = unpacked(emit, self._given, x_dot, iter(self._numbers))
            tangents = _without_constants(moving, self._given)
            found = call(emit, rule.pushforward, [tangents, out, *given], self._named)
            add_values(emit, y_dot, out, self._out, found, f"a tangent of {rule._name}")
            return Known(None)

        return self._function("pushforward", ("y", "x", "x_dot", "y_dot"), write)

    def _transposed(self, made: Callable[[], Function]) -> Function:
        """The pullback, which is linear in the cotangent, transposed by its own adjoint."""
        pull = made()
        names = [name for name, _ in pull.parameters]
        try:
            adjoint = value_and_cotangents(pull, (names[0], names[3]), ())
        except LoopError as refused:
            raise NoRuleError(
                f"{self._rule._name}: forward mode needs a pushforward, as its pullback cannot be "
                f"transposed ({refused}): define custom_rule(pushforward=...)"
            ) from refused
        shadows = [name for name, _ in adjoint.parameters[len(names) :]]

        def write(
            emit: FunctionBuilder, y: Place, x: Place, x_dot: Place, y_dot: Place, *numbers: Number
        ) -> Value:
            sizes = {"x": numbers[:1], "y": numbers[1:2]}
            y_bar, x_bar, moving = (
                fresh(emit, sizes[of], place.dtype) for of, place in (("y", y), ("x", x), ("x", x))
            )
            for each in (y_bar, x_bar):
                assign(emit, each, KNOWN_0)
            assign(emit, moving, Array(x_dot, tuple(sizes["x"])))
            places = {names[0]: y_dot, names[3]: moving.place}
            found = [y_bar.place, y, x, x_bar.place]
            own = [places[shadow.rpartition(".")[0]] for shadow in shadows]
            arguments = [*map(address_of, found), *(n.operand for n in numbers)]
            emit.call(adjoint, [*arguments, *map(address_of, own)], [])
            return Known(None)

        return self._function("pushforward", ("y", "x", "x_dot", "y_dot"), write)


def _known(dtype: np.dtype | None) -> np.dtype:
    assert dtype is not None
    return dtype


def _counted(found: Value, what: str) -> str:
    count = len(found) if isinstance(found, tuple) else 1
    return f"{count} {what}{'s' if count != 1 else ''}"


def _without_constants(value: Any, layout: Any) -> Value:
    """The tangents of values: those of constant floats are 0."""
    if isinstance(layout, tuple):
        parts = zip(value, layout, strict=True)
        return rebuilt(layout, [_without_constants(*each) for each in parts])
    is_float = isinstance(layout, Known) and is_a(layout.value, float)
    return Known(0.0) if is_float else value


record_arrays(_row)
