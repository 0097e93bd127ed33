"""Whether two elements of a buffer may be the same one: a test on subscripts.

A subscript is a linear form in the variables of loops and in numbers that do not change. Two
accesses are apart if, for one axis of the array, the difference of the subscripts is at least 1, or
at most -1, for all rounds of the loops around them (the test of Banerjee with symbolic bounds;
R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, section 3.3).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..ir.affine import Affine
from ..ir.scalar import Apply
from ..ir.statements import Assign, For, Literal, Position
from .build import COPY, INT
from .forms import Form
from .lengths import Shapes
from .tree import Body, Loop

__all__ = ["Access", "Positions", "around"]


_ZERO = Form(0, {})


class Access(NamedTuple):
    """A load or a store: its position, and the loops around it, outermost first."""

    buffer: Any
    at: Affine
    loops: tuple[Loop, ...]


class Positions:
    """The positions of a tree, in buffers of these shapes. Nothing is known about `variables`,
    whose values change."""

    def __init__(
        self, statements: Iterable[Any], shapes: Shapes, constants: Collection[str],
        variables: Collection[str],
    ):  # fmt: skip
        self._variables = variables
        self._shapes = shapes.lengths
        self._natural = shapes.natural
        self._lengths = {
            name for shape in self._shapes.values() for name in shape if isinstance(name, str)
        }
        self._constants = self._lengths | set(constants)
        self._defined: dict[str, Any] = {}
        self._axes: set[Any] = set()
        self._forms: dict[str, Form | None] = {}
        self._known: dict[tuple, bool] = {}
        self._subscripts: dict[tuple, tuple[Form | None, ...]] = {}
        self.change(statements)

    def change(self, statements: Iterable[Any]) -> None:
        """Let statements take the place of those that define the same names."""
        for each in statements:
            if isinstance(each, (Assign, Position)) and each.target not in self._variables:
                self._defined[each.target] = each
            elif isinstance(each, For):
                self._axes.add(each.axis)
        for known in (self._forms, self._known, self._subscripts):
            known.clear()

    def may_meet(self, first: Access, second: Access, later: bool, depth: int = 0) -> bool:
        """Whether `second` may be at the element of `first`: in a later round of a loop around
        both, from loop `depth` inwards, or in the same rounds."""
        if first.buffer != second.buffer:
            return False
        key = first, second, later, depth
        if key not in self._known:
            self._known[key] = self._may_meet(first, second, later, depth)
        return self._known[key]

    def _may_meet(self, first: Access, second: Access, later: bool, depth: int) -> bool:
        ours, theirs = self.subscripts(first), self.subscripts(second)
        if len(ours) != len(theirs):
            return True
        common = 0
        for x, y in zip(first.loops, second.loops, strict=False):
            if x is not y:
                break
            common += 1
        levels = range(depth, common) if later else [common]
        return any(self._meet_at(level, first, second, ours, theirs, later) for level in levels)

    def meet_in_rounds(self, first: Access, second: Access, loop: Loop) -> bool:
        """Whether two accesses may be at one element in different rounds of a loop around both."""
        if first.buffer != second.buffer:
            return False
        level = first.loops.index(loop)
        for x, y in ((first, second), (second, first)):
            ours, theirs = self.subscripts(x), self.subscripts(y)
            if len(ours) != len(theirs) or self._meet_at(level, x, y, ours, theirs, True):
                return True
        return False

    # -- subscripts -------------------------------------------------------------------------------

    def subscripts(self, access: Access) -> tuple[Form | None, ...]:
        """The subscript for each axis; None for one that is not linear. An axis whose length is a
        number is one with the axis before it, as terms of positions do not tell them apart."""
        key = access.buffer, access.at
        if key not in self._subscripts:
            self._subscripts[key] = self._split(access)
        return self._subscripts[key]

    def _split(self, access: Access) -> tuple[Form | None, ...]:
        shape = self._shapes.get(access.buffer, ())
        strides: dict[tuple[str, ...], int] = {}
        for axis in range(max(len(shape), 1)):
            names = _sorted([x for x in shape[axis + 1 :] if isinstance(x, str)])
            strides.setdefault(names, len(strides))
        found: list[Form | None] = [_ZERO] * len(strides)
        found[-1] = Form(access.at.const, {})
        for name, factor in access.at.terms:
            term = None if self._is_flat(name) else self._term(name, strides)
            if term is None:
                return (None,) * len(strides)
            axis, form = term
            before = found[axis]
            found[axis] = None if form is None or before is None else before.plus(form, factor)
        return tuple(found)

    def _is_flat(self, name: Any) -> bool:
        """Whether a position is not that of indices in the shape of the buffer: the front end
        writes it as an absolute value."""
        match self._defined.get(name):
            case Assign(body=Apply(function=function)):
                return function.name == "abs"
        return False

    def _term(
        self, name: Any, strides: Mapping[tuple[str, ...], int]
    ) -> tuple[int, Form | None] | None:
        """The axis of a term of a position, and its subscript; None if the axis is not known."""
        number, lengths = self._factors(name) or (1, ())
        if lengths and (axis := strides.get(lengths)) is not None:
            return axis, Form(number, {})
        form = self.form(name)
        match self._defined.get(name):
            case Assign(body=Apply(function=function), operands=(x, y)) if (
                function.name == "multiply"
            ):
                for stride, index in ((x, y), (y, x)):
                    number, lengths = self._factors(stride) or (1, ())
                    if lengths and (axis := strides.get(lengths)) is not None:
                        inside = self.form(index)
                        return axis, None if inside is None else _ZERO.plus(inside, number)
                    if isinstance(stride, Literal) and (found := self._term(index, strides)):
                        axis, inside = found
                        number = int(stride.number)
                        return axis, None if inside is None else _ZERO.plus(inside, number)
                if form is None and len(strides) > 1:
                    return None
        return len(strides) - 1, form

    def _factors(self, x: Any) -> tuple[int, tuple[str, ...]] | None:
        """The number and the lengths of which an integer is the product; None for another one."""
        if isinstance(x, Literal):
            return int(x.number), ()
        if x in self._lengths:
            return 1, (x,)
        match self._defined.get(x):
            case Assign(body=Apply(function=function), operands=(y, z), dtype=dtype) if (
                function.name == "multiply" and dtype == INT
            ):
                left, right = self._factors(y), self._factors(z)
                if left is not None and right is not None:
                    return left[0] * right[0], _sorted(left[1] + right[1])
        return None

    def form(self, x: Any) -> Form | None:
        """The linear form of an integer."""
        if isinstance(x, int):
            return Form(x, {})
        if isinstance(x, Literal):
            return Form(int(x.number), {}) if x.dtype.kind in "iu" else None
        if x not in self._forms:
            self._forms[x] = None
            self._forms[x] = self._form(x)
        return self._forms[x]

    def _form(self, x: Any) -> Form | None:
        if x in self._axes or x in self._constants:
            return Form(0, {x: 1})
        match self._defined.get(x):
            case Position(at=at):
                parts = [(self.form(name), factor) for name, factor in at.terms]
                return _total(at.const, parts)
            case Assign(body=body, operands=(y,), dtype=dtype) if body is COPY and dtype == INT:
                return self.form(y)
            case Assign(body=Apply(function=function), operands=operands, dtype=dtype) if (
                dtype == INT and function.name in ("add", "subtract", "multiply", "negative")
            ):
                forms = [self.form(each) for each in operands]
                if function.name == "negative":
                    return _total(0, [(forms[0], -1)])
                if function.name == "multiply":
                    return _product(*forms)
                return _total(0, [(forms[0], 1), (forms[1], 1 if function.name == "add" else -1)])
        return None

    # -- the test ---------------------------------------------------------------------------------

    def _meet_at(
        self, level: int, first: Access, second: Access, ours: Sequence[Form | None],
        theirs: Sequence[Form | None], later: bool,
    ) -> bool:  # fmt: skip
        """Whether they may meet with equal variables of the first `level` common loops, and a
        greater one of the next loop for `second` if `later`."""
        bounds = _Bounds(self, first.loops, second.loops, level, later)
        for mine, other in zip(ours, theirs, strict=True):
            if mine is None or other is None:
                continue
            difference = bounds.of(mine, 0).plus(bounds.of(other, 1), -1)
            if bounds.is_positive(difference) or bounds.is_positive(_ZERO.plus(difference, -1)):
                return False
        return True

    def is_natural(self, name: Any) -> bool:
        """Whether a number is never below 0."""
        return name in self._natural


class _Bounds:
    """The variables of the loops around two accesses, innermost first, with their bounds."""

    def __init__(
        self, positions: Positions, first: Sequence[Loop], second: Sequence[Loop], level: int,
        later: bool,
    ):  # fmt: skip
        self._positions = positions
        self._names: tuple[dict[Any, Form], dict[Any, Form]] = ({}, {})
        self._order: list[tuple[int, Any, Form | None, Form | None]] = []
        for side, loops in ((0, first), (1, second)):
            for depth, loop in enumerate(loops):
                if not isinstance(loop.statement, For):
                    continue
                axis = loop.statement.axis
                if side == 1 and depth < level:
                    self._names[1][axis] = self._names[0][axis]
                elif side == 1 and later and depth == level:
                    self._later(axis, depth)
                else:
                    self._new(loop, side, depth)

    def _new(self, loop: Loop, side: int, depth: int) -> None:
        axis = loop.statement.axis
        low = self._bound(loop.statement.start, side)
        high = self._bound(loop.statement.stop, side)
        high = None if high is None else high.plus(Form(-1, {}))
        variable = side, axis
        self._names[side][axis] = Form(0, {variable: 1})
        self._order.append((depth, variable, low, high))

    def _later(self, axis: Any, depth: int) -> None:
        """The variable of a later round: that of the first access and a distance."""
        own = self._names[0][axis]
        self._names[1][axis] = own.plus(Form(0, {("distance", axis): 1}))
        found = next(each for each in self._order if each[1] == (0, axis))
        high = None if found[3] is None else found[3].plus(own, -1)
        self._order.append((depth + 0.5, ("distance", axis), Form(1, {}), high))  # pyright: ignore

    def _bound(self, x: Any, side: int) -> Form | None:
        form = self._positions.form(x)
        return None if form is None else self.of(form, side)

    def of(self, form: Form, side: int) -> Form:
        """A form in the variables of one of the accesses."""
        found = Form(form.const, {})
        for name, factor in form.terms.items():
            found = found.plus(self._names[side].get(name, Form(0, {name: 1})), factor)
        return found

    def is_positive(self, form: Form) -> bool:
        """Whether a form is at least 1 for all rounds."""
        for _, variable, low, high in sorted(self._order, key=lambda each: -each[0]):
            factor = form.terms.get(variable, 0)
            if not factor:
                continue
            bound = low if factor > 0 else high
            if bound is None:
                return False
            form = form.plus(Form(0, {variable: 1}), -factor).plus(bound, factor)
        natural = self._positions.is_natural
        return form.const >= 1 and all(
            factor > 0 and natural(name) for name, factor in form.terms.items()
        )


def _sorted(lengths: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(lengths))


def _total(const: int, parts: Iterable[tuple[Form | None, int]]) -> Form | None:
    found = Form(const, {})
    for form, factor in parts:
        if form is None:
            return None
        found = found.plus(form, factor)
    return found


def _product(x: Form | None, y: Form | None) -> Form | None:
    if x is None or y is None:
        return None
    for one, other in ((x, y), (y, x)):
        if not one.terms:
            return _ZERO.plus(other, one.const)
    return None


def around(body: Body) -> tuple[Loop, ...]:
    """The loops around the statements of a body, outermost first."""
    return tuple(reversed(body.loops()))
