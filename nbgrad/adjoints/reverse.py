"""Reverse mode: from a function to one that gives its value and the cotangents of its arguments."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import LoopError
from ..ir.statements import Assign, Call, Function, Literal, Load, New, Pointer, Position, Return
from ..ir.walk import inner, walk
from .activity import active_names, under_choices, under_roots
from .adjoint import Adjoint
from .apart import with_products_apart
from .build import BOOL, INT, Names, defined_names, names_of, unused
from .carried import Carried
from .checkpoints import Checkpoints
from .ends import with_ends
from .fusion import fused
from .gather import Gather
from .halves import BORDER, Halves
from .hoist import hoisted
from .increments import with_increments
from .inline import inlined
from .joint_reversal import Fused, fusible
from .lengths import known_lengths, shapes_of, with_made
from .library import adjoints_of_call
from .once import first_stores, made_once
from .partials import is_dear
from .positions import Access, Positions
from .preaccumulate import preaccumulated
from .record import Record
from .rounds import Rounds
from .row_lengths import RowLengths, row_lengths
from .segments import segmented
from .selects import selected
from .shadows import with_shadows
from .simplify import Simplified
from .skips import computing
from .states import states
from .sweep_pieces import Pieces
from .to_record import Plan
from .tree import Body, Segment, bodies, tree, without_tests
from .unroll import unrolled
from .whole import without_pieces

__all__ = ["Reverse", "forward_and_backward", "value_and_cotangents"]


def value_and_cotangents(
    function: Function, wrt: Collection[str], lengths: Sequence[str],
    private: Collection[str] = (),
) -> Function:  # fmt: skip
    """A function of the parameters, of a shadow buffer for each buffer of `wrt`, and of a cotangent
    for each result that is a float. It adds to the shadows what flows back, where they hold before
    the cotangents of what the buffers hold at the end; it returns the results, and the cotangents
    of the numbers among `wrt`. The shadows of buffers that are `private` are 0 before, and hold
    anything after."""
    return Reverse(function, wrt, lengths, private).function()


def forward_and_backward(
    function: Function, wrt: Collection[str], lengths: Sequence[str],
    private: Collection[str] = (),
) -> tuple[Function, Function] | None:  # fmt: skip
    """The same as two functions: one of the parameters gives the results and notes its record, one
    also takes shadows and cotangents and adds to the shadows, from a record that is known. None for
    a function that runs again in the reverse pass anyhow, or whose record is spread."""
    return Reverse(function, wrt, lengths, private, gives_arrays=True).halves()


class _Parts(NamedTuple):
    """The parts of a function of value and cotangents."""

    declared: Sequence[Any]
    body: list[Any]
    passed: Sequence[tuple[str, Any]]  # shadows, and the cotangents of results
    bars: Sequence[str]  # the cotangents of numbers
    dtypes: Sequence[np.dtype]


_WORTH = 8  # operations that save a word of the record


class Reverse:
    """Reverse mode of a function: see `value_and_cotangents`. If it `gives_arrays`, its buffers are
    results, too."""

    def __init__(
        self, function: Function, wrt: Collection[str], lengths: Sequence[str],
        private: Collection[str] = (), gives_arrays: bool = False,
    ):  # fmt: skip
        if any(isinstance(x, Call) and x.function == "resized" for x in walk(function.body)):
            raise LoopError(
                "reverse mode of a function that reverse mode made: take forward mode of it, which "
                "is the same, as the derivative of a gradient is symmetric"
            )
        function = without_pieces(function)
        parameters = [name for name, _ in function.parameters]
        self._private = private
        names = self._names = Names([*parameters, *defined_names(function.body)])
        # Suffixes of cotangents, and of values of the forward pass that are computed again.
        self._bar, self._mark = unused(".bar", function), unused("~", function)
        flat = inlined(function, names)
        numbers = {n: k for n, k in function.parameters if not isinstance(k, Pointer)}
        counts, body = with_ends(flat.body, names)
        flat.declared += counts
        body = unrolled(body, {each.target for each in flat.declared}, names)
        flat.body = segmented(body, names)
        plain = Simplified(flat.declared, flat.body, flat.results, numbers, lengths, names)
        given, constants = shapes_of(function, lengths), _unchanging(plain, numbers)
        shapes = with_made(given, plain.body, constants)
        for change in (partial(with_products_apart, new=names.new), fused):
            body = change(plain.body, shapes, constants, {x.target for x in plain.declared})
            if len(walk(body)) != len(walk(plain.body)):
                plain = Simplified(plain.declared, body, plain.results, numbers, lengths, names)
                constants = _unchanging(plain, numbers)
                shapes = with_made(given, plain.body, constants)
        self._shapes = shapes
        self._dtypes = plain.dtypes
        self._buffers = {n: k.dtype for n, k in function.parameters if isinstance(k, Pointer)}
        self._buffers |= {x.target: x.dtype for x in walk(plain.body) if isinstance(x, New)}
        self.variables = {each.target for each in plain.declared}
        self._plain = plain
        body = selected(plain.body, self.variables, self._dtype, self._new)
        body = with_increments(body, plain.results, self._new)
        plain.body = hoisted(body, shapes, constants, self.variables, self._flag)
        active = self._active(wrt)
        plain.body = with_shadows(plain.body, active, self._shadow)
        self._primal = {n for each in walk(plain.body) for n in _defines(each)}
        self.tree = tree(plain.body, self.variables)
        self._visible = set(self.tree.defined)
        results = [x for x in plain.results if isinstance(x, str)]
        passed = [name for name, kind in function.parameters if isinstance(kind, Pointer)]
        self._shadows = [name for name in passed if name in active]
        self._record = Record(names, self._dtypes)
        positions = Positions(walk(plain.body), shapes, constants, self.variables)
        once = made_once(self.tree)
        self._adjoint = Adjoint(
            names, self._dtypes, active, self.variables,
            self._shared(active, {*results, *numbers}), self._shadow,
            under_roots(plain.body, self._dtype),
            under_choices(without_tests(self.tree), self._dtype),
            once, first_stores(self.tree, once, positions),
        )  # fmt: skip
        for body in bodies(self.tree):
            for item in body.items:
                if isinstance(item, Segment):
                    item.adjoint = self._adjoint.of(item.statements)
                    if body.loop is not None:
                        self._preaccumulate(item, body, positions)
                elif call := getattr(getattr(item, "statement", None), "call", None):
                    item.adjoint = adjoints_of_call(call, self._shadow_of(active))
        variables = sorted(self.variables)
        sizes = self.sizes = known_lengths(function, given)
        self.states = states(self.tree, variables, sizes)
        self.rounds = Rounds(
            self.tree, positions, variables, results, active, sizes,
            lambda name: self._dtype(name).kind == "f",
        )  # fmt: skip
        inside = self._adjoint.inside
        self._rows = row_lengths(walk(plain.body), positions, given)
        shown = self._buffers if gives_arrays else ()
        self.plan = Plan(self.tree, self.variables, inside, positions, self.states, shown)
        self.pieces = Pieces(
            self.rounds.loops, positions, self._new, self._shadow, self._record,
            self._adjoint.declared, self._dtypes, self.variables, self.plan.is_passed,
        )  # fmt: skip
        self.fused = fusible(self.tree, self.plan, self.rounds, self._shadow)
        self._function = function
        self._parts = self._written(wrt)

    def _preaccumulate(self, segment: Segment, body: Body, positions: Positions) -> None:
        """Multiply partial derivatives beforehand; record the products if they are no more words
        than the results of functions from which they follow, or worth the words: a recurrence waits
        for itself in the forward sweep, too, which computes them meanwhile."""
        loops = tuple(reversed(body.loops()))

        def is_ahead(*pair: Any) -> bool:
            own, other = (Access(x.buffer.removesuffix(self._bar), x.at, loops) for x in pair)
            return own != other and positions.may_meet(own, other, True, len(loops) - 1)

        found = preaccumulated(segment.adjoint, self._adjoint.declared, self._new, is_ahead)
        if found is None:
            return
        segment.slopes, segment.adjoint, slopes = found
        read = {name for each in (*found.slopes, *found.adjoint) for name in names_of(each)}
        dear = [x for x in computing(read, segment.statements) if is_dear(x)]
        price = sum(x.body.price for x in found.slopes)
        if len(slopes) <= len(dear) or price >= _WORTH * len(slopes):
            segment.kept = set(slopes)
        for each in found.slopes:
            body.defined[each.target] = segment, each
            self._primal.add(each.target)

    def _active(self, wrt: Collection[str]) -> set[Any]:
        """The names through which derivatives flow."""
        plain = self._plain
        results = [x for x in plain.results if isinstance(x, str)]
        outs = [n for n in self._buffers if n in wrt]
        return active_names(plain.body, wrt, [*results, *outs], self._dtype) | set(wrt)

    def _shadow(self, name: Any) -> Any:
        """The name of the cotangent of a number or a buffer."""
        return name + self._bar

    def _shadow_of(self, active: Collection[Any]) -> Callable[[Any], Any]:
        return lambda buffer: self._shadow(buffer) if buffer in active else None

    def _dtype(self, x: Any) -> np.dtype:
        if isinstance(x, Literal):
            return x.dtype
        return self._dtypes[x] if x in self._dtypes else self._buffers.get(x, INT)

    def _new(self, hint: str, dtype: np.dtype = INT) -> str:
        name = self._names.new(hint)
        self._dtypes[name] = dtype
        return name

    def _flag(self, hint: str) -> str:
        return self._new(hint, BOOL)

    def _shared(self, active: Collection[str], start: set[str]) -> set[str]:
        """The values that are used in another sequence of statements than the one that defines
        them."""
        home: dict[str, int] = {}
        found = set(start)

        def visit(statements: Sequence[Any], place: int) -> None:
            for each in statements:
                for name in names_of(each):
                    if home.get(name, place) != place:
                        found.add(name)
                for name in _defines(each):
                    home[name] = place
                for part in inner(each):
                    visit(part, id(part))

        for body in bodies(self.tree):
            for item in body.items:
                if isinstance(item, Segment):
                    visit(item.statements, id(item))
        return found & set(active) | (start & set(active))

    def _again(self, name: str) -> str:
        """The name in the reverse pass of a value of the forward pass."""
        if name not in self._primal or name in self._visible or name in self.variables:
            return name
        own = name + self._mark
        self._names.take([own])
        self._dtypes[own] = self._dtypes[name]
        return own

    # -- the whole --------------------------------------------------------------------------------

    def function(self) -> Function:
        """The function of value and cotangents."""
        parts = self._parts
        body = [x for x in parts.body if x is not BORDER]
        body = self._record.freed_at_errors([*parts.declared, *self._record.declared(), *body])
        body += [*self._record.ended(), Return((*self._plain.results, *parts.bars))]
        results = (*self._function.results, *parts.dtypes)
        return self._named("vjp", parts.passed, body, results)

    def halves(self) -> tuple[Function, Function] | None:
        """The same as two functions: see `forward_and_backward`."""
        parts = self._parts
        if BORDER not in parts.body or self.states or self._record.is_split:
            return None
        made = Halves(
            parts.body, [name for name, _ in (*self._function.parameters, *parts.passed)],
            {x.target for x in parts.declared}, {self._shadow(x) for x in self._buffers},
            self.sizes, self._dtypes, self._buffers, self._new, self._record,
        )  # fmt: skip
        if not made.exist:
            return None
        forward = made.forward(parts.declared, self._plain.results)
        backward = made.backward(parts.declared, parts.bars)
        return (
            self._named("forward", (), forward, self._function.results),
            self._named("backward", parts.passed, backward, parts.dtypes),
        )

    def _named(
        self, name: str, more: Sequence[Any], body: Sequence[Any], results: Sequence[np.dtype]
    ) -> Function:
        """A function of the parameters, and of `more`."""
        given = self._function
        parameters = (*given.parameters, *more)
        return Function(
            f"{given.name}.{name}", parameters, tuple(body), tuple(results), frozenset(["noalias"])
        )

    def _written(self, wrt: Collection[str]) -> _Parts:
        adjoint, plain, function = self._adjoint, self._plain, self._function
        checkpoints = Checkpoints(
            self.states, self._dtypes, self._buffers, self._new, self._again, self._record
        )
        seeds: list[tuple[str, np.dtype]] = []
        for x, dtype in zip(plain.results, function.results, strict=True):
            if dtype.kind == "f":
                seeds.append((self._new("cotangent", dtype), dtype))
                adjoint.add(x, seeds[-1][0])
        start = adjoint.flushed()
        made = [each.target for each in walk(plain.body) if isinstance(each, New)]
        every = self._shapes.lengths
        given = [n for n, k in function.parameters if not isinstance(k, Pointer)]
        shadows = {self._shadow(name): shape for name, shape in every.items()}
        gather = Gather(
            [x for x in plain.body if isinstance(x, (Assign, Position))],
            self._shapes._replace(lengths={**every, **shadows}),
            [self._shadow(x) for x in (*self._private, *made)],
            self._new,
            self._dtypes,
            [n for n in given if n not in self.variables],
            lambda name: name in self.variables or name in adjoint.declared,
            adjoint.declared.__contains__,
        )
        sweeps = Fused(
            self.tree, self.plan, self._dtypes, self._new, self._again, self._record,
            adjoint.declared, checkpoints, self.pieces, self.fused,
        )  # fmt: skip
        both = sweeps.both(start, gather)
        numbers = [n for n in given if n in wrt]
        bars = [adjoint.bar(name) for name in numbers]
        shadows = [(n + self._bar, Pointer(self._buffers[n])) for n in self._shadows]
        declared = [*plain.declared, *sweeps.declared, *checkpoints.declared,
                    *adjoint.declared.values()]  # fmt: skip
        variables = {each.target for each in (*declared, *self._record.declared())}
        carried = Carried(sweeps.axes, self._new, variables)
        both = carried.of(both)
        declared += carried.declared
        variables.update(each.target for each in carried.declared)
        both = RowLengths(self._rows, self._dtypes, self._new, variables).of(both)
        return _Parts(declared, both, [*shadows, *seeds], bars, [self._dtypes[n] for n in numbers])


def _defines(each: Any) -> list[str]:
    names = [getattr(each, "target", None), getattr(each, "axis", None)]
    return [*(x for x in names if isinstance(x, str)), *getattr(each, "results", ())]


def _unchanging(plain: Simplified, numbers: Collection[str]) -> set[str]:
    """The numbers that no statement changes."""
    found = set(numbers) | {
        each.target for each in plain.body if isinstance(each, (Assign, Load, Position))
    }
    return found - {each.target for each in plain.declared}
